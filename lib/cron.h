/*
 * cron.h - cron expressions: what they say, and when that is next.
 *
 * Five fields, minute hour day-of-month month day-of-week, each a list of
 * `*', numbers, names (jan, mon) and ranges, with steps; 7 is Sunday too.
 * When both kinds of days are restricted (have no `*'), a day that is in
 * either of them counts; else it must be in both.  @hourly, @daily
 * (@midnight), @weekly, @monthly and @yearly (@annually) stand for the usual
 * five fields.  @every 15m is every multiple of that since 1970, in no zone.
 *
 * When clocks change: an expression whose hours are all 24 or have a `*'
 * follows the clock as it runs, and is due whenever the clock shows a time
 * that matches: not in a gap, and in both passes of an overlap.  Any other
 * names times of the day, and each of these is due once, when the clock
 * first reaches or passes it: in a gap at the gap's end (several of them are
 * then due as one), in an overlap in the first pass.
 *
 * Pure.
 */
#ifndef QO_CRON_H
#define QO_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "err.h"
#include "tz.h"

#define QO_CRON_MAX 256 /* bytes of an expression */

struct qo_cron {
	uint64_t minutes; /* bit n: minute n */
	uint32_t hours;
	uint32_t days;   /* from bit 1 */
	uint32_t months; /* from bit 1 */
	uint32_t wdays;  /* bit 0: Sunday */
	bool either;     /* days or wdays, not both */
	bool running;    /* follows the clock as it runs */
	int64_t every_s; /* @every; 0: the rest counts */
};

/* -1 with *err naming the field and the column, or saying that there is no
 * such date. */
int qo_cron_parse(struct qo_cron *c, const char *expr, struct qo_err *err);
/* The first time after that one.  False: there is none in 50 years. */
bool qo_cron_next(const struct qo_cron *c, const struct qo_tz *tz,
    struct qo_wall after, struct qo_wall *due);
/* The last time after that one and not after until; false: none. */
bool qo_cron_latest(const struct qo_cron *c, const struct qo_tz *tz,
    struct qo_wall after, struct qo_wall until, struct qo_wall *due);

#endif
