/*
 * handler_check.h - what a handler section needs of this machine: its
 * program, its account, its directory.
 *
 * Asked when the configuration is checked (qod -n, qo-worker -n), which
 * reports what is wrong, and by the worker when it starts.  Needs nothing but
 * libc; looks accounts up and so may take a while: not for the event loop.
 */
#ifndef HANDLER_CHECK_H
#define HANDLER_CHECK_H

#include <sys/types.h>

#include "conf.h"

/* The account that a handler runs as. */
struct handler_account {
	bool change; /* another one than that of this process */
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t ngroups;
	char *name; /* NULL: it has no name */
	char *home; /* "/" when it has none */
	char *shell;
};

/* What user and group mean.  -1 with *err: there is no such one. */
int handler_account(const struct conf_handler *c, struct handler_account *out,
    struct qo_err *err);
void handler_account_fini(struct handler_account *a);

#define HANDLER_PATH \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
/* The PATH that it has: of its env.PATH, else ours, else the usual one. */
const char *handler_path(const struct conf_handler *c);
/*
 * The program as a path, for the caller to free: with a slash it is as it
 * stands or below the directory of this process, without one it is searched
 * along path.  NULL with
 * *err: there is none, or it can not be executed.
 */
char *handler_program(const char *word, const char *path, struct qo_err *err);

/* Judges all handlers of a sound configuration.  The number of errors, each
 * of which was reported with its place. */
unsigned handler_check(const struct conf *c, conf_report *report, void *arg);

#endif
