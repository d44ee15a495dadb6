/*
 * ends.h - how an attempt or a task ends: the new states that several
 * operations share, and when an index entry is dead.
 *
 * Pure but for the clock that is passed in: each turns c->task into what it
 * shall be and says which entry that needs (R1).  To be called from a
 * decide of change.h.
 */
#ifndef QO_ENDS_H
#define QO_ENDS_H

#include "change.h"

/* What went wrong with the attempt under this lease. */
struct qo_failure {
	const char *kind;    /* "exit", "timeout", "lease_expired", ... */
	const char *message; /* for people; becomes last_error */
};

enum qo_verdict qo_ends_completed(struct qo_change *c, struct qo_wall now);
/* Failed for good, with its entry under failed/. */
enum qo_verdict qo_ends_failed(struct qo_change *c, struct qo_wall now,
    const struct qo_failure *why);
/* Cancelled; a workflow's task, while pending, is given up instead (R7). */
enum qo_verdict qo_ends_cancelled(struct qo_change *c, struct qo_wall now);
enum qo_verdict qo_ends_expired(struct qo_change *c, struct qo_wall now);
/* Pending again at that time, in a new generation; a task with
 * cancel_requested is cancelled instead (R6). */
enum qo_verdict qo_ends_pending(struct qo_change *c, struct qo_wall now,
    struct qo_wall available_at);
/* A failed attempt: retried while retries are left, after delay_ms (-1: by the
 * task's policy), else failed (a workflow's task: given up). */
enum qo_verdict qo_ends_retried(struct qo_change *c, struct qo_wall now,
    const struct qo_failure *why, int64_t delay_ms);
/* Given up: pending and due, for the worker that will advance the workflow
 * before it ends the task (R7). */
enum qo_verdict qo_ends_given_up(struct qo_change *c, struct qo_wall now,
    enum qo_status as);

/* R3: may this index entry be deleted, the task being as read? */
bool qo_ends_entry_dead(const struct qo_queue *q, const char *key,
    const struct qo_task *t);

#endif
