/*
 * passes.h - the passes over the indexes and when they are due.
 *
 * leases/ in whole at every check_interval: that is what liveness needs.
 * The ready indexes every third time and failed/ every twelfth, each with a
 * bounded share of a long list: orphans, tasks that expired with nobody
 * claiming them, and the counts for the metrics.  None waits for another.
 */
#ifndef PASSES_H
#define PASSES_H

#include "pass.h"

struct passes;

struct passes *passes_new(struct monitor *m);
void passes_free(struct passes *ps); /* cancels; NULL is fine */
/* From now on, for ever. */
void passes_start(struct passes *ps);
/* One whole round of each, then done(arg). */
void passes_once(struct passes *ps, void (*done)(void *arg), void *arg);
/* Begins nothing any more; done(arg) when what was begun is over. */
void passes_stop(struct passes *ps, void (*done)(void *arg), void *arg);

#endif
