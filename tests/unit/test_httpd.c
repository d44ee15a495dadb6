#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <check.h>

#include "http_cases.h"
#include "httpapp.h"
#include "run_suite.h"
#include "still_clock.h"
#include "xalloc.h"

START_TEST(test_keep_alive)
{
	struct client k;
	int i;

	httpapp_serve();
	httpapp_tcp(&k);
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
	ck_assert_int_eq(httpapp.heads, 3);
	ck_assert_uint_eq(httpd_connections(httpapp.httpd), 1);
	client_close(&k);
	UNTIL(httpd_connections(httpapp.httpd) == 0);
	ck_assert_int_eq(httpapp.gone, 0);
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

	httpapp_serve();
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		httpapp_tcp(&k);
		ck_assert_int_eq(client_ask(&k, requests[i]), 200);
		ck_assert_str_eq(client_header(&k, "connection"), "close");
		ck_assert(client_closed(&k));
		client_close(&k);
	}
	UNTIL(httpd_connections(httpapp.httpd) == 0);
}
END_TEST

START_TEST(test_no_body_with_head_204_304)
{
	struct client k;

	httpapp_serve();
	httpapp_tcp(&k);
	ck_assert_int_eq(client_ask(&k,
			     "HEAD /length HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	ck_assert_str_eq(client_header(&k, "content-length"), "12345");
	ck_assert_int_eq(client_ask(&k, "HEAD /early HTTP/1.1\r\n" HOST "\r\n"),
	    403);
	ck_assert_str_eq(client_header(&k, "content-length"), "6");
	ck_assert_int_eq(client_ask(&k, "HEAD /file HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	ck_assert_int_eq(client_ask(&k,
			     "GET /nothing HTTP/1.1\r\n" HOST "\r\n"),
	    204);
	ck_assert_ptr_null(client_header(&k, "content-length"));
	ck_assert_int_eq(client_ask(&k, "GET /same HTTP/1.1\r\n" HOST "\r\n"),
	    304);
	ck_assert_int_eq(client_ask(&k, "GET /last HTTP/1.1\r\n" HOST "\r\n"),
	    200);
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
		httpapp_unix(&k);
	else
		httpapp_tcp(&k);
	client_send(&k, c->bytes, cut);
	client_send(&k, c->bytes + cut, c->len - cut);
	status = client_answer(&k, false);
	if (status == 100)
		status = client_answer(&k, false);
	ck_assert_msg(status == c->status, "%s (cut at %zu): %d not %d",
	    c->name, cut, status, c->status);
	if (c->status != 200) {
		ck_assert_str_eq(client_header(&k, "connection"), "close");
		ck_assert_str_eq(client_header(&k, "content-type"),
		    "application/xml");
		ck_assert_str_eq(client_header(&k, "x-amz-request-id"), "1");
		ck_assert_msg(client_closed(&k), "%s: not closed", c->name);
	} else
		ck_assert_uint_eq(k.in.len, 0);
	client_close(&k);
}

START_TEST(test_malformed_request_gets_its_status_and_close)
{
	size_t i;

	httpapp_serve();
	for (i = 0; i < http_bad_n; i++)
		check_case(&http_bad[i], http_bad[i].len, false);
	ck_assert_int_eq(httpapp.errors, (int)http_bad_n);
	for (i = 0; i < http_good_n; i++)
		check_case(&http_good[i], http_good[i].len, false);
	UNTIL(httpd_connections(httpapp.httpd) == 0);
	/* Those whose chunks were broken were begun. */
	ck_assert_int_eq(httpapp.heads, httpapp.ends + httpapp.gone);
}
END_TEST

START_TEST(test_split_at_each_byte)
{
	size_t i, cut;

	httpapp_serve();
	for (i = 0; i < http_good_n; i++)
		for (cut = 1; cut < http_good[i].len; cut++)
			check_case(&http_good[i], cut, true);
	for (i = 0; i < http_bad_n; i++)
		for (cut = 1; cut < http_bad[i].len; cut += 3)
			check_case(&http_bad[i], cut, true);
	UNTIL(httpd_connections(httpapp.httpd) == 0);
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
		buf_addf(b, "GET /missing HTTP/1.1\r\n" HOST "X-Id: %d\r\n\r\n",
		    i);
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
		buf_addf(b,
		    "\r\nDELETE /d HTTP/1.1\r\n" HOST "X-Id: %d\r\n\r\n", i);
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

	httpapp_serve();
	httpapp_tcp(&k);
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

	httpapp_serve();
	httpapp_tcp(&k);
	client_sends(&k, "GET /later HTTP/1.1\r\n" HOST "\r\n");
	UNTIL(httpapp.waiting != NULL);
	buf_init(&b, 1024 * 1024);
	for (i = 0; i < 5000; i++)
		add_request(&b, i * 7);
	/* More than the sockets hold: only what fits goes out before the
	 * answer is given. */
	i = (int)send(k.fd, b.data, b.len, MSG_DONTWAIT);
	ck_assert_int_gt(i, 0);
	for (int n = 0; n < 20; n++)
		client_turn(httpapp.loop);
	ck_assert_int_eq(httpapp.heads, 1);
	httpd_send(httpapp.waiting, 200, "late", 4);
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

	httpapp_serve();
	httpapp_tcp(&k);
	ck_assert_int_eq(
	    client_ask(&k,
		"PUT /a HTTP/1.1\r\n" HOST
		"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"),
	    100);
	ck_assert_int_eq(client_ask(&k, "abc"), 200);
	ck_assert_str_eq(k.body.data, "abc");
	/* The client waits for it also when there is no body. */
	ck_assert_int_eq(
	    client_ask(&k,
		"PUT /a HTTP/1.1\r\n" HOST
		"Expect: 100-continue\r\nContent-Length: 0\r\n\r\n"),
	    100);
	ck_assert_int_eq(client_ask(&k, ""), 200);
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

	httpapp_serve();
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		httpapp_tcp(&k);
		ck_assert_int_eq(client_ask(&k, requests[i]), 413);
		ck_assert(client_closed(&k));
		ck_assert_int_eq(httpapp.gone, (int)i + 1);
		client_close(&k);
	}
	httpapp_tcp(&k);
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

	httpapp_serve();
	buf_init(&b, 1024 * 1024);
	buf_adds(&b, "GET /");
	while (b.len < 5 + 8 * 1024)
		buf_addc(&b, 'u');
	buf_adds(&b, " HTTP/1.1\r\n" HOST "\r\n");
	httpapp_tcp(&k);
	ck_assert_int_eq(client_ask(&k, b.data), 414);
	ck_assert(client_closed(&k));
	client_close(&k);

	buf_reset(&b);
	buf_adds(&b, "GET / HTTP/1.1\r\n" HOST "a: ");
	while (b.len < 32 * 1024 - 4)
		buf_addc(&b, 'v');
	buf_adds(&b, "\r\n\r\n");
	httpapp_tcp(&k);
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

	httpapp_serve();
	httpapp_tcp(&k);
	buf_init(&b, TAKE_MAX);
	for (i = 0; i < 3000000; i++)
		buf_addc(&b, (char)(i * 7 % 251));
	client_sends(&k,
	    "PUT / HTTP/1.1\r\n" HOST "Content-Length: 3000000\r\n\r\n");
	client_send(&k, b.data, b.len);
	ck_assert_int_eq(client_answer(&k, false), 200);
	ck_assert_uint_eq(k.body.len, b.len);
	ck_assert_mem_eq(k.body.data, b.data, b.len);
	client_sends(&k,
	    "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
	client_sends(&k, "2dc6c0\r\n");
	client_send(&k, b.data, b.len);
	client_sends(&k, "\r\n0\r\n\r\n");
	ck_assert_int_eq(client_answer(&k, false), 200);
	ck_assert_uint_eq(k.body.len, b.len);
	ck_assert_mem_eq(k.body.data, b.data, b.len);
	ck_assert_int_eq(client_ask(&k, "GET /big HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	ck_assert_uint_eq(k.body.len, BIG);
	client_close(&k);
	buf_fini(&b);
}
END_TEST

START_TEST(test_send_file)
{
	struct client k;
	size_t i;

	httpapp_serve();
	httpapp_tcp(&k);
	ck_assert_int_eq(client_ask(&k, "GET /file HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	ck_assert_uint_eq(k.body.len, BIG - 1000);
	for (i = 0; i < k.body.len; i++)
		if (k.body.data[i] != (char)('a' + (i + 1000) % 26))
			ck_abort_msg("byte %zu differs", i);
	/* Shorter than promised: cut, never padded. */
	ck_assert_int_eq(client_ask(&k, "GET /short HTTP/1.1\r\n" HOST "\r\n"),
	    -1);
	client_close(&k);
	UNTIL(httpd_connections(httpapp.httpd) == 0);
}
END_TEST

/* The client sends all of a large body before it looks for an answer. */
START_TEST(test_early_answer_reaches_a_client_that_is_sending)
{
	static const char *const paths[] = { "/early", "/stop" };
	struct client k;
	char *body;
	size_t i;

	httpapp_serve();
	body = xcalloc(1, 2 * BIG);
	for (i = 0; i < 2; i++) {
		httpapp_tcp(&k);
		client_sends(&k, i == 0 ? "PUT /early" : "PUT /stop");
		client_sends(&k,
		    " HTTP/1.1\r\n" HOST "Content-Length: 8388608\r\n\r\n");
		client_send(&k, body, 2 * BIG);
		ck_assert_msg(client_answer(&k, false) == (i == 0 ? 403 : 409),
		    "%s: %d", paths[i], k.status);
		ck_assert(client_closed(&k));
		client_close(&k);
	}
	free(body);
	/* A small rest is dropped and the connection goes on. */
	httpapp_tcp(&k);
	client_sends(&k,
	    "PUT /stop HTTP/1.1\r\n" HOST "Content-Length: 6\r\n\r\nab");
	ck_assert_int_eq(client_answer(&k, false), 409);
	ck_assert_int_eq(client_ask(&k, "cdefGET / HTTP/1.1\r\n" HOST "\r\n"),
	    200);
	client_close(&k);
	ck_assert_int_eq(httpapp.gone, 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("httpd");
	TCase *tc = tcase_create("httpd");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, httpapp_setup, httpapp_teardown);
	tcase_add_test(tc, test_keep_alive);
	tcase_add_test(tc, test_connection_close);
	tcase_add_test(tc, test_no_body_with_head_204_304);
	tcase_add_test(tc, test_malformed_request_gets_its_status_and_close);
	tcase_add_test(tc, test_split_at_each_byte);
	tcase_add_test(tc,
	    test_pipelining_of_1000_mixed_requests_stays_in_step);
	tcase_add_test(tc, test_pipelining_behind_a_waiting_request);
	tcase_add_test(tc, test_expect_100_continue);
	tcase_add_test(tc, test_oversized_body_is_refused_before_it_is_read);
	tcase_add_test(tc, test_oversized_head_and_uri);
	tcase_add_test(tc, test_large_bodies);
	tcase_add_test(tc, test_send_file);
	tcase_add_test(tc, test_early_answer_reaches_a_client_that_is_sending);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
