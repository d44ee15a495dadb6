/*
 * bulk_submit.h - submit many tasks, max_inflight of them at a time.
 *
 * The caller gives one submission after the other when asked, and is told
 * how each ended.  They end in no particular order.
 */
#ifndef QO_BULK_SUBMIT_H
#define QO_BULK_SUBMIT_H

#include "bulk.h"
#include "submit.h"

struct qo_bulk_submit {
	struct qo_bulk bulk; /* first; its rate may be set */
	/* in */
	struct qo_queue *q;
	/* On QO_BULK_STARTED: *sub, which has passed qo_submission_check, is
	 * borrowed until ended; *item is the caller's own. */
	enum qo_bulk_next (*next)(struct qo_bulk_submit *bs,
	    const struct qo_submission **sub, void **item);
	/* s->change has the result: id, rc, existed, err, task. */
	void (*ended)(struct qo_bulk_submit *bs, const struct qo_submit *s,
	    void *item);
	void *arg;
	int64_t patience_ms; /* while the store does not answer */

	/* private */
	struct qo_bulk_submit_slot **slots;
};

void qo_bulk_submit_init(struct qo_bulk_submit *bs, struct qo_queue *q,
    size_t inflight);
/* Cancels what is under way; ended is not called for it. */
void qo_bulk_submit_fini(struct qo_bulk_submit *bs);
/* Runs the loop until all have ended and the deletes are gone. */
void qo_bulk_submit_wait(struct qo_bulk_submit *bs);

#endif
