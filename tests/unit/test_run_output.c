#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../qo-worker/output.h"
#include "run_suite.h"

#define MAX 1000

static struct tail t;

static void
setup(void)
{
	tail_init(&t, MAX);
}

static void
teardown(void)
{
	tail_fini(&t);
}

static void
add(const char *s)
{
	tail_add(&t, s, strlen(s));
}

/* The same stream in pieces of any size: what is kept, and the count. */
START_TEST(test_pieces)
{
	static const size_t sizes[] = { 1, 7, 63, 64, 499, 500, 501, 999, 1000,
		1001, 1500, 1501, 5000 };
	char stream[5000], want[64];
	size_t at, n, size = sizes[_i];
	const char *nl;

	/* No newline in it: it is cut where the room ends. */
	for (at = 0; at < sizeof(stream); at++)
		stream[at] = (char)('a' + at % 23);
	for (at = 0; at < sizeof(stream); at += n) {
		n = sizeof(stream) - at < size ? sizeof(stream) - at : size;
		tail_add(&t, stream + at, n);
		ck_assert_uint_eq(t.cut + t.b.len, at + n);
		ck_assert_uint_le(t.b.len, MAX + MAX / 2);
	}
	tail_finish(&t);
	ck_assert_uint_le(t.b.len, MAX);
	nl = memchr(t.b.data, '\n', t.b.len);
	ck_assert_ptr_nonnull(nl);
	n = t.b.len - (size_t)(nl + 1 - t.b.data);
	ck_assert_uint_ge(n, MAX - 64);
	ck_assert_mem_eq(nl + 1, stream + sizeof(stream) - n, n);
	snprintf(want, sizeof(want), "qo: %zu bytes before this were cut\n",
	    sizeof(stream) - n);
	ck_assert_mem_eq(t.b.data, want, strlen(want));
}
END_TEST

START_TEST(test_all_of_it)
{
	char s[MAX];

	memset(s, 'x', sizeof(s));
	tail_add(&t, s, MAX - 1);
	add("y");
	tail_finish(&t);
	ck_assert_uint_eq(t.b.len, MAX);
	ck_assert_int_eq(t.b.data[MAX - 1], 'y');
	ck_assert_uint_eq(t.cut, 0);
	tail_finish(&t); /* nothing more to do */
	ck_assert_uint_eq(t.b.len, MAX);
	add("z");
	tail_finish(&t);
	ck_assert_uint_le(t.b.len, MAX);
	ck_assert_int_eq(strncmp(t.b.data, "qo: ", 4), 0);
}
END_TEST

START_TEST(test_lines)
{
	int i;

	for (i = 0; i < 500; i++)
		add("0123456789abcde\n");
	tail_finish(&t);
	/* Whole lines only, behind the one that tells. */
	ck_assert_uint_eq((strlen(strchr(t.b.data, '\n') + 1)) % 16, 0);
	ck_assert_int_eq(strncmp(strchr(t.b.data, '\n'), "\n0123", 5), 0);
}
END_TEST

START_TEST(test_last_line)
{
	static const struct {
		const char *text, *line;
	} cases[] = {
		{ "", "" },
		{ "\n \t\n", "" },
		{ "one", "one" },
		{ "one\ntwo\n", "two" },
		{ "one\n  two \t x \r\n\n \n", "two   x" },
		{ "a\x1b[31mred\n", "a [31mred" },
		{ "0123456789abcdef0123456789", "0123456789abcdef012" },
	};
	char line[20];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_reset(&t.b);
		add(cases[i].text);
		tail_last_line(&t, line, sizeof(line));
		ck_assert_str_eq(line, cases[i].line);
	}
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("run_output");
	TCase *tc = tcase_create("output");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_pieces, 0, 13);
	tcase_add_test(tc, test_all_of_it);
	tcase_add_test(tc, test_lines);
	tcase_add_test(tc, test_last_line);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
