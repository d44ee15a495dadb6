/*
 * One store for one data directory, and who it is.
 */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "datalock.h"
#include "io.h"
#include "run_suite.h"

static char dir[256], path[300];
static int dir_fd;

static void
setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/datalock.%ld",
	    tmp != NULL ? tmp : "/tmp", (long)getpid());
	snprintf(path, sizeof(path), "%s/lock", dir);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ne(dir_fd, -1);
}

static void
teardown(void)
{
	close(dir_fd);
	unlink(path);
	rmdir(dir);
}

static int
take(void)
{
	struct qo_err err = { 0 };
	int fd;

	fd = datalock_take(dir_fd, dir, &err);
	ck_assert_msg(fd != -1, "%s", err.msg);
	return fd;
}

static void
put(const char *text)
{
	struct qo_err err = { 0 };

	ck_assert_int_eq(io_write_file(path, text, strlen(text), 0600, &err),
	    0);
}

START_TEST(test_take)
{
	struct datalock_holder who;
	struct qo_err err = { 0 };
	int fd;

	ck_assert(!datalock_is_held(dir, &who));
	fd = take();
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert(datalock_is_held(dir, &who));
	ck_assert_int_eq(who.pid, getpid());
	ck_assert(!who.orphan);
	ck_assert_int_eq(datalock_take(dir_fd, dir, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "is in use by process"));
	ck_assert_int_eq(datalock_set_orphan(fd), 0);
	ck_assert(datalock_is_held(dir, &who));
	ck_assert_int_eq(who.pid, getpid());
	ck_assert(who.orphan);
	close(fd);
	ck_assert(!datalock_is_held(dir, &who));
	/* Nothing of the last one is left for the next. */
	fd = take();
	ck_assert(datalock_is_held(dir, &who));
	ck_assert(!who.orphan);
	close(fd);
}
END_TEST

/* A process whose child has the lock. */
static pid_t
start_master(pid_t *holder)
{
	pid_t pid;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0 && fork() == 0) {
		*holder = getpid();
		if (datalock_set_child(take()) == -1 ||
		    write(fds[1], holder, sizeof(*holder)) == -1)
			_exit(1);
	}
	if (pid == 0) {
		close(fds[1]);
		for (;;)
			pause();
	}
	close(fds[1]);
	ck_assert_int_eq(read(fds[0], holder, sizeof(*holder)),
	    (ssize_t)sizeof(*holder));
	close(fds[0]);
	return pid;
}

/* One that stands still and can not say itself that its qod is gone. */
START_TEST(test_left_behind)
{
	struct datalock_holder who;
	pid_t master, holder;

	master = start_master(&holder);
	ck_assert(datalock_is_held(dir, &who));
	ck_assert_int_eq(who.pid, holder);
	ck_assert(!who.orphan);
	ck_assert_int_eq(kill(master, SIGKILL), 0);
	ck_assert_int_eq(waitpid(master, NULL, 0), master);
	ck_assert(datalock_is_held(dir, &who));
	ck_assert_int_eq(who.pid, holder);
	ck_assert(who.orphan);
	ck_assert_int_eq(kill(holder, SIGKILL), 0);
}
END_TEST

/* Whatever was there before, a longer text of ours at last. */
START_TEST(test_stale)
{
	struct datalock_holder who;
	int fd;

	put("12345678901234567890 orphan and more of it\n");
	fd = take();
	ck_assert(datalock_is_held(dir, &who));
	ck_assert_int_eq(who.pid, getpid());
	ck_assert(!who.orphan);
	close(fd);
}
END_TEST

START_TEST(test_nonsense)
{
	static const char *const texts[] = { "", "\n", "orphan\n",
		"-7 orphan\n", "x 7 orphan\n", "7 orphanage\n", "7 adopted\n",
		"7 child\n", "7 child x\n", "7 child -1\n", "child 7\n" };
	struct datalock_holder who;
	int fd;

	fd = take();
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(pwrite(fd, texts[_i], strlen(texts[_i]), 0),
	    (ssize_t)strlen(texts[_i]));
	ck_assert(datalock_is_held(dir, &who));
	ck_assert_int_eq(who.pid, texts[_i][0] == '7' ? 7 : 0);
	ck_assert(!who.orphan);
	close(fd);
}
END_TEST

/* What somebody else has put there neither leads elsewhere nor blocks. */
START_TEST(test_traps)
{
	struct datalock_holder who;
	struct qo_err err = { 0 };

	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert(!datalock_is_held(dir, &who));
	ck_assert_int_eq(datalock_take(dir_fd, dir, &err), -1);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert(!datalock_is_held(dir, &who));
	ck_assert(!datalock_is_held("/nonexistent", &who));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("datalock");
	TCase *tc = tcase_create("datalock");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_take);
	tcase_add_test(tc, test_left_behind);
	tcase_add_test(tc, test_stale);
	tcase_add_loop_test(tc, test_nonsense, 0, 11);
	tcase_add_test(tc, test_traps);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
