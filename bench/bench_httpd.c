/*
 * The HTTP part serving a constant over loopback, 16 connections with one
 * request each under way, beside a server that reads and writes and does
 * not look at what it read: the limit of this machine in the same run.
 *
 *	bench_httpd [requests]
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "httpd.h"
#include "log.h"
#include "sig.h"

#define CONNECTIONS 16
#define BODY        "0123456789abcdef0123456789abcdef"

static const char small[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
/* As an S3 client sends it. */
static const char large[] =
    "GET /bucket/ready/3/00000198c0ffee00-0123456789abcdef HTTP/1.1\r\n"
    "Host: 127.0.0.1:9710\r\n"
    "User-Agent: Boto3/1.26.27 Python/3.11.2 Linux/6.1.0 Botocore/1.29.27\r\n"
    "Accept-Encoding: identity\r\n"
    "X-Amz-Date: 20260301T120000Z\r\n"
    "X-Amz-Content-SHA256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca4"
    "95991b7852b855\r\n"
    "Authorization: AWS4-HMAC-SHA256 Credential=QOABCDEFGHIJKLMNOPQR/20260301"
    "/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;"
    "x-amz-date, Signature=0123456789abcdef0123456789abcdef0123456789abcdef01"
    "23456789abcdef\r\n"
    "amz-sdk-invocation-id: 01234567-89ab-cdef-0123-456789abcdef\r\n"
    "amz-sdk-request: attempt=1\r\n\r\n";
static const char answer[] = "HTTP/1.1 200 OK\r\n"
			     "Date: Sun, 01 Mar 2026 12:00:00 GMT\r\n"
			     "Content-Length: 32\r\n"
			     "Content-Type: text/plain\r\n\r\n" BODY;

/* Servers */

static void
app_head(struct httpd_req *r, void *arg)
{
	(void)arg;
	httpd_header_add(r, "Content-Type", "text/plain");
	httpd_send(r, 200, BODY, sizeof(BODY) - 1);
}

static void
app_unused(struct httpd_req *r, void *arg)
{
	(void)r;
	(void)arg;
}

static void
app_body(struct httpd_req *r, const char *p, size_t len, void *arg)
{
	(void)r;
	(void)p;
	(void)len;
	(void)arg;
}

static const struct httpd_ops ops = { app_head, app_body, app_unused,
	app_unused, NULL };

static void
serve_httpd(int fd)
{
	struct httpd_conf conf;
	struct loop *l;
	struct httpd *h;

	sig_init();
	httpd_conf_defaults(&conf);
	l = loop_new();
	h = httpd_new(l, &conf, &ops, NULL);
	if (httpd_listen_fd(h, fd, NULL) == -1)
		fatalx("listen_fd");
	loop_run(l);
}

static void
serve_bare(int lfd)
{
	struct epoll_event ev[64], add;
	char in[16384];
	int ep, fd, i, n, on = 1;

	ep = epoll_create1(EPOLL_CLOEXEC);
	add.events = EPOLLIN;
	add.data.fd = lfd;
	epoll_ctl(ep, EPOLL_CTL_ADD, lfd, &add);
	while ((n = epoll_wait(ep, ev, 64, -1)) > 0) {
		for (i = 0; i < n; i++) {
			fd = ev[i].data.fd;
			if (fd == lfd) {
				fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC);
				setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on,
				    sizeof(on));
				add.data.fd = fd;
				epoll_ctl(ep, EPOLL_CTL_ADD, fd, &add);
			} else if (read(fd, in, sizeof(in)) <= 0 ||
			    write(fd, answer, sizeof(answer) - 1) < 0)
				close(fd);
		}
	}
}

/* Load */

static int
listen_any(struct sockaddr_in *sin)
{
	socklen_t len = sizeof(*sin);
	int fd;

	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1 || bind(fd, (struct sockaddr *)sin, len) == -1 ||
	    listen(fd, 64) == -1 ||
	    getsockname(fd, (struct sockaddr *)sin, &len) == -1)
		fatal("listen");
	return fd;
}

static int
dial(const struct sockaddr_in *sin)
{
	int fd, on = 1;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1 ||
	    connect(fd, (const struct sockaddr *)sin, sizeof(*sin)) == -1)
		fatal("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* An answer is far smaller than a segment: it comes whole. */
static void
one_answer(int fd)
{
	char in[4096];
	ssize_t n;

	n = read(fd, in, sizeof(in));
	if (n < 32 || memcmp(in, "HTTP/1.1 200", 12) != 0 ||
	    memcmp(in + n - 32, BODY, 32) != 0)
		fatalx("unexpected answer");
}

static void
drive(const struct sockaddr_in *sin, const char *req, size_t len, int64_t count)
{
	struct epoll_event ev[CONNECTIONS], add;
	int64_t sent = 0, done = 0;
	int fds[CONNECTIONS], ep, i, n;

	ep = epoll_create1(EPOLL_CLOEXEC);
	for (i = 0; i < CONNECTIONS; i++) {
		fds[i] = dial(sin);
		add.events = EPOLLIN;
		add.data.fd = fds[i];
		epoll_ctl(ep, EPOLL_CTL_ADD, fds[i], &add);
		if (write(fds[i], req, len) != (ssize_t)len)
			fatal("write");
		sent++;
	}
	while (done < count) {
		n = epoll_wait(ep, ev, CONNECTIONS, 10000);
		if (n <= 0)
			fatalx("no answer");
		for (i = 0; i < n; i++) {
			one_answer(ev[i].data.fd);
			done++;
			if (sent >= count)
				continue;
			if (write(ev[i].data.fd, req, len) != (ssize_t)len)
				fatal("write");
			sent++;
		}
	}
	for (i = 0; i < CONNECTIONS; i++)
		close(fds[i]);
	close(ep);
}

static double
seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

static void
measure(const char *name, void (*serve)(int), const char *req, size_t len,
    int64_t count)
{
	struct sockaddr_in sin;
	struct qo_mono start;
	struct rusage ru;
	double wall, user, sys;
	pid_t pid;
	int fd;

	fd = listen_any(&sin);
	fflush(NULL);
	pid = fork();
	if (pid == -1)
		fatal("fork");
	if (pid == 0) {
		serve(fd);
		_exit(0);
	}
	close(fd);
	start = qo_mono_now();
	drive(&sin, req, len, count);
	wall = (double)qo_mono_diff_us(start, qo_mono_now()) / 1e6;
	kill(pid, SIGKILL);
	wait4(pid, NULL, 0, &ru);
	user = seconds(ru.ru_utime) * 1e6 / (double)count;
	sys = seconds(ru.ru_stime) * 1e6 / (double)count;
	printf("%-22s %9.0f requests/s  server %5.2f us/request "
	       "(user %.2f, system %.2f)\n",
	    name, (double)count / wall, user + sys, user, sys);
}

int
main(int argc, char **argv)
{
	const char *wrong = NULL;
	int64_t count = 200000;

	if (argc > 1)
		count = strtonum(argv[1], CONNECTIONS, 100000000, &wrong);
	if (argc > 2 || wrong != NULL)
		fatalx("usage: bench_httpd [requests]");
	measure("bare, short request", serve_bare, small, sizeof(small) - 1,
	    count);
	measure("httpd, short request", serve_httpd, small, sizeof(small) - 1,
	    count);
	measure("bare, S3 request", serve_bare, large, sizeof(large) - 1,
	    count);
	measure("httpd, S3 request", serve_httpd, large, sizeof(large) - 1,
	    count);
	return 0;
}
