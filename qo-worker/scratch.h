/*
 * scratch.h - a directory of its own for each process of a handler that has
 * no cwd, removed with all that is left there.
 *
 * One that was left empty is kept for the next process of the same section:
 * making and removing directories waits for the disk's journal, and with it
 * the event loop.
 */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stdint.h>
#include <sys/queue.h>

#include "handler_check.h"

#define SCRATCH_KEEP 64

struct removal;

struct scratch {
	char *base; /* below TMPDIR, made when first needed; NULL: not yet */
	int lock;   /* held on the base; -1: none */
	uint64_t next;
	LIST_HEAD(, removal) removals; /* under way */
	void (*emptied)(void *arg);    /* the last one is over; may be NULL */
	void *arg;
};

/* Empty directories of one account. */
struct scratch_pool {
	char *dirs[SCRATCH_KEEP];
	size_t n;
};

void scratch_init(struct scratch *s, void (*emptied)(void *arg), void *arg);
void scratch_fini(struct scratch *s); /* after its pools */
void scratch_pool_fini(struct scratch_pool *p);
/* An empty directory, mode 0700, that belongs to the account; for
 * scratch_drop.  NULL with *err. */
char *scratch_make(struct scratch *s, struct scratch_pool *p,
    const struct handler_account *a, struct qo_err *err);
/* Keeps or removes it, in the background when it is not empty; dir, which may
 * be NULL, is moved.  The account is borrowed for the call. */
void scratch_drop(struct scratch *s, struct scratch_pool *p,
    const struct handler_account *a, char *dir);
/* Removes what workers that were killed have left, in the background. */
void scratch_tidy(struct scratch *s);
static inline bool
scratch_busy(const struct scratch *s)
{
	return !LIST_EMPTY(&s->removals);
}

#endif
