/*
 * The monitor's schedules, with the real store: what is read, what is fired,
 * and what retention must leave alone.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../qo-monitor/book.h"
#include "../../qo-monitor/retire.h"
#include "../../qo-monitor/schedules.h"
#include "admin.h"
#include "log.h"
#include "monitor_fixture.h"
#include "rfc3339.h"
#include "run_suite.h"
#include "schedule_fire.h"
#include "schedule_ops.h"
#include "sig.h"

static struct live_store st;
static struct conf_monitor conf;
static struct conf_submit submit;
static struct health health;
static struct monitor mon;
static int64_t step_us, ahead_us; /* the time passes with each look at it */

struct qo_wall __real_qo_queue_now(const struct qo_queue *q);
struct qo_wall __wrap_qo_queue_now(const struct qo_queue *q);

struct qo_wall
__wrap_qo_queue_now(const struct qo_queue *q)
{
	struct qo_wall t = __real_qo_queue_now(q);

	t.us += ahead_us += step_us;
	return t;
}

static void
setup(void)
{
	struct qo_s3_req r;

	log_set_level(LOG_LVL_ERROR);
	sig_init();
	live_store_start(&st);
	conf.check_interval_ms = 100;
	submit.timeout_ms = 60000;
	submit.retry_initial_interval_ms = submit.retry_max_interval_ms = 1000;
	submit.retry_multiplier = 2.0;
	monitor_make(&mon, &conf, &health, st.loop, st.q);
	/* So that the store's time is known. */
	qo_s3_req_init(&r, QO_S3_BUCKET_HEAD, "qo", NULL);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
}

static void
teardown(void)
{
	board_private_free(mon.area);
	live_store_stop(&st);
}

static void
put(const char *key, const char *text)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_PUT, "qo", key);
	r.body = text;
	r.body_len = strlen(text);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
}

static void
put_schedule(const char *id, const char *more)
{
	char key[QO_KEY_SIZE], text[1024];

	snprintf(key, sizeof(key), "schedules/%s.json", id);
	snprintf(text, sizeof(text),
	    "{\"id\":\"%s\",\"cron\":\"0 0 1 1 *\",\"task_type\":\"t\"%s}", id,
	    more);
	put(key, text);
}

static void
read_schedule(const char *id, struct qo_schedule *s)
{
	struct qo_err err = { 0 };

	ck_assert_msg(qo_schedule_read(st.q, id, s, &err) == QO_OK, "%s",
	    err.msg);
}

static uint64_t
reads(void)
{
	return qo_s3_stats(st.s3)->requests[QO_S3_GET];
}

static void
on_book(struct book *b)
{
	*(bool *)b->arg = true;
}

static void
refresh(struct book *b)
{
	bool done = false;

	b->done = on_book;
	b->arg = &done;
	book_refresh(b);
	while (!done)
		loop_once(st.loop, -1);
	ck_assert_int_eq(b->rc, QO_OK);
}

/* Only what has changed is read; what is gone is forgotten. */
START_TEST(test_book)
{
	struct book b;
	struct qo_err err;
	uint64_t before;

	book_init(&b, &mon);
	refresh(&b);
	ck_assert_uint_eq(b.n, 0);
	/* Names whose order is not that of their keys. */
	put_schedule("a", "");
	put_schedule("a-b", "");
	put_schedule("a.b", "");
	put("schedules/c.json", "{\"id\":\"c\"}");
	put("schedules/no-name", "{}");
	before = reads();
	refresh(&b);
	ck_assert_uint_eq(b.n, 4);
	ck_assert_uint_eq(reads() - before, 4);
	ck_assert_str_eq(b.entries[0]->id, "a-b");
	ck_assert_str_eq(b.entries[3]->id, "c");
	ck_assert(b.entries[0]->usable);
	ck_assert(!b.entries[3]->usable);
	refresh(&b);
	ck_assert_uint_eq(reads() - before, 4);
	put_schedule("c", ",\"paused\":true");
	ck_assert_int_eq(qo_schedule_delete(st.q, "a-b", &err), QO_OK);
	refresh(&b);
	ck_assert_uint_eq(b.n, 3);
	ck_assert_uint_eq(reads() - before, 5);
	ck_assert(b.entries[2]->usable && b.entries[2]->s.paused);
	book_fini(&b);
}
END_TEST

static void
on_done(void *arg)
{
	*(bool *)arg = true;
}

static void
once(void)
{
	struct schedules *s = schedules_new(&mon, &submit);
	bool done = false;

	schedules_once(s, on_done, &done);
	while (!done)
		loop_once(st.loop, -1);
	schedules_free(s);
}

/* What a schedule may submit again is not for retention to take. */
START_TEST(test_holds)
{
	struct qo_wall due[2];
	char id[2][QO_UUID_SIZE], other[QO_UUID_SIZE];
	struct book b;
	int i;

	qo_rfc3339_parse("2026-01-28T12:00:00Z", 20, &due[0]);
	qo_rfc3339_parse("2026-01-28T13:00:00Z", 20, &due[1]);
	for (i = 0; i < 2; i++)
		qo_schedule_task_id("", "s", due[i], id[i]);
	qo_uuid_v4(other);
	book_init(&b, &mon);
	ck_assert(book_holds(&b, other)); /* nothing is known yet */
	refresh(&b);
	ck_assert(!book_holds(&b, other));
	put_schedule("s",
	    ",\"firing\":[\"2026-01-28T12:00:00Z\",\"2026-01-28T13:00:00Z\"]");
	refresh(&b);
	ck_assert(book_holds(&b, id[0]) && book_holds(&b, id[1]));
	ck_assert(!book_holds(&b, other));
	put_schedule("s", ",\"firing\":[\"2026-01-28T13:00:00Z\"]");
	refresh(&b);
	ck_assert(!book_holds(&b, id[0]) && book_holds(&b, id[1]));
	/* Too old to tell. */
	b.as_of = qo_mono_add_ms(b.as_of, -3600000);
	ck_assert(book_holds(&b, id[0]));
	book_fini(&b);
}
END_TEST

static void
on_retired(struct retire *r)
{
	*(bool *)r->arg = true;
}

static bool
retire(const char *id)
{
	struct retire *r = calloc(1, sizeof(*r));
	bool done = false, removed;

	retire_init(r, &mon, id);
	r->done = on_retired;
	r->arg = &done;
	retire_start(r);
	while (!done)
		loop_once(st.loop, -1);
	ck_assert_msg(r->rc == QO_OK, "%s", r->err.msg);
	removed = r->removed;
	retire_fini(r);
	free(r);
	return removed;
}

static bool
holds(void *arg, const char *task_id)
{
	return book_holds(arg, task_id);
}

/* A run that ended long ago, whose schedule does not know yet that it was
 * submitted, and one that does. */
START_TEST(test_retention)
{
	struct qo_schedule s;
	struct qo_admin a;
	struct book b;
	char id[QO_UUID_SIZE], due[QO_RFC3339_SIZE], firing[64];

	conf.retention_ms = conf.orphan_grace_ms = -86400000;
	put_schedule("s",
	    ",\"catch_up\":\"last\",\"next_due\":\"2026-01-01T00:00:00Z\"");
	once();
	read_schedule("s", &s);
	strlcpy(id, s.last_task_id, sizeof(id));
	qo_rfc3339_print(s.last_due, due);
	snprintf(firing, sizeof(firing), ",\"firing\":[\"%s\"]", due);
	qo_schedule_fini(&s);
	qo_admin_init(&a, st.q, QO_ADMIN_CANCEL, id);
	ck_assert_int_eq(qo_admin_wait(&a), QO_OK);
	qo_admin_fini(&a);
	book_init(&b, &mon);
	mon.holds = holds;
	mon.holds_arg = &b;
	ck_assert(!retire(id)); /* nothing is known yet */
	put_schedule("s", firing);
	refresh(&b);
	ck_assert(!retire(id));
	put_schedule("s", "");
	refresh(&b);
	ck_assert(retire(id));
	mon.holds = NULL;
	book_fini(&b);
}
END_TEST

/* More than are fired at once, some left half done, one that can not be. */
START_TEST(test_many)
{
	struct board_info info;
	struct qo_schedule s;
	char id[16];
	int i;

	for (i = 0; i < 100; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		put_schedule(id,
		    i % 3 == 0 ? ",\"catch_up\":\"last\","
				 "\"next_due\":\"2026-01-01T00:00:00Z\""
			: i % 3 == 1
			? ",\"next_due\":\"2999-01-01T00:00:00Z\","
			  "\"updated_at\":\"2026-01-01T00:00:00Z\","
			  "\"firing\":[\"2026-01-01T00:00:00Z\"]"
			: ",\"next_due\":\"2999-01-01T00:00:00Z\"");
	}
	put("schedules/w.json",
	    "{\"id\":\"w\",\"cron\":\"@daily\",\"workflow\":\"x\","
	    "\"next_due\":\"2026-01-01T00:00:00Z\"}");
	put("schedules/z.json",
	    "{\"id\":\"z\",\"cron\":\"@daily\",\"task_type\":\"t\","
	    "\"timezone\":\"No/Where\","
	    "\"next_due\":\"2026-01-01T00:00:00Z\"}");
	once();
	ck_assert_uint_eq(live_store_count(&st, "ready/", NULL), 67);
	board_read(mon.area, &info);
	ck_assert_uint_eq(info.counters[BOARD_SCHEDULED], 67);
	once();
	ck_assert_uint_eq(live_store_count(&st, "ready/", NULL), 67);
	for (i = 0; i < 100; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		read_schedule(id, &s);
		ck_assert_uint_eq(s.nfiring, 0);
		qo_schedule_fini(&s);
	}
	read_schedule("w", &s);
	ck_assert_int_eq(s.rev, 0); /* left alone */
	qo_schedule_fini(&s);
}
END_TEST

/* Once is once, also when a run takes longer than the time to the next. */
START_TEST(test_once)
{
	struct qo_schedule want, got;
	struct qo_err err = { 0 };

	qo_schedule_init(&want);
	want.id = "s";
	want.cron = "@every 1s";
	want.task_type = "t";
	ck_assert_int_eq(qo_schedule_put(st.q, &want, false, &got, &err),
	    QO_OK);
	qo_schedule_fini(&got);
	step_us = 2 * QO_US_PER_SEC;
	once();
	read_schedule("s", &got);
	ck_assert(qo_wall_is_set(got.last_due));
	qo_schedule_fini(&got);
}
END_TEST

/* It sleeps until the time has come, and is there then. */
START_TEST(test_on_time)
{
	struct schedules *sc = schedules_new(&mon, &submit);
	struct qo_schedule want, got;
	struct qo_err err = { 0 };
	struct qo_task t;
	struct qo_wall due;
	bool done = false;

	conf.check_interval_ms = 3600000;
	qo_schedule_init(&want);
	want.id = "s";
	want.cron = "@every 3s";
	want.task_type = "t";
	ck_assert_int_eq(qo_schedule_put(st.q, &want, false, &got, &err),
	    QO_OK);
	due = got.next_due;
	qo_schedule_fini(&got);
	schedules_start(sc);
	for (;;) {
		loop_once(st.loop, 50);
		read_schedule("s", &got);
		if (got.last_task_id != NULL && got.nfiring == 0)
			break;
		qo_schedule_fini(&got);
	}
	live_store_task(&st, got.last_task_id, &t);
	ck_assert_int_ge(got.last_due.us, due.us);
	ck_assert_int_ge(t.created_at.us, got.last_due.us);
	qo_task_fini(&t);
	qo_schedule_fini(&got);
	schedules_stop(sc, on_done, &done);
	while (!done)
		loop_once(st.loop, -1);
	schedules_free(sc);
	read_schedule("s", &got);
	ck_assert_uint_eq(got.nfiring, 0);
	qo_schedule_fini(&got);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("monitor_schedules");
	TCase *tc = tcase_create("schedules");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_book);
	tcase_add_test(tc, test_holds);
	tcase_add_test(tc, test_retention);
	tcase_add_test(tc, test_many);
	tcase_add_test(tc, test_once);
	tcase_add_test(tc, test_on_time);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
