#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io.h"
#include "json.h"
#include "json_doc.h"
#include "run_suite.h"

static const struct qo_json_limits generic = { 1 << 20, QO_JSON_DEPTH_OUTPUT,
	false };
static const struct qo_json_limits strict = { 1 << 20, QO_JSON_DEPTH, true };

static void
ck_refused(const char *text, size_t len, const struct qo_json_limits *limits,
    const char *want)
{
	struct qo_err err;

	qo_err_reset(&err);
	ck_assert_msg(qo_json_check(text, len, limits, &err) == -1, "%.40s",
	    text);
	ck_assert_msg(strstr(err.msg, want) != NULL, "\"%s\", not \"%s\"",
	    err.msg, want);
}

static void
ck_compact(const char *text, const char *want)
{
	struct qo_err err;
	struct buf b;

	buf_init(&b, 1 << 20);
	qo_err_reset(&err);
	ck_assert_msg(qo_json_compact(text, strlen(text), &strict, &b, &err) ==
		0,
	    "%s", err.msg);
	ck_assert_str_eq(b.data, want);
	buf_fini(&b);
}

START_TEST(test_compact)
{
	ck_compact(" { \"b\" : [ 1 , 2 ] ,\r\n\t\"a\" : null } \n",
	    "{\"b\":[1,2],\"a\":null}");
	/* Numbers and strings stay as they were written. */
	ck_compact("[1.0,1E+2,-0,12345678901234567890123,1e999,0.10]",
	    "[1.0,1E+2,-0,12345678901234567890123,1e999,0.10]");
	ck_compact("[ \" a \\\" b \\\\\" , \"\\u00e9\\/\" ]",
	    "[\" a \\\" b \\\\\",\"\\u00e9\\/\"]");
	ck_compact("  7  ", "7");
	ck_compact("\"\"", "\"\"");
	ck_compact("{}", "{}");
}
END_TEST

START_TEST(test_compact_no_room)
{
	struct qo_err err;
	struct buf b;

	buf_init(&b, 5);
	ck_assert_int_eq(qo_json_compact("[1,2,3]", 7, &strict, &b, &err), -1);
	buf_fini(&b);
}
END_TEST

START_TEST(test_position)
{
	ck_refused("{\n  \"a\": tru\n}", 15, &generic, "line 2 column 8");
	ck_refused("", 0, &generic, "invalid JSON");
	ck_refused("[1] x", 5, &generic, "byte 4");
	ck_refused("\xef\xbb\xbf[]", 5, &generic, "invalid JSON");
	ck_refused("[\"a\0b\"]", 7, &generic, "byte 3");
	ck_refused("[\"\xff\"]", 5, &generic, "byte 2");
	ck_refused("[\"\\ud800\"]", 10, &generic, "invalid JSON");
	ck_refused("[1]\0", 4, &generic, "byte 3");
}
END_TEST

START_TEST(test_depth)
{
	char text[2 * QO_JSON_DEPTH_MAX + 8];
	struct qo_json_limits l = strict;
	size_t n;

	for (n = 1; n <= QO_JSON_DEPTH_MAX + 2; n++) {
		memset(text, '[', n);
		memset(text + n, ']', n);
		l.max_depth = (unsigned)n;
		if (n <= QO_JSON_DEPTH_MAX)
			ck_assert_int_eq(qo_json_check(text, 2 * n, &l, NULL),
			    0);
		else
			ck_refused(text, 2 * n, &l, "nested deeper");
		l.max_depth = (unsigned)n - 1;
		ck_refused(text, 2 * n, &l, "nested deeper");
	}
	/* Wide is not deep, and the message tells where. */
	l.max_depth = 2;
	ck_assert_int_eq(qo_json_check("[[],[],{},{\"a\":1}]", 18, &l, NULL),
	    0);
	ck_refused("[[],[\"[[[\"],\n[ [] ]]", 20, &l, "line 2 column 3");
}
END_TEST

START_TEST(test_double_keys)
{
	ck_assert_int_eq(qo_json_check("{\"a\":1,\"a\":2}", 13, &generic, NULL),
	    0);
	ck_refused("{\"a\":1,\"a\":2}", 13, &strict, "byte 7");
	ck_refused("{\"a\":1,\"\\u0061\":2}", 18, &strict, "same key twice");
	ck_refused("[{\"b\":{\"\":1,\"x\":2,\"\":3}}]", 25, &strict, "byte 18");
	/* The same key in two objects is fine. */
	ck_assert_int_eq(qo_json_check("[{\"a\":1},{\"a\":{\"a\":2}}]", 23,
			     &strict, NULL),
	    0);
}
END_TEST

/* Small, middle and large objects are searched in three ways. */
START_TEST(test_double_keys_any_size)
{
	static const size_t sizes[] = { 2, 3, 8, 9, 10, 100, 256, 257, 5000 };
	size_t n = sizes[_i], i, at;
	struct buf b;

	buf_init(&b, 1 << 20);
	for (at = 0; at < 2; at++) {
		buf_reset(&b);
		buf_addc(&b, '{');
		for (i = 0; i < n; i++)
			buf_addf(&b, "%s\"key%zu\":%zu", i > 0 ? "," : "",
			    at == 1 && i == n - 1 ? n / 2 - 1 : i, i);
		buf_addc(&b, '}');
		ck_assert_int_eq(qo_json_check(b.data, b.len, &strict, NULL),
		    at == 1 ? -1 : 0);
	}
	buf_fini(&b);
}
END_TEST

START_TEST(test_size)
{
	struct qo_json_limits l = strict;

	l.max_len = 4;
	ck_assert_int_eq(qo_json_check("1234", 4, &l, NULL), 0);
	ck_refused("12345", 5, &l, "more than 4");
}
END_TEST

/* Nothing recurses: a deep text costs time in proportion, not the stack. */
START_TEST(test_deep_bombs)
{
	struct timespec a, b;
	size_t n = 100000;
	char *text = malloc(2 * n);
	struct qo_json_limits l = strict;
	double ms;

	ck_assert_ptr_nonnull(text);
	memset(text, '[', n);
	memset(text + n, ']', n);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	ck_refused(text, n, &l, "invalid JSON");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	ms = (double)(b.tv_sec - a.tv_sec) * 1e3 +
	    (double)(b.tv_nsec - a.tv_nsec) / 1e6;
	printf("json: 100,000 opening brackets refused in %.2f ms\n", ms);
	ck_refused(text, 2 * n, &l, "nested deeper");
	free(text);
}
END_TEST

START_TEST(test_add_string)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
	} cases[] = {
		{ "", 0, "\"\"" },
		{ "plain text", 10, "\"plain text\"" },
		{ "a\"b\\c", 5, "\"a\\\"b\\\\c\"" },
		{ "\b\f\n\r\t\x01\x1f\x7f", 8,
		    "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"" },
		{ "a\0b", 3, "\"a\\u0000b\"" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
		    "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
		{ "a\xff"
		  "b\xc3",
		    4,
		    "\"a\xef\xbf\xbd"
		    "b\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", 3,
		    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		/* The bytes behind the length do not count. */
		{ "\xe2\x82\xac", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
	};
	struct buf b;
	size_t i;

	buf_init(&b, 4096);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_reset(&b);
		ck_assert_int_eq(qo_json_add_string(&b, cases[i].in,
				     cases[i].len),
		    0);
		ck_assert_str_eq(b.data, cases[i].out);
		ck_assert_int_eq(qo_json_check(b.data, b.len, &strict, NULL),
		    0);
	}
	buf_fini(&b);
	buf_init(&b, 4);
	ck_assert_int_eq(qo_json_add_string(&b, "abc", 3), -1);
	ck_assert_int_eq(qo_json_add_string(&b, "\n", 1), -1);
	buf_fini(&b);
}
END_TEST

START_TEST(test_add_numbers)
{
	static const struct {
		int64_t v;
		const char *out;
	} ints[] = { { 0, "0" }, { 7, "7" }, { -1, "-1" },
		{ INT64_MAX, "9223372036854775807" },
		{ INT64_MIN, "-9223372036854775808" } };
	static const struct {
		double v;
		const char *out;
	} doubles[] = { { 2.0, "2.0" }, { 0.25, "0.25" }, { 0.1, "0.1" },
		{ 0.0, "0.0" }, { 1e300, "1e+300" }, { -1.5, "-1.5" },
		{ 0.1 + 0.2, "0.30000000000000004" } };
	struct buf b;
	size_t i;

	buf_init(&b, 100);
	for (i = 0; i < sizeof(ints) / sizeof(ints[0]); i++) {
		buf_reset(&b);
		qo_json_add_int(&b, ints[i].v);
		ck_assert_str_eq(b.data, ints[i].out);
	}
	for (i = 0; i < sizeof(doubles) / sizeof(doubles[0]); i++) {
		buf_reset(&b);
		qo_json_add_double(&b, doubles[i].v);
		ck_assert_str_eq(b.data, doubles[i].out);
	}
	buf_fini(&b);
}
END_TEST

START_TEST(test_get_int)
{
	static const struct {
		const char *text;
		int rc;
		int64_t v;
	} cases[] = {
		{ "0", 0, 0 },
		{ "-0", 0, 0 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "9223372036854775808", -1, 0 },
		{ "-9223372036854775809", -1, 0 },
		{ "99999999999999999999999999", -1, 0 },
		{ "1.0", -1, 0 },
		{ "1e2", -1, 0 },
		{ "\"1\"", -1, 0 },
		{ "true", -1, 0 },
		{ "null", -1, 0 },
		{ "[1]", -1, 0 },
	};
	yyjson_doc *doc;
	int64_t v;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		doc = qo_json_doc_read(cases[i].text, strlen(cases[i].text),
		    &strict, QO_JSON_DOC_ALL, NULL);
		ck_assert_ptr_nonnull(doc);
		v = 0;
		ck_assert_int_eq(qo_json_get_int(doc->root, INT64_MIN,
				     INT64_MAX, &v),
		    cases[i].rc);
		ck_assert_int_eq(v, cases[i].v);
		yyjson_doc_free(doc);
	}
	doc = qo_json_doc_read("7", 1, &strict, QO_JSON_DOC_ALL, NULL);
	ck_assert_int_eq(qo_json_get_int(doc->root, 0, 6, &v), -1);
	ck_assert_int_eq(qo_json_get_int(doc->root, 8, 9, &v), -1);
	ck_assert_int_eq(qo_json_get_int(doc->root, 7, 7, &v), 0);
	yyjson_doc_free(doc);
}
END_TEST

/* Suites of others, read from the folder beside the checkout. */

/* Files seen so far. */
static int yes, no, either, either_yes;

typedef void suite_fn(const char *name, const char *text, size_t len);

/* Calls fn for each *.json; false when there is no such folder. */
static bool
each_file(const char *folder, suite_fn *fn)
{
	const char *shared = getenv("QO_SHARED");
	char dir[512], path[1024];
	struct dirent *de;
	struct qo_err err;
	struct buf b;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/json-suites/%s",
	    shared != NULL ? shared : "../shared", folder);
	d = opendir(dir);
	if (d == NULL) {
		printf("json: suite %s could not be read\n", dir);
		return false;
	}
	yes = no = either = either_yes = 0;
	buf_init(&b, 1 << 20);
	while ((de = readdir(d)) != NULL) {
		if (strstr(de->d_name, ".json") == NULL)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, de->d_name);
		buf_reset(&b);
		ck_assert_int_eq(io_read_file(path, &b, &err), 0);
		fn(de->d_name, b.data, b.len);
	}
	buf_fini(&b);
	closedir(d);
	return true;
}

static void
one_parsing(const char *name, const char *text, size_t len)
{
	int rc = qo_json_check(text, len, &generic, NULL);
	struct buf b;

	if (name[0] == 'y') {
		ck_assert_msg(rc == 0, "%s must be accepted", name);
		yes++;
	} else if (name[0] == 'n') {
		ck_assert_msg(rc == -1, "%s must be refused", name);
		no++;
	} else {
		either++;
		either_yes += rc == 0;
	}
	/* What is compacted is still valid, and compact. */
	if (rc == 0) {
		buf_init(&b, 1 << 20);
		ck_assert_int_eq(qo_json_compact(text, len, &generic, &b, NULL),
		    0);
		ck_assert_int_eq(qo_json_check(b.data, b.len, &generic, NULL),
		    0);
		buf_fini(&b);
	}
}

START_TEST(test_suite_parsing)
{
	if (!each_file("test_parsing", one_parsing))
		return;
	printf("json: test_parsing: %d accepted, %d refused, %d either way "
	       "(%d accepted)\n",
	    yes, no, either, either_yes);
	ck_assert_int_eq(yes, 95);
	ck_assert_int_eq(no, 188);
	ck_assert_int_eq(either, 35);
}
END_TEST

static void
one_checker(const char *name, const char *text, size_t len)
{
	int rc;

	/* Two are outdated: a string at the top, and 20 levels. */
	if (strstr(name, "EXCLUDE") != NULL)
		return;
	rc = qo_json_check(text, len, &strict, NULL);
	ck_assert_msg(rc == (strncmp(name, "pass", 4) == 0 ? 0 : -1), "%s",
	    name);
	yes += rc == 0;
	no += rc == -1;
}

START_TEST(test_suite_checker)
{
	if (!each_file("nativejson/data/jsonchecker", one_checker))
		return;
	printf("json: jsonchecker: %d accepted, %d refused\n", yes, no);
	ck_assert_int_eq(yes, 3);
	ck_assert_int_eq(no, 31);
}
END_TEST

static void
one_roundtrip(const char *name, const char *text, size_t len)
{
	struct buf b;

	buf_init(&b, 4096);
	ck_assert_int_eq(qo_json_compact(text, len, &strict, &b, NULL), 0);
	ck_assert_msg(b.len == len && memcmp(b.data, text, len) == 0, "%s",
	    name);
	buf_fini(&b);
	yes++;
}

START_TEST(test_suite_roundtrip)
{
	if (!each_file("nativejson/data/roundtrip", one_roundtrip))
		return;
	printf("json: roundtrip: %d identical\n", yes);
	ck_assert_int_eq(yes, 27);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("json");
	TCase *tc = tcase_create("json");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_compact);
	tcase_add_test(tc, test_compact_no_room);
	tcase_add_test(tc, test_position);
	tcase_add_test(tc, test_depth);
	tcase_add_test(tc, test_double_keys);
	tcase_add_loop_test(tc, test_double_keys_any_size, 0, 9);
	tcase_add_test(tc, test_size);
	tcase_add_test(tc, test_deep_bombs);
	tcase_add_test(tc, test_add_string);
	tcase_add_test(tc, test_add_numbers);
	tcase_add_test(tc, test_get_int);
	tcase_add_test(tc, test_suite_parsing);
	tcase_add_test(tc, test_suite_checker);
	tcase_add_test(tc, test_suite_roundtrip);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
