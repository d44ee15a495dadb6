#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "submit.h"

#define PAYLOAD_MS 60000 /* like the minute of change.c: retention is an hour */

void
qo_submission_init(struct qo_submission *s)
{
	memset(s, 0, sizeof(*s));
	s->timeout_seconds = 300;
	s->max_retries = 3;
	qo_retry_defaults(&s->retry_policy);
	s->available_at = s->expires_at = QO_WALL_NONE;
	s->max_reschedules = -1;
}

int
qo_submission_check(const struct qo_submission *s, struct qo_err *err)
{
	size_t len;

	if (s->task_type == NULL ||
	    !qo_type_valid_user(s->task_type, strlen(s->task_type))) {
		qo_err_set(err,
		    "type: 1 to 128 of A-Z a-z 0-9 . _ : / - and not beginning "
		    "with workflow.");
		return -1;
	}
	if (s->timeout_seconds < 1 || s->timeout_seconds > QO_TIMEOUT_MAX_S) {
		qo_err_set(err, "timeout: 1s to 30d");
		return -1;
	}
	if (s->max_retries < 0 || s->max_retries > QO_RETRIES_MAX) {
		qo_err_set(err, "retries: 0 to %d", QO_RETRIES_MAX);
		return -1;
	}
	if (s->idempotency_key != NULL) {
		len = strlen(s->idempotency_key);
		if (len == 0 || len > QO_KEY_TEXT_MAX) {
			qo_err_set(err, "key: 1 to %d bytes", QO_KEY_TEXT_MAX);
			return -1;
		}
	}
	if (s->input.len > QO_INPUT_MAX) {
		qo_err_set(err, "input: %zu bytes, at most %d are allowed",
		    s->input.len, QO_INPUT_MAX);
		return -1;
	}
	return qo_retry_check(&s->retry_policy, err);
}

/* The change */

/* Others may have submitted, or be submitting, the same. */
static bool
is_shared(const struct qo_submission *sub)
{
	return sub->idempotency_key != NULL || sub->derived_id != NULL;
}

static struct qo_submit *
submit_of(struct qo_change *c)
{
	return (struct qo_submit *)c;
}

static struct qo_wall
later(struct qo_wall t, int64_t ms)
{
	t.us += ms * QO_US_PER_MS;
	return t;
}

static void
fill_input(struct qo_submit *s, struct qo_task *t)
{
	const struct qo_submission *sub = s->sub;

	t->input_sha256 = s->input_sha256;
	if (s->payload_key[0] != '\0')
		t->input_ref = s->payload_key;
	else if (sub->input.p != NULL)
		t->input = sub->input;
}

static enum qo_verdict
decide(struct qo_change *c)
{
	struct qo_submit *s = submit_of(c);
	const struct qo_submission *sub = s->sub;
	struct qo_task *t = &c->task;
	struct qo_wall now = qo_queue_now(c->q);
	char shard[QO_SHARD_SIZE];

	if (sub->deadline.us != 0 && qo_mono_now().us > sub->deadline.us)
		return qo_change_refuse(c, QO_AGAIN,
		    "it took too long to begin");
	qo_task_fini(t);
	qo_task_init(t);
	qo_uuid_shard(c->id, c->q->layout.shard_width, shard);
	t->id = c->id;
	t->shard = qo_task_dup(t, shard);
	t->task_type = sub->task_type;
	t->status = QO_STATUS_PENDING;
	fill_input(s, t);
	t->timeout_seconds = sub->timeout_seconds;
	t->max_retries = sub->max_retries;
	qo_task_set_retry(t, &sub->retry_policy);
	if (qo_wall_is_set(sub->available_at))
		t->available_at = sub->available_at;
	else if (sub->delay_ms > 0)
		t->available_at = later(now, sub->delay_ms);
	else
		t->available_at = qo_queue_past(c->q);
	t->expires_at = sub->expires_at;
	if (!qo_wall_is_set(t->expires_at) && sub->expires_ms > 0)
		t->expires_at = later(now, sub->expires_ms);
	if (qo_wall_is_set(t->expires_at) &&
	    t->expires_at.us <= t->available_at.us)
		return qo_change_refuse(c, QO_ERR,
		    "expires: must be after the time at which the task is due");
	t->generation = QO_GENERATION_FIRST;
	t->created_at = now;
	t->idempotency_key = sub->idempotency_key;
	t->priority = sub->priority;
	t->tags = sub->tags;
	t->max_reschedules = sub->max_reschedules;
	t->submitted_by = sub->submitted_by;
	t->traceparent = sub->traceparent;
	t->parent_id = sub->parent_id;
	qo_change_needs(c, qo_change_ready_index(t->priority), t->available_at,
	    t->generation);
	/* The first try of a random id: nobody else knows the name, so the
	 * bare form is as good and shorter. */
	if (!is_shared(sub) && c->writes.n == 0)
		c->entry.nonce[0] = '\0';
	return QO_VERDICT_WRITE;
}

static bool
shows(struct qo_change *c, const struct qo_task *found)
{
	const struct qo_submit *s = submit_of(c);

	/* A random id is nobody else's, a derived one always the same. */
	if (s->sub->idempotency_key == NULL)
		return true;
	return strcmp(found->task_type, s->sub->task_type) == 0 &&
	    found->input_sha256 != NULL &&
	    strcmp(found->input_sha256, s->input_sha256) == 0;
}

static const struct qo_change_kind submit_kind = { "submit", true, decide,
	shows };

/* The operation */

static void
put_payload(struct qo_submit *s)
{
	struct qo_queue *q = s->change.q;

	s->put_at = qo_mono_now();
	qo_payload_put(&s->payload, q->s3, q->bucket, s->payload_key,
	    &s->sub->input);
}

/* The task may have been made so late that another of the same key has come
 * and gone since, with the payload. */
static bool
payload_stale(const struct qo_submit *s)
{
	return s->payload_key[0] != '\0' && !s->put_again &&
	    is_shared(s->sub) &&
	    qo_mono_diff_us(s->put_at, qo_mono_now()) >=
	    PAYLOAD_MS * QO_US_PER_MS;
}

static void
on_changed(struct qo_change *c)
{
	struct qo_submit *s = c->arg;

	if (c->rc == QO_OK && !c->existed && payload_stale(s)) {
		s->put_again = true;
		put_payload(s);
		return;
	}
	if (c->rc == QO_LOST)
		qo_err_set(&c->err,
		    "conflict: the key is in use for task %s of type %s with "
		    "%s input",
		    c->id, c->task.task_type,
		    strcmp(c->task.task_type, s->sub->task_type) == 0
			? "another"
			: "its own");
	s->done(s);
}

void
qo_submit_init(struct qo_submit *s, struct qo_queue *q,
    const struct qo_submission *sub)
{
	char id[QO_UUID_SIZE];

	memset(s, 0, sizeof(*s));
	if (sub->idempotency_key != NULL)
		qo_uuid_derive(q->prefix, QO_DERIVE_KEY, sub->idempotency_key,
		    strlen(sub->idempotency_key), id);
	else if (sub->derived_id != NULL)
		strlcpy(id, sub->derived_id, sizeof(id));
	else
		qo_uuid_v4(id);
	qo_change_init(&s->change, q, &submit_kind, id);
	s->sub = sub;
	qo_payload_init(&s->payload);
	qo_s3_req_init(&s->look, QO_S3_HEAD, q->bucket, NULL);
}

void
qo_submit_fini(struct qo_submit *s)
{
	qo_payload_fini(&s->payload);
	qo_s3_req_fini(&s->look);
	qo_change_fini(&s->change);
}

static void
start_change(struct qo_submit *s)
{
	struct qo_change *c = &s->change;

	c->done = on_changed;
	c->arg = s;
	/* A random id need not be looked for. */
	c->loaded = !is_shared(s->sub);
	qo_change_start(c);
}

static void
on_payload(struct qo_payload *p)
{
	struct qo_submit *s = p->arg;

	if (p->rc == QO_OK && s->put_again) {
		s->done(s);
		return;
	}
	if (p->rc == QO_OK) {
		start_change(s);
		return;
	}
	s->change.err = *p->err;
	s->change.rc = p->rc;
	s->done(s);
}

static void
on_looked(struct qo_s3_req *r)
{
	struct qo_submit *s = r->arg;

	switch (r->res.outcome) {
	case QO_S3_OK:
		start_change(s); /* which reads it */
		return;
	case QO_S3_NOT_FOUND:
		put_payload(s);
		return;
	default:
		s->change.err = r->res.err;
		s->change.rc = qo_s3_outcome_rc(r->res.outcome);
		s->done(s);
		return;
	}
}

static void
look_first(struct qo_submit *s)
{
	(void)qo_key_task(&s->change.q->layout, s->change.id, s->change.key);
	s->look.key = s->change.key;
	s->look.done = on_looked;
	s->look.arg = s;
	qo_s3_send(s->change.q->s3, &s->look);
}

void
qo_submit_start(struct qo_submit *s)
{
	struct qo_queue *q = s->change.q;
	const struct qo_json *in = &s->sub->input;

	if (in->p != NULL)
		sha256_hex(in->p, in->len, s->input_sha256);
	else
		sha256_hex("null", 4, s->input_sha256);
	if (in->len <= q->inline_max) {
		start_change(s);
		return;
	}
	qo_key_input(&q->layout, s->change.id, s->input_sha256, s->payload_key);
	s->payload.done = on_payload;
	s->payload.arg = s;
	s->put_again = false;
	if (is_shared(s->sub))
		look_first(s);
	else
		put_payload(s);
}

static void
on_waited(struct qo_submit *s)
{
	*(bool *)s->arg = true;
}

enum qo_rc
qo_submit_wait(struct qo_submit *s)
{
	bool done = false;

	s->done = on_waited;
	s->arg = &done;
	qo_submit_start(s);
	while (!done)
		loop_once(s->change.q->loop, -1);
	return s->change.rc;
}
