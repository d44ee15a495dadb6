/*
 * loop.h - one thread, one epoll: descriptors, timers and deferred calls.
 *
 * The structs are embedded in the caller's objects; the loop borrows them
 * between add and del and never frees.  A callback may add and delete
 * anything, itself and others with events pending included.  With nothing
 * due the loop sleeps in epoll_wait without a time-out: an idle process does
 * not wake up.
 */
#ifndef LOOP_H
#define LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "clock.h"

struct loop;

struct loop_io {
	int fd;
	uint32_t events; /* EPOLLIN, EPOLLOUT; 0 when not added */
	void (*cb)(struct loop_io *io, uint32_t events);
	void *arg; /* the caller's */
};

struct loop_timer {
	struct qo_mono due;
	size_t slot; /* place in the heap + 1; 0: not set */
	void (*cb)(struct loop_timer *t);
	void *arg; /* the caller's */
};

/* Called once, before the loop next sleeps. */
struct loop_task {
	struct loop_task *next;
	bool queued;
	void (*cb)(struct loop_task *t);
	void *arg; /* the caller's */
};

struct loop *loop_new(void);    /* fatal when the kernel has no epoll left */
void loop_free(struct loop *l); /* NULL is fine */

/* fd stays the caller's.  -1 with errno (EPERM: a plain file). */
int loop_io_add(struct loop *l, struct loop_io *io, int fd, uint32_t events,
    void (*cb)(struct loop_io *io, uint32_t events), void *arg);
/* Changes what is waited for; no system call when nothing changes.  0 keeps
 * it added but deaf except for errors. */
void loop_io_set(struct loop *l, struct loop_io *io, uint32_t events);
/* Before the descriptor is closed.  Harmless when not added. */
void loop_io_del(struct loop *l, struct loop_io *io);

/* Sets or moves a timer. */
void loop_timer_set(struct loop *l, struct loop_timer *t, struct qo_mono due,
    void (*cb)(struct loop_timer *t), void *arg);
void loop_timer_set_ms(struct loop *l, struct loop_timer *t, int64_t ms,
    void (*cb)(struct loop_timer *t), void *arg);
void loop_timer_del(struct loop *l, struct loop_timer *t);
static inline bool
loop_timer_is_set(const struct loop_timer *t)
{
	return t->slot != 0;
}

void loop_defer(struct loop *l, struct loop_task *t,
    void (*cb)(struct loop_task *t), void *arg);
void loop_defer_del(struct loop *l, struct loop_task *t);

/* Runs what is due, waiting at most max_ms (-1: until something is). */
void loop_once(struct loop *l, int64_t max_ms);
/* Until loop_stop. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);
/* The time at the start of this turn: cheap, good for coarse time-outs. */
struct qo_mono loop_now(const struct loop *l);

#endif
