/*
 * records.h - read every object under a prefix of a queue's bucket.
 *
 * For what there are few of, schedules and workers: the keys are listed, then
 * fetched several at a time and given in the order of the keys.  Synchronous:
 * it runs the loop of the queue.
 */
#ifndef QO_RECORDS_H
#define QO_RECORDS_H

#include "queue.h"

struct qo_records {
	/* in; what the callbacks get is borrowed, and they do not run the
	 * loop */
	struct qo_queue *q;
	const char *bucket;
	const char *dir;  /* "schedules/", below the queue's prefix */
	const char *what; /* "a schedule", for what is said of the others */
	size_t len_max;   /* of one */
	void (*record)(struct qo_records *r, const char *key, const char *text,
	    size_t len);
	/* Not to be read as one; the others are. */
	void (*corrupt)(struct qo_records *r, const char *key, const char *why);
	void *arg;
	const bool *stop; /* ends it when true; NULL: never */
	/* out */
	struct qo_err err;
};

/* QO_OK: all were read, or *stop; else err in the struct says why not. */
enum qo_rc qo_records_read(struct qo_records *r);

#endif
