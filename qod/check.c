#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "confkeys.h"
#include "envkeys.h"
#include "handler_check.h"
#include "log.h"
#include "roles.h"

static void
on_report(void *arg, enum conf_level level, const struct conf_place *place,
    const char *msg)
{
	struct check *k = arg;
	struct buf b;

	buf_init(&b, 4096);
	conf_add_report(&b, level, place, msg);
	if (level == CONF_ERROR && k->errors++ == 0)
		strlcpy(k->first, b.data, sizeof(k->first));
	if (!k->log)
		fprintf(stderr, "%s\n", b.data);
	else if (level == CONF_ERROR)
		log_errorx("%s", b.data);
	else
		log_warnx("%s", b.data);
	buf_fini(&b);
}

static void __attribute__((format(printf, 3, 4)))
complain(struct check *k, const struct conf_place *at, const char *fmt, ...)
{
	char msg[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	on_report(k, CONF_ERROR, at, msg);
}

static void
check_programs(struct check *k, const struct conf *c)
{
	static const struct qod none;
	struct qo_err err = { 0 };
	char *path;
	size_t i;

	for (i = 0; i < qod_nroles; i++) {
		if (qod_roles[i].count(&none, c) == 0)
			continue;
		path = roles_program(&qod_roles[i], c, &err);
		if (path == NULL)
			complain(k, conf_key_place(c, "qod", "libexec"), "%s",
			    err.msg);
		free(path);
	}
}

struct conf *
check_load(struct check *k, const char *file, struct account *account)
{
	char **env = envkeys_environ();
	struct conf_opts opts = { .env = env, .report = on_report, .arg = k };
	struct conf *c;

	c = conf_load(file, &opts);
	free(env);
	if (c == NULL)
		return NULL;
	account_find(c, k->start, account, on_report, k);
	handler_check(c, on_report, k);
	check_programs(k, c);
	if (k->errors == 0)
		return c;
	account_fini(account);
	conf_free(c);
	return NULL;
}

static bool
differs(const struct conf_key *key, const struct conf *a, const struct conf *b)
{
	const void *x = conf_member_const(key, a);
	const void *y = conf_member_const(key, b);

	if (key->type->equal != NULL)
		return !key->type->equal(x, y);
	return memcmp(x, y, key->type->size) != 0;
}

bool
check_change(struct check *k, const struct conf *old, const struct conf *new)
{
	static const char *const fixed[][2] = { { "qod", "user" },
		{ "qod", "group" }, { "qod", "pidfile" }, { "qod", "control" },
		{ "store", "enabled" }, { "store", "listen" },
		{ "store", "socket" }, { "store", "data" } };
	const struct conf_key *key;
	unsigned before = k->errors;
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		key = conf_key_find(fixed[i][0], fixed[i][1]);
		if (differs(key, old, new))
			complain(k,
			    conf_key_place(new, fixed[i][0], fixed[i][1]),
			    "[%s] %s: can not change while qod runs: restart "
			    "it",
			    fixed[i][0], fixed[i][1]);
	}
	return k->errors == before;
}

bool
check_store_differs(const struct conf *old, const struct conf *new)
{
	static const char *const others[][2] = { { "s3", "region" },
		{ "qod", "log" }, { "qod", "log_format" },
		{ "qod", "log_level" }, { "qod", "drain_timeout" } };
	size_t i;

	for (i = 0; i < conf_nkeys; i++)
		if (strcmp(conf_keys[i].section, "store") == 0 &&
		    differs(&conf_keys[i], old, new))
			return true;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (differs(conf_key_find(others[i][0], others[i][1]), old,
			new))
			return true;
	return false;
}

/* An empty directory of root's, as systemd makes one for a service that it
 * starts as root. */
static bool
is_new(const char *dir)
{
	const struct dirent *e;
	struct stat st;
	size_t n = 0;
	DIR *d;

	if (lstat(dir, &st) == -1 || !S_ISDIR(st.st_mode) || st.st_uid != 0 ||
	    (d = opendir(dir)) == NULL)
		return false;
	while (n == 0 && (e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			n++;
	closedir(d);
	return n == 0;
}

bool
check_data(struct check *k, const struct conf *c, const struct account *account)
{
	const struct conf_place *at = conf_key_place(c, "store", "data");
	const char *dir = c->store.data;
	int errnum;

	if (!c->store.enabled)
		return true;
	if (mkdir(dir, 0700) == -1 && errno != EEXIST) {
		complain(k, at, "[store] data: can not make %s: %s", dir,
		    strerror(errno));
		return false;
	}
	if (account->change && is_new(dir) &&
	    lchown(dir, account->uid, account->gid) == -1) {
		complain(k, at, "[store] data: chown %s: %s", dir,
		    strerror(errno));
		return false;
	}
	errnum = account_access(account, dir, R_OK | W_OK | X_OK);
	if (errnum != 0)
		complain(k, at,
		    "[store] data: %s can not be written by user %u: %s", dir,
		    (unsigned)account->uid, strerror(errnum));
	return k->errors == 0;
}
