#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "loop.h"
#include "run_suite.h"

static struct loop *l;

/* What the callbacks saw. */
static int64_t fired[2000];
static size_t nfired;
static int order[10];
static size_t norder;

static void
setup(void)
{
	l = loop_new();
	nfired = norder = 0;
}

static void
teardown(void)
{
	loop_free(l);
	loop_free(NULL);
}

/* Descriptors */

struct end {
	struct loop_io io;
	int calls;
	uint32_t events;
	struct end *kill; /* deleted by the callback */
};

static void
on_io(struct loop_io *io, uint32_t events)
{
	struct end *e = io->arg;

	e->calls++;
	e->events = events;
	if (e->kill != NULL)
		loop_io_del(l, &e->kill->io);
}

START_TEST(test_io)
{
	struct end e = { 0 };
	int fds[2];
	char c;

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(loop_io_add(l, &e.io, fds[0], EPOLLIN, on_io, &e), 0);
	loop_once(l, 0);
	ck_assert_int_eq(e.calls, 0);
	ck_assert_int_eq(write(fds[1], "x", 1), 1);
	loop_once(l, -1);
	loop_once(l, 0);
	ck_assert_int_eq(e.calls, 2); /* as long as there is something */
	ck_assert_uint_eq(e.events, EPOLLIN);
	loop_io_set(l, &e.io, 0); /* deaf */
	loop_once(l, 0);
	ck_assert_int_eq(e.calls, 2);
	loop_io_set(l, &e.io, EPOLLIN);
	loop_once(l, 0);
	ck_assert_int_eq(e.calls, 3);
	ck_assert_int_eq(read(fds[0], &c, 1), 1);
	close(fds[1]);
	loop_io_set(l, &e.io, 0); /* but not to the other end's death */
	loop_once(l, -1);
	ck_assert_int_eq(e.calls, 4);
	ck_assert_uint_ne(e.events & EPOLLHUP, 0);
	loop_io_del(l, &e.io);
	loop_io_del(l, &e.io);
	loop_once(l, 0);
	ck_assert_int_eq(e.calls, 4);
	close(fds[0]);
}
END_TEST

START_TEST(test_io_add_fails)
{
	struct end e = { 0 };
	int fd;

	ck_assert_int_eq(loop_io_add(l, &e.io, -1, EPOLLIN, on_io, &e), -1);
	ck_assert_int_eq(errno, EBADF);
	fd = open("/proc/self/exe", O_RDONLY);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(loop_io_add(l, &e.io, fd, EPOLLIN, on_io, &e), -1);
	ck_assert_int_eq(errno, EPERM);
	loop_io_del(l, &e.io); /* harmless */
	close(fd);
}
END_TEST

/* Whichever is called first deletes the other, whose event is pending. */
START_TEST(test_io_del_pending)
{
	struct end a = { 0 }, b = { 0 };
	int p[2], q[2];

	ck_assert_int_eq(pipe(p), 0);
	ck_assert_int_eq(pipe(q), 0);
	a.kill = &b;
	b.kill = &a;
	loop_io_add(l, &a.io, p[0], EPOLLIN, on_io, &a);
	loop_io_add(l, &b.io, q[0], EPOLLIN, on_io, &b);
	ck_assert_int_eq(write(p[1], "x", 1), 1);
	ck_assert_int_eq(write(q[1], "x", 1), 1);
	loop_once(l, -1);
	ck_assert_int_eq(a.calls + b.calls, 1);
	loop_io_del(l, &a.io);
	loop_io_del(l, &b.io);
	close(p[0]);
	close(p[1]);
	close(q[0]);
	close(q[1]);
}
END_TEST

/* Timers */

static void
on_timer(struct loop_timer *t)
{
	fired[nfired++] = t->due.us;
}

/* Set, moved and deleted at random: those left fire in order, once. */
START_TEST(test_timers_in_order)
{
	static struct loop_timer t[1000];
	struct qo_mono base = qo_mono_now();
	unsigned x = 1 + (unsigned)_i;
	size_t i, alive = 0;

	base.us -= 10000000;
	for (i = 0; i < 5000; i++) {
		x = x * 1103515245 + 12345;
		if ((x >> 16) % 4 == 0)
			loop_timer_del(l, &t[(x >> 8) % 1000]);
		else
			loop_timer_set(l, &t[(x >> 8) % 1000],
			    (struct qo_mono){ base.us + (x >> 12) % 5000 },
			    on_timer, NULL);
	}
	for (i = 0; i < 1000; i++)
		alive += loop_timer_is_set(&t[i]);
	ck_assert_uint_gt(alive, 500);
	loop_once(l, -1);
	ck_assert_uint_eq(nfired, alive);
	for (i = 1; i < nfired; i++)
		ck_assert_int_le(fired[i - 1], fired[i]);
	for (i = 0; i < 1000; i++)
		ck_assert(!loop_timer_is_set(&t[i]));
	loop_once(l, 0);
	ck_assert_uint_eq(nfired, alive);
}
END_TEST

START_TEST(test_timer_waits)
{
	struct loop_timer t = { 0 };
	struct qo_mono start = qo_mono_now();

	loop_timer_set_ms(l, &t, 20, on_timer, NULL);
	loop_once(l, 0);
	while (nfired == 0)
		loop_once(l, -1);
	ck_assert_int_ge(qo_mono_diff_us(start, qo_mono_now()), 20000);
	/* Not early, and the loop's own time agrees. */
	ck_assert_int_ge(qo_mono_diff_us(start, loop_now(l)), 20000);
}
END_TEST

START_TEST(test_max_wait)
{
	struct loop_timer t = { 0 };

	loop_timer_set_ms(l, &t, 3600 * 1000, on_timer, NULL);
	loop_once(l, 1); /* returns, or the test's own limit strikes */
	ck_assert_uint_eq(nfired, 0);
	loop_timer_del(l, &t);
	loop_timer_del(l, &t);
}
END_TEST

static void
on_again(struct loop_timer *t)
{
	if (++nfired < 100000)
		loop_timer_set(l, t, loop_now(l), on_again, NULL);
}

/* A timer that sets itself for now leaves room for the others. */
START_TEST(test_timer_no_starving)
{
	struct loop_timer t = { 0 };
	struct end e = { 0 };
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	loop_io_add(l, &e.io, fds[0], EPOLLIN, on_io, &e);
	loop_timer_set(l, &t, loop_now(l), on_again, NULL);
	loop_once(l, 0);
	ck_assert_uint_eq(nfired, 1);
	ck_assert_int_eq(write(fds[1], "x", 1), 1);
	loop_once(l, -1);
	ck_assert_int_eq(e.calls, 1);
	ck_assert_uint_le(nfired, 2);
	loop_timer_del(l, &t);
	loop_io_del(l, &e.io);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

static struct loop_timer victims[2];

static void
on_kill(struct loop_timer *t)
{
	nfired++;
	loop_timer_del(l, t == &victims[0] ? &victims[1] : &victims[0]);
}

START_TEST(test_timer_deletes_other)
{
	struct qo_mono past = { 1 };

	loop_timer_set(l, &victims[0], past, on_kill, NULL);
	loop_timer_set(l, &victims[1], past, on_kill, NULL);
	loop_once(l, 0);
	loop_once(l, 0);
	ck_assert_uint_eq(nfired, 1);
}
END_TEST

/* Deferred calls */

static void
on_task(struct loop_task *t)
{
	order[norder++] = *(int *)t->arg;
}

static void
on_task_again(struct loop_task *t)
{
	if (++norder < 100000)
		loop_defer(l, t, on_task_again, NULL);
}

START_TEST(test_defer)
{
	static int ids[] = { 0, 1, 2, 3 };
	struct loop_task t[4] = { 0 };
	size_t i;

	for (i = 0; i < 4; i++)
		loop_defer(l, &t[i], on_task, &ids[i]);
	loop_defer(l, &t[1], on_task, &ids[1]); /* once is enough */
	loop_defer_del(l, &t[3]);               /* the last */
	loop_defer_del(l, &t[0]);               /* the first */
	loop_defer_del(l, &t[0]);
	loop_defer(l, &t[0], on_task, &ids[0]);
	loop_once(l, -1); /* does not sleep */
	ck_assert_uint_eq(norder, 3);
	ck_assert_int_eq(order[0], 1);
	ck_assert_int_eq(order[1], 2);
	ck_assert_int_eq(order[2], 0);
	loop_once(l, 0);
	ck_assert_uint_eq(norder, 3);
}
END_TEST

START_TEST(test_defer_no_starving)
{
	struct loop_task t = { 0 };
	struct end e = { 0 };
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(write(fds[1], "x", 1), 1);
	loop_io_add(l, &e.io, fds[0], EPOLLIN, on_io, &e);
	loop_defer(l, &t, on_task_again, NULL);
	loop_once(l, -1);
	ck_assert_int_eq(e.calls, 1);
	ck_assert_uint_le(norder, 2);
	loop_once(l, -1); /* what is queued is not slept on */
	ck_assert_int_eq(e.calls, 2);
	ck_assert_uint_ge(norder, 3);
	loop_defer_del(l, &t);
	loop_io_del(l, &e.io);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

static void
on_stop(struct loop_timer *t)
{
	(void)t;
	nfired++;
	loop_stop(l);
}

START_TEST(test_run_stop)
{
	struct loop_timer t = { 0 };

	loop_timer_set_ms(l, &t, 1, on_stop, NULL);
	loop_run(l);
	loop_timer_set_ms(l, &t, 1, on_stop, NULL);
	loop_run(l); /* may be run again */
	ck_assert_uint_eq(nfired, 2);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("loop");
	TCase *tc = tcase_create("loop");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_io);
	tcase_add_test(tc, test_io_add_fails);
	tcase_add_test(tc, test_io_del_pending);
	tcase_add_loop_test(tc, test_timers_in_order, 0, 10);
	tcase_add_test(tc, test_timer_waits);
	tcase_add_test(tc, test_max_wait);
	tcase_add_test(tc, test_timer_no_starving);
	tcase_add_test(tc, test_timer_deletes_other);
	tcase_add_test(tc, test_defer);
	tcase_add_test(tc, test_defer_no_starving);
	tcase_add_test(tc, test_run_stop);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
