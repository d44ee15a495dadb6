/*
 * What the master decides, as pure functions: nothing is forked here.
 */
#include <check.h>
#include <stdlib.h>
#include <sysexits.h>

#include "../../qod/rules.h"
#include "run_suite.h"

#define EXITED(n)   ((n) << 8)
#define SIGNALED(n) (n)

static const struct {
	int status;
	bool wanted;
	int64_t uptime_ms, delay_ms;
	enum rules_end end;
	int64_t next_ms;
} deaths[] = {
	/* A crash, a second one, and so on. */
	{ SIGNALED(11), true, 5, 0, RULES_RESTART, 200 },
	{ SIGNALED(11), true, 5, 200, RULES_RESTART, 400 },
	{ EXITED(1), true, 9999, 12800, RULES_RESTART, 25600 },
	{ EXITED(1), true, 5, 25600, RULES_RESTART, 30000 },
	{ EXITED(1), true, 5, 30000, RULES_RESTART, 30000 },
	/* It had run well. */
	{ SIGNALED(9), true, 10000, 30000, RULES_RESTART, 200 },
	/* Nobody had asked it to end: 0 is no better. */
	{ EXITED(0), true, 5, 0, RULES_RESTART, 200 },
	/* No use to try again. */
	{ EXITED(EX_CONFIG), true, 5, 0, RULES_FAILED, 0 },
	{ EXITED(EX_CONFIG), true, 60000, 400, RULES_FAILED, 0 },
	/* As asked, however it ended. */
	{ EXITED(0), false, 5, 0, RULES_GONE, 0 },
	{ EXITED(1), false, 5, 0, RULES_GONE, 0 },
	{ SIGNALED(9), false, 5, 400, RULES_GONE, 0 },
	{ EXITED(EX_CONFIG), false, 5, 0, RULES_GONE, 0 },
};
#define NDEATHS ((int)(sizeof(deaths) / sizeof(deaths[0])))

START_TEST(test_death)
{
	struct rules_death d = { deaths[_i].status, deaths[_i].wanted,
		deaths[_i].uptime_ms, deaths[_i].delay_ms };
	int64_t delay = -1;

	ck_assert_int_eq(rules_after_death(&d, &delay), deaths[_i].end);
	ck_assert_int_eq(delay, deaths[_i].next_ms);
}
END_TEST

START_TEST(test_stuck)
{
	struct rules_beat b = { 0, 0 };
	int i;

	/* It beats: never stuck, however long. */
	for (i = 1; i < 100; i++)
		ck_assert(!rules_stuck(&b, i, 15000, 15000, 60000));
	/* It stops. */
	for (i = 0; i < 3; i++)
		ck_assert(!rules_stuck(&b, 99, 15000, 15000, 60000));
	ck_assert(rules_stuck(&b, 99, 15000, 15000, 60000));
	/* And goes on in the last moment. */
	ck_assert(!rules_stuck(&b, 100, 15000, 15000, 60000));
	ck_assert(!rules_stuck(&b, 100, 15000, 15000, 60000));
}
END_TEST

/* The machine slept for a day: nobody could beat. */
START_TEST(test_suspend)
{
	struct rules_beat b = { 7, 0 };

	ck_assert(!rules_stuck(&b, 7, 86400000, 15000, 60000));
	ck_assert_int_eq(b.still_ms, 15000);
	ck_assert(!rules_stuck(&b, 8, 15000, 15000, 60000));
}
END_TEST

START_TEST(test_look)
{
	ck_assert_int_eq(rules_look_ms(60000), 15000);
	ck_assert_int_eq(rules_look_ms(5000), 1250);
	ck_assert_int_eq(rules_look_ms(1000), 1000);
}
END_TEST

static const struct {
	size_t alive[RULES_STAGES];
	size_t lost;
	bool overdue;
	enum rules_stage who;
} stops[] = {
	{ { 2, 1, 1 }, 0, false, RULES_STAGE_WORK },
	{ { 1, 1, 1 }, 0, true, RULES_STAGE_WORK },
	{ { 0, 1, 1 }, 0, false, RULES_STAGE_REPAIR },
	/* The monitor has something to settle: nobody more ends. */
	{ { 0, 1, 1 }, 3, false, RULES_STAGE_WORK },
	{ { 0, 1, 1 }, 3, true, RULES_STAGE_REPAIR },
	{ { 0, 0, 1 }, 3, false, RULES_STAGE_STORE },
	{ { 0, 0, 1 }, 0, false, RULES_STAGE_STORE },
	{ { 2, 0, 1 }, 0, false, RULES_STAGE_WORK },
	{ { 0, 0, 0 }, 0, false, RULES_STAGES },
};
#define NSTOPS ((int)(sizeof(stops) / sizeof(stops[0])))

START_TEST(test_stop)
{
	ck_assert_int_eq(rules_stop(stops[_i].alive, stops[_i].lost,
			     stops[_i].overdue),
	    stops[_i].who);
}
END_TEST

START_TEST(test_workers)
{
	ck_assert_int_eq(rules_workers(4, 0, 256), 4);
	ck_assert_int_eq(rules_workers(4, 2, 256), 6);
	ck_assert_int_eq(rules_workers(4, -3, 256), 1);
	ck_assert_int_eq(rules_workers(4, -9, 256), 1);
	ck_assert_int_eq(rules_workers(250, 9, 256), 256);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("qod_rules");
	TCase *tc = tcase_create("qod_rules");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_death, 0, NDEATHS);
	tcase_add_test(tc, test_stuck);
	tcase_add_test(tc, test_suspend);
	tcase_add_test(tc, test_look);
	tcase_add_loop_test(tc, test_stop, 0, NSTOPS);
	tcase_add_test(tc, test_workers);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
