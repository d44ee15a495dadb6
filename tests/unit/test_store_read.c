/*
 * Reads of one turn of the loop share a transaction: what they may see, and
 * what they must.
 */
#include <poll.h>

#include "../../qo-store/db_int.h"
#include "run_suite.h"
#include "store_fixture.h"

/* A writer beside the store: while it holds the lock no group commits. */
static sqlite3 *
hold_writes(void)
{
	char path[160];
	sqlite3 *h;

	snprintf(path, sizeof(path), "%s/%s", fx_dir, DB_FILE);
	ck_assert_int_eq(sqlite3_open(path, &h), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(h, "BEGIN IMMEDIATE", NULL, NULL, NULL),
	    SQLITE_OK);
	return h;
}

static void
let_go(sqlite3 *h)
{
	ck_assert_int_eq(sqlite3_exec(h, "ROLLBACK", NULL, NULL, NULL),
	    SQLITE_OK);
	ck_assert_int_eq(sqlite3_close(h), SQLITE_OK);
}

static void
see_it(struct db_op *op)
{
	ck_assert_int_eq(op->rc, DB_OK);
	fx_expect(op->bucket_id, op->key, NULL, "new");
	*(bool *)op->arg = true;
}

/* The descriptor of a client that has its answer may be in the same turn of
 * the loop as that answer: its read must find what was written. */
START_TEST(test_answered_is_seen)
{
	int64_t bucket = fx_bucket("b", DB_UNVERSIONED);
	struct db_op op = fx_put_op(bucket, "k", "new");
	bool seen = false;
	struct pollfd pfd;
	sqlite3 *h;

	h = hold_writes();
	op.done = see_it;
	op.arg = &seen;
	db_submit(fx_db, &op);
	loop_once(fx_loop, 0); /* handed in, and waiting */
	fx_expect(bucket, "k", NULL, "(none)");
	let_go(h);
	pfd = (struct pollfd){ fx_db->done_fd, POLLIN, 0 };
	ck_assert_int_eq(poll(&pfd, 1, 60000), 1);
	/* As the loop does when both are ready at once. */
	fx_db->done_io.cb(&fx_db->done_io, EPOLLIN);
	ck_assert(seen);
}
END_TEST

/* Within a turn the moment stays, and the turn's end lets it go. */
START_TEST(test_turn_is_one_moment)
{
	int64_t bucket = fx_bucket("b", DB_UNVERSIONED);
	struct db_op op = fx_put_op(bucket, "k", "new");
	size_t done = 0;
	struct pollfd pfd;
	sqlite3 *h;

	h = hold_writes();
	op.done = fx_count_done;
	op.arg = &done;
	db_submit(fx_db, &op);
	loop_once(fx_loop, 0);
	fx_expect(bucket, "k", NULL, "(none)");
	let_go(h);
	pfd = (struct pollfd){ fx_db->done_fd, POLLIN, 0 };
	ck_assert_int_eq(poll(&pfd, 1, 60000), 1);
	fx_expect(bucket, "k", NULL, "(none)"); /* nobody was told yet */
	while (done == 0)
		loop_once(fx_loop, -1);
	fx_expect(bucket, "k", NULL, "new");
}
END_TEST

/* No transaction is left open for the time that the loop sleeps: it would
 * keep the WAL from beginning anew. */
START_TEST(test_nothing_stays_open)
{
	int64_t bucket = fx_bucket("b", DB_UNVERSIONED);

	fx_expect(bucket, "k", NULL, "(none)");
	ck_assert_int_eq(sqlite3_get_autocommit(fx_db->rd.h), 0);
	loop_once(fx_loop, 0);
	ck_assert_int_ne(sqlite3_get_autocommit(fx_db->rd.h), 0);
	fx_expect(bucket, "k", NULL, "(none)"); /* and is closed with it */
}
END_TEST

int
main(void)
{
	Suite *s;
	TCase *tc;

	s = suite_create("store_read");
	tc = tcase_create("store_read");
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, fx_setup, fx_teardown);
	tcase_add_test(tc, test_answered_is_seen);
	tcase_add_test(tc, test_turn_is_one_moment);
	tcase_add_test(tc, test_nothing_stays_open);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
