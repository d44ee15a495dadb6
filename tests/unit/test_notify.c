#include <sys/socket.h>
#include <sys/un.h>

#include <check.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "notify.h"
#include "run_suite.h"

/* A socket as systemd has one; name is what NOTIFY_SOCKET says. */
static int
receiver(const char *name)
{
	struct sockaddr_un un;
	socklen_t len;
	int fd;

	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	ck_assert_uint_lt(strlcpy(un.sun_path, name, sizeof(un.sun_path)),
	    sizeof(un.sun_path));
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
	    strlen(name));
	if (*name == '@')
		un.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&un, len), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static const char *
next(int fd)
{
	static char text[8192];
	struct pollfd p = { fd, POLLIN, 0 };
	ssize_t n;

	ck_assert_int_eq(poll(&p, 1, 0), 1); /* sent means there */
	n = recv(fd, text, sizeof(text) - 1, 0);
	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	return text;
}

/* Puts one more in, without waiting. */
static bool
full(const char *name)
{
	struct sockaddr_un un = { AF_UNIX, "" };
	ssize_t n;
	int fd;

	memcpy(un.sun_path + 1, name + 1, strlen(name + 1));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	n = sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&un,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name)));
	close(fd);
	return n == -1;
}

START_TEST(test_send)
{
	char name[108];
	int fd;

	if (_i == 0)
		(void)snprintf(name, sizeof(name), "%s/notify",
		    getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	else
		(void)snprintf(name, sizeof(name), "@qo-test-%d", getpid());
	fd = receiver(name);
	notify_send("READY=1\nSTATUS=%d workers", 3);
	notify_send("STOPPING=1");
	ck_assert_str_eq(next(fd), "READY=1\nSTATUS=3 workers");
	ck_assert_str_eq(next(fd), "STOPPING=1");
	close(fd);
	if (_i == 0)
		unlink(name);
	notify_send("READY=1"); /* nobody there: no harm */
}
END_TEST

START_TEST(test_reloading)
{
	struct timespec before, after;
	int64_t us;
	char name[64];
	const char *text;
	int fd;

	(void)snprintf(name, sizeof(name), "@qo-test-%d", getpid());
	fd = receiver(name);
	clock_gettime(CLOCK_MONOTONIC, &before);
	notify_reloading();
	clock_gettime(CLOCK_MONOTONIC, &after);
	text = next(fd);
	ck_assert_int_eq(sscanf(text, "RELOADING=1\nMONOTONIC_USEC=%" SCNd64,
			     &us),
	    1);
	ck_assert_int_ge(us, before.tv_sec * 1000000 + before.tv_nsec / 1000);
	ck_assert_int_le(us, after.tv_sec * 1000000 + after.tv_nsec / 1000);
	close(fd);
}
END_TEST

START_TEST(test_nobody)
{
	static char too_long[200];

	unsetenv("NOTIFY_SOCKET");
	notify_send("READY=1");
	setenv("NOTIFY_SOCKET", "", 1);
	notify_send("READY=1");
	setenv("NOTIFY_SOCKET", "vsock:2:1", 1);
	notify_send("READY=1");
	memset(too_long, 'x', sizeof(too_long) - 1);
	too_long[0] = '/';
	setenv("NOTIFY_SOCKET", too_long, 1);
	notify_send("READY=1");
}
END_TEST

/* Whoever does not read does not stop us: the queue takes ten or so
 * (net.unix.max_dgram_qlen). */
START_TEST(test_full)
{
	char name[64];
	int fd, i, n = 0;

	(void)snprintf(name, sizeof(name), "@qo-test-%d", getpid());
	fd = receiver(name);
	while (n < 1000 && !full(name))
		n++;
	ck_assert_int_lt(n, 1000);
	for (i = 0; i < 2; i++)
		notify_send("WATCHDOG=1");
	while (n-- > 0)
		ck_assert_str_eq(next(fd), "x");
	notify_send("WATCHDOG=1");
	ck_assert_str_eq(next(fd), "WATCHDOG=1");
	close(fd);
}
END_TEST

START_TEST(test_watchdog)
{
	char pid[16];

	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	ck_assert_int_eq(notify_watchdog_ms(), 0);
	setenv("WATCHDOG_USEC", "30000000", 1);
	ck_assert_int_eq(notify_watchdog_ms(), 15000);
	setenv("WATCHDOG_PID", "1", 1);
	ck_assert_int_eq(notify_watchdog_ms(), 0);
	(void)snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	ck_assert_int_eq(notify_watchdog_ms(), 15000);
	setenv("WATCHDOG_USEC", "1", 1);
	ck_assert_int_eq(notify_watchdog_ms(), 1);
	setenv("WATCHDOG_USEC", "0", 1);
	ck_assert_int_eq(notify_watchdog_ms(), 0);
	setenv("WATCHDOG_USEC", "30s", 1);
	ck_assert_int_eq(notify_watchdog_ms(), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("notify");
	TCase *tc = tcase_create("notify");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test_send, 0, 2);
	tcase_add_test(tc, test_reloading);
	tcase_add_test(tc, test_nobody);
	tcase_add_test(tc, test_full);
	tcase_add_test(tc, test_watchdog);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
