/* The record of a schedule, and what is decided from it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "rfc3339.h"
#include "run_suite.h"
#include "schedule.h"
#include "schedule_change.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static struct qo_wall
at(const char *text)
{
	struct qo_wall t;

	if (text == NULL)
		return QO_WALL_NONE;
	ck_assert_msg(qo_rfc3339_parse(text, strlen(text), &t) == 0, "%s",
	    text);
	return t;
}

/* The text */

static const char full[] =
    "{\"id\":\"nightly\",\"cron\":\"30 2 * * *\","
    "\"timezone\":\"Europe/Berlin\",\"task_type\":\"report.build\","
    "\"input\":{\"n\":1e400},\"options\":{\"timeout\":\"30s\",\"retries\":2},"
    "\"catch_up\":\"last\",\"overlap\":\"skip\",\"paused\":false,"
    "\"last_due\":\"2026-03-29T01:00:00.000000Z\","
    "\"last_decision\":\"run\","
    "\"last_task_id\":\"aaaaaaaa-aaaa-8aaa-8aaa-aaaaaaaaaaaa\","
    "\"next_due\":\"2026-03-30T00:30:00.000000Z\",\"rev\":7,"
    "\"updated_by\":\"x\",\"created_at\":\"2026-01-01T00:00:00.000000Z\","
    "\"updated_at\":\"2026-03-29T01:00:00.000000Z\","
    "\"firing\":[\"2026-03-29T01:00:00.000000Z\","
    "\"2026-03-29T02:00:00.000000Z\"],"
    "\"cancelling\":\"bbbbbbbb-bbbb-8bbb-8bbb-bbbbbbbbbbbb\","
    "\"format\":1,\"note\":\"by hand\"}";

START_TEST(test_text)
{
	struct qo_schedule s;
	struct qo_err err = { 0 };
	struct buf b;

	buf_init(&b, 65536);
	ck_assert_msg(qo_schedule_decode(&s, "nightly", full, strlen(full),
			  &err) == 0,
	    "%s", err.msg);
	ck_assert_int_eq(s.catch_up, QO_CATCH_UP_LAST);
	ck_assert_int_eq(s.overlap, QO_OVERLAP_SKIP);
	ck_assert_uint_eq(s.nfiring, 2);
	ck_assert_int_eq(s.firing[1].us, at("2026-03-29T02:00:00Z").us);
	ck_assert_int_eq(qo_schedule_encode(&s, &b, &err), 0);
	ck_assert_str_eq(b.data, full);
	qo_schedule_fini(&s);
	buf_fini(&b);
}
END_TEST

START_TEST(test_least)
{
	static const char text[] =
	    "{\"id\":\"x\",\"cron\":\"@daily\",\"task_type\":\"t\"}";
	struct qo_schedule s;
	struct qo_err err = { 0 };
	struct buf b;

	buf_init(&b, 65536);
	ck_assert_msg(qo_schedule_decode(&s, NULL, text, strlen(text), &err) ==
		0,
	    "%s", err.msg);
	ck_assert_str_eq(s.timezone, "UTC");
	ck_assert(!qo_wall_is_set(s.next_due));
	ck_assert_int_eq(qo_schedule_encode(&s, &b, &err), 0);
	ck_assert_ptr_null(strstr(b.data, "firing"));
	ck_assert_ptr_null(strstr(b.data, "workflow"));
	ck_assert_ptr_nonnull(strstr(b.data, "\"catch_up\":\"skip\""));
	ck_assert_ptr_nonnull(strstr(b.data, "\"overlap\":\"allow\""));
	qo_schedule_fini(&s);
	buf_fini(&b);
}
END_TEST

static const struct {
	const char *text, *says;
} bad[] = {
	{ "[]", "not a JSON object" },
	{ "{\"id\":\"x\",\"task_type\":\"t\"}", "cron: is missing" },
	{ "{\"id\":\"y\",\"cron\":\"@daily\",\"task_type\":\"t\"}",
	    "id: is y in the object x" },
	{ "{\"id\":\"x\",\"cron\":\"* * *\",\"task_type\":\"t\"}",
	    "cron: month is missing" },
	{ "{\"id\":\"x\",\"cron\":\"@daily\"}", "one of them" },
	{ "{\"id\":\"x\",\"cron\":\"@daily\",\"task_type\":\"t\","
	  "\"workflow\":\"w\"}",
	    "one of them" },
	{ "{\"id\":\"x\",\"cron\":\"@daily\",\"task_type\":\"workflow.x\"}",
	    "task_type: not a valid" },
	{ "{\"id\":\"x\",\"cron\":\"@daily\",\"task_type\":\"t\","
	  "\"timezone\":\"../etc\"}",
	    "timezone: not a valid" },
	{ "{\"id\":\"x\",\"cron\":\"@daily\",\"task_type\":\"t\","
	  "\"options\":{\"retires\":1}}",
	    "options: \"retires\"" },
	{ "{\"id\":\"x\",\"cron\":\"@daily\",\"task_type\":\"t\","
	  "\"options\":{\"key\":\"k\"}}",
	    "options: only timeout" },
	{ "{\"id\":\"x\",\"cron\":\"@daily\",\"task_type\":\"t\","
	  "\"overlap\":\"queue\"}",
	    "overlap: " },
	{ "{\"id\":\"x\",\"cron\":\"@daily\",\"task_type\":\"t\","
	  "\"firing\":\"2026-03-29T01:00:00Z\"}",
	    "firing: not an array" },
	{ "{\"id\":\"x\",\"cron\":\"@daily\",\"task_type\":\"t\","
	  "\"firing\":[\"2026-03-29T01:00:00Z\",\"2026-03-29T01:00:00Z\"]}",
	    "firing: not rising" },
	{ "{\"id\":\"x\",\"cron\":\"@daily\",\"task_type\":\"t\","
	  "\"format\":2}",
	    "format 2 is newer" },
};

START_TEST(test_bad)
{
	struct qo_schedule s;
	struct qo_err err = { 0 };

	ck_assert_int_eq(qo_schedule_decode(&s, "x", bad[_i].text,
			     strlen(bad[_i].text), &err),
	    -1);
	ck_assert_msg(strstr(err.msg, bad[_i].says) != NULL, "%s", err.msg);
}
END_TEST

START_TEST(test_keys)
{
	static const struct qo_layout l = { "p/", 1 };
	char key[QO_KEY_SIZE], id[QO_NAME_MAX + 1];

	ck_assert_int_eq(qo_key_schedule(&l, "a.b-c_9", key), 0);
	ck_assert_int_eq(qo_schedule_id_of_key(&l, key, id), 0);
	ck_assert_str_eq(id, "a.b-c_9");
	ck_assert_int_eq(qo_schedule_id_of_key(&l, "p/schedules/.json", id),
	    -1);
	ck_assert_int_eq(qo_schedule_id_of_key(&l, "p/schedules/a/b.json", id),
	    -1);
	ck_assert_int_eq(qo_schedule_id_of_key(&l, "schedules/a.json", id), -1);
	ck_assert_int_eq(qo_schedule_id_of_key(&l, "p/schedules/a.jsox", id),
	    -1);
}
END_TEST

/* Two queues, two schedules and two times never share an id. */
START_TEST(test_task_id)
{
	char a[QO_UUID_SIZE], b[QO_UUID_SIZE];
	struct qo_wall t = at("2026-03-29T01:00:00Z");

	qo_schedule_task_id("", "s", t, a);
	ck_assert(qo_uuid_valid(a, strlen(a)));
	qo_schedule_task_id("", "s", t, b);
	ck_assert_str_eq(a, b);
	qo_schedule_task_id("p", "s", t, b);
	ck_assert_str_ne(a, b);
	qo_schedule_task_id("", "s2", t, b);
	ck_assert_str_ne(a, b);
	t.us += QO_US_PER_SEC;
	qo_schedule_task_id("", "s", t, b);
	ck_assert_str_ne(a, b);
	/* As anybody else would compute it. */
	qo_uuid_derive("", QO_DERIVE_SCHED, "s:2026-03-29T01:00:00.000000Z", 29,
	    b);
	ck_assert_str_eq(a, b);
}
END_TEST

/* Decisions: a schedule every ten minutes, next due at 12:00. */
#define D "2026-01-28T"

static const struct {
	enum qo_catch_up catch_up;
	enum qo_overlap overlap;
	bool unfinished;
	const char *now;
	enum qo_decision decision;
	bool cancels;
	size_t nruns;
	const char *first, *last_due, *next_due;
} decisions[] = {
	/* not yet */
	{ QO_CATCH_UP_SKIP, QO_OVERLAP_ALLOW, false, D "11:59:59.999999Z",
	    QO_DECISION_NONE, false, 0, NULL, NULL, D "12:00:00Z" },
	/* on time */
	{ QO_CATCH_UP_SKIP, QO_OVERLAP_ALLOW, false, D "12:00:00Z",
	    QO_DECISION_RUN, false, 1, D "12:00:00Z", D "12:00:00Z",
	    D "12:10:00Z" },
	{ QO_CATCH_UP_SKIP, QO_OVERLAP_ALLOW, true, D "12:01:00Z",
	    QO_DECISION_RUN, false, 1, D "12:00:00Z", D "12:00:00Z",
	    D "12:10:00Z" },
	/* late */
	{ QO_CATCH_UP_SKIP, QO_OVERLAP_ALLOW, false, D "12:01:00.000001Z",
	    QO_DECISION_MISSED, false, 0, NULL, D "12:00:00Z", D "12:10:00Z" },
	{ QO_CATCH_UP_SKIP, QO_OVERLAP_ALLOW, false, D "12:45:00Z",
	    QO_DECISION_MISSED, false, 0, NULL, D "12:40:00Z", D "12:50:00Z" },
	{ QO_CATCH_UP_SKIP, QO_OVERLAP_ALLOW, false, D "12:40:30Z",
	    QO_DECISION_RUN, false, 1, D "12:40:00Z", D "12:40:00Z",
	    D "12:50:00Z" },
	{ QO_CATCH_UP_LAST, QO_OVERLAP_ALLOW, false, D "12:45:00Z",
	    QO_DECISION_RUN, false, 1, D "12:40:00Z", D "12:40:00Z",
	    D "12:50:00Z" },
	{ QO_CATCH_UP_LAST, QO_OVERLAP_ALLOW, false, D "12:05:00Z",
	    QO_DECISION_RUN, false, 1, D "12:00:00Z", D "12:00:00Z",
	    D "12:10:00Z" },
	{ QO_CATCH_UP_ALL, QO_OVERLAP_ALLOW, false, D "12:45:00Z",
	    QO_DECISION_RUN, false, 5, D "12:00:00Z", D "12:40:00Z",
	    D "12:50:00Z" },
	/* a year: a thousand at a time */
	{ QO_CATCH_UP_ALL, QO_OVERLAP_ALLOW, false, "2027-01-28T12:00:00Z",
	    QO_DECISION_RUN, false, 1000, D "12:00:00Z", "2026-02-04T10:30:00Z",
	    "2026-02-04T10:40:00Z" },
	{ QO_CATCH_UP_SKIP, QO_OVERLAP_ALLOW, false, "2027-01-28T12:05:00Z",
	    QO_DECISION_MISSED, false, 0, NULL, "2027-01-28T12:00:00Z",
	    "2027-01-28T12:10:00Z" },
	/* the run before has not ended */
	{ QO_CATCH_UP_SKIP, QO_OVERLAP_SKIP, true, D "12:00:01Z",
	    QO_DECISION_SKIPPED, false, 0, NULL, D "12:00:00Z", D "12:10:00Z" },
	{ QO_CATCH_UP_SKIP, QO_OVERLAP_SKIP, false, D "12:00:01Z",
	    QO_DECISION_RUN, false, 1, D "12:00:00Z", D "12:00:00Z",
	    D "12:10:00Z" },
	{ QO_CATCH_UP_SKIP, QO_OVERLAP_SKIP, true, D "12:05:00Z",
	    QO_DECISION_MISSED, false, 0, NULL, D "12:00:00Z", D "12:10:00Z" },
	{ QO_CATCH_UP_SKIP, QO_OVERLAP_CANCEL, true, D "12:00:01Z",
	    QO_DECISION_RUN, true, 1, D "12:00:00Z", D "12:00:00Z",
	    D "12:10:00Z" },
	{ QO_CATCH_UP_SKIP, QO_OVERLAP_CANCEL, false, D "12:00:01Z",
	    QO_DECISION_RUN, false, 1, D "12:00:00Z", D "12:00:00Z",
	    D "12:10:00Z" },
	/* all of them, one at a time: the last */
	{ QO_CATCH_UP_ALL, QO_OVERLAP_SKIP, false, D "12:45:00Z",
	    QO_DECISION_RUN, false, 1, D "12:40:00Z", D "12:40:00Z",
	    D "12:50:00Z" },
	{ QO_CATCH_UP_ALL, QO_OVERLAP_CANCEL, true, D "12:45:00Z",
	    QO_DECISION_RUN, true, 1, D "12:40:00Z", D "12:40:00Z",
	    D "12:50:00Z" },
};

static void
make(struct qo_schedule *s, struct qo_schedule_clock *clock, const char *cron)
{
	struct qo_err err = { 0 };

	qo_schedule_init(s);
	s->id = "s";
	s->cron = cron;
	s->task_type = "t";
	s->last_task_id = "aaaaaaaa-aaaa-8aaa-8aaa-aaaaaaaaaaaa";
	s->next_due = at(D "12:00:00Z");
	ck_assert_msg(qo_schedule_clock_open(clock, s, &err) == 0, "%s",
	    err.msg);
}

START_TEST(test_decision)
{
	static struct qo_schedule_plan plan;
	struct qo_schedule_clock clock;
	struct qo_schedule s;
	char id[QO_UUID_SIZE];

	make(&s, &clock, "*/10 * * * *");
	s.catch_up = decisions[_i].catch_up;
	s.overlap = decisions[_i].overlap;
	qo_schedule_plan(&s, &clock, at(decisions[_i].now),
	    decisions[_i].unfinished, &plan);
	ck_assert_int_eq(plan.decision, decisions[_i].decision);
	ck_assert_int_eq(plan.writes, plan.decision != QO_DECISION_NONE);
	ck_assert_int_eq(plan.cancels, decisions[_i].cancels);
	ck_assert_uint_eq(plan.nruns, decisions[_i].nruns);
	if (plan.nruns > 0)
		ck_assert_int_eq(plan.runs[0].us, at(decisions[_i].first).us);
	ck_assert_int_eq(plan.next_due.us, at(decisions[_i].next_due).us);
	ck_assert_int_eq(plan.last_due.us, at(decisions[_i].last_due).us);
	/* Decided once: nothing is left to decide until the next time. */
	qo_schedule_apply(&s, &plan, "");
	ck_assert_uint_eq(s.nfiring, decisions[_i].nruns);
	ck_assert_int_eq(s.cancelling != NULL, decisions[_i].cancels);
	if (s.nfiring > 0) {
		qo_schedule_task_id("", "s", plan.last_due, id);
		ck_assert_str_eq(s.last_task_id, id);
	}
	qo_schedule_plan(&s, &clock, at(decisions[_i].now), false, &plan);
	ck_assert(!plan.writes);
	qo_schedule_fini(&s);
	qo_schedule_clock_close(&clock);
}
END_TEST

START_TEST(test_paused)
{
	static struct qo_schedule_plan plan;
	struct qo_schedule_clock clock;
	struct qo_schedule s;

	make(&s, &clock, "*/10 * * * *");
	s.paused = true;
	qo_schedule_plan(&s, &clock, at(D "13:00:00Z"), false, &plan);
	ck_assert(!plan.writes);
	/* Somebody wrote it by hand: it begins now. */
	s.paused = false;
	s.next_due = QO_WALL_NONE;
	qo_schedule_plan(&s, &clock, at(D "13:00:00Z"), false, &plan);
	ck_assert(plan.writes);
	ck_assert_int_eq(plan.decision, QO_DECISION_NONE);
	ck_assert_int_eq(plan.next_due.us, at(D "13:10:00Z").us);
	qo_schedule_clock_close(&clock);
}
END_TEST

/* The zone's rules changed after next_due was written: that time runs, and
 * what follows is by the new ones. */
START_TEST(test_other_rules)
{
	static struct qo_schedule_plan plan;
	struct qo_schedule_clock clock;
	struct qo_schedule s;

	make(&s, &clock, "30 * * * *");
	qo_schedule_plan(&s, &clock, at(D "12:00:05Z"), false, &plan);
	ck_assert_int_eq(plan.decision, QO_DECISION_RUN);
	ck_assert_uint_eq(plan.nruns, 1);
	ck_assert_int_eq(plan.runs[0].us, at(D "12:00:00Z").us);
	ck_assert_int_eq(plan.next_due.us, at(D "12:30:00Z").us);
	qo_schedule_clock_close(&clock);
}
END_TEST

/* A minute that is over ten seconds late every time: with any rule, whoever
 * looks often enough runs every time once, and in order. */
START_TEST(test_none_twice)
{
	static struct qo_schedule_plan plan;
	struct qo_schedule_clock clock;
	struct qo_schedule s;
	struct qo_wall now, last;
	size_t i, n = 0;

	make(&s, &clock, "@every 7s");
	s.catch_up = (enum qo_catch_up)_i;
	now = s.next_due = last = at(D "12:00:03Z"); /* a multiple of 7 */
	last.us--;
	for (; now.us < at(D "13:00:00Z").us; now.us += 13 * QO_US_PER_SEC) {
		qo_schedule_plan(&s, &clock, now, false, &plan);
		for (i = 0; i < plan.nruns; i++, n++) {
			ck_assert_int_gt(plan.runs[i].us, last.us);
			last = plan.runs[i];
		}
		if (plan.writes)
			qo_schedule_apply(&s, &plan, "");
		qo_schedule_set_firing(&s, NULL, 0);
	}
	/* (last - first) / 7 + 1 of them */
	ck_assert_uint_eq(n,
	    (size_t)((last.us - at(D "12:00:03Z").us) / 7000000 + 1));
	qo_schedule_fini(&s);
	qo_schedule_clock_close(&clock);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("schedule");
	TCase *tc = tcase_create("schedule");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_text);
	tcase_add_test(tc, test_least);
	tcase_add_loop_test(tc, test_bad, 0, nitems(bad));
	tcase_add_test(tc, test_keys);
	tcase_add_test(tc, test_task_id);
	tcase_add_loop_test(tc, test_decision, 0, nitems(decisions));
	tcase_add_test(tc, test_paused);
	tcase_add_test(tc, test_other_rules);
	tcase_add_loop_test(tc, test_none_twice, 0, 3);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
