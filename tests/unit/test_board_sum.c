/*
 * Sums over the scoreboard: nothing is lost when a process goes, and no sum
 * ever falls.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "board_rows.h"
#include "board_sum.h"
#include "run_suite.h"

static struct board *
new_board(void)
{
	struct qo_err err;
	struct board *b = board_create(&err);

	ck_assert_msg(b != NULL, "%s", err.msg);
	return b;
}

static struct board_area *
alloc(struct board *b, enum board_role role, size_t nhandlers)
{
	struct qo_err err;
	int64_t at = board_alloc(b, role, 0, 1, 4, nhandlers, &err);

	ck_assert_msg(at != -1, "%s", err.msg);
	return board_at(b, at);
}

static uint64_t
ends(const struct board_handler *h, enum board_counter how)
{
	return h->ends[how - BOARD_COMPLETED];
}

START_TEST(test_gone)
{
	struct board *b = new_board();
	struct board_area *w, *m;
	struct board_sum s;

	m = alloc(b, BOARD_MONITOR, 0);
	board_add(m, BOARD_RECLAIMED, 3);
	board_set_state(m, BOARD_READY);
	w = alloc(b, BOARD_WORKER, 2);
	board_handler_name(w, 0, "mail", "mail.*");
	board_handler_name(w, 1, "a.first", "a");
	board_handler_ran(w, 0, 7);
	board_task_ended(w, 0, BOARD_COMPLETED);
	board_add(w, BOARD_COMPLETED, 4);
	board_release(b, board_offset(w));
	board_restarted(b);
	w = alloc(b, BOARD_WORKER, 1);
	board_handler_name(w, 0, "mail", "mail.*");
	board_handler_ran(w, 0, 700);
	board_task_ended(w, 0, BOARD_FAILED);
	board_add(w, BOARD_COMPLETED, 2);
	board_gauge(w, BOARD_SKEW_MS, -900);
	board_sum(b, NULL, &s);
	ck_assert_uint_eq(s.counters[BOARD_COMPLETED], 7);
	ck_assert_uint_eq(s.counters[BOARD_RECLAIMED], 3);
	ck_assert_uint_eq(s.counters[BOARD_RESTARTS], 1);
	ck_assert_int_eq(s.skew_ms, -900);
	ck_assert_int_eq(s.slots, 8);
	ck_assert_uint_eq(s.processes[BOARD_WORKER][BOARD_STARTING], 1);
	ck_assert_uint_eq(s.processes[BOARD_MONITOR][BOARD_READY], 1);
	ck_assert_uint_eq(s.nhandlers, 2);
	ck_assert_str_eq(s.handlers[0].name, "a.first");
	ck_assert_str_eq(s.handlers[1].name, "mail");
	ck_assert_uint_eq(ends(&s.handlers[1], BOARD_COMPLETED), 1);
	ck_assert_uint_eq(ends(&s.handlers[1], BOARD_FAILED), 1);
	ck_assert_uint_eq(s.handlers[1].sum_ms, 707);
	board_sum_fini(&s);
	/* The area of the gone is no process's. */
	for (m = NULL; (m = board_next(b, m)) != NULL;)
		ck_assert_ptr_ne(m, board_gone(b));
	ck_assert_uint_eq(board_moves(b) % 2, 0);
	board_free(b);
}
END_TEST

/* A section whose type a reload has changed: what was counted under the old
 * type stays there, and a sum has both. */
START_TEST(test_other_type)
{
	static const char *const types[] = { "mail.*", "mail.send", "mail.*" };
	struct board *b = new_board();
	struct board_area *w;
	struct board_sum s;
	size_t i;

	for (i = 0; i < 3; i++) {
		w = alloc(b, BOARD_WORKER, 1);
		board_handler_name(w, 0, "mail", types[i]);
		board_handler_ran(w, 0, 1);
		board_task_ended(w, 0, BOARD_COMPLETED);
		if (i < 2)
			board_release(b, board_offset(w));
	}
	board_sum(b, NULL, &s);
	ck_assert_uint_eq(s.nhandlers, 2);
	ck_assert_str_eq(s.handlers[0].type, "mail.*");
	ck_assert_uint_eq(ends(&s.handlers[0], BOARD_COMPLETED), 2);
	ck_assert_uint_eq(s.handlers[0].sum_ms, 2);
	ck_assert_str_eq(s.handlers[1].type, "mail.send");
	ck_assert_uint_eq(ends(&s.handlers[1], BOARD_COMPLETED), 1);
	board_sum_fini(&s);
	board_free(b);
}
END_TEST

/* Rows and who counts there, by a configuration. */
START_TEST(test_rows)
{
	static const char text[] = "[handler any]\ntype = mail.*\n"
				   "command = true\n"
				   "[handler one]\ntype = mail.send\n"
				   "command = true\n";
	struct conf_opts o = { .how = CONF_NO_FILES | CONF_TRUSTED };
	struct conf *c = conf_parse_text(text, strlen(text), "t", &o);
	struct board *b = new_board();
	struct board_area *w;
	struct board_sum s;

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(board_rows(c), 3);
	w = alloc(b, BOARD_WORKER, board_rows(c));
	board_rows_name(w, c);
	/* Nothing but what is configured has a name, */
	board_sum(b, NULL, &s);
	ck_assert_uint_eq(s.nhandlers, 2);
	ck_assert_str_eq(s.handlers[0].type, "mail.*");
	ck_assert_str_eq(s.handlers[1].type, "mail.send");
	board_sum_fini(&s);
	/* whatever is submitted. */
	board_task_ended(w, board_row_of_type(c, "mail.send"), BOARD_LOST);
	board_task_ended(w, board_row_of_type(c, "mail.a"), BOARD_COMPLETED);
	board_task_ended(w, board_row_of_type(c, "mail.b"), BOARD_COMPLETED);
	board_task_ended(w, board_row_of_type(c, "evil-1"), BOARD_FAILED);
	board_task_ended(w, board_row_of_type(c, "evil-2"), BOARD_FAILED);
	board_sum(b, NULL, &s);
	ck_assert_uint_eq(s.nhandlers, 3);
	ck_assert_str_eq(s.handlers[0].name, BOARD_REST);
	ck_assert_uint_eq(ends(&s.handlers[0], BOARD_FAILED), 2);
	ck_assert_uint_eq(ends(&s.handlers[1], BOARD_COMPLETED), 2);
	ck_assert_uint_eq(ends(&s.handlers[2], BOARD_LOST), 1);
	board_sum_fini(&s);
	board_free(b);
	conf_free(c);
}
END_TEST

/* Far more handlers than there is room for: they are counted together. */
START_TEST(test_many_names)
{
	struct board *b = new_board();
	struct board_area *w;
	struct board_sum s;
	char name[32];
	uint64_t ran = 0;
	size_t i;
	int round;

	for (round = 0; round < 3; round++) {
		w = alloc(b, BOARD_WORKER, 500);
		for (i = 0; i < 500; i++) {
			snprintf(name, sizeof(name), "h%d.%zu", round, i);
			board_handler_name(w, i, name, name);
			board_task_ended(w, i, BOARD_COMPLETED);
		}
		board_release(b, board_offset(w));
	}
	board_sum(b, NULL, &s);
	for (i = 0; i < s.nhandlers; i++)
		ran += ends(&s.handlers[i], BOARD_COMPLETED);
	ck_assert_uint_eq(ran, 1500);
	ck_assert_uint_lt(s.nhandlers, 1500);
	board_sum_fini(&s);
	board_free(b);
}
END_TEST

static void
watch(int fd)
{
	struct qo_err err;
	struct board *b = board_open(fd, false, &err);
	struct board_sum s;
	uint64_t last = 0, handled = 0;
	int i;

	for (i = 0; b != NULL && i < 3000; i++) {
		board_sum(b, NULL, &s);
		if (s.counters[BOARD_COMPLETED] < last)
			_exit(1);
		last = s.counters[BOARD_COMPLETED];
		if (s.nhandlers > 0) {
			if (s.handlers[0].ends[0] < handled)
				_exit(2);
			handled = s.handlers[0].ends[0];
		}
		board_sum_fini(&s);
	}
	_exit(b == NULL ? 3 : last == 0 ? 4 : 0);
}

/* Workers come and go while another process reads. */
START_TEST(test_never_falls)
{
	struct board *b = new_board();
	struct board_area *w;
	pid_t pid;
	int status;

	w = alloc(b, BOARD_WORKER, 1);
	board_add(w, BOARD_COMPLETED, 1);
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0)
		watch(fcntl(board_fd(b), F_DUPFD_CLOEXEC, 3));
	while (waitpid(pid, &status, WNOHANG) == 0) {
		board_release(b, board_offset(w));
		w = alloc(b, BOARD_WORKER, 1);
		board_handler_name(w, 0, "mail", "mail");
		board_task_ended(w, 0, BOARD_COMPLETED);
	}
	ck_assert_int_eq(status, 0);
	board_free(b);
}
END_TEST

START_TEST(test_alone)
{
	struct board_area *a = board_private(BOARD_MONITOR, 0, 1);
	struct board_sum s;

	board_add(a, BOARD_ORPHANS, 9);
	board_sum(NULL, a, &s);
	ck_assert_uint_eq(s.counters[BOARD_ORPHANS], 9);
	ck_assert_uint_eq(s.processes[BOARD_MONITOR][BOARD_STARTING], 1);
	board_sum_fini(&s);
	board_private_free(a);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("board_sum");
	TCase *tc = tcase_create("sum");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_gone);
	tcase_add_test(tc, test_other_type);
	tcase_add_test(tc, test_rows);
	tcase_add_test(tc, test_many_names);
	tcase_add_test(tc, test_never_falls);
	tcase_add_test(tc, test_alone);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
