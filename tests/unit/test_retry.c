#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "retry.h"
#include "run_suite.h"

static struct qo_retry_policy
policy(enum qo_retry_kind kind, double jitter)
{
	struct qo_retry_policy p;

	qo_retry_defaults(&p);
	p.kind = kind;
	p.jitter_percent = jitter;
	return p;
}

START_TEST(test_defaults)
{
	struct qo_retry_policy p;

	qo_retry_defaults(&p);
	ck_assert_int_eq(p.kind, QO_RETRY_EXPONENTIAL);
	ck_assert_int_eq(p.initial_interval_ms, 1000);
	ck_assert_int_eq(p.max_interval_ms, 60000);
	ck_assert(p.multiplier == 2.0);
	ck_assert(p.jitter_percent == 0.25);
	ck_assert_int_eq(qo_retry_check(&p, NULL), 0);
}
END_TEST

START_TEST(test_kinds)
{
	static const int64_t exponential[] = { 1000, 2000, 4000, 8000, 16000,
		32000, 60000, 60000 };
	struct qo_retry_policy e = policy(QO_RETRY_EXPONENTIAL, 0);
	struct qo_retry_policy l = policy(QO_RETRY_LINEAR, 0);
	struct qo_retry_policy c = policy(QO_RETRY_CONSTANT, 0);
	int64_t n;

	for (n = 1; n <= 8; n++) {
		ck_assert_int_eq(qo_retry_backoff_ms(&e, n, 0.9),
		    exponential[n - 1]);
		ck_assert_int_eq(qo_retry_backoff_ms(&l, n, 0.9), 1000 * n);
		ck_assert_int_eq(qo_retry_backoff_ms(&c, n, 0.9), 1000);
	}
	ck_assert_int_eq(qo_retry_backoff_ms(&l, 61, 0), 60000);
}
END_TEST

START_TEST(test_jitter)
{
	struct qo_retry_policy p = policy(QO_RETRY_EXPONENTIAL, 0.25);

	ck_assert_int_eq(qo_retry_backoff_ms(&p, 3, 0.0), 3000);
	ck_assert_int_eq(qo_retry_backoff_ms(&p, 3, 0.5), 4000);
	ck_assert_int_eq(qo_retry_backoff_ms(&p, 3, 0.999999), 5000);
	/* The cap is on the interval, the factor comes after. */
	ck_assert_int_eq(qo_retry_backoff_ms(&p, 9, 0.0), 45000);
	p.jitter_percent = 1.0;
	ck_assert_int_eq(qo_retry_backoff_ms(&p, 1, 0.0), 0);
}
END_TEST

START_TEST(test_any_n)
{
	static const int64_t ns[] = { INT64_MIN, -1, 0, 1, 1000, INT64_MAX - 1,
		INT64_MAX };
	struct qo_retry_policy p;
	size_t i;
	int kind;
	int64_t v;

	for (kind = 0; kind <= QO_RETRY_CONSTANT; kind++) {
		p = policy((enum qo_retry_kind)kind, 1.0);
		p.max_interval_ms = QO_RETRY_INTERVAL_MAX_MS;
		p.multiplier = QO_RETRY_MULTIPLIER_MAX;
		for (i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
			v = qo_retry_backoff_ms(&p, ns[i], 0.999);
			ck_assert_int_ge(v, 1000);
			ck_assert_int_le(v, 2 * QO_RETRY_INTERVAL_MAX_MS);
		}
	}
	/* These two must not loop n times. */
	p = policy(QO_RETRY_EXPONENTIAL, 0);
	p.multiplier = 1.0;
	ck_assert_int_eq(qo_retry_backoff_ms(&p, INT64_MAX, 0), 1000);
	p.multiplier = 2.0;
	p.initial_interval_ms = 0;
	ck_assert_int_eq(qo_retry_backoff_ms(&p, INT64_MAX, 0), 0);
}
END_TEST

/* The smallest multiplier above 1 still ends soon. */
START_TEST(test_slow_multiplier)
{
	struct qo_retry_policy p = policy(QO_RETRY_EXPONENTIAL, 0);

	p.multiplier = 1.0 + 0x1p-52;
	ck_assert_int_eq(qo_retry_backoff_ms(&p, INT64_MAX, 0), 60000);
}
END_TEST

START_TEST(test_check)
{
	struct qo_retry_policy p;
	struct qo_err err;

#define REFUSED(member, value)                                   \
	do {                                                     \
		qo_retry_defaults(&p);                           \
		p.member = value;                                \
		ck_assert_int_eq(qo_retry_check(&p, &err), -1);  \
		ck_assert_ptr_nonnull(strstr(err.msg, #member)); \
	} while (0)

	REFUSED(initial_interval_ms, -1);
	REFUSED(initial_interval_ms, QO_RETRY_INTERVAL_MAX_MS + 1);
	REFUSED(max_interval_ms, 999);
	REFUSED(max_interval_ms, INT64_MAX);
	REFUSED(multiplier, 0.5);
	REFUSED(multiplier, 1000.5);
	REFUSED(multiplier, (double)NAN);
	REFUSED(multiplier, (double)INFINITY);
	REFUSED(jitter_percent, -0.1);
	REFUSED(jitter_percent, 1.1);
	REFUSED(jitter_percent, (double)NAN);
}
END_TEST

START_TEST(test_kind_names)
{
	enum qo_retry_kind k;
	int i;

	for (i = 0; i <= QO_RETRY_CONSTANT; i++) {
		ck_assert_int_eq(qo_retry_kind_parse(
				     qo_retry_kind_name((enum qo_retry_kind)i),
				     &k),
		    0);
		ck_assert_int_eq(k, i);
	}
	ck_assert_int_eq(qo_retry_kind_parse("Linear", &k), -1);
	ck_assert_int_eq(qo_retry_kind_parse("", &k), -1);
}
END_TEST

START_TEST(test_full_jitter)
{
	ck_assert_int_eq(qo_retry_full_jitter_ms(100, 5000, 0, 0.5), 50);
	ck_assert_int_eq(qo_retry_full_jitter_ms(100, 5000, 1, 0.5), 100);
	ck_assert_int_eq(qo_retry_full_jitter_ms(100, 5000, 5, 0.5), 1600);
	ck_assert_int_eq(qo_retry_full_jitter_ms(100, 5000, 6, 0.5), 2500);
	ck_assert_int_eq(qo_retry_full_jitter_ms(100, 5000, 6, 0.0), 0);
	ck_assert_int_eq(qo_retry_full_jitter_ms(100, 5000, INT64_MAX, 0.5),
	    2500);
}
END_TEST

START_TEST(test_random)
{
	double u, lo = 1, hi = 0;
	int i;

	for (i = 0; i < 10000; i++) {
		u = qo_retry_random();
		ck_assert(u >= 0.0 && u < 1.0);
		lo = u < lo ? u : lo;
		hi = u > hi ? u : hi;
	}
	ck_assert(lo < 0.1 && hi > 0.9);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("retry");
	TCase *tc = tcase_create("retry");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, test_defaults);
	tcase_add_test(tc, test_kinds);
	tcase_add_test(tc, test_jitter);
	tcase_add_test(tc, test_any_n);
	tcase_add_test(tc, test_slow_multiplier);
	tcase_add_test(tc, test_check);
	tcase_add_test(tc, test_kind_names);
	tcase_add_test(tc, test_full_jitter);
	tcase_add_test(tc, test_random);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
