#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "credfile.h"
#include "envkeys.h"
#include "log.h"
#include "probe.h"
#include "queue_init.h"
#include "xalloc.h"

#define PAUSE_MIN_MS   50
#define PAUSE_MAX_MS   5000
#define PAUSE_MAKE_MS  250 /* another process is making the queue */
#define QUIET_PAUSE_MS 400 /* a wait this short is not worth a line */

bool
qo_attach_embedded(const struct conf *c)
{
	return c->s3.endpoint == NULL && c->store.enabled;
}

/* The store */

/* The embedded store has its key in a file beside its data. */
static enum qo_rc
embedded_key(const struct conf *c, struct credfile *cred, struct qo_err *err)
{
	if (!qo_attach_embedded(c) || c->s3.access_key != NULL ||
	    c->s3.profile != NULL || c->store.keys_file == NULL ||
	    envkeys_get("AWS_ACCESS_KEY_ID") != NULL)
		return QO_OK;
	if (credfile_read_store(c->store.keys_file, c->store.data, cred, err) ==
	    0)
		return QO_OK;
	if (err->errnum != ENOENT)
		return QO_DENIED;
	qo_err_set(err, "%s: there is no key: has the store been started?",
	    c->store.keys_file);
	return QO_NOENT;
}

static void
fill_s3_conf(struct qo_s3_conf *out, const struct conf *c,
    const struct credfile *cred)
{
	memset(out, 0, sizeof(*out));
	out->endpoint = c->s3.url;
	if (qo_attach_embedded(c) && c->s3.url == NULL) {
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

enum qo_rc
qo_attach_store(struct loop *l, const struct conf *c, struct qo_s3 **s3,
    struct qo_err *err)
{
	struct credfile cred = { NULL, NULL };
	struct qo_s3_conf conf;
	enum qo_rc rc;

	*s3 = NULL;
	if ((rc = embedded_key(c, &cred, err)) != QO_OK)
		return rc;
	fill_s3_conf(&conf, c, &cred);
	*s3 = qo_s3_new(l, &conf, err);
	credfile_fini(&cred);
	return *s3 != NULL ? QO_OK : QO_ERR;
}

/* The queue */

/* What the probe found out about ETags, unless the configuration says. */
static void
apply_probe(struct qo_s3 *s3, const struct conf *c,
    const struct qo_control *control)
{
	struct qo_err err;
	bool bare;

	if (c->s3.etag_quotes != CONF_AUTO)
		return;
	(void)qo_probe_judge(control, &bare, &err);
	if (bare)
		qo_s3_set_etag_form(s3, QO_S3_ETAG_BARE);
}

static struct qo_queue *
queue_of(struct loop *l, struct qo_s3 *s3, const struct conf *c,
    const struct qo_control *control)
{
	struct qo_queue_conf qc;

	apply_probe(s3, c, control);
	memset(&qc, 0, sizeof(qc));
	qc.bucket = c->s3.bucket;
	qc.index_bucket = c->s3.index_bucket;
	qc.prefix = c->s3.prefix;
	qc.shard_width = (int)control->shard_width;
	qc.inline_max = (size_t)c->worker.inline_max;
	return qo_queue_new(l, s3, &qc);
}

/* The store's own words tell of a missing bucket. */
static void
say_no_queue(const struct conf *c, struct qo_err *err)
{
	if (strcmp(err->s3_code, "NoSuchBucket") != 0)
		qo_err_set(err,
		    "bucket %s%s%s holds no queue: run qo init first",
		    c->s3.bucket, c->s3.prefix[0] != '\0' ? ", prefix " : "",
		    c->s3.prefix);
}

enum qo_rc
qo_attach_queue(struct loop *l, struct qo_s3 *s3, const struct conf *c,
    struct qo_control *control, struct qo_queue **q, struct qo_err *err)
{
	enum qo_rc rc;

	rc = qo_control_read(s3, c->s3.bucket, c->s3.prefix, control, err);
	if (rc == QO_NOENT)
		say_no_queue(c, err);
	if (rc == QO_OK)
		*q = queue_of(l, s3, c, control);
	return rc;
}

/* Waiting for both */

struct wait {
	struct loop *loop;
	const struct conf *conf;
	const bool *stop;
	bool make;
	bool told; /* that it waits */
	int64_t pause_ms;
	struct qo_s3 *s3;
};

static void
on_time(struct loop_timer *t)
{
	*(bool *)t->arg = true;
}

static void
on_answer(struct qo_s3_req *r)
{
	*(bool *)r->arg = true;
}

static void
pause_for(struct wait *w, int64_t max_ms)
{
	struct loop_timer timer = { 0 };
	bool over = false;

	if (w->pause_ms > max_ms)
		w->pause_ms = max_ms;
	loop_timer_set_ms(w->loop, &timer, w->pause_ms, on_time, &over);
	while (!over && !*w->stop)
		loop_once(w->loop, -1);
	loop_timer_del(w->loop, &timer);
	w->pause_ms *= 2;
}

static void
tell(struct wait *w, const struct qo_err *err)
{
	if (w->told || w->pause_ms < QUIET_PAUSE_MS)
		return;
	w->told = true;
	log_event(LOG_LVL_WARN, "waiting for the store", "why", err->msg, NULL);
}

/* qo_control_read, but *stop ends it. */
static enum qo_rc
read_control(struct wait *w, struct qo_control *control, struct qo_err *err)
{
	const struct conf_s3 *c = &w->conf->s3;
	struct qo_s3_req r;
	char key[QO_KEY_SIZE];
	enum qo_rc rc = QO_ERR;
	bool done = false;

	if (qo_control_req(&r, c->bucket, c->prefix, key, err) == 0) {
		r.done = on_answer;
		r.arg = &done;
		qo_s3_send(w->s3, &r);
		while (!done && !*w->stop)
			loop_once(w->loop, -1);
		rc = done ? qo_control_answer(&r, control, err) : QO_AGAIN;
	}
	qo_s3_req_fini(&r);
	return rc;
}

static void
on_said(void *arg, enum qo_init_level level, const char *text)
{
	(void)arg;
	if (level == QO_INIT_WARN)
		log_warnx("%s", text);
	else
		log_info("%s", text);
}

/* QO_AGAIN: look again, which is also what remains when another was first.
 * Without a verdict the queue is usable: this store is our own. */
static enum qo_rc
make_queue(struct wait *w, int64_t *max_ms, struct qo_err *err)
{
	struct qo_init init = {
		.loop = w->loop, .s3 = w->s3, .conf = w->conf, .say = on_said
	};
	struct qo_probe *p;
	enum qo_rc rc;

	rc = qo_init_queue(&init, err);
	if (rc != QO_OK)
		return rc == QO_LOST ? QO_AGAIN : rc;
	p = xcalloc(1, sizeof(*p));
	if (qo_init_probe(&init, p, err) != QO_OK)
		log_warnx("the store was not probed: %s", err->msg);
	free(p);
	*max_ms = 1;
	return QO_AGAIN;
}

static enum qo_rc
judge(const struct qo_control *control, struct qo_err *err)
{
	bool bare;

	return qo_probe_judge(control, &bare, err) == 0 ? QO_OK : QO_ERR;
}

/* One try.  QO_AGAIN, when *max_ms says how long to pause at most, and
 * anything else, which is the end. */
static enum qo_rc
attempt(struct wait *w, struct qo_control *control, int64_t *max_ms,
    struct qo_err *err)
{
	bool embedded = qo_attach_embedded(w->conf);
	enum qo_rc rc;

	*max_ms = PAUSE_MAX_MS;
	if (w->s3 == NULL) {
		rc = qo_attach_store(w->loop, w->conf, &w->s3, err);
		if (rc != QO_OK)
			return rc == QO_NOENT ? QO_AGAIN : rc;
	}
	rc = read_control(w, control, err);
	if (rc == QO_OK && (rc = judge(control, err)) != QO_OK)
		qo_control_fini(control);
	if (rc != QO_NOENT)
		return rc;
	say_no_queue(w->conf, err);
	if (!embedded)
		return rc;
	*max_ms = PAUSE_MAKE_MS;
	return w->make ? make_queue(w, max_ms, err) : QO_AGAIN;
}

enum qo_rc
qo_attach_wait(struct loop *l, const struct conf *c, bool make,
    const bool *stop, struct qo_s3 **s3, struct qo_control *control,
    struct qo_queue **q, struct qo_err *err)
{
	struct wait w = { .loop = l,
		.conf = c,
		.stop = stop,
		.make = make,
		.pause_ms = PAUSE_MIN_MS };
	int64_t max_ms;
	enum qo_rc rc;

	while ((rc = attempt(&w, control, &max_ms, err)) == QO_AGAIN &&
	    !*stop) {
		tell(&w, err);
		pause_for(&w, max_ms);
	}
	if (rc != QO_OK) {
		qo_s3_free(w.s3);
		return rc;
	}
	if (w.told)
		log_info("the store is there");
	*s3 = w.s3;
	*q = queue_of(l, w.s3, c, control);
	return QO_OK;
}
