/*
 * datalock.h - one store for one data directory.
 *
 * The lock is the kernel's, on DIR/lock: nothing stale can remain.  The text
 * in the file says whose it is: its process id, "child" and the process id of
 * its qod if it has one, and "orphan" once it knows that this one is gone and
 * it will end by itself.
 */
#ifndef DATALOCK_H
#define DATALOCK_H

#include <stdbool.h>

#include "err.h"

struct datalock_holder {
	long pid;    /* 0: not known */
	bool orphan; /* ends by itself */
};

/* The descriptor, which holds the lock until it is closed; -1 with *err.  dir
 * is what dir_fd is called. */
int datalock_take(int dir_fd, const char *dir, struct qo_err *err);
/* Says that this holder ends by itself when its parent is gone.  -1 with
 * errno. */
int datalock_set_child(int fd);
/* Says that it does so now.  -1 with errno. */
int datalock_set_orphan(int fd);
/* Somebody has the lock: fills *who.  False also when that can not be told. */
bool datalock_is_held(const char *dir, struct datalock_holder *who);

#endif
