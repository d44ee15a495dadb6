/*
 * What users write: tags and the lines of a batch.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "rfc3339.h"
#include "run_suite.h"
#include "tags.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static const struct conf_submit conf = { .timeout_ms = 120000,
	.retries = 7,
	.retry_kind = CONF_RETRY_LINEAR,
	.retry_initial_interval_ms = 2000,
	.retry_max_interval_ms = 9000,
	.retry_multiplier = 3,
	.retry_jitter = 0.5,
	.max_inflight = 64 };

static const struct qo_wall now = { INT64_C(1769601600000000) };

/* Tags */

START_TEST(test_tags)
{
	const char *const texts[] = { "a=1", "b==x \"y\"", "c=" };
	const char *const twice[] = { "a=1", "ab=2", "a=3" };
	struct qo_json json;
	struct qo_err err;
	struct buf b;

	buf_init(&b, 1024);
	ck_assert_int_eq(qo_tags_build(&b, texts, nitems(texts), &err), 0);
	ck_assert_str_eq(b.data,
	    "{\"a\":\"1\",\"b\":\"=x \\\"y\\\"\",\"c\":\"\"}");
	json = (struct qo_json){ b.data, b.len };
	ck_assert_int_eq(qo_tags_check(&json, &err), 0);
	ck_assert(qo_tags_match(&json, "a", "1"));
	ck_assert(qo_tags_match(&json, "b", "=x \"y\""));
	ck_assert(qo_tags_match(&json, "c", ""));
	ck_assert(!qo_tags_match(&json, "a", "12"));
	ck_assert(!qo_tags_match(&json, "d", ""));
	buf_reset(&b);
	ck_assert_int_eq(qo_tags_build(&b, twice, nitems(twice), &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "twice"));
	buf_fini(&b);
	json = (struct qo_json){ NULL, 0 };
	ck_assert(!qo_tags_match(&json, "a", "1"));
}
END_TEST

START_TEST(test_tags_foreign)
{
	static const char text[] =
	    "{\"n\":12.50,\"t\":true,\"z\":null,\"o\":{}}";
	struct qo_json json = { text, sizeof(text) - 1 };
	struct qo_err err;

	ck_assert_int_eq(qo_tags_check(&json, &err), -1);
	ck_assert(qo_tags_match(&json, "n", "12.50"));
	ck_assert(!qo_tags_match(&json, "n", "12.5"));
	ck_assert(qo_tags_match(&json, "t", "true"));
	ck_assert(qo_tags_match(&json, "z", "null"));
	ck_assert(!qo_tags_match(&json, "o", "{}"));
}
END_TEST

static const char *const bad_tags[] = { "", "x", "=v", "a\nb=1", "a\xff=1",
	"a=\xff" };

START_TEST(test_tags_bad)
{
	const char *const one[] = { bad_tags[_i] };
	struct qo_err err = { 0 };
	struct buf b;

	buf_init(&b, 1024);
	ck_assert_int_eq(qo_tags_build(&b, one, 1, &err), -1);
	ck_assert_str_ne(err.msg, "");
	buf_fini(&b);
}
END_TEST

/* Lines */

static void
decode(struct qo_draft *d, const char *line)
{
	struct qo_err err = { 0 };

	ck_assert_msg(qo_draft_decode(d, line, strlen(line), &err) == 0,
	    "%s: %s", line, err.msg);
}

START_TEST(test_line)
{
	struct qo_submission sub;
	struct qo_draft d;
	struct qo_err err;

	decode(&d,
	    "{ \"type\": \"a.b\", \"input\": { \"n\": 1.50, \"m\": 1e400 },"
	    "\"timeout\":\"2m\",\"retries\":0,\"delay\":90,\"expires\":\"1h\","
	    "\"key\":\"k\",\"tags\":{\"x\": \"y\"},\"priority\":\"low\"}");
	ck_assert_int_eq(qo_draft_submission(&d, &conf, now, &sub, &err), 0);
	ck_assert_str_eq(sub.task_type, "a.b");
	ck_assert_uint_eq(sub.input.len, 20);
	ck_assert_int_eq(memcmp(sub.input.p, "{\"n\":1.50,\"m\":1e400}", 20),
	    0);
	ck_assert_int_eq(sub.timeout_seconds, 120);
	ck_assert_int_eq(sub.max_retries, 0);
	ck_assert_int_eq(sub.delay_ms, 90000);
	ck_assert_int_eq(sub.expires_ms, 3600000);
	ck_assert_str_eq(sub.idempotency_key, "k");
	ck_assert_int_eq(memcmp(sub.tags.p, "{\"x\":\"y\"}", 9), 0);
	ck_assert_int_eq(sub.priority, QO_PRIORITY_LOW);
	qo_draft_fini(&d);
}
END_TEST

START_TEST(test_line_defaults)
{
	struct qo_submission sub;
	struct qo_draft base, d;
	struct qo_err err;

	qo_draft_init(&base);
	base.type = "base";
	base.delay_ms = 5000;
	base.priority = QO_PRIORITY_HIGH;
	decode(&d, "{\"retries\":null}");
	qo_draft_default(&d, &base);
	ck_assert_int_eq(qo_draft_submission(&d, &conf, now, &sub, &err), 0);
	ck_assert_str_eq(sub.task_type, "base");
	ck_assert_ptr_null(sub.input.p);
	ck_assert_int_eq(sub.timeout_seconds, 120);
	ck_assert_int_eq(sub.max_retries, 7);
	ck_assert_int_eq(sub.retry_policy.kind, QO_RETRY_LINEAR);
	ck_assert_int_eq(sub.retry_policy.max_interval_ms, 9000);
	ck_assert_int_eq(sub.delay_ms, 5000);
	ck_assert_int_eq(sub.priority, QO_PRIORITY_HIGH);
	qo_draft_fini(&d);
	/* A time of its own outranks the other's delay. */
	decode(&d, "{\"at\":\"2026-01-28T12:00:01Z\"}");
	qo_draft_default(&d, &base);
	ck_assert_int_eq(qo_draft_submission(&d, &conf, now, &sub, &err), 0);
	ck_assert_int_eq(sub.available_at.us, now.us + 1000000);
	qo_draft_fini(&d);
}
END_TEST

static const struct {
	const char *line, *says;
} bad_lines[] = {
	{ "", "" },
	{ "7", "" },
	{ "[]", "" },
	{ "{\"type\":\"a\"", "" },
	{ "{\"type\":\"a\"} x", "" },
	{ "{\"type\":\"a\",\"type\":\"b\"}", "twice" },
	{ "{\"type\":\"a\",\"input\":{\"x\":1,\"x\":2}}", "twice" },
	{ "{\"type\":5}", "type" },
	{ "{\"type\":\"a\",\"prio\":\"high\"}", "prio" },
	{ "{\"type\":\"a\",\"priority\":\"urgent\"}", "high, normal, low" },
	{ "{\"type\":\"a\",\"priority\":1}", "priority" },
	{ "{\"type\":\"a\",\"timeout\":\"-5s\"}", "timeout" },
	{ "{\"type\":\"a\",\"timeout\":-5}", "timeout" },
	{ "{\"type\":\"a\",\"timeout\":1.5}", "timeout" },
	{ "{\"type\":\"a\",\"timeout\":\"31d\"}", "timeout" },
	{ "{\"type\":\"a\",\"timeout\":99999999999999999999}", "timeout" },
	{ "{\"type\":\"a\",\"timeout\":\"1500ms\"}", "whole seconds" },
	{ "{\"type\":\"a\",\"retries\":-1}", "retries" },
	{ "{\"type\":\"a\",\"retries\":1001}", "retries" },
	{ "{\"type\":\"a\",\"at\":\"now\"}", "at" },
	{ "{\"type\":\"a\",\"tags\":{\"x\":1}}", "tags" },
	{ "{\"type\":\"a\",\"tags\":[]}", "tags" },
	{ "{\"type\":\"a\",\"key\":\"x\\u0000y\"}", "key" },
};

START_TEST(test_line_bad)
{
	const char *line = bad_lines[_i].line;
	struct qo_draft d;
	struct qo_err err = { 0 };

	ck_assert_int_eq(qo_draft_decode(&d, line, strlen(line), &err), -1);
	ck_assert_str_ne(err.msg, "");
	ck_assert_msg(strstr(err.msg, bad_lines[_i].says) != NULL,
	    "%s: %s does not name %s", line, err.msg, bad_lines[_i].says);
}
END_TEST

static const struct {
	const char *line, *says;
} bad_tasks[] = {
	{ "{}", "type" },
	{ "{\"type\":\"a b\"}", "type" },
	{ "{\"type\":\"workflow.x\"}", "type" },
	{ "{\"type\":\"a\",\"key\":\"\"}", "key" },
	{ "{\"type\":\"a\",\"at\":\"2026-01-28T11:59:59Z\"}", "at: " },
	{ "{\"type\":\"a\",\"at\":\"2026-01-28T13:00:00Z\",\"delay\":\"1s\"}",
	    "at and delay" },
	{ "{\"type\":\"a\",\"delay\":\"1h\",\"expires\":\"1h\"}", "expires" },
	{ "{\"type\":\"a\",\"at\":\"2026-01-28T13:00:00Z\",\"expires\":60}",
	    "expires" },
	{ "{\"type\":\"a\",\"expires\":0}", "expires" },
};

START_TEST(test_task_bad)
{
	struct qo_submission sub;
	struct qo_draft d;
	struct qo_err err = { 0 };

	decode(&d, bad_tasks[_i].line);
	ck_assert_int_eq(qo_draft_submission(&d, &conf, now, &sub, &err), -1);
	ck_assert_msg(strstr(err.msg, bad_tasks[_i].says) != NULL,
	    "%s: %s does not name %s", bad_tasks[_i].line, err.msg,
	    bad_tasks[_i].says);
	qo_draft_fini(&d);
}
END_TEST

/* 64 levels of input are allowed, 65 are not; the line is one more. */
START_TEST(test_depth)
{
	struct qo_draft d;
	struct qo_err err;
	struct buf b;
	int depth, i;

	buf_init(&b, 4096);
	for (depth = QO_JSON_DEPTH; depth <= QO_JSON_DEPTH + 1; depth++) {
		buf_reset(&b);
		buf_adds(&b, "{\"type\":\"a\",\"input\":");
		for (i = 0; i < depth; i++)
			buf_addc(&b, '[');
		for (i = 0; i < depth; i++)
			buf_addc(&b, ']');
		buf_addc(&b, '}');
		ck_assert_int_eq(qo_draft_decode(&d, b.data, b.len, &err),
		    depth == QO_JSON_DEPTH ? 0 : -1);
		if (depth == QO_JSON_DEPTH)
			qo_draft_fini(&d);
	}
	buf_fini(&b);
}
END_TEST

START_TEST(test_traceparent)
{
	ck_assert(qo_draft_traceparent_valid(
	    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
	ck_assert(!qo_draft_traceparent_valid(""));
	ck_assert(!qo_draft_traceparent_valid(
	    "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
	ck_assert(!qo_draft_traceparent_valid(
	    "00-00000000000000000000000000000000-b7ad6b7169203331-01"));
	ck_assert(!qo_draft_traceparent_valid(
	    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"));
	ck_assert(!qo_draft_traceparent_valid(
	    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x"));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("draft");
	TCase *tc = tcase_create("draft");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, test_tags);
	tcase_add_test(tc, test_tags_foreign);
	tcase_add_loop_test(tc, test_tags_bad, 0, nitems(bad_tags));
	tcase_add_test(tc, test_line);
	tcase_add_test(tc, test_line_defaults);
	tcase_add_loop_test(tc, test_line_bad, 0, nitems(bad_lines));
	tcase_add_loop_test(tc, test_task_bad, 0, nitems(bad_tasks));
	tcase_add_test(tc, test_depth);
	tcase_add_test(tc, test_traceparent);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
