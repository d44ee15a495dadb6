/*
 * bulk_admin.h - cancel, replay, archive or unarchive many tasks, a bounded
 * number at a time and no faster than a rate.
 */
#ifndef QO_BULK_ADMIN_H
#define QO_BULK_ADMIN_H

#include "admin.h"
#include "bulk.h"

struct qo_bulk_admin {
	struct qo_bulk bulk; /* first; its rate may be set */
	/* in */
	struct qo_queue *q;
	enum qo_admin_op op;
	const char *who, *reason; /* of a cancel; borrowed */
	/* On QO_BULK_STARTED id is set to a valid one. */
	enum qo_bulk_next (*next)(struct qo_bulk_admin *ba,
	    char id[QO_UUID_SIZE]);
	/* May the task as it is now be changed?  NULL: any.  Asked for each
	 * state that is found, so a task that was listed as failed and runs
	 * again meanwhile is left alone.  False: ended with QO_LOST. */
	bool (*wanted)(struct qo_bulk_admin *ba, const struct qo_task *t);
	/* a->change has the result. */
	void (*ended)(struct qo_bulk_admin *ba, const struct qo_admin *a);
	void *arg;
	int64_t patience_ms;

	/* private */
	struct qo_bulk_admin_slot **slots;
};

void qo_bulk_admin_init(struct qo_bulk_admin *ba, struct qo_queue *q,
    enum qo_admin_op op, size_t inflight);
/* Cancels what is under way; ended is not called for it. */
void qo_bulk_admin_fini(struct qo_bulk_admin *ba);
/* Runs the loop until all have ended and the deletes are gone. */
void qo_bulk_admin_wait(struct qo_bulk_admin *ba);

#endif
