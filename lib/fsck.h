/*
 * fsck.h - walk everything and find what breaks a rule.
 *
 * Shard by shard all tasks, then the entries of the indexes; the schedules at
 * last.  It may run beside workers.  A task whose entry is not there is read
 * again before it is reported: by R1 and R2 the entry of an unchanged task can
 * not have gone in between.  What may be somebody's write under way, or wait
 * to be deleted, is reported only when it is older than the grace period: an
 * entry that is dead or ahead of its task, and runs of a schedule that were
 * decided and are not known to be submitted.
 *
 * Synchronous: it runs the loop of the queue.
 */
#ifndef QO_FSCK_H
#define QO_FSCK_H

#include "conf.h"
#include "queue.h"
#include "task.h"

/* Grace: nothing else uses the queue, entries of any age are judged (server
 * time is known to a second only: new ones seem to come from the future). */
#define QO_FSCK_OFFLINE_MS (INT64_C(-86400000))

enum qo_fsck_kind {
	QO_FSCK_CORRUPT = 0,   /* no task, no schedule: left alone */
	QO_FSCK_BAD_KEY,       /* a name under an index that is no entry */
	QO_FSCK_WRONG_SHARD,   /* the task says another shard than its id */
	QO_FSCK_INCOMPLETE,    /* running without a lease, and the like */
	QO_FSCK_NO_ENTRY,      /* R1: the task can not be found any more */
	QO_FSCK_NO_PAYLOAD,    /* its input or output is gone */
	QO_FSCK_ENTRY_NO_TASK, /* an entry without a task */
	QO_FSCK_ENTRY_DEAD,    /* an entry that nobody removed (R3) */
	QO_FSCK_ENTRY_AHEAD,   /* an entry of a write that never came */
	QO_FSCK_SCHEDULE_TIME, /* its next time can not be right */
	QO_FSCK_SCHEDULE_RUN,  /* runs that were decided and not confirmed */
	QO_FSCK_KINDS          /* how many */
};

struct qo_fsck_problem {
	enum qo_fsck_kind kind;
	const char *key;    /* of the object */
	const char *detail; /* what is wrong, or "" */
	bool repaired;
};

struct qo_fsck {
	/* in */
	struct qo_queue *q;
	bool repair;
	/* What is younger than this is left alone; at least
	 * QO_ORPHAN_GRACE_MIN_MS, or QO_FSCK_OFFLINE_MS. */
	int64_t grace_ms;
	/* Of runs that a repair submits; borrowed. */
	const struct conf_submit *submit;
	void (*problem)(struct qo_fsck *f, const struct qo_fsck_problem *p);
	void (*progress)(struct qo_fsck *f); /* may be NULL */
	void *arg;
	/* out */
	size_t tasks, entries, schedules;
	size_t young; /* entries that were left alone for their age */
	size_t found[QO_FSCK_KINDS];
	size_t repaired;
	size_t broken; /* found and not repaired */
};

/* Fill in the first part of a zeroed struct.  QO_OK: everything was looked
 * at; else what stopped it. */
enum qo_rc qo_fsck_run(struct qo_fsck *f, struct qo_err *err);
const char *qo_fsck_kind_name(enum qo_fsck_kind kind); /* "corrupt" */

#endif
