/*
 * commit.h - how the holder of a lease ends its attempt.
 *
 * All are valid only while the task still carries our lease (R6): else
 * QO_LOST, the result is dropped, and nothing was written.  QO_AGAIN: it is
 * not known whether it was applied; the caller may start the same again
 * while the lease lasts.  QO_OK: the claim is over; its task is the new
 * state.
 */
#ifndef QO_COMMIT_H
#define QO_COMMIT_H

#include "claim.h"
#include "ends.h"
#include "task_payload.h"

/* What the attempt came to; strings are borrowed until done. */
struct qo_result {
	struct qo_json output; /* completed; p == NULL: null */
	struct qo_failure why; /* failed, retry */
	int64_t delay_ms;      /* reschedule; retry: -1 = by the policy */
};

enum qo_outcome {
	QO_OUTCOME_COMPLETED = 0,
	QO_OUTCOME_RETRY,      /* counts; failed when none is left */
	QO_OUTCOME_FAILED,     /* for good */
	QO_OUTCOME_RESCHEDULE, /* later, does not count */
	QO_OUTCOME_REQUEUE,    /* now, does not count: a drain */
	QO_OUTCOME_CANCELLED
};

struct qo_commit {
	struct qo_claim *claim;
	enum qo_outcome outcome;
	const struct qo_result *result;
	void (*done)(struct qo_commit *cm);
	void *arg;
	char output_key[QO_KEY_SIZE]; /* "": the output is inline */
	struct qo_payload payload;
};

/* claim and result are borrowed until done. */
void qo_commit_start(struct qo_commit *cm, struct qo_claim *claim,
    enum qo_outcome outcome, const struct qo_result *result,
    void (*done)(struct qo_commit *cm), void *arg);
/* Cancels when under way. */
void qo_commit_fini(struct qo_commit *cm);
enum qo_rc qo_commit_wait(struct qo_claim *claim, enum qo_outcome outcome,
    const struct qo_result *result);

#endif
