/*
 * schedules.h - fire what is due by the schedules of the queue.
 *
 * Any number of monitors may do so: lib/schedule_fire.h sees to it that each
 * time that is due becomes one task.  The clock is the store's.  Between two
 * refreshes of the book the process sleeps until the next time is due.
 */
#ifndef SCHEDULES_H
#define SCHEDULES_H

#include "monitor.h"

struct schedules;

/* submit: the defaults of the tasks, borrowed. */
struct schedules *schedules_new(struct monitor *m,
    const struct conf_submit *submit);
void schedules_free(struct schedules *s); /* cancels; NULL is fine */
/* From now on, for ever. */
void schedules_start(struct schedules *s);
/* All that is due now, then done(arg). */
void schedules_once(struct schedules *s, void (*done)(void *arg), void *arg);
/* Begins nothing any more; done(arg) when what was begun is over. */
void schedules_stop(struct schedules *s, void (*done)(void *arg), void *arg);
/*
 * For retention: must this task stay, because a schedule that decided to run
 * it does not know yet that it was submitted?  Somebody would submit it again
 * and find no trace of it.  True also when that is not known.
 */
bool schedules_hold(void *s, const char *task_id); /* as monitor.holds */

#endif
