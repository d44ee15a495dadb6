#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cron.h"
#include "rfc3339.h"
#include "run_suite.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))
static struct qo_cron
parse(const char *expr)
{
	struct qo_cron c;
	struct qo_err err = { 0 };

	ck_assert_msg(qo_cron_parse(&c, expr, &err) == 0, "%s: %s", expr,
	    err.msg);
	return c;
}

static struct qo_wall
at(const char *text)
{
	struct qo_wall t;

	ck_assert_int_eq(qo_rfc3339_parse(text, strlen(text), &t), 0);
	return t;
}

static struct qo_tz *
zone(const char *name)
{
	struct qo_err err;
	struct qo_tz *tz;

	tz = qo_tz_open(name, &err);
	ck_assert_msg(tz != NULL, "%s", err.msg);
	return tz;
}

/* What comes after what, in which zone. */
static const struct {
	const char *expr, *zone, *after, *due;
} cases[] = {
	{ "* * * * *", "UTC", "2026-01-28T12:00:00Z", "2026-01-28T12:01:00Z" },
	{ "* * * * *", "UTC", "2026-01-28T11:59:59.999999Z",
	    "2026-01-28T12:00:00Z" },
	{ "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z" },
	{ "0 0 29 2 */7", "UTC", "2026-01-01T00:00:00Z",
	    "2032-02-29T00:00:00Z" },
	{ "0 0 29 2 */7", "UTC", "2088-03-01T00:00:00Z",
	    "2128-02-29T00:00:00Z" },
	{ "0 0 13 * fri", "UTC", "2026-02-01T00:00:00Z",
	    "2026-02-06T00:00:00Z" }, /* either */
	{ "0 0 */13 * fri", "UTC", "2026-02-01T00:00:00Z",
	    "2026-02-27T00:00:00Z" }, /* both: the 1st, 14th or 27th */
	{ "0 0 31 * *", "UTC", "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z" },
	{ "0 0 * * 7", "UTC", "2026-01-28T00:00:00Z", "2026-02-01T00:00:00Z" },
	{ "0 0 * * sat-sun", "UTC", "2026-01-31T12:00:00Z",
	    "2026-02-01T00:00:00Z" },
	{ "0 0 * DEC Mon", "UTC", "2026-01-31T12:00:00Z",
	    "2026-12-07T00:00:00Z" },
	{ "5-9/2,50 4 * * *", "UTC", "2026-01-31T04:07:00Z",
	    "2026-01-31T04:09:00Z" },
	{ "@hourly", "UTC", "2026-01-31T12:00:00Z", "2026-01-31T13:00:00Z" },
	{ "@weekly", "UTC", "2026-01-28T12:00:00Z", "2026-02-01T00:00:00Z" },
	{ "@yearly", "Asia/Kolkata", "2026-01-28T12:00:00Z",
	    "2026-12-31T18:30:00Z" },
	{ "@every 90m", "Asia/Kolkata", "1970-01-02T00:00:00Z",
	    "1970-01-02T01:30:00Z" },
	{ "@every 7s", "UTC", "1970-01-01T00:00:07Z", "1970-01-01T00:00:14Z" },
	{ "@every 7s", "UTC", "1970-01-01T00:00:06.5Z",
	    "1970-01-01T00:00:07Z" },
	{ "@every 7s", "UTC", "1969-12-31T23:59:50Z", "1969-12-31T23:59:53Z" },
	/* Berlin puts its clock forward at 2026-03-29T01:00Z */
	{ "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
	    "2026-03-29T01:00:00Z" },
	{ "30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z",
	    "2026-03-30T00:30:00Z" },
	{ "*/10 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z",
	    "2026-03-30T00:00:00Z" }, /* six in the gap were one */
	{ "30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z",
	    "2026-03-29T01:30:00Z" },
	{ "0 */2 * * *", "Europe/Berlin", "2026-03-28T23:00:00Z",
	    "2026-03-29T02:00:00Z" }, /* 02:00 is not shown */
	/* ... and back at 2026-10-25T01:00Z */
	{ "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
	    "2026-10-25T00:30:00Z" },
	{ "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z",
	    "2026-10-26T01:30:00Z" },
	{ "30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z",
	    "2026-10-26T01:30:00Z" }, /* in the second pass: it was shown */
	{ "30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z",
	    "2026-10-25T01:30:00Z" },
	{ "0 3 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z",
	    "2026-10-25T02:00:00Z" },
	/* Half an hour at Lord Howe: 02:00 is 02:30, 2026-10-03T15:30Z */
	{ "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
	    "2026-10-03T15:30:00Z" },
	{ "30 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
	    "2026-10-03T15:30:00Z" },
	/* Samoa had no 30 December 2011 */
	{ "0 12 30 12 *", "Pacific/Apia", "2011-12-29T12:00:00Z",
	    "2011-12-30T10:00:00Z" },
	/* in winter nothing of this is special */
	{ "0 9 * * mon-fri", "America/New_York", "2026-11-13T15:00:00Z",
	    "2026-11-16T14:00:00Z" },
};

START_TEST(test_next)
{
	struct qo_cron c = parse(cases[_i].expr);
	struct qo_tz *tz = zone(cases[_i].zone);
	struct qo_wall due = { 0 };
	char text[QO_RFC3339_SIZE];

	ck_assert(qo_cron_next(&c, tz, at(cases[_i].after), &due));
	qo_rfc3339_print(due, text);
	ck_assert_msg(due.us == at(cases[_i].due).us, "%s after %s: %s",
	    cases[_i].expr, cases[_i].after, text);
	qo_tz_free(tz);
}
END_TEST

START_TEST(test_never)
{
	struct qo_cron c = parse("* * * * *");
	struct qo_tz *tz = zone("UTC");
	struct qo_wall due;

	ck_assert(!qo_cron_next(&c, tz, at("9999-01-01T00:00:00Z"), &due));
	ck_assert(!qo_cron_next(&c, tz, (struct qo_wall){ INT64_MAX }, &due));
	ck_assert(!qo_cron_next(&c, tz, (struct qo_wall){ INT64_MIN }, &due));
	qo_tz_free(tz);
}
END_TEST

START_TEST(test_latest)
{
	struct qo_tz *tz = zone("Europe/Berlin");
	struct qo_wall due, from = at("2020-01-01T00:00:00Z");
	struct qo_cron c = parse("0 4 * 1 *");

	ck_assert(qo_cron_latest(&c, tz, from, at("2026-12-01T00:00:00Z"),
	    &due));
	ck_assert_int_eq(due.us, at("2026-01-31T03:00:00Z").us);
	/* Exactly then counts, and the start does not. */
	ck_assert(qo_cron_latest(&c, tz, from, due, &due));
	ck_assert_int_eq(due.us, at("2026-01-31T03:00:00Z").us);
	ck_assert(!qo_cron_latest(&c, tz, due, at("2026-12-01T00:00:00Z"),
	    &due));
	c = parse("@every 1s");
	ck_assert(qo_cron_latest(&c, tz, from, at("2026-12-01T00:00:00.5Z"),
	    &due));
	ck_assert_int_eq(due.us, at("2026-12-01T00:00:00Z").us);
	qo_tz_free(tz);
}
END_TEST

/* What is refused, and what the message must hold. */
static const struct {
	const char *expr, *says;
} bad[] = {
	{ "", "minute is missing" },
	{ "   ", "minute is missing" },
	{ "* * * *", "day-of-week is missing" },
	{ "* * * * * *", "column 11: more than five" },
	{ "60 * * * *", "minute, column 1: 60 is not in 0 to 59" },
	{ "1,2,77 * * * *", "minute, column 5: 77" },
	{ "* 24 * * *", "hour, column 3: 24" },
	{ "* * 0 * *", "day-of-month, column 5: 0 is not in 1 to 31" },
	{ "* * * 13 *", "month, column 7: 13" },
	{ "* * * * 8", "day-of-week, column 9: 8 is not in 0 to 7" },
	{ "* * * foo *", "month, column 7: foo" },
	{ "* mon * * *", "hour, column 3: mon: a number" },
	{ "* * L * *", "day-of-month, column 5: L: L, W and # are not" },
	{ "* * 15W * *", "day-of-month, column 7: W: L, W and # are not" },
	{ "* * * * 5#3", "day-of-week, column 10: #: L, W and # are not" },
	{ "* * ? * *", "column 5: ? is not supported" },
	{ "5/10 * * * *", "column 2: a step needs a range" },
	{ "*/0 * * * *", "column 3: a step of 0" },
	{ "*/60 * * * *", "column 3: a step of 60" },
	{ "9-5 * * * *", "column 1: 9-5 runs backwards" },
	{ "1, * * * *", "column 3: something is missing" },
	{ "1- * * * *", "column 3: something is missing" },
	{ "*/ * * * *", "column 3: something is missing" },
	{ "1;2 * * * *", "column 2: ; does not belong here" },
	{ "-1 * * * *", "column 1: - does not belong here" },
	{ "\x1b * * * *", "column 1: a byte" },
	{ "0 0 30 2 *", "no such date" },
	{ "0 0 31 2,4,6,9,11 *", "no such date" },
	{ "0 0 30,31 2 */2", "no such date" },
	{ "99999999999 * * * *", "is not in 0 to 59" },
	{ "@reboot", "@reboot: there are @hourly" },
	{ "@Daily", "there are @hourly" },
	{ "@every", "@every: " },
	{ "@every 0s", "@every: " },
	{ "@every 1500ms", "whole seconds" },
	{ "@every 400d", "@every: " },
	{ "@everyday", "there are @hourly" },
};

START_TEST(test_bad)
{
	struct qo_cron c;
	struct qo_err err = { 0 };

	ck_assert_msg(qo_cron_parse(&c, bad[_i].expr, &err) == -1, "%s",
	    bad[_i].expr);
	ck_assert_msg(strstr(err.msg, bad[_i].says) != NULL, "%s: %s",
	    bad[_i].expr, err.msg);
}
END_TEST

START_TEST(test_long)
{
	char expr[QO_CRON_MAX + 2];
	struct qo_cron c;
	struct qo_err err;

	memset(expr, ' ', sizeof(expr));
	memcpy(expr + QO_CRON_MAX - 9, "* * * * *", 9);
	expr[QO_CRON_MAX] = '\0';
	ck_assert_int_eq(qo_cron_parse(&c, expr, &err), 0);
	expr[QO_CRON_MAX] = ' ';
	expr[QO_CRON_MAX + 1] = '\0';
	ck_assert_int_eq(qo_cron_parse(&c, expr, &err), -1);
}
END_TEST

/*
 * Minute by minute: the definition itself, on the clock of the zone.  (What
 * that clock shows is compared with others' work in the integration tests.)
 */
static const char *const counted[] = { "* * * * *", "*/7 * * * *",
	"15 */3 * * *", "30 2 * * *", "0,30 0-4 * * 1-5", "59 1 1,15 * *",
	"0 0 13 * 5", "*/20 1,2,3 * 3,10,4 *" };
static const char *const zones[] = { "UTC", "Europe/Berlin", "America/New_York",
	"Australia/Lord_Howe", "Africa/Casablanca" };

static bool
shown(const struct qo_cron *c, int64_t local_s)
{
	struct qo_civil d;
	bool day, wday;
	int second;

	qo_civil_from_days(qo_civil_split(local_s, &second), &d);
	day = c->days >> d.day & 1;
	wday = c->wdays >> d.wday & 1;
	return second % 60 == 0 && (c->minutes >> (second / 60 % 60) & 1) &&
	    (c->hours >> (second / 3600) & 1) && (c->months >> d.month & 1) &&
	    (c->either ? day || wday : day && wday);
}

static int64_t
local_of(const struct qo_tz *tz, int64_t unix_s)
{
	struct qo_tz_period p;

	qo_tz_period(tz, unix_s, &p);
	return unix_s + p.offset_s;
}

START_TEST(test_count)
{
	struct qo_cron c = parse(counted[(size_t)_i % nitems(counted)]);
	struct qo_tz *tz = zone(zones[(size_t)_i / nitems(counted)]);
	int64_t t = at("2026-01-01T00:00:00Z").us / QO_US_PER_SEC;
	int64_t end = t + 800 * QO_DAY_SEC, high = local_of(tz, t - 60), now;
	struct qo_wall due = { (t - 60) * QO_US_PER_SEC };
	bool hit;

	ck_assert(qo_cron_next(&c, tz, due, &due));
	for (; t < end; t += 60) {
		now = local_of(tz, t);
		hit = c.running && shown(&c, now);
		for (; !c.running && high < now; high += 60)
			hit |= shown(&c, high + 60);
		/* Asked a million times: ck_assert would be slow. */
		if (hit != (due.us == t * QO_US_PER_SEC))
			ck_abort_msg("%s: %lld",
			    counted[(size_t)_i % nitems(counted)],
			    (long long)t);
		if (hit && !qo_cron_next(&c, tz, due, &due))
			ck_abort_msg("no next one");
	}
	qo_tz_free(tz);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("cron");
	TCase *tc = tcase_create("cron");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test_next, 0, nitems(cases));
	tcase_add_test(tc, test_never);
	tcase_add_test(tc, test_latest);
	tcase_add_loop_test(tc, test_bad, 0, nitems(bad));
	tcase_add_test(tc, test_long);
	tcase_add_loop_test(tc, test_count, 0, nitems(counted) * nitems(zones));
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
