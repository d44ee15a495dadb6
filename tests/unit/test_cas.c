#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cas.h"
#include "run_suite.h"

START_TEST(test_own_writes)
{
	struct qo_cas_ids w = { .n = 0 };
	char first[QO_UUID_SIZE], last[QO_UUID_SIZE];
	size_t i;

	ck_assert(!qo_cas_is_ours(&w, NULL));
	ck_assert(!qo_cas_is_ours(&w, ""));
	snprintf(first, sizeof(first), "%s", qo_cas_next(&w));
	ck_assert(qo_cas_is_ours(&w, first));
	ck_assert(!qo_cas_is_ours(&w, NULL));
	ck_assert(!qo_cas_is_ours(&w, "somebody's"));
	for (i = 1; i < QO_CAS_WRITES; i++) {
		snprintf(last, sizeof(last), "%s", qo_cas_next(&w));
		ck_assert_str_ne(first, last);
		ck_assert(qo_cas_is_ours(&w, last));
	}
	ck_assert(qo_cas_is_ours(&w, first));
	/* One too many: the oldest is forgotten, and no other. */
	qo_cas_next(&w);
	ck_assert(!qo_cas_is_ours(&w, first));
	ck_assert(qo_cas_is_ours(&w, last));
	/* A new change knows none of them. */
	w.n = 0;
	ck_assert(!qo_cas_is_ours(&w, last));
}
END_TEST

START_TEST(test_refusals)
{
	static const bool refused[QO_S3_OUTCOMES] = {
		[QO_S3_DENIED] = true,
		[QO_S3_UNREACHABLE] = true,
		[QO_S3_TOO_LARGE] = true,
		[QO_S3_UNSUPPORTED] = true,
		[QO_S3_WRONG_REGION] = true,
		[QO_S3_REJECTED] = true,
	};
	struct qo_s3_res res;

	memset(&res, 0, sizeof(res));
	res.outcome = (enum qo_s3_outcome)_i;
	ck_assert_int_eq(qo_cas_refused(&res), refused[_i]);
	/* An earlier attempt may have got through. */
	res.maybe_applied = true;
	ck_assert(!qo_cas_refused(&res));
}
END_TEST

START_TEST(test_pauses)
{
	int64_t ms;
	unsigned i;

	for (i = 0; i <= 3; i++)
		ck_assert_int_eq(qo_cas_pause_ms(i), 0);
	for (; i < 1000; i++) {
		ms = qo_cas_pause_ms(i);
		ck_assert_msg(ms >= 5 && ms <= 505, "round %u: %lld ms", i,
		    (long long)ms);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("cas");
	TCase *tc = tcase_create("cas");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, test_own_writes);
	tcase_add_loop_test(tc, test_refusals, 0, QO_S3_OUTCOMES);
	tcase_add_test(tc, test_pauses);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
