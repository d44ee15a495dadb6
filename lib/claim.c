#include <stdio.h>
#include <string.h>

#include "claim.h"
#include "ends.h"

static struct qo_claim *
claim_of(struct qo_change *c)
{
	return (struct qo_claim *)c;
}

bool
qo_claim_holds(const struct qo_claim *cl, const struct qo_task *t)
{
	return t->status == QO_STATUS_RUNNING && t->lease_id != NULL &&
	    strcmp(t->lease_id, cl->lease_id) == 0;
}

/* Both ends of the lease: when it runs out, and by which of our own clocks
 * we must have stopped.  Read before the request leaves. */
static struct qo_wall
lease_end(struct qo_claim *cl)
{
	struct qo_wall mid;

	cl->sent_at = qo_mono_now();
	qo_s3_now(cl->change.q->s3, NULL, &mid, &cl->sent_hi);
	mid.us += cl->lease_ms * QO_US_PER_MS;
	return mid;
}

static void
set_fence(struct qo_claim *cl)
{
	int64_t left = cl->change.task.lease_expires_at.us - cl->sent_hi.us;

	cl->fence.us = cl->sent_at.us + left -
	    QO_FENCE_MARGIN_MS * QO_US_PER_MS;
}

/* Taking */

const struct qo_task_error *
qo_claim_error(const struct qo_claim *cl, const struct qo_task *t)
{
	size_t i;

	for (i = 0; i < t->nerrors; i++)
		if (t->errors[i].lease_id != NULL &&
		    strcmp(t->errors[i].lease_id, cl->lease_id) == 0)
			return &t->errors[i];
	return NULL;
}

static enum qo_verdict
take_decide(struct qo_change *c)
{
	struct qo_claim *cl = claim_of(c);
	struct qo_task *t = &c->task;
	struct qo_wall now = qo_queue_now(c->q);

	if (t->status != QO_STATUS_PENDING)
		return qo_change_refuse(c, QO_LOST, "task %s is %s", c->id,
		    qo_status_name(t->status));
	qo_change_drop(c, cl->ready_key);
	/* What has been given up is claimed, to advance its workflow (R7). */
	if (t->give_up == QO_STATUS_NONE) {
		if (t->cancel_requested)
			return qo_ends_cancelled(c, now);
		if (qo_wall_is_set(t->expires_at) && t->expires_at.us <= now.us)
			return qo_ends_expired(c, now);
	}
	if (t->available_at.us > now.us)
		return qo_change_refuse(c, QO_AGAIN, "task %s is not due yet",
		    c->id);
	if (cl->serves != NULL && !cl->serves(t->task_type, cl->serves_arg))
		return qo_change_refuse(c, QO_DENIED,
		    "task %s: type %s is not served here", c->id, t->task_type);
	t->status = QO_STATUS_RUNNING;
	t->lease_id = cl->lease_id;
	t->worker_id = cl->worker_id;
	t->attempt++;
	t->lease_expires_at = lease_end(cl);
	qo_change_needs(c, QO_INDEX_LEASES, t->lease_expires_at, t->generation);
	return QO_VERDICT_WRITE;
}

static bool
take_shows(struct qo_change *c, const struct qo_task *found)
{
	const struct qo_claim *cl = claim_of(c);

	return (found->lease_id != NULL &&
		   strcmp(found->lease_id, cl->lease_id) == 0) ||
	    qo_claim_error(cl, found) != NULL;
}

static const struct qo_change_kind take_kind = { "claim", false, take_decide,
	take_shows };

/* Renewing */

static enum qo_verdict
renew_decide(struct qo_change *c)
{
	struct qo_claim *cl = claim_of(c);
	struct qo_task *t = &c->task;
	struct qo_wall end;
	int64_t minute;

	if (!qo_claim_holds(cl, t))
		return qo_change_refuse(c, QO_LOST,
		    "task %s is not held by lease %s any more", c->id,
		    cl->lease_id);
	end = lease_end(cl);
	minute = qo_minute(t->lease_expires_at);
	/* Within a generation a lease never shrinks (R2). */
	if (end.us > t->lease_expires_at.us)
		t->lease_expires_at = end;
	if (cl->progress.p != NULL)
		t->progress = cl->progress;
	if (qo_minute(t->lease_expires_at) != minute) {
		qo_change_needs(c, QO_INDEX_LEASES, t->lease_expires_at,
		    t->generation);
		qo_change_drop(c, cl->lease_key);
	}
	return QO_VERDICT_WRITE;
}

static bool
renew_shows(struct qo_change *c, const struct qo_task *found)
{
	return qo_claim_holds(claim_of(c), found) &&
	    found->lease_expires_at.us >= c->task.lease_expires_at.us;
}

static const struct qo_change_kind renew_kind = { "renew", false, renew_decide,
	renew_shows };

/* Running them */

static void
on_claim_changed(struct qo_change *c)
{
	struct qo_claim *cl = c->arg;

	if (c->rc == QO_OK) {
		cl->held = qo_claim_holds(cl, &c->task);
		if (cl->held)
			set_fence(cl);
		if (cl->held && c->has_entry)
			memcpy(cl->lease_key, c->entry_key, QO_KEY_SIZE);
	} else if (c->rc != QO_AGAIN) {
		cl->held = false;
	}
	cl->cancel_seen = c->task.cancel_requested;
	cl->done(cl);
}

/* The entry that led here may be dead already (R3 a, b, c). */
static void
on_taken(struct qo_change *c)
{
	struct qo_claim *cl = c->arg;

	if (c->rc == QO_LOST && cl->ready_key[0] != '\0' && c->task.rev > 0 &&
	    qo_ends_entry_dead(c->q, cl->ready_key, &c->task))
		qo_deleter_add(c->q->deleter, cl->ready_key);
	on_claim_changed(c);
}

static void
on_ended(struct qo_change *c)
{
	struct qo_claim *cl = c->arg;

	cl->held = c->rc == QO_AGAIN;
	cl->cancel_seen = c->task.cancel_requested;
	cl->done(cl);
}

void
qo_claim_run(struct qo_claim *cl, const struct qo_change_kind *kind, bool ends)
{
	struct qo_change *c = &cl->change;

	c->kind = kind;
	c->done = ends ? on_ended : on_claim_changed;
	c->arg = cl;
	qo_change_start(c);
}

void
qo_claim_init(struct qo_claim *cl, struct qo_queue *q,
    const struct qo_entry *entry, const char *worker_id)
{
	memset(cl, 0, sizeof(*cl));
	qo_change_init(&cl->change, q, &take_kind, entry->id);
	snprintf(cl->worker_id, sizeof(cl->worker_id), "%s", worker_id);
	qo_uuid_v4(cl->lease_id);
	if (qo_key_entry(&q->layout, entry, cl->ready_key) == -1)
		cl->ready_key[0] = '\0';
}

void
qo_claim_fini(struct qo_claim *cl)
{
	qo_change_fini(&cl->change);
}

void
qo_claim_take(struct qo_claim *cl, int64_t lease_ms)
{
	cl->lease_ms = lease_ms;
	cl->change.loaded = false;
	qo_claim_run(cl, &take_kind, false);
	cl->change.done = on_taken;
}

void
qo_claim_renew(struct qo_claim *cl, int64_t lease_ms)
{
	cl->lease_ms = lease_ms;
	qo_claim_run(cl, &renew_kind, false);
}

/* Waiting */

static void
on_waited(struct qo_claim *cl)
{
	*(bool *)cl->arg = true;
}

enum qo_rc
qo_claim_finish_wait(struct qo_claim *cl,
    void (*start)(struct qo_claim *cl, void *arg), void *arg)
{
	bool done = false;

	cl->done = on_waited;
	cl->arg = &done;
	start(cl, arg);
	while (!done)
		loop_once(cl->change.q->loop, -1);
	return cl->change.rc;
}

static void
start_take(struct qo_claim *cl, void *arg)
{
	qo_claim_take(cl, *(int64_t *)arg);
}

static void
start_renew(struct qo_claim *cl, void *arg)
{
	qo_claim_renew(cl, *(int64_t *)arg);
}

enum qo_rc
qo_claim_take_wait(struct qo_claim *cl, int64_t lease_ms)
{
	return qo_claim_finish_wait(cl, start_take, &lease_ms);
}

enum qo_rc
qo_claim_renew_wait(struct qo_claim *cl, int64_t lease_ms)
{
	return qo_claim_finish_wait(cl, start_renew, &lease_ms);
}
