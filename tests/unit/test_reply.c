#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "reply.h"
#include "run_suite.h"

#define MAX ((size_t)1 << 20)

static struct reply r;
static struct qo_err err;

static int
parse(const char *text)
{
	qo_err_reset(&err);
	return reply_parse(&r, text, strlen(text), MAX, &err);
}

START_TEST(test_statuses)
{
	static const char *const names[] = { "completed", "retry", "failed",
		"reschedule", "cancelled", "wait_signal", "wait_tasks" };
	char text[64];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text), "{\"status\":\"%s\"}", names[i]);
		ck_assert_int_eq(parse(text), 0);
		ck_assert_uint_eq(r.kind, i);
		ck_assert_str_eq(reply_name(r.kind), names[i]);
		ck_assert_ptr_null(r.value.p);
		ck_assert_ptr_null(r.text);
		ck_assert_int_eq(r.delay_ms, -1);
		reply_fini(&r);
	}
}
END_TEST

static void
assert_value(const char *text, enum reply_kind kind, const char *value)
{
	ck_assert_msg(parse(text) == 0, "%s: %s", text, err.msg);
	ck_assert_int_eq(r.kind, kind);
	ck_assert_ptr_nonnull(r.value.p);
	ck_assert_uint_eq(r.value.len, strlen(value));
	ck_assert_mem_eq(r.value.p, value, strlen(value));
	reply_fini(&r);
}

START_TEST(test_values)
{
	assert_value("{\"status\":\"completed\",\"output\":[1, 2.50 ,1e400]}",
	    REPLY_COMPLETED, "[1, 2.50 ,1e400]");
	assert_value(
	    " { \"output\" : \"a\\u00e9\" , \"status\":\"completed\" } ",
	    REPLY_COMPLETED, "\"a\\u00e9\"");
	assert_value("{\"status\":\"completed\",\"output\":null}",
	    REPLY_COMPLETED, "null");
	assert_value("{\"progress\":{\"done\":3}}", REPLY_PROGRESS,
	    "{\"done\":3}");
	assert_value("{\"progress\":null}", REPLY_PROGRESS, "null");
	/* Unknown members are for later versions. */
	assert_value("{\"x\":{},\"status\":\"completed\",\"output\":7,\"y\":1}",
	    REPLY_COMPLETED, "7");
}
END_TEST

START_TEST(test_texts)
{
	ck_assert_int_eq(parse("{\"log\":\"a\\nb\"}"), 0);
	ck_assert_int_eq(r.kind, REPLY_LOG);
	ck_assert_uint_eq(r.text_len, 3);
	ck_assert_mem_eq(r.text, "a\nb", 3);
	reply_fini(&r);
	ck_assert_int_eq(parse("{\"status\":\"failed\",\"error\":\"no\"}"), 0);
	ck_assert_str_eq(r.text, "no");
	reply_fini(&r);
	ck_assert_int_eq(parse("{\"status\":\"failed\",\"error\":null,"
			       "\"delay_seconds\":null,\"ids\":null,"
			       "\"signal\":null,\"timeout_seconds\":null}"),
	    0);
	ck_assert_ptr_null(r.text);
	reply_fini(&r);
}
END_TEST

START_TEST(test_delays)
{
	static const struct {
		const char *text;
		int64_t ms; /* -2: refused */
	} cases[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "0.0004", 0 },
		{ "0.0005", 1 },
		{ "1", 1000 },
		{ "1.5e1", 15000 },
		{ "315360000", INT64_C(315360000000) },
		{ "315360000.1", -2 },
		{ "-0.001", -2 },
		{ "1e400", -2 },
		{ "-1e400", -2 },
		{ "\"1\"", -2 },
		{ "true", -2 },
		{ "[]", -2 },
	};
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text),
		    "{\"status\":\"reschedule\",\"delay_seconds\":%s}",
		    cases[i].text);
		if (cases[i].ms == -2) {
			ck_assert_msg(parse(text) == -1, "%s", text);
			ck_assert_ptr_nonnull(strstr(err.msg,
			    "delay_seconds is not a number"));
			continue;
		}
		ck_assert_msg(parse(text) == 0, "%s: %s", text, err.msg);
		ck_assert_int_eq(r.delay_ms, cases[i].ms);
		reply_fini(&r);
	}
}
END_TEST

START_TEST(test_refused)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "invalid JSON" },
		{ "x", "invalid JSON" },
		{ "null", "not a JSON object" },
		{ "[{\"status\":\"completed\"}]", "not a JSON object" },
		{ "{}", "no status" },
		{ "{\"status\":null}", "no status" },
		{ "{\"status\":\"complete\"}", "none of completed" },
		{ "{\"status\":\"completed \"}", "none of completed" },
		{ "{\"status\":\"progress\"}", "none of completed" },
		{ "{\"status\":\"\"}", "none of completed" },
		{ "{\"status\":\"completed\\u0000\"}", "none of completed" },
		{ "{\"status\":[]}", "status is not a string" },
		{ "{\"status\":\"failed\",\"status\":\"completed\"}",
		    "same key twice" },
		{ "{\"status\":\"completed\",\"output\":{\"a\":1,\"a\":2}}",
		    "same key twice" },
		{ "{\"status\":\"completed\"} {\"status\":\"completed\"}",
		    "invalid JSON" },
		{ "{\"status\":\"completed\",\"progress\":1}",
		    "more than one of" },
		{ "{\"log\":\"x\",\"progress\":null}", "more than one of" },
		{ "{\"log\":1}", "log is not a string" },
		{ "{\"status\":\"failed\",\"error\":1}",
		    "error is not a string" },
		{ "{\"status\":\"wait_signal\",\"signal\":1}",
		    "signal is not a string" },
		{ "{\"status\":\"wait_signal\",\"timeout_seconds\":-1}",
		    "timeout_seconds is not a number" },
		{ "{\"status\":\"wait_tasks\",\"ids\":\"x\"}",
		    "ids is not an array" },
		{ "{\"status\":\"wait_tasks\",\"ids\":[\"x\",1]}",
		    "ids is not an array" },
		{ "{\"status\":\"wait_tasks\",\"ids\":{}}",
		    "ids is not an array" },
		{ "{\"status\":\"completed\",\"output\":\"\355\240\200\"}",
		    "invalid JSON" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_msg(parse(cases[i].text) == -1, "%s", cases[i].text);
		ck_assert_msg(strstr(err.msg, cases[i].why) != NULL, "%s: %s",
		    cases[i].text, err.msg);
	}
}
END_TEST

/* depth brackets around nothing, with that in front and behind */
static char *
nested(const char *front, unsigned depth, const char *behind)
{
	size_t n = strlen(front);
	char *s;

	s = malloc(n + 2 * depth + strlen(behind) + 1);
	ck_assert_ptr_nonnull(s);
	memcpy(s, front, n);
	memset(s + n, '[', depth);
	memset(s + n + depth, ']', depth);
	memcpy(s + n + 2 * depth, behind, strlen(behind) + 1);
	return s;
}

START_TEST(test_limits)
{
	static const struct {
		const char *front;
		unsigned depth;
		int rv;
	} cases[] = {
		{ "{\"status\":\"completed\",\"output\":", 512, 0 },
		{ "{\"status\":\"completed\",\"output\":", 513, -1 },
		{ "{\"progress\":", 64, 0 },
		{ "{\"progress\":", 65, -1 },
	};
	static const char ten[] =
	    "{\"status\":\"completed\",\"output\":\"12345678\"}";
	char *text;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text = nested(cases[i].front, cases[i].depth, "}");
		ck_assert_int_eq(parse(text), cases[i].rv);
		if (cases[i].rv == 0)
			reply_fini(&r);
		else
			ck_assert_ptr_nonnull(strstr(err.msg, "deeper than"));
		free(text);
	}
	ck_assert_int_eq(reply_parse(&r, ten, strlen(ten), 10, &err), 0);
	reply_fini(&r);
	ck_assert_int_eq(reply_parse(&r, ten, strlen(ten), 9, &err), -1);
	ck_assert_str_eq(err.msg, "an output of 10 bytes: more than 9");
	/* What is around it is limited too. */
	text = malloc(128 << 10);
	ck_assert_ptr_nonnull(text);
	memset(text, ' ', 128 << 10);
	ck_assert_int_eq(reply_parse(&r, text, 128 << 10, 10, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "more than"));
	free(text);
}
END_TEST

START_TEST(test_large_progress)
{
	char *text = malloc(REPLY_PROGRESS_MAX + 64);
	size_t n;

	ck_assert_ptr_nonnull(text);
	n = (size_t)snprintf(text, 64, "{\"progress\":\"");
	memset(text + n, 'x', REPLY_PROGRESS_MAX - 2);
	memcpy(text + n + REPLY_PROGRESS_MAX - 2, "\"}", 3);
	ck_assert_int_eq(parse(text), 0);
	reply_fini(&r);
	memcpy(text + n + REPLY_PROGRESS_MAX - 2, "x\"}", 4);
	ck_assert_int_eq(parse(text), -1);
	ck_assert_int_eq(strncmp(err.msg, "progress: ", 10), 0);
	free(text);
}
END_TEST

START_TEST(test_plain)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{ "", NULL },
		{ "\n", NULL },
		{ " \n", "\" \"" },
		{ "\n\n", "\"\\n\"" },
		{ "hi", "\"hi\"" },
		{ "hi\n", "\"hi\"" },
		{ "hi\r\n", "\"hi\\r\"" },
		{ "{\"a\" :1}\n", "{\"a\" :1}" },
		{ "\t 12 \n", "12" },
		{ "01", "\"01\"" },
		{ "{'a':1}", "\"{'a':1}\"" },
		{ "\"x\"", "\"x\"" },
		{ "\"x", "\"\\\"x\"" },
		{ "\357\273\277{}", "\"\357\273\277{}\"" },
	};
	struct qo_json out;
	struct buf b;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_init(&b, 1024);
		ck_assert_int_eq(reply_output(cases[i].text,
				     strlen(cases[i].text), &b, &out, &err),
		    0);
		if (cases[i].value == NULL) {
			ck_assert_ptr_null(out.p);
		} else {
			ck_assert_uint_eq(out.len, strlen(cases[i].value));
			ck_assert_mem_eq(out.p, cases[i].value, out.len);
		}
		buf_fini(&b);
	}
	buf_init(&b, 8);
	ck_assert_int_eq(reply_output("1234567890", 10, &b, &out, &err), 0);
	ck_assert_int_eq(reply_output("x123456789", 10, &b, &out, &err), -1);
	ck_assert_int_eq(reply_output("\300\200", 2, &b, &out, &err), -1);
	ck_assert_str_eq(err.msg, "the output is not UTF-8");
	buf_fini(&b);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("reply");
	TCase *tc = tcase_create("reply");

	tcase_add_test(tc, test_statuses);
	tcase_add_test(tc, test_values);
	tcase_add_test(tc, test_texts);
	tcase_add_test(tc, test_delays);
	tcase_add_test(tc, test_refused);
	tcase_add_test(tc, test_limits);
	tcase_add_test(tc, test_large_progress);
	tcase_add_test(tc, test_plain);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
