/*
 * The control socket of qod, with clients that do as they are told and with
 * clients that do not.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../qod/control.h"
#include "../../qod/control_bind.h"
#include "run_suite.h"

#define LONG_LEN ((size_t)3 << 20)

static struct loop *l;
static struct control *ctl;
static char dir[128], path[160];
static char last[512]; /* the line that came last */
static int calls;

static int64_t
handler(void *arg, const char *line, struct buf *answer)
{
	size_t i;

	ck_assert_ptr_eq(arg, &calls);
	ck_assert_uint_lt(strlcpy(last, line, sizeof(last)), sizeof(last));
	calls++;
	if (strcmp(line, "wait") == 0)
		return 7;
	if (strcmp(line, "other") == 0)
		return 8;
	if (strcmp(line, "long") == 0)
		for (i = 0; i < LONG_LEN; i++)
			buf_addc(answer, 'x');
	else if (strcmp(line, "longer") == 0)
		for (i = 0; i <= CONTROL_ANSWER_MAX; i++)
			buf_addc(answer, 'x');
	else
		buf_addf(answer, "{\"said\":\"%s\"}", line);
	return 0;
}

static int
bind_at(const char *at, struct qo_err *err)
{
	struct control_at a = { at, (uid_t)-1, (gid_t)-1, false };

	return control_bind(&a, err);
}

static void
setup(void)
{
	const char *tmp = getenv("TMPDIR");
	struct qo_err err;
	int fd;

	snprintf(dir, sizeof(dir), "%s/ctlXXXXXX", tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/run/qod.sock", dir);
	l = loop_new();
	fd = bind_at(path, &err);
	ck_assert_msg(fd != -1, "%s", err.msg);
	ctl = control_new(l, fd, handler, &calls);
	calls = 0;
	last[0] = '\0';
}

static void
teardown(void)
{
	char name[200];

	control_free(ctl);
	control_free(NULL);
	loop_free(l);
	unlink(path);
	snprintf(name, sizeof(name), "%s.lock", path);
	unlink(name);
	snprintf(name, sizeof(name), "%s/run", dir);
	rmdir(name);
	ck_assert_int_eq(rmdir(dir), 0);
}

/* Clients */

static int
call(const char *text, size_t len)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd;

	strlcpy(sa.sun_path, path, sizeof(sa.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	if (len > 0)
		ck_assert_int_eq(send(fd, text, len, MSG_NOSIGNAL),
		    (ssize_t)len);
	return fd;
}

static int
say(const char *line)
{
	return call(line, strlen(line));
}

/* Runs the loop until the answer is whole; what came of it. */
static const char *
answer_of(int fd)
{
	static struct buf b;
	static bool made;
	ssize_t n = -1;
	char *p;
	int turns;

	if (!made)
		buf_init(&b, (size_t)64 << 20);
	made = true;
	buf_reset(&b);
	for (turns = 0; n != 0 && turns < 100000; turns++) {
		loop_once(l, 5);
		p = buf_reserve(&b, 65536);
		n = recv(fd, p, 65536, 0);
		ck_assert(n >= 0 || errno == EAGAIN || errno == ECONNRESET);
		if (n == -1 && errno == ECONNRESET)
			break;
		if (n > 0)
			buf_advance(&b, (size_t)n);
	}
	ck_assert_int_le(n, 0);
	close(fd);
	return b.data;
}

static void
turn(int n)
{
	while (n-- > 0)
		loop_once(l, 5);
}

/* Who is silent for so long is cut off: we may be that, where the machine
 * stands still. */
static bool
was_cut_off(const char *text, struct qo_mono began)
{
	return text[0] == '\0' &&
	    qo_mono_diff_us(began, qo_mono_now()) >=
	    CONTROL_TIMEOUT_MS * QO_US_PER_MS;
}

#define ck_says(line, want) ck_assert_str_eq(answer_of(say(line)), want "\n")
#define REFUSED(why)        "{\"ok\":false,\"message\":\"" why "\"}"

START_TEST(a_line_is_answered)
{
	ck_says("status\n", "{\"said\":\"status\"}");
	ck_says("  stop now \r\n", "{\"said\":\"stop now\"}");
	ck_says("two\nlines\n", "{\"said\":\"two\"}");
	ck_assert_int_eq(calls, 3);
	ck_assert_uint_eq(control_clients(ctl), 0);
}
END_TEST

/* As `echo -n status | nc -U` does. */
START_TEST(the_end_ends_a_line)
{
	struct qo_mono began;
	const char *text;
	int fd;

	do {
		began = qo_mono_now();
		fd = say("status");
		turn(3);
		ck_assert_int_eq(calls, 0);
		shutdown(fd, SHUT_WR);
		text = answer_of(fd);
	} while (was_cut_off(text, began));
	ck_assert_str_eq(text, "{\"said\":\"status\"}\n");
}
END_TEST

START_TEST(a_line_in_pieces)
{
	struct qo_mono began;
	const char *text;
	int fd;

	do {
		began = qo_mono_now();
		fd = say("sta");
		turn(3);
		send(fd, "tus\n", 4, MSG_NOSIGNAL);
		text = answer_of(fd);
	} while (was_cut_off(text, began));
	ck_assert_str_eq(text, "{\"said\":\"status\"}\n");
}
END_TEST

START_TEST(bad_lines_are_refused)
{
	char line[CONTROL_LINE_MAX + 2];

	ck_says("\n", REFUSED("this is not a command"));
	ck_says(" \t \n", REFUSED("this is not a command"));
	ck_says("sta\033[2Jtus\n", REFUSED("this is not a command"));
	ck_assert_str_eq(answer_of(call("status\0x\n", 9)),
	    REFUSED("this is not a command") "\n");
	memset(line, 'a', sizeof(line));
	ck_assert_str_eq(answer_of(call(line, sizeof(line))),
	    REFUSED("the line is too long") "\n");
	ck_assert_int_eq(calls, 0);
	/* The longest one with its newline. */
	line[CONTROL_LINE_MAX - 1] = '\n';
	answer_of(call(line, CONTROL_LINE_MAX));
	ck_assert_int_eq(calls, 1);
	ck_assert_uint_eq(strlen(last), CONTROL_LINE_MAX - 1);
}
END_TEST

/* All of it, unless we were too slow to read on. */
static void
ck_gets_long(void)
{
	struct qo_mono began;
	size_t len;

	do {
		began = qo_mono_now();
		len = strlen(answer_of(say("long\n")));
	} while (len <= LONG_LEN && was_cut_off("", began));
	ck_assert_uint_eq(len, LONG_LEN + 1);
}

START_TEST(long_answers_arrive)
{
	ck_gets_long();
	ck_says("longer\n", REFUSED("the answer is too long"));
}
END_TEST

START_TEST(a_ticket_is_waited_for)
{
	int a = say("wait\n"), b = say("wait\n"), c = say("other\n");

	turn(5);
	ck_assert_uint_eq(control_waiting(ctl), 3);
	shutdown(b, SHUT_WR); /* it still reads */
	turn(5);
	ck_assert_uint_eq(control_waiting(ctl), 3);
	control_settle(ctl, 7, "[7]", 3);
	ck_assert_str_eq(answer_of(a), "[7]\n");
	ck_assert_str_eq(answer_of(b), "[7]\n");
	ck_assert_uint_eq(control_waiting(ctl), 1);
	control_settle(ctl, 8, "[8]", 3);
	ck_assert_str_eq(answer_of(c), "[8]\n");
	ck_assert_uint_eq(control_clients(ctl), 0);
}
END_TEST

START_TEST(who_waits_may_leave)
{
	int a = say("wait\n"), b = say("wait\nand more");

	turn(5);
	ck_assert_uint_eq(control_waiting(ctl), 2);
	close(a);
	turn(5);
	ck_assert_uint_eq(control_waiting(ctl), 1);
	shutdown(b, SHUT_WR);
	turn(5);
	close(b);
	turn(5);
	ck_assert_uint_eq(control_waiting(ctl), 0);
	ck_assert_uint_eq(control_clients(ctl), 0);
	control_settle(ctl, 7, "[7]", 3);
}
END_TEST

START_TEST(not_all_may_wait)
{
	int fds[CONTROL_WAITING], fd;
	size_t i;

	for (i = 0; i < CONTROL_WAITING; i++)
		fds[i] = say("wait\n");
	turn(5);
	fd = say("wait\n");
	ck_assert_str_eq(answer_of(fd),
	    REFUSED("it is under way, and too many wait for its end") "\n");
	ck_says("status\n", "{\"said\":\"status\"}");
	control_settle(ctl, 7, "[7]", 3);
	for (i = 0; i < CONTROL_WAITING; i++)
		ck_assert_str_eq(answer_of(fds[i]), "[7]\n");
}
END_TEST

/* Clients that connect and say nothing take all places until their time is
 * over; then the next is served. */
START_TEST(mute_clients_are_cut_off)
{
	int fds[CONTROL_CLIENTS * 4];
	size_t i, n;

	/* Some more, where that takes so long that the first are gone. */
	for (n = 0; control_clients(ctl) < CONTROL_CLIENTS; n++) {
		ck_assert_uint_lt(n, CONTROL_CLIENTS * 4);
		fds[n] = say("");
		turn(1);
	}
	ck_says("status\n", "{\"said\":\"status\"}");
	ck_assert_uint_lt(control_clients(ctl), CONTROL_CLIENTS);
	for (i = 0; i < n; i++)
		close(fds[i]);
}
END_TEST

/* Who does not read its answer holds a bounded part of our memory. */
START_TEST(unread_answers_are_limited)
{
	int fds[CONTROL_PENDING_MAX / LONG_LEN + 2];
	size_t i, n = sizeof(fds) / sizeof(fds[0]), refused;
	struct qo_mono began;
	char c;

	do {
		began = qo_mono_now();
		refused = 0;
		for (i = 0; i < n; i++) {
			fds[i] = say("long\n");
			turn(2);
		}
		for (i = 0; i < n; i++)
			if (recv(fds[i], &c, 1, MSG_PEEK) == 1 && c == '{')
				refused++;
		for (i = 0; i < n; i++)
			close(fds[i]);
		turn(5);
	} while (refused == 0 && was_cut_off("", began));
	ck_assert_uint_gt(refused, 0);
	ck_assert_uint_lt(refused, n);
	ck_assert_uint_eq(control_clients(ctl), 0);
	ck_gets_long();
}
END_TEST

/* The file */

static int
mode_of(const char *at)
{
	struct stat st;

	ck_assert_int_eq(lstat(at, &st), 0);
	return (int)(st.st_mode & 07777);
}

START_TEST(only_the_owner_may_connect)
{
	struct control_at at = { NULL, (uid_t)-1, (gid_t)-1, true };
	struct qo_err err;
	mode_t old = umask(0);
	char other[200];
	int fd;

	ck_assert_int_eq(mode_of(path), 0600);
	snprintf(other, sizeof(other), "%s/run", dir);
	ck_assert_int_eq(mode_of(other), 0700);
	snprintf(other, sizeof(other), "%s/group.sock", dir);
	at.path = other;
	at.gid = getegid();
	fd = control_bind(&at, &err);
	ck_assert_msg(fd != -1, "%s", err.msg);
	ck_assert_int_eq(mode_of(other), 0660);
	ck_assert_int_eq(umask(old), 0);
	close(fd);
	unlink(other);
	strlcat(other, ".lock", sizeof(other));
	ck_assert_int_eq(mode_of(other), 0600);
	unlink(other);
}
END_TEST

START_TEST(the_group_may_pass)
{
	struct control_at at = { NULL, (uid_t)-1, getegid(), true };
	struct qo_err err;
	mode_t old = umask(077);
	char name[200];
	int fd;

	snprintf(name, sizeof(name), "%s/theirs/sock", dir);
	at.path = name;
	fd = control_bind(&at, &err);
	ck_assert_msg(fd != -1, "%s", err.msg);
	ck_assert_int_eq(mode_of(name), 0660);
	close(fd);
	unlink(name);
	strlcat(name, ".lock", sizeof(name));
	unlink(name);
	*strrchr(name, '/') = '\0';
	ck_assert_int_eq(mode_of(name), 0750);
	ck_assert_int_eq(rmdir(name), 0);
	umask(old);
}
END_TEST

/* Whether somebody with these ids is answered. */
static bool
is_answered(uid_t uid, gid_t gid, const gid_t *groups, size_t n)
{
	int fds[2], fd, before = calls;
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		if (setgroups(n, groups) == -1 || setgid(gid) == -1 ||
		    setuid(uid) == -1)
			_exit(1);
		fd = say("status\n");
		if (write(fds[1], "", 1) != 1)
			_exit(1);
		pause(); /* with the connection open */
		close(fd);
		_exit(0);
	}
	ck_assert_int_eq(read(fds[0], &byte, 1), 1);
	turn(20);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	turn(20);
	close(fds[0]);
	close(fds[1]);
	return calls > before;
}

/* Somebody has opened the file to all: that is not enough. */
START_TEST(ids_are_looked_at)
{
	const gid_t groups[] = { 4, 77777 };
	char name[200];

	if (geteuid() != 0)
		return; /* nobody else to be */
	ck_assert_int_eq(chmod(path, 0666), 0);
	snprintf(name, sizeof(name), "%s/run", dir);
	ck_assert_int_eq(chmod(name, 0755), 0);
	ck_assert_int_eq(chmod(dir, 0755), 0);
	snprintf(name, sizeof(name), "%s", dir);
	*strrchr(name, '/') = '\0';
	if (strcmp(name, "/tmp") != 0)
		ck_assert_int_eq(chmod(name, 0711), 0);
	ck_assert(is_answered(0, 12345, NULL, 0));
	ck_assert(!is_answered(12345, 0, NULL, 0));
	ck_assert(!is_answered(12345, 77777, groups, 2));
	control_allow(ctl, 77777);
	ck_assert(is_answered(12345, 77777, NULL, 0));
	ck_assert(is_answered(12345, 12345, groups, 2));
	ck_assert(!is_answered(12345, 12345, groups, 1));
	ck_assert_uint_eq(control_clients(ctl), 0);
}
END_TEST

START_TEST(a_live_socket_is_refused)
{
	struct qo_err err = { 0 };

	ck_assert_int_eq(bind_at(path, &err), -1);
	ck_assert_int_eq(err.errnum, EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(err.msg, "another qod is using it"));
	ck_assert_ptr_nonnull(strstr(err.msg, path));
	ck_says("status\n", "{\"said\":\"status\"}");
}
END_TEST

START_TEST(a_dead_socket_is_replaced)
{
	struct qo_err err = { 0 };
	int fd;

	control_free(ctl);
	ck_assert_int_eq(access(path, F_OK), 0);
	fd = bind_at(path, &err);
	ck_assert_msg(fd != -1, "%s", err.msg);
	ctl = control_new(l, fd, handler, &calls);
	ck_assert_int_eq(control_fd(ctl), fd);
	ck_says("status\n", "{\"said\":\"status\"}");
}
END_TEST

START_TEST(what_is_no_socket_stays)
{
	struct qo_err err = { 0 };
	char name[200];
	int fd;

	snprintf(name, sizeof(name), "%s/file", dir);
	fd = open(name, O_WRONLY | O_CREAT, 0600);
	close(fd);
	ck_assert_int_eq(bind_at(name, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "something else has that name"));
	ck_assert_int_eq(unlink(name), 0);
	strlcat(name, ".lock", sizeof(name));
	unlink(name);
	memset(name, 'a', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	ck_assert_int_eq(bind_at(name, &err), -1);
	ck_assert_int_eq(err.errnum, ENAMETOOLONG);
	snprintf(name, sizeof(name), "%s/no/such/dir/sock", dir);
	ck_assert_int_eq(bind_at(name, &err), -1);
	ck_assert_int_eq(err.errnum, ENOENT);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("qod_control");
	TCase *tc = tcase_create("control");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_line_is_answered);
	tcase_add_test(tc, the_end_ends_a_line);
	tcase_add_test(tc, a_line_in_pieces);
	tcase_add_test(tc, bad_lines_are_refused);
	tcase_add_test(tc, long_answers_arrive);
	tcase_add_test(tc, a_ticket_is_waited_for);
	tcase_add_test(tc, who_waits_may_leave);
	tcase_add_test(tc, not_all_may_wait);
	tcase_add_test(tc, mute_clients_are_cut_off);
	tcase_add_test(tc, unread_answers_are_limited);
	tcase_add_test(tc, only_the_owner_may_connect);
	tcase_add_test(tc, the_group_may_pass);
	tcase_add_test(tc, ids_are_looked_at);
	tcase_add_test(tc, a_live_socket_is_refused);
	tcase_add_test(tc, a_dead_socket_is_replaced);
	tcase_add_test(tc, what_is_no_socket_stays);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
