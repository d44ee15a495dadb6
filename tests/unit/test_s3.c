#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "s3_fixture.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))
#define REQ_ID    "x-amz-request-id: 4442587FB7D0A2F9\r\n"
#define XML_ERR(code, more)                                              \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>" code \
	"</Code><Message>what is wrong</Message>" more                   \
	"<RequestId>4442587FB7D0A2F9</RequestId></Error>"
#define LIST_HEAD                                                           \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult "      \
	"xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>qo</Name>" \
	"<Prefix></Prefix><KeyCount>1</KeyCount><MaxKeys>1000</MaxKeys>"    \
	"<EncodingType>url</EncodingType>"
#define LIST_ENTRY                                                  \
	"<Contents><Key>ready%2F0%2Fa+b%2B</Key>"                   \
	"<LastModified>2026-01-28T12:00:00.123Z</LastModified>"     \
	"<ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag>" \
	"<Size>0</Size><StorageClass>STANDARD</StorageClass></Contents>"
#define LIST_DOC                                                \
	LIST_HEAD "<IsTruncated>false</IsTruncated>" LIST_ENTRY \
		  "</ListBucketResult>"

static struct fixture fx;

/* One request, one answer (given as often as the client asks). */
static struct qo_s3_req
ask(enum qo_s3_op op, struct script_step step, unsigned attempts)
{
	struct script_step steps[8];
	struct qo_s3_req r;
	size_t i;

	for (i = 0; i < nitems(steps); i++)
		steps[i] = step;
	fixture_start(&fx, steps, nitems(steps), NULL);
	qo_s3_req_init(&r, op, "qo",
	    op <= QO_S3_DELETE ? "tasks/0/a b+c/ü.json" : NULL);
	if (op == QO_S3_PUT) {
		r.body = "{}";
		r.body_len = 2;
		r.if_none_match = "*";
	}
	r.max_attempts = attempts;
	qo_s3_wait(fx.s3, &r);
	return r;
}

static void
done(struct qo_s3_req *r)
{
	qo_s3_req_fini(r);
	fixture_stop(&fx);
}

START_TEST(test_get)
{
	struct qo_s3_req r = ask(QO_S3_GET,
	    answer("200 OK",
		ETAG REQ_ID
		"x-amz-version-id: v1\r\nLast-Modified: Wed, 28 Jan "
		"2026 11:59:59 GMT\r\n",
		"{\"a\":1}"),
	    0);
	const char *sent = scripted_request(fx.server, 0);

	ck_assert_int_eq(r.res.outcome, QO_S3_OK);
	ck_assert_str_eq(r.res.body.data, "{\"a\":1}");
	ck_assert_str_eq(r.res.etag, "\"9b2cf535f27731c974343645a3985328\"");
	ck_assert_str_eq(r.res.version_id, "v1");
	ck_assert_int_eq(r.res.last_modified.us,
	    INT64_C(1769601599) * QO_US_PER_SEC);
	ck_assert_uint_eq(r.res.attempts, 1);
	ck_assert(!r.res.maybe_applied);
	ck_assert_ptr_eq(
	    strstr(sent, "GET /qo/tasks/0/a%20b%2Bc/%C3%BC.json HTTP/1.1\r\n"),
	    sent);
	ck_assert_ptr_nonnull(header_of(sent, "authorization"));
	ck_assert_ptr_null(header_of(sent, "expect"));
	ck_assert_ptr_null(header_of(sent, "accept-encoding"));
	done(&r);
}
END_TEST

START_TEST(test_put)
{
	struct qo_s3_req r = ask(QO_S3_PUT, answer("200 OK", ETAG, ""), 0);
	const char *sent = scripted_request(fx.server, 0);

	ck_assert_int_eq(r.res.outcome, QO_S3_OK);
	ck_assert_str_eq(header_of(sent, "if-none-match"), "*");
	ck_assert_str_eq(header_of(sent, "x-amz-content-sha256"),
	    "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
	ck_assert_ptr_nonnull(strstr(header_of(sent, "authorization"),
	    "SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-"
	    "date,"));
	ck_assert_ptr_null(header_of(sent, "content-type"));
	ck_assert_str_eq(strstr(sent, "\r\n\r\n") + 4, "{}");
	done(&r);
}
END_TEST

/* An empty body is what every index entry has. */
START_TEST(test_put_empty)
{
	struct script_step step = answer("200 OK", ETAG, "");
	struct qo_s3_req r;

	fixture_start(&fx, &step, 1, NULL);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "ready/0/0029493360/x");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	ck_assert_str_eq(header_of(scripted_request(fx.server, 0),
			     "content-length"),
	    "0");
	done(&r);
}
END_TEST

/* What a status means when S3 says why. */
static const struct {
	const char *status, *code;
	enum qo_s3_op op;
	enum qo_s3_outcome outcome;
	bool maybe;
} statuses[] = {
	{ "404 Not Found", "NoSuchKey", QO_S3_GET, QO_S3_NOT_FOUND, false },
	{ "404 Not Found", "NoSuchKey", QO_S3_PUT, QO_S3_NOT_FOUND, false },
	{ "412 Precondition Failed", "PreconditionFailed", QO_S3_PUT,
	    QO_S3_PRECONDITION, false },
	{ "409 Conflict", "ConditionalRequestConflict", QO_S3_PUT,
	    QO_S3_CONFLICT, false },
	{ "403 Forbidden", "AccessDenied", QO_S3_PUT, QO_S3_DENIED, false },
	{ "401 Unauthorized", "AccessDenied", QO_S3_GET, QO_S3_DENIED, false },
	{ "503 Slow Down", "SlowDown", QO_S3_PUT, QO_S3_SLOW_DOWN, true },
	{ "429 Too Many Requests", "SlowDown", QO_S3_GET, QO_S3_SLOW_DOWN,
	    false },
	{ "500 Internal Server Error", "InternalError", QO_S3_PUT,
	    QO_S3_AMBIGUOUS, true },
	{ "500 Internal Server Error", "UnknownError", QO_S3_GET,
	    QO_S3_AMBIGUOUS, false },
	{ "400 Bad Request", "RequestTimeout", QO_S3_PUT, QO_S3_AMBIGUOUS,
	    true },
	{ "400 Bad Request", "InvalidArgument", QO_S3_PUT, QO_S3_REJECTED,
	    false },
	{ "501 Not Implemented", "NotImplemented", QO_S3_PUT, QO_S3_UNSUPPORTED,
	    false },
	{ "413 Too Large", "EntityTooLarge", QO_S3_PUT, QO_S3_TOO_LARGE,
	    false },
	{ "400 Bad Request", "EntityTooLarge", QO_S3_PUT, QO_S3_TOO_LARGE,
	    false },
	{ "400 Bad Request", "MaxMessageLengthExceeded", QO_S3_PUT,
	    QO_S3_TOO_LARGE, false },
	{ "416 Range", "InvalidRange", QO_S3_GET, QO_S3_REJECTED, false },
};

START_TEST(test_status)
{
	char body[512];
	struct qo_s3_req r;

	snprintf(body, sizeof(body),
	    "<Error><Code>%s</Code><Message>what is wrong</Message>"
	    "<RequestId>R1</RequestId></Error>",
	    statuses[_i].code);
	r = ask(statuses[_i].op, answer(statuses[_i].status, REQ_ID, body), 1);
	ck_assert_int_eq(r.res.outcome, statuses[_i].outcome);
	ck_assert_int_eq(r.res.maybe_applied, statuses[_i].maybe);
	ck_assert_str_eq(r.res.err.s3_code, statuses[_i].code);
	ck_assert_str_eq(r.res.err.request_id, "4442587FB7D0A2F9");
	ck_assert_ptr_nonnull(strstr(r.res.err.msg, "what is wrong"));
	ck_assert_ptr_nonnull(strstr(r.res.err.msg, "qo/tasks/0/a b+c"));
	done(&r);
}
END_TEST

/* The bad input of a hostile or broken world: raw bytes, a name for each. */
static const struct {
	const char *name;
	enum qo_s3_op op;
	const char *bytes;
	int flags;
	enum qo_s3_outcome outcome;
	bool maybe;
	const char *says;
} evils[] = {
	{ "malformed XML", QO_S3_LIST,
	    "HTTP/1.1 200 OK\r\n" NOW "Content-Length: 24\r\n\r\n"
	    "<ListBucketResult><Name>",
	    0, QO_S3_BAD_RESPONSE, false, NULL },
	{ "not XML at all", QO_S3_LIST,
	    "HTTP/1.1 200 OK\r\n" NOW "Content-Length: 5\r\n\r\nhello", 0,
	    QO_S3_BAD_RESPONSE, false, NULL },
	{ "truncated body of a GET", QO_S3_GET,
	    "HTTP/1.1 200 OK\r\n" NOW ETAG "Content-Length: 100\r\n\r\n{\"a\"",
	    SCRIPT_CLOSE, QO_S3_AMBIGUOUS, false, NULL },
	{ "truncated head", QO_S3_PUT, "HTTP/1.1 200 OK\r\n" NOW "ETa",
	    SCRIPT_CLOSE, QO_S3_AMBIGUOUS, true, NULL },
	{ "truncated body of a PUT", QO_S3_PUT,
	    "HTTP/1.1 200 OK\r\n" NOW ETAG "Content-Length: 10\r\n\r\n",
	    SCRIPT_CLOSE, QO_S3_AMBIGUOUS, true, NULL },
	{ "absurd Content-Length", QO_S3_GET,
	    "HTTP/1.1 200 OK\r\n" NOW ETAG
	    "Content-Length: 99999999999999999999999\r\n\r\nx",
	    SCRIPT_CLOSE, QO_S3_TOO_LARGE, false, "larger than" },
	{ "negative Content-Length", QO_S3_GET,
	    "HTTP/1.1 200 OK\r\n" NOW ETAG "Content-Length: -5\r\n\r\nx",
	    SCRIPT_CLOSE, QO_S3_BAD_RESPONSE, false, NULL },
	{ "larger than the cap", QO_S3_GET,
	    "HTTP/1.1 200 OK\r\n" NOW ETAG "Content-Length: 999999999\r\n\r\nx",
	    SCRIPT_CLOSE, QO_S3_TOO_LARGE, false, "larger than" },
	{ "200 with an error inside a LIST", QO_S3_LIST,
	    "HTTP/1.1 200 OK\r\n" NOW "Content-Length: 76\r\n\r\n"
	    "<Error><Code>InternalError</Code><Message>we had a problem"
	    "</Message></Error>",
	    0, QO_S3_AMBIGUOUS, false, "we had a problem" },
	{ "200 with an error inside a PUT", QO_S3_PUT,
	    "HTTP/1.1 200 OK\r\n" NOW ETAG "Content-Length: 76\r\n\r\n"
	    "<Error><Code>InternalError</Code><Message>we had a problem"
	    "</Message></Error>",
	    0, QO_S3_AMBIGUOUS, true, "we had a problem" },
	{ "HTML from a portal, 200", QO_S3_LIST,
	    "HTTP/1.1 200 OK\r\n" NOW "Content-Length: 39\r\n\r\n"
	    "<!DOCTYPE html><html><p>Log in</p></html>",
	    SCRIPT_CLOSE, QO_S3_BAD_RESPONSE, false, NULL },
	{ "HTML from a portal to a PUT", QO_S3_PUT,
	    "HTTP/1.1 200 OK\r\n" NOW "Content-Length: 26\r\n\r\n"
	    "<html><p>Log in</p></html>",
	    0, QO_S3_BAD_RESPONSE, true, "endpoint" },
	{ "HTML from a portal to a GET", QO_S3_GET,
	    "HTTP/1.1 200 OK\r\n" NOW "Content-Length: 26\r\n\r\n"
	    "<html><p>Log in</p></html>",
	    0, QO_S3_BAD_RESPONSE, false, "endpoint" },
	{ "HTML from a proxy, 502", QO_S3_PUT,
	    "HTTP/1.1 502 Bad Gateway\r\n" NOW "Content-Length: 26\r\n\r\n"
	    "<html><p>Log in</p></html>",
	    0, QO_S3_AMBIGUOUS, true, "HTML page" },
	{ "a weak ETag", QO_S3_GET,
	    "HTTP/1.1 200 OK\r\n" NOW
	    "ETag: W/\"abc\"\r\nContent-Length: 2\r\n\r\n{}",
	    0, QO_S3_BAD_RESPONSE, false, "weak ETag" },
	{ "not HTTP", QO_S3_GET, "SSH-2.0-OpenSSH_9.2\r\n", SCRIPT_CLOSE,
	    QO_S3_BAD_RESPONSE, false, NULL },
	{ "not HTTP to a write", QO_S3_PUT, "SSH-2.0-OpenSSH_9.2\r\n",
	    SCRIPT_CLOSE, QO_S3_AMBIGUOUS, true, NULL },
	{ "closed without a word", QO_S3_PUT, NULL, SCRIPT_CLOSE,
	    QO_S3_AMBIGUOUS, true, NULL },
	{ "reset", QO_S3_PUT, NULL, SCRIPT_RESET, QO_S3_AMBIGUOUS, true, NULL },
	{ "a redirect to another region", QO_S3_GET,
	    "HTTP/1.1 301 Moved Permanently\r\n" NOW
	    "x-amz-bucket-region: eu-west-1\r\n"
	    "Location: http://elsewhere.example/\r\n" EMPTY,
	    0, QO_S3_WRONG_REGION, false, "set region = eu-west-1" },
	{ "a temporary redirect", QO_S3_PUT,
	    "HTTP/1.1 307 Temporary Redirect\r\n" NOW
	    "Location: http://elsewhere.example/\r\n" EMPTY,
	    0, QO_S3_WRONG_REGION, false, "elsewhere.example" },
	{ "a region in a 400", QO_S3_LIST,
	    "HTTP/1.1 400 Bad Request\r\n" NOW "Content-Length: 97\r\n\r\n"
	    "<Error><Code>AuthorizationHeaderMalformed</Code><Message>m"
	    "</Message><Region>eu-3</Region></Error>",
	    SCRIPT_CLOSE, QO_S3_WRONG_REGION, false, "set region = eu-3" },
};

START_TEST(test_evil)
{
	struct script_step step;
	struct qo_s3_req r;

	memset(&step, 0, sizeof(step));
	step.answer = evils[_i].bytes;
	step.flags = evils[_i].flags;
	r = ask(evils[_i].op, step, 1);
	ck_assert_msg(r.res.outcome == evils[_i].outcome, "%s: %s (%s)",
	    evils[_i].name, qo_s3_outcome_name(r.res.outcome), r.res.err.msg);
	ck_assert_msg(r.res.maybe_applied == evils[_i].maybe, "%s: maybe %d",
	    evils[_i].name, r.res.maybe_applied);
	ck_assert_msg(r.res.err.msg[0] != '\0', "%s", evils[_i].name);
	if (evils[_i].says != NULL)
		ck_assert_msg(strstr(r.res.err.msg, evils[_i].says) != NULL,
		    "%s: %s", evils[_i].name, r.res.err.msg);
	done(&r);
}
END_TEST

START_TEST(test_range)
{
	struct script_step steps[2] = { answer("200 OK", ETAG, "whole"),
		answer("206 Partial Content", ETAG, "art") };
	struct qo_s3_req r;

	fixture_start(&fx, steps, 2, NULL);
	qo_s3_req_init(&r, QO_S3_GET, "qo", "k");
	r.range_first = 1;
	r.range_len = 3;
	r.max_attempts = 1;
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_BAD_RESPONSE);
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	ck_assert_str_eq(r.res.body.data, "art");
	ck_assert_str_eq(header_of(scripted_request(fx.server, 1), "range"),
	    "bytes=1-3");
	done(&r);
}
END_TEST

START_TEST(test_etag_without_quotes)
{
	struct qo_s3_req r = ask(QO_S3_GET,
	    answer("200 OK", "ETag: 9b2cf535f27731c974343645a3985328\r\n",
		"{}"),
	    1);

	ck_assert_int_eq(r.res.outcome, QO_S3_OK);
	ck_assert_str_eq(r.res.etag, "9b2cf535f27731c974343645a3985328");
	done(&r);
}
END_TEST

static void
bare(struct qo_s3_conf *conf)
{
	conf->etag_form = QO_S3_ETAG_BARE;
}

START_TEST(test_if_match_forms)
{
	struct script_step steps[2] = { answer("200 OK", ETAG, ""),
		answer("200 OK", ETAG, "") };
	struct qo_s3_req r;

	fixture_start(&fx, steps, 2, bare);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	r.if_match = "\"abc\"";
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	qo_s3_set_etag_form(fx.s3, QO_S3_ETAG_QUOTED);
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	ck_assert_str_eq(header_of(scripted_request(fx.server, 0), "if-match"),
	    "abc");
	ck_assert_str_eq(header_of(scripted_request(fx.server, 1), "if-match"),
	    "\"abc\"");
	done(&r);
}
END_TEST

START_TEST(test_not_modified)
{
	struct script_step step = {
		"HTTP/1.1 304 Not Modified\r\n" NOW ETAG "\r\n", 0, 0
	};
	struct qo_s3_req r;

	fixture_start(&fx, &step, 1, NULL);
	qo_s3_req_init(&r, QO_S3_GET, "qo", "k");
	r.if_none_match = "\"abc\"";
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_NOT_MODIFIED);
	done(&r);
}
END_TEST

START_TEST(test_list)
{
	struct qo_s3_req r = ask(QO_S3_LIST,
	    answer("200 OK", "x-qo-seq: 77\r\n", LIST_DOC), 1);

	ck_assert_msg(r.res.outcome == QO_S3_OK, "%s", r.res.err.msg);
	ck_assert_uint_eq(r.res.list->n, 1);
	ck_assert_str_eq(r.res.list->entries[0].key, "ready/0/a b+");
	ck_assert_int_eq(r.res.seq, 77);
	ck_assert_ptr_nonnull(strstr(scripted_request(fx.server, 0),
	    "GET /qo?encoding-type=url&list-type=2 HTTP/1.1"));
	done(&r);
}
END_TEST

START_TEST(test_list_arguments)
{
	struct script_step step = answer("200 OK", "", LIST_DOC);
	struct qo_s3_req r;

	fixture_start(&fx, &step, 1, NULL);
	qo_s3_req_init(&r, QO_S3_LIST, "qo", NULL);
	r.prefix = "ready/";
	r.delimiter = "/";
	r.start_after = "ready/0/é&";
	r.max_keys = 50;
	r.wait = "5; since=12";
	r.wait_ms = 5000;
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	ck_assert_ptr_nonnull(strstr(scripted_request(fx.server, 0),
	    "GET /qo?delimiter=%2F&encoding-type=url&list-type=2&max-keys=50"
	    "&prefix=ready%2F&start-after=ready%2F0%2F%C3%A9%26 HTTP/1.1"));
	ck_assert_str_eq(header_of(scripted_request(fx.server, 0), "x-qo-wait"),
	    "5; since=12");
	done(&r);
}
END_TEST

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
	done(&r);
}
END_TEST

START_TEST(test_no_retry_of_definite)
{
	struct qo_s3_req r = ask(QO_S3_PUT,
	    answer("409 Conflict", "",
		XML_ERR("ConditionalRequestConflict", "")),
	    0);

	ck_assert_uint_eq(r.res.attempts, 1);
	ck_assert_uint_eq(scripted_count(fx.server), 1);
	done(&r);
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
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_SLOW_DOWN);
	ck_assert_uint_ge(r.res.attempts, 1);
	ck_assert_uint_lt(r.res.attempts, 64);
	done(&r);
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
	done(&r);
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
	done(&r);
}
END_TEST

static void
hasty(struct qo_s3_conf *conf)
{
	conf->request_timeout_ms = 100;
}

START_TEST(test_no_answer)
{
	struct script_step step = { NULL, 0, SCRIPT_STALL };
	struct qo_s3_req r;

	fixture_start(&fx, &step, 1, hasty);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	r.max_attempts = 1;
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_AMBIGUOUS);
	ck_assert(r.res.maybe_applied);
	ck_assert_ptr_nonnull(strstr(r.res.err.msg, "no answer within 50 ms"));
	done(&r);
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
	r.max_attempts = 1;
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_AMBIGUOUS);
	done(&r);
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
	done(&r);
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
	done(&r);
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
	done(&r);
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
	done(&r);
}
END_TEST

/* Many at once */

struct crowd {
	struct qo_s3_req r;
	unsigned *left;
};

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
	done(&last);
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
	done(&r[2]);
}
END_TEST

/* The server closes a connection that waits for the next request: the loop
 * sleeps on, and the request takes another. */
START_TEST(test_idle_closed)
{
	struct script_step steps[] = { { OK_PUT, 0, SCRIPT_CLOSE },
		{ OK_PUT, 0, 0 } };
	struct qo_mono before = qo_mono_now();
	struct qo_s3_req r;
	int i;

	fixture_start(&fx, steps, nitems(steps), NULL);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	for (i = 0; i < 10; i++) {
		before = qo_mono_now();
		loop_once(fx.loop, 20);
	}
	ck_assert_int_ge(qo_mono_diff_us(before, qo_mono_now()), 10000);
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	ck_assert_uint_eq(r.res.attempts, 1);
	done(&r);
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

/* Where requests go */

static void
virtual_host(struct qo_s3_conf *conf)
{
	static char url[64];

	/* A name that resolves to loopback, so that a bucket may precede. */
	snprintf(url, sizeof(url), "http://localhost:%s",
	    strrchr(conf->endpoint, ':') + 1);
	conf->endpoint = url;
	conf->path_style = false;
}

START_TEST(test_virtual_host)
{
	struct script_step step = answer("200 OK", ETAG, "");
	struct qo_s3_req r;
	struct buf url;
	struct qo_err err;
	const char *port;
	char want[128];

	fixture_start(&fx, &step, 1, virtual_host);
	port = strrchr(scripted_url(fx.server), ':') + 1;
	buf_init(&url, 4096);
	ck_assert_int_eq(qo_s3_presign(fx.s3, "GET", "qo", "a b", NULL, 60,
			     &url, &err),
	    0);
	snprintf(want, sizeof(want),
	    "http://qo.localhost:%s/a%%20b?X-Amz-Algorithm=AWS4-HMAC-SHA256&",
	    port);
	ck_assert_msg(strncmp(url.data, want, strlen(want)) == 0, "%s",
	    url.data);
	ck_assert_ptr_nonnull(strstr(url.data, "X-Amz-Expires=60"));
	buf_fini(&url);
	/* glibc resolves every name under localhost to loopback. */
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	snprintf(want, sizeof(want), "qo.localhost:%s", port);
	ck_assert_str_eq(header_of(scripted_request(fx.server, 0), "host"),
	    want);
	ck_assert_int_eq(strncmp(scripted_request(fx.server, 0),
			     "PUT /k HTTP/1.1\r\n", 17),
	    0);
	done(&r);
}
END_TEST

START_TEST(test_presign_limits)
{
	struct qo_err err;
	struct buf url;

	fixture_start(&fx, NULL, 0, NULL);
	buf_init(&url, 4096);
	qo_err_reset(&err);
	ck_assert_int_eq(qo_s3_presign(fx.s3, "GET", "qo", "k", NULL, 604801,
			     &url, &err),
	    -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "604800"));
	ck_assert_int_eq(qo_s3_presign(fx.s3, "PUT", "qo", "k", "\"e\"", 900,
			     &url, &err),
	    0);
	ck_assert_ptr_nonnull(strstr(url.data,
	    "X-Amz-SignedHeaders=host%3Bif-match"));
	buf_fini(&url);
	fixture_stop(&fx);
}
END_TEST

static const struct {
	const char *endpoint;
	bool allow_http;
	const char *says; /* NULL: fine */
} endpoints[] = {
	{ "https://s3.example.org", false, NULL },
	{ "https://s3.example.org/", false, NULL },
	{ "http://127.0.0.1:9000", false, NULL },
	{ "http://localhost:9000", false, NULL },
	{ "http://[::1]:9000", false, NULL },
	{ NULL, false, NULL },
	{ "http://s3.example.org", true, NULL },
	{ "http://s3.example.org", false, "allow_http" },
	{ "http://127.evil.example.org", true, NULL },
	{ "ftp://s3.example.org", true, "https://" },
	{ "file:///etc/passwd", true, "https://" },
	{ "https://user:pw@s3.example.org", true, "nothing else" },
	{ "https://s3.example.org/path", true, "nothing else" },
	{ "https://s3.example.org?x=1", true, "nothing else" },
	{ "https://", true, "nothing else" },
	{ "https://:80", true, "nothing else" },
	{ "https://a b", true, "nothing else" },
	{ "https://a\r\nHost: b", true, "nothing else" },
};

START_TEST(test_endpoints)
{
	struct qo_s3_conf conf;
	struct loop *l = loop_new();
	struct qo_s3 *s3;
	struct qo_err err;

	memset(&conf, 0, sizeof(conf));
	conf.endpoint = endpoints[_i].endpoint;
	conf.region = "us-east-1";
	conf.allow_http = endpoints[_i].allow_http;
	conf.max_connections = 1;
	qo_err_reset(&err);
	s3 = qo_s3_new(l, &conf, &err);
	ck_assert_msg((s3 == NULL) == (endpoints[_i].says != NULL), "%s: %s",
	    endpoints[_i].endpoint, err.msg);
	if (s3 == NULL)
		ck_assert_msg(strstr(err.msg, endpoints[_i].says) != NULL, "%s",
		    err.msg);
	qo_s3_free(s3);
	loop_free(l);
}
END_TEST

START_TEST(test_loopback_is_not_a_prefix)
{
	struct qo_s3_conf conf;
	struct loop *l = loop_new();
	struct qo_err err;

	memset(&conf, 0, sizeof(conf));
	conf.region = "us-east-1";
	conf.max_connections = 1;
	conf.endpoint = "http://127.evil.example.org";
	ck_assert_ptr_null(qo_s3_new(l, &conf, &err));
	conf.endpoint = "http://localhost.example.org";
	ck_assert_ptr_null(qo_s3_new(l, &conf, &err));
	conf.endpoint = "http://[::1].example.org";
	ck_assert_ptr_null(qo_s3_new(l, &conf, &err));
	loop_free(l);
}
END_TEST

START_TEST(test_unix_socket)
{
	struct script_step step = answer("200 OK", ETAG, "");
	char dir[] = "/tmp/qo-test.XXXXXX", path[64];
	struct scripted *server;
	struct qo_s3_conf conf;
	struct qo_s3_req r;
	struct loop *l = loop_new();
	struct qo_s3 *s3;
	struct qo_err err;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s3", dir);
	server = scripted_start(&step, 1, path);
	memset(&conf, 0, sizeof(conf));
	conf.endpoint = "http://localhost";
	conf.region = "us-east-1";
	conf.path_style = true;
	conf.access_key = conf.secret_key = "k";
	conf.unix_socket = path;
	conf.max_connections = 4;
	conf.request_timeout_ms = 10000;
	s3 = qo_s3_new(l, &conf, &err);
	ck_assert_ptr_nonnull(s3);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
	qo_s3_free(s3);
	scripted_stop(server);
	loop_free(l);
	unlink(path);
	rmdir(dir);
}
END_TEST

START_TEST(test_names)
{
	int i;

	for (i = 0; i < QO_S3_OPS; i++)
		ck_assert_ptr_nonnull(qo_s3_op_name((enum qo_s3_op)i));
	for (i = 0; i < QO_S3_OUTCOMES; i++)
		ck_assert_ptr_nonnull(qo_s3_outcome_name((enum qo_s3_outcome)
			i));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("s3");
	TCase *tc = tcase_create("s3");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_get);
	tcase_add_test(tc, test_put);
	tcase_add_test(tc, test_put_empty);
	tcase_add_loop_test(tc, test_status, 0, (int)nitems(statuses));
	tcase_add_loop_test(tc, test_evil, 0, (int)nitems(evils));
	tcase_add_test(tc, test_range);
	tcase_add_test(tc, test_etag_without_quotes);
	tcase_add_test(tc, test_if_match_forms);
	tcase_add_test(tc, test_not_modified);
	tcase_add_test(tc, test_list);
	tcase_add_test(tc, test_list_arguments);
	tcase_add_test(tc, test_retry_then_ok);
	tcase_add_test(tc, test_no_retry_of_definite);
	tcase_add_test(tc, test_deadline);
	tcase_add_test(tc, test_retry_after);
	tcase_add_test(tc, test_budget);
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
	tcase_add_test(tc, test_virtual_host);
	tcase_add_test(tc, test_presign_limits);
	tcase_add_loop_test(tc, test_endpoints, 0, (int)nitems(endpoints));
	tcase_add_test(tc, test_loopback_is_not_a_prefix);
	tcase_add_test(tc, test_unix_socket);
	tcase_add_test(tc, test_names);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
