/*
 * A walk that takes longer than a minute does not trust its index entry any
 * more (R3): it starts again with a new one, and a create that was applied
 * late gets a fresh entry before it is reported.  The clock of this process
 * jumps while the store has the request.
 */
#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "faultproxy.h"
#include "live_store.h"
#include "rules.h"
#include "run_suite.h"
#include "scenario.h"

#define nitems(a)   (sizeof(a) / sizeof((a)[0]))
#define OVER_MINUTE (INT64_C(61) * QO_US_PER_SEC)

static struct live_store st;
static struct faultproxy *proxy;
static atomic_llong ahead_us;

struct qo_mono __real_qo_mono_now(void);
struct qo_mono __wrap_qo_mono_now(void);

struct qo_mono
__wrap_qo_mono_now(void)
{
	struct qo_mono t = __real_qo_mono_now();

	t.us += atomic_load(&ahead_us);
	return t;
}

static void
jump(void *arg)
{
	(void)arg;
	atomic_fetch_add(&ahead_us, OVER_MINUTE);
}

static void
setup(void)
{
	live_store_start(&st);
	proxy = faultproxy_start(st.url, 0, NULL);
	ck_assert_ptr_nonnull(proxy);
	faultproxy_hook(proxy, jump, NULL);
}

static void
teardown(void)
{
	faultproxy_stop(proxy);
	live_store_stop(&st);
}

/* Not applied: a new entry, a new write.  Applied and its answer lost: found,
 * and for a create a fresh entry all the same. */
static const struct {
	const char *scenario;
	const char *fault;
	enum qo_index index;
	size_t entries; /* at least */
} walks[] = {
	{ "submit", "refuse PUT cond count=1 status=500 hook", QO_INDEX_READY,
	    2 },
	{ "submit with a key", "refuse PUT cond count=1 status=500 hook",
	    QO_INDEX_READY, 2 },
	{ "submit", "drop PUT cond count=1 hook", QO_INDEX_READY, 2 },
	{ "submit with a key", "drop PUT cond count=1 hook", QO_INDEX_READY,
	    2 },
	{ "claim", "refuse PUT cond count=1 status=500 hook", QO_INDEX_LEASES,
	    2 },
	{ "claim", "drop PUT cond count=1 hook", QO_INDEX_LEASES, 1 },
	{ "retry", "refuse PUT cond count=1 status=500 hook", QO_INDEX_READY,
	    2 },
	{ "fail", "refuse PUT cond count=1 status=500 hook", QO_INDEX_FAILED,
	    2 },
};

START_TEST(test_over_a_minute)
{
	const struct scenario *s = scenarios;
	struct scene sc = { 0 };
	struct rules_view v;
	struct qo_s3 *s3;

	while (strcmp(s->name, walks[_i].scenario) != 0)
		s++;
	s3 = live_store_client(&st, st.loop, faultproxy_url(proxy));
	sc.q = live_store_queue(&st, st.loop, s3);
	if (s->prepare != NULL)
		s->prepare(&sc);
	ck_assert_int_eq(faultproxy_rule(proxy, walks[_i].fault), 0);
	scenario_run(s, &sc);
	ck_assert_uint_eq(faultproxy_hits(proxy), 1);
	ck_assert_int_eq(sc.rc, QO_OK);
	rules_check(&st, sc.id, s->name);
	rules_look(&st, sc.id, &v);
	ck_assert_uint_ge(rules_count(&v, walks[_i].index), walks[_i].entries);
	rules_view_fini(&v);
	scene_fini(&sc);
	qo_queue_free(sc.q);
	qo_s3_free(s3);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("slow_walk");
	TCase *tc = tcase_create("slow_walk");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_over_a_minute, 0, (int)nitems(walks));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
