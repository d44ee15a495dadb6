/*
 * wait.h - LIST requests that wait for a new key: x-qo-wait.
 *
 * A ring remembers the keys created lately with their numbers (x-qo-seq), so
 * that a client which asks "since=N" is answered at once when a key under
 * its prefix has come after N, and otherwise waits.  When N is older than
 * the ring remembers, or newer than any number given out, the answer comes
 * at once: the client lists and knows.  A waiter is woken by keys under its
 * prefix only, at its time-out, and when the store drains.
 */
#ifndef WAIT_H
#define WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "loop.h"

#define WAIT_RING    65536     /* keys remembered */
#define WAIT_BYTES   (4 << 20) /* and bytes of them */
#define WAIT_LIMIT   256       /* requests that wait at once */
#define WAIT_SECONDS 300       /* the longest wait; more is cut to this */

struct wait;

/* In the caller's memory; the wait borrows it while it is held. */
struct waiter {
	struct waiter *prev, *next;
	struct wait *wait; /* NULL: not held */
	struct loop_timer timer;
	struct loop_task task;
	int64_t bucket;
	const char *prefix; /* borrowed */
	size_t prefix_len;
	void (*wake)(struct waiter *w);
	void *arg;
};

/* seq: the last number given out before. */
struct wait *wait_new(struct loop *l, int64_t seq);
void wait_free(struct wait *w); /* nobody may be waiting */
/* A key was created and is on disk.  seq must rise. */
void wait_created(struct wait *w, int64_t seq, int64_t bucket, const char *key);
/* The number for x-qo-seq: take it before the list is read. */
int64_t wait_seq(const struct wait *w);

/* "30; since=1234": milliseconds and number; -1 when it is not that. */
int wait_parse(const char *text, int64_t *ms, int64_t *since);

enum wait_rc {
	WAIT_NOW = 0, /* answer now */
	WAIT_HELD,    /* wake is called later, once, from the loop */
	WAIT_FULL     /* too many wait already */
};
/* bucket, prefix, wake and arg of wt are set by the caller. */
enum wait_rc wait_hold(struct wait *w, struct waiter *wt, int64_t since,
    int64_t ms);
void wait_cancel(struct waiter *wt); /* harmless when not held */
/* Wakes all, now and in future. */
void wait_drain(struct wait *w);
size_t wait_count(const struct wait *w);

#endif
