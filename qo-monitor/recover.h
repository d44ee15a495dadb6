/*
 * recover.h - the tasks of a process that is known to be dead go back to the
 * queue at once, without waiting for their leases.
 *
 * qod names task, generation and lease of each slot that the process had,
 * after the process and its handlers are gone.  The slot was set before the
 * claim was sent: a claim may still be on its way to the store when the task
 * is looked at.  So a task that is found waiting is looked at again for about
 * a second before the lease is called settled; should the claim come later
 * still, the lease runs out like any other.
 */
#ifndef RECOVER_H
#define RECOVER_H

#include "monitor.h"

struct recover;

/* settled(arg, lease): certain now; qod may forget the slot. */
struct recover *recover_new(struct monitor *m,
    void (*settled)(void *arg, const char *lease), void *arg);
void recover_free(struct recover *r); /* cancels; NULL is fine */
/* lost TASK GENERATION LEASE: rest is what follows the verb.  May be called
 * before the queue is open.  -1: these are not such words. */
int recover_add(struct recover *r, char *rest);
/* The queue is open: m->q is set. */
void recover_start(struct recover *r);
/* Leases that are not settled yet. */
size_t recover_pending(const struct recover *r);
/* idle(arg) is called whenever there are none any more. */
void recover_on_idle(struct recover *r, void (*idle)(void *arg), void *arg);

#endif
