/* Attempts of the S3 client, its idea of the time, many requests at once. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_suite.h"
#include "s3_fixture.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static struct fixture fx;

/* Attempts */

START_TEST(test_retry_then_ok)
{
	struct script_step steps[] = {
		answer("503 Slow Down", "", XML_ERR("SlowDown", "")),
		{ NULL, 0, SCRIPT_RESET },
		/* libcurl itself sends again on a connection that it had
		 * used before and that dies without a word. */
		{ NULL, 0, SCRIPT_RESET },
		answer("412 Precondition Failed", "",
		    XML_ERR("PreconditionFailed", "")),
	};
	const struct qo_s3_stats *st;
	struct qo_s3_req r;

	fixture_start(&fx, steps, nitems(steps), NULL);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	r.if_none_match = "*";
	r.body = "{}";
	r.body_len = 2;
	/* The 412 is definite, but the reset before it was not: R5's case. */
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_PRECONDITION);
	ck_assert(r.res.maybe_applied);
	ck_assert_uint_eq(r.res.attempts, 3);
	st = qo_s3_stats(fx.s3);
	ck_assert_uint_eq(st->requests[QO_S3_PUT], 3);
	ck_assert_uint_eq(st->retries, 2);
	ck_assert_uint_eq(st->outcomes[QO_S3_PUT][QO_S3_PRECONDITION], 1);
	/* The same bytes each time. */
	ck_assert_str_eq(strstr(scripted_request(fx.server, 0), "\r\n\r\n"),
	    strstr(scripted_request(fx.server, 2), "\r\n\r\n"));
	fixture_done(&fx, &r);
}
END_TEST

START_TEST(test_no_retry_of_definite)
{
	struct qo_s3_req r = fixture_ask(&fx, QO_S3_PUT,
	    answer("409 Conflict", "",
		XML_ERR("ConditionalRequestConflict", "")),
	    0);

	ck_assert_uint_eq(r.res.attempts, 1);
	ck_assert_uint_eq(scripted_count(fx.server), 1);
	fixture_done(&fx, &r);
}
END_TEST

START_TEST(test_deadline)
{
	struct script_step steps[64];
	struct qo_s3_req r;
	size_t i;

	for (i = 0; i < nitems(steps); i++)
		steps[i] = answer("503 Slow Down", "", XML_ERR("SlowDown", ""));
	fixture_start(&fx, steps, nitems(steps), NULL);
	qo_s3_req_init(&r, QO_S3_GET, "qo", "k");
	r.deadline_ms = 300;
	r.max_attempts = 1000;
	/* The last one may be told, or be cut short, or not be sent. */
	ck_assert_int_eq(qo_s3_outcome_rc(qo_s3_wait(fx.s3, &r)), QO_AGAIN);
	ck_assert_uint_ge(r.res.attempts, 1);
	ck_assert_uint_lt(r.res.attempts, 64);
	fixture_done(&fx, &r);
}
END_TEST

/* Retry-After beyond the deadline: giving up at once is the honest answer. */
START_TEST(test_retry_after)
{
	struct script_step step = answer("503 Slow Down",
	    "Retry-After: 3600\r\n", "");
	struct qo_s3_req r;

	fixture_start(&fx, &step, 1, NULL);
	qo_s3_req_init(&r, QO_S3_GET, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_SLOW_DOWN);
	ck_assert_uint_eq(r.res.attempts, 1);
	fixture_done(&fx, &r);
}
END_TEST

START_TEST(test_budget)
{
	static struct script_step steps[400];
	struct qo_s3_req r;
	size_t i;
	unsigned sent = 0;

	for (i = 0; i < nitems(steps); i++)
		steps[i] = (struct script_step){ NULL, 0, SCRIPT_CLOSE };
	fixture_start(&fx, steps, nitems(steps), NULL);
	qo_s3_req_init(&r, QO_S3_GET, "qo", "k");
	r.max_attempts = 2;
	for (i = 0; i < 150; i++) {
		ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_AMBIGUOUS);
		sent += r.res.attempts;
	}
	/* 150 firsts, and as many retries as 500 tokens of 5 pay for. */
	ck_assert_uint_eq(sent, 250);
	ck_assert_uint_eq(qo_s3_stats(fx.s3)->retries_refused, 50);
	fixture_done(&fx, &r);
}
END_TEST

static void
hasty(struct qo_s3_conf *conf)
{
	conf->request_timeout_ms = 400;
}

/* One attempt; where a busy machine kept us from sending it in time: again. */
static void
wait_once(struct qo_s3_req *r)
{
	r->max_attempts = 1;
	while (qo_s3_wait(fx.s3, r) == QO_S3_UNREACHABLE)
		ck_assert_ptr_nonnull(strstr(r->res.err.msg, "within"));
}

START_TEST(test_no_answer)
{
	struct script_step step = { NULL, 0, SCRIPT_STALL };
	struct qo_s3_req r;

	fixture_start(&fx, &step, 1, hasty);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	wait_once(&r);
	ck_assert_int_eq(r.res.outcome, QO_S3_AMBIGUOUS);
	ck_assert(r.res.maybe_applied);
	ck_assert_ptr_nonnull(strstr(r.res.err.msg, "no answer within 200 ms"));
	fixture_done(&fx, &r);
}
END_TEST

/* An answer that begins and then stalls. */
START_TEST(test_slow_answer)
{
	struct script_step step = { "HTTP/1.1 200 OK\r\n" NOW ETAG
				    "Content-Length: 5\r\n\r\nab",
		0, 0 };
	struct qo_s3_req r;

	fixture_start(&fx, &step, 1, hasty);
	qo_s3_req_init(&r, QO_S3_GET, "qo", "k");
	wait_once(&r);
	ck_assert_int_eq(r.res.outcome, QO_S3_AMBIGUOUS);
	fixture_done(&fx, &r);
}
END_TEST

static void
nobody_there(struct qo_s3_conf *conf)
{
	conf->endpoint = "http://127.0.0.1:1";
}

START_TEST(test_unreachable)
{
	struct qo_s3_req r;

	fixture_start(&fx, NULL, 0, nobody_there);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	r.max_attempts = 2;
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_UNREACHABLE);
	ck_assert(!r.res.maybe_applied);
	ck_assert_uint_eq(r.res.attempts, 2);
	ck_assert_int_eq(qo_s3_outcome_rc(r.res.outcome), QO_AGAIN);
	fixture_done(&fx, &r);
}
END_TEST

/* Time */

START_TEST(test_server_time)
{
	struct script_step step = answer("200 OK", ETAG, "");
	struct qo_wall lo, mid, hi;
	struct qo_s3_req r;
	int64_t date = INT64_C(1769601600) * QO_US_PER_SEC;

	fixture_start(&fx, &step, 1, NULL);
	ck_assert(!qo_s3_now(fx.s3, &lo, &mid, &hi));
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	ck_assert(qo_s3_now(fx.s3, &lo, &mid, &hi));
	ck_assert_int_ge(mid.us, date);
	ck_assert_int_le(lo.us, mid.us);
	ck_assert_int_le(mid.us, hi.us);
	/* This machine does not live on 2026-01-28 at noon. */
	ck_assert_int_ne(qo_s3_skew_ms(fx.s3), 0);
	fixture_done(&fx, &r);
}
END_TEST

static struct script_step
at_date(const char *date, const char *status, const char *body)
{
	static char area[8][1024];
	static size_t used;
	char *p = area[used++];

	snprintf(p, sizeof(area[0]),
	    "HTTP/1.1 %s\r\nDate: %s\r\n" ETAG "Content-Length: %zu\r\n\r\n%s",
	    status, date, strlen(body), body);
	return (struct script_step){ p, 0, 0 };
}

/* A Date that jumps is not believed at once ... */
START_TEST(test_date_jumps)
{
	struct script_step steps[] = {
		at_date("Wed, 28 Jan 2026 12:00:00 GMT", "200 OK", ""),
		at_date("Wed, 28 Jan 2026 18:00:00 GMT", "200 OK", ""),
		at_date("garbage", "200 OK", ""),
		at_date("Wed, 28 Jan 2026 12:00:01 GMT", "200 OK", ""),
	};
	struct qo_wall mid;
	struct qo_s3_req r;
	size_t i;

	fixture_start(&fx, steps, nitems(steps), NULL);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	for (i = 0; i < nitems(steps); i++) {
		ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
		qo_s3_now(fx.s3, NULL, &mid, NULL);
		ck_assert_int_lt(mid.us / QO_US_PER_SEC, 1769601600 + 60);
	}
	fixture_done(&fx, &r);
}
END_TEST

/* ... but when the store refuses a signature for it, it is, and the request
 * is signed again by that time. */
START_TEST(test_skew_mended)
{
	struct script_step steps[] = {
		at_date("Wed, 28 Jan 2026 12:00:00 GMT", "200 OK", ""),
		at_date("Wed, 28 Jan 2026 18:00:00 GMT", "403 Forbidden",
		    XML_ERR("RequestTimeTooSkewed",
			"<ServerTime>2026-01-28T18:00:00Z</ServerTime>")),
		at_date("Wed, 28 Jan 2026 18:00:00 GMT", "200 OK", ""),
		at_date("Wed, 28 Jan 2026 23:00:00 GMT", "403 Forbidden", ""),
		at_date("Wed, 28 Jan 2026 23:00:00 GMT", "200 OK", ""),
	};
	struct qo_mono before = qo_mono_now();
	struct qo_s3_req r, h;

	fixture_start(&fx, steps, nitems(steps), NULL);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	ck_assert(!qo_s3_corrected_since(fx.s3, before));
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	ck_assert_uint_eq(r.res.attempts, 2);
	ck_assert(qo_s3_corrected_since(fx.s3, before));
	ck_assert_int_eq(strncmp(header_of(scripted_request(fx.server, 2),
				     "x-amz-date"),
			     "20260128T1800", 13),
	    0);
	/* A HEAD's refusal has no body to tell why. */
	qo_s3_req_init(&h, QO_S3_HEAD, "qo", "k");
	steps[3].answer = strdup(steps[3].answer);
	ck_assert_int_eq(qo_s3_wait(fx.s3, &h), QO_S3_OK);
	ck_assert_uint_eq(h.res.attempts, 2);
	free((char *)steps[3].answer);
	qo_s3_req_fini(&h);
	fixture_done(&fx, &r);
}
END_TEST

/* Many at once */

static void
one_less(struct qo_s3_req *r)
{
	ck_assert_msg(r->res.outcome == QO_S3_OK, "%s", r->res.err.msg);
	(*(unsigned *)r->arg)--;
}

static void
two_connections(struct qo_s3_conf *conf)
{
	conf->max_connections = 2;
}

START_TEST(test_queue_of_requests)
{
	static struct script_step steps[100];
	static struct qo_s3_req r[100];
	unsigned left = nitems(r);
	size_t i;

	for (i = 0; i < nitems(steps); i++)
		steps[i] = (struct script_step){ OK_PUT, 0, 0 };
	fixture_start(&fx, steps, nitems(steps), two_connections);
	for (i = 0; i < nitems(r); i++) {
		qo_s3_req_init(&r[i], QO_S3_PUT, "qo", "k");
		r[i].done = one_less;
		r[i].arg = &left;
		qo_s3_send(fx.s3, &r[i]);
	}
	while (left > 0)
		loop_once(fx.loop, -1);
	for (i = 0; i < nitems(r); i++)
		qo_s3_req_fini(&r[i]);
	fixture_stop(&fx);
}
END_TEST

static void
hasty_many(struct qo_s3_conf *conf)
{
	conf->request_timeout_ms = 400;
	conf->max_connections = 100;
}

static void
whatever(struct qo_s3_req *r)
{
	(void)r;
}

/* A store that stands still stops all connections at once: each tries again,
 * however many there are. */
START_TEST(test_budget_of_many)
{
	static struct script_step steps[1000];
	static struct qo_s3_req r[100];
	const struct qo_s3_stats *stats;
	size_t i;

	for (i = 0; i < nitems(steps); i++)
		steps[i] = (struct script_step){ NULL, 0, SCRIPT_STALL };
	fixture_start(&fx, steps, nitems(steps), hasty_many);
	for (i = 0; i < nitems(r); i++) {
		qo_s3_req_init(&r[i], QO_S3_GET, "qo", "k");
		r[i].done = whatever;
		qo_s3_send(fx.s3, &r[i]);
	}
	stats = qo_s3_stats(fx.s3);
	while (stats->retries + stats->retries_refused < nitems(r))
		loop_once(fx.loop, -1);
	ck_assert_uint_eq(stats->retries_refused, 0);
	for (i = 0; i < nitems(r); i++)
		qo_s3_req_fini(&r[i]);
	fixture_stop(&fx);
}
END_TEST

static void
never(struct qo_s3_req *r)
{
	(void)r;
	ck_abort_msg("done was called after cancel");
}

START_TEST(test_cancel)
{
	struct script_step steps[] = { { NULL, 0, SCRIPT_STALL },
		{ NULL, 0, SCRIPT_STALL }, answer("200 OK", ETAG, "") };
	struct qo_s3_req r[4], last;
	size_t i;

	fixture_start(&fx, steps, nitems(steps), two_connections);
	/* Two under way, two waiting for a connection. */
	for (i = 0; i < nitems(r); i++) {
		qo_s3_req_init(&r[i], QO_S3_PUT, "qo", "k");
		r[i].done = never;
		qo_s3_send(fx.s3, &r[i]);
	}
	while (scripted_count(fx.server) < 2)
		loop_once(fx.loop, 10);
	for (i = 0; i < nitems(r); i++)
		qo_s3_req_fini(&r[i]);
	qo_s3_req_init(&last, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &last), QO_S3_OK);
	fixture_done(&fx, &last);
}
END_TEST

/* Who is cancelled makes room for who waits. */
START_TEST(test_cancel_makes_room)
{
	struct script_step steps[] = { { NULL, 0, SCRIPT_STALL },
		{ NULL, 0, SCRIPT_STALL }, answer("200 OK", ETAG, "") };
	struct qo_s3_req r[3];
	unsigned left = 1;
	size_t i;

	fixture_start(&fx, steps, nitems(steps), two_connections);
	for (i = 0; i < nitems(r); i++) {
		qo_s3_req_init(&r[i], QO_S3_PUT, "qo", "k");
		r[i].done = i < 2 ? never : one_less;
		r[i].arg = &left;
		qo_s3_send(fx.s3, &r[i]);
	}
	while (scripted_count(fx.server) < 2)
		loop_once(fx.loop, 10);
	qo_s3_req_fini(&r[0]);
	qo_s3_req_fini(&r[1]);
	while (left > 0)
		loop_once(fx.loop, -1);
	fixture_done(&fx, &r[2]);
}
END_TEST

/* The server closes a connection that waits for the next request: the loop
 * sleeps on, and the request takes another. */
START_TEST(test_idle_closed)
{
	struct script_step steps[] = { { OK_PUT, 0, SCRIPT_CLOSE },
		{ OK_PUT, 0, 0 } };
	struct qo_mono before;
	struct qo_s3_req r;

	fixture_start(&fx, steps, nitems(steps), NULL);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	while (scripted_closed(fx.server) == 0)
		loop_once(fx.loop, 10);
	do {
		before = qo_mono_now();
		loop_once(fx.loop, 20);
	} while (qo_mono_diff_us(before, qo_mono_now()) < 10000);
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	ck_assert_uint_eq(r.res.attempts, 1);
	fixture_done(&fx, &r);
}
END_TEST

/* Freeing the client cancels. */
START_TEST(test_free_under_way)
{
	struct script_step step = { NULL, 0, SCRIPT_STALL };
	struct qo_s3_req r;

	fixture_start(&fx, &step, 1, NULL);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	r.done = never;
	qo_s3_send(fx.s3, &r);
	loop_once(fx.loop, 10);
	fixture_stop(&fx);
	ck_assert_ptr_null(r.flight);
	qo_s3_req_fini(&r);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("s3_attempts");
	TCase *tc = tcase_create("s3_attempts");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_retry_then_ok);
	tcase_add_test(tc, test_no_retry_of_definite);
	tcase_add_test(tc, test_deadline);
	tcase_add_test(tc, test_retry_after);
	tcase_add_test(tc, test_budget);
	tcase_add_test(tc, test_budget_of_many);
	tcase_add_test(tc, test_no_answer);
	tcase_add_test(tc, test_slow_answer);
	tcase_add_test(tc, test_unreachable);
	tcase_add_test(tc, test_server_time);
	tcase_add_test(tc, test_date_jumps);
	tcase_add_test(tc, test_skew_mended);
	tcase_add_test(tc, test_queue_of_requests);
	tcase_add_test(tc, test_cancel);
	tcase_add_test(tc, test_cancel_makes_room);
	tcase_add_test(tc, test_idle_closed);
	tcase_add_test(tc, test_free_under_way);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
