#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "schedule_change.h"

#define ROUNDS_MAX 30
#define REQUEST_MS 20000

static void on_read(struct qo_s3_req *r);
static void on_written(struct qo_s3_req *r);

static void
end(struct qo_schedule_change *c, enum qo_rc rc)
{
	c->rc = rc;
	/* What is at hand can be built upon only when it is what is there. */
	c->loaded = rc == QO_OK;
	c->done(c);
}

static void
request(struct qo_schedule_change *c, enum qo_s3_op op,
    void (*done)(struct qo_s3_req *r))
{
	qo_s3_req_fini(&c->req);
	qo_s3_req_init(&c->req, op, c->q->bucket, c->key);
	c->req.deadline_ms = REQUEST_MS;
	c->req.done = done;
	c->req.arg = c;
}

static void
read_it(struct qo_schedule_change *c)
{
	request(c, QO_S3_GET, on_read);
	c->req.response_max = QO_SCHEDULE_LEN_MAX;
	qo_s3_send(c->q->s3, &c->req);
}

static void
put(struct qo_schedule_change *c)
{
	request(c, QO_S3_PUT, on_written);
	if (c->s.etag[0] == '\0')
		c->req.if_none_match = "*";
	else
		c->req.if_match = c->s.etag;
	c->req.content_type = "application/json";
	c->req.body = c->body.data;
	c->req.body_len = c->body.len;
	qo_s3_send(c->q->s3, &c->req);
}

static void
judge(struct qo_schedule_change *c)
{
	struct qo_wall now = qo_queue_now(c->q);

	switch (c->decide(c)) {
	case QO_VERDICT_REFUSE:
		end(c, c->rc);
		return;
	case QO_VERDICT_NOTHING:
		end(c, QO_OK);
		return;
	case QO_VERDICT_WRITE:
		break;
	}
	c->s.rev++;
	c->s.updated_by = qo_record_dup(&c->s.rec, qo_cas_next(&c->writes));
	c->s.updated_at = now;
	if (!qo_wall_is_set(c->s.created_at))
		c->s.created_at = now;
	buf_reset(&c->body);
	if (qo_schedule_encode(&c->s, &c->body, &c->err) == -1)
		end(c, QO_ERR);
	else
		put(c);
}

static void
on_pause(struct loop_timer *t)
{
	judge(t->arg);
}

/* Somebody else was first, or nothing was: from what is there now. */
static void
judge_again(struct qo_schedule_change *c)
{
	int64_t ms = qo_cas_pause_ms(c->rounds);

	if (ms == 0)
		judge(c);
	else
		loop_timer_set_ms(c->q->loop, &c->pause, ms, on_pause, c);
}

enum qo_rc
qo_schedule_answer(struct qo_s3_req *r, const char *id, struct qo_schedule *s,
    struct qo_err *err)
{
	struct qo_err why = { 0 };

	if (r->res.outcome != QO_S3_OK) {
		*err = r->res.err;
		return qo_s3_outcome_rc(r->res.outcome);
	}
	if (qo_schedule_decode(s, id, r->res.body.data, r->res.body.len,
		&why) == -1) {
		qo_err_set(err, "%.128s: %.180s", r->key, why.msg);
		return QO_ERR;
	}
	snprintf(s->etag, sizeof(s->etag), "%s", r->res.etag);
	return QO_OK;
}

static void
on_read(struct qo_s3_req *r)
{
	struct qo_schedule_change *c = r->arg;
	struct qo_schedule found;
	enum qo_rc rc;

	rc = qo_schedule_answer(r, c->id, &found, &c->err);
	if (rc == QO_NOENT && c->creates) {
		qo_schedule_fini(&c->s);
		qo_schedule_init(&c->s);
		c->s.id = qo_record_dup(&c->s.rec, c->id);
		judge_again(c);
		return;
	}
	if (rc != QO_OK) {
		end(c, rc);
		return;
	}
	qo_schedule_fini(&c->s);
	c->s = found;
	c->wrote = qo_cas_is_ours(&c->writes, c->s.updated_by);
	if (c->wrote)
		end(c, QO_OK);
	else
		judge_again(c);
}

static void
on_written(struct qo_s3_req *r)
{
	struct qo_schedule_change *c = r->arg;

	if (r->res.outcome == QO_S3_OK) {
		snprintf(c->s.etag, sizeof(c->s.etag), "%s", r->res.etag);
		c->wrote = true;
		end(c, QO_OK);
		return;
	}
	c->err = r->res.err;
	if (qo_cas_refused(&r->res))
		end(c, qo_s3_outcome_rc(r->res.outcome));
	else if (++c->rounds > ROUNDS_MAX)
		end(c, QO_AGAIN);
	else
		read_it(c);
}

/* Interface */

void
qo_schedule_change_init(struct qo_schedule_change *c, struct qo_queue *q,
    const char *id)
{
	memset(c, 0, sizeof(*c));
	c->q = q;
	snprintf(c->id, sizeof(c->id), "%s", id);
	if (qo_key_schedule(&q->layout, id, c->key) == -1)
		qo_bug("schedule: an id without a key");
	qo_schedule_init(&c->s);
	qo_s3_req_init(&c->req, QO_S3_GET, NULL, NULL);
	buf_init(&c->body, QO_SCHEDULE_LEN_MAX);
}

void
qo_schedule_change_fini(struct qo_schedule_change *c)
{
	qo_s3_req_fini(&c->req);
	if (c->q != NULL)
		loop_timer_del(c->q->loop, &c->pause);
	qo_schedule_fini(&c->s);
	buf_fini(&c->body);
}

static void
on_start(struct loop_timer *t)
{
	struct qo_schedule_change *c = t->arg;

	if (c->loaded)
		judge(c);
	else
		read_it(c);
}

void
qo_schedule_change_start(struct qo_schedule_change *c)
{
	c->wrote = false;
	c->writes.n = 0;
	c->rounds = 0;
	/* A decision may need no request at all. */
	loop_timer_set_ms(c->q->loop, &c->pause, 0, on_start, c);
}

static void
on_waited(struct qo_schedule_change *c)
{
	*(bool *)c->arg = true;
}

enum qo_rc
qo_schedule_change_wait(struct qo_schedule_change *c)
{
	bool done = false;

	c->done = on_waited;
	c->arg = &done;
	qo_schedule_change_start(c);
	while (!done)
		loop_once(c->q->loop, -1);
	return c->rc;
}

enum qo_verdict
qo_schedule_refuse(struct qo_schedule_change *c, enum qo_rc rc, const char *fmt,
    ...)
{
	char text[sizeof(c->err.msg)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	qo_err_set(&c->err, "%s", text);
	c->rc = rc;
	return QO_VERDICT_REFUSE;
}

int
qo_schedule_id_of_key(const struct qo_layout *l, const char *key,
    char id[QO_NAME_MAX + 1])
{
	char again[QO_KEY_SIZE];
	const char *slash = strrchr(key, '/');
	size_t len;

	if (slash == NULL || (len = strlen(slash + 1)) < 6 ||
	    len - 5 > QO_NAME_MAX)
		return -1;
	memcpy(id, slash + 1, len - 5);
	id[len - 5] = '\0';
	return qo_key_schedule(l, id, again) == 0 && strcmp(again, key) == 0
	    ? 0
	    : -1;
}
