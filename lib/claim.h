/*
 * claim.h - take a ready task and hold its lease while it runs.
 *
 * The lease is the lease_id inside the task object, won by a conditional
 * PUT; the entry under leases/ only lets the monitor find it.  Losing is an
 * outcome, not an error.
 *
 * A claim is taken once, renewed any number of times, and ended once
 * (commit.h).  One operation at a time: the caller starts the next one when
 * the last is done.
 */
#ifndef QO_CLAIM_H
#define QO_CLAIM_H

#include "change.h"

/* Before the lease ends by the latest reading of the store's clock, the
 * worker must have stopped acting as its owner. */
#define QO_FENCE_MARGIN_MS 2000

struct qo_claim {
	struct qo_change change; /* first; its task is the one held */
	void (*done)(struct qo_claim *cl);
	void *arg;
	char worker_id[QO_NAME_MAX + 1];
	char lease_id[QO_UUID_SIZE];
	char ready_key[QO_KEY_SIZE]; /* the entry that led here; "" for none */
	char lease_key[QO_KEY_SIZE]; /* the entry of the lease as it is */
	int64_t lease_ms;            /* of the operation under way */
	struct qo_mono fence;        /* past this the task is not ours */
	struct qo_mono sent_at;      /* fence of the operation under way */
	struct qo_wall sent_hi;
	struct qo_json progress; /* rides on the next renewal; borrowed */
	bool cancel_seen;        /* the task has cancel_requested */
	bool held;               /* taken, and neither ended nor lost */

	/* May this type be taken here?  NULL: any. */
	bool (*serves)(const char *task_type, void *arg);
	void *serves_arg;
};

/* entry: of a ready index, as the poll found it (its key is deleted when the
 * claim is won). */
void qo_claim_init(struct qo_claim *cl, struct qo_queue *q,
    const struct qo_entry *entry, const char *worker_id);
void qo_claim_fini(struct qo_claim *cl);

/*
 * change.rc: QO_OK (held; or, when the task had been cancelled or had
 * expired, ended here: held is false), QO_AGAIN (not due yet, or not known),
 * QO_LOST (somebody else has it, or it is in another state), QO_NOENT,
 * QO_DENIED (a type that we do not serve), QO_ERR.  The entry's key is
 * deleted when the task shows that it is dead (R3).
 */
void qo_claim_take(struct qo_claim *cl, int64_t lease_ms);
/* Longer by lease_ms from now, with progress if set.  QO_OK, QO_LOST (not
 * ours any more: kill and drop), QO_AGAIN.  Look at cancel_seen after. */
void qo_claim_renew(struct qo_claim *cl, int64_t lease_ms);
/* The same, waiting. */
enum qo_rc qo_claim_take_wait(struct qo_claim *cl, int64_t lease_ms);
enum qo_rc qo_claim_renew_wait(struct qo_claim *cl, int64_t lease_ms);

/* For commit.c: runs a change of this kind on the task that is held. */
void qo_claim_run(struct qo_claim *cl, const struct qo_change_kind *kind,
    bool ends);
/* Runs the loop until the operation that was started is done. */
enum qo_rc qo_claim_finish_wait(struct qo_claim *cl,
    void (*start)(struct qo_claim *cl, void *arg), void *arg);
/* Is this task running under the lease of that claim? */
bool qo_claim_holds(const struct qo_claim *cl, const struct qo_task *t);

/* The error that the attempt under the lease of that claim left there, or
 * NULL; borrowed from the task. */
const struct qo_task_error *qo_claim_error(const struct qo_claim *cl,
    const struct qo_task *t);

#endif
