/*
 * Schedules on the real store: whatever dies, and however many fire, each
 * time that is due becomes exactly one task.  The queue's clock is set by the
 * test; what is in the bucket is read by a client of its own and compared
 * with times that were found by looking at every minute.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"
#include "faultproxy.h"
#include "live_store.h"
#include "rfc3339.h"
#include "rules.h"
#include "run_suite.h"
#include "schedule_fire.h"
#include "schedule_ops.h"
#include "walk.h"
#include "xalloc.h"

#define POINTS_MAX 200
#define TASKS_MAX  4000

static struct live_store st;
static struct conf_submit defaults;
static struct qo_wall fake_now;

struct qo_wall __wrap_qo_queue_now(const struct qo_queue *q);

struct qo_wall
__wrap_qo_queue_now(const struct qo_queue *q)
{
	(void)q;
	return fake_now;
}

static struct qo_wall
at(const char *text)
{
	struct qo_wall t;

	ck_assert_int_eq(qo_rfc3339_parse(text, strlen(text), &t), 0);
	return t;
}

static struct qo_wall
plus(struct qo_wall t, int64_t seconds)
{
	t.us += seconds * QO_US_PER_SEC;
	return t;
}

static void
setup(void)
{
	struct qo_s3_req r;

	defaults.timeout_ms = 60000;
	defaults.retries = 3;
	defaults.retry_initial_interval_ms = 1000;
	defaults.retry_max_interval_ms = 60000;
	defaults.retry_multiplier = 2.0;
	live_store_start(&st);
	/* So that the store's time is known. */
	qo_s3_req_init(&r, QO_S3_BUCKET_HEAD, "qo", NULL);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
	fake_now = at("2026-01-28T11:59:00Z");
}

static void
teardown(void)
{
	live_store_stop(&st);
}

/* Doing */

static void
add(const char *id, const char *cron, const char *zone, enum qo_catch_up c,
    enum qo_overlap o)
{
	struct qo_schedule want, got;
	struct qo_err err = { 0 };

	qo_schedule_init(&want);
	want.id = id;
	want.cron = cron;
	want.timezone = zone;
	want.task_type = "test.run";
	want.catch_up = c;
	want.overlap = o;
	ck_assert_msg(qo_schedule_put(st.q, &want, false, &got, &err) == QO_OK,
	    "%s", err.msg);
	qo_schedule_fini(&got);
}

static enum qo_rc
fire_with(struct qo_queue *q, const char *id, struct qo_err *err)
{
	struct qo_fire *f = xcalloc(1, sizeof(*f));
	enum qo_rc rc;

	qo_fire_init(f, q, &defaults, id);
	rc = qo_fire_wait(f);
	*err = f->err;
	qo_fire_fini(f);
	free(f);
	return rc;
}

static void
fire(const char *id)
{
	struct qo_err err = { 0 };

	ck_assert_msg(fire_with(st.q, id, &err) == QO_OK, "%s", err.msg);
}

/* Another monitor; n: dies at that crash point, 0: at none. */
static pid_t
monitor(const char *const *ids, size_t nids, unsigned n)
{
	struct qo_queue *q;
	struct qo_err err;
	struct loop *l;
	pid_t pid;
	size_t i;

	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid != 0)
		return pid;
	l = loop_new();
	q = live_store_queue(&st, l, live_store_client(&st, l, NULL));
	fault_arm(n);
	for (i = 0; i < nids; i++)
		if (fire_with(q, ids[i], &err) != QO_OK)
			_exit(1);
	_exit(0);
}

/* True: it was killed. */
static bool
ended(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	ck_assert_int_eq(status, 0);
	return false;
}

/* Looking */

static void
read_schedule(const char *id, struct qo_schedule *s)
{
	struct qo_err err = { 0 };

	ck_assert_msg(qo_schedule_read(st.q, id, s, &err) == QO_OK, "%s",
	    err.msg);
}

static struct {
	char *ids[TASKS_MAX];
	size_t n;
	bool ended;
} tasks;

static bool
on_task(struct qo_walk *w, const struct qo_s3_entry *e)
{
	const char *slash = strrchr(e->key, '/');

	(void)w;
	ck_assert_uint_lt(tasks.n, TASKS_MAX);
	tasks.ids[tasks.n++] = xmemdup0(slash + 1, QO_UUID_SIZE - 1);
	return true;
}

static void
on_walked(struct qo_walk *w)
{
	ck_assert_int_eq(w->rc, QO_OK);
	tasks.ended = true;
}

static void
list_tasks(void)
{
	struct qo_walk w;

	while (tasks.n > 0)
		free(tasks.ids[--tasks.n]);
	tasks.ended = false;
	qo_walk_init(&w, st.s3, "qo");
	snprintf(w.prefix, sizeof(w.prefix), "tasks/");
	w.entry = on_task;
	w.done = on_walked;
	qo_walk_start(&w);
	while (!tasks.ended)
		loop_once(st.loop, -1);
	qo_walk_fini(&w);
}

static int
by_time(const void *a, const void *b)
{
	const struct qo_wall *x = a, *y = b;

	return x->us < y->us ? -1 : x->us > y->us;
}

/* The due times of all tasks of this schedule, by what is in them. */
static size_t
due_in_bucket(const char *id, struct qo_wall *due)
{
	char who[QO_SCHEDULE_WHO_SIZE], derived[QO_UUID_SIZE];
	struct qo_task t;
	size_t i, n = 0;

	qo_schedule_who(id, who);
	list_tasks();
	for (i = 0; i < tasks.n; i++) {
		live_store_task(&st, tasks.ids[i], &t);
		if (strcmp(t.submitted_by, who) == 0) {
			qo_schedule_task_id("", id, t.available_at, derived);
			ck_assert_str_eq(t.id, derived);
			rules_check(&st, t.id, id);
			due[n++] = t.available_at;
		}
		qo_task_fini(&t);
	}
	qsort(due, n, sizeof(*due), by_time);
	return n;
}

static void
check_bucket(const char *id, const struct qo_wall *want, size_t nwant)
{
	static struct qo_wall got[TASKS_MAX];
	char a[QO_RFC3339_SIZE], b[QO_RFC3339_SIZE];
	size_t i, n = due_in_bucket(id, got);

	for (i = 0; i < n && i < nwant; i++) {
		qo_rfc3339_print(got[i], a);
		qo_rfc3339_print(want[i], b);
		ck_assert_msg(got[i].us == want[i].us,
		    "%s: run %zu is %s, not "
		    "%s",
		    id, i, a, b);
	}
	ck_assert_msg(n == nwant, "%s: %zu runs, not %zu", id, n, nwant);
}

static void
check_settled(const char *id, enum qo_decision decision, struct qo_wall due)
{
	struct qo_schedule s;

	read_schedule(id, &s);
	ck_assert_uint_eq(s.nfiring, 0);
	ck_assert_ptr_null(s.cancelling);
	ck_assert_int_eq(s.last_decision, decision);
	ck_assert_int_eq(s.last_due.us, due.us);
	ck_assert_int_gt(s.next_due.us, fake_now.us);
	qo_schedule_fini(&s);
}

/* Single cases */

START_TEST(test_once)
{
	struct qo_wall due = at("2026-01-28T12:00:00Z");
	struct qo_schedule s;
	struct qo_task t;

	add("s", "0 * * * *", "UTC", QO_CATCH_UP_SKIP, QO_OVERLAP_ALLOW);
	fire("s"); /* a minute too early */
	check_bucket("s", NULL, 0);
	fake_now = plus(due, 1);
	fire("s");
	fire("s");
	check_bucket("s", &due, 1);
	check_settled("s", QO_DECISION_RUN, due);
	read_schedule("s", &s);
	live_store_task(&st, s.last_task_id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_PENDING);
	ck_assert_int_eq(t.timeout_seconds, 60);
	qo_task_fini(&t);
	qo_schedule_fini(&s);
}
END_TEST

/* Nobody was there for an hour and more. */
START_TEST(test_catch_up)
{
	static struct qo_wall want[TASKS_MAX];
	size_t i;

	add("skip", "@every 30s", "UTC", QO_CATCH_UP_SKIP, QO_OVERLAP_ALLOW);
	add("last", "0 12 * * *", "UTC", QO_CATCH_UP_LAST, QO_OVERLAP_ALLOW);
	add("all", "@every 3s", "UTC", QO_CATCH_UP_ALL, QO_OVERLAP_ALLOW);
	fake_now = plus(fake_now, 3605); /* 12:59:05 */
	fire("skip");
	fire("last");
	fire("all");
	/* On time are those of the last minute. */
	want[0] = at("2026-01-28T12:58:30Z");
	want[1] = at("2026-01-28T12:59:00Z");
	check_bucket("skip", want, 2);
	want[0] = at("2026-01-28T12:00:00Z");
	check_bucket("last", want, 1);
	/* More than one decision holds. */
	for (i = 0; i < 1201; i++)
		want[i] = plus(at("2026-01-28T11:59:03Z"), 3 * (int64_t)i);
	check_bucket("all", want, 1201);
	check_settled("all", QO_DECISION_RUN, want[1200]);
}
END_TEST

START_TEST(test_missed)
{
	add("s", "0 * * * *", "UTC", QO_CATCH_UP_SKIP, QO_OVERLAP_ALLOW);
	fake_now = at("2026-01-28T15:30:00Z");
	fire("s");
	check_bucket("s", NULL, 0);
	check_settled("s", QO_DECISION_MISSED, at("2026-01-28T15:00:00Z"));
}
END_TEST

static void
end_run(const char *id)
{
	struct qo_admin a;

	qo_admin_init(&a, st.q, QO_ADMIN_CANCEL, id);
	ck_assert_int_eq(qo_admin_wait(&a), QO_OK);
	qo_admin_fini(&a);
}

START_TEST(test_overlap_skip)
{
	struct qo_wall want[2] = { at("2026-01-28T12:00:00Z"),
		at("2026-01-28T14:00:00Z") };
	char first[QO_UUID_SIZE];
	struct qo_schedule s;

	add("s", "0 * * * *", "UTC", QO_CATCH_UP_SKIP, QO_OVERLAP_SKIP);
	fake_now = want[0];
	fire("s");
	qo_schedule_task_id("", "s", want[0], first);
	fake_now = at("2026-01-28T13:00:00Z");
	fire("s");
	check_bucket("s", want, 1);
	check_settled("s", QO_DECISION_SKIPPED, fake_now);
	read_schedule("s", &s);
	ck_assert_str_eq(s.last_task_id, first); /* of the one that ran */
	qo_schedule_fini(&s);
	end_run(first);
	fake_now = want[1];
	fire("s");
	check_bucket("s", want, 2);
	check_settled("s", QO_DECISION_RUN, want[1]);
}
END_TEST

START_TEST(test_overlap_cancel)
{
	struct qo_wall want[2] = { at("2026-01-28T12:00:00Z"),
		at("2026-01-28T13:00:00Z") };
	char id[QO_UUID_SIZE];
	struct qo_task t;

	add("s", "0 * * * *", "UTC", QO_CATCH_UP_SKIP, QO_OVERLAP_CANCEL);
	fake_now = want[0];
	fire("s");
	fake_now = want[1];
	fire("s");
	check_bucket("s", want, 2);
	check_settled("s", QO_DECISION_RUN, want[1]);
	qo_schedule_task_id("", "s", want[0], id);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_CANCELLED);
	ck_assert_str_eq(t.cancelled_by, "schedule:s");
	qo_task_fini(&t);
	qo_schedule_task_id("", "s", want[1], id);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_PENDING);
	qo_task_fini(&t);
}
END_TEST

static void
delete_task(const char *id)
{
	char key[QO_KEY_SIZE];
	struct qo_s3_req r;

	ck_assert_int_eq(qo_key_task(&st.q->layout, id, key), 0);
	qo_s3_req_init(&r, QO_S3_DELETE, "qo", key);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
}

/* Retention took the task: the run is over and does not come back. */
START_TEST(test_retired)
{
	struct qo_wall due = at("2026-01-28T12:00:00Z");
	enum qo_overlap o;
	char id[QO_UUID_SIZE], name[2] = "a";

	for (o = QO_OVERLAP_ALLOW; o <= QO_OVERLAP_CANCEL; o++, name[0]++) {
		fake_now = at("2026-01-28T11:59:00Z");
		add(name, "0 12,13 * * *", "UTC", QO_CATCH_UP_ALL, o);
		fake_now = due;
		fire(name);
		qo_schedule_task_id("", name, due, id);
		end_run(id);
		delete_task(id);
		fake_now = plus(due, 1800);
		fire(name);
		check_bucket(name, NULL, 0);
		fake_now = plus(due, 3600);
		fire(name);
		check_bucket(name, &fake_now, 1);
	}
}
END_TEST

/* What is at hand is old: somebody has paused the schedule since.  Nothing
 * runs, and the pause is not undone. */
START_TEST(test_stale)
{
	struct qo_fire *f = xcalloc(1, sizeof(*f));
	struct qo_schedule s;
	struct qo_err err;
	bool changed;

	add("s", "0 * * * *", "UTC", QO_CATCH_UP_ALL, QO_OVERLAP_ALLOW);
	qo_fire_init(f, st.q, &defaults, "s");
	read_schedule("s", &f->change.s);
	f->change.loaded = true;
	ck_assert_int_eq(qo_schedule_pause(st.q, "s", true, &s, &changed, &err),
	    QO_OK);
	qo_schedule_fini(&s);
	fake_now = at("2026-01-28T12:00:00Z");
	ck_assert_int_eq(qo_fire_wait(f), QO_OK);
	check_bucket("s", NULL, 0);
	ck_assert(f->change.s.paused);
	read_schedule("s", &s);
	ck_assert(s.paused);
	ck_assert_int_eq(s.rev, 2);
	qo_schedule_fini(&s);
	qo_fire_fini(f);
	free(f);
}
END_TEST

/* What was firing when it was read has been done, and its task is gone:
 * nothing is done again. */
START_TEST(test_stale_firing)
{
	struct qo_wall due = at("2026-01-28T12:00:00Z");
	struct qo_fire *f = xcalloc(1, sizeof(*f));
	char id[QO_UUID_SIZE];

	add("s", "0 * * * *", "UTC", QO_CATCH_UP_ALL, QO_OVERLAP_ALLOW);
	fake_now = due;
	fire("s");
	qo_schedule_task_id("", "s", due, id);
	delete_task(id);
	qo_fire_init(f, st.q, &defaults, "s");
	read_schedule("s", &f->change.s);
	qo_schedule_set_firing(&f->change.s, &due, 1);
	f->change.loaded = true;
	ck_assert_int_eq(qo_fire_wait(f), QO_OK);
	check_bucket("s", NULL, 0);
	qo_fire_fini(f);
	free(f);
}
END_TEST

/* What people do */

START_TEST(test_ops)
{
	struct qo_schedule want, got;
	struct qo_err err = { 0 };
	bool changed;

	add("s", "0 * * * *", "UTC", QO_CATCH_UP_ALL, QO_OVERLAP_ALLOW);
	qo_schedule_init(&want);
	want.id = "s";
	want.cron = "0 * * * *";
	want.task_type = "test.other";
	ck_assert_int_eq(qo_schedule_put(st.q, &want, false, &got, &err),
	    QO_LOST);
	/* The same times: next_due stays, although it has come. */
	fake_now = at("2026-01-28T12:00:30Z");
	ck_assert_int_eq(qo_schedule_put(st.q, &want, true, &got, &err), QO_OK);
	ck_assert_int_eq(got.next_due.us, at("2026-01-28T12:00:00Z").us);
	ck_assert_int_eq(got.rev, 2);
	ck_assert_str_eq(got.task_type, "test.other");
	qo_schedule_fini(&got);
	/* Other times: from now on. */
	want.cron = "30 * * * *";
	ck_assert_int_eq(qo_schedule_put(st.q, &want, true, &got, &err), QO_OK);
	ck_assert_int_eq(got.next_due.us, at("2026-01-28T12:30:00Z").us);
	qo_schedule_fini(&got);
	ck_assert_int_eq(qo_schedule_pause(st.q, "s", true, &got, &changed,
			     &err),
	    QO_OK);
	ck_assert(changed);
	ck_assert(!qo_wall_is_set(got.next_due));
	qo_schedule_fini(&got);
	fake_now = at("2026-01-28T14:30:10Z");
	fire("s");
	check_bucket("s", NULL, 0);
	ck_assert_int_eq(qo_schedule_pause(st.q, "s", false, &got, &changed,
			     &err),
	    QO_OK);
	ck_assert_int_eq(got.next_due.us, at("2026-01-28T15:30:00Z").us);
	qo_schedule_fini(&got);
	ck_assert_int_eq(qo_schedule_pause(st.q, "s", false, &got, &changed,
			     &err),
	    QO_OK);
	ck_assert(!changed);
	qo_schedule_fini(&got);
	ck_assert_int_eq(qo_schedule_delete(st.q, "s", &err), QO_OK);
	ck_assert_int_eq(qo_schedule_delete(st.q, "s", &err), QO_NOENT);
	ck_assert_int_eq(qo_schedule_read(st.q, "s", &got, &err), QO_NOENT);
	ck_assert_int_eq(fire_with(st.q, "s", &err), QO_NOENT);
}
END_TEST

/* A monitor dies between any two requests, and another one comes. */

START_TEST(test_crash)
{
	static struct qo_wall want[POINTS_MAX];
	const char *const ids[] = { "s" };
	struct qo_task t;
	char id[QO_UUID_SIZE];
	unsigned n;
	bool killed = true;

	add("s", "* * * * *", "UTC", QO_CATCH_UP_ALL, (enum qo_overlap)_i);
	for (n = 1; killed; n++) {
		ck_assert_uint_lt(n, POINTS_MAX);
		fake_now = want[n - 1] = plus(at("2026-01-28T12:00:00Z"),
		    60 * ((int64_t)n - 1));
		killed = ended(monitor(ids, 1, n));
		fire("s");
		if (_i != QO_OVERLAP_SKIP)
			continue;
		/* So that the next one is not skipped. */
		qo_schedule_task_id("", "s", fake_now, id);
		end_run(id);
	}
	/* The write of the decision, the submit and the second write. */
	ck_assert_uint_gt(n, 15);
	check_bucket("s", want, n - 1);
	check_settled("s", QO_DECISION_RUN, fake_now);
	for (; _i == QO_OVERLAP_CANCEL && n > 2; n--) {
		qo_schedule_task_id("", "s", want[n - 3], id);
		live_store_task(&st, id, &t);
		ck_assert_int_eq(t.status, QO_STATUS_CANCELLED);
		qo_task_fini(&t);
	}
}
END_TEST

/* Answers are lost, requests refused, writes made twice. */
START_TEST(test_lost_answers)
{
	static const char *const faults[] = { "drop PUT cond count=1",
		"drop PUT cond nth=2 count=1", "drop PUT cond nth=3 count=1",
		"refuse PUT cond count=2 status=500",
		"after PUT cond count=1 status=500", "after PUT p=0.5",
		"twice PUT cond p=0.5", "drop p=0.3", "drop GET count=1" };
	struct qo_wall want[2 * sizeof(faults) / sizeof(faults[0])];
	struct faultproxy *proxy = faultproxy_start(st.url, 0, NULL);
	struct loop *l = loop_new();
	struct qo_s3 *s3;
	struct qo_queue *q;
	struct qo_err err;
	enum qo_rc rc;
	size_t i, n = sizeof(want) / sizeof(want[0]);

	ck_assert_ptr_nonnull(proxy);
	s3 = live_store_client(&st, l, faultproxy_url(proxy));
	q = live_store_queue(&st, l, s3);
	add("s", "* * * * *", "UTC", QO_CATCH_UP_ALL, QO_OVERLAP_CANCEL);
	for (i = 0; i < n; i++) {
		fake_now = want[i] = plus(at("2026-01-28T12:00:00Z"),
		    60 * (int64_t)i);
		ck_assert_int_eq(faultproxy_rule(proxy, faults[i / 2]), 0);
		rc = fire_with(q, "s", &err);
		/* One lost answer is found out about, and all is done. */
		if (strstr(faults[i / 2], "count=1") != NULL) {
			ck_assert_msg(rc == QO_OK, "%s", err.msg);
			check_settled("s", QO_DECISION_RUN, want[i]);
		}
		/* What is left to chance may not happen. */
		ck_assert_msg(faultproxy_hits(proxy) > 0 ||
			strstr(faults[i / 2], "p=") != NULL,
		    "%s", faults[i / 2]);
		faultproxy_clear(proxy);
		fire("s");
	}
	check_bucket("s", want, n);
	check_settled("s", QO_DECISION_RUN, want[n - 1]);
	qo_queue_free(q);
	qo_s3_free(s3);
	loop_free(l);
	faultproxy_stop(proxy);
}
END_TEST

/*
 * A day on which the clock changes, two monitors, and either may die at any
 * request.  The clocks of the two differ a little, as clocks do.
 */
static const struct {
	const char *from, *to, *zone;
} days[] = {
	{ "2026-03-28T21:00:30Z", "2026-03-29T23:30:00Z", "Europe/Berlin" },
	{ "2026-10-24T21:00:30Z", "2026-10-25T23:30:00Z", "Europe/Berlin" },
	{ "2026-10-03T11:00:30Z", "2026-10-04T14:30:00Z",
	    "Australia/Lord_Howe" },
	{ "2026-04-04T11:00:30Z", "2026-04-05T14:30:00Z",
	    "Australia/Lord_Howe" },
};
static const char *const crons[] = { "30 * * * *", "30 2 * * *",
	"*/20 1-3 * * *", "15 */4 * * *" };
static const char *const names[] = { "hourly", "night", "thrice", "fourth" };
#define NCRONS (sizeof(crons) / sizeof(crons[0]))

/* Does a clock that shows this fit the expression? */
static bool
fits(const struct qo_cron *c, int64_t local_s)
{
	int64_t second = ((local_s % 86400) + 86400) % 86400;

	return second % 60 == 0 && (c->minutes >> (second / 60 % 60) & 1) &&
	    (c->hours >> (second / 3600) & 1);
}

/* All times of the day, by looking at every minute of it. */
static size_t
count_day(const char *cron, const struct qo_tz *tz, struct qo_wall from,
    struct qo_wall to, struct qo_wall *out)
{
	struct qo_tz_period p;
	struct qo_cron c;
	struct qo_err err;
	int64_t t = from.us / QO_US_PER_SEC / 60 * 60, high = INT64_MIN, now;
	size_t n = 0;
	bool hit;

	ck_assert_int_eq(qo_cron_parse(&c, cron, &err), 0);
	for (; t * QO_US_PER_SEC <= to.us; t += 60) {
		qo_tz_period(tz, t, &p);
		now = t + p.offset_s;
		if (high == INT64_MIN)
			high = now;
		hit = c.running && fits(&c, now);
		for (; !c.running && high < now; high += 60)
			hit |= fits(&c, high + 60);
		if (hit && t * QO_US_PER_SEC > from.us)
			out[n++].us = t * QO_US_PER_SEC;
	}
	return n;
}

static struct qo_wall
next_of_any(const struct qo_tz *tz, struct qo_wall after)
{
	struct qo_wall first = { INT64_MAX }, t;
	struct qo_cron c;
	struct qo_err err;
	size_t i;

	for (i = 0; i < NCRONS; i++) {
		ck_assert_int_eq(qo_cron_parse(&c, crons[i], &err), 0);
		ck_assert(qo_cron_next(&c, tz, after, &t));
		if (t.us < first.us)
			first = t;
	}
	return first;
}

START_TEST(test_day)
{
	static struct qo_wall want[200];
	struct qo_wall from = at(days[_i].from), to = at(days[_i].to), due;
	struct qo_err err;
	struct qo_tz *tz;
	pid_t a, b;
	size_t i, n, deaths = 0, rounds = 0;

	tz = qo_tz_open(days[_i].zone, &err);
	ck_assert_msg(tz != NULL, "%s", err.msg);
	fake_now = from;
	for (i = 0; i < NCRONS; i++)
		add(names[i], crons[i], days[_i].zone, QO_CATCH_UP_ALL,
		    QO_OVERLAP_ALLOW);
	srand48(_i);
	for (due = next_of_any(tz, from); due.us <= to.us;
	     due = next_of_any(tz, due)) {
		fake_now = plus(due, lrand48() % 3);
		a = monitor(names, NCRONS, (unsigned)lrand48() % 40);
		fake_now = plus(due, lrand48() % 3);
		b = monitor(names, NCRONS, (unsigned)lrand48() % 40);
		deaths += ended(a);
		deaths += ended(b);
		rounds++;
	}
	/* In the end somebody lives. */
	fake_now = to;
	for (i = 0; i < NCRONS; i++)
		fire(names[i]);
	for (i = 0; i < NCRONS; i++) {
		n = count_day(crons[i], tz, from, to, want);
		ck_assert_uint_gt(n, 0);
		check_bucket(names[i], want, n);
		check_settled(names[i], QO_DECISION_RUN, want[n - 1]);
	}
	/* They did die. */
	ck_assert_uint_gt(deaths, rounds / 2);
	qo_tz_free(tz);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("schedule_fire");
	TCase *tc = tcase_create("fire");

	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_once);
	tcase_add_test(tc, test_catch_up);
	tcase_add_test(tc, test_missed);
	tcase_add_test(tc, test_overlap_skip);
	tcase_add_test(tc, test_overlap_cancel);
	tcase_add_test(tc, test_retired);
	tcase_add_test(tc, test_stale);
	tcase_add_test(tc, test_stale_firing);
	tcase_add_test(tc, test_ops);
	tcase_add_loop_test(tc, test_crash, 0, 3);
	tcase_add_test(tc, test_lost_answers);
	tcase_add_loop_test(tc, test_day, 0, sizeof(days) / sizeof(days[0]));
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
