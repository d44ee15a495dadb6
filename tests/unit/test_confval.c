#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "conflist.h"
#include "confval.h"
#include "run_suite.h"
#include "utf8.h"

#define NITEMS(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define BAD       INT64_C(-1)

struct num_case {
	const char *text;
	int64_t want;          /* BAD: refused */
	const char *canonical; /* NULL: as text */
};

static const struct num_case durations[] = {
	{ "500ms", 500, NULL },
	{ "30s", 30000, NULL },
	{ "5m", 300000, NULL },
	{ "24h", 86400000, "1d" },
	{ "7d", 604800000, NULL },
	{ "0", 0, NULL },
	{ "0s", 0, "0" },
	{ "1000ms", 1000, "1s" },
	{ "90s", 90000, NULL },
	{ "007s", 7000, "7s" },
	{ "9223372036854775807ms", INT64_MAX, NULL },
	{ "9223372036854775808ms", BAD, NULL },
	{ "9223372036854775807s", BAD, NULL },
	{ "106751991168d", BAD, NULL },
	{ "99999999999999999999999999s", BAD, NULL },
	{ "", BAD, NULL },
	{ "30", BAD, NULL },
	{ "s", BAD, NULL },
	{ "-1s", BAD, NULL },
	{ "+1s", BAD, NULL },
	{ " 1s", BAD, NULL },
	{ "1s ", BAD, NULL },
	{ "1 s", BAD, NULL },
	{ "1sec", BAD, NULL },
	{ "1S", BAD, NULL },
	{ "1.5s", BAD, NULL },
	{ "1h30m", BAD, NULL },
	{ "0x10s", BAD, NULL },
	{ "1e3s", BAD, NULL },
	{ "\xd9\xa1s", BAD, NULL },
};

START_TEST(duration)
{
	const struct num_case *c = &durations[_i];
	struct qo_err err = { 0 };
	int64_t n = 77;
	struct buf b;

	if (c->want == BAD) {
		ck_assert_int_eq(confval_duration(c->text, 0, INT64_MAX, &n,
				     &err),
		    -1);
		ck_assert_int_eq(n, 77);
		ck_assert_ptr_nonnull(strstr(err.msg, "ms, s, m, h or d"));
		return;
	}
	ck_assert_int_eq(confval_duration(c->text, 0, INT64_MAX, &n, &err), 0);
	ck_assert_int_eq(n, c->want);
	buf_init(&b, 64);
	confval_add_duration(&b, n);
	ck_assert_str_eq(b.data, c->canonical ? c->canonical : c->text);
	buf_fini(&b);
}
END_TEST

static const struct num_case sizes[] = {
	{ "0", 0, NULL },
	{ "1", 1, NULL },
	{ "512", 512, NULL },
	{ "1024", 1024, "1KiB" },
	{ "64KiB", 65536, NULL },
	{ "10MiB", 10485760, NULL },
	{ "2GiB", INT64_C(2147483648), NULL },
	{ "1TiB", INT64_C(1099511627776), NULL },
	{ "1536KiB", 1572864, NULL },
	{ "8388607TiB", INT64_C(8388607) << 40, NULL },
	{ "8388608TiB", BAD, NULL },
	{ "18014398509481984KiB", BAD, NULL },
	{ "9223372036854775808", BAD, NULL },
	{ "1KB", BAD, NULL },
	{ "1MB", BAD, NULL },
	{ "4g", BAD, NULL },
	{ "1K", BAD, NULL },
	{ "1kib", BAD, NULL },
	{ "-1", BAD, NULL },
	{ "1.5MiB", BAD, NULL },
	{ "MiB", BAD, NULL },
	{ "", BAD, NULL },
	{ "1 MiB", BAD, NULL },
};

START_TEST(size)
{
	const struct num_case *c = &sizes[_i];
	struct qo_err err = { 0 };
	int64_t n = 77;
	struct buf b;

	if (c->want == BAD) {
		ck_assert_int_eq(confval_size(c->text, 0, INT64_MAX, &n, &err),
		    -1);
		ck_assert_int_eq(n, 77);
		ck_assert_ptr_nonnull(strstr(err.msg, "KiB, MiB"));
		return;
	}
	ck_assert_int_eq(confval_size(c->text, 0, INT64_MAX, &n, &err), 0);
	ck_assert_int_eq(n, c->want);
	buf_init(&b, 64);
	confval_add_size(&b, n);
	ck_assert_str_eq(b.data, c->canonical ? c->canonical : c->text);
	buf_fini(&b);
}
END_TEST

START_TEST(ranges)
{
	struct qo_err err = { 0 };
	int64_t n;

	ck_assert_int_eq(confval_duration("1s", 1000, CONFVAL_HOUR, &n, &err),
	    0);
	ck_assert_int_eq(confval_duration("60m", 1000, CONFVAL_HOUR, &n, &err),
	    0);
	ck_assert_int_eq(confval_duration("999ms", 1000, CONFVAL_HOUR, &n,
			     &err),
	    -1);
	ck_assert_str_eq(err.msg, "\"999ms\" is out of range: 1s to 1h");
	ck_assert_int_eq(confval_duration("3600001ms", 1000, CONFVAL_HOUR, &n,
			     &err),
	    -1);
	ck_assert_int_eq(confval_size("2MiB", 1, 1 << 20, &n, &err), -1);
	ck_assert_str_eq(err.msg, "\"2MiB\" is out of range: 1 to 1MiB");
	ck_assert_int_eq(confval_int("1", 1, 16, &n, &err), 0);
	ck_assert_int_eq(confval_int("16", 1, 16, &n, &err), 0);
	ck_assert_int_eq(n, 16);
	ck_assert_int_eq(confval_int("0", 1, 16, &n, &err), -1);
	ck_assert_int_eq(confval_int("17", 1, 16, &n, &err), -1);
	ck_assert_int_eq(confval_int("3x", 1, 16, &n, &err), -1);
	ck_assert_str_eq(err.msg, "\"3x\" is not a whole number from 1 to 16");
	ck_assert_int_eq(confval_int("", 0, 16, &n, &err), -1);
	ck_assert_int_eq(confval_int("-0", 0, 16, &n, &err), -1);
}
END_TEST

START_TEST(words_of_choice)
{
	static const char *const names[] = { "auto", "yes", "no", NULL };
	struct qo_err err = { 0 };
	bool b = true;
	int n = 7;

	ck_assert_int_eq(confval_bool("no", &b, &err), 0);
	ck_assert(!b);
	ck_assert_int_eq(confval_bool("yes", &b, &err), 0);
	ck_assert(b);
	ck_assert_int_eq(confval_bool("true", &b, &err), -1);
	ck_assert_str_eq(err.msg, "\"true\" is neither yes nor no");
	ck_assert_int_eq(confval_bool("", &b, &err), -1);
	ck_assert_int_eq(confval_enum("no", names, &n, &err), 0);
	ck_assert_int_eq(n, 2);
	ck_assert_int_eq(confval_enum("No", names, &n, &err), -1);
	ck_assert_str_eq(err.msg, "\"No\" is none of auto, yes, no");
	ck_assert_int_eq(n, 2);
}
END_TEST

struct dbl_case {
	const char *text;
	double want; /* < 0: refused */
	const char *canonical;
};

static const struct dbl_case numbers[] = {
	{ "2.0", 2, "2" },
	{ "2", 2, "2" },
	{ "0.25", 0.25, "0.25" },
	{ "25%", 0.25, "0.25" },
	{ "12.5%", 0.125, "0.125" },
	{ "0", 0, "0" },
	{ "1.000001", 1.000001, "1.000001" },
	{ "100", 100, "100" },
	{ "100.1", -1, NULL },
	{ "1.0000001", -1, NULL },
	{ "0.00001%", -1, NULL },
	{ ".5", -1, NULL },
	{ "1.", -1, NULL },
	{ "1e2", -1, NULL },
	{ "nan", -1, NULL },
	{ "inf", -1, NULL },
	{ "0x1", -1, NULL },
	{ "1,5", -1, NULL },
	{ "-1", -1, NULL },
	{ "5%%", -1, NULL },
	{ "", -1, NULL },
	{ "99999999999999999999", -1, NULL },
};

START_TEST(number)
{
	const struct dbl_case *c = &numbers[_i];
	struct qo_err err = { 0 };
	double d = -7, again;
	struct buf b;

	if (c->want < 0) {
		ck_assert_int_eq(confval_number(c->text, 0, 100, &d, &err), -1);
		ck_assert(d < -6);
		return;
	}
	ck_assert_int_eq(confval_number(c->text, 0, 100, &d, &err), 0);
	ck_assert(d >= c->want && d <= c->want);
	buf_init(&b, 64);
	confval_add_number(&b, d);
	ck_assert_str_eq(b.data, c->canonical);
	ck_assert_int_eq(confval_number(b.data, 0, 100, &again, &err), 0);
	ck_assert(d >= again && d <= again);
	buf_fini(&b);
}
END_TEST

START_TEST(long_values_are_cut)
{
	char value[400], shown[CONFVAL_SHOWN];
	struct qo_err err = { 0 };
	int64_t n;
	size_t i;

	for (i = 0; i + 2 < sizeof(value); i += 2)
		memcpy(value + i, "\xc3\xbc", 2);
	value[i] = '\0';
	confval_shown(value, shown, sizeof(shown));
	ck_assert(utf8_valid(shown, strlen(shown)));
	ck_assert_str_eq(shown + strlen(shown) - 5, "\xc3\xbc...");
	ck_assert_int_eq(confval_duration(value, 0, 1, &n, &err), -1);
	ck_assert(utf8_valid(err.msg, strlen(err.msg)));
	ck_assert_ptr_nonnull(strstr(err.msg, "like 30s"));
}
END_TEST

struct list_case {
	const char *text;
	const char *want; /* joined with |; NULL: refused */
};

static void
check_words(int rc, char **words, const struct list_case *c)
{
	struct buf b;
	size_t i;

	if (c->want == NULL) {
		ck_assert_msg(rc == -1, "%s", c->text);
		return;
	}
	ck_assert_msg(rc == 0, "%s", c->text);
	buf_init(&b, 4096);
	for (i = 0; words[i] != NULL; i++)
		buf_addf(&b, "%s%s", i == 0 ? "" : "|", words[i]);
	ck_assert_str_eq(b.data, c->want);
	buf_fini(&b);
	conflist_words_free(words);
}

static const struct list_case commands[] = {
	{ "/bin/true", "/bin/true" },
	{ "a  b\tc ", "a|b|c" },
	{ "'a b' c", "a b|c" },
	{ "a \"b 'c' \\\" d\"e", "a|b 'c' \" de" },
	{ "a 'b\\'", "a|b\\" },
	{ "a\\ b", "a b" },
	{ "a ''", "a|" },
	{ "sh -c 'echo $X'", "sh|-c|echo $X" },
	{ "a \\\\", "a|\\" },
	{ "", NULL },
	{ "  ", NULL },
	{ "'' a", NULL },
	{ "'a", NULL },
	{ "a \"b", NULL },
	{ "a\\", NULL },
};

START_TEST(command)
{
	struct qo_err err = { 0 };
	char **words = NULL;
	int rc;

	rc = conflist_words(commands[_i].text, &words, &err);
	check_words(rc, words, &commands[_i]);
	ck_assert(rc == 0 || err.msg[0] != '\0');
}
END_TEST

static const struct list_case lists[] = {
	{ "ui/", "ui/" },
	{ "a, b,c d", "a|b|c|d" },
	{ "", "" },
	{ "  ", "" },
	{ "a,,b", NULL },
	{ ",a", NULL },
	{ "a,", NULL },
	{ ",", NULL },
};

START_TEST(list)
{
	struct qo_err err = { 0 };
	char **words = NULL;
	int rc;

	rc = conflist_list(lists[_i].text, &words, &err);
	check_words(rc, words, &lists[_i]);
}
END_TEST

START_TEST(codes)
{
	struct conflist_set set, again;
	struct qo_err err = { 0 };
	struct buf b;

	ck_assert_int_eq(conflist_codes("75, 1,255", &set, &err), 0);
	ck_assert(conflist_set_has(&set, 1) && conflist_set_has(&set, 75) &&
	    conflist_set_has(&set, 255));
	ck_assert(!conflist_set_has(&set, 0) && !conflist_set_has(&set, 76) &&
	    !conflist_set_has(&set, 256));
	buf_init(&b, 4096);
	conflist_add_codes(&b, &set);
	ck_assert_str_eq(b.data, "1, 75, 255");
	ck_assert_int_eq(conflist_codes(b.data, &again, &err), 0);
	ck_assert_mem_eq(&set, &again, sizeof(set));
	ck_assert_int_eq(conflist_codes("", &set, &err), 0);
	ck_assert_int_eq(conflist_codes("0", &set, &err), -1);
	ck_assert_int_eq(conflist_codes("256", &set, &err), -1);
	ck_assert_int_eq(conflist_codes("1,x", &set, &err), -1);
	buf_fini(&b);
}
END_TEST

struct shard_case {
	const char *text;
	int count; /* of 256; -1: refused */
};

static const struct shard_case shard_cases[] = {
	{ "all", 256 },
	{ "0-f", 256 },
	{ "00-ff", 256 },
	{ "a", 16 },
	{ "0-7, a", 144 },
	{ "a3", 1 },
	{ "a3 a3", 1 },
	{ "c0-cf,c", 16 },
	{ "", -1 },
	{ "A", -1 },
	{ "g", -1 },
	{ "abc", -1 },
	{ "7-0", -1 },
	{ "0-", -1 },
	{ "0-ff", -1 },
	{ "-1", -1 },
	{ "All", -1 },
};

START_TEST(shards)
{
	const struct shard_case *c = &shard_cases[_i];
	struct conflist_set set;
	struct qo_err err = { 0 };
	unsigned i;
	int n = 0;

	if (c->count == -1) {
		ck_assert_int_eq(conflist_shards(c->text, &set, &err), -1);
		return;
	}
	ck_assert_int_eq(conflist_shards(c->text, &set, &err), 0);
	for (i = 0; i < 256; i++)
		n += conflist_set_has(&set, i);
	ck_assert_int_eq(n, c->count);
}
END_TEST

START_TEST(nearest)
{
	static const char *const names[] = { "lease", "lease_max", "poll_min",
		"poll_max", "id", "slots", NULL };

	ck_assert_str_eq(confval_nearest("leese", names), "lease");
	ck_assert_str_eq(confval_nearest("lesae", names), "lease");
	ck_assert_str_eq(confval_nearest("pollmax", names), "poll_max");
	ck_assert_str_eq(confval_nearest("slot", names), "slots");
	ck_assert_ptr_null(confval_nearest("bucket", names));
	ck_assert_ptr_null(confval_nearest("xy", names));
	ck_assert_ptr_null(confval_nearest("", names));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("confval");
	TCase *tc = tcase_create("confval");

	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, duration, 0, NITEMS(durations));
	tcase_add_loop_test(tc, size, 0, NITEMS(sizes));
	tcase_add_loop_test(tc, number, 0, NITEMS(numbers));
	tcase_add_test(tc, ranges);
	tcase_add_test(tc, words_of_choice);
	tcase_add_test(tc, long_values_are_cut);
	tcase_add_loop_test(tc, command, 0, NITEMS(commands));
	tcase_add_loop_test(tc, list, 0, NITEMS(lists));
	tcase_add_test(tc, codes);
	tcase_add_loop_test(tc, shards, 0, NITEMS(shard_cases));
	tcase_add_test(tc, nearest);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
