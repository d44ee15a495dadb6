/*
 * The tasks of a process that was killed, given back from what its slots
 * said, with the real store.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../qo-monitor/recover.h"
#include "log.h"
#include "monitor_fixture.h"
#include "run_suite.h"
#include "scenario.h"
#include "sig.h"
#include "uuid.h"

#define TASKS    64
#define LEASE_MS 60000

static struct live_store st;
static struct conf_monitor conf;
static struct health health;
static struct monitor mon;
static struct recover *rec;
static size_t settled;
static char last_settled[QO_UUID_SIZE];

static void
on_settled(void *arg, const char *lease)
{
	(void)arg;
	settled++;
	snprintf(last_settled, sizeof(last_settled), "%s", lease);
}

static void
setup(void)
{
	log_set_level(LOG_LVL_ERROR);
	sig_init();
	live_store_start(&st);
	monitor_make(&mon, &conf, &health, st.loop, st.q);
	settled = 0;
	rec = recover_new(&mon, on_settled, NULL);
}

static void
teardown(void)
{
	recover_free(rec);
	board_private_free(mon.area);
	live_store_stop(&st);
}

static void
lose(const struct slot *s, int64_t generation)
{
	char words[128];

	snprintf(words, sizeof(words), "%s %lld %s", s->id,
	    (long long)generation, s->lease);
	ck_assert_int_eq(recover_add(rec, words), 0);
}

static void
run_until(size_t n)
{
	while (settled < n)
		loop_once(st.loop, -1);
}

static void
check_reclaimed(const struct slot *s)
{
	struct qo_task t;

	live_store_task(&st, s->id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_PENDING);
	ck_assert_int_eq(t.retry_count, 1);
	ck_assert_int_eq(t.generation, 2);
	ck_assert_str_eq(t.errors[0].lease_id, s->lease);
	ck_assert_str_eq(t.errors[0].kind, "worker_died");
	qo_task_fini(&t);
}

START_TEST(test_killed)
{
	static struct slot slots[TASKS];
	struct qo_mono from;
	int64_t ms;
	pid_t pid;
	int i, status;

	pid = holder_start(&st, slots, TASKS);
	recover_start(rec);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	from = qo_mono_now();
	for (i = 0; i < TASKS; i++)
		lose(&slots[i], 1);
	ck_assert_uint_eq(recover_pending(rec), TASKS);
	run_until(TASKS);
	ms = qo_mono_diff_us(from, qo_mono_now()) / QO_US_PER_MS;
	fprintf(stderr, "%d tasks given back in %lld ms\n", TASKS,
	    (long long)ms);
	ck_assert_uint_eq(recover_pending(rec), 0);
	for (i = 0; i < TASKS; i++)
		check_reclaimed(&slots[i]);
}
END_TEST

static void
on_idle(void *arg)
{
	*(bool *)arg = true;
}

/* The claim was on its way when the worker died, and arrives after the first
 * looks.  It has a loop of its own: on a slow disk it may take longer than the
 * looks go on. */
START_TEST(test_late_claim)
{
	struct live_store worker = st;
	struct scene sc;
	struct slot s;
	struct qo_claim *cl = &sc.claim;
	bool idle = false;
	uint64_t looks;

	worker.loop = loop_new();
	worker.s3 = live_store_client(&worker, worker.loop, NULL);
	worker.q = live_store_queue(&worker, worker.loop, worker.s3);
	memset(&sc, 0, sizeof(sc));
	sc.q = worker.q;
	scene_pending(&sc);
	qo_claim_init(cl, worker.q, &sc.entry, "w1");
	memcpy(s.id, sc.id, sizeof(s.id));
	memcpy(s.lease, cl->lease_id, sizeof(s.lease));
	looks = qo_s3_stats(st.s3)->requests[QO_S3_GET];
	recover_start(rec);
	recover_on_idle(rec, on_idle, &idle);
	lose(&s, 1);
	lose(&s, 1); /* twice: still one */
	ck_assert_uint_eq(recover_pending(rec), 1);
	while (qo_s3_stats(st.s3)->requests[QO_S3_GET] < looks + 3)
		loop_once(st.loop, -1);
	ck_assert_uint_eq(settled, 0);
	ck_assert(!idle);
	ck_assert_int_eq(qo_claim_take_wait(cl, LEASE_MS), QO_OK);
	run_until(1);
	check_reclaimed(&s);
	ck_assert_str_eq(last_settled, s.lease);
	ck_assert(idle);
	qo_claim_fini(cl);
	qo_queue_free(worker.q);
	qo_s3_free(worker.s3);
	loop_free(worker.loop);
}
END_TEST

/* It never came: settled after about a second, and nothing was changed. */
START_TEST(test_no_claim)
{
	struct scene sc;
	struct slot s;
	struct qo_mono from = qo_mono_now();
	struct qo_task t;

	memset(&sc, 0, sizeof(sc));
	sc.q = st.q;
	scene_pending(&sc);
	memcpy(s.id, sc.id, sizeof(s.id));
	qo_uuid_v4(s.lease);
	recover_start(rec);
	lose(&s, 1);
	run_until(1);
	ck_assert_int_ge(qo_mono_diff_us(from, qo_mono_now()),
	    900 * QO_US_PER_MS);
	live_store_task(&st, s.id, &t);
	ck_assert_int_eq(t.rev, 1);
	qo_task_fini(&t);
}
END_TEST

/* Another has it by now, or it has ended: nothing is touched, no waiting. */
START_TEST(test_not_theirs)
{
	struct scene sc;
	struct slot s;
	struct qo_task t;
	int64_t rev;

	memset(&sc, 0, sizeof(sc));
	sc.q = st.q;
	if (_i == 0)
		scene_held(&sc);
	else
		scene_failed(&sc);
	live_store_task(&st, sc.id, &t);
	rev = t.rev;
	qo_task_fini(&t);
	memcpy(s.id, sc.id, sizeof(s.id));
	qo_uuid_v4(s.lease);
	recover_start(rec);
	lose(&s, 1);
	run_until(1);
	live_store_task(&st, sc.id, &t);
	ck_assert_int_eq(t.rev, rev);
	qo_task_fini(&t);
	scene_fini(&sc);
}
END_TEST

/* A task that kills its worker ends in failed (R6). */
START_TEST(test_killer)
{
	struct scene sc;
	struct slot s;
	struct qo_task t;
	struct qo_claim *cl = &sc.claim;
	struct qo_entry e;
	char key[QO_KEY_SIZE];
	int64_t generation;

	memset(&sc, 0, sizeof(sc));
	sc.q = st.q;
	scene_pending(&sc);
	recover_start(rec);
	e = sc.entry;
	for (generation = 1;; generation++) {
		qo_claim_init(cl, st.q, &e, "w1");
		ck_assert_int_eq(qo_claim_take_wait(cl, LEASE_MS), QO_OK);
		qo_queue_flush(st.q);
		memcpy(s.id, sc.id, sizeof(s.id));
		memcpy(s.lease, cl->lease_id, sizeof(s.lease));
		qo_claim_fini(cl);
		lose(&s, generation);
		run_until((size_t)generation);
		live_store_task(&st, sc.id, &t);
		if (t.status != QO_STATUS_PENDING)
			break;
		ck_assert_int_eq(t.generation, generation + 1);
		qo_task_fini(&t);
		ck_assert_uint_eq(live_store_count(&st, "ready/", key), 1);
		ck_assert_int_eq(qo_entry_parse(&st.q->layout, key, strlen(key),
				     &e),
		    0);
	}
	ck_assert_int_eq(t.status, QO_STATUS_FAILED);
	ck_assert_int_eq(generation, 1 + t.max_retries);
	qo_task_fini(&t);
}
END_TEST

/* Told before the queue is open, and while the store is away. */
START_TEST(test_patience)
{
	struct qo_s3 *dead = live_store_client(&st, st.loop,
	    "http://127.0.0.1:1");
	struct scene sc;
	struct slot s;

	memset(&sc, 0, sizeof(sc));
	sc.q = st.q;
	scene_held(&sc);
	memcpy(s.id, sc.id, sizeof(s.id));
	memcpy(s.lease, sc.claim.lease_id, sizeof(s.lease));
	lose(&s, 1);
	loop_once(st.loop, 10);
	ck_assert_uint_eq(recover_pending(rec), 1);
	st.q->s3 = dead;
	recover_start(rec);
	while (!health.failing)
		loop_once(st.loop, -1);
	ck_assert_uint_eq(settled, 0);
	st.q->s3 = st.s3;
	run_until(1);
	check_reclaimed(&s);
	qo_s3_free(dead);
	scene_fini(&sc);
}
END_TEST

static const char *const bad[] = { "", "x", "x 1 y",
	"00000000-0000-4000-8000-000000000000 1",
	"00000000-0000-4000-8000-000000000000 one "
	"00000000-0000-4000-8000-000000000000",
	"00000000-0000-4000-8000-000000000000 -1 "
	"00000000-0000-4000-8000-000000000000",
	"00000000-0000-4000-8000-000000000000 1 "
	"00000000-0000-4000-8000-000000000000 more",
	"../../etc/passwd 1 00000000-0000-4000-8000-000000000000" };

START_TEST(test_words)
{
	char words[256];

	snprintf(words, sizeof(words), "%s", bad[_i]);
	ck_assert_int_eq(recover_add(rec, words), -1);
	ck_assert_uint_eq(recover_pending(rec), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("monitor_recover");
	TCase *tc = tcase_create("recover");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_killed);
	tcase_add_test(tc, test_late_claim);
	tcase_add_test(tc, test_no_claim);
	tcase_add_loop_test(tc, test_not_theirs, 0, 2);
	tcase_add_test(tc, test_killer);
	tcase_add_test(tc, test_patience);
	tcase_add_loop_test(tc, test_words, 0,
	    (int)(sizeof(bad) / sizeof(bad[0])));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
