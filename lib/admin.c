#include <stdio.h>
#include <string.h>

#include "admin.h"
#include "ends.h"

static struct qo_admin *
admin_of(struct qo_change *c)
{
	return (struct qo_admin *)c;
}

static enum qo_verdict
not_allowed(struct qo_change *c, const char *why)
{
	return qo_change_refuse(c, QO_LOST, "task %s is %s: %s", c->id,
	    qo_status_name(c->task.status), why);
}

/* The entry of the state that is left: dead after the write, and nothing but
 * its nonce is unknown. */
static void
leave(struct qo_admin *a)
{
	const struct qo_task *t = &a->change.task;

	a->leaves_entry = true;
	if (t->status == QO_STATUS_PENDING) {
		a->left_index = qo_change_ready_index(t->priority);
		a->left_time = t->available_at;
	} else if (t->status == QO_STATUS_FAILED) {
		a->left_index = QO_INDEX_FAILED;
		a->left_time = t->completed_at;
	} else {
		a->leaves_entry = false;
	}
}

/* Cancel */

static enum qo_verdict
cancel_decide(struct qo_change *c)
{
	struct qo_admin *a = admin_of(c);
	struct qo_task *t = &c->task;

	if (t->status == QO_STATUS_CANCELLED ||
	    t->give_up == QO_STATUS_CANCELLED ||
	    (t->status == QO_STATUS_RUNNING && t->cancel_requested))
		return QO_VERDICT_NOTHING;
	if (qo_status_terminal(t->status))
		return not_allowed(c,
		    "only pending and running tasks can be "
		    "cancelled");
	leave(a);
	t->cancelled_by = qo_task_dup(t, a->who);
	t->cancel_reason = qo_task_dup(t, a->reason);
	if (t->status == QO_STATUS_PENDING)
		return qo_ends_cancelled(c, qo_queue_now(c->q));
	t->cancel_requested = true;
	return QO_VERDICT_WRITE;
}

static bool
cancel_shows(struct qo_change *c, const struct qo_task *found)
{
	(void)c;
	return found->cancel_requested || found->give_up != QO_STATUS_NONE ||
	    qo_status_terminal(found->status);
}

/* Expire */

static enum qo_verdict
expire_decide(struct qo_change *c)
{
	struct qo_task *t = &c->task;
	struct qo_wall now = qo_queue_now(c->q);

	if (t->status == QO_STATUS_EXPIRED || t->give_up == QO_STATUS_EXPIRED)
		return QO_VERDICT_NOTHING;
	if (t->status != QO_STATUS_PENDING)
		return not_allowed(c, "only pending tasks expire");
	if (!qo_wall_is_set(t->expires_at) || t->expires_at.us > now.us)
		return not_allowed(c, "it has not reached its expires_at");
	leave(admin_of(c));
	return qo_ends_expired(c, now);
}

static bool
expire_shows(struct qo_change *c, const struct qo_task *found)
{
	(void)c;
	return found->status == QO_STATUS_EXPIRED ||
	    found->archived_from == QO_STATUS_EXPIRED ||
	    found->give_up == QO_STATUS_EXPIRED;
}

/* Replay */

static void
forget_last_run(struct qo_task *t)
{
	memset(&t->output, 0, sizeof(t->output));
	memset(&t->progress, 0, sizeof(t->progress));
	t->output_ref = NULL;
	t->completed_at = QO_WALL_NONE;
	t->retry_count = 0;
	t->reschedule_count = 0;
	t->cancel_requested = false;
	t->cancelled_by = t->cancel_reason = NULL;
	t->give_up = QO_STATUS_NONE;
}

static enum qo_verdict
replay_decide(struct qo_change *c)
{
	struct qo_admin *a = admin_of(c);
	struct qo_task *t = &c->task;
	struct qo_wall now = qo_queue_now(c->q);

	if (t->workflow_id != NULL)
		return qo_change_refuse(c, QO_LOST,
		    "task %s belongs to a workflow: use qo workflow retry "
		    "%s%s%s",
		    c->id, t->workflow_id, t->step != NULL ? " " : "",
		    t->step != NULL ? t->step : "");
	if (t->status == QO_STATUS_ARCHIVED)
		return not_allowed(c, "unarchive it first");
	if (!qo_status_terminal(t->status))
		return not_allowed(c, "only finished tasks can be replayed");
	leave(a);
	forget_last_run(t);
	/* A time that has passed would end it again at once. */
	if (qo_wall_is_set(t->expires_at) && t->expires_at.us <= now.us)
		t->expires_at = QO_WALL_NONE;
	return qo_ends_pending(c, now, qo_queue_past(c->q));
}

static bool
replay_shows(struct qo_change *c, const struct qo_task *found)
{
	return found->generation >= c->task.generation;
}

/* Archive and back */

static enum qo_verdict
archive_decide(struct qo_change *c)
{
	struct qo_admin *a = admin_of(c);
	struct qo_task *t = &c->task;

	if (t->status == QO_STATUS_ARCHIVED)
		return QO_VERDICT_NOTHING;
	if (!qo_status_terminal(t->status))
		return not_allowed(c, "only finished tasks can be archived");
	leave(a);
	t->archived_from = t->status;
	t->status = QO_STATUS_ARCHIVED;
	return QO_VERDICT_WRITE;
}

static bool
archive_shows(struct qo_change *c, const struct qo_task *found)
{
	(void)c;
	return found->status == QO_STATUS_ARCHIVED;
}

static enum qo_verdict
unarchive_decide(struct qo_change *c)
{
	struct qo_task *t = &c->task;

	if (t->status != QO_STATUS_ARCHIVED)
		return not_allowed(c, "only archived tasks can be unarchived");
	t->status = t->archived_from;
	t->archived_from = QO_STATUS_NONE;
	if (t->status == QO_STATUS_FAILED)
		qo_change_needs(c, QO_INDEX_FAILED, t->completed_at,
		    t->generation);
	return QO_VERDICT_WRITE;
}

static bool
unarchive_shows(struct qo_change *c, const struct qo_task *found)
{
	(void)c;
	return found->status != QO_STATUS_ARCHIVED;
}

static enum qo_verdict decide(struct qo_change *c);

static const struct {
	struct qo_change_kind kind;
	enum qo_verdict (*decide)(struct qo_change *c);
} ops[] = {
	[QO_ADMIN_CANCEL] = { { "cancel", false, decide, cancel_shows },
	    cancel_decide },
	[QO_ADMIN_EXPIRE] = { { "expire", false, decide, expire_shows },
	    expire_decide },
	[QO_ADMIN_REPLAY] = { { "replay", false, decide, replay_shows },
	    replay_decide },
	[QO_ADMIN_ARCHIVE] = { { "archive", false, decide, archive_shows },
	    archive_decide },
	[QO_ADMIN_UNARCHIVE] = { { "unarchive", false, decide,
				     unarchive_shows },
	    unarchive_decide },
};

static enum qo_verdict
decide(struct qo_change *c)
{
	struct qo_admin *a = admin_of(c);

	if (a->wanted != NULL && !a->wanted(&c->task, a->wanted_arg))
		return not_allowed(c, "it is not what was looked for any more");
	if (qo_wall_is_set(c->task.retired_at))
		return not_allowed(c, "it is being removed (retention)");
	return ops[a->op].decide(c);
}

const char *
qo_admin_op_name(enum qo_admin_op op)
{
	return ops[op].kind.name;
}

/* What comes after the write: nothing that may not be lost */

static void
on_bell(struct qo_s3_req *r)
{
	struct qo_admin *a = r->arg;

	/* Without the bell the worker sees it when it renews. */
	a->done(a);
}

static void
ring(struct qo_admin *a)
{
	struct qo_change *c = &a->change;

	if (c->task.worker_id == NULL ||
	    qo_key_bell(&c->q->layout, c->task.worker_id, c->id,
		a->after_key) == -1) {
		a->done(a);
		return;
	}
	qo_s3_req_init(&a->after, QO_S3_PUT, c->q->index_bucket, a->after_key);
	a->after.done = on_bell;
	a->after.arg = a;
	qo_s3_send(c->q->s3, &a->after);
}

static void
on_listed(struct qo_s3_req *r)
{
	struct qo_admin *a = r->arg;
	struct qo_change *c = &a->change;
	size_t i;

	for (i = 0; r->res.list != NULL && i < r->res.list->n; i++)
		if (qo_ends_entry_dead(c->q, r->res.list->entries[i].key,
			&c->task))
			qo_deleter_add(c->q->deleter,
			    r->res.list->entries[i].key);
	a->done(a);
}

/* Its nonce only a LIST tells. */
static void
find_left_entry(struct qo_admin *a)
{
	struct qo_change *c = &a->change;
	struct qo_entry e;
	char *dot;

	qo_entry_make(&e, a->left_index, a->left_time, c->id,
	    c->task.generation);
	if (qo_key_entry(&c->q->layout, &e, a->after_key) == -1 ||
	    (dot = strrchr(a->after_key, '/')) == NULL) {
		a->done(a);
		return;
	}
	snprintf(dot, QO_KEY_SIZE - (size_t)(dot - a->after_key), "/%s", c->id);
	qo_s3_req_init(&a->after, QO_S3_LIST, c->q->index_bucket, NULL);
	a->after.prefix = a->after_key;
	a->after.done = on_listed;
	a->after.arg = a;
	qo_s3_send(c->q->s3, &a->after);
}

static void
on_changed(struct qo_change *c)
{
	struct qo_admin *a = c->arg;

	if (c->rc == QO_OK && a->op == QO_ADMIN_CANCEL &&
	    c->task.status == QO_STATUS_RUNNING)
		ring(a);
	else if (c->rc == QO_OK && a->leaves_entry)
		find_left_entry(a);
	else
		a->done(a);
}

void
qo_admin_init(struct qo_admin *a, struct qo_queue *q, enum qo_admin_op op,
    const char *id)
{
	memset(a, 0, sizeof(*a));
	qo_change_init(&a->change, q, &ops[op].kind, id);
	qo_s3_req_init(&a->after, QO_S3_GET, NULL, NULL);
	a->op = op;
}

void
qo_admin_fini(struct qo_admin *a)
{
	qo_s3_req_fini(&a->after);
	qo_change_fini(&a->change);
}

void
qo_admin_start(struct qo_admin *a)
{
	a->leaves_entry = false;
	a->change.done = on_changed;
	a->change.arg = a;
	qo_change_start(&a->change);
}

static void
on_waited(struct qo_admin *a)
{
	*(bool *)a->arg = true;
}

enum qo_rc
qo_admin_wait(struct qo_admin *a)
{
	bool done = false;

	a->done = on_waited;
	a->arg = &done;
	qo_admin_start(a);
	while (!done)
		loop_once(a->change.q->loop, -1);
	return a->change.rc;
}
