/* The HTTP client where only the kernel and libcurl can be to blame; what it
 * makes of answers is test_s3's. */
#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http.h"
#include "run_suite.h"
#include "sig.h"

#define FILLERS 8

static struct loop *loop;
static struct http *http;
static struct sockaddr_in addr;
static char url[64];

static void
setup(void)
{
	const struct http_conf conf = { .max_connections = 4,
		.connect_ms = 60000 };

	sig_init();
	loop = loop_new();
	http = http_new(loop, &conf);
}

static void
teardown(void)
{
	http_free(http);
	loop_free(loop);
}

/* Nobody accepts: after one or two the kernel lets all others wait. */
static int
crowded(int fillers[FILLERS])
{
	socklen_t len = sizeof(addr);
	int fd, i;

	addr.sin_family = AF_INET;
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, len), 0);
	ck_assert_int_eq(listen(fd, 0), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/",
	    ntohs(addr.sin_port));
	for (i = 0; i < FILLERS; i++) {
		fillers[i] = socket(AF_INET,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		connect(fillers[i], (struct sockaddr *)&addr, len);
	}
	return fd;
}

/* Once it is told to by the end of a pipe, for ever. */
static void
serve(int listener, int go)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\n"
				     "Content-Length: 0\r\n\r\n";
	char text[1024];
	ssize_t n;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	n = read(go, text, 1);
	while ((fd = accept(listener, NULL, NULL)) != -1) {
		n = read(fd, text, sizeof(text));
		poll(NULL, 0, n > 0 ? 200 : 0); /* it has to wait */
		if (n > 0)
			n = write(fd, answer, sizeof(answer) - 1);
		close(fd);
	}
	_exit(n == -1 ? 1 : 0);
}

static void
on_done(struct http_req *r)
{
	*(bool *)r->arg = true;
}

static void
ask(struct http_req *r, int64_t limit_ms)
{
	bool done = false;

	r->method = "GET";
	r->url = url;
	r->response_max = 1024;
	r->first_byte_ms = r->total_ms = limit_ms;
	r->done = on_done;
	r->arg = &done;
	http_send(http, r);
	while (!done)
		loop_once(loop, -1);
}

/* libcurl closes the socket of a connection that never came about without a
 * word, and the next one has the same number: that one must be waited for. */
START_TEST(test_connection_that_never_came_about)
{
	struct http_req r = { 0 };
	int fillers[FILLERS], go[2], listener, i;
	pid_t pid;

	listener = crowded(fillers);
	ck_assert_int_eq(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		close(go[1]);
		serve(listener, go[0]);
	}
	ask(&r, 200);
	ck_assert_int_eq(r.result, HTTP_UNSENT);
	ck_assert(r.timed_out);
	for (i = 0; i < FILLERS; i++)
		shutdown(fillers[i], SHUT_RDWR);
	ck_assert_int_eq(write(go[1], "", 1), 1);
	ask(&r, 60000);
	ck_assert_msg(r.result == HTTP_DONE, "%s", r.message);
	ck_assert_int_eq(r.status, 200);
	http_fini(&r);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (i = 0; i < FILLERS; i++)
		close(fillers[i]);
	close(go[0]);
	close(go[1]);
	close(listener);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("http");
	TCase *tc = tcase_create("http");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_connection_that_never_came_about);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
