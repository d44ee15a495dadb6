/*
 * admin.h - what people and the monitor do to a task that they do not hold:
 * cancel, expire, replay, archive, unarchive.
 *
 * QO_OK: done (also when it was so already), QO_LOST: the task's state does
 * not allow it and the message says which state that is, QO_NOENT, QO_AGAIN,
 * QO_DENIED, QO_ERR.
 */
#ifndef QO_ADMIN_H
#define QO_ADMIN_H

#include "change.h"

enum qo_admin_op {
	QO_ADMIN_CANCEL = 0, /* pending: at once; running: asked for, by bell */
	QO_ADMIN_EXPIRE,     /* pending and past expires_at */
	QO_ADMIN_REPLAY,     /* a finished task runs again from the start */
	QO_ADMIN_ARCHIVE,
	QO_ADMIN_UNARCHIVE
};

struct qo_admin {
	struct qo_change change; /* first; its task is the result */
	enum qo_admin_op op;
	const char *who;    /* cancel: cancelled_by; borrowed, may be NULL */
	const char *reason; /* cancel: cancel_reason */
	/* May the task as it was found be changed?  NULL: any.  Asked again
	 * after a lost race; false: QO_LOST. */
	bool (*wanted)(const struct qo_task *t, void *arg);
	void *wanted_arg;
	void (*done)(struct qo_admin *a);
	void *arg;
	/* private: what has to be done after the task was written */
	struct qo_s3_req after;
	char after_key[QO_KEY_SIZE];
	bool leaves_entry; /* the old state has one, under a name of which
			    * only the beginning is known */
	enum qo_index left_index;
	struct qo_wall left_time;
};

/* id is a valid one (qo_uuid_valid). */
void qo_admin_init(struct qo_admin *a, struct qo_queue *q, enum qo_admin_op op,
    const char *id);
void qo_admin_fini(struct qo_admin *a);
/* Never calls done before it returns. */
void qo_admin_start(struct qo_admin *a);
enum qo_rc qo_admin_wait(struct qo_admin *a);

const char *qo_admin_op_name(enum qo_admin_op op); /* "cancel" */

#endif
