#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "creds.h"
#include "creds_meta.h"
#include "envkeys.h"
#include "ini.h"
#include "io.h"
#include "xalloc.h"

#define FILE_MAX_LEN     (1024 * 1024)
#define REFRESH_EARLY_US (300 * QO_US_PER_SEC)
#define EXPIRY_MARGIN_US (10 * QO_US_PER_SEC)
#define FETCH_PAUSE_MS   15000 /* after a fetch that brought nothing */

struct qo_credchain {
	struct loop *loop;
	struct http *http;
	char *access_key, *secret_key, *profile;
	void (*ready)(void *arg);
	void *arg;
	struct qo_creds creds;       /* access_key NULL: none yet */
	struct qo_creds_meta *fetch; /* NULL: none under way */
	struct qo_mono not_before;   /* of the next fetch */
	struct qo_err last;          /* why the last fetch brought nothing */
	bool wanted;                 /* a get was told to wait */
};

static void
free_secret(char *s)
{
	if (s != NULL)
		explicit_bzero(s, strlen(s));
	free(s);
}

void
qo_creds_fini(struct qo_creds *c)
{
	free_secret(c->access_key);
	free_secret(c->secret_key);
	free_secret(c->session_token);
	memset(c, 0, sizeof(*c));
}

void
qo_creds_set(struct qo_creds *c, const char *access_key, const char *secret_key,
    const char *session_token, const char *source)
{
	struct qo_creds fresh;

	memset(&fresh, 0, sizeof(fresh));
	fresh.access_key = xstrdup(access_key);
	fresh.secret_key = xstrdup(secret_key);
	if (session_token != NULL && session_token[0] != '\0')
		fresh.session_token = xstrdup(session_token);
	fresh.source = source;
	qo_creds_fini(c);
	*c = fresh;
}

static const char *
env_or_null(const char *name)
{
	const char *v = getenv(name);

	return v != NULL && v[0] != '\0' ? v : NULL;
}

enum qo_rc
qo_creds_from_env(struct qo_creds *out, struct qo_err *err)
{
	const char *ak = envkeys_get("AWS_ACCESS_KEY_ID");
	const char *sk = envkeys_get("AWS_SECRET_ACCESS_KEY");

	if (ak == NULL && sk == NULL)
		return QO_NOENT;
	if (ak == NULL || sk == NULL) {
		qo_err_set(err, "%s is set but %s is not",
		    ak != NULL ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
		    ak != NULL ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
		return QO_ERR;
	}
	qo_creds_set(out, ak, sk, envkeys_get("AWS_SESSION_TOKEN"),
	    "environment");
	return QO_OK;
}

/* The shared credentials file */

struct file_scan {
	const char *profile;
	bool found;
	char *access_key, *secret_key, *token;
	char error[160];
};

static enum ini_verdict
on_item(void *arg, const struct ini_item *item)
{
	struct file_scan *scan = arg;
	char **slot = NULL;

	switch (item->kind) {
	case INI_SECTION:
		if (item->name[0] != '\0' ||
		    strcmp(item->type, scan->profile) != 0)
			return INI_SKIP;
		scan->found = true;
		return INI_GO;
	case INI_ERROR:
		if (scan->error[0] == '\0')
			snprintf(scan->error, sizeof(scan->error),
			    "line %u: %s", item->line, item->msg);
		return INI_GO;
	case INI_KEY:
		break;
	}
	if (item->parent != NULL || item->type[0] == '\0')
		return INI_GO;
	if (strcmp(item->key, "aws_access_key_id") == 0)
		slot = &scan->access_key;
	else if (strcmp(item->key, "aws_secret_access_key") == 0)
		slot = &scan->secret_key;
	else if (strcmp(item->key, "aws_session_token") == 0)
		slot = &scan->token;
	if (slot != NULL) {
		free_secret(*slot);
		*slot = xstrdup(item->value);
	}
	return INI_GO;
}

/* -1 when there is no home to look in. */
static int
file_path(char *out, size_t size)
{
	const char *env = env_or_null("AWS_SHARED_CREDENTIALS_FILE");
	const char *home = env_or_null("HOME");
	const struct passwd *pw;
	int n;

	if (env != NULL) {
		n = snprintf(out, size, "%s", env);
	} else {
		if (home == NULL) {
			pw = getpwuid(geteuid());
			home = pw != NULL ? pw->pw_dir : NULL;
		}
		if (home == NULL)
			return -1;
		n = snprintf(out, size, "%s/.aws/credentials", home);
	}
	return (size_t)n < size ? 0 : -1;
}

static enum qo_rc
scan_result(struct file_scan *scan, const char *path, bool named,
    struct qo_creds *out, struct qo_err *err)
{
	if (!scan->found && !named)
		return QO_NOENT;
	if (!scan->found) {
		if (scan->error[0] != '\0')
			qo_err_set(err, "%s: %s", path, scan->error);
		else
			qo_err_set(err, "%s: no profile [%s]", path,
			    scan->profile);
		return QO_ERR;
	}
	if (scan->access_key == NULL || scan->secret_key == NULL) {
		qo_err_set(err, "%s: profile [%s] has no %s", path,
		    scan->profile,
		    scan->access_key == NULL ? "aws_access_key_id"
					     : "aws_secret_access_key");
		return QO_ERR;
	}
	qo_creds_set(out, scan->access_key, scan->secret_key, scan->token,
	    "shared credentials file");
	return QO_OK;
}

enum qo_rc
qo_creds_from_file(const char *profile, struct qo_creds *out,
    struct qo_err *err)
{
	struct file_scan scan;
	struct buf text;
	struct qo_err why;
	char path[PATH_MAX];
	bool named;
	enum qo_rc rc = QO_NOENT;

	memset(&scan, 0, sizeof(scan));
	if (profile == NULL)
		profile = env_or_null("AWS_PROFILE");
	named = profile != NULL || env_or_null("AWS_SHARED_CREDENTIALS_FILE");
	scan.profile = profile != NULL ? profile : "default";
	if (file_path(path, sizeof(path)) == -1)
		return QO_NOENT;
	buf_init_secret(&text, FILE_MAX_LEN);
	qo_err_reset(&why);
	if (io_read_secret(path, &text, &why) == -1) {
		if (why.errnum != ENOENT || named) {
			if (err != NULL)
				*err = why;
			rc = QO_ERR;
		}
	} else {
		ini_parse(text.data, text.len, path, INI_LOOSE, on_item, &scan);
		rc = scan_result(&scan, path, named, out, err);
	}
	buf_fini(&text);
	free_secret(scan.access_key);
	free_secret(scan.secret_key);
	free_secret(scan.token);
	return rc;
}

/* The chain */

struct qo_credchain *
qo_credchain_new(struct loop *l, struct http *h,
    const struct qo_credchain_conf *conf)
{
	struct qo_credchain *c;

	c = xcalloc(1, sizeof(*c));
	c->loop = l;
	c->http = h;
	c->access_key = xstrdup_null(conf->access_key);
	c->secret_key = xstrdup_null(conf->secret_key);
	c->profile = xstrdup_null(conf->profile);
	c->ready = conf->ready;
	c->arg = conf->arg;
	return c;
}

void
qo_credchain_free(struct qo_credchain *c)
{
	if (c == NULL)
		return;
	qo_creds_meta_cancel(c->fetch);
	qo_creds_fini(&c->creds);
	free_secret(c->access_key);
	free_secret(c->secret_key);
	free(c->profile);
	free(c);
}

/* The sources that need no waiting. */
static enum qo_rc
look_here(struct qo_credchain *c, struct qo_err *err)
{
	enum qo_rc rc;

	if (c->access_key != NULL && c->secret_key != NULL) {
		qo_creds_set(&c->creds, c->access_key, c->secret_key, NULL,
		    "configuration");
		return QO_OK;
	}
	/* A profile in the configuration outranks the environment's keys. */
	if (c->profile == NULL) {
		rc = qo_creds_from_env(&c->creds, err);
		if (rc != QO_NOENT)
			return rc;
	}
	return qo_creds_from_file(c->profile, &c->creds, err);
}

static void
on_fetched(enum qo_rc rc, const struct qo_creds *creds,
    const struct qo_err *err, void *arg)
{
	struct qo_credchain *c = arg;
	bool wanted = c->wanted;

	c->fetch = NULL;
	c->wanted = false;
	qo_err_reset(&c->last);
	if (rc == QO_OK) {
		qo_creds_set(&c->creds, creds->access_key, creds->secret_key,
		    creds->session_token, creds->source);
		c->creds.expires = creds->expires;
	} else {
		if (rc == QO_ERR)
			c->last = *err;
		c->not_before = qo_mono_add_ms(qo_mono_now(), FETCH_PAUSE_MS);
	}
	if (wanted)
		c->ready(c->arg);
}

static bool
may_fetch(const struct qo_credchain *c)
{
	return c->fetch == NULL && qo_mono_now().us >= c->not_before.us;
}

static void
start_fetch(struct qo_credchain *c)
{
	c->fetch = qo_creds_meta_fetch(c->loop, c->http, on_fetched, c);
}

static void
say_none(const struct qo_credchain *c, struct qo_err *err)
{
	if (c->last.msg[0] != '\0') {
		if (err != NULL)
			*err = c->last;
		return;
	}
	qo_err_set(err,
	    "no S3 credentials: set access_key_file in [s3], or "
	    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in "
	    "~/.aws/credentials (no metadata service answers either)");
}

enum qo_rc
qo_credchain_get(struct qo_credchain *c, struct qo_wall now,
    const struct qo_creds **out, struct qo_err *err)
{
	int64_t left;
	enum qo_rc rc;

	if (c->creds.access_key == NULL) {
		rc = look_here(c, err);
		if (rc != QO_OK && rc != QO_NOENT)
			return rc;
	}
	if (c->creds.access_key != NULL) {
		left = c->creds.expires.us == 0 ? INT64_MAX
						: c->creds.expires.us - now.us;
		if (left < REFRESH_EARLY_US && may_fetch(c))
			start_fetch(c);
		if (left > EXPIRY_MARGIN_US) {
			*out = &c->creds;
			return QO_OK;
		}
	} else if (may_fetch(c)) {
		start_fetch(c);
	}
	if (c->fetch != NULL) {
		c->wanted = true;
		return QO_AGAIN;
	}
	say_none(c, err);
	return QO_ERR;
}

void
qo_credchain_expired(struct qo_credchain *c)
{
	qo_creds_fini(&c->creds);
	c->not_before.us = 0;
}
