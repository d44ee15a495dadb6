/*
 * schedule_list.h - read all schedules.
 *
 * Synchronous: it runs the loop of the queue.
 */
#ifndef QO_SCHEDULE_LIST_H
#define QO_SCHEDULE_LIST_H

#include "queue.h"
#include "schedule.h"

/* Every schedule of the queue, in the order of their ids. */
struct qo_schedule_list {
	/* in; what the callbacks get is borrowed, and they do not run the
	 * loop */
	struct qo_queue *q;
	/* text is the record as it is stored */
	void (*record)(struct qo_schedule_list *l, const struct qo_schedule *s,
	    const char *text, size_t len);
	/* Something under schedules/ that is none. */
	void (*corrupt)(struct qo_schedule_list *l, const char *key,
	    const char *why);
	void *arg;
	/* out */
	struct qo_err err;
};

/* QO_OK: all were read; else *err in the struct says why not. */
enum qo_rc qo_schedule_list_read(struct qo_schedule_list *l);

#endif
