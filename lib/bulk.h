/*
 * bulk.h - many operations, a bounded number of them at a time.
 *
 * The pump has a fixed number of slots and asks for an operation whenever
 * one is free: what is not asked for need not be in memory yet, so a file or
 * a listing of any length flows through in constant space.  With a rate, no
 * more than that many are started a second.
 *
 * The pump itself (qo_bulk_*) knows nothing of tasks; bulk_submit.h and
 * bulk_admin.h stand on it.
 */
#ifndef QO_BULK_H
#define QO_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop.h"

#define QO_BULK_INFLIGHT_MAX 4096
#define QO_BULK_RATE_MAX     1000000

enum qo_bulk_next {
	QO_BULK_STARTED = 0, /* under way: qo_bulk_ended(slot) will be called */
	QO_BULK_SKIPPED,     /* nothing to start for this one: ask again */
	QO_BULK_LATER,       /* none at hand: qo_bulk_kick when there is */
	QO_BULK_END          /* there are no more */
};

struct qo_bulk {
	/* in */
	struct loop *loop;
	size_t inflight; /* slots, 1 to QO_BULK_INFLIGHT_MAX */
	int64_t rate;    /* starts a second; 0: no limit */
	/* Starts the next operation in that slot.  It must not call
	 * qo_bulk_ended before it returns. */
	enum qo_bulk_next (*next)(struct qo_bulk *b, size_t slot);
	/* Nothing is under way and nothing will be.  May be NULL. */
	void (*done)(struct qo_bulk *b);
	void *arg;

	/* out */
	uint64_t started, ended;

	/* private */
	size_t *free; /* a stack of slots */
	size_t nfree;
	bool running, asked_all, waiting;
	struct qo_mono first; /* the rate counts from here */
	struct loop_task refill;
	struct loop_timer pause;
};

/* An operation that ended with QO_AGAIN is worth another try for a while: a
 * store that restarts must not fail thousands of tasks.  Zeroed at its start. */
struct qo_bulk_patience {
	struct qo_mono until; /* us == 0: it has not been needed yet */
	unsigned tries;
	struct loop_timer pause;
};
#define QO_BULK_PATIENCE_MS 30000

/* True: again(t) with t->arg == arg will be called.  False: give up. */
bool qo_bulk_again(struct qo_bulk *b, struct qo_bulk_patience *p,
    int64_t patience_ms, void (*again)(struct loop_timer *t), void *arg);

/* Sets everything to nothing; fill in the members above, then start. */
void qo_bulk_init(struct qo_bulk *b, struct loop *l, size_t inflight);
/* Nothing may be under way that would still call qo_bulk_ended. */
void qo_bulk_fini(struct qo_bulk *b);
/* Neither next nor done is called before it returns. */
void qo_bulk_start(struct qo_bulk *b);
/* The operation in that slot is over.  next is called later, not from here. */
void qo_bulk_ended(struct qo_bulk *b, size_t slot);
/* After QO_BULK_LATER: something may be at hand now. */
void qo_bulk_kick(struct qo_bulk *b);
/* Asks for no more; what is under way ends. */
void qo_bulk_stop(struct qo_bulk *b);
/* Starts, and runs the loop until all is over; done may be NULL. */
void qo_bulk_wait(struct qo_bulk *b);

#endif
