#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "encode.h"
#include "run_suite.h"

static const struct {
	const char *plain, *b64;
} pairs[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xff\xfe\xfb", "//77" },
};

START_TEST(test_b64)
{
	char text[32], back[32];
	size_t len = strlen(pairs[_i].plain);

	b64_encode(text, pairs[_i].plain, len);
	ck_assert_str_eq(text, pairs[_i].b64);
	ck_assert_int_eq(b64_decode(back, len, text, strlen(text)),
	    (ptrdiff_t)len);
	ck_assert_mem_eq(back, pairs[_i].plain, len);
	if (len > 0)
		ck_assert_int_eq(b64_decode(back, len - 1, text, strlen(text)),
		    -1);
}
END_TEST

static const char *const bad_b64[] = { "Z", "Zg",
	"Zg=", "=Zg=", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9", "Zm9\n", "Zm-_",
	"====", "Z===", "Zm9vYg\0=" };

START_TEST(test_b64_refuses)
{
	char out[32];
	size_t len = strlen(bad_b64[_i]);

	ck_assert_int_eq(b64_decode(out, sizeof(out), bad_b64[_i], len), -1);
}
END_TEST

START_TEST(test_b64_all)
{
	unsigned char in[64], back[64];
	char text[B64_SIZE(64)];
	size_t len, i;

	for (i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)(i * 37 + 11);
	for (len = 0; len <= sizeof(in); len++) {
		b64_encode(text, in, len);
		ck_assert_uint_eq(strlen(text) + 1, B64_SIZE(len));
		ck_assert_int_eq(b64_decode(back, sizeof(back), text,
				     strlen(text)),
		    (ptrdiff_t)len);
		ck_assert_mem_eq(back, in, len);
	}
}
END_TEST

START_TEST(test_hex)
{
	char text[HEX_SIZE(4)];
	unsigned char out[4];

	hex_encode(text, "\x00\x9f\xab\xff", 4);
	ck_assert_str_eq(text, "009fabff");
	ck_assert_int_eq(hex_decode(out, "009FaBff", 4), 0);
	ck_assert_mem_eq(out, "\x00\x9f\xab\xff", 4);
	ck_assert_int_eq(hex_decode(out, "0", 1), -1);
	ck_assert_int_eq(hex_decode(out, "", 1), -1);
	ck_assert_int_eq(hex_decode(out, "0g", 1), -1);
	ck_assert_int_eq(hex_decode(out, "/0", 1), -1);
	ck_assert_int_eq(hex_decode(out, ":0", 1), -1);
	ck_assert_int_eq(hex_decode(out, "@0", 1), -1);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("encode");
	TCase *tc = tcase_create("encode");

	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, test_b64, 0,
	    (int)(sizeof(pairs) / sizeof(pairs[0])));
	tcase_add_loop_test(tc, test_b64_refuses, 0,
	    (int)(sizeof(bad_b64) / sizeof(bad_b64[0])));
	tcase_add_test(tc, test_b64_all);
	tcase_add_test(tc, test_hex);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
