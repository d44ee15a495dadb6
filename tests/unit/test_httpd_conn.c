#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <check.h>

#include "httpapp.h"
#include "run_suite.h"
#include "still_clock.h"

START_TEST(test_slow_head_times_out)
{
	struct client k;
	int i;

	httpapp.conf.head_ms = 100;
	httpapp_serve();
	httpapp_tcp(&k);
	client_sends(&k, "GET / HTTP/1.1\r\na: ");
	/* A byte now and then does not prolong it. */
	for (i = 0; i < 10; i++) {
		ck_assert(client_silent(&k));
		still_clock_pass(10);
		client_sends(&k, "x");
	}
	ck_assert_int_eq(client_answer(&k, false), 408);
	ck_assert(client_closed(&k));
	client_close(&k);
	ck_assert_int_eq(httpapp.gone, 0);
}
END_TEST

START_TEST(test_each_head_has_its_own_time)
{
	struct client k;

	httpapp.conf.head_ms = 1000;
	httpapp_serve();
	httpapp_tcp(&k);
	client_sends(&k, "GET / HTTP/1.1\r\n");
	client_settle(&k);
	still_clock_pass(999);
	/* The end of one and the begin of the next come together. */
	ck_assert_int_eq(client_ask(&k, HOST "\r\nGET / HT"), 200);
	still_clock_pass(999);
	ck_assert(client_silent(&k));
	still_clock_pass(1);
	ck_assert_int_eq(client_answer(&k, false), 408);
	client_close(&k);
}
END_TEST

START_TEST(test_slow_body_times_out)
{
	struct client k;
	char piece[100];

	httpapp.conf.body_ms = 100;
	httpapp.conf.body_ms_bytes = 100;
	httpapp_serve();
	httpapp_tcp(&k);
	memset(piece, 'x', sizeof(piece));
	client_sends(&k,
	    "PUT / HTTP/1.1\r\n" HOST "Content-Length: 1000\r\n\r\n");
	UNTIL(httpapp.heads == 1);
	/* Enough for one period, not for the next. */
	client_send(&k, piece, sizeof(piece));
	client_settle(&k);
	still_clock_pass(100);
	ck_assert(client_silent(&k));
	still_clock_pass(99);
	ck_assert(client_silent(&k));
	still_clock_pass(1);
	ck_assert_int_eq(client_answer(&k, false), 408);
	ck_assert(client_closed(&k));
	client_close(&k);
	ck_assert_int_eq(httpapp.gone, 1);
}
END_TEST

START_TEST(test_idle_connection_is_closed)
{
	struct client k, fresh;

	httpapp.conf.idle_ms = 100;
	httpapp_serve();
	httpapp_tcp(&fresh);
	httpapp_tcp(&k);
	ck_assert_int_eq(client_ask(&k, "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	UNTIL(httpd_connections(httpapp.httpd) == 2);
	still_clock_pass(99);
	ck_assert(client_silent(&k));
	ck_assert(client_silent(&fresh));
	still_clock_pass(1);
	ck_assert(client_closed(&k));
	ck_assert(client_closed(&fresh));
	ck_assert_uint_eq(httpd_connections(httpapp.httpd), 0);
	client_close(&k);
	client_close(&fresh);
}
END_TEST

START_TEST(test_stuck_send_is_given_up)
{
	struct client k;

	httpapp.conf.send_ms = 100;
	httpapp_serve();
	httpapp_tcp(&k);
	client_sends(&k, "GET /big HTTP/1.1\r\n" HOST "\r\n");
	UNTIL(httpapp.heads == 1);
	ck_assert_uint_eq(httpd_connections(httpapp.httpd), 1);
	/* The kernel may still have taken some of it. */
	while (httpd_connections(httpapp.httpd) == 1) {
		still_clock_pass(100);
		client_turn(httpapp.loop);
	}
	client_close(&k);
	ck_assert_int_eq(httpapp.gone, 0);
}
END_TEST

/* Whether the loop slept for the whole of a time, by the machine's clock. */
static bool
sleeps(void)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	loop_once(httpapp.loop, 200);
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (to.tv_sec - from.tv_sec) * 1000 +
	    (to.tv_nsec - from.tv_nsec) / 1000000 >=
	    199;
}

START_TEST(test_no_wake_ups_when_idle)
{
	struct client k[3], held;
	int i;

	httpapp_serve();
	for (i = 0; i < 3; i++) {
		httpapp_tcp(&k[i]);
		ck_assert_int_eq(client_ask(&k[i],
				     "GET / HTTP/1.1\r\n" HOST "\r\n"),
		    200);
	}
	/* A half-closed client whose answer is not ready must not spin. */
	httpapp_tcp(&held);
	client_sends(&held, "GET /later HTTP/1.1\r\n" HOST "\r\n");
	shutdown(held.fd, SHUT_WR);
	UNTIL(httpapp.waiting != NULL);
	client_settle(&held);
	UNTIL(sleeps());
	for (i = 0; i < 3; i++)
		client_close(&k[i]);
	client_close(&held);
}
END_TEST

START_TEST(test_half_closed_client_gets_its_answer)
{
	struct client k;

	httpapp_serve();
	httpapp_tcp(&k);
	client_sends(&k,
	    "GET /later HTTP/1.1\r\n" HOST "\r\n"
	    "GET /b HTTP/1.1\r\n" HOST "X-Id: 2\r\n\r\n");
	shutdown(k.fd, SHUT_WR);
	UNTIL(httpapp.waiting != NULL);
	for (int i = 0; i < 10; i++)
		client_turn(httpapp.loop);
	ck_assert_int_eq(httpapp.gone, 0);
	httpd_send(httpapp.waiting, 200, "late", 4);
	ck_assert_int_eq(client_answer(&k, false), 200);
	ck_assert_str_eq(k.body.data, "late");
	ck_assert_int_eq(client_answer(&k, false), 200);
	ck_assert_str_eq(client_header(&k, "x-id"), "2");
	ck_assert(client_closed(&k));
	client_close(&k);
}
END_TEST

/* The client vanishes in each phase: gone is called once, when there was a
 * request without an answer. */
static const struct {
	const char *request;
	bool unix_socket, hard;
	int gone;
} vanish[] = {
	{ "", false, false, 0 },
	{ "GET / HT", false, false, 0 },
	{ "GET / HT", false, true, 0 },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nhel", false,
	    false, 1 },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nhel", false, true,
	    1 },
	{ "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhe",
	    true, false, 1 },
	{ "GET /later HTTP/1.1\r\n" HOST "\r\n", false, true, 1 },
	{ "GET /later HTTP/1.1\r\n" HOST "\r\n", true, false, 1 },
	{ "GET /hold HTTP/1.1\r\n" HOST "\r\n", false, false, 1 },
	{ "PUT /wait HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhi", false,
	    true, 1 },
	{ "GET /big HTTP/1.1\r\n" HOST "\r\n", false, false, 0 },
	{ "GET /file HTTP/1.1\r\n" HOST "\r\n", false, true, 0 },
	{ "PUT /early HTTP/1.1\r\n" HOST "Content-Length: 99\r\n\r\nx", false,
	    false, 0 },
	{ "PUT /early HTTP/1.1\r\n" HOST "Content-Length: 99999\r\n\r\nx",
	    false, true, 0 },
};

START_TEST(test_client_vanishes)
{
	struct client k;

	httpapp_serve();
	if (vanish[_i].unix_socket)
		httpapp_unix(&k);
	else
		httpapp_tcp(&k);
	client_sends(&k, vanish[_i].request);
	UNTIL(httpd_connections(httpapp.httpd) == 1);
	if (strstr(vanish[_i].request, "\r\n\r\n") != NULL)
		UNTIL(httpapp.heads == 1);
	for (int i = 0; i < 5; i++)
		client_turn(httpapp.loop);
	ck_assert_uint_eq(httpd_connections(httpapp.httpd), 1);
	if (vanish[_i].hard)
		client_abort(&k);
	else
		client_close(&k);
	UNTIL(httpd_connections(httpapp.httpd) == 0);
	ck_assert_int_eq(httpapp.gone, vanish[_i].gone);
}
END_TEST

/* A held request whose client pipelines until the read-ahead is full and
 * then leaves. */
START_TEST(test_hold_with_full_read_ahead)
{
	struct client k;
	char junk[65536];

	httpapp_serve();
	httpapp_tcp(&k);
	memset(junk, 'x', sizeof(junk));
	client_sends(&k, "GET /hold HTTP/1.1\r\n" HOST "\r\n");
	client_send(&k, junk, sizeof(junk));
	for (int i = 0; i < 10; i++)
		client_turn(httpapp.loop);
	ck_assert_int_eq(httpapp.gone, 0);
	client_close(&k);
	UNTIL(httpapp.gone == 1);
	ck_assert_uint_eq(httpd_connections(httpapp.httpd), 0);
}
END_TEST

START_TEST(test_free_with_open_requests)
{
	struct client k[3];

	httpapp_serve();
	for (int i = 0; i < 3; i++)
		httpapp_tcp(&k[i]);
	client_sends(&k[0], "GET /later HTTP/1.1\r\n" HOST "\r\n");
	client_sends(&k[1],
	    "PUT / HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nhel");
	UNTIL(httpapp.heads == 2);
	httpd_free(httpapp.httpd);
	httpapp.httpd = NULL;
	ck_assert_int_eq(httpapp.gone, 2);
	for (int i = 0; i < 3; i++)
		client_close(&k[i]);
}
END_TEST

START_TEST(test_drain)
{
	struct client idle, busy, half;
	struct sockaddr_un un;
	int fd;

	httpapp_serve();
	httpapp_tcp(&idle);
	ck_assert_int_eq(client_ask(&idle, "GET / HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	httpapp_unix(&busy);
	client_sends(&busy, "GET /later HTTP/1.1\r\n" HOST "\r\n");
	httpapp_tcp(&half);
	client_sends(&half, "GET / HTTP/1.1\r\n");
	UNTIL(httpd_connections(httpapp.httpd) == 3 && httpapp.waiting != NULL);
	client_settle(&half);
	httpd_drain(httpapp.httpd, httpapp_drained, NULL);
	ck_assert(client_closed(&idle));
	ck_assert_uint_eq(httpd_connections(httpapp.httpd), 2);
	/* The socket file is gone with the socket. */
	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	strlcpy(un.sun_path, httpapp.path, sizeof(un.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), -1);
	ck_assert_int_eq(errno, ENOENT);
	close(fd);
	/* What was begun is finished. */
	ck_assert_int_eq(client_ask(&half, HOST "\r\n"), 200);
	ck_assert_str_eq(client_header(&half, "connection"), "close");
	ck_assert(client_closed(&half));
	ck_assert_int_eq(httpapp.drained, 0);
	httpd_send(httpapp.waiting, 200, "late", 4);
	ck_assert_int_eq(client_answer(&busy, false), 200);
	ck_assert_str_eq(client_header(&busy, "connection"), "close");
	ck_assert(client_closed(&busy));
	client_close(&idle);
	client_close(&busy);
	client_close(&half);
	UNTIL(httpapp.drained == 1);
	for (int i = 0; i < 5; i++)
		client_turn(httpapp.loop);
	ck_assert_int_eq(httpapp.drained, 1);
}
END_TEST

START_TEST(test_drain_with_nothing_open)
{
	httpapp_serve();
	httpd_drain(httpapp.httpd, httpapp_drained, NULL);
	ck_assert_int_eq(httpapp.drained, 0);
	UNTIL(httpapp.drained == 1);
}
END_TEST

START_TEST(test_503_when_all_are_busy)
{
	struct client k[3];

	httpapp.conf.connections = 2;
	httpapp_serve();
	for (int i = 0; i < 2; i++) {
		httpapp_tcp(&k[i]);
		client_sends(&k[i], "GET /later HTTP/1.1\r\n" HOST "\r\n");
	}
	UNTIL(httpapp.heads == 2);
	httpapp_tcp(&k[2]);
	ck_assert_int_eq(client_ask(&k[2], "GET / HTTP/1.1\r\n" HOST "\r\n"),
	    503);
	ck_assert(client_closed(&k[2]));
	client_close(&k[2]);
	ck_assert_int_eq(httpapp.heads, 2);
	/* One leaves, and there is room again. */
	client_abort(&k[0]);
	UNTIL(httpapp.gone == 1);
	httpapp_tcp(&k[2]);
	ck_assert_int_eq(client_ask(&k[2], "GET / HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	client_close(&k[1]);
	client_close(&k[2]);
}
END_TEST

#define IDLE_CONNECTIONS 2000

START_TEST(test_2000_idle_connections_do_not_stop_a_new_one)
{
	static struct client k[IDLE_CONNECTIONS];
	struct client fresh;
	struct rlimit rl;
	size_t n = IDLE_CONNECTIONS;

	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
	if (rl.rlim_cur < 2 * n + 100) {
		n = rl.rlim_cur / 2 - 50;
		printf("only %zu connections: RLIMIT_NOFILE is %ju\n", n,
		    (uintmax_t)rl.rlim_cur);
	}
	httpapp.conf.connections = n / 2;
	httpapp_serve();
	for (size_t i = 0; i < n; i++) {
		httpapp_tcp(&k[i]);
		client_turn(httpapp.loop);
	}
	UNTIL(httpd_connections(httpapp.httpd) == n / 2);
	httpapp_tcp(&fresh);
	ck_assert_int_eq(client_ask(&fresh, "GET / HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	/* The longest idle were closed, the others live. */
	ck_assert(client_closed(&k[0]));
	ck_assert(client_closed(&k[n - n / 2]));
	ck_assert_int_eq(client_ask(&k[n - 1],
			     "GET / HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	for (size_t i = 0; i < n; i++)
		client_close(&k[i]);
	client_close(&fresh);
}
END_TEST

#define FEW 64

/* valgrind accepts first and looks at the limit then: the connection that
 * can not be taken is lost, where the kernel lets it wait. */
static bool
under_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	if (preload == NULL || strstr(preload, "vgpreload") == NULL)
		return false;
	printf("not under valgrind: tests of the limit of descriptors\n");
	return true;
}

/* Uses up all descriptors, without holes. */
static size_t
use_up(int fds[FEW])
{
	struct rlimit rl;
	size_t n = 0;

	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = FEW;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	while ((fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) != -1)
		n++;
	return n;
}

static void
give_back(const int fds[FEW], size_t n, const struct rlimit *rl)
{
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, rl), 0);
	while (n > 0)
		close(fds[--n]);
}

START_TEST(test_out_of_descriptors)
{
	struct client busy, waiting;
	struct rlimit rl;
	int fds[FEW];
	size_t n;

	if (under_valgrind())
		return;
	getrlimit(RLIMIT_NOFILE, &rl);
	httpapp_serve();
	httpapp_tcp(&busy);
	client_sends(&busy, "GET /later HTTP/1.1\r\n" HOST "\r\n");
	UNTIL(httpapp.waiting != NULL);
	httpapp_tcp(&waiting);
	n = use_up(fds);
	client_sends(&waiting, "GET / HTTP/1.1\r\n" HOST "\r\n");
	client_turn(httpapp.loop);
	/* It does not spin over what it can not accept. */
	UNTIL(sleeps());
	ck_assert_uint_eq(httpd_connections(httpapp.httpd), 1);
	/* And goes on by itself. */
	give_back(fds, n, &rl);
	still_clock_pass(1000);
	ck_assert_int_eq(client_answer(&waiting, false), 200);
	client_close(&busy);
	client_close(&waiting);
}
END_TEST

START_TEST(test_out_of_descriptors_with_idle_connections)
{
	struct client idle, last, more;
	struct rlimit rl;
	int fds[FEW];
	size_t n;

	if (under_valgrind())
		return;
	getrlimit(RLIMIT_NOFILE, &rl);
	httpapp_serve();
	httpapp_tcp(&idle);
	ck_assert_int_eq(client_ask(&idle, "GET / HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	httpapp_tcp(&last);
	n = use_up(fds);
	close(fds[--n]);
	/* The last descriptor is used: nobody has to go. */
	ck_assert_int_eq(client_ask(&last, "GET / HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	ck_assert_int_eq(client_ask(&idle, "GET / HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	give_back(fds, n, &rl);
	httpapp_tcp(&more);
	n = use_up(fds);
	/* None is left: the longest idle makes room at once. */
	ck_assert_int_eq(client_ask(&more, "GET / HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	ck_assert(client_closed(&last));
	ck_assert_int_eq(client_ask(&idle, "GET / HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	give_back(fds, n, &rl);
	client_close(&idle);
	client_close(&last);
	client_close(&more);
}
END_TEST

START_TEST(test_unix_socket)
{
	struct client k;
	struct httpd *other;
	struct sockaddr_un un;
	struct qo_err err;
	struct stat st;
	int fd;

	/* A stale file is replaced. */
	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	strlcpy(un.sun_path, httpapp.path, sizeof(un.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	close(fd);
	httpapp_serve();
	ck_assert_int_eq(stat(httpapp.path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0660);
	httpapp_unix(&k);
	client_sends(&k, "GET /later HTTP/1.1\r\n" HOST "\r\n");
	UNTIL(httpapp.waiting != NULL);
	ck_assert(httpapp.waiting->local);
	ck_assert_str_eq(httpapp.waiting->peer, "unix");
	httpd_send(httpapp.waiting, 200, NULL, 0);
	ck_assert_int_eq(client_answer(&k, false), 200);
	client_close(&k);

	/* A live one is refused and stays. */
	other = httpd_new(httpapp.loop, &httpapp.conf, &httpapp_ops, NULL);
	ck_assert_int_eq(httpd_listen_unix(other, httpapp.path, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "another process"));
	/* So is what is not a socket. */
	ck_assert_int_eq(httpd_listen_unix(other, httpapp.dir, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "not a socket"));
	ck_assert_int_eq(httpd_listen_unix(other, "/nonexistent/dir/sock",
			     &err),
	    -1);
	httpd_free(other);
	httpapp_unix(&k);
	ck_assert_int_eq(client_ask(&k, "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	client_close(&k);
}
END_TEST

START_TEST(test_listen_addresses)
{
	static const char *const bad[] = { "", ":80", "127.0.0.1",
		"127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1",
		"127.0.0.1:+1", "::1:80", "[::1]", "[]:80", "localhost:80",
		"1.2.3.4.5:80", "127.0.0.1: 80" };
	struct client k;
	struct qo_err err;
	char again[64];
	size_t i;
	int p;

	httpapp_serve();
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(httpd_listen_tcp(httpapp.httpd, bad[i], &p,
				  &err) == -1,
		    "%s", bad[i]);
	snprintf(again, sizeof(again), "127.0.0.1:%d", httpapp.port);
	ck_assert_int_eq(httpd_listen_tcp(httpapp.httpd, again, &p, &err), -1);
	ck_assert_int_eq(err.errnum, EADDRINUSE);
	httpapp_tcp(&k);
	client_sends(&k, "GET /later HTTP/1.1\r\n" HOST "\r\n");
	UNTIL(httpapp.waiting != NULL);
	ck_assert(!httpapp.waiting->local);
	ck_assert(strncmp(httpapp.waiting->peer, "127.0.0.1:", 10) == 0);
	client_close(&k);
	if (httpd_listen_tcp(httpapp.httpd, "[::1]:0", &p, &err) == -1)
		printf("no IPv6 here: %s\n", err.msg);
	else
		ck_assert_int_gt(p, 0);
}
END_TEST

START_TEST(test_inherited_descriptor)
{
	struct client k;
	struct sockaddr_un un;
	struct qo_err err;
	int fd;

	httpapp.httpd = httpd_new(httpapp.loop, &httpapp.conf, &httpapp_ops,
	    NULL);
	ck_assert_int_eq(httpd_listen_fd(httpapp.httpd, 0, &err), -1);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(httpd_listen_fd(httpapp.httpd, fd, &err), -1);
	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	strlcpy(un.sun_path, httpapp.path, sizeof(un.sun_path));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	ck_assert_int_eq(listen(fd, 5), 0);
	ck_assert_int_eq(httpd_listen_fd(httpapp.httpd, fd, &err), 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	httpapp_unix(&k);
	ck_assert_int_eq(client_ask(&k, "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	client_close(&k);
	/* The file is the master's. */
	httpd_free(httpapp.httpd);
	httpapp.httpd = NULL;
	ck_assert_int_eq(access(httpapp.path, F_OK), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("httpd_conn");
	TCase *tc = tcase_create("httpd_conn");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, httpapp_setup, httpapp_teardown);
	tcase_add_test(tc, test_slow_head_times_out);
	tcase_add_test(tc, test_each_head_has_its_own_time);
	tcase_add_test(tc, test_slow_body_times_out);
	tcase_add_test(tc, test_idle_connection_is_closed);
	tcase_add_test(tc, test_stuck_send_is_given_up);
	tcase_add_test(tc, test_no_wake_ups_when_idle);
	tcase_add_test(tc, test_half_closed_client_gets_its_answer);
	tcase_add_loop_test(tc, test_client_vanishes, 0,
	    (int)(sizeof(vanish) / sizeof(vanish[0])));
	tcase_add_test(tc, test_hold_with_full_read_ahead);
	tcase_add_test(tc, test_free_with_open_requests);
	tcase_add_test(tc, test_drain);
	tcase_add_test(tc, test_drain_with_nothing_open);
	tcase_add_test(tc, test_503_when_all_are_busy);
	tcase_add_test(tc, test_2000_idle_connections_do_not_stop_a_new_one);
	tcase_add_test(tc, test_out_of_descriptors);
	tcase_add_test(tc, test_out_of_descriptors_with_idle_connections);
	tcase_add_test(tc, test_unix_socket);
	tcase_add_test(tc, test_listen_addresses);
	tcase_add_test(tc, test_inherited_descriptor);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
