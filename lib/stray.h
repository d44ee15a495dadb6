/*
 * stray.h - processes that an attempt left behind outside of its group.
 *
 * A handler's descendants who made a session of their own outlive the kill of
 * the group and become children of the worker; when that died as well, of qod.
 * They are known by what they inherited: the QO_LEASE_ID of an attempt, the
 * QO_INSTANCE of a serving process.  When no such one runs any more, they are
 * killed.
 */
#ifndef STRAY_H
#define STRAY_H

#include <stdbool.h>
#include <sys/types.h>

#include "loop.h"

struct stray {
	struct loop *loop;
	/* A child that somebody waits for; it is left alone. */
	bool (*known)(void *arg, pid_t pid);
	/* Does what has that lease, or is that instance, still run?  NULL: its
	 * environment does not tell, or can not be read: may anything run that
	 * it could belong to? */
	bool (*running)(void *arg, const char *owner);
	void *arg;
	struct loop_timer again; /* private, as the next */
	unsigned looks;
};

/* Kills the strays among our children; nobody but us could have reaped those,
 * so their pids are theirs.  One that is just executing another program, or has
 * no environment at all, is looked at again a few times. */
void stray_sweep(struct stray *s);
void stray_fini(struct stray *s); /* harmless when all is 0 */

#endif
