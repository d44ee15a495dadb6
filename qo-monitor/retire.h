/*
 * retire.h - remove one finished task with all that belongs to it.
 *
 * First the task is marked (retired_at) by a conditional write, after which
 * it can not be replayed; then its payloads and logs are deleted; last, after
 * a pause, the task itself, by a DELETE with If-Match.  The order is what
 * makes it safe:
 * - A kill anywhere leaves a marked task that is found again.
 * - Names below payloads/ and logs/ come back when somebody submits the same
 *   idempotency key again, and that is not possible before the task is gone.
 *   So nothing of it may be deleted late: only the one who set the mark
 *   deletes, within a minute of it, and who finds another's mark takes over
 *   only after orphan_grace, when the store refuses whatever the other has
 *   signed.  An answer that did not come leaves the rest to a later time.
 * - The DELETE of the task names the ETag that it has, so it can not hit a
 *   new task of the same id, however late it comes.
 *
 * A task that is not finished is not touched: it is checked that it can be
 * found through an index (need.h).  A workflow's tasks are left alone.
 */
#ifndef RETIRE_H
#define RETIRE_H

#include "change.h"
#include "monitor.h"
#include "need.h"
#include "walk.h"

#define RETIRE_KEYS_MAX \
	1000 /* of one task: those of more stay for a later
                              * time */

enum retire_what {
	RETIRE_KEEP = 0, /* too young, or of a workflow */
	RETIRE_CHECK,    /* not finished */
	RETIRE_WAIT,     /* another is at it */
	RETIRE_MARK      /* to be removed */
};

struct retire {
	/* in */
	struct monitor *m;
	int64_t settle_ms; /* between the last belonging and the task */
	void (*done)(struct retire *r);
	void *arg;
	/* out */
	enum qo_rc rc; /* QO_OK whatever was done; else the store's answer */
	struct qo_err err;
	bool removed;
	/* private */
	struct qo_change change;
	enum retire_what what;
	struct qo_mono marked; /* before the mark was written */
	struct qo_need need;
	struct qo_walk walk;
	struct qo_s3_req req;
	struct buf body;
	char key[QO_KEY_SIZE];
	char *keys[RETIRE_KEYS_MAX];
	size_t nkeys;
	bool logs; /* else: payloads */
	bool unclean;
	struct loop_timer pause;
};

/* What is to be done with it at the time lo. */
enum retire_what retire_judge(const struct qo_task *t,
    const struct conf_monitor *conf, struct qo_wall lo);

/* id is copied. */
void retire_init(struct retire *r, struct monitor *m, const char *id);
void retire_fini(struct retire *r); /* cancels */
/* Never calls done before it returns. */
void retire_start(struct retire *r);

#endif
