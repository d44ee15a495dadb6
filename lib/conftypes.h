/*
 * conftypes.h - how each kind of configuration value is read and written.
 */
#ifndef CONFTYPES_H
#define CONFTYPES_H

#include "confkeys.h"

extern const struct conf_type conf_type_string;   /* char *; "" is NULL */
extern const struct conf_type conf_type_text;     /* char *, never NULL */
extern const struct conf_type conf_type_path;     /* char *; from the file's
						    directory */
extern const struct conf_type conf_type_log;      /* path, stderr, syslog */
extern const struct conf_type conf_type_listen;   /* char *; off is NULL */
extern const struct conf_type conf_type_bool;     /* bool */
extern const struct conf_type conf_type_int;      /* int */
extern const struct conf_type conf_type_msec;     /* int64_t */
extern const struct conf_type conf_type_msec_off; /* int64_t; off is 0 */
extern const struct conf_type conf_type_size;     /* int64_t */
extern const struct conf_type conf_type_enum;     /* int */
extern const struct conf_type conf_type_number;   /* double */
extern const struct conf_type conf_type_list;     /* char ** */
extern const struct conf_type conf_type_codes;    /* struct conflist_set */
extern const struct conf_type conf_type_command;  /* struct conf_command */

#endif
