#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "account.h"
#include "confkeys.h"
#include "handler_check.h"
#include "log.h"
#include "xalloc.h"

struct finder {
	const struct conf *c;
	bool start;
	conf_report *report;
	void *arg;
	unsigned errors;
};

static void __attribute__((format(printf, 4, 5))) complain(struct finder *f,
    enum conf_level level, const struct conf_place *at, const char *fmt, ...)
{
	char msg[512];
	va_list ap;

	if (level == CONF_ERROR)
		f->errors++;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	if (f->report != NULL)
		f->report(f->arg, level, at, msg);
}

/* Who checks a configuration may be somebody else than who starts qod. */
static enum conf_level
not_root(const struct finder *f)
{
	return f->start ? CONF_ERROR : CONF_WARNING;
}

static void
find_groups(const char *name, struct account *a)
{
	int n = 64;

	a->groups = xreallocarray(NULL, (size_t)n, sizeof(*a->groups));
	while (getgrouplist(name, a->gid, a->groups, &n) == -1)
		a->groups = xreallocarray(a->groups, (size_t)n,
		    sizeof(*a->groups));
	a->ngroups = n;
}

static void
find_group(struct finder *f, struct account *a)
{
	const char *name = f->c->qod.group;
	const struct group *gr;

	if (name == NULL)
		return;
	gr = getgrnam(name);
	if (gr == NULL)
		complain(f, CONF_ERROR, conf_key_place(f->c, "qod", "group"),
		    "[qod] group: there is no group \"%s\"", name);
	else
		a->gid = gr->gr_gid;
}

/* The control socket can be given to a group of ours alone. */
static void
check_member(struct finder *f, gid_t gid)
{
	if (gid != getegid() && group_member(gid) == 0)
		complain(f, not_root(f), conf_key_place(f->c, "qod", "group"),
		    "[qod] group: this user is not a member of \"%s\": start "
		    "qod as root, or as one who is",
		    f->c->qod.group);
}

static void
find_user(struct finder *f, struct account *a)
{
	const char *name = f->c->qod.user;
	const struct conf_place *at = conf_key_place(f->c, "qod", "user");
	const struct passwd *pw;

	pw = getpwnam(name);
	if (pw == NULL) {
		complain(f, CONF_ERROR, at,
		    "[qod] user: there is no account \"%s\"", name);
		return;
	}
	a->gid = pw->pw_gid;
	if (geteuid() != 0) {
		if (pw->pw_uid != geteuid())
			complain(f, not_root(f), at,
			    "[qod] user: only root can run the roles as "
			    "\"%s\": start qod as root, or as that user",
			    name);
		find_group(f, a);
		check_member(f, a->gid);
		return;
	}
	a->change = true;
	a->uid = pw->pw_uid;
	find_group(f, a);
	find_groups(name, a);
}

static void
check_root(struct finder *f)
{
	const struct conf_qod *c = &f->c->qod;

	if (geteuid() == 0 && !c->allow_root)
		complain(f, CONF_ERROR, conf_key_place(f->c, "qod", "user"),
		    "[qod] user: qod was started by root: set user to the "
		    "account that all shall run as, or allow_root = yes");
	if (c->group != NULL)
		complain(f, CONF_ERROR, conf_key_place(f->c, "qod", "group"),
		    "[qod] group: needs user beside it");
}

/* Root, or a unit of systemd's that gives these two capabilities. */
static bool
can_switch(void)
{
	return geteuid() == 0 ||
	    (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_SETUID, 0, 0) ==
		    1 &&
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_SETGID, 0,
		    0) == 1);
}

/* That the accounts are there is for handler_check. */
static void
check_handler(struct finder *f, const struct conf_handler *h)
{
	struct handler_account a;

	if (handler_account(h, &a, NULL) == -1)
		return;
	if (a.change && f->start && !can_switch())
		complain(f, CONF_ERROR, &h->place,
		    "[handler %s] user: only root can start a handler under "
		    "another account: start qod as root (for systemd: "
		    "accounts.conf, see qod(8))",
		    h->name);
	handler_account_fini(&a);
}

unsigned
account_find(const struct conf *c, bool start, struct account *out,
    conf_report *report, void *arg)
{
	struct finder f = { c, start, report, arg, 0 };
	size_t i;

	memset(out, 0, sizeof(*out));
	out->uid = geteuid();
	out->gid = getegid();
	if (c->qod.user != NULL)
		find_user(&f, out);
	else
		check_root(&f);
	for (i = 0; i < c->nhandlers; i++)
		check_handler(&f, &c->handlers[i]);
	return f.errors;
}

void
account_fini(struct account *a)
{
	free(a->groups);
	a->groups = NULL;
	a->ngroups = 0;
}

bool
account_switches(const struct conf *c)
{
	size_t i;

	for (i = 0; i < c->nhandlers; i++)
		if (c->handlers[i].user != NULL || c->handlers[i].group != NULL)
			return true;
	return false;
}

static int
look(const char *path, int how)
{
	return faccessat(AT_FDCWD, path, how, AT_EACCESS) == 0 ? 0 : errno;
}

int
account_access(const struct account *a, const char *path, int how)
{
	gid_t own[64], gid;
	int n, rc;

	if (!a->change)
		return look(path, how);
	/* For the moment of the question; there are no threads. */
	gid = getegid();
	n = getgroups(64, own);
	if (n == -1 || setgroups((size_t)a->ngroups, a->groups) == -1 ||
	    setegid(a->gid) == -1 || seteuid(a->uid) == -1)
		fatal("can not look as user %u", (unsigned)a->uid);
	rc = look(path, how);
	if (seteuid(0) == -1 || setegid(gid) == -1 ||
	    setgroups((size_t)n, own) == -1)
		fatal("can not be root again");
	return rc;
}
