/*
 * poll.h - find work: lists of the ready indexes, no more than are needed.
 *
 * A list is asked for when candidates run low and somebody could take them.
 * When there is nothing to do, a store that offers it (x-qo-wait) is asked to
 * answer when there is; another is asked again after poll_min, and less and
 * less often down to poll_max.  An entry of a later minute sets a clock.
 * What to list is for lanes.h, what becomes of what is found for entries.h.
 */
#ifndef POLL_H
#define POLL_H

#include "entries.h"
#include "queue.h"
#include "shards.h"

struct poll;

enum poll_hunger {
	POLL_SATED = 0, /* ask nobody; poll_kick when that changes */
	POLL_HUNGRY,
	POLL_HELPS /* nothing of our own to do: others' too */
};

/* All is borrowed. */
struct poll_conf {
	struct loop *loop;
	struct qo_queue *q;
	struct entries *entries;
	const struct shards *shards;
	size_t low; /* candidates of a priority below which more are wanted */
	int64_t poll_min_ms, poll_max_ms;
	int64_t grace_ms; /* others' entries are left alone for so long */
	enum poll_hunger (*hungry)(void *arg);
	void (*found)(void *arg); /* there are new candidates */
	void *arg;
};

struct poll *poll_new(const struct poll_conf *conf);
void poll_free(struct poll *p); /* NULL is fine */

/* Nothing is asked before poll_start and after poll_stop. */
void poll_start(struct poll *p);
void poll_stop(struct poll *p);
/* More may be wanted now. */
void poll_kick(struct poll *p);
/* The same, and what was found empty before may not be so any more. */
void poll_now(struct poll *p);
/* Does the store hold lists (x-qo-wait)?  Known after the first answer. */
bool poll_is_held(const struct poll *p);

#endif
