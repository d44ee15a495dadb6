/*
 * bell.h - somebody rings: a cancel or a pause is waiting.
 *
 * Keys under bell/{worker_id}/, put there by `qo cancel` and `qo pause`, are
 * looked at and deleted.  A store that holds lists (x-qo-wait) says when one
 * comes; another is asked while something runs.
 */
#ifndef BELL_H
#define BELL_H

#include "queue.h"

struct bell;

/* All is borrowed. */
struct bell_conf {
	struct loop *loop;
	struct qo_queue *q;
	const char *worker_id;
	int64_t poll_ms;         /* with a store that does not hold lists */
	bool (*busy)(void *arg); /* does something run? */
	void (*rang)(const char *id, void *arg); /* of a task, or any other */
	void *arg;
};

struct bell *bell_new(const struct bell_conf *conf);
void bell_free(struct bell *b); /* NULL is fine */
void bell_start(struct bell *b);
void bell_stop(struct bell *b);
/* Something runs now. */
void bell_kick(struct bell *b);

#endif
