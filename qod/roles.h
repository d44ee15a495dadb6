/*
 * roles.h - the table of roles, in the order in which they start.
 */
#ifndef ROLES_H
#define ROLES_H

#include <stddef.h>

#include "qod.h"

extern const struct qod_role qod_roles[];
extern const size_t qod_nroles;

/* NULL: there is none with this name. */
const struct qod_role *roles_find(const char *name);
/* The path of its program, which the caller frees: in [qod] libexec, else
 * beside this binary, else where it was installed.  NULL with *err. */
char *roles_program(const struct qod_role *r, const struct conf *c,
    struct qo_err *err);
/* Slots of its area on the board, and handlers. */
size_t roles_slots(const struct qod_role *r, const struct conf *c);
size_t roles_handlers(const struct qod_role *r, const struct conf *c);

#endif
