#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "run_suite.h"

static char dir[64];
static char path[128], other[128];

static void
setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/qo-test-io.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	umask(022);
}

static void
teardown(void)
{
	unlink(path);
	unlink(other);
	ck_assert_int_eq(rmdir(dir), 0);
}

static void
put_file(const char *text, mode_t mode)
{
	struct qo_err err;

	ck_assert_int_eq(io_write_file(path, text, strlen(text), mode, &err),
	    0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

START_TEST(test_write_read)
{
	struct qo_err err;
	struct stat st;
	struct buf b;

	buf_init(&b, 100);
	put_file("one", 0600);
	put_file("two, longer", 0600);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(io_read_file(path, &b, &err), 0);
	ck_assert_str_eq(b.data, "two, longer");
	/* It is added to what is there. */
	ck_assert_int_eq(io_read_file(path, &b, &err), 0);
	ck_assert_str_eq(b.data, "two, longertwo, longer");
	snprintf(other, sizeof(other), "%s/file.tmp", dir);
	ck_assert_int_eq(access(other, F_OK), -1);
	buf_fini(&b);
}
END_TEST

/* Sizes around the limit and around a read step. */
START_TEST(test_read_limit)
{
	static const size_t sizes[] = { 0, 1, 16383, 16384, 16385, 40000 };
	size_t n = sizes[_i / 3];
	size_t max = n + (size_t)(_i % 3);
	struct qo_err err;
	struct buf b;
	char *text;

	if (max == 0)
		return;
	max--; /* one less than the file, the same, one more */
	text = malloc(n + 1);
	ck_assert_ptr_nonnull(text);
	memset(text, 'x', n);
	ck_assert_int_eq(io_write_file(path, text, n, 0600, &err), 0);
	buf_init(&b, max);
	if (max < n) {
		ck_assert_int_eq(io_read_file(path, &b, &err), -1);
		ck_assert_ptr_nonnull(strstr(err.msg, "larger than"));
	} else {
		ck_assert_int_eq(io_read_file(path, &b, &err), 0);
		ck_assert_uint_eq(b.len, n);
		ck_assert_int_eq(memcmp(b.data, text, n), 0);
	}
	buf_fini(&b);
	free(text);
}
END_TEST

START_TEST(test_not_a_file)
{
	struct qo_err err;
	struct buf b;

	buf_init(&b, 100);
	ck_assert_int_eq(io_read_file(path, &b, &err), -1);
	ck_assert_int_eq(err.errnum, ENOENT);
	ck_assert_ptr_nonnull(strstr(err.msg, path));
	ck_assert_int_eq(io_read_file(dir, &b, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "regular"));
	/* A FIFO must not hang us. */
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(io_read_file(path, &b, &err), -1);
	ck_assert_int_eq(io_read_secret(path, &b, &err), -1);
	snprintf(other, sizeof(other), "%s/no/such/dir", dir);
	ck_assert_int_eq(io_write_file(other, "", 0, 0600, &err), -1);
	ck_assert_int_eq(err.errnum, ENOENT);
	buf_fini(&b);
}
END_TEST

START_TEST(test_secret)
{
	static const struct {
		mode_t mode;
		int rc;
	} modes[] = { { 0600, 0 }, { 0400, 0 }, { 0640, 0 }, { 0440, 0 },
		{ 0644, -1 }, { 0660, -1 }, { 0602, -1 }, { 0601, -1 },
		{ 0620, -1 } };
	struct qo_err err;
	struct buf b;
	size_t i;

	buf_init_secret(&b, 100);
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		put_file("s3cret", modes[i].mode);
		buf_reset(&b);
		ck_assert_msg(io_read_secret(path, &b, &err) == modes[i].rc,
		    "%04o", (unsigned)modes[i].mode);
		if (modes[i].rc == -1)
			ck_assert_ptr_nonnull(strstr(err.msg, "chmod"));
		else
			ck_assert_str_eq(b.data, "s3cret");
	}
	put_file("s3cret", 0600);
	ck_assert_int_eq(symlink(path, other), 0);
	ck_assert_int_eq(io_read_secret(other, &b, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "symlink"));
	buf_fini(&b);
}
END_TEST

START_TEST(test_secret_owner)
{
	struct qo_err err;
	struct buf b;

	if (geteuid() != 0)
		return; /* only root can give files away */
	put_file("s3cret", 0600);
	ck_assert_int_eq(chown(path, 12345, 12345), 0);
	buf_init(&b, 100);
	ck_assert_int_eq(io_read_secret(path, &b, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "12345"));
	ck_assert_int_eq(io_read_secret_of(path, 12346, &b, &err), -1);
	ck_assert_int_eq(io_read_secret_of(path, 12345, &b, &err), 0);
	ck_assert_str_eq(b.data, "s3cret");
	/* To whomever it belongs, it is not for everybody. */
	ck_assert_int_eq(chmod(path, 0644), 0);
	ck_assert_int_eq(io_read_secret_of(path, 12345, &b, &err), -1);
	buf_fini(&b);
}
END_TEST

static void
ignore(int signo)
{
	(void)signo;
}

/* Much more than a pipe holds, with signals that interrupt both ends. */
START_TEST(test_short_and_interrupted)
{
	struct sigaction sa = { .sa_handler = ignore }; /* no SA_RESTART */
	static char in[1 << 20], out[1 << 20];
	int fds[2], status, i;
	pid_t child, ticker;

	for (i = 0; i < (int)sizeof(in); i++)
		in[i] = (char)(i * 7 + i / 256);
	ck_assert_int_eq(sigaction(SIGUSR1, &sa, NULL), 0);
	ck_assert_int_eq(pipe(fds), 0);
	child = fork();
	ck_assert_int_ne(child, -1);
	if (child == 0) {
		close(fds[0]);
		_exit(io_write_all(fds[1], in, sizeof(in)) == 0 ? 0 : 1);
	}
	close(fds[1]);
	ticker = fork();
	ck_assert_int_ne(ticker, -1);
	if (ticker == 0) {
		for (i = 0; i < 500; i++) {
			kill(getppid(), SIGUSR1);
			kill(child, SIGUSR1);
			usleep(20);
		}
		_exit(0);
	}
	ck_assert_int_eq(io_read_full(fds[0], out, sizeof(out)),
	    (ssize_t)sizeof(out));
	ck_assert_int_eq(memcmp(in, out, sizeof(in)), 0);
	ck_assert_int_eq(io_read_full(fds[0], out, 1), 0);
	close(fds[0]);
	while (waitpid(ticker, &status, 0) == -1)
		ck_assert_int_eq(errno, EINTR);
	while (waitpid(child, &status, 0) == -1)
		ck_assert_int_eq(errno, EINTR);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(test_nonblock)
{
	int fds[2];
	char c;

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(io_nonblock(fds[0]), 0);
	ck_assert_int_eq(read(fds[0], &c, 1), -1);
	ck_assert_int_eq(errno, EAGAIN);
	close(fds[0]);
	close(fds[1]);
	ck_assert_int_eq(io_nonblock(fds[0]), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(io_write_all(fds[1], "x", 1), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(io_read_full(fds[0], &c, 1), -1);
}
END_TEST

/* In a child: 0 to 2 closed in every combination are open after. */
START_TEST(test_sanitize_stdio)
{
	int fd, status, before;
	pid_t pid;

	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		for (fd = 0; fd < 3; fd++)
			if ((_i & (1 << fd)) != 0)
				close(fd);
		if (io_sanitize_stdio() == -1)
			_exit(2);
		for (fd = 0; fd < 3; fd++)
			if (fcntl(fd, F_GETFD) == -1)
				_exit(3);
		/* And nothing more than these was opened. */
		before = dup(0);
		close(before);
		if (io_sanitize_stdio() == -1)
			_exit(4);
		fd = dup(0);
		_exit(fd == before ? 0 : 5);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("io");
	TCase *tc = tcase_create("io");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_write_read);
	tcase_add_loop_test(tc, test_read_limit, 0, 18);
	tcase_add_test(tc, test_not_a_file);
	tcase_add_test(tc, test_secret);
	tcase_add_test(tc, test_secret_owner);
	tcase_add_test(tc, test_short_and_interrupted);
	tcase_add_test(tc, test_nonblock);
	tcase_add_loop_test(tc, test_sanitize_stdio, 0, 8);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
