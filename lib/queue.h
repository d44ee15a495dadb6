/*
 * queue.h - one queue: what all operations on its tasks share.
 *
 * The store, the bucket and the index bucket, the layout of the keys, server
 * time, and the deletes that wait to go together.  Operations are objects of
 * their own (change.h and what stands on it).
 */
#ifndef QO_QUEUE_H
#define QO_QUEUE_H

#include "deleter.h"
#include "layout.h"
#include "loop.h"
#include "s3.h"

struct qo_queue_conf {
	const char *bucket;
	const char *index_bucket; /* NULL: the same */
	const char *prefix;       /* NULL or "": none */
	int shard_width;          /* 1 or 2, from control/queue.json */
	size_t inline_max; /* larger inputs and outputs go to payloads/ */
};

/* Read by the operations; changed by nobody. */
struct qo_queue {
	struct loop *loop;
	struct qo_s3 *s3;
	char *bucket;
	char *index_bucket;
	char *prefix;
	struct qo_layout layout;
	size_t inline_max;
	struct qo_deleter *deleter; /* of the index bucket */
};

/* conf is copied; loop and s3 are borrowed. */
struct qo_queue *qo_queue_new(struct loop *l, struct qo_s3 *s3,
    const struct qo_queue_conf *conf);
/* No operation may be under way.  Deletes that wait are forgotten; a program
 * that ends in peace calls qo_queue_flush first. */
void qo_queue_free(struct qo_queue *q);

/* The middle of server time; before the first Date, the local clock. */
struct qo_wall qo_queue_now(const struct qo_queue *q);
/* Its lower bound: a time that has come, by the clock of anybody who knows
 * server time.  What is due at once is due then; the middle, half a second off
 * in a process that has seen one Date, would make others wait. */
struct qo_wall qo_queue_past(const struct qo_queue *q);
/* False before the first Date: no index-first write may be sent. */
bool qo_queue_time_known(const struct qo_queue *q);
/* Runs the loop until the waiting deletes are gone or the store does not
 * answer. */
void qo_queue_flush(struct qo_queue *q);

#endif
