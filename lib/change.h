/*
 * change.h - one change of one task, from decision to certainty.
 *
 * Everything that happens to a task is the same walk: read it (unless it is
 * at hand), decide, write the index entry that the new state needs (R1), and
 * write the task with If-Match (R4).  When the answer is not plain, the task
 * is read again and the truth found out (R5): our write is there; or it is
 * not and the same bytes are sent again; or somebody else was first, and
 * then the decision is made anew from what is there now.  A walk that takes
 * longer than a minute starts again with a new entry (R3).
 *
 * What kind of change it is stands in a struct qo_change_kind; this module
 * knows nothing of claims or retries.  One loop, one callback; a change is
 * embedded in the operation's own struct.
 */
#ifndef QO_CHANGE_H
#define QO_CHANGE_H

#include "cas.h"
#include "queue.h"
#include "task.h"

#define QO_CHANGE_DROPS 3

struct qo_change;

enum qo_verdict {
	QO_VERDICT_WRITE = 0, /* c->task has been made what it shall be */
	QO_VERDICT_NOTHING,   /* it is as wanted: the change is done */
	QO_VERDICT_REFUSE     /* c->rc and c->err say why not */
};

struct qo_change_kind {
	const char *name; /* for messages: "claim" */
	/* The task is created: found absent, it is decided from scratch. */
	bool creates;
	/*
	 * Looks at c->task as it was read (a creating change: at a task with
	 * defaults) and turns it into what it shall be, rev, updated_by and
	 * updated_at excepted.  Sets c->entry and c->has_entry when the new
	 * state needs an index entry.  May be called again after a lost race.
	 */
	enum qo_verdict (*decide)(struct qo_change *c);
	/*
	 * Others have written since we may have, twice at least (a creating
	 * change: once): does the task as found show that our write was
	 * applied before theirs?
	 */
	bool (*shows)(struct qo_change *c, const struct qo_task *found);
};

struct qo_change {
	/* in */
	struct qo_queue *q;
	const struct qo_change_kind *kind;
	char id[QO_UUID_SIZE];
	void (*done)(struct qo_change *c);
	void *arg;

	/* in when loaded is set (the task as last written, and its ETag), and
	 * out: the task as it is after the change, or as it was found when
	 * the change was refused.  Owned by the change. */
	bool loaded;
	struct qo_task task;
	char etag[QO_S3_ETAG_MAX];

	/* set by decide */
	bool has_entry;
	struct qo_entry entry; /* written before the task */

	/* Keys of index entries that are no longer needed when the change has
	 * been applied; deleted with the next batch. */
	char drops[QO_CHANGE_DROPS][QO_KEY_SIZE];
	size_t ndrops;

	/* out */
	enum qo_rc rc; /* QO_AGAIN: not known or not reached, try later */
	struct qo_err err;
	bool existed; /* a creating change found what it would have made */

	/* private */
	enum {
		QO_CHANGE_IDLE = 0,
		QO_CHANGE_READ,
		QO_CHANGE_ENTRY,
		QO_CHANGE_WRITE,
		QO_CHANGE_LATE_ENTRY
	} step;
	struct qo_s3_req req;
	struct buf body;
	char key[QO_KEY_SIZE];
	char entry_key[QO_KEY_SIZE];
	int64_t base_rev;
	struct qo_mono entry_at;  /* when its PUT began */
	bool entry_there;         /* the store has said so */
	struct qo_cas_ids writes; /* of this change, since its start */
	const struct qo_change_kind *unsettled; /* ended with QO_AGAIN */
	bool afresh; /* the minute is over: decide again, do not re-send */
	unsigned rounds;
	struct loop_timer pause;
};

/* Prepares *c; id is copied.  Fill in what kind needs, then start. */
void qo_change_init(struct qo_change *c, struct qo_queue *q,
    const struct qo_change_kind *kind, const char *id);
/* Cancels when under way; frees the task too. */
void qo_change_fini(struct qo_change *c);
/* Never calls done before it returns.  After QO_AGAIN the same change may be
 * started again: a write whose fate was unknown is recognised. */
void qo_change_start(struct qo_change *c);
/* Starts and runs the loop until done; for command lines and tests. */
enum qo_rc qo_change_wait(struct qo_change *c);

/* For decide: a refusal in one line. */
enum qo_verdict qo_change_refuse(struct qo_change *c, enum qo_rc rc,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* For decide: the entry that the new state needs.  t is the field that it
 * stands for, generation the one in the new state. */
void qo_change_needs(struct qo_change *c, enum qo_index index, struct qo_wall t,
    int64_t generation);
/* For decide: this entry will not be needed any more. */
void qo_change_drop(struct qo_change *c, const char *key);
/* The index of a ready entry of that priority. */
enum qo_index qo_change_ready_index(enum qo_priority p);

#endif
