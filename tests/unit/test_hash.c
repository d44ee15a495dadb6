#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "encode.h"
#include "hash.h"
#include "run_suite.h"

static const struct {
	enum hash_alg alg;
	const char *text, *want;
} known[] = {
	{ HASH_SHA256, "",
	    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85"
	    "5" },
	{ HASH_SHA256, "abc",
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a"
	    "d" },
	{ HASH_SHA1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
	{ HASH_SHA1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d" },
	{ HASH_MD5, "", "d41d8cd98f00b204e9800998ecf8427e" },
	{ HASH_MD5, "abc", "900150983cd24fb0d6963f7d28e17f72" },
};

START_TEST(test_known)
{
	uint8_t md[HASH_MAX], md2[HASH_MAX];
	char hex[HEX_SIZE(HASH_MAX)];
	struct hash h;
	size_t i, len = strlen(known[_i].text);
	int round;

	hash_bytes(known[_i].alg, known[_i].text, len, md);
	hex_encode(hex, md, hash_len(known[_i].alg));
	ck_assert_str_eq(hex, known[_i].want);

	hash_init(&h, known[_i].alg);
	hash_update(&h, "to be forgotten", 15);
	hash_reset(&h);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < len; i++)
			hash_update(&h, known[_i].text + i, 1);
		hash_final(&h, md2);
		ck_assert_mem_eq(md, md2, hash_len(known[_i].alg));
	}
	hash_fini(&h);
	hash_fini(&h);
}
END_TEST

/* RFC 4231, cases 1, 2, 3 and 6. */
START_TEST(test_hmac)
{
	struct hmac_key k;
	uint8_t md[SHA256_LEN], key[131], data[50];
	char hex[HEX_SIZE(SHA256_LEN)];

	memset(key, 0x0b, 20);
	hmac_key_set(&k, key, 20);
	hmac_sha256(&k, "Hi There", 8, md);
	hex_encode(hex, md, sizeof(md));
	ck_assert_str_eq(hex,
	    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	hmac_key_set(&k, "Jefe", 4);
	hmac_sha256(&k, "what do ya want for nothing?", 28, md);
	hex_encode(hex, md, sizeof(md));
	ck_assert_str_eq(hex,
	    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	memset(data, 0xdd, sizeof(data));
	hmac_key_set(&k, key, 20);
	hmac_sha256(&k, data, sizeof(data), md);
	hex_encode(hex, md, sizeof(md));
	ck_assert_str_eq(hex,
	    "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
	hmac_key_set(&k, key, 131);
	hmac_sha256(&k,
	    "Test Using Larger Than Block-Size Key - Hash Key First", 54, md);
	hex_encode(hex, md, sizeof(md));
	ck_assert_str_eq(hex,
	    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}
END_TEST

static void *
hash_many(void *arg)
{
	char hex[HEX_SIZE(SHA256_LEN)];
	int i, *bad = arg;

	for (i = 0; i < 2000; i++) {
		sha256_hex("abc", 3, hex);
		if (strcmp(hex, known[1].want) != 0)
			++*bad;
	}
	return NULL;
}

/* The first use in the process happens in four threads at once. */
START_TEST(test_threads)
{
	pthread_t t[4];
	int bad[4] = { 0 }, i;

	for (i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, hash_many,
				     &bad[i]),
		    0);
	for (i = 0; i < 4; i++) {
		ck_assert_int_eq(pthread_join(t[i], NULL), 0);
		ck_assert_int_eq(bad[i], 0);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("hash");
	TCase *tc = tcase_create("hash");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, test_threads);
	tcase_add_loop_test(tc, test_known, 0,
	    (int)(sizeof(known) / sizeof(known[0])));
	tcase_add_test(tc, test_hmac);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
