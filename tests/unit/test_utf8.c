#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "run_suite.h"
#include "utf8.h"

/* Writes cp as UTF-8 would, also when it must not be written. */
static size_t
put(unsigned cp, size_t n, unsigned char *out)
{
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t i;

	memset(out, 0, 8);
	if (n == 1) {
		out[0] = (unsigned char)cp;
		return 1;
	}
	for (i = n - 1; i > 0; i--, cp >>= 6)
		out[i] = (unsigned char)(0x80 | (cp & 0x3f));
	out[0] = (unsigned char)(lead[n] | cp);
	return n;
}

static size_t
right_len(unsigned cp)
{
	return cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
}

/* Every code point in every length that can hold it. */
START_TEST(test_all_code_points)
{
	static const unsigned room[] = { 0, 0x80, 0x800, 0x10000, 0x200000 };
	unsigned char s[8];
	unsigned cp;
	size_t n, want;

	for (cp = 1; cp < 0x200000; cp++) {
		for (n = 1; n <= 4; n++) {
			if (cp >= room[n])
				continue;
			want = n == right_len(cp) && cp <= 0x10ffff &&
				!(cp >= 0xd800 && cp <= 0xdfff)
			    ? n
			    : 0;
			put(cp, n, s);
			if (utf8_char_len(s) != want ||
			    utf8_valid(s, n) != (want != 0))
				ck_abort_msg("U+%04X in %zu bytes", cp, n);
		}
	}
}
END_TEST

START_TEST(test_stray)
{
	static const char *const bad[] = { "\x80", "\xbf", "\xc0\x80",
		"\xc1\xbf", "\xf5\x80\x80\x80", "\xff", "\xfe", "\xc3",
		"\xe2\x82", "\xf0\x9f\x98", "a\xc3z", "\xe2\x28\xa1",
		"\xf8\x88\x80\x80\x80" };
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!utf8_valid(bad[i], strlen(bad[i])), "%zu", i);
	ck_assert_uint_eq(utf8_char_len((const unsigned char *)""), 0);
}
END_TEST

/* The length counts: nothing behind it is looked at. */
START_TEST(test_length)
{
	const char *euro = "\xe2\x82\xac";
	char *exact;
	size_t n;

	for (n = 0; n <= 3; n++) {
		/* On the heap, so that a sanitizer sees a byte too many. */
		exact = malloc(n + 1);
		ck_assert_ptr_nonnull(exact);
		exact[0] = 'x';
		memcpy(exact + 1, euro, n);
		ck_assert_int_eq(utf8_valid(exact, n + 1), n == 0 || n == 3);
		free(exact);
	}
	ck_assert(utf8_valid("", 0));
	ck_assert(utf8_valid("a\0b", 3));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("utf8");
	TCase *tc = tcase_create("utf8");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_all_code_points);
	tcase_add_test(tc, test_stray);
	tcase_add_test(tc, test_length);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
