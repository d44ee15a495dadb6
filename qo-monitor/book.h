/*
 * book.h - the schedules of the queue in memory, kept as they are in the
 * bucket.
 *
 * A refresh is one LIST (a page for each thousand), and a GET for each record
 * whose ETag is another than the one in memory.  A record that can not be
 * read is reported once, and no other suffers from it.
 */
#ifndef BOOK_H
#define BOOK_H

#include "fetch.h"
#include "monitor.h"
#include "schedule.h"
#include "walk.h"

struct qo_fire;

struct book_entry {
	char *key;
	char id[QO_NAME_MAX + 1];
	char etag[QO_S3_ETAG_MAX]; /* of what was last read; "": read it */
	bool usable;               /* s is a record */
	struct qo_schedule s;
	/* of schedules.c */
	struct qo_fire *fire; /* under way: s is there, and is left alone */
	bool settled;         /* nothing comes of it until it changes */
	unsigned failures;    /* in a row, with the record of that ETag */
	char failed[QO_S3_ETAG_MAX];
	struct qo_mono not_before;
	/* private */
	char listed[QO_S3_ETAG_MAX];
	bool seen;
};

struct book {
	/* in */
	struct monitor *m;
	void (*done)(struct book *b);
	void *arg;
	/* out */
	struct book_entry **entries; /* by key */
	size_t n;
	enum qo_rc rc; /* of the last refresh */
	struct qo_err err;
	/* All that the bucket held then is known; us == 0: nothing yet. */
	struct qo_mono as_of;
	/* private */
	struct qo_mono began;
	struct qo_walk walk;
	struct qo_fetch fetch;
	struct book_entry **found, **changed;
	size_t nfound, nchanged, cap;
};

void book_init(struct book *b, struct monitor *m);
void book_fini(struct book *b); /* no fire may be under way */
/* Never calls done before it returns. */
void book_refresh(struct book *b);
/* Is this the task of a run that may have to be submitted again?  Also true
 * when the book is too old to tell. */
bool book_holds(const struct book *b, const char *task_id);

#endif
