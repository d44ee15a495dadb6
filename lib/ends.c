#include <string.h>

#include "ends.h"

static void
release(struct qo_task *t)
{
	t->lease_expires_at = QO_WALL_NONE;
}

static void
note_failure(struct qo_task *t, struct qo_wall now,
    const struct qo_failure *why)
{
	struct qo_task_error e;

	memset(&e, 0, sizeof(e));
	e.attempt = t->attempt;
	e.at = now;
	e.kind = why->kind;
	e.message = why->message;
	e.lease_id = t->lease_id;
	qo_task_add_error(t, &e);
	t->last_error = qo_task_dup(t, why->message);
}

enum qo_verdict
qo_ends_completed(struct qo_change *c, struct qo_wall now)
{
	struct qo_task *t = &c->task;

	t->status = QO_STATUS_COMPLETED;
	t->completed_at = now;
	release(t);
	return QO_VERDICT_WRITE;
}

enum qo_verdict
qo_ends_failed(struct qo_change *c, struct qo_wall now,
    const struct qo_failure *why)
{
	struct qo_task *t = &c->task;

	if (why != NULL)
		note_failure(t, now, why);
	t->status = QO_STATUS_FAILED;
	t->completed_at = now;
	release(t);
	qo_change_needs(c, QO_INDEX_FAILED, now, t->generation);
	return QO_VERDICT_WRITE;
}

enum qo_verdict
qo_ends_cancelled(struct qo_change *c, struct qo_wall now)
{
	struct qo_task *t = &c->task;

	if (t->workflow_id != NULL && t->status == QO_STATUS_PENDING)
		return qo_ends_given_up(c, now, QO_STATUS_CANCELLED);
	t->status = QO_STATUS_CANCELLED;
	t->completed_at = now;
	release(t);
	return QO_VERDICT_WRITE;
}

enum qo_verdict
qo_ends_expired(struct qo_change *c, struct qo_wall now)
{
	struct qo_task *t = &c->task;

	if (t->workflow_id != NULL)
		return qo_ends_given_up(c, now, QO_STATUS_EXPIRED);
	t->status = QO_STATUS_EXPIRED;
	t->completed_at = now;
	release(t);
	return QO_VERDICT_WRITE;
}

static enum qo_verdict
make_pending(struct qo_change *c, struct qo_wall available_at)
{
	struct qo_task *t = &c->task;

	t->status = QO_STATUS_PENDING;
	t->available_at = available_at;
	t->generation++;
	t->lease_id = t->worker_id = NULL;
	release(t);
	qo_change_needs(c, qo_change_ready_index(t->priority), available_at,
	    t->generation);
	return QO_VERDICT_WRITE;
}

enum qo_verdict
qo_ends_given_up(struct qo_change *c, struct qo_wall now, enum qo_status as)
{
	/* Once given up it stays so, and is due already. */
	if (c->task.give_up != QO_STATUS_NONE &&
	    c->task.status == QO_STATUS_PENDING)
		return QO_VERDICT_NOTHING;
	c->task.give_up = as;
	return make_pending(c, now);
}

enum qo_verdict
qo_ends_pending(struct qo_change *c, struct qo_wall now,
    struct qo_wall available_at)
{
	struct qo_task *t = &c->task;

	if (t->cancel_requested && t->workflow_id != NULL)
		return qo_ends_given_up(c, now, QO_STATUS_CANCELLED);
	if (t->cancel_requested)
		return qo_ends_cancelled(c, now);
	return make_pending(c, available_at);
}

enum qo_verdict
qo_ends_retried(struct qo_change *c, struct qo_wall now,
    const struct qo_failure *why, int64_t delay_ms)
{
	struct qo_task *t = &c->task;
	struct qo_wall at = now;

	if (t->cancel_requested) {
		note_failure(t, now, why);
		return qo_ends_pending(c, now, now);
	}
	if (t->retry_count >= t->max_retries) {
		if (t->workflow_id == NULL)
			return qo_ends_failed(c, now, why);
		note_failure(t, now, why);
		return qo_ends_given_up(c, now, QO_STATUS_FAILED);
	}
	t->retry_count++;
	if (delay_ms < 0)
		delay_ms = qo_retry_backoff_ms(&t->retry_policy, t->retry_count,
		    qo_retry_random());
	at.us += delay_ms * QO_US_PER_MS;
	note_failure(t, now, why);
	return make_pending(c, at);
}

bool
qo_ends_entry_dead(const struct qo_queue *q, const char *key,
    const struct qo_task *t)
{
	struct qo_entry e;

	if (qo_entry_parse(&q->layout, key, strlen(key), &e) == -1 ||
	    strcmp(e.id, t->id) != 0)
		return false;
	if (t->generation != e.generation)
		return t->generation > e.generation; /* (a) */
	switch (e.index) {
	case QO_INDEX_FAILED:
		return qo_status_terminal(t->status) &&
		    t->status != QO_STATUS_FAILED;
	case QO_INDEX_READY_HIGH:
	case QO_INDEX_READY:
	case QO_INDEX_READY_LOW:
		return qo_status_terminal(t->status) || /* (b) */
		    t->status == QO_STATUS_RUNNING;     /* (c) */
	case QO_INDEX_LEASES:
		return qo_status_terminal(t->status) || /* (b) */
		    (t->status == QO_STATUS_RUNNING &&  /* (d) */
			e.minute < qo_minute(t->lease_expires_at));
	}
	return false;
}
