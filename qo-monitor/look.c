#include <stdlib.h>
#include <string.h>

#include "look.h"
#include "report.h"
#include "xalloc.h"

#define SEC           1000
#define DELETED_MS    (5 * SEC) /* a delete waits for its batch */
#define CLAIM_MS      (5 * SEC)
#define YOUNG_MS      (60 * SEC)
#define CORRUPT_MS    (600 * SEC)
#define IN_ORDER_MS   (3600 * SEC)
#define LOST_MIN_MS   50
#define LOST_RANGE_MS 450

static struct qo_wall
after(struct qo_wall t, int64_t ms)
{
	t.us += ms * QO_US_PER_MS;
	return t;
}

/* Nothing was to be done: until when is that so? */
static struct qo_wall
nothing_until(const struct qo_repair *r, struct qo_wall lo)
{
	const struct qo_task *t = &r->change.task;
	struct qo_wall until = after(lo, IN_ORDER_MS);

	if (r->entry.generation != t->generation)
		return after(lo, YOUNG_MS); /* a write under way */
	if (r->entry.index == QO_INDEX_FAILED)
		return until;
	/* A lease's entry comes before the claim: soon there is a lease, which
	 * may be a short one. */
	if (r->entry.index == QO_INDEX_LEASES)
		return t->status == QO_STATUS_RUNNING &&
			qo_wall_is_set(t->lease_expires_at)
		    ? t->lease_expires_at
		    : after(lo, CLAIM_MS);
	if (qo_wall_is_set(t->expires_at) && t->expires_at.us < until.us)
		return t->expires_at;
	return until;
}

struct qo_wall
look_again(const struct qo_repair *r, struct qo_wall lo)
{
	switch (r->change.rc) {
	case QO_OK:
		break;
	case QO_NOENT:
		/* Too young to be judged: a submit may be under way. */
		return after(lo,
		    r->did == QO_REPAIR_NOTHING ? YOUNG_MS : DELETED_MS);
	case QO_ERR:
		return after(lo, CORRUPT_MS);
	case QO_AGAIN:
	case QO_LOST:
	case QO_DENIED:
		return lo;
	}
	return r->did == QO_REPAIR_NOTHING ? nothing_until(r, lo)
					   : after(lo, DELETED_MS);
}

/* The run */

static void
on_pause(struct loop_timer *t)
{
	struct look *l = t->arg;

	qo_bulk_kick(&l->bulk);
}

static void
on_repaired(struct qo_repair *r)
{
	struct look_slot *s = r->arg;
	struct look *l = s->look;
	struct qo_wall lo = monitor_lo(l->m);

	if (r->did != QO_REPAIR_NOTHING)
		l->repaired++;
	if (!report_repair(l->m, r))
		l->unanswered++;
	if (qo_wall_is_set(lo))
		later_set(l->later, r->entry_key, look_again(r, lo));
	/* Another monitor has the same list and was first. */
	if (r->change.rounds > 1)
		loop_timer_set_ms(l->m->loop, &l->pause,
		    LOST_MIN_MS + (int64_t)arc4random_uniform(LOST_RANGE_MS),
		    on_pause, l);
	qo_bulk_ended(&l->bulk, s->slot);
}

static enum qo_bulk_next
start_next(struct qo_bulk *b, size_t slot)
{
	struct look *l = b->arg;
	struct look_slot *s = &l->slots[slot];
	const struct look_entry *e;

	if (l->next == l->n)
		return QO_BULK_END;
	if (loop_timer_is_set(&l->pause))
		return QO_BULK_LATER;
	e = &l->entries[l->next++];
	if (s->used)
		qo_repair_fini(&s->repair);
	s->used = true;
	qo_repair_init(&s->repair, l->m->q, &e->entry, e->modified,
	    l->m->conf->orphan_grace_ms);
	s->repair.done = on_repaired;
	s->repair.arg = s;
	qo_repair_start(&s->repair);
	return QO_BULK_STARTED;
}

static void
on_all(struct qo_bulk *b)
{
	struct look *l = b->arg;

	l->n = l->next = 0;
	l->done(l);
}

/* Monitors that read the same list begin at different ends of it. */
static void
shuffle(struct look *l)
{
	struct look_entry e;
	size_t i, k;

	for (i = l->n; i > 1; i--) {
		k = arc4random_uniform((uint32_t)i);
		e = l->entries[i - 1];
		l->entries[i - 1] = l->entries[k];
		l->entries[k] = e;
	}
}

void
look_init(struct look *l, struct monitor *m, size_t window)
{
	size_t i;

	memset(l, 0, sizeof(*l));
	l->m = m;
	l->slots = xcalloc(window, sizeof(*l->slots));
	for (i = 0; i < window; i++) {
		l->slots[i].look = l;
		l->slots[i].slot = i;
	}
	qo_bulk_init(&l->bulk, m->loop, window);
	l->bulk.next = start_next;
	l->bulk.done = on_all;
	l->bulk.arg = l;
}

void
look_fini(struct look *l)
{
	size_t i;

	for (i = 0; i < l->bulk.inflight; i++)
		if (l->slots[i].used)
			qo_repair_fini(&l->slots[i].repair);
	qo_bulk_fini(&l->bulk);
	loop_timer_del(l->m->loop, &l->pause);
	free(l->slots);
	free(l->entries);
}

void
look_add(struct look *l, const struct qo_entry *e, struct qo_wall modified)
{
	if (l->n == l->cap) {
		l->cap = l->cap == 0 ? 64 : 2 * l->cap;
		l->entries = xreallocarray(l->entries, l->cap,
		    sizeof(*l->entries));
	}
	l->entries[l->n].entry = *e;
	l->entries[l->n++].modified = modified;
}

size_t
look_count(const struct look *l)
{
	return l->n;
}

void
look_start(struct look *l)
{
	l->repaired = l->unanswered = 0;
	shuffle(l);
	qo_bulk_start(&l->bulk);
}

void
look_stop(struct look *l)
{
	l->next = l->n;
	qo_bulk_kick(&l->bulk);
}
