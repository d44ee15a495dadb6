/*
 * What qo prints: nothing of task data reaches a terminal raw, and JSON stays
 * JSON.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../qo/out.h"
#include "run_suite.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *in;
	size_t len;
	const char *want;
} escapes[] = {
	{ "plain \xc3\xa9 \xe2\x82\xac", 12, "plain \xc3\xa9 \xe2\x82\xac" },
	{ "a\nb\tc\r", 6, "a\\nb\\tc\\x0d" },
	{ "\033[31mred\a", 9, "\\x1b[31mred\\x07" },
	{ "nul\0here", 8, "nul\\x00here" },
	{ "\x7f\xc2\x9b", 3, "\\x7f\\u009b" },
	{ "\xe2\x80\xae turned", 10, "\\u202e turned" },
	{ "\xff\xc3", 2, "\\xff\\xc3" },
	{ "\xed\xa0\x80", 3, "\\xed\\xa0\\x80" },
	{ "", 0, "" },
};

START_TEST(test_escape)
{
	struct buf b;

	buf_init(&b, 4096);
	out_escape(&b, escapes[_i].in, escapes[_i].len);
	ck_assert_str_eq(b.data, escapes[_i].want);
	buf_fini(&b);
}
END_TEST

/* stdout goes to a file while the function runs. */
static void
capture(void (*fn)(void), char *out, size_t size)
{
	FILE *fp = tmpfile();
	int saved = dup(STDOUT_FILENO);
	size_t n;

	fflush(stdout);
	ck_assert_int_ne(dup2(fileno(fp), STDOUT_FILENO), -1);
	fn();
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	rewind(fp);
	n = fread(out, 1, size - 1, fp);
	out[n] = '\0';
	fclose(fp);
}

static const struct out_col cols[] = { { "ID", false }, { "N", true },
	{ "ERROR", false } };

static void
print_table(void)
{
	struct out_table *t = out_table_new(cols, nitems(cols));

	out_cell(t, OUT_PLAIN, "%s", "one");
	out_cell(t, OUT_BAD, "%d", 7);
	out_cell(t, OUT_PLAIN, "%s", "\033[2J bad");
	out_cell(t, OUT_PLAIN, "%s", "\xc3\xa9t\xc3\xa9 2");
	out_cell(t, OUT_PLAIN, "%d", 1234);
	ck_assert_uint_eq(out_table_rows(t), 2);
	out_table_print(t);
	/* Without rows there is no head either. */
	out_table_print(out_table_new(cols, nitems(cols)));
}

START_TEST(test_table)
{
	char text[1024];

	capture(print_table, text, sizeof(text));
	ck_assert_str_eq(text,
	    "ID        N  ERROR\n"
	    "one       7  \\x1b[2J bad\n"
	    "\xc3\xa9t\xc3\xa9 2  1234\n");
}
END_TEST

/* One column gives way: what is behind it stays to be seen. */
static const char *
narrow(size_t columns)
{
	static char text[512];
	struct out_table *t = out_table_new(cols, nitems(cols));
	struct buf b;

	out_table_gives(t, 0);
	out_cell(t, OUT_PLAIN, "%s", "a.long.\xc3\xa9t\xc3\xa9.name");
	out_cell(t, OUT_PLAIN, "%d", 7);
	out_cell(t, OUT_PLAIN, "%s", "wrong");
	out_cell(t, OUT_PLAIN, "%s", "short");
	out_cell(t, OUT_PLAIN, "%d", 8);
	buf_init(&b, sizeof(text) - 1);
	out_table_add(t, &b, columns, false);
	snprintf(text, sizeof(text), "%s", b.data);
	buf_fini(&b);
	return text;
}

START_TEST(test_narrow)
{
	static const char whole[] = "ID               N  ERROR\n"
				    "a.long.\xc3\xa9t\xc3\xa9.name  7  wrong\n"
				    "short            8\n";

	ck_assert_str_eq(narrow(0), whole);
	ck_assert_str_eq(narrow(26), whole);
	ck_assert_str_eq(narrow(19),
	    "ID         N  ERROR\n"
	    "a.long.\xc3\xa9\xe2\x80\xa6  7  wrong\n"
	    "short      8\n");
	/* Not to nothing: then the last one is cut, too. */
	ck_assert_str_eq(narrow(4),
	    "ID        N  ERROR\n"
	    "a.long.\xe2\x80\xa6  7  wrong\n"
	    "short     8\n");
}
END_TEST

static void
print_lists(void)
{
	struct out_list l;

	out_list_begin(&l, OUT_JSON);
	out_list_add(&l, "{\"a\":1}", 7);
	out_list_add(&l, "2", 1);
	out_list_end(&l);
	out_list_begin(&l, OUT_JSON);
	out_list_end(&l);
	out_list_begin(&l, OUT_JSONL);
	out_list_add(&l, "{\"a\":1}", 7);
	/* DEL and C1 are valid in JSON, and dangerous on a terminal. */
	out_list_add(&l, "\"\x7f\xc2\x9b\xc3\xa9\"", 7);
	out_list_end(&l);
	out_json("[]", 2);
}

START_TEST(test_lists)
{
	char text[1024];

	capture(print_lists, text, sizeof(text));
	ck_assert_str_eq(text,
	    "[\n{\"a\":1},\n2\n]\n"
	    "[]\n"
	    "{\"a\":1}\n\"\\u007f\\u009b\xc3\xa9\"\n"
	    "[]\n");
}
END_TEST

START_TEST(test_members)
{
	static const struct qo_json_limits limits = { 4096, 64, true };
	const struct qo_json raw = { "1e400", 5 }, none = { NULL, 0 };
	struct qo_err err = { 0 };
	struct buf b;

	buf_init(&b, 4096);
	out_json_open(&b, NULL, '{');
	out_json_str(&b, "s", "a\"\n\xff\033");
	out_json_str(&b, "absent", NULL);
	out_json_int(&b, "i", -5);
	out_json_bool(&b, "b", true);
	out_json_time(&b, "t", (struct qo_wall){ 0 });
	out_json_time(&b, "never", QO_WALL_NONE);
	out_json_raw(&b, "raw", &raw);
	out_json_raw(&b, "none", &none);
	out_json_open(&b, "list", '[');
	out_json_int(&b, NULL, 1);
	out_json_open(&b, NULL, '{');
	out_json_close(&b, '}');
	out_json_double(&b, NULL, 0.5);
	out_json_close(&b, ']');
	out_json_close(&b, '}');
	ck_assert_str_eq(b.data,
	    "{\"s\":\"a\\\"\\n\xef\xbf\xbd\\u001b\",\"absent\":null,\"i\":-5,"
	    "\"b\":true,\"t\":\"1970-01-01T00:00:00.000000Z\",\"never\":null,"
	    "\"raw\":1e400,\"none\":null,\"list\":[1,{},0.5]}");
	ck_assert_msg(qo_json_check(b.data, b.len, &limits, &err) == 0, "%s",
	    err.msg);
	buf_fini(&b);
}
END_TEST

START_TEST(test_duration)
{
	static const struct {
		int64_t ms;
		const char *want;
	} cases[] = { { -5, "0ms" }, { 0, "0ms" }, { 999, "999ms" },
		{ 1000, "1s" }, { 59999, "59s" }, { 60000, "1m 0s" },
		{ 3599999, "59m 59s" }, { 3600000, "1h 0m" },
		{ 86400000, "1d 0h" }, { 266400000, "3d 2h" },
		{ INT64_MAX, "106751991167d 7h" } };
	char text[OUT_DURATION_SIZE];
	size_t i;

	for (i = 0; i < nitems(cases); i++)
		ck_assert_str_eq(out_duration_text(cases[i].ms, text),
		    cases[i].want);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("qo_out");
	TCase *tc = tcase_create("qo_out");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_escape, 0, (int)nitems(escapes));
	tcase_add_test(tc, test_table);
	tcase_add_test(tc, test_narrow);
	tcase_add_test(tc, test_lists);
	tcase_add_test(tc, test_members);
	tcase_add_test(tc, test_duration);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
