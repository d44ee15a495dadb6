/*
 * fetch.h - GET many objects, several at once, handed over in order.
 *
 * What is to be read is known by its number, 0 to n - 1.  At most `window`
 * requests are under way; an answer that is early waits for those before it.
 * Embedded in the caller's struct.
 */
#ifndef QO_FETCH_H
#define QO_FETCH_H

#include "layout.h"
#include "loop.h"
#include "s3.h"

#define QO_FETCH_WINDOW 32

struct qo_fetch;

struct qo_fetch_slot {
	struct qo_fetch *f;
	struct qo_s3_req req;
	char key[QO_KEY_SIZE];
	bool arrived;
};

struct qo_fetch {
	/* in */
	struct loop *loop;
	struct qo_s3 *s3;
	const char *bucket;
	size_t response_max; /* 0: as in s3.h */
	size_t n;
	size_t window; /* 1 to QO_FETCH_WINDOW; got may change it */
	/* Fills in the key, and the version when not the current one is
	 * meant (borrowed until its got).  -1: there is no such key. */
	int (*name)(struct qo_fetch *f, size_t i, char key[QO_KEY_SIZE],
	    const char **version);
	/* The answer to number i, whatever its outcome; the body may be taken.
	 * False: that was enough. */
	bool (*got)(struct qo_fetch *f, size_t i, struct qo_s3_req *r);
	void (*done)(struct qo_fetch *f);
	void *arg;

	/* private */
	size_t next_send, next_give;
	struct qo_fetch_slot slots[QO_FETCH_WINDOW];
	struct loop_task ended;
};

void qo_fetch_init(struct qo_fetch *f, struct loop *l, struct qo_s3 *s3,
    const char *bucket);
/* Cancels when under way. */
void qo_fetch_fini(struct qo_fetch *f);
/* Calls nothing but name before it returns.  May be started again after
 * done. */
void qo_fetch_start(struct qo_fetch *f);

#endif
