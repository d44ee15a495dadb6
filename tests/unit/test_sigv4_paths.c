/*
 * Check 34: a wrong signature and an unknown key take the same path.  Every
 * hash that verifying computes is counted; bench/store_timing measures the
 * time of both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "hash.h"
#include "run_suite.h"
#include "sigv4_verify.h"

#define SECRET "0123456789abcdefghijklmnopqrstuvwxyzABCD"
#define DATE   "20260301T120000Z"

static unsigned hmacs, hashes;

void __real_hmac_sha256(const struct hmac_key *k, const void *p, size_t len,
    uint8_t out[SHA256_LEN]);
void __wrap_hmac_sha256(const struct hmac_key *k, const void *p, size_t len,
    uint8_t out[SHA256_LEN]);
void __real_sha256_hex(const void *p, size_t len, char out[2 * SHA256_LEN + 1]);
void __wrap_sha256_hex(const void *p, size_t len, char out[2 * SHA256_LEN + 1]);

void
__wrap_hmac_sha256(const struct hmac_key *k, const void *p, size_t len,
    uint8_t out[SHA256_LEN])
{
	hmacs++;
	__real_hmac_sha256(k, p, len, out);
}

void
__wrap_sha256_hex(const void *p, size_t len, char out[2 * SHA256_LEN + 1])
{
	hashes++;
	__real_sha256_hex(p, len, out);
}

/* Counts one verification of a signature that nobody made. */
static void
verify(struct qo_sigv4_signer *s, const char *secret,
    enum qo_sigv4_verdict want)
{
	static const struct qo_sigv4_rules rules = { "us-east-1", false };
	struct qo_kv headers[] = {
		{ "host", "127.0.0.1:9710" },
		{ "x-amz-content-sha256", QO_SHA256_EMPTY },
		{ "x-amz-date", DATE },
		{ "authorization",
		    "AWS4-HMAC-SHA256 Credential=KEY/20260301/us-east-1/s3/"
		    "aws4_request,SignedHeaders=host;x-amz-content-sha256;"
		    "x-amz-date,Signature=" QO_SHA256_EMPTY },
	};
	struct qo_sigv4_got got = { "GET", "/b/k", "", headers, 4, true };
	struct qo_sigv4_auth a;
	struct qo_wall now;

	ck_assert_int_eq(qo_amzdate_parse(DATE, strlen(DATE), &now), 0);
	hmacs = hashes = 0;
	ck_assert_int_eq(qo_sigv4_parse(&got, &rules, now, &a), QO_SIGV4_OK);
	ck_assert_int_eq(qo_sigv4_check(s, &got, &a, secret, NULL), want);
}

START_TEST(test_34_same_number_of_hashes)
{
	struct qo_sigv4_signer *s;
	unsigned cold, warm, canon;

	s = qo_sigv4_new();
	verify(s, SECRET, QO_SIGV4_MISMATCH);
	cold = hmacs;
	canon = hashes;
	verify(s, SECRET, QO_SIGV4_MISMATCH);
	warm = hmacs;
	/* Four to derive the key and one to sign. */
	ck_assert_uint_eq(cold, 5);
	ck_assert_uint_eq(warm, 1);
	ck_assert_uint_eq(canon, 1);
	verify(s, NULL, QO_SIGV4_KEY_UNKNOWN);
	ck_assert_uint_eq(hmacs, cold);
	ck_assert_uint_eq(hashes, canon);
	verify(s, NULL, QO_SIGV4_KEY_UNKNOWN);
	ck_assert_uint_eq(hmacs, warm);
	ck_assert_uint_eq(hashes, canon);
	qo_sigv4_free(s);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("sigv4_paths");
	TCase *tc = tcase_create("paths");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, test_34_same_number_of_hashes);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
