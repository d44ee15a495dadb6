/*
 * The worked examples of the S3 API reference as values, and what the
 * published vectors do not cover.
 */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "run_suite.h"
#include "sigv4.h"

#define AK    "AKIAIOSFODNN7EXAMPLE"
#define SK    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define TIME  "20130524T000000Z"
#define SCOPE "20130524/us-east-1/s3/aws4_request"
#define HOST  "examplebucket.s3.amazonaws.com"

static struct qo_sigv4_signer *signer;
static const struct qo_sigv4_cred cred = { AK, SK, NULL };
static struct buf out;

static void
setup(void)
{
	signer = qo_sigv4_new();
	buf_init(&out, 65536);
}

static void
teardown(void)
{
	qo_sigv4_free(signer);
	qo_sigv4_free(NULL);
	buf_fini(&out);
}

static struct qo_sigv4_req
doc_req(const char *method, const char *path, const char *query,
    const struct qo_kv *headers, size_t n, const char *payload)
{
	struct qo_sigv4_req r = { 0 };

	r.method = method;
	r.path = path;
	r.query = query;
	r.headers = headers;
	r.nheaders = n;
	r.payload_hash = payload;
	r.region = "us-east-1";
	r.service = "s3";
	ck_assert_int_eq(qo_amzdate_parse(TIME, strlen(TIME), &r.time), 0);
	return r;
}

#define WELCOME \
	"44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"

static const struct {
	const char *method, *path, *query, *payload, *want;
	struct qo_kv headers[6];
	size_t n;
} doc[] = {
	{ "GET", "/test.txt", "", QO_SHA256_EMPTY,
	    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
	    { { "host", HOST }, { "range", "bytes=0-9" },
		{ "x-amz-content-sha256", QO_SHA256_EMPTY },
		{ "x-amz-date", TIME } },
	    4 },
	{ "PUT", "/test$file.text", NULL, WELCOME,
	    "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
	    { { "x-amz-storage-class", "REDUCED_REDUNDANCY" },
		{ "date", "Fri, 24 May 2013 00:00:00 GMT" }, { "host", HOST },
		{ "x-amz-date", TIME }, { "x-amz-content-sha256", WELCOME } },
	    5 },
	{ "PUT", "/test%24file.text", "", WELCOME,
	    "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
	    { { "date", " Fri, 24 May  2013 00:00:00 GMT\t" }, { "host", HOST },
		{ "x-amz-content-sha256", WELCOME }, { "x-amz-date", TIME },
		{ "x-amz-storage-class", "REDUCED_REDUNDANCY" } },
	    5 },
	{ "GET", "/", "lifecycle", QO_SHA256_EMPTY,
	    "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
	    { { "host", HOST }, { "x-amz-content-sha256", QO_SHA256_EMPTY },
		{ "x-amz-date", TIME } },
	    3 },
	{ "GET", "", "prefix=J&max-keys=2", QO_SHA256_EMPTY,
	    "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
	    { { "host", HOST }, { "x-amz-content-sha256", QO_SHA256_EMPTY },
		{ "x-amz-date", TIME } },
	    3 },
};

START_TEST(test_doc_header)
{
	struct qo_sigv4_req r;
	char sig[QO_SIGV4_SIG_SIZE];

	r = doc_req(doc[_i].method, doc[_i].path, doc[_i].query,
	    doc[_i].headers, doc[_i].n, doc[_i].payload);
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, SK, sig), 0);
	ck_assert_str_eq(sig, doc[_i].want);
}
END_TEST

START_TEST(test_doc_authorization)
{
	struct qo_sigv4_req r;
	char sig[QO_SIGV4_SIG_SIZE];

	r = doc_req("GET", "/test.txt", "", doc[0].headers, doc[0].n,
	    QO_SHA256_EMPTY);
	ck_assert_int_eq(qo_sigv4_authorization(signer, &r, &cred, &out, sig),
	    0);
	ck_assert_str_eq(out.data,
	    "AWS4-HMAC-SHA256 Credential=" AK "/" SCOPE ", "
	    "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
	    "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6"
	    "036bdb41");
	ck_assert_str_eq(sig, doc[0].want);
	ck_assert_str_eq(qo_sigv4_last_string(signer),
	    "AWS4-HMAC-SHA256\n" TIME "\n" SCOPE
	    "\n7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc4396494697"
	    "2");
}
END_TEST

START_TEST(test_doc_presign)
{
	const struct qo_kv host = { "host", HOST };
	struct qo_sigv4_req r;

	r = doc_req("GET", "/test.txt", NULL, &host, 1, NULL);
	ck_assert_int_eq(qo_sigv4_presign(signer, &r, &cred, 86400, &out), 0);
	ck_assert_str_eq(out.data,
	    "X-Amz-Algorithm=AWS4-HMAC-SHA256"
	    "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3"
	    "%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"
	    "&X-Amz-SignedHeaders=host&X-Amz-Signature="
	    "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}
END_TEST

START_TEST(test_presign_more)
{
	const struct qo_kv h[] = { { "if-match", "\"abc\"" },
		{ "host", HOST } };
	const struct qo_sigv4_cred with = { AK, SK, "tok/en+=" };
	struct qo_sigv4_req r;

	r = doc_req("PUT", "/k", "versionId=a/b", h, 2, NULL);
	ck_assert_int_eq(qo_sigv4_presign(signer, &r, &with, 604800, &out), 0);
	ck_assert_ptr_nonnull(strstr(out.data,
	    "&X-Amz-Expires=604800&X-Amz-Security-Token=tok%2Fen%2B%3D"
	    "&X-Amz-SignedHeaders=host%3Bif-match&versionId=a%2Fb"
	    "&X-Amz-Signature="));
	ck_assert_int_eq(qo_sigv4_presign(signer, &r, &with, 1, &out), 0);
	ck_assert_int_eq(qo_sigv4_presign(signer, &r, &with, 0, &out), -1);
	ck_assert_int_eq(qo_sigv4_presign(signer, &r, &with, -5, &out), -1);
	ck_assert_int_eq(qo_sigv4_presign(signer, &r, &with, 604801, &out), -1);
}
END_TEST

/* Seed, chunks and trailer signature of one streaming upload. */
static void
check_chain(struct qo_sigv4_req *r, const char *seed, const char *const want[3],
    const char *trailer)
{
	static char a[65536];
	static const size_t lens[] = { 65536, 1024, 0 };
	static const char line[] = "x-amz-checksum-crc32c:sOO8/Q==\n";
	struct qo_sigv4_chain c;
	uint8_t sha[SHA256_LEN];
	char sig[QO_SIGV4_SIG_SIZE];
	int i;

	memset(a, 'a', sizeof(a));
	ck_assert_int_eq(qo_sigv4_sign(signer, r, SK, sig), 0);
	ck_assert_str_eq(sig, seed);
	ck_assert_int_eq(qo_sigv4_chain_init(&c, signer, r, SK, sig), 0);
	for (i = 0; i < 3; i++) {
		sha256(a, lens[i], sha);
		qo_sigv4_chain_chunk(&c, sha);
		ck_assert_str_eq(c.last, want[i]);
	}
	if (trailer != NULL) {
		sha256(line, strlen(line), sha);
		qo_sigv4_chain_trailer(&c, sha);
		ck_assert_str_eq(c.last, trailer);
	}
	qo_sigv4_chain_fini(&c);
}

START_TEST(test_doc_streaming)
{
	static const char *const want[3] = { "ad80c730a21e5b8d04586a2213dd63b9a"
					     "0e99e0e2307b0ade35a65485a288648",
		"0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef54"
		"97",
		"b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449d"
		"f9" };
	static const char payload[] = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
	const struct qo_kv h[] = { { "host", "s3.amazonaws.com" },
		{ "x-amz-date", TIME },
		{ "x-amz-storage-class", "REDUCED_REDUNDANCY" },
		{ "x-amz-content-sha256", payload },
		{ "content-encoding", "aws-chunked" },
		{ "x-amz-decoded-content-length", "66560" },
		{ "content-length", "66824" } };
	struct qo_sigv4_req r;

	r = doc_req("PUT", "/examplebucket/chunkObject.txt", "", h, 7, payload);
	check_chain(&r,
	    "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
	    want, NULL);
}
END_TEST

START_TEST(test_doc_trailer)
{
	static const char *const want[3] = { "b474d8862b1487a5145d686f57f013e54"
					     "db672cee1c953b3010fb58501ef5aa2",
		"1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5"
		"c7",
		"2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f9"
		"92" };
	static const char payload[] =
	    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
	const struct qo_kv h[] = { { "host", "s3.amazonaws.com" },
		{ "x-amz-date", TIME },
		{ "x-amz-storage-class", "REDUCED_REDUNDANCY" },
		{ "x-amz-content-sha256", payload },
		{ "content-encoding", "aws-chunked" },
		{ "x-amz-decoded-content-length", "66560" },
		{ "x-amz-trailer", "x-amz-checksum-crc32c" } };
	struct qo_sigv4_req r;

	r = doc_req("PUT", "/examplebucket/chunkObject.txt", "", h, 7, payload);
	check_chain(&r,
	    "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
	    want,
	    "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435");
}
END_TEST

/* More keys than the cache has slots, in an order that evicts: a cached key
 * must never serve another secret, day, region or service. */
START_TEST(test_key_cache)
{
	static const char *const regions[] = { "us-east-1", "eu-west-1",
		"auto" };
	static const char *const secrets[] = { SK, "other", "wJalr" };
	char sig[QO_SIGV4_SIG_SIZE], want[QO_SIGV4_SIG_SIZE];
	struct qo_sigv4_signer *fresh;
	struct qo_sigv4_req r;
	int i, day, round;

	r = doc_req("GET", "/test.txt", "", doc[0].headers, doc[0].n,
	    QO_SHA256_EMPTY);
	for (round = 0; round < 4; round++)
		for (i = 0; i < 18; i++) {
			day = i / 9;
			r.time.us = (INT64_C(1369353600) + day * 86400) *
			    QO_US_PER_SEC;
			r.region = regions[i % 3];
			fresh = qo_sigv4_new();
			ck_assert_int_eq(qo_sigv4_sign(fresh, &r,
					     secrets[i / 3 % 3], want),
			    0);
			qo_sigv4_free(fresh);
			ck_assert_int_eq(qo_sigv4_sign(signer, &r,
					     secrets[i / 3 % 3], sig),
			    0);
			ck_assert_str_eq(sig, want);
		}
}
END_TEST

START_TEST(test_limits)
{
	struct qo_kv many[QO_SIGV4_HEADERS_MAX + 1];
	char sig[QO_SIGV4_SIG_SIZE], query[4 * QO_SIGV4_PARAMS_MAX], big[200];
	struct qo_sigv4_req r;
	size_t i;

	r = doc_req("GET", "/a%2", "", doc[0].headers, 1, QO_SHA256_EMPTY);
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, SK, sig), -1);
	r.path = "/";
	r.query = "a=%zz";
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, SK, sig), -1);
	r.query = query;
	for (i = 0; i < QO_SIGV4_PARAMS_MAX; i++)
		memcpy(query + 2 * i, "&a", 3);
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, SK, sig), 0);
	memcpy(query + 2 * i, "&a", 3);
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, SK, sig), -1);
	r.query = "";
	for (i = 0; i <= QO_SIGV4_HEADERS_MAX; i++)
		many[i] = (struct qo_kv){ "a", "b" };
	r.headers = many;
	r.nheaders = QO_SIGV4_HEADERS_MAX;
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, SK, sig), 0);
	r.nheaders++;
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, SK, sig), -1);
	r.nheaders = 1;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, big, sig), -1);
	big[QO_SIGV4_SECRET_SIZE - 1] = '\0';
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, big, sig), 0);
	r.region = big;
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, SK, sig), -1);
	r.region = "us-east-1";
	r.signed_headers = "a;gone";
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, SK, sig), -1);
}
END_TEST

/* A server signs from the list it was sent, a client all that it has. */
START_TEST(test_listed)
{
	const struct qo_kv h[] = { { "x-b", "1" }, { "host", HOST },
		{ "user-agent", "x" }, { "x-b", " 2  3 " } };
	const struct qo_kv mine[] = { { "host", HOST }, { "x-b", "1" },
		{ "x-b", "2 3" } };
	char sig[QO_SIGV4_SIG_SIZE], sig2[QO_SIGV4_SIG_SIZE];
	struct qo_sigv4_req r;

	r = doc_req("GET", "/", "", h, 4, QO_SHA256_EMPTY);
	r.signed_headers = "host;x-b";
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, SK, sig), 0);
	ck_assert_str_eq(qo_sigv4_last_canonical(signer),
	    "GET\n/\n\nhost:" HOST "\nx-b:1,2 3\n\nhost;x-b\n" QO_SHA256_EMPTY);
	r = doc_req("GET", "/", "", mine, 3, QO_SHA256_EMPTY);
	ck_assert_int_eq(qo_sigv4_sign(signer, &r, SK, sig2), 0);
	ck_assert_str_eq(sig, sig2);
}
END_TEST

static const struct {
	const char *query, *want;
	int flags;
} queries[] = {
	{ "a=1&a-b=2&a%2Db=1&A=3", "A=3&a=1&a-b=1&a-b=2", 0 },
	{ "b&a", "a=&b=", 0 },
	{ "a=+&a=%2b", "a=%2B&a=%2B", 0 },
	{ "a=+&a=%2b", "a=%20&a=%2B", QO_SIGV4_PLUS_SPACE },
	{ "X-Amz-Signature=1&a=2", "a=2", QO_SIGV4_PRESIGNED },
	{ "X-Amz%2DSignature=1", "", QO_SIGV4_PRESIGNED },
	{ "X-Amz-Signature=1&a=2", "X-Amz-Signature=1&a=2", 0 },
	{ "&&a==&&", "a=%3D", 0 },
	{ "%00=%ff", "%00=%FF", 0 },
};

START_TEST(test_query)
{
	struct qo_sigv4_canon at;
	struct qo_sigv4_req r;

	r = doc_req("GET", "/", queries[_i].query, NULL, 0, "-");
	r.flags = queries[_i].flags;
	ck_assert_int_eq(qo_sigv4_canonical(&out, &r, &at), 0);
	buf_truncate(&out, at.query + at.query_len);
	ck_assert_str_eq(out.data + at.query, queries[_i].want);
}
END_TEST

static const struct {
	const char *path, *s3, *other;
} paths[] = {
	{ "", "/", "/" },
	{ "/", "/", "/" },
	{ "//a//b/", "//a//b/", "/a/b/" },
	{ "/a/./b/../c", "/a/./b/../c", "/a/c" },
	{ "/a/..", "/a/..", "/" },
	{ "/../../a/.", "/../../a/.", "/a/" },
	{ "/a/b/..", "/a/b/..", "/a/" },
	{ "/a%20b$", "/a%20b%24", "/a%2520b%24" },
	{ "/a%2fb+", "/a/b%2B", "/a%252fb%2B" },
};

START_TEST(test_path)
{
	struct qo_sigv4_canon at;
	struct qo_sigv4_req r;

	r = doc_req("", paths[_i].path, "", NULL, 0, "-");
	ck_assert_int_eq(qo_sigv4_canonical(&out, &r, &at), 0);
	buf_truncate(&out, at.query - 1);
	ck_assert_str_eq(out.data + 1, paths[_i].s3);
	buf_reset(&out);
	r.flags = QO_SIGV4_NORMALIZE;
	ck_assert_int_eq(qo_sigv4_canonical(&out, &r, &at), 0);
	buf_truncate(&out, at.query - 1);
	ck_assert_str_eq(out.data + 1, paths[_i].other);
}
END_TEST

/* Every size that is too small is an error, not an overrun. */
START_TEST(test_full)
{
	struct qo_sigv4_canon at;
	struct qo_sigv4_req r;
	struct buf small;
	size_t need, i;
	int flags;

	r = doc_req("GET", "/a/../b/c/", "b=2&a=1", doc[1].headers, doc[1].n,
	    QO_SHA256_EMPTY);
	for (flags = 0; flags <= QO_SIGV4_NORMALIZE; flags++) {
		r.flags = flags;
		buf_reset(&out);
		ck_assert_int_eq(qo_sigv4_canonical(&out, &r, &at), 0);
		need = out.len;
		for (i = 0; i < need; i++) {
			buf_init(&small, i);
			ck_assert_int_eq(qo_sigv4_canonical(&small, &r, &at),
			    -1);
			buf_fini(&small);
		}
	}
}
END_TEST

#define N(a) (int)(sizeof(a) / sizeof((a)[0]))

int
main(void)
{
	Suite *s = suite_create("sigv4");
	TCase *tc = tcase_create("sigv4");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_doc_header, 0, N(doc));
	tcase_add_test(tc, test_doc_authorization);
	tcase_add_test(tc, test_doc_presign);
	tcase_add_test(tc, test_presign_more);
	tcase_add_test(tc, test_doc_streaming);
	tcase_add_test(tc, test_doc_trailer);
	tcase_add_test(tc, test_key_cache);
	tcase_add_test(tc, test_limits);
	tcase_add_test(tc, test_listed);
	tcase_add_loop_test(tc, test_query, 0, N(queries));
	tcase_add_loop_test(tc, test_path, 0, N(paths));
	tcase_add_test(tc, test_full);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
