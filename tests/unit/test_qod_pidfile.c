/*
 * One qod for one pidfile: the lock counts, not the number in it.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../qod/pidfile.h"
#include "run_suite.h"

static char path[256];

static void
setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, sizeof(path), "%s/pidfile.%ld",
	    tmp != NULL ? tmp : "/tmp", (long)getpid());
}

static void
teardown(void)
{
	unlink(path);
}

static long
number(void)
{
	long n = -1;
	FILE *f;

	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%ld\n", &n), 1);
	fclose(f);
	return n;
}

START_TEST(test_take)
{
	struct qo_err err = { 0 };
	struct stat st;
	int fd, other;

	fd = pidfile_take(path, &err);
	ck_assert_msg(fd != -1, "%s", err.msg);
	ck_assert_int_eq(number(), getpid());
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0644);
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	other = pidfile_take(path, &err);
	ck_assert_int_eq(other, -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "another qod runs"));
	/* Who was refused has changed nothing. */
	ck_assert_int_eq(number(), getpid());
	pidfile_drop(path, fd);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* Left behind by one that was killed, longer than the new number. */
START_TEST(test_stale)
{
	struct qo_err err = { 0 };
	FILE *f;
	int fd;

	f = fopen(path, "we");
	ck_assert_ptr_nonnull(f);
	fputs("12345678901234567890\nmore\n", f);
	fclose(f);
	fd = pidfile_take(path, &err);
	ck_assert_msg(fd != -1, "%s", err.msg);
	ck_assert_int_eq(number(), getpid());
	pidfile_drop(path, fd);
}
END_TEST

/* A file that has our name by now is not ours to remove. */
START_TEST(test_replaced)
{
	struct qo_err err = { 0 };
	int fd, other;

	fd = pidfile_take(path, &err);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(unlink(path), 0);
	other = pidfile_take(path, &err);
	ck_assert_msg(other != -1, "%s", err.msg);
	pidfile_drop(path, fd);
	ck_assert_int_eq(access(path, F_OK), 0);
	pidfile_drop(path, other);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(test_no_place)
{
	struct qo_err err = { 0 };

	ck_assert_int_eq(pidfile_take("/nonexistent/pid", &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "/nonexistent/pid"));
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_eq(pidfile_take(path, &err), -1);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("qod_pidfile");
	TCase *tc = tcase_create("qod_pidfile");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_take);
	tcase_add_test(tc, test_stale);
	tcase_add_test(tc, test_replaced);
	tcase_add_test(tc, test_no_place);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
