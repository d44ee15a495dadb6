/*
 * supervise.h - keep the processes as they should be.
 *
 * After any event (qod_changed) the loop takes one turn over all children and
 * does what follows from the state as a whole: start what is missing, end
 * what is not wanted, go on with a reload or a stop, say that all are ready.
 */
#ifndef SUPERVISE_H
#define SUPERVISE_H

#include "qod.h"

/* Makes the children that gen asks for and retires what is beyond. */
void supervise_fill(struct qod *q, struct generation *gen);
/* Starts what is down and need not wait. */
void supervise_start(struct qod *q);

#endif
