/*
 * The monitor's passes over the indexes, with the real store.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../qo-monitor/passes.h"
#include "../../qo-monitor/workers.h"
#include "admin.h"
#include "fsck.h"
#include "log.h"
#include "monitor_fixture.h"
#include "run_suite.h"
#include "scenario.h"
#include "sig.h"
#include "submit.h"

#define OVER    (-180000) /* a lease of that many ms has run out */
#define ANY_AGE (-86400000)
#define PENDING 0
#define HELD    1

static struct live_store st;
static struct conf_monitor conf;
static struct health health;
static struct monitor mon;

static void
setup(void)
{
	log_set_level(LOG_LVL_ERROR);
	sig_init();
	live_store_start(&st);
	memset(&conf, 0, sizeof(conf));
	conf.check_interval_ms = 100;
	conf.orphan_grace_ms = ANY_AGE;
	conf.worker_stale_ms = 60000;
	conf.worker_dead_ms = 300000;
	monitor_make(&mon, &conf, &health, st.loop, st.q);
}

static void
teardown(void)
{
	board_private_free(mon.area);
	live_store_stop(&st);
}

static void
run_until(const int *left)
{
	while (*left > 0)
		loop_once(st.loop, -1);
}

static void
once(struct monitor *m)
{
	struct passes *ps = passes_new(m);
	int left = 1;

	passes_once(ps, monitor_done, &left);
	run_until(&left);
	passes_free(ps);
	qo_queue_flush(m->q);
}

static uint64_t
get_count(void)
{
	return qo_s3_stats(st.s3)->requests[QO_S3_GET];
}

static uint64_t
list_count(void)
{
	return qo_s3_stats(st.s3)->requests[QO_S3_LIST];
}

static void
on_problem(struct qo_fsck *f, const struct qo_fsck_problem *p)
{
	(void)f;
	ck_abort_msg("%s: %s %s", qo_fsck_kind_name(p->kind), p->key,
	    p->detail);
}

/* Everything is as the rules say: told by another who knows them. */
static void
check_all(void)
{
	struct qo_fsck f;
	struct qo_err err;

	memset(&f, 0, sizeof(f));
	f.q = st.q;
	f.grace_ms = QO_FSCK_OFFLINE_MS;
	f.problem = on_problem;
	ck_assert_msg(qo_fsck_run(&f, &err) == QO_OK, "%s", err.msg);
}

/* A task, due since long or held under a lease of that length. */
static void
make(struct scene *sc, int what, int64_t lease_ms, int64_t max_retries)
{
	struct qo_submission sub;
	struct qo_submit s;

	memset(sc, 0, sizeof(*sc));
	sc->q = st.q;
	qo_submission_init(&sub);
	sub.task_type = "mail.send";
	sub.available_at = qo_queue_now(st.q);
	sub.available_at.us -= 180 * QO_US_PER_SEC;
	sub.max_retries = max_retries;
	qo_submit_init(&s, st.q, &sub);
	memcpy(sc->id, s.change.id, sizeof(sc->id));
	ck_assert_int_eq(qo_submit_wait(&s), QO_OK);
	sc->entry = s.change.entry;
	qo_submit_fini(&s);
	if (what == PENDING)
		return;
	qo_claim_init(&sc->claim, st.q, &sc->entry, "w1");
	sc->claimed = true;
	ck_assert_int_eq(qo_claim_take_wait(&sc->claim, lease_ms), QO_OK);
	qo_queue_flush(st.q);
}

/* Leases */

START_TEST(test_reclaims)
{
	struct scene sc;
	struct qo_task t;

	make(&sc, HELD, OVER, 3);
	once(&mon);
	live_store_task(&st, sc.id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_PENDING);
	ck_assert_int_eq(t.retry_count, 1);
	ck_assert_str_eq(t.errors[0].kind, "lease_expired");
	qo_task_fini(&t);
	ck_assert_uint_eq(monitor_counted(&mon, BOARD_RECLAIMED), 1);
	ck_assert_uint_eq(monitor_counted(&mon, BOARD_RETRIED), 1);
	ck_assert_uint_eq(live_store_count(&st, "leases/", NULL), 0);
	check_all();
	scene_fini(&sc);
}
END_TEST

START_TEST(test_fails)
{
	struct scene sc;

	make(&sc, HELD, OVER, 0);
	once(&mon);
	ck_assert_int_eq(live_store_status(&st, sc.id), QO_STATUS_FAILED);
	ck_assert_uint_eq(monitor_counted(&mon, BOARD_FAILED), 1);
	once(&mon);
	ck_assert_int_eq(monitor_gauged(&mon, BOARD_FAILED_TASKS), 1);
	check_all();
	scene_fini(&sc);
}
END_TEST

START_TEST(test_cancels)
{
	struct scene sc;
	struct qo_admin a;

	make(&sc, HELD, OVER, 3);
	qo_admin_init(&a, st.q, QO_ADMIN_CANCEL, sc.id);
	ck_assert_int_eq(qo_admin_wait(&a), QO_OK);
	qo_admin_fini(&a);
	once(&mon);
	ck_assert_int_eq(live_store_status(&st, sc.id), QO_STATUS_CANCELLED);
	ck_assert_uint_eq(monitor_counted(&mon, BOARD_CANCELLED), 1);
	check_all();
	scene_fini(&sc);
}
END_TEST

static void
turn(struct pass *p)
{
	int left = 1;

	p->arg = &left;
	pass_start(p);
	run_until(&left);
}

static void
on_turn(struct pass *p)
{
	(*(int *)p->arg)--;
}

/* A lease that runs out in this minute is read once, and again when it may
 * be over; one of a later minute not at all. */
START_TEST(test_alive)
{
	struct scene soon, late;
	struct pass p;
	uint64_t n;

	make(&soon, HELD, 1, 3);
	make(&late, HELD, 3600000, 3);
	pass_init(&p, &mon, "leases/", 4);
	p.done = on_turn;
	p.min_age_ms = ANY_AGE;
	n = get_count();
	turn(&p);
	ck_assert(p.round_over);
	ck_assert_int_eq(live_store_status(&st, late.id), QO_STATUS_RUNNING);
	ck_assert_uint_le(get_count() - n, 2); /* one is the status's */
	while (live_store_status(&st, soon.id) == QO_STATUS_RUNNING) {
		loop_once(st.loop, 20);
		turn(&p);
	}
	ck_assert_int_eq(live_store_status(&st, late.id), QO_STATUS_RUNNING);
	pass_fini(&p);
	scene_fini(&soon);
	scene_fini(&late);
}
END_TEST

/* The memory spares the second look. */
START_TEST(test_not_twice)
{
	struct qo_wall before = qo_queue_now(st.q);
	struct scene sc;
	struct pass p;
	uint64_t n;

	make(&sc, PENDING, 0, 3);
	pass_init(&p, &mon, "ready", 4);
	p.done = on_turn;
	p.min_age_ms = ANY_AGE;
	n = get_count();
	turn(&p);
	ck_assert_uint_eq(get_count() - n, 1);
	turn(&p);
	ck_assert_uint_eq(get_count() - n, 1);
	ck_assert_uint_eq(p.entries, 1);
	/* Not older than its entry, whatever was due before; the clocks of two
	 * processes differ by a second or two. */
	ck_assert_int_gt(p.oldest.us, before.us - 60 * QO_US_PER_SEC);
	pass_fini(&p);
	scene_fini(&sc);
}
END_TEST

/* Two at once over the same leases: each is given back once. */
START_TEST(test_two_monitors)
{
	enum {
		N = 60
	};
	struct scene sc[N];
	struct qo_task t;
	struct qo_s3 *s3 = live_store_client(&st, st.loop, NULL);
	struct monitor other;
	struct passes *a, *b;
	int i, left = 2;

	for (i = 0; i < N; i++)
		make(&sc[i], HELD, OVER, 3);
	monitor_make(&other, &conf, &health, st.loop,
	    live_store_queue(&st, st.loop, s3));
	a = passes_new(&mon);
	b = passes_new(&other);
	passes_once(a, monitor_done, &left);
	passes_once(b, monitor_done, &left);
	run_until(&left);
	passes_free(a);
	passes_free(b);
	ck_assert_uint_eq(monitor_counted(&mon, BOARD_RECLAIMED) +
		monitor_counted(&other, BOARD_RECLAIMED),
	    N);
	for (i = 0; i < N; i++) {
		live_store_task(&st, sc[i].id, &t);
		ck_assert_int_eq(t.status, QO_STATUS_PENDING);
		ck_assert_int_eq(t.retry_count, 1);
		ck_assert_int_eq(t.generation, 2);
		qo_task_fini(&t);
		scene_fini(&sc[i]);
	}
	qo_queue_flush(st.q);
	qo_queue_flush(other.q);
	check_all();
	qo_queue_free(other.q);
	qo_s3_free(s3);
	board_private_free(other.area);
}
END_TEST

/* Ready and failed entries */

static void
put_entry(const char *id, enum qo_index index, int64_t generation)
{
	char key[QO_KEY_SIZE];
	struct qo_entry e;
	struct qo_s3_req r;
	struct qo_wall when = qo_queue_now(st.q);

	when.us -= 60 * QO_US_PER_SEC;
	qo_entry_make(&e, index, when, id, generation);
	ck_assert_int_eq(qo_key_entry(&st.q->layout, &e, key), 0);
	qo_s3_req_init(&r, QO_S3_PUT, st.q->index_bucket, key);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
}

/* Seen between a claim's entry and the claim, which may be for a few seconds
 * only: that is no reason to look away for longer. */
START_TEST(test_claim_under_way)
{
	struct qo_wall soon;
	char key[QO_KEY_SIZE];
	struct scene sc;
	struct pass p;

	make(&sc, PENDING, 0, 3);
	put_entry(sc.id, QO_INDEX_LEASES, 1);
	conf.orphan_grace_ms = 20 * 60 * 1000;
	pass_init(&p, &mon, "leases/", 4);
	p.done = on_turn;
	p.min_age_ms = ANY_AGE;
	turn(&p);
	ck_assert_uint_eq(live_store_count(&st, "leases/", key), 1);
	soon = qo_queue_now(st.q);
	ck_assert_uint_eq(later_count(p.later), 1);
	soon.us += 10 * QO_US_PER_SEC;
	ck_assert(!later_is(p.later, key, soon));
	pass_fini(&p);
	scene_fini(&sc);
}
END_TEST

static const struct {
	enum qo_index index;
	int64_t generation;
	int task; /* PENDING, HELD, 2: completed, 3: failed, -1: none */
	enum qo_status status;
} orphans[] = {
	{ QO_INDEX_READY, 1, -1, QO_STATUS_NONE },
	{ QO_INDEX_READY_HIGH, 1, -1, QO_STATUS_NONE },
	{ QO_INDEX_READY_LOW, 3, -1, QO_STATUS_NONE },
	{ QO_INDEX_LEASES, 1, -1, QO_STATUS_NONE },
	{ QO_INDEX_FAILED, 1, -1, QO_STATUS_NONE },
	{ QO_INDEX_LEASES, 1, PENDING, QO_STATUS_PENDING },
	{ QO_INDEX_READY, 2, PENDING, QO_STATUS_PENDING },
	{ QO_INDEX_READY, 1, HELD, QO_STATUS_RUNNING },
	{ QO_INDEX_LEASES, 1, HELD, QO_STATUS_RUNNING },
	{ QO_INDEX_READY, 1, 2, QO_STATUS_COMPLETED },
	{ QO_INDEX_LEASES, 1, 2, QO_STATUS_COMPLETED },
	{ QO_INDEX_FAILED, 1, 2, QO_STATUS_COMPLETED },
	{ QO_INDEX_READY, 2, 2, QO_STATUS_COMPLETED },
	{ QO_INDEX_READY, 2, 3, QO_STATUS_FAILED },
	{ QO_INDEX_LEASES, 1, 3, QO_STATUS_FAILED },
};
#define NORPHANS (sizeof(orphans) / sizeof(orphans[0]))

START_TEST(test_orphan)
{
	struct scene sc;
	char id[QO_UUID_SIZE];
	size_t young;

	qo_uuid_v4(id);
	if (orphans[_i].task != -1) {
		make(&sc, orphans[_i].task == PENDING ? PENDING : HELD, 600000,
		    3);
		memcpy(id, sc.id, sizeof(id));
	}
	if (orphans[_i].task >= 2)
		ck_assert_int_eq(qo_commit_wait(&sc.claim,
				     orphans[_i].task == 2
					 ? QO_OUTCOME_COMPLETED
					 : QO_OUTCOME_FAILED,
				     &scene_result),
		    QO_OK);
	qo_queue_flush(st.q);
	put_entry(id, orphans[_i].index, orphans[_i].generation);
	/* Dead ones go at once, what may be a write under way stays. */
	young = live_store_count(&st, "", NULL);
	conf.orphan_grace_ms = 20 * 60 * 1000;
	once(&mon);
	ck_assert_uint_le(live_store_count(&st, "", NULL), young);
	conf.orphan_grace_ms = ANY_AGE;
	once(&mon);
	once(&mon);
	check_all();
	ck_assert_uint_gt(monitor_counted(&mon, BOARD_ORPHANS), 0);
	if (orphans[_i].task != -1) {
		ck_assert_int_eq(live_store_status(&st, id),
		    orphans[_i].status);
		scene_fini(&sc);
	} else {
		ck_assert_uint_eq(live_store_count(&st, "", NULL), 0);
	}
}
END_TEST

/* Nobody claims it: the monitor ends it. */
START_TEST(test_expires)
{
	struct qo_submission sub;
	struct qo_submit s;

	qo_submission_init(&sub);
	sub.task_type = "mail.send";
	sub.available_at = sub.expires_at = qo_queue_now(st.q);
	sub.available_at.us -= 180 * QO_US_PER_SEC;
	sub.expires_at.us -= 90 * QO_US_PER_SEC;
	qo_submit_init(&s, st.q, &sub);
	ck_assert_msg(qo_submit_wait(&s) == QO_OK, "%s", s.change.err.msg);
	once(&mon);
	ck_assert_int_eq(live_store_status(&st, s.change.id),
	    QO_STATUS_EXPIRED);
	ck_assert_uint_eq(monitor_counted(&mon, BOARD_EXPIRED), 1);
	check_all();
	qo_submit_fini(&s);
}
END_TEST

/* A long list takes many turns; each goes on where the last one stopped. */
START_TEST(test_bounded)
{
	enum {
		N = 23,
		LOOKS = 5
	};
	struct scene sc[N];
	struct pass p;
	uint64_t n;
	int i, turns = 0;

	for (i = 0; i < N; i++)
		make(&sc[i], PENDING, 0, 3);
	pass_init(&p, &mon, "ready", 4);
	p.done = on_turn;
	p.min_age_ms = ANY_AGE;
	p.looks_max = LOOKS;
	n = get_count();
	do {
		turn(&p);
		turns++;
		ck_assert_uint_le(get_count() - n, (uint64_t)(turns * LOOKS));
	} while (!p.round_over);
	ck_assert_uint_eq(get_count() - n, N);
	ck_assert_int_ge(turns, (N + LOOKS - 1) / LOOKS);
	ck_assert_uint_eq(p.entries, N);
	pass_fini(&p);
	for (i = 0; i < N; i++)
		scene_fini(&sc[i]);
}
END_TEST

/* What is to come is jumped over, shard by shard, and costs no page. */
START_TEST(test_future)
{
	struct qo_entry e;
	struct pass p;
	struct qo_wall when = qo_queue_now(st.q);
	char key[QO_KEY_SIZE], id[QO_UUID_SIZE];
	struct qo_s3_req r;
	uint64_t n;
	int i;

	when.us += 7200 * QO_US_PER_SEC;
	for (i = 0; i < 1100; i++) {
		qo_uuid_v4(id);
		id[0] = i < 1050 ? '3' : 'b';
		qo_entry_make(&e, QO_INDEX_READY, when, id, 1);
		ck_assert_int_eq(qo_key_entry(&st.q->layout, &e, key), 0);
		qo_s3_req_init(&r, QO_S3_PUT, st.q->index_bucket, key);
		ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
		qo_s3_req_fini(&r);
	}
	put_entry("c0000000-0000-4000-8000-000000000000", QO_INDEX_READY, 1);
	pass_init(&p, &mon, "ready", 4);
	p.done = on_turn;
	p.min_age_ms = ANY_AGE;
	n = list_count();
	turn(&p);
	ck_assert(p.round_over);
	/* 1000 of shard 3; then its rest is passed: 50 of b; then c. */
	ck_assert_uint_eq(list_count() - n, 3);
	ck_assert_uint_eq(p.entries, 1);
	ck_assert_uint_eq(p.look.repaired, 1);
	pass_fini(&p);
}
END_TEST

START_TEST(test_jump)
{
	char out[QO_KEY_SIZE];

	pass_jump("a/ready-high/7/0029493360/x.1.y", out);
	ck_assert_str_eq(out, "a/ready-high/7/:");
	pass_jump("leases/c0/0029493360/x", out);
	ck_assert_str_eq(out, "leases/c0/:");
}
END_TEST

/* The store is away: nothing breaks, and it is known. */
START_TEST(test_no_store)
{
	struct qo_s3 *s3 = live_store_client(&st, st.loop,
	    "http://127.0.0.1:1");
	struct monitor m;

	monitor_make(&m, &conf, &health, st.loop,
	    live_store_queue(&st, st.loop, s3));
	health.open = true;
	health.answered = qo_mono_now();
	ck_assert_ptr_null(health_why_not(&health, 60000, qo_mono_now()));
	once(&m);
	ck_assert(health.failing);
	ck_assert_ptr_null(health_why_not(&health, 60000, qo_mono_now()));
	health.answered.us -= 61 * QO_US_PER_SEC;
	ck_assert_ptr_nonnull(health_why_not(&health, 60000, qo_mono_now()));
	once(&mon);
	ck_assert(!health.failing);
	ck_assert_ptr_null(health_why_not(&health, 60000, qo_mono_now()));
	qo_queue_free(m.q);
	qo_s3_free(s3);
	board_private_free(m.area);
}
END_TEST

/* Stopped in the middle: what was begun is finished, nothing more is. */
START_TEST(test_stop)
{
	enum {
		N = 100
	};
	struct scene sc[N];
	struct passes *ps;
	int i, left = 1;
	uint64_t n;

	for (i = 0; i < N; i++)
		make(&sc[i], HELD, OVER, 3);
	ps = passes_new(&mon);
	passes_start(ps);
	while (monitor_counted(&mon, BOARD_RECLAIMED) == 0)
		loop_once(st.loop, -1);
	passes_stop(ps, monitor_done, &left);
	run_until(&left);
	n = monitor_counted(&mon, BOARD_RECLAIMED);
	ck_assert_uint_lt(n, N);
	passes_free(ps);
	qo_queue_flush(st.q);
	check_all();
	for (i = 0; i < N; i++)
		scene_fini(&sc[i]);
}
END_TEST

/* Workers */

static void
put_object(const char *key)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_PUT, st.q->index_bucket, key);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
}

static void
look_at_workers(void)
{
	struct workers *w = workers_new(&mon);
	int left = 1;

	workers_once(w, monitor_done, &left);
	run_until(&left);
	workers_free(w);
	qo_queue_flush(st.q);
}

START_TEST(test_workers)
{
	put_object("workers/host-1.json");
	put_object("workers/host-2.json");
	put_object("workers/no record");
	put_object("bell/host-1/x");
	put_object("bell/host-1/y");
	put_object("bell/host-10/z");
	look_at_workers();
	ck_assert_int_eq(monitor_gauged(&mon, BOARD_WORKERS), 2);
	ck_assert_int_eq(monitor_gauged(&mon, BOARD_WORKERS_STALE), 0);
	conf.worker_stale_ms = ANY_AGE;
	look_at_workers();
	ck_assert_int_eq(monitor_gauged(&mon, BOARD_WORKERS), 0);
	ck_assert_int_eq(monitor_gauged(&mon, BOARD_WORKERS_STALE), 2);
	ck_assert_uint_eq(live_store_count(&st, "workers/", NULL), 3);
	conf.worker_dead_ms = ANY_AGE;
	look_at_workers();
	ck_assert_int_eq(monitor_gauged(&mon, BOARD_WORKERS_STALE), 0);
	ck_assert_uint_eq(live_store_count(&st, "workers/", NULL), 1);
	ck_assert_uint_eq(live_store_count(&st, "bell/host-1/", NULL), 0);
	ck_assert_uint_eq(live_store_count(&st, "bell/host-10/", NULL), 1);
}
END_TEST

/* The memory */

START_TEST(test_later)
{
	struct later *l = later_new(100);
	struct qo_wall now = { 1000 }, then = { 2000 };
	char key[32];
	int i;

	later_set(l, "a", then);
	ck_assert(later_is(l, "a", now));
	ck_assert(!later_is(l, "b", now));
	ck_assert(!later_is(l, "a", then));
	later_set(l, "a", now);
	ck_assert(!later_is(l, "a", now));
	ck_assert_uint_eq(later_count(l), 1);
	for (i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "key %d", i);
		later_set(l, key, then);
		ck_assert(later_is(l, key, now));
		ck_assert_uint_le(later_count(l), 100);
	}
	later_clean(l, now);
	ck_assert(later_is(l, "key 999", now));
	later_clean(l, then);
	ck_assert_uint_eq(later_count(l), 0);
	later_free(l);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("monitor_passes");
	TCase *tc = tcase_create("passes"), *pure = tcase_create("pure");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_reclaims);
	tcase_add_test(tc, test_fails);
	tcase_add_test(tc, test_cancels);
	tcase_add_test(tc, test_alive);
	tcase_add_test(tc, test_not_twice);
	tcase_add_test(tc, test_two_monitors);
	tcase_add_test(tc, test_claim_under_way);
	tcase_add_loop_test(tc, test_orphan, 0, (int)NORPHANS);
	tcase_add_test(tc, test_expires);
	tcase_add_test(tc, test_bounded);
	tcase_add_test(tc, test_future);
	tcase_add_test(tc, test_no_store);
	tcase_add_test(tc, test_stop);
	tcase_add_test(tc, test_workers);
	suite_add_tcase(s, tc);
	tcase_add_test(pure, test_jump);
	tcase_add_test(pure, test_later);
	suite_add_tcase(s, pure);
	return run_suite(s);
}
