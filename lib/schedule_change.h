/*
 * schedule_change.h - one change of one schedule, from decision to certainty.
 *
 * Read it (unless it is at hand), decide, write it with If-Match, or with
 * If-None-Match when it is created; after a lost race or an answer that did
 * not come, read again and decide again from what is there (R4, R5).  So a
 * decision must follow from the record alone: one that was written already
 * and lies beneath the writes of others is then found to need nothing more.
 *
 * One loop, one callback; embedded in the operation's own struct.
 */
#ifndef QO_SCHEDULE_CHANGE_H
#define QO_SCHEDULE_CHANGE_H

#include "change.h"
#include "schedule.h"

struct qo_schedule_change {
	/* in */
	struct qo_queue *q;
	char id[QO_NAME_MAX + 1];
	bool creates; /* when it is not there, with s as init has it, rev 0 */
	/* Turns s as it was read into what it shall be, rev, updated_by and
	 * the two times of writing excepted.  May be called again after a
	 * lost race.  REFUSE: rc and err say why. */
	enum qo_verdict (*decide)(struct qo_schedule_change *c);
	void (*done)(struct qo_schedule_change *c);
	void *arg;

	/* in when loaded is set (as last read or written, with its ETag), and
	 * out: as it is now, when rc is QO_OK.  Owned by the change. */
	bool loaded;
	struct qo_schedule s;

	/* out */
	enum qo_rc rc; /* QO_NOENT: there is none; QO_AGAIN: try later */
	struct qo_err err;
	bool wrote; /* what is there now is ours */

	/* private */
	struct qo_s3_req req;
	struct buf body;
	char key[QO_KEY_SIZE];
	struct qo_cas_ids writes;
	unsigned rounds;
	struct loop_timer pause;
};

/* id is a valid one (qo_name_valid) and is copied. */
void qo_schedule_change_init(struct qo_schedule_change *c, struct qo_queue *q,
    const char *id);
/* Cancels when under way; frees the record too. */
void qo_schedule_change_fini(struct qo_schedule_change *c);
/* Never calls done before it returns.  May be started again after done. */
void qo_schedule_change_start(struct qo_schedule_change *c);
/* Starts and runs the loop until done; for command lines and tests. */
enum qo_rc qo_schedule_change_wait(struct qo_schedule_change *c);
/* For decide: a refusal in one line. */
enum qo_verdict qo_schedule_refuse(struct qo_schedule_change *c, enum qo_rc rc,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Reads the answer to a GET of a schedule; *s is the caller's to fini when
 * QO_OK.  QO_ERR: not such a record. */
enum qo_rc qo_schedule_answer(struct qo_s3_req *r, const char *id,
    struct qo_schedule *s, struct qo_err *err);
/* schedules/{id}.json -> id; -1: no key of a schedule. */
int qo_schedule_id_of_key(const struct qo_layout *l, const char *key,
    char id[QO_NAME_MAX + 1]);

#endif
