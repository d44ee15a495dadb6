/*
 * schedule_fire.h - do what is due by one schedule, exactly once.
 *
 * Decide, write the decision into the record (a compare-and-swap: of any
 * number of monitors one wins), cancel the run before when the overlap rule
 * says so, submit the runs under ids that follow from their due times, and
 * write that they are there.  A process that dies in between leaves `firing'
 * in the record, and the next to come here goes on from there.
 *
 * Runs are submitted for ten minutes after the record was read or written:
 * one that was frozen in between might find no trace of a task that another
 * submitted and retention, which is an hour at least, has removed.
 */
#ifndef QO_SCHEDULE_FIRE_H
#define QO_SCHEDULE_FIRE_H

#include "admin.h"
#include "bulk_submit.h"
#include "schedule_change.h"

#define QO_FIRE_WINDOW 16 /* submits under way at once */

struct qo_fire_run {
	struct qo_wall due;
	char id[QO_UUID_SIZE];
	struct qo_submission sub;
};

struct qo_fire {
	/* in */
	struct qo_schedule_change change; /* first; its record is at hand when
					   * loaded, and the result */
	const struct conf_submit *conf;
	bool only_decided; /* does what is in firing and decides nothing */
	void (*done)(struct qo_fire *f);
	void *arg;

	/* out: QO_OK: what was due is done, or others are at it.
	 * QO_NOENT: the schedule is gone.  QO_AGAIN, QO_DENIED, QO_ERR. */
	enum qo_rc rc;
	struct qo_err err;
	enum qo_decision decision; /* what was decided here, if anything */
	size_t submitted;          /* tasks that were not there before */

	/* private */
	struct loop_task start;
	struct qo_wall until; /* it was started then */
	bool looked;          /* at the run before, which was: */
	bool unfinished;
	char previous[QO_UUID_SIZE];
	char key[QO_KEY_SIZE];
	struct qo_s3_req req;
	struct qo_schedule_plan plan;
	struct qo_mono known;     /* the record was not older than this */
	struct qo_fire_run *runs; /* to be submitted */
	size_t nruns, next;
	struct qo_bulk_submit bulk;
	bool has_bulk;
	struct qo_draft draft;
	bool has_draft;
	struct qo_admin cancel;
	bool has_cancel;
	char who[QO_SCHEDULE_WHO_SIZE];
};

/* conf is borrowed. */
void qo_fire_init(struct qo_fire *f, struct qo_queue *q,
    const struct conf_submit *conf, const char *id);
/* Cancels when under way. */
void qo_fire_fini(struct qo_fire *f);
/* Never calls done before it returns.  May be started again after done. */
void qo_fire_start(struct qo_fire *f);
/* Starts and runs the loop until done; for tests. */
enum qo_rc qo_fire_wait(struct qo_fire *f);

#endif
