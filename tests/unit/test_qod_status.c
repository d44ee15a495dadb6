/*
 * The status of qod: what is in it, that its readers understand it, and that
 * it stays bounded.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../qod/child.h"
#include "../../qod/control.h"
#include "../../qod/roles.h"
#include "../../qod/status.h"
#include "json.h"
#include "qodstatus.h"
#include "run_suite.h"

static struct qod q;
static struct generation gen;
static struct buf b;

static void
setup(void)
{
	struct qo_err err;

	memset(&q, 0, sizeof(q));
	memset(&gen, 0, sizeof(gen));
	TAILQ_INIT(&q.children);
	TAILQ_INIT(&q.lost);
	q.loop = loop_new();
	q.board = board_create(&err);
	q.file = "/etc/qo/\"odd\"\n.conf";
	q.started = qo_wall_local();
	gen.number = 3;
	gen.refs = 1000;
	q.gen = &gen;
	buf_init(&b, CONTROL_ANSWER_MAX);
}

static void
teardown(void)
{
	struct child *c;

	while ((c = TAILQ_FIRST(&q.children)) != NULL) {
		c->pid = 0;
		child_free(c);
	}
	board_free(q.board);
	loop_free(q.loop);
	buf_fini(&b);
}

/* A child that runs, with an area of its own. */
static struct child *
add_child(const char *role, int index, size_t slots, struct board_area **area)
{
	const struct qod_role *r = roles_find(role);
	struct child *c = child_new(&q, r, index, &gen);
	struct qo_err err;

	c->area = board_alloc(q.board, r->kind, index, gen.number, slots, 2,
	    &err);
	ck_assert_msg(c->area != -1, "%s", err.msg);
	*area = board_own(q.board, c->area, &err);
	ck_assert_msg(*area != NULL, "%s", err.msg);
	c->pid = getpid();
	c->state = CHILD_READY;
	c->started = qo_mono_now();
	return c;
}

static void
read_back(struct qodstatus *st)
{
	static const struct qo_json_limits limits = { CONTROL_ANSWER_MAX, 16,
		true };
	struct qo_err err;

	buf_reset(&b);
	status_add(&q, &b);
	ck_assert(!buf_failed(&b));
	ck_assert_msg(qo_json_check(b.data, b.len, &limits, &err) == 0, "%s",
	    err.msg);
	ck_assert_msg(qodstatus_read(st, b.data, b.len, &err) == 0, "%s",
	    err.msg);
}

static void
fill_slot(struct board_area *a, size_t i, const char *type)
{
	struct board_task t = {
		.attempt = 2, .started_ms = 1769601600000, .handler = 77
	};

	snprintf(t.task_id, sizeof(t.task_id),
	    "%08zx-0000-4000-8000-000000000000", i);
	strlcpy(t.lease_id, t.task_id, sizeof(t.lease_id));
	strlcpy(t.type, type, sizeof(t.type));
	board_slot_set(a, i, &t);
}

START_TEST(an_empty_one)
{
	struct qodstatus st;

	read_back(&st);
	ck_assert_str_eq(st.state, "starting");
	ck_assert_str_eq(st.config, q.file);
	ck_assert_int_eq(st.generation, 3);
	ck_assert_int_eq(st.pid, getpid());
	ck_assert_uint_eq(st.nchildren, 0);
	ck_assert(!qo_wall_is_set(st.reload_at));
	qodstatus_fini(&st);
}
END_TEST

START_TEST(states)
{
	q.announced = true;
	ck_assert_str_eq(status_state(&q), "running");
	q.quiet = true;
	ck_assert_str_eq(status_state(&q), "quiet");
	q.phase = RELOAD_STARTING;
	ck_assert_str_eq(status_state(&q), "reloading");
	q.stopping = true;
	ck_assert_str_eq(status_state(&q), "stopping");
}
END_TEST

START_TEST(children_and_tasks)
{
	struct board_area *worker, *monitor;
	const struct qodstatus_child *c;
	struct qodstatus st;
	struct child *ch;

	ch = add_child("worker", 4, 8, &worker);
	ch->restarts = 2;
	strlcpy(ch->why, "killed by signal 9 (Killed)", sizeof(ch->why));
	strlcpy(ch->note, "not \x1b[2J \xff well", sizeof(ch->note));
	board_add(worker, BOARD_COMPLETED, 7);
	board_add(worker, BOARD_S3_OPS + 2, 5);
	board_set_name(worker, "host-1");
	fill_slot(worker, 3, "a.b");
	add_child("monitor", 0, 0, &monitor);
	board_gauge(monitor, BOARD_READY_TASKS, 12);
	board_gauge(monitor, BOARD_OLDEST_READY_MS, -1);
	read_back(&st);
	ck_assert_uint_eq(st.nchildren, 2);
	c = &st.children[0];
	ck_assert_str_eq(c->role, "worker");
	ck_assert_str_eq(c->state, "ready");
	ck_assert_str_eq(c->name, "host-1");
	ck_assert_str_eq(c->last_exit, "killed by signal 9 (Killed)");
	ck_assert_int_eq(c->index, 4);
	ck_assert_int_eq(c->restarts, 2);
	ck_assert_int_eq(c->slots, 8);
	ck_assert_int_eq(c->running, 1);
	ck_assert_int_eq(c->completed, 7);
	ck_assert_int_eq(c->s3_requests, 5);
	ck_assert_int_eq(c->next_restart_ms, -1);
	ck_assert_uint_eq(c->ntasks, 1);
	ck_assert_str_eq(c->tasks[0].type, "a.b");
	ck_assert_int_eq(c->tasks[0].attempt, 2);
	ck_assert_int_eq(c->tasks[0].handler_pid, 77);
	ck_assert_int_eq(c->tasks[0].since.us, 1769601600000 * QO_US_PER_MS);
	ck_assert_int_eq(st.children[1].ready, 12);
	ck_assert_int_eq(st.children[1].oldest_ready_ms, -1);
	qodstatus_fini(&st);
}
END_TEST

START_TEST(one_that_is_down)
{
	struct board_area *area;
	struct child *c = add_child("worker", 0, 8, &area);
	struct qodstatus st;

	c->pid = 0;
	c->state = CHILD_DOWN;
	loop_timer_set_ms(q.loop, &c->timer, 3600000, NULL, c);
	read_back(&st);
	ck_assert_str_eq(st.children[0].state, child_state_name(CHILD_DOWN));
	ck_assert_int_eq(st.children[0].uptime_ms, -1);
	ck_assert_int_gt(st.children[0].next_restart_ms, 3000000);
	ck_assert_int_le(st.children[0].next_restart_ms, 3600000);
	ck_assert_int_eq(st.children[0].pid, 0);
	qodstatus_fini(&st);
}
END_TEST

/* Names as long as they can be, in every slot: the answer still fits. */
START_TEST(it_is_bounded)
{
	const size_t slots = 1024, workers = 6;
	char type[BOARD_NAME];
	struct board_area *area;
	struct qodstatus st;
	size_t i, w, n = 0;

	memset(type, 't', sizeof(type) - 1);
	type[sizeof(type) - 1] = '\0';
	for (w = 0; w < workers; w++) {
		add_child("worker", (int)w, slots, &area);
		for (i = 0; i < slots; i++)
			fill_slot(area, i, type);
	}
	read_back(&st);
	for (w = 0; w < workers; w++)
		n += st.children[w].ntasks;
	ck_assert_uint_eq(n, STATUS_TASKS_MAX);
	ck_assert_int_eq(st.tasks_omitted,
	    (int64_t)(workers * slots - STATUS_TASKS_MAX));
	ck_assert_uint_lt(b.len, CONTROL_ANSWER_MAX / 2);
	qodstatus_fini(&st);
}
END_TEST

/* Handlers with the same name and type are one row, whoever ran them. */
START_TEST(handlers_are_summed_up)
{
	struct board_area *one, *two;
	struct child *c;
	struct qodstatus st;

	c = add_child("worker", 0, 1, &one);
	add_child("worker", 1, 1, &two);
	board_handler_name(one, 0, "resize", "image.*");
	board_handler_name(two, 0, "other", "x");
	board_handler_name(two, 1, "resize", "image.*");
	board_handler_ran(one, 0, 1500);
	board_task_ended(one, 0, BOARD_COMPLETED);
	board_handler_ran(two, 1, 500);
	board_task_ended(two, 1, BOARD_COMPLETED);
	board_handler_ran(two, 1, 1000);
	board_task_ended(two, 1, BOARD_FAILED);
	board_task_ended(two, 1, BOARD_EXPIRED);
	board_task_ended(two, 1, BOARD_LOST);
	read_back(&st);
	qodstatus_fini(&st);
	ck_assert_ptr_nonnull(strstr(b.data,
	    "{\"name\":\"resize\",\"type\":\"image.*\",\"completed\":2,"
	    "\"retried\":0,\"failed\":1,\"cancelled\":0,\"other\":2,"
	    "\"runs\":3,\"seconds\":3.0}"));
	/* One that is gone is not forgotten. */
	board_release(q.board, c->area);
	c->area = -1;
	read_back(&st);
	qodstatus_fini(&st);
	ck_assert_ptr_nonnull(strstr(b.data,
	    "{\"name\":\"resize\",\"type\":\"image.*\",\"completed\":2,"));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("qod_status");
	TCase *tc = tcase_create("status");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_empty_one);
	tcase_add_test(tc, states);
	tcase_add_test(tc, children_and_tasks);
	tcase_add_test(tc, one_that_is_down);
	tcase_add_test(tc, it_is_bounded);
	tcase_add_test(tc, handlers_are_summed_up);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
