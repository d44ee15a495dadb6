/*
 * lifecycle_run.h - carries out the lifecycle rules of all buckets.
 *
 * A pass takes rule after rule in small steps, one database operation at a
 * time, so that requests are hardly held up.  The timer runs only while some
 * bucket has rules: a store without any is never woken.
 */
#ifndef LIFECYCLE_RUN_H
#define LIFECYCLE_RUN_H

#include "db.h"
#include "loop.h"

struct lifecycle_run;

/* interval_ms between the starts of two passes, day_ms is the length of a
 * day (tests make it short).  The first pass is one interval away. */
struct lifecycle_run *lifecycle_run_new(struct loop *l, struct db *db,
    int64_t interval_ms, int64_t day_ms);
/* A bucket has got rules: makes sure that the timer runs. */
void lifecycle_run_wake(struct lifecycle_run *lr);
/* No further step; the one under way is waited for by db_close. */
void lifecycle_run_stop(struct lifecycle_run *lr);
void lifecycle_run_free(struct lifecycle_run *lr); /* after db_close */

#endif
