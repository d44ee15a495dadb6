#include <string.h>

#include "schedule_ops.h"

struct op {
	struct qo_schedule_change change; /* first */
	const struct qo_schedule *want;
	bool replace;
	bool paused;
	struct qo_wall created_at; /* of the record that we made */
};

static struct op *
op_of(struct qo_schedule_change *c)
{
	return (struct op *)c;
}

/* The record goes to the caller. */
static enum qo_rc
finish(struct op *op, struct qo_schedule *out, struct qo_err *err)
{
	enum qo_rc rc = op->change.rc;

	if (rc == QO_OK) {
		*out = op->change.s;
		qo_schedule_init(&op->change.s);
	} else {
		*err = op->change.err;
	}
	qo_schedule_change_fini(&op->change);
	return rc;
}

static enum qo_verdict
decide_nothing(struct qo_schedule_change *c)
{
	(void)c;
	return QO_VERDICT_NOTHING;
}

enum qo_rc
qo_schedule_read(struct qo_queue *q, const char *id, struct qo_schedule *out,
    struct qo_err *err)
{
	struct op op = { .want = NULL };

	qo_schedule_change_init(&op.change, q, id);
	op.change.decide = decide_nothing;
	qo_schedule_change_wait(&op.change);
	return finish(&op, out, err);
}

/* Making and replacing */

static struct qo_wall
first_due(const struct qo_schedule *s, struct qo_wall now, struct qo_err *err)
{
	struct qo_schedule_clock clock;
	struct qo_wall due = QO_WALL_NONE;

	if (qo_schedule_clock_open(&clock, s, err) == 0)
		due = qo_schedule_next(&clock, now);
	qo_schedule_clock_close(&clock);
	return due;
}

static bool
same_times(const struct qo_schedule *a, const struct qo_schedule *b)
{
	return strcmp(a->cron, b->cron) == 0 &&
	    strcmp(a->timezone, b->timezone) == 0;
}

static enum qo_verdict
decide_put(struct qo_schedule_change *c)
{
	struct op *op = op_of(c);
	const struct qo_schedule *want = op->want;
	struct qo_schedule *s = &c->s;
	struct qo_wall now = qo_queue_now(c->q);
	struct qo_err err = { 0 };
	bool keep;

	if (s->rev > 0 && qo_wall_is_set(op->created_at) &&
	    s->created_at.us == op->created_at.us)
		return QO_VERDICT_NOTHING; /* ours, and beneath another's */
	if (s->rev > 0 && !op->replace)
		return qo_schedule_refuse(c, QO_LOST,
		    "there is a schedule %s: --replace changes it", s->id);
	keep = s->rev > 0 && !s->paused && qo_wall_is_set(s->next_due) &&
	    same_times(s, want);
	s->cron = want->cron;
	s->timezone = want->timezone;
	s->task_type = want->task_type;
	s->workflow = want->workflow;
	s->input = want->input;
	s->options = want->options;
	s->catch_up = want->catch_up;
	s->overlap = want->overlap;
	s->paused = want->paused;
	if (s->paused)
		s->next_due = QO_WALL_NONE;
	else if (!keep)
		s->next_due = first_due(s, now, &err);
	if (err.msg[0] != '\0')
		return qo_schedule_refuse(c, QO_ERR, "%s", err.msg);
	if (s->rev == 0)
		s->created_at = op->created_at = now;
	return QO_VERDICT_WRITE;
}

enum qo_rc
qo_schedule_put(struct qo_queue *q, const struct qo_schedule *want,
    bool replace, struct qo_schedule *out, struct qo_err *err)
{
	struct op op = { .want = want, .replace = replace };

	op.created_at = QO_WALL_NONE;
	qo_schedule_change_init(&op.change, q, want->id);
	op.change.creates = true;
	op.change.decide = decide_put;
	qo_schedule_change_wait(&op.change);
	return finish(&op, out, err);
}

/* Pausing */

static enum qo_verdict
decide_pause(struct qo_schedule_change *c)
{
	struct op *op = op_of(c);
	struct qo_err err = { 0 };

	if (c->s.paused == op->paused)
		return QO_VERDICT_NOTHING;
	c->s.paused = op->paused;
	c->s.next_due = QO_WALL_NONE;
	if (!op->paused) {
		c->s.next_due = first_due(&c->s, qo_queue_now(c->q), &err);
		if (err.msg[0] != '\0')
			return qo_schedule_refuse(c, QO_ERR, "%s", err.msg);
	}
	return QO_VERDICT_WRITE;
}

enum qo_rc
qo_schedule_pause(struct qo_queue *q, const char *id, bool paused,
    struct qo_schedule *out, bool *changed, struct qo_err *err)
{
	struct op op = { .paused = paused };

	qo_schedule_change_init(&op.change, q, id);
	op.change.decide = decide_pause;
	qo_schedule_change_wait(&op.change);
	*changed = op.change.wrote;
	return finish(&op, out, err);
}

/* Deleting */

enum qo_rc
qo_schedule_delete(struct qo_queue *q, const char *id, struct qo_err *err)
{
	char key[QO_KEY_SIZE];
	struct qo_s3_req r;
	enum qo_rc rc;

	if (qo_key_schedule(&q->layout, id, key) == -1) {
		qo_err_set(err, "no schedule can have that id");
		return QO_ERR;
	}
	/* Deleting says nothing of what was there; a record that can not be
	 * read may be deleted too. */
	qo_s3_req_init(&r, QO_S3_HEAD, q->bucket, key);
	rc = qo_s3_outcome_rc(qo_s3_wait(q->s3, &r));
	if (rc == QO_OK) {
		qo_s3_req_fini(&r);
		qo_s3_req_init(&r, QO_S3_DELETE, q->bucket, key);
		rc = qo_s3_outcome_rc(qo_s3_wait(q->s3, &r));
	}
	*err = r.res.err;
	qo_s3_req_fini(&r);
	return rc;
}
