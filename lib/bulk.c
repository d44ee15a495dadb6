#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "log.h"
#include "retry.h"
#include "xalloc.h"

#define AGAIN_BASE_MS 100
#define AGAIN_CAP_MS  2000

static void refill(struct qo_bulk *b);

static void
on_refill(struct loop_task *t)
{
	refill(t->arg);
}

static void
on_pause(struct loop_timer *t)
{
	refill(t->arg);
}

/* How long until the rate allows one more start, in us; 0: now. */
static int64_t
wait_us(const struct qo_bulk *b)
{
	int64_t due;

	if (b->rate == 0)
		return 0;
	due = (int64_t)((double)b->started * 1e6 / (double)b->rate);
	due -= qo_mono_diff_us(b->first, qo_mono_now());
	return due > 0 ? due : 0;
}

static void
finish(struct qo_bulk *b)
{
	b->running = false;
	loop_timer_del(b->loop, &b->pause);
	if (b->done != NULL)
		b->done(b);
}

/* False: no more can be started now. */
static bool
start_one(struct qo_bulk *b)
{
	size_t slot = b->free[b->nfree - 1];

	b->nfree--;
	switch (b->next(b, slot)) {
	case QO_BULK_STARTED:
		b->started++;
		return true;
	case QO_BULK_SKIPPED:
		b->free[b->nfree++] = slot;
		return true;
	case QO_BULK_LATER:
		b->free[b->nfree++] = slot;
		b->waiting = true;
		return false;
	case QO_BULK_END:
		b->free[b->nfree++] = slot;
		b->asked_all = true;
		return false;
	}
	qo_bug("bulk: no such answer");
}

static void
refill(struct qo_bulk *b)
{
	int64_t us;

	while (b->running && !b->asked_all && !b->waiting && b->nfree > 0) {
		if ((us = wait_us(b)) > 0) {
			loop_timer_set_ms(b->loop, &b->pause,
			    us / QO_US_PER_MS + 1, on_pause, b);
			break;
		}
		if (!start_one(b))
			break;
	}
	if (b->running && b->asked_all && b->nfree == b->inflight)
		finish(b);
}

void
qo_bulk_init(struct qo_bulk *b, struct loop *l, size_t inflight)
{
	if (inflight == 0 || inflight > QO_BULK_INFLIGHT_MAX)
		qo_bug("bulk: %zu in flight", inflight);
	memset(b, 0, sizeof(*b));
	b->loop = l;
	b->inflight = inflight;
	b->free = xcalloc(inflight, sizeof(*b->free));
	/* Slot 0 is on top: a short list touches few slots. */
	while (b->nfree < inflight) {
		b->free[b->nfree] = inflight - 1 - b->nfree;
		b->nfree++;
	}
}

void
qo_bulk_fini(struct qo_bulk *b)
{
	if (b->loop == NULL)
		return;
	loop_defer_del(b->loop, &b->refill);
	loop_timer_del(b->loop, &b->pause);
	free(b->free);
	b->free = NULL;
	b->loop = NULL;
}

void
qo_bulk_start(struct qo_bulk *b)
{
	b->running = true;
	b->asked_all = b->waiting = false;
	b->started = b->ended = 0;
	b->first = qo_mono_now();
	loop_defer(b->loop, &b->refill, on_refill, b);
}

void
qo_bulk_ended(struct qo_bulk *b, size_t slot)
{
	if (b->nfree == b->inflight)
		qo_bug("bulk: more ended than started");
	b->free[b->nfree++] = slot;
	b->ended++;
	loop_defer(b->loop, &b->refill, on_refill, b);
}

void
qo_bulk_kick(struct qo_bulk *b)
{
	b->waiting = false;
	if (b->running)
		loop_defer(b->loop, &b->refill, on_refill, b);
}

void
qo_bulk_stop(struct qo_bulk *b)
{
	b->asked_all = true;
	qo_bulk_kick(b);
}

void
qo_bulk_wait(struct qo_bulk *b)
{
	qo_bulk_start(b);
	while (b->running)
		loop_once(b->loop, -1);
}

bool
qo_bulk_again(struct qo_bulk *b, struct qo_bulk_patience *p,
    int64_t patience_ms, void (*again)(struct loop_timer *t), void *arg)
{
	struct qo_mono now = qo_mono_now();
	int64_t ms;

	if (p->until.us == 0)
		p->until = qo_mono_add_ms(now, patience_ms);
	if (now.us >= p->until.us)
		return false;
	ms = 1 +
	    qo_retry_full_jitter_ms(AGAIN_BASE_MS, AGAIN_CAP_MS, p->tries++,
		qo_retry_random());
	loop_timer_set_ms(b->loop, &p->pause, ms, again, arg);
	return true;
}
