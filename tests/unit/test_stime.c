#include <check.h>
#include <stdlib.h>

#include "run_suite.h"
#include "stime.h"

#define SEC  QO_US_PER_SEC
#define DATE (INT64_C(1769601600) * SEC) /* 2026-01-28T12:00:00Z */

static const struct qo_wall guess = { 7 };

/* An answer of the server at date (in s after DATE), sent and received at
 * these microseconds of the monotonic clock. */
static enum qo_stime_verdict
learn(struct qo_stime *st, int64_t m0, int64_t m1, int64_t date)
{
	return qo_stime_learn(st, (struct qo_mono){ m0 },
	    (struct qo_mono){ m1 }, (struct qo_wall){ DATE + date * SEC });
}

static struct qo_stime_now
now(struct qo_stime *st, int64_t m)
{
	struct qo_stime_now n;

	ck_assert_int_eq(qo_stime_now(st, (struct qo_mono){ m }, guess, &n), 0);
	n.lo.us -= DATE;
	n.mid.us -= DATE;
	n.hi.us -= DATE;
	return n;
}

START_TEST(test_unknown_at_first)
{
	struct qo_stime st;
	struct qo_stime_now n;

	qo_stime_init(&st);
	ck_assert(!qo_stime_known(&st));
	ck_assert_int_eq(qo_stime_now(&st, (struct qo_mono){ 1 }, guess, &n),
	    -1);
	ck_assert_int_eq(n.lo.us, guess.us);
	ck_assert_int_eq(n.mid.us, guess.us);
	ck_assert_int_eq(n.hi.us, guess.us);
	ck_assert_int_eq(qo_stime_skew_us(&st, (struct qo_mono){ 1 }, guess),
	    0);
	ck_assert(!qo_stime_corrected_since(&st, (struct qo_mono){ 0 }));
}
END_TEST

START_TEST(test_first_answer)
{
	struct qo_stime st;
	struct qo_stime_now n;

	qo_stime_init(&st);
	ck_assert_int_eq(learn(&st, 5 * SEC, 5 * SEC + 200000, 0),
	    QO_STIME_USED);
	ck_assert(qo_stime_known(&st));
	n = now(&st, 5 * SEC + 200000);
	ck_assert_int_eq(n.lo.us, 0);
	ck_assert_int_eq(n.hi.us, SEC + 200000);
	ck_assert_int_eq(n.mid.us, 600000);
}
END_TEST

/* The interval widens by 200 ppm of its age on each side. */
START_TEST(test_drift)
{
	struct qo_stime st;
	struct qo_stime_now n;

	qo_stime_init(&st);
	learn(&st, 0, 0, 0);
	n = now(&st, 1000 * SEC);
	ck_assert_int_eq(n.lo.us, 1000 * SEC - 200000);
	ck_assert_int_eq(n.hi.us, 1001 * SEC + 200000);
}
END_TEST

/* Answers just before and just after the server's second pin it down. */
START_TEST(test_narrows)
{
	struct qo_stime st;
	struct qo_stime_now n;

	qo_stime_init(&st);
	learn(&st, 0, 10000, 0);
	learn(&st, 100000, 110000, 1);
	n = now(&st, 110000);
	ck_assert_int_eq(n.lo.us, SEC);
	ck_assert_int_ge(n.hi.us, SEC + 100000);
	ck_assert_int_le(n.hi.us, SEC + 110000 + 30);
	/* One that says less changes nothing. */
	learn(&st, 120000, 5 * SEC, 5);
	ck_assert_int_lt(now(&st, 5 * SEC).hi.us - now(&st, 5 * SEC).lo.us,
	    115000);
}
END_TEST

/* Whatever the round trips are, the true time stays inside. */
START_TEST(test_truth_stays_inside)
{
	struct qo_stime st;
	struct qo_stime_now n;
	int64_t m = 0, sent, truth, prev = INT64_MIN;
	unsigned x = 12345 + (unsigned)_i;
	int i;

	qo_stime_init(&st);
	for (i = 0; i < 2000; i++) {
		x = x * 1103515245 + 12345;
		sent = m;
		m += (x >> 8) % 300000;
		truth = 777777 + m + m / 10000; /* 100 ppm fast */
		if (i % 7 != 3)
			ck_assert_int_eq(learn(&st, sent, m + (x >> 4) % 200000,
					     truth / SEC),
			    QO_STIME_USED);
		m += 200000;
		truth = 777777 + m + m / 10000;
		n = now(&st, m);
		ck_assert_int_le(n.lo.us, truth);
		ck_assert_int_ge(n.hi.us, truth);
		ck_assert_int_ge(n.mid.us, prev);
		prev = n.mid.us;
	}
	ck_assert_int_lt(n.hi.us - n.lo.us, SEC);
}
END_TEST

START_TEST(test_small_step_back)
{
	struct qo_stime st;
	struct qo_stime_now a, b;

	qo_stime_init(&st);
	learn(&st, 0, 0, 100);
	a = now(&st, 0);
	/* 5 s less: contradicts, but within reason: both stay possible. */
	ck_assert_int_eq(learn(&st, SEC, SEC, 96), QO_STIME_USED);
	b = now(&st, SEC);
	ck_assert_int_eq(b.lo.us, 96 * SEC);
	ck_assert_int_ge(b.hi.us, 102 * SEC);
	ck_assert_int_ge(b.mid.us, a.mid.us);
	/* The next answer narrows it. */
	learn(&st, 2 * SEC, 2 * SEC, 97);
	b = now(&st, 2 * SEC);
	ck_assert_int_le(b.hi.us, 98 * SEC);
	ck_assert_int_ge(b.mid.us, a.mid.us); /* waits, does not step back */
	ck_assert_uint_eq(st.corrections, 0);
	/* And when time has caught up it is inside again. */
	b = now(&st, 20 * SEC);
	ck_assert_int_ge(b.mid.us, b.lo.us);
	ck_assert_int_le(b.mid.us, b.hi.us);
}
END_TEST

START_TEST(test_outlier_ignored)
{
	struct qo_stime st;
	struct qo_stime_now a, b;

	qo_stime_init(&st);
	learn(&st, 0, 0, 0);
	a = now(&st, 0);
	ck_assert_int_eq(learn(&st, 0, 0, 3600), QO_STIME_IGNORED);
	ck_assert_int_eq(learn(&st, 0, 0, 3600), QO_STIME_IGNORED);
	ck_assert_int_eq(learn(&st, 0, 0, 0), QO_STIME_USED);
	/* The good answer broke the row. */
	ck_assert_int_eq(learn(&st, 0, 0, 3600), QO_STIME_IGNORED);
	ck_assert_int_eq(learn(&st, 0, 0, 3600), QO_STIME_IGNORED);
	b = now(&st, 0);
	ck_assert_int_eq(a.lo.us, b.lo.us);
	ck_assert_int_eq(a.hi.us, b.hi.us);
	/* So did one that agrees with nobody. */
	ck_assert_int_eq(learn(&st, 0, 0, -9000), QO_STIME_IGNORED);
	ck_assert_int_eq(learn(&st, 0, 0, 3600), QO_STIME_IGNORED);
	ck_assert_int_eq(learn(&st, 0, 0, 3600), QO_STIME_IGNORED);
	ck_assert_uint_eq(st.corrections, 0);
}
END_TEST

START_TEST(test_corrected)
{
	struct qo_stime st;
	struct qo_stime_now n;
	int64_t step = _i == 0 ? 3600 : -3600;

	qo_stime_init(&st);
	learn(&st, 0, 0, 0);
	now(&st, 0);
	learn(&st, 10 * SEC, 10 * SEC, step + 10);
	learn(&st, 11 * SEC, 11 * SEC, step + 11);
	ck_assert_int_eq(learn(&st, 12 * SEC, 12 * SEC, step + 12),
	    QO_STIME_CORRECTED);
	ck_assert_uint_eq(st.corrections, 1);
	ck_assert(qo_stime_corrected_since(&st, (struct qo_mono){ 12 * SEC }));
	ck_assert(!qo_stime_corrected_since(&st,
	    (struct qo_mono){ 12 * SEC + 1 }));
	n = now(&st, 12 * SEC);
	ck_assert_int_ge(n.mid.us, (step + 12) * SEC);
	ck_assert_int_le(n.mid.us, (step + 13) * SEC);
}
END_TEST

START_TEST(test_edge_of_outlier)
{
	struct qo_stime st;

	qo_stime_init(&st);
	learn(&st, 0, 0, 0); /* [0, 1 s] */
	ck_assert_int_eq(learn(&st, 0, 0, 31), QO_STIME_USED);
	qo_stime_init(&st);
	learn(&st, 0, 0, 0);
	ck_assert_int_eq(learn(&st, 0, 0, 32), QO_STIME_IGNORED);
}
END_TEST

START_TEST(test_out_of_order)
{
	struct qo_stime st;
	struct qo_stime_now n;

	qo_stime_init(&st);
	learn(&st, 10 * SEC, 10 * SEC, 10);
	/* Asked and answered earlier, handed to us later. */
	ck_assert_int_eq(learn(&st, 4 * SEC, 5 * SEC, 5), QO_STIME_USED);
	n = now(&st, 10 * SEC);
	ck_assert_int_eq(n.lo.us, 10 * SEC);
	ck_assert_int_eq(n.hi.us, 11 * SEC);
	ck_assert_int_eq(learn(&st, 9 * SEC, 8 * SEC, 9), QO_STIME_IGNORED);
}
END_TEST

START_TEST(test_skew)
{
	struct qo_stime st;
	struct qo_mono m = { 0 };

	qo_stime_init(&st);
	learn(&st, 0, 0, 0);
	ck_assert_int_eq(qo_stime_skew_us(&st, m,
			     (struct qo_wall){ DATE + 500000 }),
	    0);
	ck_assert_int_eq(qo_stime_skew_us(&st, m,
			     (struct qo_wall){ DATE + 301 * SEC }),
	    300 * SEC);
	ck_assert_int_eq(qo_stime_skew_us(&st, m,
			     (struct qo_wall){ DATE - 300 * SEC }),
	    -300 * SEC);
}
END_TEST

/* A refused signature proves the time: no waiting for two more. */
START_TEST(test_replace)
{
	struct qo_stime st;
	struct qo_stime_now n;

	qo_stime_init(&st);
	learn(&st, 0, 0, 3600);
	now(&st, SEC);
	qo_stime_replace(&st, (struct qo_mono){ 2 * SEC },
	    (struct qo_mono){ 2 * SEC }, (struct qo_wall){ DATE });
	n = now(&st, 2 * SEC);
	ck_assert_int_eq(n.lo.us, 0);
	ck_assert_int_eq(n.hi.us, SEC);
	ck_assert(qo_stime_corrected_since(&st, (struct qo_mono){ 2 * SEC }));
	ck_assert(!qo_stime_corrected_since(&st, (struct qo_mono){ 3 * SEC }));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("stime");
	TCase *tc = tcase_create("stime");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, test_unknown_at_first);
	tcase_add_test(tc, test_first_answer);
	tcase_add_test(tc, test_drift);
	tcase_add_test(tc, test_narrows);
	tcase_add_loop_test(tc, test_truth_stays_inside, 0, 20);
	tcase_add_test(tc, test_small_step_back);
	tcase_add_test(tc, test_outlier_ignored);
	tcase_add_loop_test(tc, test_corrected, 0, 2);
	tcase_add_test(tc, test_edge_of_outlier);
	tcase_add_test(tc, test_out_of_order);
	tcase_add_test(tc, test_skew);
	tcase_add_test(tc, test_replace);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
