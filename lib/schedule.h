/*
 * schedule.h - schedules/{id}.json: a cron schedule, and what is due by it.
 *
 * The record is state: every change of it is a compare-and-swap (see
 * schedule_change.h).  next_due is the time that is looked at next; whoever
 * sees that it has come decides about it and all that has come since, and
 * writes the decision before anything is submitted.
 *
 * `firing' holds the times that were decided to run and are not yet known to
 * be submitted: it is written with the decision and emptied when the tasks
 * are there.  A monitor that finds some submits them again, which does no
 * harm because a run's task id is made of the schedule's id and the due
 * time.  Retention removes no task of such a run (see qo-monitor), so that
 * doing it again can not mean running it again.  `cancelling' is the run
 * that the new one takes the place of.
 *
 * Format 1; a record with a higher number is left alone.
 */
#ifndef QO_SCHEDULE_H
#define QO_SCHEDULE_H

#include "conf.h"
#include "cron.h"
#include "draft.h"
#include "record.h"
#include "s3.h"
#include "uuid.h"

#define QO_SCHEDULE_FORMAT    1
#define QO_SCHEDULE_LEN_MAX   ((size_t)1 << 20)
#define QO_SCHEDULE_INPUT_MAX ((size_t)256 * 1024)
#define QO_SCHEDULE_RUNS_MAX  1000 /* of one decision */
/* What is due no longer than this was not missed. */
#define QO_SCHEDULE_ON_TIME_MS 60000
/* Who submits its runs: this and its id. */
#define QO_SCHEDULE_WHO      "schedule:"
#define QO_SCHEDULE_WHO_SIZE (sizeof(QO_SCHEDULE_WHO) + QO_NAME_MAX)

/* What becomes of times that nobody was there for. */
enum qo_catch_up {
	QO_CATCH_UP_SKIP = 0,
	QO_CATCH_UP_LAST, /* the last of them runs */
	QO_CATCH_UP_ALL
};

/* A run is due and the one before has not ended. */
enum qo_overlap {
	QO_OVERLAP_ALLOW = 0,
	QO_OVERLAP_SKIP,  /* it does not run */
	QO_OVERLAP_CANCEL /* the old one is cancelled */
};

enum qo_decision {
	QO_DECISION_NONE = 0, /* nothing has been due yet */
	QO_DECISION_RUN,
	QO_DECISION_SKIPPED, /* by the overlap rule */
	QO_DECISION_MISSED   /* by the catch-up rule */
};

struct qo_schedule {
	struct qo_record rec; /* first; see record.h */
	const char *id;
	const char *cron;
	const char *timezone;  /* never NULL when decoded */
	const char *task_type; /* this or workflow */
	const char *workflow;
	struct qo_json input;
	struct qo_json options; /* timeout, retries, expires, tags, priority
				 * as in draft.h */
	enum qo_catch_up catch_up;
	enum qo_overlap overlap;
	bool paused;
	struct qo_wall last_due;        /* what was decided last, */
	enum qo_decision last_decision; /* and how */
	const char *last_task_id;       /* of the last one that ran */
	struct qo_wall next_due;        /* none: paused, or not looked at yet */
	int64_t rev;
	const char *updated_by;
	struct qo_wall created_at, updated_at;
	const struct qo_wall *firing; /* rising */
	size_t nfiring;
	const char *cancelling;
	int64_t format;
	/* not part of the text */
	char etag[QO_S3_ETAG_MAX];
};

void qo_schedule_init(struct qo_schedule *s);
void qo_schedule_fini(struct qo_schedule *s); /* harmless twice */
/* id is the one in the key (NULL: any).  0, or -1 with *err naming the member
 * and nothing to free: also what can never run. */
int qo_schedule_decode(struct qo_schedule *s, const char *id, const char *text,
    size_t len, struct qo_err *err);
int qo_schedule_encode(const struct qo_schedule *s, struct buf *out,
    struct qo_err *err);
/* All that decode checks beyond single members; for a record that was filled
 * in by hand. */
int qo_schedule_check(const struct qo_schedule *s, struct qo_err *err);
/* Sets firing to a copy. */
void qo_schedule_set_firing(struct qo_schedule *s, const struct qo_wall *due,
    size_t n);

extern const char *const qo_catch_up_names[];
extern const char *const qo_overlap_names[];
const char *qo_decision_name(enum qo_decision d); /* NULL: none */

/* The times of a schedule. */
struct qo_schedule_clock {
	struct qo_cron cron;
	struct qo_tz *tz;
};

int qo_schedule_clock_open(struct qo_schedule_clock *c,
    const struct qo_schedule *s, struct qo_err *err);
void qo_schedule_clock_close(struct qo_schedule_clock *c);
/* The next time, or QO_WALL_NONE. */
struct qo_wall qo_schedule_next(const struct qo_schedule_clock *c,
    struct qo_wall after);

/* What is to be done about a schedule at one moment. */
struct qo_schedule_plan {
	bool writes; /* the record changes */
	bool cancels;
	enum qo_decision decision; /* none: nothing was due */
	struct qo_wall last_due, next_due;
	struct qo_wall runs[QO_SCHEDULE_RUNS_MAX]; /* due times, rising */
	size_t nruns;
};

/* Has its time come? */
bool qo_schedule_is_due(const struct qo_schedule *s, struct qo_wall now);
/*
 * Pure.  unfinished: the task last_task_id has not ended (only asked when
 * overlap is not allow).  Nothing is decided while firing is not empty.
 * More than QO_SCHEDULE_RUNS_MAX runs: the rest stays due.
 */
void qo_schedule_plan(const struct qo_schedule *s,
    const struct qo_schedule_clock *c, struct qo_wall now, bool unfinished,
    struct qo_schedule_plan *plan);
/* Into the record; prefix is the queue's. */
void qo_schedule_apply(struct qo_schedule *s,
    const struct qo_schedule_plan *plan, const char *prefix);

/* The id of the task that is the run due at that time. */
void qo_schedule_task_id(const char *prefix, const char *id, struct qo_wall due,
    char out[QO_UUID_SIZE]);
/* What one run submits.  d is initialised here and holds strings of sub; both
 * borrow from s.  conf: the defaults of options. */
int qo_schedule_submission(const struct qo_schedule *s,
    const struct conf_submit *conf, struct qo_wall now, struct qo_draft *d,
    struct qo_submission *sub, struct qo_err *err);
/* "schedule:ID", for submitted_by and cancelled_by. */
void qo_schedule_who(const char *id, char out[QO_SCHEDULE_WHO_SIZE]);

#endif
