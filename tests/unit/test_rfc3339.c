#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rfc3339.h"
#include "run_suite.h"

/* One text, what it means, and how it is printed back. */
static const struct {
	const char *text;
	int64_t us;
	const char *printed;
} good[] = {
	{ "1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000000Z" },
	{ "2026-01-28T12:00:00Z", 1769601600000000,
	    "2026-01-28T12:00:00.000000Z" },
	{ "2026-01-28T12:00:00+00:00", 1769601600000000,
	    "2026-01-28T12:00:00.000000Z" },
	{ "2026-01-28T12:00:00.5Z", 1769601600500000,
	    "2026-01-28T12:00:00.500000Z" },
	{ "2026-01-28T12:00:00.123456789+00:00", 1769601600123456,
	    "2026-01-28T12:00:00.123456Z" },
	{ "2000-02-29T23:59:59.999999Z", 951868799999999,
	    "2000-02-29T23:59:59.999999Z" },
	{ "1969-12-31T23:59:59.999999Z", -1, "1969-12-31T23:59:59.999999Z" },
	{ "0001-01-01T00:00:00Z", -62135596800000000,
	    "0001-01-01T00:00:00.000000Z" },
	{ "9999-12-31T23:59:59.999999999Z", 253402300799999999,
	    "9999-12-31T23:59:59.999999Z" },
	{ "2016-12-31T23:59:60Z", 1483228800000000,
	    "2017-01-01T00:00:00.000000Z" },
	{ "2016-12-31T23:59:60.25Z", 1483228800250000,
	    "2017-01-01T00:00:00.250000Z" },
};

static const char *const bad[] = {
	"",
	"2026-01-28",
	"2026-01-28T12:00:00",
	"2026-01-28T12:00:00.Z",
	"2026-01-28T12:00:00.1234567890Z",
	"2026-01-28T12:00:00z",
	"2026-01-28t12:00:00Z",
	"2026-01-28 12:00:00Z",
	"2026-01-28T12:00:00-00:00",
	"2026-01-28T12:00:00+01:00",
	"2026-01-28T12:00:00+0000",
	"2026-01-28T12:00:00ZZ",
	"2026-01-28T12:00:00Z ",
	" 2026-01-28T12:00:00Z",
	"2026-00-28T12:00:00Z",
	"2026-13-28T12:00:00Z",
	"2026-01-00T12:00:00Z",
	"2026-01-32T12:00:00Z",
	"2026-04-31T12:00:00Z",
	"2026-02-29T12:00:00Z",
	"1900-02-29T12:00:00Z",
	"0000-01-01T00:00:00Z",
	"2026-01-28T24:00:00Z",
	"2026-01-28T12:60:00Z",
	"2026-01-28T12:00:60Z",
	"2026-01-28T23:59:61Z",
	"9999-12-31T23:59:60Z",
	"-026-01-28T12:00:00Z",
	"+026-01-28T12:00:00Z",
	"2026-1-028T12:00:00Z",
	"2026-01-28T12:00:0:Z",
	"2026-01-28T12:00:00,5Z",
	"2026-01-28T12:00:00.+5Z",
};

START_TEST(test_good)
{
	char out[QO_RFC3339_SIZE];
	struct qo_wall t = { 42 };

	ck_assert_int_eq(qo_rfc3339_parse(good[_i].text, strlen(good[_i].text),
			     &t),
	    0);
	ck_assert_int_eq(t.us, good[_i].us);
	qo_rfc3339_print(t, out);
	ck_assert_str_eq(out, good[_i].printed);
}
END_TEST

START_TEST(test_bad)
{
	struct qo_wall t = { 42 };

	ck_assert_msg(qo_rfc3339_parse(bad[_i], strlen(bad[_i]), &t) == -1,
	    "%s", bad[_i]);
	ck_assert_int_eq(t.us, 42);
}
END_TEST

/* The length counts, not a NUL: the text may sit inside a larger one. */
START_TEST(test_length_counts)
{
	struct qo_wall t;
	const char *s = "2026-01-28T12:00:00Z,more";
	size_t i;

	ck_assert_int_eq(qo_rfc3339_parse(s, 20, &t), 0);
	for (i = 0; i <= strlen(s); i++)
		if (i != 20)
			ck_assert_int_eq(qo_rfc3339_parse(s, i, &t), -1);
}
END_TEST

START_TEST(test_out_of_range_prints_nearest)
{
	char out[QO_RFC3339_SIZE];

	qo_rfc3339_print((struct qo_wall){ INT64_MAX }, out);
	ck_assert_str_eq(out, "9999-12-31T23:59:59.999999Z");
	qo_rfc3339_print((struct qo_wall){ INT64_MIN }, out);
	ck_assert_str_eq(out, "0001-01-01T00:00:00.000000Z");
}
END_TEST

/* A moment of every week of 9999 years against libc's gmtime_r. */
START_TEST(test_agrees_with_libc)
{
	char out[QO_RFC3339_SIZE], http[QO_HTTPDATE_SIZE], want[64];
	struct qo_wall t, back;
	struct tm tm;
	time_t sec;

	for (sec = -62135596800; sec < 253402300800; sec += 86400 * 7 + 3607) {
		t.us = (int64_t)sec * QO_US_PER_SEC + 123456;
		gmtime_r(&sec, &tm);
		snprintf(want, sizeof(want),
		    "%04d-%02d-%02dT%02d:%02d:%02d.123456Z", tm.tm_year + 1900,
		    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
		    tm.tm_sec);
		qo_rfc3339_print(t, out);
		if (strcmp(out, want) != 0)
			ck_abort_msg("%s, not %s", out, want);
		if (qo_rfc3339_parse(out, strlen(out), &back) == -1 ||
		    back.us != t.us)
			ck_abort_msg("%s does not parse back", out);
		qo_httpdate_print(t, http);
		if (qo_httpdate_parse(http, strlen(http), &back) == -1 ||
		    back.us != t.us - 123456 ||
		    strncmp(http, &"SunMonTueWedThuFriSat"[tm.tm_wday * 3],
			3) != 0)
			ck_abort_msg("%s is not %s", http, want);
	}
}
END_TEST

START_TEST(test_texts_sort)
{
	char a[QO_RFC3339_SIZE], b[QO_RFC3339_SIZE];

	qo_rfc3339_print((struct qo_wall){ 1769601600000000 }, a);
	qo_rfc3339_print((struct qo_wall){ 1769601600500000 }, b);
	ck_assert_int_lt(strcmp(a, b), 0);
}
END_TEST

START_TEST(test_httpdate)
{
	static const char *const wrong[] = {
		"Mon, 06 Nov 1994 08:49:37 GMT", /* was a Sunday */
		"Sun, 6 Nov 1994 08:49:37 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT",
		"Sun Nov  6 08:49:37 1994",
		"Sun, 06 Nov 1994 08:49:37 UTC",
		"Sun, 06 nov 1994 08:49:37 GMT",
		"Sun, 31 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 0000 08:49:37 GMT",
		"Xyz, 06 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 1994 08:49:37 GM",
		"Sun, 06 Nov 1994 08:4x:37 GMT",
		"",
	};
	const char *s = "Sun, 06 Nov 1994 08:49:37 GMT";
	char out[QO_HTTPDATE_SIZE];
	struct qo_wall t = { 0 };
	size_t i;

	ck_assert_int_eq(qo_httpdate_parse(s, strlen(s), &t), 0);
	ck_assert_int_eq(t.us, INT64_C(784111777000000));
	t.us += 999999;
	qo_httpdate_print(t, out);
	ck_assert_str_eq(out, s);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(qo_httpdate_parse(wrong[i], strlen(wrong[i]),
				  &t) == -1,
		    "%s", wrong[i]);
	s = "Sat, 31 Dec 2016 23:59:60 GMT";
	ck_assert_int_eq(qo_httpdate_parse(s, strlen(s), &t), 0);
	ck_assert_int_eq(t.us, INT64_C(1483228800000000));
}
END_TEST

START_TEST(test_amzdate)
{
	static const char *const wrong[] = {
		"20130524T000000",
		"20130524t000000Z",
		"20130524T000000z",
		"20130524 000000Z",
		"20130532T000000Z",
		"2013052xT000000Z",
		"20130524T000000Z0",
		"20130524T240000Z",
	};
	const char *s = "20130524T000000Z";
	char out[QO_AMZDATE_SIZE];
	struct qo_wall t = { 0 };
	size_t i;

	ck_assert_int_eq(qo_amzdate_parse(s, strlen(s), &t), 0);
	ck_assert_int_eq(t.us, INT64_C(1369353600000000));
	t.us += 999999;
	qo_amzdate_print(t, out);
	ck_assert_str_eq(out, s);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(qo_amzdate_parse(wrong[i], strlen(wrong[i]),
				  &t) == -1,
		    "%s", wrong[i]);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("rfc3339");
	TCase *tc = tcase_create("rfc3339");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_good, 0,
	    (int)(sizeof(good) / sizeof(good[0])));
	tcase_add_loop_test(tc, test_bad, 0,
	    (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(tc, test_length_counts);
	tcase_add_test(tc, test_out_of_range_prints_nearest);
	tcase_add_test(tc, test_agrees_with_libc);
	tcase_add_test(tc, test_texts_sort);
	tcase_add_test(tc, test_httpdate);
	tcase_add_test(tc, test_amzdate);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
