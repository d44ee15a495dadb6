/* cron.h: when an expression is due. */
#include "cron.h"

#define HORIZON_DAYS (50 * 366) /* 29 February on a Sunday: up to 40 years */
#define MARGIN_SEC   (2 * 366 * QO_DAY_SEC)

static bool
day_matches(const struct qo_cron *c, const struct qo_civil *d)
{
	bool day = (c->days & (UINT32_C(1) << d->day)) != 0;
	bool wday = (c->wdays & (UINT32_C(1) << d->wday)) != 0;

	return c->either ? day || wday : day && wday;
}

/* The first minute of a day at or after that one, -1: none. */
static int
next_minute(const struct qo_cron *c, int from)
{
	int hour, minute = from % 60;
	uint64_t left;

	for (hour = from / 60; hour < 24; hour++, minute = 0) {
		left = c->minutes >> minute;
		if ((c->hours & (UINT32_C(1) << hour)) != 0 && left != 0)
			return hour * 60 + minute + __builtin_ctzll(left);
	}
	return -1;
}

/* The first reading of a clock at or after that one that matches. */
static bool
next_reading(const struct qo_cron *c, int64_t local_s, int64_t *out)
{
	struct qo_civil d;
	int64_t day, last;
	int second, minute;

	/* Up to a whole minute. */
	day = qo_civil_split(local_s + 59, &second);
	minute = second / 60;
	last = (QO_CIVIL_END_SEC - MARGIN_SEC) / QO_DAY_SEC;
	if (last > day + HORIZON_DAYS)
		last = day + HORIZON_DAYS;
	while (day <= last) {
		qo_civil_from_days(day, &d);
		if ((c->months & (UINT32_C(1) << d.month)) == 0) {
			day += qo_civil_month_days(d.year, d.month) - d.day + 1;
			minute = 0;
			continue;
		}
		if (day_matches(c, &d) &&
		    (minute = next_minute(c, minute)) != -1) {
			*out = day * QO_DAY_SEC + minute * 60;
			return true;
		}
		day++;
		minute = 0;
	}
	return false;
}

/* The clock as it runs: from one change of it to the next. */
static bool
next_running(const struct qo_cron *c, const struct qo_tz *tz, int64_t unix_s,
    int64_t *out)
{
	int64_t last = unix_s + HORIZON_DAYS * QO_DAY_SEC, local;
	struct qo_tz_period p;

	for (; unix_s <= last; unix_s = p.end) {
		qo_tz_period(tz, unix_s, &p);
		if (!next_reading(c, unix_s + p.offset_s, &local))
			return false;
		if (local - p.offset_s < p.end) {
			*out = local - p.offset_s;
			return true;
		}
	}
	return false;
}

/* A reading is due when it is first reached, so the next one is above all
 * that the clock has shown. */
static bool
next_fixed(const struct qo_cron *c, const struct qo_tz *tz, int64_t unix_s,
    int64_t *out)
{
	int64_t local;

	if (!next_reading(c, qo_tz_high(tz, unix_s - 1) + 1, &local))
		return false;
	*out = qo_tz_reached(tz, local);
	return true;
}

static int64_t
next_multiple(int64_t unit, int64_t unix_s)
{
	int64_t n = unix_s / unit;

	return (unix_s % unit > 0 ? n + 1 : n) * unit;
}

bool
qo_cron_next(const struct qo_cron *c, const struct qo_tz *tz,
    struct qo_wall after, struct qo_wall *due)
{
	int64_t unix_s = after.us / QO_US_PER_SEC, found;

	/* The first whole second behind it. */
	if (after.us % QO_US_PER_SEC >= 0)
		unix_s++;
	if (unix_s < QO_CIVIL_MIN_SEC + MARGIN_SEC ||
	    unix_s > QO_CIVIL_END_SEC - MARGIN_SEC)
		return false;
	if (c->every_s > 0)
		found = next_multiple(c->every_s, unix_s);
	else if (!(c->running ? next_running(c, tz, unix_s, &found)
			      : next_fixed(c, tz, unix_s, &found)))
		return false;
	due->us = found * QO_US_PER_SEC;
	return true;
}

bool
qo_cron_latest(const struct qo_cron *c, const struct qo_tz *tz,
    struct qo_wall after, struct qo_wall until, struct qo_wall *due)
{
	struct qo_wall from = until, t;
	int64_t back = 64 * QO_US_PER_SEC;
	bool found = false;

	/* Further and further back, so that the times in a long stretch of
	 * them are not walked through one by one. */
	while (!found && from.us > after.us) {
		from.us = until.us - after.us > back ? until.us - back
						     : after.us;
		back *= 2;
		for (t = from; qo_cron_next(c, tz, t, &t) && t.us <= until.us;
		     found = true)
			*due = t;
	}
	return found;
}
