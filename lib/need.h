/*
 * need.h - the index entry that a task needs (R1), and whether it is there.
 *
 * The second line behind the rules: retention and fsck look whether each
 * unfinished task can be found through an index, and write the entry when it
 * can not.
 */
#ifndef QO_NEED_H
#define QO_NEED_H

#include "queue.h"
#include "task.h"

/* What must be in an index because of this task, without a nonce.  False:
 * nothing. */
bool qo_need_of(const struct qo_task *t, struct qo_entry *e);

/*
 * Is it there?  One LIST; when it is missing the task is read again: by R1
 * and R2 the entry of an unchanged task can not have gone in between.  Only
 * when it is the same (rev) the entry is missed, and written.
 */
struct qo_need {
	/* in */
	struct qo_queue *q;
	bool repair; /* set by init; else it is only looked for */
	void (*done)(struct qo_need *n);
	void *arg;
	/* out */
	enum qo_rc rc;
	struct qo_err err;
	bool missing;  /* it was, and the task is as it was */
	bool repaired; /* an entry was written */
	/* private */
	struct qo_entry entry;
	int64_t rev;
	char prefix[QO_KEY_SIZE];
	char key[QO_KEY_SIZE];
	struct qo_s3_req req;
};

/* t is of the moment; nothing of it is kept.  False: it needs no entry, and
 * there is nothing to start. */
bool qo_need_init(struct qo_need *n, struct qo_queue *q,
    const struct qo_task *t);
void qo_need_fini(struct qo_need *n); /* cancels */
/* Never calls done before it returns. */
void qo_need_start(struct qo_need *n);
enum qo_rc qo_need_wait(struct qo_need *n);

#endif
