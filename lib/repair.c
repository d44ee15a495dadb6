#include <stdio.h>
#include <string.h>

#include "ends.h"
#include "log.h"
#include "repair.h"

static struct qo_repair *
repair_of(struct qo_change *c)
{
	return (struct qo_repair *)c;
}

/* Is it certainly older than the grace period?  The entry's time is the
 * store's; so is the lower bound of ours. */
static bool
past_grace(const struct qo_repair *r)
{
	struct qo_wall lo;

	if (!qo_s3_now(r->change.q->s3, &lo, NULL, NULL))
		return false;
	return lo.us - r->entry_modified.us > r->orphan_grace_ms * QO_US_PER_MS;
}

static bool
lease_over(const struct qo_repair *r, const struct qo_task *t)
{
	struct qo_wall lo;

	if (r->dead_lease != NULL && t->lease_id != NULL &&
	    strcmp(r->dead_lease, t->lease_id) == 0)
		return true;
	return qo_s3_now(r->change.q->s3, &lo, NULL, NULL) &&
	    lo.us > t->lease_expires_at.us;
}

static enum qo_verdict
delete_entry(struct qo_repair *r, enum qo_repair_did did)
{
	r->did = did;
	qo_deleter_add(r->change.q->deleter, r->entry_key);
	return QO_VERDICT_NOTHING;
}

/* A writer may be under way with this entry.  Bumped first, its late write
 * fails, whatever the clocks say; then the entry is dead. */
static enum qo_verdict
bump(struct qo_repair *r)
{
	struct qo_change *c = &r->change;
	struct qo_task *t = &c->task;

	if (!past_grace(r) || t->status == QO_STATUS_RUNNING)
		return QO_VERDICT_NOTHING;
	r->did = QO_REPAIR_BUMPED;
	qo_change_drop(c, r->entry_key);
	if (t->status == QO_STATUS_PENDING) {
		t->generation = (r->entry.generation > t->generation
					? r->entry.generation
					: t->generation) +
		    1;
		qo_change_needs(c, qo_change_ready_index(t->priority),
		    t->available_at, t->generation);
		return QO_VERDICT_WRITE;
	}
	t->generation = r->entry.generation;
	if (t->status == QO_STATUS_FAILED)
		qo_change_needs(c, QO_INDEX_FAILED, t->completed_at,
		    t->generation);
	return QO_VERDICT_WRITE;
}

static enum qo_verdict
reclaim(struct qo_repair *r)
{
	static const struct qo_failure gone = { "lease_expired",
		"the worker stopped renewing its lease" };
	static const struct qo_failure died = { "worker_died",
		"the worker died" };
	struct qo_change *c = &r->change;

	if (!lease_over(r, &c->task))
		return QO_VERDICT_NOTHING;
	r->did = QO_REPAIR_RECLAIMED;
	qo_change_drop(c, r->entry_key);
	return qo_ends_retried(c, qo_queue_now(c->q),
	    r->dead_lease != NULL ? &died : &gone, -1);
}

static enum qo_verdict
look_at_ready(struct qo_repair *r)
{
	struct qo_change *c = &r->change;
	struct qo_wall lo;

	/* Equal generations and pending: as it should be.  What has been
	 * given up is past expiring (R7). */
	if (c->task.give_up != QO_STATUS_NONE ||
	    !qo_wall_is_set(c->task.expires_at) ||
	    !qo_s3_now(c->q->s3, &lo, NULL, NULL) ||
	    c->task.expires_at.us > lo.us)
		return QO_VERDICT_NOTHING;
	r->did = QO_REPAIR_EXPIRED;
	qo_change_drop(c, r->entry_key);
	return qo_ends_expired(c, qo_queue_now(c->q));
}

/* A claim is made in the generation in which the task waits: later ones make
 * it fail. */
static enum qo_verdict
look_at_lease(struct qo_repair *r)
{
	const struct qo_task *t = &r->change.task;

	if (t->status == QO_STATUS_RUNNING && t->lease_id != NULL &&
	    strcmp(t->lease_id, r->dead_lease) == 0)
		return reclaim(r);
	if (t->status == QO_STATUS_PENDING &&
	    t->generation <= r->entry.generation)
		r->did = QO_REPAIR_UNDECIDED;
	return QO_VERDICT_NOTHING;
}

static enum qo_verdict
repair_decide(struct qo_change *c)
{
	struct qo_repair *r = repair_of(c);
	const struct qo_task *t = &c->task;

	r->did = QO_REPAIR_NOTHING;
	if (r->entry_key[0] == '\0')
		return look_at_lease(r);
	if (qo_ends_entry_dead(c->q, r->entry_key, t))
		return delete_entry(r, QO_REPAIR_DELETED);
	if (r->entry.generation > t->generation)
		return bump(r);
	switch (r->entry.index) {
	case QO_INDEX_READY_HIGH:
	case QO_INDEX_READY:
	case QO_INDEX_READY_LOW:
		return look_at_ready(r);
	case QO_INDEX_LEASES:
		/* Equal generations: a claim under way, or the lease itself. */
		return t->status == QO_STATUS_PENDING ? bump(r) : reclaim(r);
	case QO_INDEX_FAILED:
		break;
	}
	/* A failed entry of a task that has not failed yet, or has: left. */
	return QO_VERDICT_NOTHING;
}

static bool
repair_shows(struct qo_change *c, const struct qo_task *found)
{
	(void)c;
	(void)found;
	/* Whoever was first, what is there now is judged anew. */
	return false;
}

static const struct qo_change_kind repair_kind = { "repair", false,
	repair_decide, repair_shows };

static void
on_changed(struct qo_change *c)
{
	struct qo_repair *r = c->arg;

	/* An entry without a task: a submit under way, or a task long gone. */
	if (c->rc == QO_NOENT && r->entry_key[0] != '\0' && past_grace(r))
		delete_entry(r, QO_REPAIR_DELETED);
	r->done(r);
}

void
qo_repair_init(struct qo_repair *r, struct qo_queue *q,
    const struct qo_entry *entry, struct qo_wall entry_modified,
    int64_t orphan_grace_ms)
{
	memset(r, 0, sizeof(*r));
	qo_change_init(&r->change, q, &repair_kind, entry->id);
	r->entry = *entry;
	r->entry_modified = entry_modified;
	r->orphan_grace_ms = orphan_grace_ms;
	if (qo_key_entry(&q->layout, entry, r->entry_key) == -1)
		qo_bug("repair: an entry without a key");
}

void
qo_repair_init_lease(struct qo_repair *r, struct qo_queue *q, const char *id,
    int64_t generation, const char *lease_id)
{
	memset(r, 0, sizeof(*r));
	qo_change_init(&r->change, q, &repair_kind, id);
	snprintf(r->entry.id, sizeof(r->entry.id), "%s", id);
	r->entry.generation = generation;
	r->dead_lease = lease_id;
}

void
qo_repair_fini(struct qo_repair *r)
{
	qo_change_fini(&r->change);
}

void
qo_repair_start(struct qo_repair *r)
{
	r->did = QO_REPAIR_NOTHING;
	r->change.done = on_changed;
	r->change.arg = r;
	r->change.loaded = false;
	qo_change_start(&r->change);
}

static void
on_waited(struct qo_repair *r)
{
	*(bool *)r->arg = true;
}

enum qo_rc
qo_repair_wait(struct qo_repair *r)
{
	bool done = false;

	r->done = on_waited;
	r->arg = &done;
	qo_repair_start(r);
	while (!done)
		loop_once(r->change.q->loop, -1);
	return r->change.rc;
}
