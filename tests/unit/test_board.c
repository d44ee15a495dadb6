#include <sys/mman.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>

#include "board.h"
#include "cell.h"
#include "run_suite.h"

static struct board *
new_board(void)
{
	struct qo_err err;
	struct board *b;

	b = board_create(&err);
	ck_assert_msg(b != NULL, "%s", err.msg);
	return b;
}

static int64_t
alloc(struct board *b, int index, size_t nslots, size_t nhandlers)
{
	struct qo_err err;
	int64_t at;

	at = board_alloc(b, BOARD_WORKER, index, 7, nslots, nhandlers, &err);
	ck_assert_msg(at > 0, "%s", err.msg);
	ck_assert_int_eq(at % 4096, 0);
	return at;
}

/* As a child of qod sees it. */
static struct board *
other_side(struct board *b)
{
	struct qo_err err;
	struct board *c;

	c = board_open(fcntl(board_fd(b), F_DUPFD_CLOEXEC, 3), false, &err);
	ck_assert_msg(c != NULL, "%s", err.msg);
	return c;
}

static struct board_area *
own(struct board *c, int64_t at)
{
	struct qo_err err;
	struct board_area *a;

	a = board_own(c, at, &err);
	ck_assert_msg(a != NULL, "%s", err.msg);
	return a;
}

/* A task all of whose members follow from n. */
static void
task_of(struct board_task *t, uint64_t n)
{
	memset(t, 0, sizeof(*t));
	(void)snprintf(t->task_id, sizeof(t->task_id), "t%035llu",
	    (unsigned long long)n);
	(void)snprintf(t->lease_id, sizeof(t->lease_id), "l%035llu",
	    (unsigned long long)n);
	(void)snprintf(t->type, sizeof(t->type), "type%0124llu",
	    (unsigned long long)n);
	t->generation = (int64_t)n;
	t->attempt = (int64_t)n + 1;
	t->started_ms = (int64_t)n + 2;
	t->handler = (pid_t)(n % 100000) + 2;
}

static uint64_t
task_number(const struct board_task *t)
{
	struct board_task want;
	uint64_t n;

	n = (uint64_t)t->generation;
	task_of(&want, n);
	ck_assert_str_eq(t->task_id, want.task_id);
	ck_assert_str_eq(t->lease_id, want.lease_id);
	ck_assert_str_eq(t->type, want.type);
	ck_assert_int_eq(t->attempt, want.attempt);
	ck_assert_int_eq(t->started_ms, want.started_ms);
	ck_assert_int_eq(t->handler, want.handler);
	return n;
}

START_TEST(test_areas)
{
	struct board *b = new_board();
	int64_t at[5], again;
	struct board_area *a;
	struct board_info info;
	int i, n = 0;

	ck_assert_ptr_null(board_next(b, NULL));
	for (i = 0; i < 5; i++)
		at[i] = alloc(b, i, (size_t)i * 100, (size_t)i);
	for (a = NULL; (a = board_next(b, a)) != NULL; n++) {
		board_read(a, &info);
		ck_assert_int_eq(info.role, BOARD_WORKER);
		ck_assert_int_eq(info.index, n);
		ck_assert_int_eq(info.generation, 7);
		ck_assert_uint_eq(info.nslots, (size_t)n * 100);
		ck_assert_uint_eq(info.nhandlers, (size_t)n);
		ck_assert_int_eq(info.pid, 0);
		ck_assert_int_eq(info.state, BOARD_STARTING);
		ck_assert_int_eq(board_offset(a), at[n]);
		ck_assert_ptr_eq(board_at(b, at[n]), a);
	}
	ck_assert_int_eq(n, 5);
	ck_assert_ptr_null(board_at(b, at[1] + 4096 * 1000));
	/* A free one is passed over, and used again when it fits. */
	board_release(b, at[2]);
	board_release(b, at[4]);
	ck_assert_ptr_null(board_at(b, at[2]));
	ck_assert_int_eq(board_offset(board_next(b, board_at(b, at[1]))),
	    at[3]);
	again = alloc(b, 9, 150, 1); /* the smaller of the two is enough */
	ck_assert_int_eq(again, at[2]);
	again = alloc(b, 9, 350, 1);
	ck_assert_int_eq(again, at[4]);
	again = alloc(b, 9, 1, 1);
	ck_assert_int_gt(again, at[4]);
	board_read(board_at(b, at[2]), &info);
	ck_assert_uint_eq(info.nslots, 150);
	board_free(b);
}
END_TEST

/* Two reloads a day for years: the file does not grow. */
START_TEST(test_reuse)
{
	struct board *b = new_board();
	struct board_task t;
	struct board_area *a;
	int64_t at, first;
	int i;

	first = alloc(b, 0, 16, 2);
	board_release(b, first);
	for (i = 0; i < 5000; i++) {
		at = alloc(b, 0, 16, 2);
		ck_assert_int_eq(at, first);
		a = board_at(b, at);
		ck_assert(!board_slot_read(a, 3, &t)); /* cleared */
		task_of(&t, 5);
		board_slot_set(a, 3, &t);
		board_release(b, at);
	}
	board_free(b);
}
END_TEST

START_TEST(test_full)
{
	struct board *b = new_board();
	struct qo_err err;
	int i;

	for (i = 0; i < 1024; i++)
		alloc(b, i, 1, 1);
	ck_assert_int_eq(board_alloc(b, BOARD_WORKER, 0, 0, 1, 1, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "full"));
	ck_assert_int_eq(board_alloc(b, BOARD_WORKER, 0, 0, 1 << 20, 1, &err),
	    -1);
	board_free(b);
}
END_TEST

START_TEST(test_numbers)
{
	struct board *b = new_board(), *c = other_side(b);
	struct board_area *mine, *seen;
	struct board_handler h;
	struct board_info info;
	int64_t at;

	at = alloc(b, 0, 4, 2);
	alloc(b, 1, 4, 2);
	mine = own(c, at);
	seen = board_at(b, at);
	board_add(mine, BOARD_CLAIMED, 3);
	board_add(mine, BOARD_CLAIMED, 4);
	board_add(mine, BOARD_COUNTERS, 4); /* nobody's */
	board_set_counter(mine, BOARD_COUNTERS - 1, 99);
	board_gauge(mine, BOARD_SKEW_MS, -5);
	board_set_state(mine, BOARD_READY);
	board_set_name(mine, "host-1");
	board_set_note(mine, "first");
	board_set_note(mine, "waits for the store");
	board_read(seen, &info);
	ck_assert_uint_eq(info.counters[BOARD_CLAIMED], 7);
	ck_assert_uint_eq(info.counters[BOARD_COUNTERS - 1], 99);
	ck_assert_int_eq(info.gauges[BOARD_SKEW_MS], -5);
	ck_assert_int_eq(info.state, BOARD_READY);
	ck_assert_int_eq(info.pid, getpid());
	ck_assert_int_gt(info.started_ms, 0);
	ck_assert_str_eq(info.name, "host-1");
	ck_assert_str_eq(info.note, "waits for the store");
	ck_assert(!board_handler_read(seen, 0, &h));
	board_handler_name(mine, 0, "mail", "mail.*");
	board_handler_name(mine, 2, "nobody's", "x");
	board_handler_ran(mine, 0, 5);
	board_handler_ran(mine, 0, 6);
	board_handler_ran(mine, 0, 600001);
	board_handler_ran(mine, 0, INT64_C(1) << 40);
	board_handler_ran(mine, 2, 1);
	board_task_ended(mine, 0, BOARD_COMPLETED);
	board_task_ended(mine, 0, BOARD_LOST);
	board_task_ended(mine, 0, BOARD_LOST);
	board_task_ended(mine, 2, BOARD_LOST); /* no row: the process's alone */
	ck_assert(board_handler_read(seen, 0, &h));
	ck_assert_str_eq(h.name, "mail");
	ck_assert_str_eq(h.type, "mail.*");
	ck_assert_uint_eq(h.ends[0], 1);
	ck_assert_uint_eq(h.ends[BOARD_LOST - BOARD_COMPLETED], 2);
	board_read(seen, &info);
	ck_assert_uint_eq(info.counters[BOARD_COMPLETED], 1);
	ck_assert_uint_eq(info.counters[BOARD_LOST], 3);
	ck_assert_uint_eq(h.steps[0], 1);
	ck_assert_uint_eq(h.steps[1], 1);
	ck_assert_uint_eq(h.steps[BOARD_STEPS - 1], 2);
	ck_assert_uint_eq(h.sum_ms, 600012 + (UINT64_C(1) << 40));
	ck_assert(!board_handler_read(seen, 1, &h));
	ck_assert(!board_handler_read(seen, 2, &h));
	ck_assert_int_eq(board_step_ms(0), 5);
	ck_assert_int_eq(board_step_ms(BOARD_STEPS - 1), INT64_MAX);
	board_free(c);
	board_free(b);
}
END_TEST

static int64_t
running(const struct board_area *a)
{
	struct board_info info;

	board_read(a, &info);
	return info.gauges[BOARD_RUNNING];
}

START_TEST(test_slots)
{
	struct board_area *a = board_private(BOARD_WORKER, 3, 0);
	struct board_task t;

	ck_assert(!board_slot_read(a, 0, &t));
	ck_assert(!board_slot_read(a, 3, &t));
	task_of(&t, 11);
	board_slot_set(a, 0, &t);
	task_of(&t, 12);
	board_slot_set(a, 2, &t);
	ck_assert_int_eq(running(a), 2);
	task_of(&t, 13); /* the same task, started */
	board_slot_set(a, 2, &t);
	ck_assert_int_eq(running(a), 2);
	ck_assert(board_slot_read(a, 0, &t));
	ck_assert_uint_eq(task_number(&t), 11);
	ck_assert(board_slot_read(a, 2, &t));
	ck_assert_uint_eq(task_number(&t), 13);
	board_slot_clear(a, 0);
	board_slot_clear(a, 0);
	board_slot_clear(a, 1);
	ck_assert_int_eq(running(a), 1);
	ck_assert(!board_slot_read(a, 0, &t));
	board_private_free(a);
	board_private_free(NULL);
}
END_TEST

/* What a writer leaves that was killed between any two of its stores. */
START_TEST(test_cell_unfinished)
{
	struct pair {
		char text[13];
		uint64_t n;
	} r, old = { "before", 1 }, next = { "after", 2 };
	CELL_OF(sizeof(struct pair)) cell;
	size_t i, n = CELL_WORDS(sizeof(struct pair));

	memset(&cell, 0, sizeof(cell));
	ck_assert(cell_read(&cell, &r));
	ck_assert_str_eq(r.text, "");
	cell_write(&cell, &old);
	for (i = 0; i < n; i++) {
		cell.words[i] = ~UINT64_C(0); /* of the other copy */
		ck_assert(cell_read(&cell, &r));
		ck_assert_str_eq(r.text, "before");
		ck_assert_uint_eq(r.n, 1);
	}
	cell_write(&cell, &next);
	ck_assert(cell_read(&cell, &r));
	ck_assert_str_eq(r.text, "after");
	ck_assert_uint_eq(r.n, 2);
}
END_TEST

/* Memory that a child shares with us. */
static void *
share(size_t size)
{
	void *p;
	int fd;

	fd = memfd_create("shared", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(p, MAP_FAILED);
	close(fd);
	return p;
}

/* Large, so that a read is often overtaken by two writes. */
struct large {
	uint64_t n[512];
};

static void __attribute__((noreturn)) write_large(void *shared)
{
	CELL_OF(sizeof(struct large)) *cell = shared;
	struct large r;
	size_t i;

	for (r.n[0] = 1;; r.n[0]++) {
		for (i = 1; i < 512; i++)
			r.n[i] = r.n[0];
		cell_write(cell, &r);
	}
}

START_TEST(test_cell_overtaken)
{
	CELL_OF(sizeof(struct large)) * cell;
	uint64_t last = 0;
	struct large r;
	size_t i, whole = 0;
	pid_t pid;

	cell = share(sizeof(*cell));
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0)
		write_large(cell);
	while (whole < 20000) {
		if (!cell_read(cell, &r))
			continue;
		whole++;
		for (i = 1; i < 512 && r.n[i] == r.n[0]; i++)
			continue;
		ck_assert_uint_eq(i, 512);
		ck_assert_uint_ge(r.n[0], last);
		last = r.n[0];
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert(cell_read(cell, &r));
	ck_assert_uint_eq(r.n[511], r.n[0]);
}
END_TEST

/* What the writer knows to be so, in memory that outlives it. */
struct truth {
	_Atomic uint64_t claimed;   /* the slot was set, now it claims */
	_Atomic uint64_t committed; /* the slot may now be cleared */
};

static void __attribute__((noreturn))
write_slots(struct board *b, int64_t at, struct truth *truth)
{
	struct board_area *a;
	struct board_task t;
	uint64_t n;

	a = own(other_side(b), at);
	for (n = 1;; n++) {
		task_of(&t, n);
		board_slot_set(a, n % 4, &t);
		atomic_store(&truth->claimed, n);
		board_slot_set(a, n % 4, &t); /* with a handler */
		atomic_store(&truth->committed, n);
		board_slot_clear(a, n % 4);
	}
}

static void
read_alive(const struct board_area *a, struct truth *truth, size_t *whole)
{
	struct board_task t;
	size_t i;

	/* With one processor it has to be our turn first. */
	while (atomic_load(&truth->claimed) == 0)
		sched_yield();
	for (i = 0; i < 2000; i++) {
		if (!board_slot_read(a, i % 4, &t))
			continue;
		(*whole)++;
		ck_assert_uint_eq(task_number(&t) % 4, i % 4);
	}
}

static void
read_dead(const struct board_area *a, struct truth *truth)
{
	uint64_t claimed = truth->claimed, committed = truth->committed;
	uint64_t n, found = 0;
	struct board_task t;
	size_t i;

	for (i = 0; i < 4; i++) {
		if (!board_slot_read(a, i, &t))
			continue;
		ck_assert_uint_eq(found, 0); /* never more than one here */
		n = task_number(&t);
		ck_assert_uint_ge(n, committed);
		ck_assert_uint_le(n, claimed + 1);
		found = n;
	}
	if (claimed > committed)
		ck_assert_uint_eq(found, claimed);
}

START_TEST(test_killed_writer)
{
	struct board *b = new_board();
	struct truth *truth;
	size_t whole = 0;
	int round, status;
	int64_t at;
	pid_t pid;

	truth = share(sizeof(*truth));
	for (round = 0; round < 200; round++) {
		truth->claimed = truth->committed = 0;
		at = alloc(b, 0, 4, 0);
		pid = fork();
		ck_assert_int_ne(pid, -1);
		if (pid == 0)
			write_slots(b, at, truth);
		read_alive(board_at(b, at), truth, &whole);
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
		read_dead(board_at(b, at), truth);
		board_release(b, at);
	}
	ck_assert_uint_gt(whole, 0);
	board_free(b);
}
END_TEST

/* A child's stray pointer does not reach its neighbours or the directory. */
START_TEST(test_read_only)
{
	struct board *b = new_board();
	struct board_area *theirs;
	struct board *c;
	int64_t mine;
	int status;
	pid_t pid;

	mine = alloc(b, 0, 1, 1);
	alloc(b, 1, 1, 1);
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		c = other_side(b);
		board_set_note(own(c, mine), "fine");
		theirs = board_next(c, board_at(c, mine));
		board_set_note(theirs, "not fine");
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_ne(status, 0);
	ck_assert_int_eq(ftruncate(board_fd(b), 4096), -1);
	ck_assert_int_eq(errno, EPERM);
	board_free(b);
}
END_TEST

/* Whatever stands in an area, readers survive it. */
START_TEST(test_spoilt_area)
{
	struct board *b = new_board();
	struct board_handler h;
	struct board_area *a;
	struct board_info info;
	struct board_task t;
	char junk[8192];
	int64_t at;
	size_t i;

	memset(junk, 0xff, sizeof(junk));
	at = alloc(b, 0, 4, 2);
	a = board_at(b, at);
	ck_assert_int_eq(pwrite(board_fd(b), junk, sizeof(junk), at),
	    sizeof(junk));
	a = board_at(b, at);
	board_read(a, &info);
	ck_assert_uint_eq(info.nslots, 4);
	ck_assert_uint_eq(strlen(info.name), BOARD_NAME - 1);
	ck_assert_uint_eq(strlen(info.note), BOARD_NOTE - 1);
	ck_assert_int_eq(info.state, BOARD_STARTING);
	for (i = 0; i < 4; i++)
		if (board_slot_read(a, i, &t)) {
			ck_assert_uint_eq(strlen(t.task_id), BOARD_ID - 1);
			ck_assert_int_eq(t.handler, 0);
		}
	for (i = 0; i < 2; i++)
		board_handler_read(a, i, &h);
	board_free(b);
}
END_TEST

START_TEST(test_not_a_board)
{
	struct board *b = new_board();
	uint64_t other = 1;
	struct qo_err err;
	int fd;

	ck_assert_ptr_null(board_open(999, false, &err));
	ck_assert_str_eq(err.msg,
	    "scoreboard on descriptor 999: "
	    "Bad file descriptor");
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	ck_assert_ptr_null(board_open(fd, false, &err));
	ck_assert_ptr_nonnull(strstr(err.msg, "is no scoreboard"));
	fd = memfd_create("x", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	ck_assert_ptr_null(board_open(fd, false, &err));
	ck_assert_ptr_nonnull(strstr(err.msg, "is no scoreboard"));
	fd = fcntl(board_fd(b), F_DUPFD_CLOEXEC, 3);
	ck_assert_int_eq(pwrite(fd, &other, 8, 8), 8);
	ck_assert_ptr_null(board_open(fd, false, &err));
	ck_assert_str_eq(err.msg,
	    "the scoreboard is that of another version of qo");
	ck_assert_ptr_null(board_own(b, 4096, &err));
	board_free(b);
}
END_TEST

/* qod execs itself: the same areas are there. */
START_TEST(test_adopted)
{
	struct board *b = new_board(), *again;
	struct qo_err err;
	struct board_task t;
	int64_t at, more;
	int fd;

	at = alloc(b, 0, 4, 0);
	task_of(&t, 3);
	board_slot_set(board_at(b, at), 1, &t);
	fd = fcntl(board_fd(b), F_DUPFD_CLOEXEC, 3);
	board_free(b);
	again = board_open(fd, true, &err);
	ck_assert_ptr_nonnull(again);
	ck_assert(board_slot_read(board_at(again, at), 1, &t));
	ck_assert_uint_eq(task_number(&t), 3);
	more = alloc(again, 1, 4, 0);
	ck_assert_int_ne(more, at);
	board_free(again);
	board_free(NULL);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("board");
	TCase *tc = tcase_create("board");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, test_areas);
	tcase_add_test(tc, test_reuse);
	tcase_add_test(tc, test_full);
	tcase_add_test(tc, test_numbers);
	tcase_add_test(tc, test_slots);
	tcase_add_test(tc, test_cell_unfinished);
	tcase_add_test(tc, test_cell_overtaken);
	tcase_add_test(tc, test_killed_writer);
	tcase_add_test(tc, test_read_only);
	tcase_add_test(tc, test_spoilt_area);
	tcase_add_test(tc, test_not_a_board);
	tcase_add_test(tc, test_adopted);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
