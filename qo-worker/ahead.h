/*
 * ahead.h - claim ahead for handlers in serve mode that are quick.
 *
 * A claim is three requests; a quick handler answers in less time than one
 * of them takes.  If a process of the handler were reserved before the claim,
 * it would wait for the store nearly all the time.  So for a handler whose
 * runs are short tasks are claimed ahead, as many as its processes work off
 * within a fifth of a second, and wait here, held, for the next process that
 * is free.  A handler that is not known yet, or slow, claims no more than it
 * can run.
 */
#ifndef AHEAD_H
#define AHEAD_H

#include <sys/queue.h>

#include "run.h"

struct ahead;

/* Embedded in what waits. */
struct ahead_wait {
	TAILQ_ENTRY(ahead_wait) link;
	bool queued;
	void *arg;
};

/* All is borrowed.  go: an instance of the handler has been reserved for it,
 * and it waits no more. */
struct ahead *ahead_new(struct handlers *h, const struct conf *conf,
    void (*go)(struct ahead_wait *w));
void ahead_free(struct ahead *a); /* NULL is fine */

/* Is this one quick?  Then claims are counted here and reserve nothing. */
bool ahead_quick(const struct ahead *a, const struct conf_handler *h);
/* One more claim for it: false when there are enough. */
bool ahead_begin(struct ahead *a, const struct conf_handler *h);
/* What was begun is over, whether it ran or not. */
void ahead_end(struct ahead *a, const struct conf_handler *h);
/* Waits for a process; go may be called at once, from inside. */
void ahead_wait(struct ahead *a, const struct conf_handler *h,
    struct ahead_wait *w);
void ahead_leave(struct ahead *a, const struct conf_handler *h,
    struct ahead_wait *w); /* harmless when it does not wait */
/* A process is free: those who wait go. */
void ahead_freed(struct ahead *a, const struct conf_handler *h);
/* A run, or a wait that was given up, took so long. */
void ahead_took(struct ahead *a, const struct conf_handler *h, int64_t ms);

#endif
