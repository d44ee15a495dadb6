/*
 * scan.h - look at many tasks: through the indexes, or all of tasks/.
 *
 * First the names: the chosen indexes (or tasks/) are listed, page by page.
 * A task with several entries is named once, by the entry that is furthest
 * (R2: the highest generation, and in it ready, lease, failed); what was
 * written last, by the store's LastModified, comes first.  Then the tasks,
 * QO_FETCH_WINDOW at a time, handed over in that order until the caller has
 * enough.
 *
 * An index entry is a hint: its task may have moved on, so the caller looks
 * at what the task itself says.  A task that is gone is passed over.  What
 * can not be read (no JSON, wrong types, another's id, a format above ours,
 * a key that is none of ours) is reported with its key and passed over; it
 * never stops the scan.
 */
#ifndef QO_SCAN_H
#define QO_SCAN_H

#include "fetch.h"
#include "queue.h"
#include "task.h"
#include "walk.h"

/* What to look at; or-ed. */
#define QO_SCAN_READY  1u
#define QO_SCAN_LEASES 2u
#define QO_SCAN_FAILED 4u
#define QO_SCAN_ACTIVE (QO_SCAN_READY | QO_SCAN_LEASES | QO_SCAN_FAILED)
#define QO_SCAN_TASKS  8u /* alone: every task there is */

/* Beyond this many names the oldest are forgotten. */
#define QO_SCAN_NAMES_MAX ((size_t)1 << 20)
#define QO_SCAN_WALKS     16

struct qo_scan;

struct qo_scan_name {
	struct qo_entry entry; /* with QO_SCAN_TASKS only its id is set */
	struct qo_wall modified;
};

struct qo_scan {
	/* in; set between init and start */
	struct qo_queue *q;
	unsigned sources;
	const char *shard; /* NULL: all; borrowed until done */
	/* All callbacks but done may be NULL; without task only the names are
	 * collected. */
	/* The task and its text are borrowed.  False: that was enough. */
	bool (*task)(struct qo_scan *s, const struct qo_task *t,
	    const char *text, size_t len);
	void (*corrupt)(struct qo_scan *s, const char *key, const char *why);
	void (*progress)(struct qo_scan *s); /* now and then */
	void (*done)(struct qo_scan *s);
	void *arg;

	/* out */
	enum qo_rc rc;
	struct qo_err err;
	struct qo_scan_name *names; /* good until fini or the next start */
	size_t nnames;
	size_t listed;  /* keys seen */
	size_t dropped; /* names forgotten, see QO_SCAN_NAMES_MAX */
	size_t read;    /* tasks read */
	size_t ncorrupt;
	/* x-qo-seq from before the first page: what came later is not in the
	 * names.  -1: the store gives none. */
	int64_t seq;

	/* How many tasks are read at once, 1 to QO_FETCH_WINDOW; the task
	 * callback may change it. */
	struct qo_fetch fetch;

	/* private */
	struct qo_walk walks[QO_SCAN_WALKS];
	size_t nwalks, walking;
	size_t cap;
	bool ended;
};

void qo_scan_init(struct qo_scan *s, struct qo_queue *q, unsigned sources);
/* Cancels when under way. */
void qo_scan_fini(struct qo_scan *s);
/* A shard as a user writes it: 0 to f (00 to ff). */
bool qo_scan_shard_valid(const struct qo_queue *q, const char *shard);
/* Never calls back before it returns; shard must be a valid one.  May be
 * started again after done. */
void qo_scan_start(struct qo_scan *s);
/* Starts and runs the loop until done, which is not called. */
enum qo_rc qo_scan_wait(struct qo_scan *s);

/* Reads the answer to the GET of a task: 0, or -1 with *err when it is not a
 * task that this version understands. */
int qo_scan_decode(struct qo_task *t, const char *id, const struct qo_s3_req *r,
    struct qo_err *err);

#endif
