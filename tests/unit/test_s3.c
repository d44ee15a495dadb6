/* One request to the S3 client, and what the answer is taken for. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_suite.h"
#include "s3_fixture.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))
#define REQ_ID    "x-amz-request-id: 4442587FB7D0A2F9\r\n"
#define PAGE_HEAD                                                           \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult "      \
	"xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>qo</Name>" \
	"<Prefix></Prefix><KeyCount>1</KeyCount><MaxKeys>1000</MaxKeys>"    \
	"<EncodingType>url</EncodingType>"
#define PAGE_ENTRY                                                  \
	"<Contents><Key>ready%2F0%2Fa+b%2B</Key>"                   \
	"<LastModified>2026-01-28T12:00:00.123Z</LastModified>"     \
	"<ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag>" \
	"<Size>0</Size><StorageClass>STANDARD</StorageClass></Contents>"
#define LIST_DOC                                                \
	PAGE_HEAD "<IsTruncated>false</IsTruncated>" PAGE_ENTRY \
		  "</ListBucketResult>"

static struct fixture fx;

START_TEST(test_get)
{
	struct qo_s3_req r = fixture_ask(&fx, QO_S3_GET,
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
	fixture_done(&fx, &r);
}
END_TEST

START_TEST(test_put)
{
	struct qo_s3_req r = fixture_ask(&fx, QO_S3_PUT,
	    answer("200 OK", ETAG, ""), 0);
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
	fixture_done(&fx, &r);
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
	fixture_done(&fx, &r);
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
	r = fixture_ask(&fx, statuses[_i].op,
	    answer(statuses[_i].status, REQ_ID, body), 1);
	ck_assert_int_eq(r.res.outcome, statuses[_i].outcome);
	ck_assert_int_eq(r.res.maybe_applied, statuses[_i].maybe);
	ck_assert_str_eq(r.res.err.s3_code, statuses[_i].code);
	ck_assert_str_eq(r.res.err.request_id, "4442587FB7D0A2F9");
	ck_assert_ptr_nonnull(strstr(r.res.err.msg, "what is wrong"));
	ck_assert_ptr_nonnull(strstr(r.res.err.msg, "qo/tasks/0/a b+c"));
	fixture_done(&fx, &r);
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
	r = fixture_ask(&fx, evils[_i].op, step, 1);
	ck_assert_msg(r.res.outcome == evils[_i].outcome, "%s: %s (%s)",
	    evils[_i].name, qo_s3_outcome_name(r.res.outcome), r.res.err.msg);
	ck_assert_msg(r.res.maybe_applied == evils[_i].maybe, "%s: maybe %d",
	    evils[_i].name, r.res.maybe_applied);
	ck_assert_msg(r.res.err.msg[0] != '\0', "%s", evils[_i].name);
	if (evils[_i].says != NULL)
		ck_assert_msg(strstr(r.res.err.msg, evils[_i].says) != NULL,
		    "%s: %s", evils[_i].name, r.res.err.msg);
	fixture_done(&fx, &r);
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
	fixture_done(&fx, &r);
}
END_TEST

START_TEST(test_etag_without_quotes)
{
	struct qo_s3_req r = fixture_ask(&fx, QO_S3_GET,
	    answer("200 OK", "ETag: 9b2cf535f27731c974343645a3985328\r\n",
		"{}"),
	    1);

	ck_assert_int_eq(r.res.outcome, QO_S3_OK);
	ck_assert_str_eq(r.res.etag, "9b2cf535f27731c974343645a3985328");
	fixture_done(&fx, &r);
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
	fixture_done(&fx, &r);
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
	fixture_done(&fx, &r);
}
END_TEST

START_TEST(test_list)
{
	struct qo_s3_req r = fixture_ask(&fx, QO_S3_LIST,
	    answer("200 OK", "x-qo-seq: 77\r\n", LIST_DOC), 1);

	ck_assert_msg(r.res.outcome == QO_S3_OK, "%s", r.res.err.msg);
	ck_assert_uint_eq(r.res.list->n, 1);
	ck_assert_str_eq(r.res.list->entries[0].key, "ready/0/a b+");
	ck_assert_int_eq(r.res.seq, 77);
	ck_assert_ptr_nonnull(strstr(scripted_request(fx.server, 0),
	    "GET /qo?encoding-type=url&list-type=2 HTTP/1.1"));
	fixture_done(&fx, &r);
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
	fixture_done(&fx, &r);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("s3");
	TCase *tc = tcase_create("s3");

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
	suite_add_tcase(s, tc);
	return run_suite(s);
}
