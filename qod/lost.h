/*
 * lost.h - the tasks of a process that died.
 *
 * Its slots are copied from the board, the process groups of its handlers
 * are killed, and only then is a monitor told.  An entry is kept until a
 * monitor has answered: one that dies before leaves it to the next.
 */
#ifndef LOST_H
#define LOST_H

#include "qod.h"

/* The process of c is gone, its area still there. */
void lost_collect(struct qod *q, const struct child *c);
void lost_add(struct qod *q, const char *task, int64_t generation,
    const char *lease);
/* Tells a monitor, when there is one, what it was not told yet. */
void lost_send(struct qod *q);
void lost_settled(struct qod *q, const char *lease);
void lost_monitor_gone(struct qod *q, pid_t pid);
void lost_clear(struct qod *q);

#endif
