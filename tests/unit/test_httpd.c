#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <check.h>

#include "http_cases.h"
#include "httpclient.h"
#include "httpd.h"
#include "io.h"
#include "log.h"
#include "sig.h"
#include "xalloc.h"

#define HOST     "Host: x\r\n"
#define BIG      (4 * 1024 * 1024)
#define TAKE_MAX (16 * 1024 * 1024)

/* The application: the path says what it does. */
static struct {
	int heads, ends, gone, errors, drained;
	struct httpd_req *waiting; /* the last that was not answered at once */
	struct buf *gone_body;     /* of the last that is gone */
} app;

static struct loop *loop;
static struct httpd *httpd;
static struct httpd_conf conf;
static char dir[64], path[128];
static int port;

static bool
begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static void
answer_echo(struct httpd_req *r)
{
	struct buf *b = r->user;
	const char *id = httpd_header_get(r, "x-id");

	if (id != NULL)
		httpd_header_addf(r, "X-Id", "%s", id);
	httpd_header_add(r, "X-Method", r->method);
	r->user = NULL;
	httpd_send_buf(r, 200, b);
	free(b);
}

static void
app_file(struct httpd_req *r, int64_t len)
{
	char name[160];
	int fd;

	snprintf(name, sizeof(name), "%s/file", dir);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ne(fd, -1);
	httpd_send_file(r, 200, fd, 1000, len);
}

static void
app_head(struct httpd_req *r, void *arg)
{
	static char big[BIG];
	const char *id = httpd_header_get(r, "x-id");

	(void)arg;
	app.heads++;
	if (begins(r->path, "/early")) {
		if (id != NULL)
			httpd_header_add(r, "X-Id", id);
		httpd_send(r, 403, "early\n", 6);
	} else if (begins(r->path, "/missing")) {
		if (id != NULL)
			httpd_header_add(r, "X-Id", id);
		httpd_send(r, 404, "missing\n", 8);
	} else if (begins(r->path, "/big"))
		httpd_send(r, 200, big, sizeof(big));
	else if (begins(r->path, "/file"))
		app_file(r, BIG - 1000);
	else if (begins(r->path, "/short"))
		app_file(r, BIG);
	else if (begins(r->path, "/length"))
		httpd_send_head(r, 200, 12345);
	else if (begins(r->path, "/nothing"))
		httpd_send(r, 204, NULL, 0);
	else if (begins(r->path, "/same"))
		httpd_send(r, 304, "x", 1);
	else if (begins(r->path, "/later"))
		app.waiting = r;
	else if (begins(r->path, "/hold")) {
		app.waiting = r;
		httpd_hold(r);
	} else {
		r->user = xmalloc(sizeof(struct buf));
		buf_init(r->user, TAKE_MAX);
		httpd_body_take(r, begins(r->path, "/limited") ? 10 : TAKE_MAX);
	}
}

static void
app_body(struct httpd_req *r, const char *p, size_t len, void *arg)
{
	struct buf *b = r->user;

	(void)arg;
	ck_assert_uint_gt(len, 0);
	ck_assert_int_eq(buf_add(b, p, len), 0);
	if (!begins(r->path, "/stop"))
		return;
	buf_fini(b);
	free(b);
	httpd_send(r, 409, "stop\n", 5);
}

static void
app_end(struct httpd_req *r, void *arg)
{
	(void)arg;
	app.ends++;
	if (begins(r->path, "/wait"))
		app.waiting = r;
	else
		answer_echo(r);
}

static void
app_gone(struct httpd_req *r, void *arg)
{
	struct buf *b = r->user;

	(void)arg;
	/* All of it is still there. */
	ck_assert_ptr_nonnull(httpd_header_get(r, "host"));
	ck_assert(r->path[0] == '/');
	app.gone++;
	if (app.waiting == r)
		app.waiting = NULL;
	if (b != NULL)
		buf_fini(b);
	free(b);
}

static void
app_error(int status, const char *reason, struct buf *body, const char **type,
    struct buf *headers, void *arg)
{
	(void)arg;
	app.errors++;
	*type = "application/xml";
	buf_addf(body, "<Error>%d %s</Error>", status, reason);
	buf_adds(headers, "x-amz-request-id: 1\r\n");
}

static void
app_drained(void *arg)
{
	(void)arg;
	app.drained++;
}

static const struct httpd_ops ops = { app_head, app_body, app_end, app_gone,
	app_error };

static void
serve(void)
{
	struct qo_err err;

	httpd = httpd_new(loop, &conf, &ops, NULL);
	ck_assert_msg(httpd_listen_tcp(httpd, "127.0.0.1:0", &port, &err) == 0,
	    "%s", err.msg);
	ck_assert_msg(httpd_listen_unix(httpd, path, &err) == 0, "%s", err.msg);
}

static void
setup(void)
{
	struct buf b;
	char name[160];
	size_t i;

	sig_init();
	memset(&app, 0, sizeof(app));
	strlcpy(dir, "/tmp/qo-httpd.XXXXXX", sizeof(dir));
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	buf_init(&b, BIG);
	for (i = 0; i < BIG; i++)
		buf_addc(&b, (char)('a' + i % 26));
	snprintf(name, sizeof(name), "%s/file", dir);
	ck_assert_int_eq(io_write_file(name, b.data, b.len, 0600, NULL), 0);
	buf_fini(&b);
	loop = loop_new();
	httpd_conf_defaults(&conf);
}

static void
teardown(void)
{
	char name[160];

	httpd_free(httpd);
	httpd = NULL;
	loop_free(loop);
	snprintf(name, sizeof(name), "%s/file", dir);
	unlink(name);
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0);
}

static void
open_tcp(struct client *k)
{
	client_open(k, loop, NULL, port);
}

static void
open_unix(struct client *k)
{
	client_open(k, loop, path, 0);
}

/* Turns until the condition holds. */
#define UNTIL(cond)                                                            \
	do {                                                                   \
		struct qo_mono until_start = qo_mono_now();                    \
		while (!(cond)) {                                              \
			ck_assert_msg(qo_mono_diff_us(until_start,             \
					  qo_mono_now()) < 20 * QO_US_PER_SEC, \
			    "waited too long for " #cond);                     \
			client_turn(loop);                                     \
		}                                                              \
	} while (0)

static int64_t
ms_since(struct qo_mono start)
{
	return qo_mono_diff_us(start, qo_mono_now()) / QO_US_PER_MS;
}

START_TEST(test_keep_alive)
{
	struct client k;
	int i;

	serve();
	open_tcp(&k);
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(
		    client_ask(&k,
			"POST /a?b HTTP/1.1\r\n" HOST
			"X-Id: 7\r\nContent-Length: 5\r\n\r\nhello"),
		    200);
		ck_assert_str_eq(k.body.data, "hello");
		ck_assert_str_eq(client_header(&k, "x-id"), "7");
		ck_assert_ptr_null(client_header(&k, "connection"));
	}
	ck_assert_int_eq(app.heads, 3);
	ck_assert_uint_eq(httpd_connections(httpd), 1);
	client_close(&k);
	UNTIL(httpd_connections(httpd) == 0);
	ck_assert_int_eq(app.gone, 0);
}
END_TEST

START_TEST(test_connection_close)
{
	static const char *const requests[] = {
		"GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	};
	struct client k;
	size_t i;

	serve();
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		open_tcp(&k);
		ck_assert_int_eq(client_ask(&k, requests[i]), 200);
		ck_assert_str_eq(client_header(&k, "connection"), "close");
		ck_assert(client_closed(&k));
		client_close(&k);
	}
	UNTIL(httpd_connections(httpd) == 0);
}
END_TEST

START_TEST(test_no_body_with_head_204_304)
{
	struct client k;

	serve();
	open_tcp(&k);
	ck_assert_int_eq(
	    client_ask(&k, "HEAD /length HTTP/1.1\r\n" HOST "\r\n"), 200);
	ck_assert_str_eq(client_header(&k, "content-length"), "12345");
	ck_assert_int_eq(
	    client_ask(&k, "HEAD /early HTTP/1.1\r\n" HOST "\r\n"), 403);
	ck_assert_str_eq(client_header(&k, "content-length"), "6");
	ck_assert_int_eq(
	    client_ask(&k, "HEAD /file HTTP/1.1\r\n" HOST "\r\n"), 200);
	ck_assert_int_eq(
	    client_ask(&k, "GET /nothing HTTP/1.1\r\n" HOST "\r\n"), 204);
	ck_assert_ptr_null(client_header(&k, "content-length"));
	ck_assert_int_eq(
	    client_ask(&k, "GET /same HTTP/1.1\r\n" HOST "\r\n"), 304);
	ck_assert_int_eq(
	    client_ask(&k, "GET /last HTTP/1.1\r\n" HOST "\r\n"), 200);
	client_close(&k);
}
END_TEST

/* One after the other, over a new connection each. */
static void
check_case(const struct http_case *c, size_t cut, bool unix_socket)
{
	struct client k;
	int status;

	if (unix_socket)
		open_unix(&k);
	else
		open_tcp(&k);
	client_send(&k, c->bytes, cut);
	client_send(&k, c->bytes + cut, c->len - cut);
	status = client_answer(&k, false);
	if (status == 100)
		status = client_answer(&k, false);
	ck_assert_msg(status == c->status, "%s (cut at %zu): %d not %d",
	    c->name, cut, status, c->status);
	if (c->status != 200) {
		ck_assert_str_eq(client_header(&k, "connection"), "close");
		ck_assert_str_eq(
		    client_header(&k, "content-type"), "application/xml");
		ck_assert_str_eq(client_header(&k, "x-amz-request-id"), "1");
		ck_assert_msg(client_closed(&k), "%s: not closed", c->name);
	} else
		ck_assert_uint_eq(k.in.len, 0);
	client_close(&k);
}

START_TEST(test_malformed_request_gets_its_status_and_close)
{
	size_t i;

	serve();
	for (i = 0; i < http_bad_n; i++)
		check_case(&http_bad[i], http_bad[i].len, false);
	ck_assert_int_eq(app.errors, (int)http_bad_n);
	for (i = 0; i < http_good_n; i++)
		check_case(&http_good[i], http_good[i].len, false);
	UNTIL(httpd_connections(httpd) == 0);
	/* Those whose chunks were broken were begun. */
	ck_assert_int_eq(app.heads, app.ends + app.gone);
}
END_TEST

START_TEST(test_split_at_each_byte)
{
	size_t i, cut;

	serve();
	for (i = 0; i < http_good_n; i++)
		for (cut = 1; cut < http_good[i].len; cut++)
			check_case(&http_good[i], cut, true);
	for (i = 0; i < http_bad_n; i++)
		for (cut = 1; cut < http_bad[i].len; cut += 3)
			check_case(&http_bad[i], cut, true);
	UNTIL(httpd_connections(httpd) == 0);
}
END_TEST

/* Mixed good and refused ones, all with an id; framed well but for the
 * last. */
static void
add_request(struct buf *b, int i)
{
	switch (i % 7) {
	case 0:
		buf_addf(b, "GET /g HTTP/1.1\r\n" HOST "X-Id: %d\r\n\r\n", i);
		break;
	case 1:
		buf_addf(b,
		    "PUT /p HTTP/1.1\r\n" HOST
		    "X-Id: %d\r\nContent-Length: 9\r\n\r\nGET / HTT",
		    i);
		break;
	case 2:
		buf_addf(b,
		    "PUT /c HTTP/1.1\r\n" HOST
		    "X-Id: %d\r\nTransfer-Encoding: chunked\r\n\r\n"
		    "3\r\nabc\r\n2\r\nde\r\n0\r\nx: y\r\n\r\n",
		    i);
		break;
	case 3:
		buf_addf(b, "HEAD /h HTTP/1.1\r\n" HOST "X-Id: %d\r\n\r\n", i);
		break;
	case 4:
		buf_addf(
		    b, "GET /missing HTTP/1.1\r\n" HOST "X-Id: %d\r\n\r\n", i);
		break;
	case 5:
		/* Answered before its body is read, which is dropped. */
		buf_addf(b,
		    "PUT /early HTTP/1.1\r\n" HOST
		    "X-Id: %d\r\nContent-Length: 20\r\n\r\n"
		    "GET / HTTP/1.1\r\n\r\n??",
		    i);
		break;
	case 6:
		buf_addf(
		    b, "\r\nDELETE /d HTTP/1.1\r\n" HOST "X-Id: %d\r\n\r\n", i);
		break;
	}
}

static void
check_in_step(struct client *k, int i)
{
	static const int status[] = { 200, 200, 200, 200, 404, 403, 200 };
	char id[16];

	ck_assert_int_eq(client_answer(k, i % 7 == 3), status[i % 7]);
	snprintf(id, sizeof(id), "%d", i);
	ck_assert_str_eq(client_header(k, "x-id"), id);
	if (i % 7 == 1)
		ck_assert_str_eq(k->body.data, "GET / HTT");
	if (i % 7 == 2)
		ck_assert_str_eq(k->body.data, "abcde");
}

START_TEST(test_pipelining_of_1000_mixed_requests_stays_in_step)
{
	struct client k;
	struct buf b;
	int i;

	serve();
	open_tcp(&k);
	buf_init(&b, 1024 * 1024);
	for (i = 0; i < 1000; i++)
		add_request(&b, i);
	buf_adds(&b, "GET / HTTP/1.1\nHost: x\n\n");
	add_request(&b, 0);
	client_send(&k, b.data, b.len);
	for (i = 0; i < 1000; i++)
		check_in_step(&k, i);
	ck_assert_int_eq(client_answer(&k, false), 400);
	ck_assert(client_closed(&k));
	client_close(&k);
	buf_fini(&b);
}
END_TEST

/* The requests behind one that waits are kept, up to a limit. */
START_TEST(test_pipelining_behind_a_waiting_request)
{
	struct client k;
	struct buf b;
	int i;

	serve();
	open_tcp(&k);
	client_sends(&k, "GET /later HTTP/1.1\r\n" HOST "\r\n");
	UNTIL(app.waiting != NULL);
	buf_init(&b, 1024 * 1024);
	for (i = 0; i < 5000; i++)
		add_request(&b, i * 7);
	/* More than the sockets hold: only what fits goes out before the
	 * answer is given. */
	i = (int)send(k.fd, b.data, b.len, MSG_DONTWAIT);
	ck_assert_int_gt(i, 0);
	for (int n = 0; n < 20; n++)
		client_turn(loop);
	ck_assert_int_eq(app.heads, 1);
	httpd_send(app.waiting, 200, "late", 4);
	client_send(&k, b.data + i, b.len - (size_t)i);
	ck_assert_int_eq(client_answer(&k, false), 200);
	ck_assert_str_eq(k.body.data, "late");
	for (i = 0; i < 5000; i++)
		check_in_step(&k, i * 7);
	client_close(&k);
	buf_fini(&b);
}
END_TEST

START_TEST(test_expect_100_continue)
{
	struct client k;

	serve();
	open_tcp(&k);
	ck_assert_int_eq(
	    client_ask(&k,
		"PUT /a HTTP/1.1\r\n" HOST
		"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"),
	    100);
	ck_assert_int_eq(client_ask(&k, "abc"), 200);
	ck_assert_str_eq(k.body.data, "abc");
	/* Refused without asking for the body: it may come or not, so the
	 * connection ends. */
	ck_assert_int_eq(
	    client_ask(&k,
		"PUT /early HTTP/1.1\r\n" HOST
		"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"),
	    403);
	ck_assert_str_eq(client_header(&k, "connection"), "close");
	ck_assert(client_closed(&k));
	client_close(&k);
}
END_TEST

START_TEST(test_oversized_body_is_refused_before_it_is_read)
{
	static const char *const requests[] = {
		"PUT /limited HTTP/1.1\r\n" HOST "Content-Length: 11\r\n\r\n",
		"PUT /limited HTTP/1.1\r\n" HOST
		"Expect: 100-continue\r\nContent-Length: 11\r\n\r\n",
		"PUT /limited HTTP/1.1\r\n" HOST
		"Content-Length: 9223372036854775807\r\n\r\n",
		"PUT /limited HTTP/1.1\r\n" HOST "Transfer-Encoding: "
		"chunked\r\n\r\n5\r\nhello\r\nfff\r\nworldly",
	};
	struct client k;
	size_t i;

	serve();
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		open_tcp(&k);
		ck_assert_int_eq(client_ask(&k, requests[i]), 413);
		ck_assert(client_closed(&k));
		ck_assert_int_eq(app.gone, (int)i + 1);
		client_close(&k);
	}
	open_tcp(&k);
	ck_assert_int_eq(client_ask(&k,
			     "PUT /limited HTTP/1.1\r\n" HOST
			     "Content-Length: 10\r\n\r\n0123456789"),
	    200);
	client_close(&k);
}
END_TEST

START_TEST(test_oversized_head_and_uri)
{
	struct client k;
	struct buf b;

	serve();
	buf_init(&b, 1024 * 1024);
	buf_adds(&b, "GET /");
	while (b.len < 5 + 8 * 1024)
		buf_addc(&b, 'u');
	buf_adds(&b, " HTTP/1.1\r\n" HOST "\r\n");
	open_tcp(&k);
	ck_assert_int_eq(client_ask(&k, b.data), 414);
	ck_assert(client_closed(&k));
	client_close(&k);

	buf_reset(&b);
	buf_adds(&b, "GET / HTTP/1.1\r\n" HOST "a: ");
	while (b.len < 32 * 1024 - 4)
		buf_addc(&b, 'v');
	buf_adds(&b, "\r\n\r\n");
	open_tcp(&k);
	ck_assert_int_eq(client_ask(&k, b.data), 200);
	buf_truncate(&b, 32 * 1024 - 4);
	buf_adds(&b, "v\r\n\r\n");
	ck_assert_int_eq(client_ask(&k, b.data), 431);
	ck_assert(client_closed(&k));
	client_close(&k);
	buf_fini(&b);
}
END_TEST

START_TEST(test_large_bodies)
{
	struct client k;
	struct buf b;
	size_t i;

	serve();
	open_tcp(&k);
	buf_init(&b, TAKE_MAX);
	for (i = 0; i < 3000000; i++)
		buf_addc(&b, (char)(i * 7 % 251));
	client_sends(
	    &k, "PUT / HTTP/1.1\r\n" HOST "Content-Length: 3000000\r\n\r\n");
	client_send(&k, b.data, b.len);
	ck_assert_int_eq(client_answer(&k, false), 200);
	ck_assert_uint_eq(k.body.len, b.len);
	ck_assert_mem_eq(k.body.data, b.data, b.len);
	client_sends(
	    &k, "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
	client_sends(&k, "2dc6c0\r\n");
	client_send(&k, b.data, b.len);
	client_sends(&k, "\r\n0\r\n\r\n");
	ck_assert_int_eq(client_answer(&k, false), 200);
	ck_assert_uint_eq(k.body.len, b.len);
	ck_assert_mem_eq(k.body.data, b.data, b.len);
	ck_assert_int_eq(
	    client_ask(&k, "GET /big HTTP/1.1\r\n" HOST "\r\n"), 200);
	ck_assert_uint_eq(k.body.len, BIG);
	client_close(&k);
	buf_fini(&b);
}
END_TEST

START_TEST(test_send_file)
{
	struct client k;
	size_t i;

	serve();
	open_tcp(&k);
	ck_assert_int_eq(
	    client_ask(&k, "GET /file HTTP/1.1\r\n" HOST "\r\n"), 200);
	ck_assert_uint_eq(k.body.len, BIG - 1000);
	for (i = 0; i < k.body.len; i++)
		if (k.body.data[i] != (char)('a' + (i + 1000) % 26))
			ck_abort_msg("byte %zu differs", i);
	/* Shorter than promised: cut, never padded. */
	ck_assert_int_eq(
	    client_ask(&k, "GET /short HTTP/1.1\r\n" HOST "\r\n"), -1);
	client_close(&k);
	UNTIL(httpd_connections(httpd) == 0);
}
END_TEST

/* The client sends all of a large body before it looks for an answer. */
START_TEST(test_early_answer_reaches_a_client_that_is_sending)
{
	static const char *const paths[] = { "/early", "/stop" };
	struct client k;
	char *body;
	size_t i;

	serve();
	body = xcalloc(1, 2 * BIG);
	for (i = 0; i < 2; i++) {
		open_tcp(&k);
		client_sends(&k, i == 0 ? "PUT /early" : "PUT /stop");
		client_sends(
		    &k, " HTTP/1.1\r\n" HOST "Content-Length: 8388608\r\n\r\n");
		client_send(&k, body, 2 * BIG);
		ck_assert_msg(client_answer(&k, false) == (i == 0 ? 403 : 409),
		    "%s: %d", paths[i], k.status);
		ck_assert(client_closed(&k));
		client_close(&k);
	}
	free(body);
	/* A small rest is dropped and the connection goes on. */
	open_tcp(&k);
	client_sends(
	    &k, "PUT /stop HTTP/1.1\r\n" HOST "Content-Length: 6\r\n\r\nab");
	ck_assert_int_eq(client_answer(&k, false), 409);
	ck_assert_int_eq(
	    client_ask(&k, "cdefGET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	client_close(&k);
	ck_assert_int_eq(app.gone, 0);
}
END_TEST

START_TEST(test_slow_head_times_out)
{
	struct client k;
	struct qo_mono start;
	char c;

	conf.head_ms = 100;
	serve();
	open_tcp(&k);
	start = qo_mono_now();
	client_sends(&k, "GET / HTTP/1.1\r\na: ");
	/* A byte now and then does not prolong it. */
	while (recv(k.fd, &c, 1, MSG_DONTWAIT | MSG_PEEK) != 1) {
		ck_assert_int_lt(ms_since(start), 20000);
		client_sends(&k, "x");
		client_turn(loop);
	}
	ck_assert_int_eq(client_answer(&k, false), 408);
	ck_assert_int_ge(ms_since(start), 100);
	ck_assert(client_closed(&k));
	client_close(&k);
	ck_assert_int_eq(app.gone, 0);
}
END_TEST

START_TEST(test_each_head_has_its_own_time)
{
	struct client k;
	struct qo_mono start;

	conf.head_ms = 1000;
	serve();
	open_tcp(&k);
	client_sends(&k, "GET / HTTP/1.1\r\n");
	start = qo_mono_now();
	while (ms_since(start) < 100)
		client_turn(loop);
	start = qo_mono_now();
	/* The end of one and the begin of the next come together. */
	ck_assert_int_eq(client_ask(&k, HOST "\r\nGET / HT"), 200);
	ck_assert_int_eq(client_answer(&k, false), 408);
	ck_assert_int_ge(ms_since(start), 1000);
	client_close(&k);
}
END_TEST

START_TEST(test_slow_body_times_out)
{
	struct client k;
	struct qo_mono start;
	char piece[100];

	conf.body_ms = 100;
	conf.body_ms_bytes = 100;
	serve();
	open_tcp(&k);
	memset(piece, 'x', sizeof(piece));
	client_sends(
	    &k, "PUT / HTTP/1.1\r\n" HOST "Content-Length: 1000\r\n\r\n");
	UNTIL(app.heads == 1);
	start = qo_mono_now();
	/* Enough for one period, not for the next. */
	client_send(&k, piece, sizeof(piece));
	ck_assert_int_eq(client_answer(&k, false), 408);
	ck_assert_int_ge(ms_since(start), 180);
	ck_assert(client_closed(&k));
	client_close(&k);
	ck_assert_int_eq(app.gone, 1);
}
END_TEST

START_TEST(test_idle_connection_is_closed)
{
	struct client k, fresh;
	struct qo_mono start;

	conf.idle_ms = 100;
	serve();
	start = qo_mono_now();
	open_tcp(&fresh);
	open_tcp(&k);
	ck_assert_int_eq(client_ask(&k, "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	ck_assert(client_closed(&k));
	ck_assert(client_closed(&fresh));
	ck_assert_int_ge(ms_since(start), 100);
	ck_assert_uint_eq(httpd_connections(httpd), 0);
	client_close(&k);
	client_close(&fresh);
}
END_TEST

START_TEST(test_stuck_send_is_given_up)
{
	struct client k;

	conf.send_ms = 100;
	serve();
	open_tcp(&k);
	client_sends(&k, "GET /big HTTP/1.1\r\n" HOST "\r\n");
	UNTIL(app.heads == 1);
	UNTIL(httpd_connections(httpd) == 0);
	client_close(&k);
	ck_assert_int_eq(app.gone, 0);
}
END_TEST

START_TEST(test_no_wake_ups_when_idle)
{
	struct client k[3], held;
	struct qo_mono start;
	int i;

	serve();
	for (i = 0; i < 3; i++) {
		open_tcp(&k[i]);
		ck_assert_int_eq(
		    client_ask(&k[i], "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	}
	/* A half-closed client whose answer is not ready must not spin. */
	open_tcp(&held);
	client_sends(&held, "GET /later HTTP/1.1\r\n" HOST "\r\n");
	shutdown(held.fd, SHUT_WR);
	UNTIL(app.waiting != NULL);
	for (i = 0; i < 10; i++)
		client_turn(loop);
	start = qo_mono_now();
	loop_once(loop, 200);
	ck_assert_int_ge(ms_since(start), 199);
	for (i = 0; i < 3; i++)
		client_close(&k[i]);
	client_close(&held);
}
END_TEST

START_TEST(test_half_closed_client_gets_its_answer)
{
	struct client k;

	serve();
	open_tcp(&k);
	client_sends(&k,
	    "GET /later HTTP/1.1\r\n" HOST "\r\n"
	    "GET /b HTTP/1.1\r\n" HOST "X-Id: 2\r\n\r\n");
	shutdown(k.fd, SHUT_WR);
	UNTIL(app.waiting != NULL);
	for (int i = 0; i < 10; i++)
		client_turn(loop);
	ck_assert_int_eq(app.gone, 0);
	httpd_send(app.waiting, 200, "late", 4);
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

	serve();
	if (vanish[_i].unix_socket)
		open_unix(&k);
	else
		open_tcp(&k);
	client_sends(&k, vanish[_i].request);
	for (int i = 0; i < 5; i++)
		client_turn(loop);
	ck_assert_uint_eq(httpd_connections(httpd), 1);
	if (vanish[_i].hard)
		client_abort(&k);
	else
		client_close(&k);
	UNTIL(httpd_connections(httpd) == 0);
	ck_assert_int_eq(app.gone, vanish[_i].gone);
}
END_TEST

/* A held request whose client pipelines until the read-ahead is full and
 * then leaves. */
START_TEST(test_hold_with_full_read_ahead)
{
	struct client k;
	char junk[65536];

	serve();
	open_tcp(&k);
	memset(junk, 'x', sizeof(junk));
	client_sends(&k, "GET /hold HTTP/1.1\r\n" HOST "\r\n");
	client_send(&k, junk, sizeof(junk));
	for (int i = 0; i < 10; i++)
		client_turn(loop);
	ck_assert_int_eq(app.gone, 0);
	client_close(&k);
	UNTIL(app.gone == 1);
	ck_assert_uint_eq(httpd_connections(httpd), 0);
}
END_TEST

START_TEST(test_free_with_open_requests)
{
	struct client k[3];

	serve();
	for (int i = 0; i < 3; i++)
		open_tcp(&k[i]);
	client_sends(&k[0], "GET /later HTTP/1.1\r\n" HOST "\r\n");
	client_sends(
	    &k[1], "PUT / HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nhel");
	UNTIL(app.heads == 2);
	httpd_free(httpd);
	httpd = NULL;
	ck_assert_int_eq(app.gone, 2);
	for (int i = 0; i < 3; i++)
		client_close(&k[i]);
}
END_TEST

START_TEST(test_drain)
{
	struct client idle, busy, half;
	struct sockaddr_un un;
	int fd;

	serve();
	open_tcp(&idle);
	ck_assert_int_eq(
	    client_ask(&idle, "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	open_unix(&busy);
	client_sends(&busy, "GET /later HTTP/1.1\r\n" HOST "\r\n");
	open_tcp(&half);
	client_sends(&half, "GET / HTTP/1.1\r\n");
	UNTIL(httpd_connections(httpd) == 3 && app.waiting != NULL);
	for (int i = 0; i < 5; i++)
		client_turn(loop);
	httpd_drain(httpd, app_drained, NULL);
	ck_assert(client_closed(&idle));
	ck_assert_uint_eq(httpd_connections(httpd), 2);
	/* The socket file is gone with the socket. */
	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	strlcpy(un.sun_path, path, sizeof(un.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), -1);
	ck_assert_int_eq(errno, ENOENT);
	close(fd);
	/* What was begun is finished. */
	ck_assert_int_eq(client_ask(&half, HOST "\r\n"), 200);
	ck_assert_str_eq(client_header(&half, "connection"), "close");
	ck_assert(client_closed(&half));
	ck_assert_int_eq(app.drained, 0);
	httpd_send(app.waiting, 200, "late", 4);
	ck_assert_int_eq(client_answer(&busy, false), 200);
	ck_assert_str_eq(client_header(&busy, "connection"), "close");
	ck_assert(client_closed(&busy));
	client_close(&idle);
	client_close(&busy);
	client_close(&half);
	UNTIL(app.drained == 1);
	for (int i = 0; i < 5; i++)
		client_turn(loop);
	ck_assert_int_eq(app.drained, 1);
}
END_TEST

START_TEST(test_drain_with_nothing_open)
{
	serve();
	httpd_drain(httpd, app_drained, NULL);
	ck_assert_int_eq(app.drained, 0);
	UNTIL(app.drained == 1);
}
END_TEST

START_TEST(test_503_when_all_are_busy)
{
	struct client k[3];

	conf.connections = 2;
	serve();
	for (int i = 0; i < 2; i++) {
		open_tcp(&k[i]);
		client_sends(&k[i], "GET /later HTTP/1.1\r\n" HOST "\r\n");
	}
	UNTIL(app.heads == 2);
	open_tcp(&k[2]);
	ck_assert_int_eq(
	    client_ask(&k[2], "GET / HTTP/1.1\r\n" HOST "\r\n"), 503);
	ck_assert(client_closed(&k[2]));
	client_close(&k[2]);
	ck_assert_int_eq(app.heads, 2);
	/* One leaves, and there is room again. */
	client_abort(&k[0]);
	UNTIL(app.gone == 1);
	open_tcp(&k[2]);
	ck_assert_int_eq(
	    client_ask(&k[2], "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
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
	conf.connections = n / 2;
	serve();
	for (size_t i = 0; i < n; i++) {
		open_tcp(&k[i]);
		client_turn(loop);
	}
	UNTIL(httpd_connections(httpd) == n / 2);
	open_tcp(&fresh);
	ck_assert_int_eq(
	    client_ask(&fresh, "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	/* The longest idle were closed, the others live. */
	ck_assert(client_closed(&k[0]));
	ck_assert(client_closed(&k[n - n / 2]));
	ck_assert_int_eq(
	    client_ask(&k[n - 1], "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	for (size_t i = 0; i < n; i++)
		client_close(&k[i]);
	client_close(&fresh);
}
END_TEST

#define FEW 64

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
	struct qo_mono start;
	struct rlimit rl;
	int turns, fds[FEW];
	size_t n;

	getrlimit(RLIMIT_NOFILE, &rl);
	serve();
	open_tcp(&busy);
	client_sends(&busy, "GET /later HTTP/1.1\r\n" HOST "\r\n");
	UNTIL(app.waiting != NULL);
	open_tcp(&waiting);
	n = use_up(fds);
	client_sends(&waiting, "GET / HTTP/1.1\r\n" HOST "\r\n");
	client_turn(loop);
	/* It does not spin over what it can not accept. */
	start = qo_mono_now();
	for (turns = 0; ms_since(start) < 200; turns++)
		loop_once(loop, 200);
	ck_assert_int_lt(turns, 10);
	ck_assert_uint_eq(httpd_connections(httpd), 1);
	/* And goes on by itself. */
	give_back(fds, n, &rl);
	ck_assert_int_eq(client_answer(&waiting, false), 200);
	client_close(&waiting);
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

	getrlimit(RLIMIT_NOFILE, &rl);
	serve();
	open_tcp(&idle);
	ck_assert_int_eq(
	    client_ask(&idle, "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	open_tcp(&last);
	n = use_up(fds);
	close(fds[--n]);
	/* The last descriptor is used: nobody has to go. */
	ck_assert_int_eq(
	    client_ask(&last, "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	ck_assert_int_eq(
	    client_ask(&idle, "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	give_back(fds, n, &rl);
	open_tcp(&more);
	n = use_up(fds);
	/* None is left: the longest idle makes room at once. */
	ck_assert_int_eq(
	    client_ask(&more, "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	ck_assert(client_closed(&last));
	ck_assert_int_eq(
	    client_ask(&idle, "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
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
	strlcpy(un.sun_path, path, sizeof(un.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	close(fd);
	serve();
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0660);
	open_unix(&k);
	client_sends(&k, "GET /later HTTP/1.1\r\n" HOST "\r\n");
	UNTIL(app.waiting != NULL);
	ck_assert(app.waiting->local);
	ck_assert_str_eq(app.waiting->peer, "unix");
	httpd_send(app.waiting, 200, NULL, 0);
	ck_assert_int_eq(client_answer(&k, false), 200);
	client_close(&k);

	/* A live one is refused and stays. */
	other = httpd_new(loop, &conf, &ops, NULL);
	ck_assert_int_eq(httpd_listen_unix(other, path, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "another process"));
	/* So is what is not a socket. */
	ck_assert_int_eq(httpd_listen_unix(other, dir, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "not a socket"));
	ck_assert_int_eq(
	    httpd_listen_unix(other, "/nonexistent/dir/sock", &err), -1);
	httpd_free(other);
	open_unix(&k);
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

	serve();
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(httpd_listen_tcp(httpd, bad[i], &p, &err) == -1,
		    "%s", bad[i]);
	snprintf(again, sizeof(again), "127.0.0.1:%d", port);
	ck_assert_int_eq(httpd_listen_tcp(httpd, again, &p, &err), -1);
	ck_assert_int_eq(err.errnum, EADDRINUSE);
	open_tcp(&k);
	client_sends(&k, "GET /later HTTP/1.1\r\n" HOST "\r\n");
	UNTIL(app.waiting != NULL);
	ck_assert(!app.waiting->local);
	ck_assert(begins(app.waiting->peer, "127.0.0.1:"));
	client_close(&k);
	if (httpd_listen_tcp(httpd, "[::1]:0", &p, &err) == -1)
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

	httpd = httpd_new(loop, &conf, &ops, NULL);
	ck_assert_int_eq(httpd_listen_fd(httpd, 0, &err), -1);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(httpd_listen_fd(httpd, fd, &err), -1);
	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	strlcpy(un.sun_path, path, sizeof(un.sun_path));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	ck_assert_int_eq(listen(fd, 5), 0);
	ck_assert_int_eq(httpd_listen_fd(httpd, fd, &err), 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	open_unix(&k);
	ck_assert_int_eq(client_ask(&k, "GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
	client_close(&k);
	/* The file is the master's. */
	httpd_free(httpd);
	httpd = NULL;
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("httpd");
	TCase *tc = tcase_create("httpd");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_keep_alive);
	tcase_add_test(tc, test_connection_close);
	tcase_add_test(tc, test_no_body_with_head_204_304);
	tcase_add_test(tc, test_malformed_request_gets_its_status_and_close);
	tcase_add_test(tc, test_split_at_each_byte);
	tcase_add_test(
	    tc, test_pipelining_of_1000_mixed_requests_stays_in_step);
	tcase_add_test(tc, test_pipelining_behind_a_waiting_request);
	tcase_add_test(tc, test_expect_100_continue);
	tcase_add_test(tc, test_oversized_body_is_refused_before_it_is_read);
	tcase_add_test(tc, test_oversized_head_and_uri);
	tcase_add_test(tc, test_large_bodies);
	tcase_add_test(tc, test_send_file);
	tcase_add_test(tc, test_early_answer_reaches_a_client_that_is_sending);
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
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
