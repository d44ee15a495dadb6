#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "jtext.h"
#include "run_suite.h"

static const char *
check(const char *text, size_t *at)
{
	return qo_jtext_check(text, strlen(text), 512, at);
}

static const char *const good[] = { "null", " true\n", "false", "0", "-0",
	"-12.5e+10", "1E9", "1e400", "12345678901234567890", "\"\"",
	"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"", "\"\xc3\xa9\"",
	"\"\xf0\x9f\x98\x80\"", "\"\x7f\"", "\"\\u0000\"", "[]", "{}", "[ ]",
	"{ }", "[[],{}]", "[1,2 , 3]", "{\"a\":1,\"b\":[{\"c\":null}]}",
	"{\"a\" : 1 , \"a\" : 2}", "\t[\r\n]" };

START_TEST(test_good)
{
	size_t at;

	ck_assert_msg(check(good[_i], &at) == NULL, "%s: byte %zu", good[_i],
	    at);
	ck_assert_uint_eq(at, strlen(good[_i]));
}
END_TEST

static const struct {
	const char *text;
	size_t at;
} bad[] = { { "", 0 }, { " ", 1 }, { "nul", 0 }, { "truex", 4 }, { "01", 1 },
	{ "-", 1 }, { "1.", 2 }, { ".5", 0 }, { "1e", 2 }, { "1e+", 3 },
	{ "+1", 0 }, { "NaN", 0 }, { "Infinity", 0 }, { "\"", 1 },
	{ "\"a\nb\"", 2 }, { "\"\\x\"", 2 }, { "\"\\u12g4\"", 2 },
	{ "\"\\ud83d\"", 7 }, { "\"\\ud83d\\u0041\"", 7 }, { "\"\\ude00\"", 7 },
	{ "\"\\ud83d\\ude0\"", 7 }, { "\"\xc3\"", 1 },
	{ "\"\xed\xa0\x80\"", 1 }, { "\"\xc0\xaf\"", 1 }, { "\"\xff\"", 1 },
	{ "[", 1 }, { "]", 0 }, { "[1", 2 }, { "[1,]", 3 }, { "[,1]", 1 },
	{ "[1 2]", 3 }, { "[1}", 2 }, { "{", 1 }, { "{1:2}", 1 },
	{ "{\"a\"}", 4 }, { "{\"a\":}", 5 }, { "{\"a\":1,}", 7 },
	{ "{\"a\":1 \"b\":2}", 7 }, { "{\"a\":1]", 6 }, { "{'a':1}", 1 },
	{ "1 2", 2 }, { "[] []", 3 }, { "// x\n1", 0 },
	{ "\xef\xbb\xbf"
	  "1",
	    0 } };

START_TEST(test_bad)
{
	size_t at = 4711;

	ck_assert_msg(check(bad[_i].text, &at) != NULL, "%s", bad[_i].text);
	ck_assert_uint_eq(at, bad[_i].at);
}
END_TEST

START_TEST(test_nul_inside)
{
	size_t at;

	ck_assert_ptr_nonnull(qo_jtext_check("1\0", 2, 512, &at));
	ck_assert_ptr_nonnull(qo_jtext_check("\"\0\"", 3, 512, &at));
}
END_TEST

START_TEST(test_depth)
{
	char text[2 * 600];
	size_t at;
	int n;

	for (n = 1; n <= 512; n += 511) {
		memset(text, '[', (size_t)n);
		memset(text + n, ']', (size_t)n);
		ck_assert(qo_jtext_check(text, 2 * (size_t)n, (unsigned)n,
			      &at) == NULL);
		ck_assert_str_eq(qo_jtext_check(text, 2 * (size_t)n,
				     (unsigned)n - 1, &at),
		    "nested too deep");
	}
	memset(text, '[', sizeof(text));
	ck_assert_ptr_nonnull(qo_jtext_check(text, sizeof(text), 1000000, &at));
}
END_TEST

/* The worker reads what a handler writes with json.h: both must agree on
 * whatever a handler may think of. */
START_TEST(test_agrees_with_json)
{
	static const char pieces[][8] = { "{", "}", "[", "]", ",", ":", "\"",
		"\"a\"", "1", "-0", "0", ".", "e5", "true", "null", " ", "\n",
		"\\", "\\u00", "41", "\\ud83d", "\\ude00", "\xc3", "\xa9",
		"\xf0\x9f", "\x98\x80", "x" };
	struct qo_json_limits limits = { 1 << 20, 512, false };
	struct qo_err err;
	char text[64];
	unsigned seed = 7;
	size_t len, at, n, accepted = 0;
	int i;
	bool ours, theirs;

	for (i = 0; i < 300000; i++) {
		text[0] = '\0';
		for (n = (size_t)rand_r(&seed) % 7 + 1; n > 0; n--)
			strlcat(text,
			    pieces[(size_t)rand_r(&seed) %
				(sizeof(pieces) / sizeof(pieces[0]))],
			    sizeof(text));
		len = strlen(text);
		ours = qo_jtext_check(text, len, 512, &at) == NULL;
		theirs = qo_json_check(text, len, &limits, &err) == 0;
		ck_assert_msg(ours == theirs, "%s: %d, %d", text, ours, theirs);
		accepted += ours;
	}
	ck_assert_uint_gt(accepted, 5000);
}
END_TEST

static const char doc[] = " { \"a\" : 1, \"b\":[10, {\"c\":\"x\\n\"},[],\"]\"],"
			  "\"\":2,\"m~n/o\":3,\"d\\u00e9\":{\"e\":null},"
			  "\"a\":[true,-1.5e3 ] } ";

static const struct {
	const char *pointer;
	const char *value; /* NULL: there is none */
} found[] = { { "", "{" }, { "/a", "[true,-1.5e3 ]" }, { "/a/0", "true" },
	{ "/a/1", "-1.5e3" }, { "/a/2", NULL }, { "/a/-", NULL },
	{ "/a/00", NULL }, { "/a/", NULL }, { "/a/0/x", NULL },
	{ "/b/0", "10" }, { "/b/1/c", "\"x\\n\"" }, { "/b/2", "[]" },
	{ "/b/2/0", NULL }, { "/b/3", "\"]\"" }, { "/b/4", NULL },
	{ "/b/99999999999999999999999999", NULL }, { "/", "2" },
	{ "/m~0n~1o", "3" }, { "/m~0n~1", NULL }, { "/m~0n~1oo", NULL },
	{ "/d\xc3\xa9/e", "null" }, { "/d", NULL }, { "b", NULL } };

START_TEST(test_find)
{
	const char *want = found[_i].value, *got;
	size_t len, at;

	ck_assert_ptr_null(check(doc, &at));
	got = qo_jtext_find(doc, strlen(doc), found[_i].pointer, &len);
	if (want == NULL) {
		ck_assert_msg(got == NULL, "%s: %s", found[_i].pointer, got);
		return;
	}
	ck_assert_ptr_nonnull(got);
	if (strcmp(want, "{") == 0)
		ck_assert_mem_eq(got, doc + 1, len);
	else {
		ck_assert_uint_eq(len, strlen(want));
		ck_assert_mem_eq(got, want, len);
	}
}
END_TEST

START_TEST(test_find_scalar)
{
	size_t len;

	ck_assert_ptr_nonnull(qo_jtext_find("12 ", 3, "", &len));
	ck_assert_uint_eq(len, 2);
	ck_assert_ptr_null(qo_jtext_find("12", 2, "/a", &len));
}
END_TEST

START_TEST(test_members)
{
	const char *p = "{\"a\":1 , \"b\" : {\"c\":[2]}}";
	struct qo_jtext_member m;

	ck_assert(qo_jtext_next(&p, &m));
	ck_assert_uint_eq(m.key_len, 3);
	ck_assert_mem_eq(m.key, "\"a\"", 3);
	ck_assert_uint_eq(m.value_len, 1);
	ck_assert(qo_jtext_next(&p, &m));
	ck_assert_uint_eq(m.value_len, 9);
	ck_assert_mem_eq(m.value, "{\"c\":[2]}", 9);
	ck_assert(!qo_jtext_next(&p, &m));
	p = " { } ";
	ck_assert(!qo_jtext_next(&p, &m));
}
END_TEST

START_TEST(test_unquote)
{
	char text[] = "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac"
		      "\\ud83d\\ude00z\"";
	static const char want[] = "a\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac"
				   "\xf0\x9f\x98\x80z";
	size_t n;

	n = qo_jtext_unquote(text, text, strlen(text));
	ck_assert_uint_eq(n, strlen(want));
	ck_assert_mem_eq(text, want, n);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("jtext");
	TCase *tc = tcase_create("jtext");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_good, 0,
	    (int)(sizeof(good) / sizeof(good[0])));
	tcase_add_loop_test(tc, test_bad, 0,
	    (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(tc, test_nul_inside);
	tcase_add_test(tc, test_depth);
	tcase_add_test(tc, test_agrees_with_json);
	tcase_add_loop_test(tc, test_find, 0,
	    (int)(sizeof(found) / sizeof(found[0])));
	tcase_add_test(tc, test_find_scalar);
	tcase_add_test(tc, test_members);
	tcase_add_test(tc, test_unquote);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
