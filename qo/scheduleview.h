/*
 * scheduleview.h - what the commands on schedules share: times in the zone of
 * a schedule, and how they are shown.
 */
#ifndef SCHEDULEVIEW_H
#define SCHEDULEVIEW_H

#include "cmd.h"
#include "schedule.h"

#define SCHEDULEVIEW_TIME_SIZE 40

/* EXIT_USAGE, with its line, unless arg can be the id of a schedule. */
enum exit_code scheduleview_check_id(const char *arg);
/* Tue 2026-11-17 02:30:00 +01:00, or "-"; tz NULL: UTC. */
const char *scheduleview_time(const struct qo_tz *tz, struct qo_wall t,
    char out[SCHEDULEVIEW_TIME_SIZE]);
/* The next five times, a line each, or why there are none. */
void scheduleview_next(const struct qo_schedule *s, struct qo_wall now);
/* All members for people, and the next five times. */
void scheduleview_show(const struct qo_schedule *s, struct qo_wall now);
/* The record as it is stored, as one document. */
enum exit_code scheduleview_json(const struct qo_schedule *s);

#endif
