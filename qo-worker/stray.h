/*
 * stray.h - processes that an attempt left behind outside of its group.
 *
 * A handler's descendants who made a session of their own outlive the kill of
 * the group and become children of the worker.  They are known by what they
 * inherited: the QO_LEASE_ID of an attempt, the QO_INSTANCE of a serving
 * process.  When no such one runs any more, they are killed.  One whose
 * environment does not tell, or can not be read, is killed when nothing runs
 * any more that it could belong to.
 */
#ifndef STRAY_H
#define STRAY_H

#include <stdbool.h>

/* Kills the strays among our children; running tells whether an attempt with
 * that lease, or that instance, is there (NULL: any).  Only children that
 * nobody waits for are looked at, and they can not be anybody else: nobody but
 * us could have reaped them.  True: one was just executing another program, or
 * has no environment at all, and should be looked at again soon. */
bool stray_sweep(bool (*running)(void *arg, const char *owner), void *arg);

#endif
