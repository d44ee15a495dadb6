/*
 * confread.h - from ini items, environment and flags into a struct conf.
 *
 * The part of conf.c that knows what a line may say.  Errors are counted and
 * reported, at most CONF_ERRORS_MAX of them.
 */
#ifndef CONFREAD_H
#define CONFREAD_H

#include "conf.h"
#include "confkeys.h"
#include "ini.h"

struct confread {
	struct conf *c;
	const struct conf_opts *opts;
	unsigned errors;
	size_t handler; /* the one found last */
};

/* Sets the members of base (a conf or a conf_handler) to their defaults. */
void confread_defaults(const struct conf_key *keys, size_t n, void *base);
/* ini_cb; arg is the struct confread. */
enum ini_verdict confread_item(void *arg, const struct ini_item *item);
void confread_environment(struct confread *r);
void confread_flags(struct confread *r);

void confread_error(struct confread *r, const struct conf_place *at,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* conf_report that counts and limits; arg is the struct confread. */
void confread_report(void *arg, enum conf_level level,
    const struct conf_place *place, const char *msg);

#endif
