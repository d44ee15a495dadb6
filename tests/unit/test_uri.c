#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "run_suite.h"
#include "uri.h"

static struct buf out;

static void
setup(void)
{
	buf_init(&out, 4096);
}

static void
teardown(void)
{
	buf_fini(&out);
}

static const struct {
	const char *plain, *path, *query;
} coded[] = {
	{ "", "", "" },
	{ "azAZ09-._~", "azAZ09-._~", "azAZ09-._~" },
	{ "a/b c", "a/b%20c", "a%2Fb%20c" },
	{ "a+b%=&", "a%2Bb%25%3D%26", "a%2Bb%25%3D%26" },
	{ "\xc3\xbc\x01\x7f", "%C3%BC%01%7F", "%C3%BC%01%7F" },
	{ "test$file.text", "test%24file.text", "test%24file.text" },
	{ "!*'()", "%21%2A%27%28%29", "%21%2A%27%28%29" },
};

START_TEST(test_coded)
{
	const char *s = coded[_i].plain;

	ck_assert_int_eq(uri_encode(&out, s, strlen(s), URI_KEEP_SLASH), 0);
	ck_assert_str_eq(out.data, coded[_i].path);
	buf_reset(&out);
	ck_assert_int_eq(uri_encode(&out, s, strlen(s), 0), 0);
	ck_assert_str_eq(out.data, coded[_i].query);
	buf_reset(&out);
	ck_assert_int_eq(uri_decode(&out, coded[_i].query,
			     strlen(coded[_i].query), 0),
	    0);
	ck_assert_str_eq(out.data, s);
	buf_reset(&out);
	ck_assert_int_eq(uri_recode(&out, coded[_i].query,
			     strlen(coded[_i].query), 0),
	    0);
	ck_assert_str_eq(out.data, coded[_i].query);
}
END_TEST

START_TEST(test_every_byte)
{
	struct buf back;
	char c;
	int i;

	buf_init(&back, 16);
	for (i = 0; i < 256; i++) {
		c = (char)i;
		buf_reset(&out);
		buf_reset(&back);
		ck_assert_int_eq(uri_encode(&out, &c, 1, 0), 0);
		ck_assert_int_eq(uri_decode(&back, out.data, out.len, 0), 0);
		ck_assert_uint_eq(back.len, 1);
		ck_assert_mem_eq(back.data, &c, 1);
	}
	buf_fini(&back);
}
END_TEST

static const char *const bad[] = { "%", "a%", "%4", "%4g", "%g4", "a%%20",
	"%+1", "% 1", "%-1", "a%2" };

START_TEST(test_bad)
{
	struct uri_query q;

	ck_assert_int_eq(uri_decode(&out, bad[_i], strlen(bad[_i]), 0), -1);
	buf_reset(&out);
	ck_assert_int_eq(uri_recode(&out, bad[_i], strlen(bad[_i]), 0), -1);
	ck_assert_int_eq(uri_query_parse(&q, bad[_i], 8, 0), -1);
	ck_assert_uint_eq(q.n, 0);
	uri_query_fini(&q);
}
END_TEST

START_TEST(test_recode)
{
	ck_assert_int_eq(uri_recode(&out, "a%2fb/c$%7e+", 12, URI_KEEP_SLASH),
	    0);
	ck_assert_str_eq(out.data, "a/b/c%24~%2B");
	buf_reset(&out);
	ck_assert_int_eq(uri_recode(&out, "a+b%2B", 6, URI_PLUS_SPACE), 0);
	ck_assert_str_eq(out.data, "a%20b%2B");
	buf_reset(&out);
	ck_assert_int_eq(uri_decode(&out, "a+b", 3, URI_PLUS_SPACE), 0);
	ck_assert_str_eq(out.data, "a b");
	buf_reset(&out);
	ck_assert_int_eq(uri_decode(&out, "a+b", 3, 0), 0);
	ck_assert_str_eq(out.data, "a+b");
	/* The length counts: a digit behind the end is not read. */
	buf_reset(&out);
	ck_assert_int_eq(uri_decode(&out, "%41", 2, 0), -1);
	ck_assert_uint_eq(out.len, 0);
}
END_TEST

START_TEST(test_full)
{
	struct buf small;

	buf_init(&small, 2);
	ck_assert_int_eq(uri_encode(&small, " ", 1, 0), -1);
	buf_reset(&small);
	ck_assert_int_eq(uri_decode(&small, "abc", 3, 0), -1);
	buf_reset(&small);
	ck_assert_int_eq(uri_recode(&small, "abc", 3, 0), -1);
	buf_reset(&small);
	ck_assert_int_eq(uri_recode(&small, "%20", 3, 0), -1);
	buf_fini(&small);
}
END_TEST

START_TEST(test_next)
{
	const char *p = "&a=1&&b&=x&c==2&";
	struct uri_raw r;

	ck_assert(uri_query_next(&p, &r));
	ck_assert(r.name_len == 1 && r.name[0] == 'a');
	ck_assert(r.has_value && r.value_len == 1 && r.value[0] == '1');
	ck_assert(uri_query_next(&p, &r));
	ck_assert(r.name_len == 1 && !r.has_value && r.value_len == 0);
	ck_assert(uri_query_next(&p, &r));
	ck_assert(r.name_len == 0 && r.value_len == 1);
	ck_assert(uri_query_next(&p, &r));
	ck_assert(r.value_len == 2 && r.value[0] == '=');
	ck_assert(!uri_query_next(&p, &r));
	ck_assert(!uri_query_next(&p, &r));
}
END_TEST

START_TEST(test_parse)
{
	const struct uri_pair *pair;
	struct uri_query q;

	ck_assert_int_eq(uri_query_parse(&q, NULL, 0, 0), 0);
	uri_query_fini(&q);
	ck_assert_int_eq(uri_query_parse(&q,
			     "list-type=2&prefix=a%2Fb+c&delete&prefix=z&"
			     "n=x%00y",
			     5, URI_PLUS_SPACE),
	    0);
	ck_assert_uint_eq(q.n, 5);
	pair = uri_query_get(&q, "prefix");
	ck_assert_ptr_nonnull(pair);
	ck_assert_str_eq(pair->value, "a/b c");
	ck_assert(pair->has_value);
	pair = uri_query_get(&q, "delete");
	ck_assert_ptr_nonnull(pair);
	ck_assert_str_eq(pair->value, "");
	ck_assert(!pair->has_value);
	pair = uri_query_get(&q, "n");
	ck_assert_uint_eq(pair->value_len, 3);
	ck_assert_mem_eq(pair->value, "x\0y", 4);
	ck_assert_ptr_null(uri_query_get(&q, "Prefix"));
	uri_query_fini(&q);
	ck_assert_int_eq(uri_query_parse(&q, "a&b&c", 2, 0), -1);
	uri_query_fini(&q);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("uri");
	TCase *tc = tcase_create("uri");

	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_coded, 0,
	    (int)(sizeof(coded) / sizeof(coded[0])));
	tcase_add_test(tc, test_every_byte);
	tcase_add_loop_test(tc, test_bad, 0,
	    (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(tc, test_recode);
	tcase_add_test(tc, test_full);
	tcase_add_test(tc, test_next);
	tcase_add_test(tc, test_parse);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
