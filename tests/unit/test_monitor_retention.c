/*
 * Retention with the real store: what goes, what stays, and kill -9 at every
 * point on the way (lib/fault.h).
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../qo-monitor/cursor.h"
#include "../../qo-monitor/retention.h"
#include "../../qo-monitor/retire.h"
#include "admin.h"
#include "commit.h"
#include "fake_s3.h"
#include "fault.h"
#include "fsck.h"
#include "hash.h"
#include "log.h"
#include "monitor_fixture.h"
#include "run_suite.h"
#include "sig.h"
#include "submit.h"
#include "xalloc.h"

#define ANY_AGE    (-86400000)
#define HOUR       3600000
#define LEASE_MS   600000
#define LARGE      8192 /* above inline_max of live_store */
#define POINTS_MAX 300

static struct live_store st;
static struct conf_monitor conf;
static struct health health;
static struct monitor mon;
static char large[LARGE];
static const struct retention_pace fast = { 4, 0, 0, 0 };

static void
setup(void)
{
	log_set_level(LOG_LVL_ERROR);
	sig_init();
	memset(large, '1', sizeof(large));
	live_store_start(&st);
	memset(&conf, 0, sizeof(conf));
	memset(&health, 0, sizeof(health));
	conf.check_interval_ms = 1000;
	conf.orphan_grace_ms = ANY_AGE;
	conf.retention_ms = ANY_AGE;
	monitor_make(&mon, &conf, &health, st.loop, st.q);
}

static void
teardown(void)
{
	board_private_free(mon.area);
	live_store_stop(&st);
}

static void
once(struct monitor *m)
{
	struct retention *r = retention_new(m, &fast);
	int left = 1;

	retention_once(r, monitor_done, &left);
	while (left > 0)
		loop_once(m->loop, -1);
	retention_free(r);
	qo_queue_flush(m->q);
}

static size_t
count(const char *bucket, const char *prefix)
{
	struct qo_s3_req r;
	size_t n;

	qo_s3_req_init(&r, QO_S3_LIST, bucket, NULL);
	r.prefix = prefix;
	ck_assert_msg(qo_s3_wait(st.s3, &r) == QO_S3_OK, "%s", r.res.err.msg);
	n = r.res.list->n;
	qo_s3_req_fini(&r);
	return n;
}

static void
on_problem(struct qo_fsck *f, const struct qo_fsck_problem *p)
{
	/* The failed entry of a task that is gone is left to the passes. */
	if (p->kind == QO_FSCK_ENTRY_NO_TASK && p->repaired)
		return;
	ck_abort_msg("%s: %s: %s %s", (const char *)f->arg,
	    qo_fsck_kind_name(p->kind), p->key, p->detail);
}

static void
check_all(const char *when)
{
	char copy[64];
	struct qo_fsck f;
	struct qo_err err;

	snprintf(copy, sizeof(copy), "%s", when);
	memset(&f, 0, sizeof(f));
	f.q = st.q;
	f.repair = true;
	f.grace_ms = QO_FSCK_OFFLINE_MS;
	f.problem = on_problem;
	f.arg = copy;
	ck_assert_msg(qo_fsck_run(&f, &err) == QO_OK, "%s", err.msg);
}

static void
put_object(const char *bucket, const char *key)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_PUT, bucket, key);
	r.body = "x";
	r.body_len = 1;
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
}

static void
delete_object(const char *bucket, const char *key)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_DELETE, bucket, key);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
}

/* Tasks of all kinds */

enum kind {
	WAITING = 0,
	RUNNING,
	COMPLETED,
	FAILED,
	CANCELLED,
	ARCHIVED
};

static void
admin(const char *id, enum qo_admin_op op, enum qo_rc want)
{
	struct qo_admin a;

	qo_admin_init(&a, st.q, op, id);
	ck_assert_msg(qo_admin_wait(&a) == want, "%s", a.change.err.msg);
	qo_admin_fini(&a);
}

static void
submit(const char *key, char id[QO_UUID_SIZE], struct qo_entry *e)
{
	struct qo_submission sub;
	struct qo_submit s;

	qo_submission_init(&sub);
	sub.task_type = "mail.send";
	sub.idempotency_key = key;
	sub.input = (struct qo_json){ large, sizeof(large) };
	sub.available_at = qo_queue_now(st.q);
	sub.available_at.us -= 180 * QO_US_PER_SEC;
	qo_submit_init(&s, st.q, &sub);
	ck_assert_msg(qo_submit_wait(&s) == QO_OK, "%s", s.change.err.msg);
	memcpy(id, s.change.id, QO_UUID_SIZE);
	*e = s.change.entry;
	qo_submit_fini(&s);
}

/* With a large input and, when it ran, a log and a large output. */
static void
make(enum kind kind, const char *key, char id[QO_UUID_SIZE])
{
	struct qo_result res = { { large, sizeof(large) }, { "exit", "1" }, 0 };
	char log_key[QO_KEY_SIZE];
	struct qo_entry e;
	struct qo_claim cl;

	submit(key, id, &e);
	if (kind == CANCELLED)
		admin(id, QO_ADMIN_CANCEL, QO_OK);
	if (kind == WAITING || kind == CANCELLED) {
		qo_queue_flush(st.q);
		return;
	}
	qo_claim_init(&cl, st.q, &e, "w1");
	ck_assert_int_eq(qo_claim_take_wait(&cl, LEASE_MS), QO_OK);
	if (kind != RUNNING) {
		ck_assert_int_eq(qo_key_log(&st.q->layout, id, 1, log_key), 0);
		put_object("qo-index", log_key);
		ck_assert_int_eq(qo_commit_wait(&cl,
				     kind == FAILED ? QO_OUTCOME_FAILED
						    : QO_OUTCOME_COMPLETED,
				     &res),
		    QO_OK);
	}
	qo_claim_fini(&cl);
	if (kind == ARCHIVED)
		admin(id, QO_ADMIN_ARCHIVE, QO_OK);
	qo_queue_flush(st.q);
}

static bool
exists(const char *id)
{
	char key[QO_KEY_SIZE];

	(void)qo_key_task(&st.q->layout, id, key);
	return count("qo", key) == 1;
}

START_TEST(test_removes)
{
	char id[6][QO_UUID_SIZE];
	int i;

	for (i = WAITING; i <= ARCHIVED; i++)
		make((enum kind)i, NULL, id[i]);
	once(&mon);
	for (i = WAITING; i <= ARCHIVED; i++)
		ck_assert_msg(exists(id[i]) == (i <= RUNNING), "kind %d", i);
	/* Two inputs, of those that are not finished. */
	ck_assert_uint_eq(count("qo", "payloads/"), 2);
	ck_assert_uint_eq(count("qo-index", "logs/"), 0);
	ck_assert_uint_eq(count("qo-index", "failed/"), 0);
	ck_assert_uint_eq(count("qo", "qo-probe/"), 0);
	ck_assert_uint_eq(monitor_counted(&mon, BOARD_RETIRED), 4);
	ck_assert_uint_eq(monitor_counted(&mon, BOARD_INDEX_REPAIRS), 0);
	check_all("after");
}
END_TEST

/* The list alone says that they are young: nothing is read. */
START_TEST(test_young)
{
	char id[QO_UUID_SIZE];
	uint64_t n;

	make(COMPLETED, NULL, id);
	conf.retention_ms = HOUR;
	n = qo_s3_stats(st.s3)->requests[QO_S3_GET];
	once(&mon);
	/* One GET is the cursor's. */
	ck_assert_uint_le(qo_s3_stats(st.s3)->requests[QO_S3_GET] - n, 1);
	ck_assert(exists(id));
	ck_assert_uint_eq(count("qo", "payloads/"), 2);
}
END_TEST

static void
rewrite(const char *id, struct qo_wall retired_at, const char *workflow)
{
	struct qo_task t;
	struct buf b;
	struct qo_err err;
	struct qo_s3_req r;
	char key[QO_KEY_SIZE];

	live_store_task(&st, id, &t);
	t.retired_at = retired_at;
	t.workflow_id = workflow;
	t.rev++;
	t.updated_by = "another";
	buf_init(&b, QO_TASK_LEN_MAX);
	ck_assert_int_eq(qo_task_encode(&t, &b, &err), 0);
	(void)qo_key_task(&st.q->layout, id, key);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", key);
	r.body = b.data;
	r.body_len = b.len;
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
	buf_fini(&b);
	qo_task_fini(&t);
}

START_TEST(test_workflow_stays)
{
	char id[QO_UUID_SIZE];

	make(COMPLETED, NULL, id);
	rewrite(id, QO_WALL_NONE, "order-1");
	once(&mon);
	ck_assert(exists(id));
	ck_assert_uint_eq(count("qo", "payloads/"), 2);
}
END_TEST

/* Another's mark is left alone until its orders are void; nobody brings the
 * task back meanwhile. */
START_TEST(test_marked)
{
	char id[QO_UUID_SIZE], key[QO_KEY_SIZE], sha[65];

	sha256_hex(large, sizeof(large), sha);
	make(FAILED, NULL, id);
	rewrite(id, qo_queue_now(st.q), NULL);
	conf.orphan_grace_ms = 20 * 60000;
	once(&mon);
	ck_assert(exists(id));
	ck_assert_uint_eq(count("qo", "payloads/"), 1);
	admin(id, QO_ADMIN_REPLAY, QO_LOST);
	admin(id, QO_ADMIN_ARCHIVE, QO_LOST);
	/* That its payloads go first is no fault. */
	(void)qo_key_input(&st.q->layout, id, sha, key);
	delete_object("qo", key);
	ck_assert_uint_eq(count("qo", "payloads/"), 0);
	check_all("marked");
	conf.orphan_grace_ms = ANY_AGE;
	once(&mon);
	ck_assert(!exists(id));
	check_all("after");
}
END_TEST

/* The second line: a task that nobody would ever find. */
START_TEST(test_index_repair)
{
	char id[2][QO_UUID_SIZE], key[QO_KEY_SIZE];

	make(WAITING, NULL, id[0]);
	make(RUNNING, NULL, id[1]);
	once(&mon);
	ck_assert_uint_eq(monitor_counted(&mon, BOARD_INDEX_REPAIRS), 0);
	ck_assert_uint_eq(live_store_count(&st, "leases/", key), 1);
	delete_object("qo-index", key);
	ck_assert_uint_eq(live_store_count(&st, "ready/", key), 1);
	delete_object("qo-index", key);
	log_set_level(LOG_LVL_ERROR);
	once(&mon);
	ck_assert_uint_eq(monitor_counted(&mon, BOARD_INDEX_REPAIRS), 2);
	check_all("after");
}
END_TEST

/* A store that would delete whatever is there now. */
START_TEST(test_deaf_store)
{
	struct loop *l = loop_new();
	struct fake_s3 *fake = fake_s3_new(l, FAKE_S3_GOOD);
	struct qo_s3 *s3 = live_store_client(&st, l, fake_s3_url(fake));
	struct monitor m;
	struct qo_s3_req r;

	monitor_make(&m, &conf, &health, l, live_store_queue(&st, l, s3));
	qo_s3_req_init(&r, QO_S3_BUCKET_CREATE, "qo", NULL);
	qo_s3_wait(s3, &r);
	qo_s3_req_fini(&r);
	once(&m);
	ck_assert_uint_eq(qo_s3_stats(s3)->requests[QO_S3_LIST], 0);
	ck_assert_uint_eq(qo_s3_stats(s3)->requests[QO_S3_DELETE], 1);
	qo_queue_free(m.q);
	qo_s3_free(s3);
	fake_s3_free(fake);
	board_private_free(m.area);
	loop_free(l);
}
END_TEST

/* The cursor */

static void
on_cursor(struct cursor *c)
{
	(*(int *)c->arg)--;
}

static void
read_cursor(struct cursor *c)
{
	int left = 1;

	cursor_init(c, st.q);
	c->done = on_cursor;
	c->arg = &left;
	cursor_read(c);
	while (left > 0)
		loop_once(st.loop, -1);
	ck_assert_int_eq(c->rc, QO_OK);
}

/* Killed at the n-th point; true when it was. */
static bool
killed_at(unsigned n)
{
	struct monitor m;
	struct loop *l;
	pid_t pid;
	int status;

	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		l = loop_new();
		monitor_make(&m, &conf, &health, l,
		    live_store_queue(&st, l, live_store_client(&st, l, NULL)));
		fault_arm((long)n);
		once(&m);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	ck_assert_msg(status == 0, "point %u: status %d", n, status);
	return false;
}

START_TEST(test_cursor)
{
	enum {
		N = 13
	}; /* four pages */
	char id[N][QO_UUID_SIZE];
	struct cursor c;
	int i;

	for (i = 0; i < N; i++)
		make(CANCELLED, NULL, id[i]);
	/* A page takes about 70 points: far enough for the first one. */
	ck_assert(killed_at(110));
	read_cursor(&c);
	cursor_fini(&c);
	ck_assert_str_ne(c.at, "");
	ck_assert_uint_gt(count("qo", "tasks/"), 0);
	ck_assert(qo_wall_is_set(c.started));
	ck_assert(!qo_wall_is_set(c.ended));
	once(&mon);
	/* That went on; what the killed one had left behind the cursor is the
	 * next round's. */
	read_cursor(&c);
	ck_assert_str_eq(c.at, "");
	ck_assert(qo_wall_is_set(c.ended));
	cursor_fini(&c);
	ck_assert_uint_lt(monitor_counted(&mon, BOARD_RETIRED), N);
	once(&mon);
	ck_assert_uint_eq(count("qo", "tasks/"), 0);
	check_all("after");
}
END_TEST

/* A record that is none: retention begins anew. */
START_TEST(test_bad_cursor)
{
	struct cursor c;
	char id[QO_UUID_SIZE];

	put_object("qo", "control/retention.json");
	make(CANCELLED, NULL, id);
	once(&mon);
	ck_assert(!exists(id));
	read_cursor(&c);
	ck_assert(qo_wall_is_set(c.ended));
	cursor_fini(&c);
}
END_TEST

/*
 * kill -9 at every point; then somebody submits the same key with the same
 * input again, and another monitor finishes what was begun.  Whatever that
 * submit was told is true: its task is there with its input.
 */
START_TEST(test_every_point)
{
	char id[QO_UUID_SIZE], again[QO_UUID_SIZE], other[QO_UUID_SIZE];
	char key[32], when[64];
	struct qo_entry e;
	struct qo_task t;
	unsigned n;
	bool killed;

	make(WAITING, NULL, other);
	for (n = 1, killed = true; killed; n++) {
		ck_assert_uint_lt(n, POINTS_MAX);
		snprintf(key, sizeof(key), "key-%u", n);
		snprintf(when, sizeof(when), "point %u", n);
		make(n % 2 == 0 ? FAILED : COMPLETED, key, id);
		killed = killed_at(n);
		submit(key, again, &e);
		ck_assert_str_eq(again, id);
		live_store_task(&st, id, &t);
		if (t.status == QO_STATUS_PENDING)
			ck_assert_int_eq(t.rev, 1);
		once(&mon); /* from the cursor to the end */
		once(&mon);
		if (t.status == QO_STATUS_PENDING) {
			ck_assert_msg(exists(id), "%s: lost", when);
			check_all(when);
			admin(id, QO_ADMIN_CANCEL, QO_OK);
			once(&mon);
		}
		qo_task_fini(&t);
		ck_assert_msg(!exists(id), "%s: still there", when);
		check_all(when);
	}
	ck_assert_uint_gt(n, 30);
	fprintf(stderr, "retention: killed at %u points\n", n - 2);
	ck_assert(exists(other));
	ck_assert_uint_eq(count("qo", "payloads/"), 1);
	ck_assert_uint_eq(count("qo-index", "logs/"), 0);
	ck_assert_uint_eq(monitor_counted(&mon, BOARD_INDEX_REPAIRS), 0);
}
END_TEST

/* One who submits the same key stands still after the first, second, ... of
 * its requests, and goes on when the old task has been removed. */

static void
on_submitted(struct qo_submit *s)
{
	*(bool *)s->arg = true;
}

static uint64_t
answers(const struct qo_s3 *s3)
{
	uint64_t n = 0;
	size_t i, k;

	for (i = 0; i < QO_S3_OPS; i++)
		for (k = 0; k < QO_S3_OUTCOMES; k++)
			n += qo_s3_stats(s3)->outcomes[i][k];
	return n;
}

START_TEST(test_submit_again)
{
	struct loop *l = loop_new();
	struct qo_s3 *s3 = live_store_client(&st, l, NULL);
	struct qo_queue *q = live_store_queue(&st, l, s3);
	struct qo_submission sub;
	struct qo_submit s;
	char id[QO_UUID_SIZE];
	bool done = false;

	make(COMPLETED, "key", id);
	qo_submission_init(&sub);
	sub.task_type = "mail.send";
	sub.idempotency_key = "key";
	sub.input = (struct qo_json){ large, sizeof(large) };
	qo_submit_init(&s, q, &sub);
	s.done = on_submitted;
	s.arg = &done;
	qo_submit_start(&s);
	while (answers(s3) < (uint64_t)_i && !done)
		loop_once(l, -1);
	once(&mon);
	ck_assert(done || !exists(id));
	while (!done)
		loop_once(l, -1);
	ck_assert_int_eq(s.change.rc, QO_OK);
	/* Told of the old one, before it went, or made a new one; nothing is
	 * written beside one that is there, for it may be going. */
	ck_assert(s.change.existed || exists(id));
	if (s.change.existed)
		ck_assert_uint_eq(qo_s3_stats(s3)->requests[QO_S3_PUT], 0);
	check_all("again");
	qo_submit_fini(&s);
	qo_queue_free(q);
	qo_s3_free(s3);
	loop_free(l);
}
END_TEST

static void
on_retired(struct retire *r)
{
	*(bool *)r->arg = true;
}

/* One that stood still before its last step, while another finished the work
 * and a new task of the same key was made: that one is not hit. */
START_TEST(test_late_delete)
{
	char id[QO_UUID_SIZE], again[QO_UUID_SIZE];
	struct qo_entry e;
	struct retire *r = xcalloc(1, sizeof(*r));
	bool done = false;

	make(COMPLETED, "key", id);
	retire_init(r, &mon, id);
	r->settle_ms = 600000;
	r->done = on_retired;
	r->arg = &done;
	retire_start(r);
	while (!loop_timer_is_set(&r->pause))
		loop_once(st.loop, -1);
	once(&mon);
	ck_assert(!exists(id));
	submit("key", again, &e);
	ck_assert_str_eq(again, id);
	loop_timer_set_ms(st.loop, &r->pause, 0, r->pause.cb, r);
	while (!done)
		loop_once(st.loop, -1);
	ck_assert_int_eq(r->rc, QO_OK);
	ck_assert(!r->removed);
	ck_assert(exists(id));
	check_all("late");
	retire_fini(r);
	free(r);
}
END_TEST

/* Two at once. */
START_TEST(test_two)
{
	enum {
		N = 20
	};
	char id[QO_UUID_SIZE];
	struct qo_s3 *s3 = live_store_client(&st, st.loop, NULL);
	struct monitor other;
	struct retention *a, *b;
	int i, left = 2;

	for (i = 0; i < N; i++)
		make(COMPLETED, NULL, id);
	monitor_make(&other, &conf, &health, st.loop,
	    live_store_queue(&st, st.loop, s3));
	conf.orphan_grace_ms = 20 * 60000;
	a = retention_new(&mon, &fast);
	b = retention_new(&other, &fast);
	retention_once(a, monitor_done, &left);
	retention_once(b, monitor_done, &left);
	while (left > 0)
		loop_once(st.loop, -1);
	retention_free(a);
	retention_free(b);
	ck_assert_uint_le(monitor_counted(&mon, BOARD_RETIRED) +
		monitor_counted(&other, BOARD_RETIRED),
	    N);
	/* Whoever was late on the cursor has left it to the other. */
	once(&mon);
	once(&mon);
	ck_assert_uint_eq(count("qo", "tasks/"), 0);
	ck_assert_uint_eq(count("qo", "payloads/"), 0);
	ck_assert_uint_eq(monitor_counted(&mon, BOARD_RETIRED) +
		monitor_counted(&other, BOARD_RETIRED),
	    N);
	qo_queue_free(other.q);
	qo_s3_free(s3);
	board_private_free(other.area);
}
END_TEST

/* The decision */

START_TEST(test_judge)
{
	struct conf_monitor c = { .retention_ms = HOUR,
		.orphan_grace_ms = 20 * 60000 };
	struct qo_wall now = { INT64_C(1800000000) * QO_US_PER_SEC };
	struct qo_task t;

	qo_task_init(&t);
	t.updated_at = now;
	t.status = QO_STATUS_PENDING;
	ck_assert_int_eq(retire_judge(&t, &c, now), RETIRE_CHECK);
	t.status = QO_STATUS_RUNNING;
	t.updated_at.us -= 2 * HOUR * QO_US_PER_MS;
	ck_assert_int_eq(retire_judge(&t, &c, now), RETIRE_CHECK);
	t.status = QO_STATUS_COMPLETED;
	ck_assert_int_eq(retire_judge(&t, &c, now), RETIRE_MARK);
	ck_assert_int_eq(retire_judge(&t, &c, QO_WALL_NONE), RETIRE_KEEP);
	t.updated_at.us = now.us - HOUR * QO_US_PER_MS;
	ck_assert_int_eq(retire_judge(&t, &c, now), RETIRE_KEEP);
	t.updated_at.us--;
	ck_assert_int_eq(retire_judge(&t, &c, now), RETIRE_MARK);
	t.workflow_id = "w";
	ck_assert_int_eq(retire_judge(&t, &c, now), RETIRE_KEEP);
	t.workflow_id = NULL;
	t.retired_at.us = now.us - 19 * 60 * QO_US_PER_SEC;
	ck_assert_int_eq(retire_judge(&t, &c, now), RETIRE_WAIT);
	t.retired_at.us = now.us - 21 * 60 * QO_US_PER_SEC;
	ck_assert_int_eq(retire_judge(&t, &c, now), RETIRE_MARK);
	qo_task_fini(&t);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("monitor_retention");
	TCase *tc = tcase_create("retention"), *pure = tcase_create("pure");

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_removes);
	tcase_add_test(tc, test_young);
	tcase_add_test(tc, test_workflow_stays);
	tcase_add_test(tc, test_marked);
	tcase_add_test(tc, test_index_repair);
	tcase_add_test(tc, test_deaf_store);
	tcase_add_test(tc, test_cursor);
	tcase_add_test(tc, test_bad_cursor);
	tcase_add_test(tc, test_every_point);
	tcase_add_loop_test(tc, test_submit_again, 0, 7);
	tcase_add_test(tc, test_late_delete);
	tcase_add_test(tc, test_two);
	suite_add_tcase(s, tc);
	tcase_add_test(pure, test_judge);
	suite_add_tcase(s, pure);
	return run_suite(s);
}
