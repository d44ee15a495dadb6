/*
 * walk.h - every key under a prefix, page by page.
 *
 * The walk follows continuation tokens and ends with an error when the store
 * does not move on: the same token again, a key that is not behind the last
 * one, or page after page without a key.  Embedded in the caller's struct.
 */
#ifndef QO_WALK_H
#define QO_WALK_H

#include "layout.h"
#include "s3.h"

struct qo_walk {
	/* in */
	struct qo_s3 *s3;
	const char *bucket;
	char prefix[QO_KEY_SIZE];
	char start_after[QO_KEY_SIZE]; /* "": from the first key */
	/* One call per key; the entry is borrowed.  False: that was enough. */
	bool (*entry)(struct qo_walk *w, const struct qo_s3_entry *e);
	void (*done)(struct qo_walk *w);
	void *arg;

	/* out */
	enum qo_rc rc;
	struct qo_err err;
	size_t pages, keys;
	size_t skipped; /* keys that are no text */
	int64_t seq;    /* x-qo-seq of the first page; -1: none */

	/* private */
	struct qo_s3_req req;
	char *token;
	char last[QO_KEY_SIZE];
	unsigned empty;
};

void qo_walk_init(struct qo_walk *w, struct qo_s3 *s3, const char *bucket);
/* Cancels when under way. */
void qo_walk_fini(struct qo_walk *w);
/* Never calls done before it returns.  May be started again after done. */
void qo_walk_start(struct qo_walk *w);

#endif
