/*
 * What one image of qod leaves to the next: written, read, and the same.
 */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../qod/child.h"
#include "../../qod/generation.h"
#include "../../qod/lost.h"
#include "../../qod/roles.h"
#include "../../qod/upgrade.h"
#include "io.h"
#include "run_suite.h"

#define TASK  "00000000-0000-4000-8000-00000000000a"
#define LEASE "00000000-0000-4000-9000-00000000000b"

static void
init(struct qod *q)
{
	memset(q, 0, sizeof(*q));
	q->loop = loop_new();
	q->pidfile = q->store_tcp = q->store_unix = q->control_fd = -1;
	TAILQ_INIT(&q->children);
	TAILQ_INIT(&q->lost);
}

static struct generation *
make_generation(int number)
{
	static const char text[] = "[store]\ndata = /nonexistent\n";
	struct account account = { 0 };
	struct qo_err err = { 0 };
	struct generation *g;
	struct conf *c;

	c = conf_parse_text(text, strlen(text), "t", NULL);
	ck_assert_ptr_nonnull(c);
	g = generation_new(number, c, &account, &err);
	ck_assert_msg(g != NULL, "%s", err.msg);
	return g;
}

static int
memory(const char *text)
{
	int fd;

	fd = memfd_create("t", MFD_CLOEXEC);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void
fini(struct qod *q)
{
	struct child *c;

	while ((c = TAILQ_FIRST(&q->children)) != NULL) {
		c->pid = 0;
		child_free(c);
	}
	lost_clear(q);
	generation_unref(q->gen);
	board_free(q->board);
	loop_defer_del(q->loop, &q->turn);
	loop_free(q->loop);
}

START_TEST(test_round_trip)
{
	struct upgrade_state s;
	struct qo_err err = { 0 };
	struct qod a, b;
	struct child *c;
	struct lost *l;
	struct buf text, again;
	int pair[2], fd;

	init(&a);
	a.board = board_create(&err);
	a.gen = make_generation(7);
	a.last_generation = 9;
	a.extra = -2;
	a.announced = true;
	a.started.us = 123456789;
	a.store_tcp = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	c = child_new(&a, roles_find("worker"), 3, a.gen);
	c->generation = 6; /* a reload has come since */
	c->state = CHILD_DRAINING;
	c->retired = true;
	c->pid = 4242;
	c->ctl.fd = pair[0];
	c->area = 4096;
	c->started.us = 55;
	c->delay_ms = 400;
	c->restarts = 2;
	/* One without a process is not worth a line. */
	child_new(&a, roles_find("monitor"), 0, a.gen);
	lost_add(&a, TASK, 5, LEASE);
	buf_init(&text, 1 << 20);
	upgrade_write(&a, &text);
	ck_assert(!buf_failed(&text));

	init(&b);
	buf_init(&again, 1 << 20);
	fd = memory(text.data);
	ck_assert_msg(upgrade_read(&b, fd, &s, &again, &err) == 0, "%s",
	    err.msg);
	close(fd);
	ck_assert_int_eq(s.board, board_fd(a.board));
	ck_assert_int_eq(s.conf, a.gen->fd);
	ck_assert_int_eq(s.generation, 7);
	ck_assert_int_eq(b.last_generation, 9);
	ck_assert_int_eq(b.extra, -2);
	ck_assert(b.announced);
	ck_assert_int_eq(b.started.us, 123456789);
	ck_assert_int_eq(b.store_tcp, a.store_tcp);
	ck_assert_int_eq(b.store_unix, -1);
	ck_assert_int_eq(b.pidfile, -1);
	b.gen = generation_ref(a.gen);
	upgrade_children(&b, again.data, b.gen);
	c = TAILQ_FIRST(&b.children);
	ck_assert_ptr_nonnull(c);
	ck_assert_ptr_null(TAILQ_NEXT(c, entry));
	ck_assert_str_eq(c->role->name, "worker");
	ck_assert_int_eq(c->index, 3);
	ck_assert_int_eq(c->generation, 6);
	ck_assert_int_eq(c->state, CHILD_DRAINING);
	ck_assert(c->retired);
	ck_assert_int_eq(c->pid, 4242);
	ck_assert_int_eq(c->ctl.fd, pair[0]);
	ck_assert_int_eq(c->area, 4096);
	ck_assert_int_eq(c->started.us, 55);
	ck_assert_int_eq(c->delay_ms, 400);
	ck_assert_int_eq(c->restarts, 2);
	l = TAILQ_FIRST(&b.lost);
	ck_assert_ptr_nonnull(l);
	ck_assert_str_eq(l->task, TASK);
	ck_assert_str_eq(l->lease, LEASE);
	ck_assert_int_eq(l->generation, 5);
	ck_assert_int_eq(l->told, 0);
	/* Nothing of it is left open for the children. */
	ck_assert_int_eq(fcntl(pair[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);

	fini(&b);
	TAILQ_FIRST(&a.children)->ctl.fd = -1;
	fini(&a);
	buf_fini(&text);
	buf_fini(&again);
}
END_TEST

static const char *const broken[] = {
	"",
	"end\n",
	"qod 1\nextra 1\n",
	"qod 1\nextra 1\nen",
	"something else\nend\n",
};

START_TEST(test_not_whole)
{
	struct upgrade_state s;
	struct qo_err err = { 0 };
	struct qod q;
	struct buf text;
	int fd;

	init(&q);
	buf_init(&text, 1 << 20);
	fd = memory(broken[_i]);
	ck_assert_int_eq(upgrade_read(&q, fd, &s, &text, &err), -1);
	ck_assert(err.msg[0] != '\0');
	close(fd);
	buf_fini(&text);
	fini(&q);
}
END_TEST

/* Of a later version: what is not known is passed over, and no pid that is
 * not one is ever signalled. */
START_TEST(test_strange_lines)
{
	static const char text[] = "qod 2\nnew thing 1\nextra 4\n"
				   "child worker 0 1 2 0 0 -1 0 0 0 0\n"
				   "child worker 0 1 2 0 -1 -1 0 0 0 0\n"
				   "child worker 0 1 2 0 1 -1 0 0 0 0\n"
				   "child worker 0 1 9 0 77 -1 0 0 0 0\n"
				   "child baker 0 1 2 0 77 -1 0 0 0 0\n"
				   "child worker 0 1 2\n"
				   "lost " TASK " x " LEASE "\n"
				   "end\n";
	struct upgrade_state s;
	struct qo_err err = { 0 };
	struct qod q;
	struct buf b;
	int fd;

	init(&q);
	buf_init(&b, 1 << 20);
	fd = memory(text);
	ck_assert_int_eq(upgrade_read(&q, fd, &s, &b, &err), 0);
	close(fd);
	ck_assert_int_eq(q.extra, 4);
	q.gen = make_generation(1);
	upgrade_children(&q, b.data, q.gen);
	ck_assert_ptr_null(TAILQ_FIRST(&q.children));
	ck_assert_uint_eq(q.nlost, 0);
	buf_fini(&b);
	fini(&q);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("qod_upgrade");
	TCase *tc = tcase_create("qod_upgrade");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_round_trip);
	tcase_add_loop_test(tc, test_not_whole, 0,
	    (int)(sizeof(broken) / sizeof(broken[0])));
	tcase_add_test(tc, test_strange_lines);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
