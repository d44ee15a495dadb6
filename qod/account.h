/*
 * account.h - who the roles run as.
 *
 * The master keeps its own ids.  Started by root, it runs the roles as
 * [qod] user and group; else they run as what it runs as itself.
 */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "conf.h"

struct account {
	bool change; /* the roles get the ids below */
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* owned */
	int ngroups;
};

/* Mistakes go to report with their place; the number of them.  Not to start:
 * what only root can do is a warning.  *out is freed with account_fini, also
 * after mistakes. */
unsigned account_find(const struct conf *c, bool start, struct account *out,
    conf_report *report, void *arg);
void account_fini(struct account *a);
/* Some handler wants an account of its own. */
bool account_switches(const struct conf *c);

/* As the roles: access(2) of path for how, 0 or errno. */
int account_access(const struct account *a, const char *path, int how);

#endif
