/*
 * stray.h - processes that an attempt left behind outside of its group.
 *
 * A handler's descendants who made a session of their own outlive the kill of
 * the group and become children of the worker.  They are known by the
 * QO_LEASE_ID that they inherited: when no attempt with that lease runs any
 * more, they are killed.  One who removed it from its environment is left
 * alone, and reaped when it ends.
 */
#ifndef STRAY_H
#define STRAY_H

#include <stdbool.h>

/* Kills the strays among our children; running tells whether an attempt with
 * that lease is under way.  Only children that nobody waits for are looked
 * at, and they can not be anybody else: nobody but us could have reaped
 * them.  True: one was just executing another program, or has no environment
 * at all, and should be looked at again soon. */
bool stray_sweep(bool (*running)(void *arg, const char *lease), void *arg);

#endif
