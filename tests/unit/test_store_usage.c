/* The bytes that each owner has stored, and the limit on them. */
#include <inttypes.h>
#include <sqlite3.h>

#include "run_suite.h"
#include "store_fixture.h"

#define MIB ((size_t)1024 * 1024)
#define ANY (INT64_C(1) << 40) /* a limit that nobody reaches */

static char *big; /* 6 MiB */

static void
setup(void)
{
	fx_setup();
	big = xcalloc(1, 6 * MIB);
}

static void
teardown(void)
{
	free(big);
	fx_teardown();
}

/* Runs SQL beside the store; the first column of the first row. */
static int64_t
sql(const char *text)
{
	sqlite3_stmt *st;
	const char *rest;
	int64_t n = -1;
	char path[256];
	sqlite3 *h;

	(void)snprintf(path, sizeof(path), "%s/store.db", fx_dir);
	ck_assert_int_eq(sqlite3_open(path, &h), SQLITE_OK);
	for (; *text != '\0'; text = rest) {
		ck_assert_msg(sqlite3_prepare_v2(h, text, -1, &st, &rest) ==
			SQLITE_OK,
		    "%s", sqlite3_errmsg(h));
		if (sqlite3_step(st) == SQLITE_ROW)
			n = sqlite3_column_int64(st, 0);
		ck_assert_int_eq(sqlite3_finalize(st), SQLITE_OK);
	}
	sqlite3_close(h);
	return n;
}

static int64_t
used(const char *owner)
{
	char text[128];

	(void)snprintf(text, sizeof(text),
	    "SELECT coalesce(sum(bytes), 0) FROM usage WHERE owner = '%s'",
	    owner);
	return sql(text);
}

static void
note(const char *line, void *arg)
{
	strlcpy(arg, line, 256);
}

static void
expect_good(void)
{
	char line[256] = "";
	struct qo_err err;

	ck_assert_msg(db_check(fx_dir, note, line, &err) == 0, "%s", line);
}

static enum db_rc
put(int64_t b, const char *key, size_t len, const char *owner, int64_t max)
{
	struct db_op op = { .kind = DB_OP_PUT,
		.bucket_id = b,
		.key = key,
		.body = fx_body(big, len),
		.max_bytes = max };

	op.meta.owner = (char *)(uintptr_t)owner;
	return fx_run(&op);
}

static const enum db_versioning states[] = { DB_UNVERSIONED, DB_VERSIONED,
	DB_SUSPENDED };

START_TEST(test_40_counted)
{
	struct db_op op;
	int64_t b;

	b = fx_bucket("bb", DB_UNVERSIONED);
	ck_assert_int_eq(put(b, "before", 7, "me", ANY), DB_OK);
	fx_versioning(b, states[_i]);
	ck_assert_int_eq(put(b, "before", 11, "me", ANY), DB_OK);
	ck_assert_int_eq(put(b, "k", 100, "me", ANY), DB_OK);
	ck_assert_int_eq(put(b, "k", 2 * MIB, "you", ANY), DB_OK);
	ck_assert_int_eq(put(b, "k", 10, "me", ANY), DB_OK);
	ck_assert_int_eq(used("me"),
	    states[_i] == DB_VERSIONED ? 7 + 11 + 100 + 10 : 11 + 10);
	ck_assert_int_eq(used("you"), states[_i] == DB_VERSIONED ? 2 << 20 : 0);
	expect_good();
	/* A refused one is not counted. */
	op = fx_put_op(b, "k", "refused");
	op.if_none_match = "*";
	ck_assert_int_eq(fx_run(&op), DB_PRECONDITION);
	fx_delete(b, "before", NULL);
	fx_delete(b, "k", "null");
	expect_good();
	fx_reopen();
	ck_assert_int_eq(put(b, "last", 5, "me", ANY), DB_OK);
	expect_good();
}
END_TEST

START_TEST(test_40_limit)
{
	bool keeps = states[_i] == DB_VERSIONED;
	int64_t b;

	b = fx_bucket("bb", states[_i]);
	ck_assert_int_eq(put(b, "k", 1001, "me", 1000), DB_QUOTA);
	fx_expect(b, "k", NULL, "(none)");
	ck_assert_int_eq(put(b, "k", 600, "me", 1000), DB_OK);
	ck_assert_int_eq(put(b, "l", 401, "me", 1000), DB_QUOTA);
	ck_assert_int_eq(put(b, "l", 401, "you", 1000), DB_OK);
	ck_assert_int_eq(put(b, "l2", 400, "me", 1000), DB_OK);
	ck_assert_int_eq(put(b, "none", 0, "me", 1000), DB_OK);
	/* What is replaced makes room, where it is replaced. */
	ck_assert_int_eq(put(b, "k", 600, "me", 1000),
	    keeps ? DB_QUOTA : DB_OK);
	ck_assert_int_eq(put(b, "k", 601, "me", 1000), DB_QUOTA);
	/* Below what is there already: nothing more, but less. */
	ck_assert_int_eq(put(b, "m", 1, "me", 500), DB_QUOTA);
	if (!keeps)
		ck_assert_int_eq(put(b, "k", 10, "me", 500), DB_OK);
	fx_reopen();
	ck_assert_int_eq(put(b, "m", 1000, "me", 1000), DB_QUOTA);
	expect_good();
}
END_TEST

static struct db_op
upload(int64_t b, const char *key)
{
	struct db_op op = {
		.kind = DB_OP_UPLOAD_CREATE, .bucket_id = b, .key = key
	};

	op.meta.owner = (char *)(uintptr_t) "me";
	ck_assert_int_eq(fx_run(&op), DB_OK);
	return op;
}

static enum db_rc
part(struct db_op *p, const struct db_op *up, int number, size_t len,
    int64_t max)
{
	*p = (struct db_op){ .kind = DB_OP_PART_PUT,
		.bucket_id = up->bucket_id,
		.key = up->key,
		.upload_id = up->out_upload,
		.part_number = number,
		.max_bytes = max,
		.body = fx_body(big, len) };
	return fx_run(p);
}

START_TEST(test_40_parts)
{
	struct db_op up, p[2], done;
	struct db_complete_part parts[2];
	int64_t b, limit = (int64_t)(5 * MIB + 1000);

	b = fx_bucket("bb", DB_UNVERSIONED);
	up = upload(b, "k");
	ck_assert_int_eq(part(&p[0], &up, 1, 5 * MIB, limit), DB_OK);
	ck_assert_int_eq(part(&p[1], &up, 2, 1001, limit), DB_QUOTA);
	ck_assert_int_eq(part(&p[1], &up, 2, 1000, limit), DB_OK);
	ck_assert_int_eq(part(&p[1], &up, 2, 999, limit), DB_OK);
	ck_assert_int_eq(used("me"), (int64_t)(5 * MIB + 999));
	expect_good();
	parts[0] = (struct db_complete_part){ .number = 1,
		.etag = p[0].out_etag };
	parts[1] = (struct db_complete_part){ .number = 2,
		.etag = p[1].out_etag };
	done = (struct db_op){ .kind = DB_OP_UPLOAD_COMPLETE,
		.bucket_id = b,
		.key = "k",
		.upload_id = up.out_upload,
		.parts = parts,
		.nparts = 2,
		.max_bytes = limit };
	ck_assert_int_eq(fx_run(&done), DB_OK);
	ck_assert_int_eq(used("me"), (int64_t)(5 * MIB + 999));
	expect_good();
	up = upload(b, "gone");
	ck_assert_int_eq(part(&p[0], &up, 1, 77, 0), DB_OK);
	ck_assert_int_eq(used("me"), (int64_t)(5 * MIB + 999 + 77));
	done = (struct db_op){ .kind = DB_OP_UPLOAD_ABORT,
		.bucket_id = b,
		.key = "gone",
		.upload_id = up.out_upload };
	ck_assert_int_eq(fx_run(&done), DB_OK);
	fx_delete(b, "k", NULL);
	ck_assert_int_eq(used("me"), 0);
	expect_good();
}
END_TEST

/* Nothing is counted before there is a limit; then everything is. */
START_TEST(test_40_counted_when_asked)
{
	struct db_op ops[3], up, p;
	int64_t b;

	b = fx_bucket("bb", DB_VERSIONED);
	fx_put(b, "k", "one");
	up = upload(b, "up");
	ck_assert_int_eq(part(&p, &up, 1, 100, 0), DB_OK);
	ck_assert_int_eq(sql("SELECT count(*) FROM usage"), 0);
	/* In the middle of a group, and refused. */
	ops[0] = fx_put_op(b, "k", "three");
	ops[1] = fx_put_op(b, "refused", "x");
	ops[1].max_bytes = 3 + 5 + 100;
	ops[2] = fx_put_op(b, "k", "after");
	fx_run_many(ops, 3);
	ck_assert_int_eq(ops[0].rc, DB_OK);
	ck_assert_int_eq(ops[1].rc, DB_QUOTA);
	ck_assert_int_eq(ops[2].rc, DB_OK);
	ck_assert_int_eq(used("me"), 3 + 5 + 100 + 5);
	expect_good();
	fx_put(b, "k", "more");
	fx_reopen();
	fx_put(b, "k", "more");
	ck_assert_int_eq(used("me"), 3 + 5 + 100 + 5 + 4 + 4);
	expect_good();
}
END_TEST

START_TEST(test_from_format_1)
{
	int64_t b;

	b = fx_bucket("bb", DB_VERSIONED);
	fx_put(b, "k", "one");
	db_close(fx_db);
	sql("DROP TABLE usage; DROP TABLE joined; DROP TABLE done;"
	    "PRAGMA user_version = 1");
	expect_good(); /* of format 1, and not touched */
	fx_open();
	ck_assert_int_eq(sql("PRAGMA user_version"), 2);
	fx_expect(b, "k", NULL, "one");
	ck_assert_int_eq(put(b, "k", 10, "me", 12), DB_QUOTA);
	ck_assert_int_eq(put(b, "k", 10, "me", 13), DB_OK);
	expect_good();
}
END_TEST

START_TEST(test_wrong_count_is_found)
{
	char line[256] = "";
	struct qo_err err;
	int64_t b;

	b = fx_bucket("bb", DB_VERSIONED);
	ck_assert_int_eq(put(b, "k", 3, "me", ANY), DB_OK);
	sql("UPDATE usage SET bytes = bytes + 1");
	ck_assert_int_eq(db_check(fx_dir, note, line, &err), 1);
	ck_assert_ptr_nonnull(strstr(line, "wrong number of bytes"));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("store_usage");
	TCase *tc = tcase_create("usage");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_40_counted, 0, 3);
	tcase_add_loop_test(tc, test_40_limit, 0, 3);
	tcase_add_test(tc, test_40_parts);
	tcase_add_test(tc, test_40_counted_when_asked);
	tcase_add_test(tc, test_from_format_1);
	tcase_add_test(tc, test_wrong_count_is_found);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
