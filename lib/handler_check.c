#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confkeys.h"
#include "handler_check.h"
#include "xalloc.h"

/* Accounts */

static void
take_passwd(struct handler_account *out, const struct passwd *pw)
{
	out->uid = pw->pw_uid;
	out->gid = pw->pw_gid;
	out->name = xstrdup(pw->pw_name);
	out->home = xstrdup(pw->pw_dir[0] != '\0' ? pw->pw_dir : "/");
	out->shell = xstrdup(pw->pw_shell[0] != '\0' ? pw->pw_shell
						     : "/bin/sh");
}

static int
find_user(const char *user, struct handler_account *out, struct qo_err *err)
{
	const struct passwd *pw;

	errno = 0;
	pw = user != NULL ? getpwnam(user) : getpwuid(geteuid());
	if (pw != NULL) {
		take_passwd(out, pw);
		return 0;
	}
	if (user == NULL) {
		/* No name: that happens in containers. */
		out->uid = geteuid();
		out->gid = getegid();
		out->home = xstrdup("/");
		out->shell = xstrdup("/bin/sh");
		return 0;
	}
	if (errno == 0 || errno == ENOENT || errno == ESRCH)
		qo_err_set(err, "there is no user \"%s\" here", user);
	else
		qo_err_sys(err, errno, "user \"%s\"", user);
	return -1;
}

static int
find_group(const char *group, gid_t *gid, struct qo_err *err)
{
	const struct group *gr;

	errno = 0;
	gr = getgrnam(group);
	if (gr != NULL) {
		*gid = gr->gr_gid;
		return 0;
	}
	if (errno == 0 || errno == ENOENT || errno == ESRCH)
		qo_err_set(err, "there is no group \"%s\" here", group);
	else
		qo_err_sys(err, errno, "group \"%s\"", group);
	return -1;
}

/* Those that a login would have; without a user only the group itself. */
static void
find_groups(const struct conf_handler *c, struct handler_account *out)
{
	int n = 16;

	for (;;) {
		out->groups = xreallocarray(out->groups, (size_t)n,
		    sizeof(*out->groups));
		if (c->user == NULL || out->name == NULL) {
			out->groups[0] = out->gid;
			out->ngroups = 1;
			return;
		}
		if (getgrouplist(out->name, out->gid, out->groups, &n) != -1)
			break;
	}
	out->ngroups = (size_t)n;
}

int
handler_account(const struct conf_handler *c, struct handler_account *out,
    struct qo_err *err)
{
	memset(out, 0, sizeof(*out));
	if (find_user(c->user, out, err) == -1)
		return -1;
	if (c->group != NULL && find_group(c->group, &out->gid, err) == -1) {
		handler_account_fini(out);
		return -1;
	}
	if (c->user == NULL && c->group == NULL)
		return 0;
	out->change = out->uid != geteuid() || out->gid != getegid();
	if (out->change)
		find_groups(c, out);
	return 0;
}

void
handler_account_fini(struct handler_account *a)
{
	free(a->groups);
	free(a->name);
	free(a->home);
	free(a->shell);
	memset(a, 0, sizeof(*a));
}

/* Programs */

/* 0, or an errno; EISDIR for all that is no plain file. */
static int
executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return errno;
	if (!S_ISREG(st.st_mode))
		return EISDIR;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == -1 ? errno : 0;
}

static char *
search(const char *word, const char *path, int *why)
{
	const char *p = path, *end;
	char *full;
	int e;

	*why = ENOENT;
	for (;;) {
		end = strchrnul(p, ':');
		/* An empty one would be the current directory: no. */
		if (end > p) {
			full = xasprintf("%.*s/%s", (int)(end - p), p, word);
			e = executable(full);
			if (e == 0)
				return full;
			free(full);
			if (e == EACCES)
				*why = e;
		}
		if (*end == '\0')
			return NULL;
		p = end + 1;
	}
}

static char *
absolute(const char *word)
{
	char *cwd, *full;

	cwd = word[0] == '/' ? NULL : getcwd(NULL, 0);
	full = cwd == NULL ? xstrdup(word) : xasprintf("%s/%s", cwd, word);
	free(cwd);
	return full;
}

char *
handler_program(const char *word, const char *path, struct qo_err *err)
{
	char *full;
	int e;

	if (strchr(word, '/') == NULL) {
		full = search(word, path, &e);
		if (full == NULL && e == ENOENT)
			qo_err_set(err, "there is no program \"%s\" in PATH",
			    word);
		else if (full == NULL)
			qo_err_sys(err, e, "\"%s\" in PATH", word);
		return full;
	}
	full = absolute(word);
	e = executable(full);
	if (e == 0)
		return full;
	if (e == ENOENT)
		qo_err_set(err, "there is no program \"%s\"", full);
	else if (e == EACCES)
		qo_err_set(err, "\"%s\" can not be executed: chmod +x?", full);
	else if (e == EISDIR)
		qo_err_set(err, "\"%s\" is not a file", full);
	else
		qo_err_sys(err, e, "\"%s\"", full);
	free(full);
	return NULL;
}

/* The check */

struct judge {
	conf_report *report;
	void *arg;
	const struct conf_handler *c;
	unsigned errors;
};

static void say(struct judge *j, enum conf_level level, const char *key,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void
say(struct judge *j, enum conf_level level, const char *key, const char *fmt,
    ...)
{
	const struct conf_key *k = conf_key_find("handler", key);
	char what[400], msg[512];
	va_list ap;

	if (level == CONF_ERROR)
		j->errors++;
	if (j->report == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(msg, sizeof(msg), "[handler %s] %s: %s", j->c->name, key,
	    what);
	j->report(j->arg, level, &j->c->places[k - conf_handler_keys], msg);
}

static void
check_account(struct judge *j)
{
	struct handler_account a;
	struct qo_err err;
	const char *key = "user";

	if (handler_account(j->c, &a, &err) == -1) {
		if (j->c->user == NULL || getpwnam(j->c->user) != NULL)
			key = "group";
		say(j, CONF_ERROR, key, "%s", err.msg);
		return;
	}
	/* A warning: who checks may be somebody else than who runs it. */
	if (a.change && geteuid() != 0)
		say(j, CONF_WARNING, j->c->user != NULL ? key : "group",
		    "another account needs a worker that runs as root, or has "
		    "CAP_SETUID and CAP_SETGID");
	handler_account_fini(&a);
}

static void
check_cwd(struct judge *j)
{
	struct stat st;

	if (j->c->cwd == NULL)
		return;
	if (stat(j->c->cwd, &st) == -1)
		say(j, CONF_ERROR, "cwd", "\"%s\": %s", j->c->cwd,
		    strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		say(j, CONF_ERROR, "cwd", "\"%s\" is not a directory",
		    j->c->cwd);
}

const char *
handler_path(const struct conf_handler *c)
{
	size_t i;

	for (i = 0; i < c->env.n; i++)
		if (strcmp(c->env.vars[i].name, "PATH") == 0)
			return c->env.vars[i].value;
	return getenv("PATH") != NULL ? getenv("PATH") : HANDLER_PATH;
}

unsigned
handler_check(const struct conf *c, conf_report *report, void *arg)
{
	struct judge j = { report, arg, NULL, 0 };
	struct qo_err err;
	char *program;
	size_t i;

	for (i = 0; i < c->nhandlers; i++) {
		j.c = &c->handlers[i];
		program = handler_program(j.c->command.argv[0],
		    handler_path(j.c), &err);
		if (program == NULL)
			say(&j, CONF_ERROR, "command", "%s", err.msg);
		free(program);
		check_account(&j);
		check_cwd(&j);
	}
	return j.errors;
}
