#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "credfile.h"
#include "out.h"
#include "probe.h"
#include "session.h"
#include "xalloc.h"

#define RUN_CONF "run/qod.conf" /* what `make run` writes */

/* The configuration */

static void
on_report(void *arg, enum conf_level level, const struct conf_place *place,
    const char *msg)
{
	struct buf b;

	(void)arg;
	if (level == CONF_WARNING)
		return; /* qod's to say */
	buf_init(&b, 4096);
	conf_add_report(&b, level, place, msg);
	exit_say("%s", b.data);
	buf_fini(&b);
}

/* A file of ours in the directory we stand in: nobody else's counts. */
static bool
is_ours(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

/* -c, QO_CONFIG, what `make run` made here, the installed one, or none. */
static char *
find_config(const struct session *s)
{
	const char *env = getenv("QO_CONFIG");

	if (s->config != NULL)
		return xstrdup(s->config);
	if (env != NULL && env[0] != '\0')
		return xstrdup(env);
	if (is_ours(RUN_CONF))
		return xstrdup(RUN_CONF);
	if (access(QO_SYSCONFDIR "/qo/qod.conf", F_OK) == 0)
		return xstrdup(QO_SYSCONFDIR "/qo/qod.conf");
	return NULL;
}

enum exit_code
session_conf(struct session *s)
{
	struct conf_flag flag = { "--profile", "s3", "profile", s->profile };
	struct conf_opts opts = { .env = environ, .report = on_report };

	if (s->conf != NULL)
		return EXIT_OK;
	if (s->path == NULL)
		s->path = find_config(s);
	opts.flags = &flag;
	opts.nflags = s->profile != NULL ? 1 : 0;
	s->conf = conf_load(s->path, &opts);
	return s->conf != NULL ? EXIT_OK : EXIT_USAGE;
}

/* The store */

static bool
is_embedded(const struct conf *c)
{
	return c->s3.endpoint == NULL && c->store.enabled;
}

/* The embedded store has its key in a file beside its data. */
static enum exit_code
embedded_key(const struct conf *c, struct credfile *cred)
{
	struct qo_err err = { 0 };

	if (!is_embedded(c) || c->s3.access_key != NULL ||
	    c->s3.profile != NULL || c->store.keys_file == NULL ||
	    getenv("AWS_ACCESS_KEY_ID") != NULL)
		return EXIT_OK;
	if (credfile_read(c->store.keys_file, cred, &err) == 0)
		return EXIT_OK;
	if (err.errnum == ENOENT) {
		exit_say("%s: there is no key: has the store been started?  "
			 "(-c names another configuration)",
		    c->store.keys_file);
		return EXIT_UNREACHABLE;
	}
	exit_say("%s", err.msg);
	return EXIT_DENIED;
}

static void
fill_s3_conf(struct qo_s3_conf *out, const struct conf *c,
    const struct credfile *cred)
{
	memset(out, 0, sizeof(*out));
	out->endpoint = c->s3.url;
	if (is_embedded(c) && c->s3.url == NULL) {
		out->endpoint = "http://localhost";
		out->unix_socket = c->store.socket;
	}
	out->region = c->s3.region;
	out->path_style = c->s3.path_style;
	out->allow_http = c->s3.allow_http;
	out->etag_form = c->s3.etag_quotes == CONF_NO ? QO_S3_ETAG_BARE
						      : QO_S3_ETAG_QUOTED;
	out->ca_file = c->s3.ca_file;
	out->access_key = cred->access_key != NULL ? cred->access_key
						   : c->s3.access_key;
	out->secret_key = cred->secret_key != NULL ? cred->secret_key
						   : c->s3.secret_key;
	out->profile = c->s3.profile;
	out->max_connections = (size_t)c->s3.max_connections;
	out->request_timeout_ms = c->s3.request_timeout_ms;
	out->max_skew_ms = c->s3.max_skew_ms;
}

enum exit_code
session_store(struct session *s)
{
	struct credfile cred = { NULL, NULL };
	struct qo_s3_conf conf;
	struct qo_err err = { 0 };
	enum exit_code code;

	if (s->s3 != NULL)
		return EXIT_OK;
	if ((code = session_conf(s)) != EXIT_OK ||
	    (code = embedded_key(s->conf, &cred)) != EXIT_OK)
		return code;
	if (s->loop == NULL)
		s->loop = loop_new();
	fill_s3_conf(&conf, s->conf, &cred);
	s->s3 = qo_s3_new(s->loop, &conf, &err);
	credfile_fini(&cred);
	if (s->s3 != NULL)
		return EXIT_OK;
	exit_say("%s", err.msg);
	return EXIT_USAGE;
}

/* The queue */

enum exit_code
session_fail(struct session *s, enum qo_rc rc, const struct qo_err *err)
{
	if (rc == QO_NOENT && strcmp(err->s3_code, "NoSuchBucket") == 0)
		exit_say("there is no such bucket, run qo init first: %s",
		    err->msg);
	else if (rc == QO_AGAIN && err->http_status == 0)
		exit_say("the store can not be reached%s: %s",
		    is_embedded(s->conf) ? ", is it running?" : "", err->msg);
	else
		exit_say("%s", err->msg);
	return exit_code_of(rc);
}

/* What the probe found out about ETags, unless the configuration says. */
static void
apply_probe(struct session *s)
{
	struct qo_err err;
	bool bare;

	if (s->conf->s3.etag_quotes != CONF_AUTO)
		return;
	(void)qo_probe_judge(&s->control, &bare, &err);
	if (bare)
		qo_s3_set_etag_form(s->s3, QO_S3_ETAG_BARE);
}

enum exit_code
session_open(struct session *s)
{
	const struct conf_s3 *c;
	struct qo_queue_conf qc;
	struct qo_err err = { 0 };
	enum exit_code code;
	enum qo_rc rc;

	if (s->q != NULL)
		return EXIT_OK;
	if ((code = session_store(s)) != EXIT_OK)
		return code;
	c = &s->conf->s3;
	rc = qo_control_read(s->s3, c->bucket, c->prefix, &s->control, &err);
	if (rc == QO_NOENT && strcmp(err.s3_code, "NoSuchBucket") != 0) {
		exit_say("bucket %s%s%s holds no queue: run qo init first",
		    c->bucket, c->prefix[0] != '\0' ? ", prefix " : "",
		    c->prefix);
		return EXIT_NOENT;
	}
	if (rc != QO_OK)
		return session_fail(s, rc, &err);
	apply_probe(s);
	memset(&qc, 0, sizeof(qc));
	qc.bucket = c->bucket;
	qc.index_bucket = c->index_bucket;
	qc.prefix = c->prefix;
	qc.shard_width = (int)s->control.shard_width;
	qc.inline_max = (size_t)s->conf->worker.inline_max;
	s->q = qo_queue_new(s->loop, s->s3, &qc);
	return EXIT_OK;
}

enum exit_code
session_open_writer(struct session *s)
{
	struct qo_err err = { 0 };
	enum exit_code code;
	bool bare;

	if ((code = session_open(s)) != EXIT_OK)
		return code;
	if (qo_probe_judge(&s->control, &bare, &err) == 0)
		return EXIT_OK;
	exit_say("%s", err.msg);
	return EXIT_FAILED;
}

void
session_fini(struct session *s)
{
	if (s->q != NULL) {
		qo_queue_flush(s->q);
		qo_control_fini(&s->control);
		qo_queue_free(s->q);
	}
	qo_s3_free(s->s3);
	loop_free(s->loop);
	conf_free(s->conf);
	free(s->path);
	memset(s, 0, sizeof(*s));
}

uint64_t
session_requests(const struct session *s)
{
	const struct qo_s3_stats *st;
	uint64_t n = 0;
	size_t i;

	if (s->s3 == NULL)
		return 0;
	st = qo_s3_stats(s->s3);
	for (i = 0; i < QO_S3_OPS; i++)
		n += st->requests[i];
	return n;
}

const char *
session_who(void)
{
	static char who[160];
	struct passwd *pw;
	char host[65];

	if (who[0] != '\0')
		return who;
	if (gethostname(host, sizeof(host)) == -1)
		snprintf(host, sizeof(host), "localhost");
	host[sizeof(host) - 1] = '\0';
	if ((pw = getpwuid(geteuid())) != NULL)
		snprintf(who, sizeof(who), "%.64s@%s", pw->pw_name, host);
	else
		snprintf(who, sizeof(who), "%lu@%s", (unsigned long)geteuid(),
		    host);
	return who;
}
