#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "checksum.h"
#include "encode.h"
#include "run_suite.h"

static const struct {
	const char *name, *header, *hex;
	size_t len;
} known[] = {
	{ "crc32", "x-amz-checksum-crc32", "cbf43926", 4 },
	{ "crc32c", "x-amz-checksum-crc32c", "e3069283", 4 },
	{ "crc64nvme", "x-amz-checksum-crc64nvme", "ae8b14860a799888", 8 },
	{ "sha1", "x-amz-checksum-sha1",
	    "f7c3bc1d808e04732adf679965ccc34ca7ae3441", 20 },
	{ "sha256", "x-amz-checksum-sha256",
	    "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225",
	    32 },
};

START_TEST(test_known)
{
	enum checksum_alg alg, alg2;
	struct checksum c;
	uint8_t raw[CHECKSUM_MAX];
	char hex[HEX_SIZE(CHECKSUM_MAX)];
	int round;

	ck_assert_int_eq(checksum_by_name(known[_i].name, &alg), 0);
	ck_assert_int_eq(checksum_by_header(known[_i].header, &alg2), 0);
	ck_assert_int_eq(alg, alg2);
	ck_assert_str_eq(checksum_header(alg), known[_i].header);
	ck_assert_int_eq(strcasecmp(checksum_name(alg), known[_i].name), 0);
	ck_assert_uint_eq(checksum_len(alg), known[_i].len);
	checksum_init(&c, alg);
	for (round = 0; round < 2; round++) {
		checksum_update(&c, "123456789", 9);
		checksum_final(&c, raw);
		hex_encode(hex, raw, known[_i].len);
		ck_assert_str_eq(hex, known[_i].hex);
	}
	checksum_fini(&c);
}
END_TEST

/* Bit by bit, as the definition has it. */
static uint64_t
crc_slow(uint64_t poly, uint64_t ones, const uint8_t *p, size_t len)
{
	uint64_t crc = ones;
	int k;

	for (; len > 0; len--, p++) {
		crc ^= *p;
		for (k = 0; k < 8; k++)
			crc = (crc & 1) != 0 ? crc >> 1 ^ poly : crc >> 1;
	}
	return crc ^ ones;
}

/* Every length and alignment around the eight-byte steps, in every split. */
START_TEST(test_splits)
{
	static const uint64_t polys[] = { 0xedb88320, 0x82f63b78,
		0x9a6c9329ac4bc9b5 };
	uint64_t ones = _i == 2 ? UINT64_MAX : 0xffffffff, got;
	struct checksum c;
	uint8_t data[48], raw[CHECKSUM_MAX];
	size_t len, cut, i, off;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * i * 7 + 3);
	checksum_init(&c, (enum checksum_alg)_i);
	for (off = 0; off < 8; off++)
		for (len = 0; len <= 40; len++)
			for (cut = 0; cut <= len; cut++) {
				checksum_update(&c, data + off, cut);
				checksum_update(&c, data + off + cut,
				    len - cut);
				checksum_final(&c, raw);
				for (got = 0, i = 0; i < checksum_len(c.alg);
				     i++)
					got = got << 8 | raw[i];
				ck_assert_uint_eq(got,
				    crc_slow(polys[_i], ones, data + off, len));
			}
	checksum_fini(&c);
}
END_TEST

START_TEST(test_text)
{
	static char a[66560];
	char text[CHECKSUM_TEXT_SIZE];
	struct checksum c;

	/* The value in the S3 documentation's trailer example. */
	memset(a, 'a', sizeof(a));
	checksum_init(&c, CHECKSUM_CRC32C);
	checksum_update(&c, a, sizeof(a));
	checksum_final_text(&c, text);
	ck_assert_str_eq(text, "sOO8/Q==");
	checksum_fini(&c);
	checksum_init(&c, CHECKSUM_SHA256);
	checksum_final_text(&c, text);
	ck_assert_str_eq(text, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
	checksum_fini(&c);
}
END_TEST

START_TEST(test_names)
{
	enum checksum_alg alg;

	ck_assert_int_eq(checksum_by_name("CRC64NVME", &alg), 0);
	ck_assert_int_eq(alg, CHECKSUM_CRC64NVME);
	ck_assert_int_eq(checksum_by_name("md5", &alg), -1);
	ck_assert_int_eq(checksum_by_name("", &alg), -1);
	ck_assert_int_eq(checksum_by_name("crc32 ", &alg), -1);
	ck_assert_int_eq(checksum_by_header("X-Amz-Checksum-SHA1", &alg), 0);
	ck_assert_int_eq(checksum_by_header("x-amz-checksum-", &alg), -1);
	ck_assert_int_eq(checksum_by_header("x-amz-checksum-mode", &alg), -1);
	ck_assert_int_eq(checksum_by_header("crc32", &alg), -1);
}
END_TEST

START_TEST(test_crc32c)
{
	uint32_t v;

	ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283);
	v = crc32c(0, "1234", 4);
	ck_assert_uint_eq(crc32c(v, "56789", 5), 0xe3069283);
	ck_assert_uint_eq(crc32c(0, "", 0), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("checksum");
	TCase *tc = tcase_create("checksum");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_known, 0,
	    (int)(sizeof(known) / sizeof(known[0])));
	tcase_add_loop_test(tc, test_splits, 0, 3);
	tcase_add_test(tc, test_text);
	tcase_add_test(tc, test_names);
	tcase_add_test(tc, test_crc32c);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
