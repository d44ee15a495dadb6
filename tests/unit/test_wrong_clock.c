/*
 * The machine's own clock is wrong by hours, and steps: the queue goes by the
 * store's time and by a clock that does not jump (R6, section 7).
 */
#include <check.h>
#include <stdlib.h>

#include "live_store.h"
#include "repair.h"
#include "rules.h"
#include "run_suite.h"
#include "scenario.h"

#define LEASE_MS 60000
#define HOUR_US  (INT64_C(3600) * QO_US_PER_SEC)
#define NEAR_US  (INT64_C(600) * QO_US_PER_SEC) /* a machine may stand still */

static const int64_t errors_us[] = { -3 * HOUR_US, 3 * HOUR_US };

static struct live_store st;
static int64_t error_us;

struct qo_wall __real_qo_wall_local(void);
struct qo_wall __wrap_qo_wall_local(void);

struct qo_wall
__wrap_qo_wall_local(void)
{
	struct qo_wall t = __real_qo_wall_local();

	t.us += error_us;
	return t;
}

static void
setup(void)
{
	error_us = 0;
	live_store_start(&st);
}

static void
teardown(void)
{
	live_store_stop(&st);
}

/* The store runs on this machine, but beside the lie. */
static bool
is_now(struct qo_wall t, int64_t off_ms)
{
	return llabs(t.us - off_ms * QO_US_PER_MS - __real_qo_wall_local().us) <
	    NEAR_US;
}

static void
check_fence(const struct qo_claim *cl)
{
	int64_t left = qo_mono_diff_us(qo_mono_now(), cl->fence) / QO_US_PER_MS;

	ck_assert_int_lt(left, LEASE_MS - QO_FENCE_MARGIN_MS);
	ck_assert_int_gt(left, LEASE_MS - NEAR_US / QO_US_PER_MS);
}

/* A process that starts with a wrong clock. */
START_TEST(test_starts_wrong)
{
	struct scene sc = { 0 };
	struct loop *l = loop_new();
	struct qo_s3_req first;
	struct qo_s3 *s3;

	error_us = errors_us[_i];
	s3 = live_store_client(&st, l, NULL);
	sc.q = live_store_queue(&st, l, s3);
	/* The first answer, a refusal, brings the time. */
	qo_s3_req_init(&first, QO_S3_BUCKET_HEAD, st.q->bucket, NULL);
	ck_assert_int_eq(qo_s3_wait(s3, &first), QO_S3_OK);
	ck_assert_uint_eq(first.res.attempts, 2);
	qo_s3_req_fini(&first);
	scene_held(&sc);
	ck_assert(is_now(sc.claim.change.task.created_at, 0));
	ck_assert(is_now(sc.claim.change.task.lease_expires_at, LEASE_MS));
	check_fence(&sc.claim);
	rules_check(&st, sc.id, "with a wrong clock");
	scene_fini(&sc);
	qo_queue_free(sc.q);
	qo_s3_free(s3);
	loop_free(l);
}
END_TEST

/* The clock steps while a lease is held. */
START_TEST(test_steps)
{
	struct scene sc = { 0 };
	struct qo_repair r;
	struct qo_entry e;

	sc.q = st.q;
	scene_held(&sc);
	error_us = errors_us[_i];
	check_fence(&sc.claim);
	ck_assert_int_eq(qo_claim_renew_wait(&sc.claim, LEASE_MS), QO_OK);
	check_fence(&sc.claim);
	ck_assert(is_now(sc.claim.change.task.lease_expires_at, LEASE_MS));
	/* Nor does the monitor take it for over. */
	qo_entry_make(&e, QO_INDEX_LEASES,
	    sc.claim.change.task.lease_expires_at, sc.id, 1);
	qo_repair_init(&r, st.q, &e, (struct qo_wall){ 0 }, 0);
	ck_assert_int_eq(qo_repair_wait(&r), QO_OK);
	ck_assert_int_eq(r.did, QO_REPAIR_NOTHING);
	qo_repair_fini(&r);
	rules_check(&st, sc.id, "after a step of the clock");
	scene_fini(&sc);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wrong_clock");
	TCase *tc = tcase_create("wrong_clock");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_starts_wrong, 0, 2);
	tcase_add_loop_test(tc, test_steps, 0, 2);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
