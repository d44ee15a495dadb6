/*
 * scratch.h - a directory of its own for each process of a handler that has
 * no cwd, removed with all that is left there.
 */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stdint.h>
#include <sys/queue.h>

#include "handler_check.h"

struct removal;

struct scratch {
	char *base; /* below TMPDIR, made when first needed; NULL: not yet */
	uint64_t next;
	LIST_HEAD(, removal) removals; /* under way */
	void (*emptied)(void *arg);    /* the last one is over; may be NULL */
	void *arg;
};

void scratch_init(struct scratch *s, void (*emptied)(void *arg), void *arg);
void scratch_fini(struct scratch *s);
/* A fresh directory, mode 0700, that belongs to the account; for
 * scratch_drop.  NULL with *err. */
char *scratch_make(struct scratch *s, const struct handler_account *a,
    struct qo_err *err);
/* Removes it, in the background when it is not empty; frees dir, which may be
 * NULL.  The account is borrowed for the call. */
void scratch_drop(struct scratch *s, const struct handler_account *a,
    char *dir);
static inline bool
scratch_busy(const struct scratch *s)
{
	return !LIST_EMPTY(&s->removals);
}

#endif
