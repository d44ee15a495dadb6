#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"
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

const char *
session_path(struct session *s)
{
	if (s->path == NULL)
		s->path = find_config(s);
	return s->path;
}

static enum exit_code
load_conf(struct session *s, unsigned how)
{
	struct conf_flag flag = { "--profile", "s3", "profile", s->profile };
	struct conf_opts opts = {
		.how = how, .env = environ, .report = on_report
	};

	if (s->conf != NULL)
		return EXIT_OK;
	(void)session_path(s);
	opts.flags = &flag;
	opts.nflags = s->profile != NULL ? 1 : 0;
	s->conf = conf_load(s->path, &opts);
	return s->conf != NULL ? EXIT_OK : EXIT_USAGE;
}

enum exit_code
session_conf(struct session *s)
{
	return load_conf(s, 0);
}

enum exit_code
session_conf_no_keys(struct session *s)
{
	return load_conf(s, CONF_NO_KEYS);
}

/* The store */

enum exit_code
session_store(struct session *s)
{
	struct qo_err err = { 0 };
	enum exit_code code;

	if (s->s3 != NULL)
		return EXIT_OK;
	if ((code = session_conf(s)) != EXIT_OK)
		return code;
	if (s->loop == NULL)
		s->loop = loop_new();
	switch (qo_attach_store(s->loop, s->conf, &s->s3, &err)) {
	case QO_OK:
		return EXIT_OK;
	case QO_NOENT:
		exit_say("%s  (-c names another configuration)", err.msg);
		return EXIT_UNREACHABLE;
	case QO_DENIED:
		exit_say("%s", err.msg);
		return EXIT_DENIED;
	default:
		exit_say("%s", err.msg);
		return EXIT_USAGE;
	}
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
		    qo_attach_embedded(s->conf) ? ", is it running?" : "",
		    err->msg);
	else
		exit_say("%s", err->msg);
	return exit_code_of(rc);
}

enum exit_code
session_open(struct session *s)
{
	struct qo_err err = { 0 };
	enum exit_code code;
	enum qo_rc rc;

	if (s->q != NULL)
		return EXIT_OK;
	if ((code = session_store(s)) != EXIT_OK)
		return code;
	rc = qo_attach_queue(s->loop, s->s3, s->conf, &s->control, &s->q, &err);
	return rc == QO_OK ? EXIT_OK : session_fail(s, rc, &err);
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
