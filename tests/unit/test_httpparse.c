#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "buf.h"
#include "httpparse.h"
#include "http_cases.h"
#include "run_suite.h"
#include "xalloc.h"

#define HEAD_MAX 2048
#define URI_MAX  512

static struct httpparse hp;
static char *head;      /* what hp's offsets mean */
static struct buf body; /* of the last request judged */

static void
setup(void)
{
	buf_init(&body, 65536);
}

static void
teardown(void)
{
	buf_fini(&body);
	free(head);
	head = NULL;
}

static int
judge_chunked(const char *p, size_t len, size_t step, size_t *rest)
{
	struct httpchunk d;
	const char *data = NULL;
	size_t avail = 0, pos = 0, used, n = 0;

	httpchunk_init(&d);
	while (avail < len) {
		avail = step > len - avail ? len : avail + step;
		for (;;) {
			switch (httpchunk_next(&d, p + pos, avail - pos, &used,
			    &data, &n)) {
			case HTTPPARSE_DATA:
				pos += used;
				buf_add(&body, data, n);
				continue;
			case HTTPPARSE_DONE:
				*rest = len - pos - used;
				return 200;
			case HTTPPARSE_BAD:
				ck_assert_ptr_nonnull(d.reason);
				return 400;
			case HTTPPARSE_MORE:
				ck_assert_uint_eq(used, avail - pos);
				pos = avail;
				break;
			}
			break;
		}
	}
	return 0;
}

/* Feeds the first cut bytes, then steps.  The status: 200 when the request is
 * complete, 0 when not yet, else what is wrong; *rest is what follows it. */
static int
judge(const char *bytes, size_t len, size_t cut, size_t step, size_t *rest)
{
	enum httpparse_rc rc;
	size_t avail = cut;
	char *moved;

	free(head);
	head = xmalloc(len + 1);
	memcpy(head, bytes, len);
	buf_reset(&body);
	httpparse_init(&hp, HEAD_MAX, URI_MAX);
	while ((rc = httpparse_head(&hp, head, avail)) == HTTPPARSE_MORE &&
	    avail < len) {
		/* It may move between calls. */
		moved = xmalloc(len + 1);
		memcpy(moved, head, len);
		free(head);
		head = moved;
		avail = step > len - avail ? len : avail + step;
	}
	*rest = 0;
	if (rc == HTTPPARSE_MORE)
		return 0;
	if (rc == HTTPPARSE_BAD) {
		ck_assert_ptr_nonnull(hp.reason);
		return hp.status;
	}
	if (hp.content_length == -1)
		return judge_chunked(bytes + hp.head_len, len - hp.head_len,
		    step, rest);
	if ((size_t)hp.content_length > len - hp.head_len)
		return 0;
	buf_add(&body, bytes + hp.head_len, (size_t)hp.content_length);
	*rest = len - hp.head_len - (size_t)hp.content_length;
	return 200;
}

static int
judge_whole(const char *bytes, size_t len)
{
	size_t rest;

	return judge(bytes, len, len, len, &rest);
}

static const char *
field(const char *name)
{
	size_t i;

	for (i = 0; i < hp.nfields; i++)
		if (strcmp(head + hp.fields[i].name, name) == 0)
			return head + hp.fields[i].value;
	return NULL;
}

START_TEST(test_good)
{
	const struct http_case *c = &http_good[_i];
	size_t rest;

	ck_assert_msg(judge_whole(c->bytes, c->len) == 200, "%s: %d %s",
	    c->name, hp.status, hp.reason);
	/* An incomplete one is not done and not bad. */
	ck_assert_msg(judge(c->bytes, c->len - 1, c->len - 1, 1, &rest) == 0,
	    "%s", c->name);
}
END_TEST

START_TEST(test_malformed_request_gets_its_status)
{
	const struct http_case *c = &http_bad[_i];
	int status;

	status = judge_whole(c->bytes, c->len);
	ck_assert_msg(status == c->status, "%s: %d not %d", c->name, status,
	    c->status);
}
END_TEST

static void
check_splits(const struct http_case *c)
{
	size_t cut, rest;
	int status;

	for (cut = 0; cut <= c->len; cut++) {
		status = judge(c->bytes, c->len, cut, c->len, &rest);
		ck_assert_msg(status == c->status, "%s split at %zu: %d",
		    c->name, cut, status);
	}
	status = judge(c->bytes, c->len, 0, 1, &rest);
	ck_assert_msg(status == c->status, "%s bytewise: %d", c->name, status);
}

START_TEST(test_split_at_each_byte)
{
	size_t i;

	for (i = 0; i < http_good_n; i++)
		check_splits(&http_good[i]);
	for (i = 0; i < http_bad_n; i++)
		check_splits(&http_bad[i]);
}
END_TEST

START_TEST(test_what_is_read)
{
	static const char req[] =
	    "PUT /b/a%20b?x=1?2 HTTP/1.1\r\nHost: h:1\r\n"
	    "X-Amz-Meta-A: \t b  c \t\r\nCONTENT-LENGTH: 3\r\n"
	    "Connection: foo, Close\r\nexpect: 100-continue\r\n\r\nabcGET /";
	size_t rest;

	ck_assert_int_eq(judge(req, sizeof(req) - 1, sizeof(req) - 1, 1, &rest),
	    200);
	ck_assert_uint_eq(rest, 5);
	ck_assert_str_eq(head + hp.method, "PUT");
	ck_assert_str_eq(head + hp.path, "/b/a%20b");
	ck_assert_str_eq(head + hp.query, "x=1?2");
	ck_assert_str_eq(field("host"), "h:1");
	ck_assert_str_eq(field("x-amz-meta-a"), "b  c");
	ck_assert_str_eq(body.data, "abc");
	ck_assert(hp.close && hp.expect_continue && !hp.http10);
	ck_assert_uint_eq(hp.nfields, 5);
}
END_TEST

START_TEST(test_target_forms)
{
	static const char *const rows[][3] = {
		{ "GET http://x:80/p?q HTTP/1.1\r\nHost: X:80\r\n\r\n", "/p",
		    "q" },
		{ "GET HTTP://x?q HTTP/1.1\r\nHost: x\r\n\r\n", "/", "q" },
		{ "GET http://x HTTP/1.0\r\n\r\n", "/", "" },
		{ "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "*", "" },
		{ "GET //x? HTTP/1.1\r\nHost: x\r\n\r\n", "//x", "" },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_int_eq(judge_whole(rows[i][0], strlen(rows[i][0])),
		    200);
		ck_assert_str_eq(head + hp.path, rows[i][1]);
		ck_assert_str_eq(head + hp.query, rows[i][2]);
	}
}
END_TEST

START_TEST(test_chunks_are_joined)
{
	static const char req[] =
	    "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "3\r\nabc\r\n00A\r\n0123456789\r\n0\r\nx-t: 1\r\n\r\nNEXT";
	size_t step, rest;

	for (step = 1; step < sizeof(req); step++) {
		ck_assert_int_eq(judge(req, sizeof(req) - 1, step, step, &rest),
		    200);
		ck_assert_str_eq(body.data, "abc0123456789");
		ck_assert_uint_eq(rest, 4);
	}
}
END_TEST

/* A request whose target is uri long and whose head is total long. */
static int
judge_sized(size_t uri, size_t total, bool complete, size_t step)
{
	static const char tail[] = "\r\n\r\n";
	struct buf b;
	size_t i, rest;
	int status;

	buf_init(&b, 65536);
	buf_adds(&b, "GET /");
	for (i = 1; i < uri; i++)
		buf_addc(&b, 'u');
	buf_adds(&b, " HTTP/1.1\r\nHost: x\r\na: ");
	while (b.len + sizeof(tail) - 1 < total)
		buf_addc(&b, 'v');
	if (complete)
		buf_adds(&b, tail);
	status = judge(b.data, b.len, step, step, &rest);
	buf_fini(&b);
	return status;
}

START_TEST(test_limits)
{
	static const size_t steps[] = { 1, 100, 65536 };
	size_t i, s;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		s = steps[i];
		ck_assert_int_eq(judge_sized(URI_MAX, 0, true, s), 200);
		ck_assert_int_eq(judge_sized(URI_MAX + 1, 0, true, s), 414);
		ck_assert_int_eq(judge_sized(URI_MAX + 60, 0, true, s), 414);
		ck_assert_int_eq(judge_sized(HEAD_MAX, 0, true, s), 414);
		ck_assert_int_eq(judge_sized(2, HEAD_MAX, true, s), 200);
		ck_assert_int_eq(judge_sized(2, HEAD_MAX + 1, true, s), 431);
		/* Refused as soon as it is clear, not at its end. */
		ck_assert_int_eq(judge_sized(2, HEAD_MAX + 4, false, s), 431);
	}
}
END_TEST

START_TEST(test_too_many_headers)
{
	struct buf b;
	size_t i;

	buf_init(&b, 65536);
	buf_adds(&b, "GET / HTTP/1.1\r\nHost: x\r\n");
	for (i = 1; i < HTTPPARSE_FIELDS; i++)
		buf_adds(&b, "a:\r\n");
	buf_adds(&b, "\r\n");
	ck_assert_int_eq(judge_whole(b.data, b.len), 200);
	buf_truncate(&b, b.len - 2);
	buf_adds(&b, "a:\r\n\r\n");
	ck_assert_int_eq(judge_whole(b.data, b.len), 431);
	buf_fini(&b);
}
END_TEST

START_TEST(test_trailers_are_bounded)
{
	struct httpchunk d;
	const char *data;
	size_t i, used, n;
	enum httpparse_rc rc;

	httpchunk_init(&d);
	rc = httpchunk_next(&d, "0\r\n", 3, &used, &data, &n);
	for (i = 0; i < 10000 && rc == HTTPPARSE_MORE; i++)
		rc = httpchunk_next(&d, "a:\r\n", 4, &used, &data, &n);
	ck_assert_int_eq(rc, HTTPPARSE_BAD);
	ck_assert_uint_lt(i, 3000);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("httpparse");
	TCase *tc = tcase_create("httpparse");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_good, 0, (int)http_good_n);
	tcase_add_loop_test(tc, test_malformed_request_gets_its_status, 0,
	    (int)http_bad_n);
	tcase_add_test(tc, test_split_at_each_byte);
	tcase_add_test(tc, test_what_is_read);
	tcase_add_test(tc, test_target_forms);
	tcase_add_test(tc, test_chunks_are_joined);
	tcase_add_test(tc, test_limits);
	tcase_add_test(tc, test_too_many_headers);
	tcase_add_test(tc, test_trailers_are_bounded);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
