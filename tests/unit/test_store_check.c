/* Checking and copying a database that is in use. */
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>

#include "run_suite.h"
#include "store_fixture.h"

#define LARGE (DB_INLINE_MAX + 5000)

static char dest[160];

static void
setup(void)
{
	fx_setup();
	(void)snprintf(dest, sizeof(dest), "%s.copy", fx_dir);
}

static void
teardown(void)
{
	fx_remove_tree(dest);
	fx_teardown();
}

static void
note(const char *line, void *arg)
{
	struct buf *out = arg;

	buf_addf(out, "%s\n", line);
}

/* Expects n problems, the first of which holds text. */
static void
expect_check(const char *dir, int64_t n, const char *text)
{
	struct qo_err err = { .msg = "" };
	struct buf out;
	int64_t got;

	buf_init(&out, 65536);
	got = db_check(dir, note, &out, &err);
	ck_assert_msg(got == n, "%lld problems: %s %s", (long long)got,
	    out.data, err.msg);
	if (text != NULL)
		ck_assert_msg(strstr(out.data, text) != NULL, "%s", out.data);
	buf_fini(&out);
}

static void
put_large(int64_t b, const char *key, char c)
{
	struct db_op op = { .kind = DB_OP_PUT, .bucket_id = b, .key = key };
	char *p = xmalloc(LARGE);

	memset(p, c, LARGE);
	op.body = fx_body(p, LARGE);
	ck_assert_int_eq(fx_run(&op), DB_OK);
	free(p);
}

static int64_t
fill(void)
{
	struct db_op up = { .kind = DB_OP_UPLOAD_CREATE, .key = "up" };
	struct db_op part = {
		.kind = DB_OP_PART_PUT, .key = "up", .part_number = 1
	};
	int64_t b;

	b = fx_bucket("bb", DB_VERSIONED);
	fx_put(b, "a", "one");
	fx_put(b, "a", "two");
	fx_put(b, "empty", "");
	fx_delete(b, "gone", NULL);
	put_large(b, "large", 'x');
	up.bucket_id = part.bucket_id = b;
	ck_assert_int_eq(fx_run(&up), DB_OK);
	part.upload_id = up.out_upload;
	part.body = fx_body("part", 4);
	ck_assert_int_eq(fx_run(&part), DB_OK);
	return b;
}

static const struct damage {
	const char *sql;
	int problems;
	const char *text;
} damages[] = {
	{ "UPDATE version SET body = CAST('twO' AS BLOB) WHERE size = 3"
	  " AND vid = (SELECT vid FROM current WHERE size = 3)",
	    1, "body of version a: its checksum" },
	{ "UPDATE part SET body = CAST('parT' AS BLOB)", 1, "body of part" },
	{ "DELETE FROM version WHERE vid = (SELECT vid FROM current"
	  " WHERE key = CAST('a' AS BLOB))",
	    1, "current row without its body: key a" },
	{ "DELETE FROM version WHERE vid = (SELECT vid FROM old"
	  " WHERE key = CAST('a' AS BLOB))",
	    1, "old row without its body: key a" },
	{ "DELETE FROM current WHERE key = CAST('empty' AS BLOB)", 1,
	    "body that no row names: key empty" },
	{ "DELETE FROM upload", 1, "part without its upload" },
	{ "UPDATE meta SET value = 1 WHERE name = 'vid_limit'", 4,
	    "version number above the counter" },
	{ "DELETE FROM bucket", 4, "object of a bucket that is not there" },
};

START_TEST(test_check_finds)
{
	const struct damage *d = &damages[_i];
	char path[256];
	sqlite3 *h;

	fill();
	expect_check(fx_dir, 0, NULL);
	(void)snprintf(path, sizeof(path), "%s/store.db", fx_dir);
	ck_assert_int_eq(sqlite3_open(path, &h), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(h, d->sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(h);
	expect_check(fx_dir, d->problems, d->text);
}
END_TEST

/* Runs a shell command on the only blob. */
static void
blob_shell(const char *cmd)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "cd %s/blobs && %s", fx_dir, cmd);
	ck_assert_int_eq(system(line), 0);
}

START_TEST(test_check_files)
{
	fill();
	blob_shell(
	    "printf y | dd of=$(ls) bs=1 seek=9 conv=notrunc 2>/dev/null");
	expect_check(fx_dir, 1, "of version large: its checksum does not fit");
	blob_shell("truncate -s 5 $(ls)");
	expect_check(fx_dir, 1, "of version large: its checksum does not fit");
	blob_shell("rm $(ls)");
	expect_check(fx_dir, 1, "of version large: No such file");
}
END_TEST

START_TEST(test_check_nothing_there)
{
	struct qo_err err;

	ck_assert_int_eq(db_check("/nonexistent", note, NULL, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "/nonexistent"));
	/* Nor with the store closed. */
	fill();
	db_close(fx_db);
	expect_check(fx_dir, 0, NULL);
	fx_open();
}
END_TEST

static void
count(int64_t done, int64_t total, void *arg)
{
	ck_assert_int_le(done, total);
	(*(int *)arg)++;
}

static void
use_copy(void)
{
	db_close(fx_db);
	fx_db = db_open(fx_loop, dest, NULL);
	ck_assert_ptr_nonnull(fx_db);
}

START_TEST(test_backup)
{
	struct qo_err err;
	struct db_op after;
	struct db_obj o;
	int64_t b;
	int calls = 0;

	b = fill();
	ck_assert_msg(db_backup(fx_dir, dest, count, &calls, &err) == 0, "%s",
	    err.msg);
	ck_assert_int_gt(calls, 1);
	/* What comes after is not in it, what goes after still is. */
	after = fx_put(b, "a", "three");
	fx_versioning(b, DB_SUSPENDED);
	expect_check(dest, 0, NULL);
	use_copy();
	fx_expect(b, "a", NULL, "two");
	fx_expect(b, "a", after.out_version, "(rc 3)");
	ck_assert_int_eq(db_get(fx_db, b, "large", NULL, DB_READ_BODY, &o),
	    DB_OK);
	ck_assert_int_eq(o.size, LARGE);
	db_obj_fini(&o);
	fx_put(b, "a", "four");
	expect_check(dest, 0, NULL);
}
END_TEST

START_TEST(test_backup_refuses)
{
	struct qo_err err;
	struct stat st;

	fill();
	ck_assert_int_eq(mkdir(dest, 0700), 0);
	ck_assert_int_eq(db_backup(fx_dir, dest, NULL, NULL, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, dest));
	ck_assert_int_eq(rmdir(dest), 0);
	/* One that fails half way leaves nothing. */
	blob_shell("rm $(ls)");
	ck_assert_int_eq(db_backup(fx_dir, dest, NULL, NULL, &err), -1);
	ck_assert_int_eq(stat(dest, &st), -1);
}
END_TEST

/* A blob that is deleted while a backup holds the lock stays until later. */
START_TEST(test_no_unlink_during_backup)
{
	struct db_op verify = { .kind = DB_OP_VERIFY, .copy_fd = -1 };
	char path[256];
	int64_t b;
	int fd;

	b = fx_bucket("bb", DB_UNVERSIONED);
	put_large(b, "k", 'x');
	(void)snprintf(path, sizeof(path), "%s/blobs.lock", fx_dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(flock(fd, LOCK_SH), 0);
	fx_delete(b, "k", NULL);
	/* The file thread takes one thing after the other: after this the
	 * removal was tried. */
	(void)fx_run(&verify);
	(void)fx_run(&verify);
	blob_shell("test $(ls | wc -l) = 1");
	fx_reopen();
	blob_shell("test $(ls | wc -l) = 1");
	close(fd);
	fx_reopen();
	blob_shell("test $(ls | wc -l) = 0");
}
END_TEST

int
main(void)
{
	Suite *s;
	TCase *tc;

	s = suite_create("store_check");
	tc = tcase_create("store_check");
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_check_finds, 0,
	    (int)(sizeof(damages) / sizeof(damages[0])));
	tcase_add_test(tc, test_check_files);
	tcase_add_test(tc, test_check_nothing_there);
	tcase_add_test(tc, test_backup);
	tcase_add_test(tc, test_backup_refuses);
	tcase_add_test(tc, test_no_unlink_during_backup);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
