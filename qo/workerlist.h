/*
 * workerlist.h - reads all records under workers/.
 */
#ifndef WORKERLIST_H
#define WORKERLIST_H

#include "queue.h"
#include "worker_record.h"

struct workerlist {
	/* in */
	struct qo_queue *q;
	/* The record and its text are borrowed. */
	void (*record)(struct workerlist *w, const struct qo_worker_record *r,
	    const char *text, size_t len);
	/* What is no record of a worker; it is passed over. */
	void (*corrupt)(struct workerlist *w, const char *key, const char *why);
	void *arg;
	/* out */
	struct qo_err err;
};

/* Runs the loop until all are read; *stop (NULL: never) ends it before. */
enum qo_rc workerlist_read(struct workerlist *w, const bool *stop);

#endif
