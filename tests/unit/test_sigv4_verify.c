#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "run_suite.h"
#include "sigv4_verify.h"
#include "uri.h"

#define AK    "AKIAIOSFODNN7EXAMPLE"
#define SK    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define TIME  "20130524T000000Z"
#define SCOPE "20130524/us-east-1/s3/aws4_request"
#define SIG64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TOKEN "tok/en+="

#define NHEADERS 16

static const struct qo_sigv4_cred cred = { AK, SK, NULL };
static const struct qo_sigv4_rules rules = { "us-east-1", false };
static struct qo_sigv4_signer *signer;
static struct qo_wall now;
static struct buf auth;

/* A request with room to be spoiled. */
static struct request {
	char method[16], path[128], query[1024];
	char names[NHEADERS][64], values[NHEADERS][512];
	struct qo_kv headers[NHEADERS];
	struct qo_sigv4_got got;
} rq;

static void
setup(void)
{
	signer = qo_sigv4_new();
	buf_init(&auth, 4096);
	ck_assert_int_eq(qo_amzdate_parse(TIME, strlen(TIME), &now), 0);
	memset(&rq, 0, sizeof(rq));
	rq.got.method = rq.method;
	rq.got.path = rq.path;
	rq.got.query = rq.query;
	rq.got.headers = rq.headers;
}

static void
teardown(void)
{
	qo_sigv4_free(signer);
	buf_fini(&auth);
}

static void
add(const char *name, const char *value)
{
	size_t n = rq.got.nheaders++;

	ck_assert_uint_lt(n, NHEADERS);
	strlcpy(rq.names[n], name, sizeof(rq.names[n]));
	strlcpy(rq.values[n], value, sizeof(rq.values[n]));
	rq.headers[n] = (struct qo_kv){ rq.names[n], rq.values[n] };
}

static void
line(const char *method, const char *path, const char *query)
{
	strlcpy(rq.method, method, sizeof(rq.method));
	strlcpy(rq.path, path, sizeof(rq.path));
	strlcpy(rq.query, query, sizeof(rq.query));
}

static struct qo_sigv4_req
to_sign(const char *payload)
{
	struct qo_sigv4_req r = { 0 };

	r.method = rq.method;
	r.path = rq.path;
	r.query = rq.query;
	r.headers = rq.headers;
	r.nheaders = rq.got.nheaders;
	r.payload_hash = payload;
	r.region = "us-east-1";
	r.service = "s3";
	r.time = now;
	return r;
}

static void
base(void)
{
	line("PUT", "/bucket/a%20b/%C3%BC+$", "versionId=a%2Fb&tagging&x=1 2");
	add("if-match", "\"0123\"");
	add("host", "127.0.0.1:9710");
	add("x-amz-content-sha256", SIG64);
	add("content-type", "text/plain; charset=utf-8");
	add("x-amz-date", TIME);
	add("x-amz-meta-a", "one two");
	add("x-amz-meta-a", "three");
}

/* Signs what stands in rq, all headers. */
static void
sign_header(void)
{
	struct qo_sigv4_req r = to_sign(SIG64);

	buf_reset(&auth);
	ck_assert_int_eq(qo_sigv4_authorization(signer, &r, &cred, &auth, NULL),
	    0);
	add("authorization", auth.data);
	add("user-agent", "unsigned");
	add("amz-sdk-request", "attempt=1");
}

static void
sign_query(int64_t expires_s, const char *token)
{
	struct qo_sigv4_req r = to_sign(NULL);
	struct qo_sigv4_cred c = cred;

	c.session_token = token;
	buf_reset(&auth);
	ck_assert_int_eq(qo_sigv4_presign(signer, &r, &c, expires_s, &auth), 0);
	strlcpy(rq.query, auth.data, sizeof(rq.query));
}

static enum qo_sigv4_verdict
verify(struct qo_sigv4_auth *a)
{
	enum qo_sigv4_verdict v;

	v = qo_sigv4_parse(&rq.got, &rules, now, a);
	if (v != QO_SIGV4_OK)
		return v;
	return qo_sigv4_check(signer, &rq.got, a,
	    strcmp(a->access_key, AK) == 0 ? SK : NULL, NULL);
}

START_TEST(test_round_trip)
{
	struct qo_sigv4_auth a;

	base();
	sign_header();
	ck_assert_int_eq(verify(&a), QO_SIGV4_OK);
	ck_assert(!a.presigned);
	ck_assert_str_eq(a.access_key, AK);
	ck_assert_str_eq(a.region, "us-east-1");
	ck_assert_int_eq(a.payload, QO_PAYLOAD_HASH);
	ck_assert_str_eq(a.payload_hash, SIG64);
	ck_assert_str_eq(a.session_token, "");
	ck_assert_int_eq(qo_sigv4_check(signer, &rq.got, &a, NULL, NULL),
	    QO_SIGV4_KEY_UNKNOWN);
	ck_assert_int_eq(qo_sigv4_check(signer, &rq.got, &a, SK "x", NULL),
	    QO_SIGV4_MISMATCH);
	ck_assert_int_eq(qo_sigv4_check(signer, &rq.got, &a, "", NULL),
	    QO_SIGV4_MISMATCH);
}
END_TEST

/* Knowing what unknown keys are compared with must not help. */
START_TEST(test_nobody)
{
	struct qo_sigv4_req r;
	struct qo_sigv4_auth a;

	base();
	r = to_sign(SIG64);
	ck_assert_int_eq(qo_sigv4_authorization(signer, &r,
			     &(struct qo_sigv4_cred){ "NOBODY",
				 "0000000000000000000000000000000000000000",
				 NULL },
			     &auth, NULL),
	    0);
	add("authorization", auth.data);
	ck_assert_int_eq(verify(&a), QO_SIGV4_KEY_UNKNOWN);
}
END_TEST

START_TEST(test_presigned)
{
	struct qo_sigv4_auth a;

	line("GET", "/b/k", "versionId=1");
	add("host", "h");
	add("if-match", "\"e\"");
	sign_query(60, TOKEN);
	add("user-agent", "browser");
	ck_assert_int_eq(verify(&a), QO_SIGV4_OK);
	ck_assert(a.presigned);
	ck_assert_int_eq(a.expires_s, 60);
	ck_assert_int_eq(a.payload, QO_PAYLOAD_UNSIGNED);
	ck_assert_str_eq(a.session_token, TOKEN);
	add("x-amz-acl", "public-read");
	ck_assert_int_eq(verify(&a), QO_SIGV4_UNSIGNED);
}
END_TEST

/* Do two texts say the same once decoded? */
static bool
same_meaning(const char *a, const char *b)
{
	struct uri_query qa, qb;
	size_t i;
	bool same = false;

	if (uri_query_parse(&qa, a, 64, 0) == 0 &&
	    uri_query_parse(&qb, b, 64, 0) == 0) {
		same = qa.n == qb.n;
		for (i = 0; same && i < qa.n; i++)
			same = qa.pairs[i].name_len == qb.pairs[i].name_len &&
			    memcmp(qa.pairs[i].name, qb.pairs[i].name,
				qa.pairs[i].name_len) == 0 &&
			    qa.pairs[i].value_len == qb.pairs[i].value_len &&
			    memcmp(qa.pairs[i].value, qb.pairs[i].value,
				qa.pairs[i].value_len) == 0;
		uri_query_fini(&qb);
	}
	uri_query_fini(&qa);
	return same;
}

/* Flips each bit of s in turn; every request that then says something else
 * must be refused.  Returns how many were tried. */
static int
flip_all(char *s, bool coded)
{
	struct qo_sigv4_auth a;
	char was[1024];
	size_t i, len = strlen(s);
	int bit, n = 0;

	strlcpy(was, s, sizeof(was));
	for (i = 0; i < len; i++)
		for (bit = 0; bit < 8; bit++) {
			s[i] = (char)(s[i] ^ 1 << bit);
			if (!coded || !same_meaning(was, s)) {
				ck_assert_msg(verify(&a) != QO_SIGV4_OK,
				    "accepted \"%s\" for \"%s\"", s, was);
				n++;
			}
			s[i] = was[i];
		}
	ck_assert_int_eq(verify(&a), QO_SIGV4_OK);
	return n;
}

START_TEST(test_flips_header)
{
	size_t i, signed_n;
	int n = 0;

	base();
	signed_n = rq.got.nheaders;
	sign_header();
	n += flip_all(rq.method, false);
	n += flip_all(rq.path, true);
	n += flip_all(rq.query, true);
	/* And the Authorization header behind them. */
	for (i = 0; i <= signed_n; i++)
		n += flip_all(rq.values[i], false);
	for (i = 0; i < signed_n; i++)
		n += flip_all(rq.names[i], false);
	ck_assert_int_gt(n, 4000);
}
END_TEST

START_TEST(test_flips_query)
{
	int n = 0;

	line("GET", "/b/k%20", "versionId=1");
	add("host", "h:1");
	add("if-match", "\"e\"");
	sign_query(604800, TOKEN);
	n += flip_all(rq.method, false);
	n += flip_all(rq.path, true);
	n += flip_all(rq.query, true);
	n += flip_all(rq.values[0], false);
	n += flip_all(rq.values[1], false);
	ck_assert_int_gt(n, 2000);
}
END_TEST

/* Removing or doubling a signed header is a change, too. */
START_TEST(test_remove_double)
{
	struct qo_sigv4_auth a;
	struct qo_kv kept;
	size_t i, n, last;

	base();
	n = rq.got.nheaders;
	sign_header();
	last = rq.got.nheaders - 1;
	for (i = 0; i < n; i++) {
		kept = rq.headers[i];
		rq.headers[i] = rq.headers[last];
		ck_assert_int_ne(verify(&a), QO_SIGV4_OK);
		rq.headers[i] = kept;
		kept = rq.headers[last];
		rq.headers[last] = rq.headers[i];
		ck_assert_int_ne(verify(&a), QO_SIGV4_OK);
		rq.headers[last] = kept;
	}
	ck_assert_int_eq(verify(&a), QO_SIGV4_OK);
	rq.headers[last] = (struct qo_kv){ "x-amz-acl", "public-read" };
	ck_assert_int_eq(verify(&a), QO_SIGV4_UNSIGNED);
	rq.headers[last] = (struct qo_kv){ "authorization", "AWS4" };
	ck_assert_int_eq(verify(&a), QO_SIGV4_HEADER_BAD);
}
END_TEST

/* Not even one that was empty can be taken away. */
START_TEST(test_remove_empty)
{
	struct qo_sigv4_auth a;
	size_t n;

	base();
	n = rq.got.nheaders;
	add("if-none-match", "");
	sign_header();
	ck_assert_int_eq(verify(&a), QO_SIGV4_OK);
	rq.headers[n].name = "via";
	ck_assert_int_eq(verify(&a), QO_SIGV4_MISMATCH);
}
END_TEST

START_TEST(test_skew)
{
	struct qo_wall t = now;
	struct qo_sigv4_auth a;

	base();
	sign_header();
	now.us = t.us + QO_SIGV4_SKEW_US;
	ck_assert_int_eq(verify(&a), QO_SIGV4_OK);
	now.us++;
	ck_assert_int_eq(verify(&a), QO_SIGV4_SKEWED);
	now.us = t.us - QO_SIGV4_SKEW_US;
	ck_assert_int_eq(verify(&a), QO_SIGV4_OK);
	now.us--;
	ck_assert_int_eq(verify(&a), QO_SIGV4_SKEWED);
}
END_TEST

START_TEST(test_window)
{
	struct qo_wall t = now;
	struct qo_sigv4_auth a;

	line("GET", "/b/k", "");
	add("host", "h");
	sign_query(3600, NULL);
	now.us = t.us + 3600 * QO_US_PER_SEC;
	ck_assert_int_eq(verify(&a), QO_SIGV4_OK);
	now.us++;
	ck_assert_int_eq(verify(&a), QO_SIGV4_EXPIRED);
	now.us = t.us - QO_SIGV4_SKEW_US;
	ck_assert_int_eq(verify(&a), QO_SIGV4_OK);
	now.us--;
	ck_assert_int_eq(verify(&a), QO_SIGV4_NOT_YET);
}
END_TEST

#define A4(c, h, s) \
	"AWS4-HMAC-SHA256 Credential=" c ", SignedHeaders=" h ", Signature=" s
#define H4 "host;x-amz-content-sha256;x-amz-date"

static const struct {
	const char *auth;
	enum qo_sigv4_verdict want;
} auths[] = {
	{ A4(AK "/" SCOPE, H4, SIG64), QO_SIGV4_OK },
	{ "AWS4-HMAC-SHA256 Credential=" AK "/" SCOPE ",SignedHeaders=" H4
	  ",Signature=" SIG64,
	    QO_SIGV4_OK },
	{ "AWS4-HMAC-SHA256   Signature=" SIG64 " ,  SignedHeaders=" H4
	  ",\tCredential=" AK "/" SCOPE " ",
	    QO_SIGV4_OK },
	{ "", QO_SIGV4_ALGORITHM_BAD },
	{ "Basic abc", QO_SIGV4_ALGORITHM_BAD },
	{ "AWS4-HMAC-SHA1 x", QO_SIGV4_ALGORITHM_BAD },
	{ "aws4-hmac-sha256 x", QO_SIGV4_ALGORITHM_BAD },
	{ "AWS4-HMAC-SHA256", QO_SIGV4_HEADER_BAD },
	{ "AWS4-HMAC-SHA256 ", QO_SIGV4_HEADER_BAD },
	{ "AWS " AK ":c2lnbmF0dXJl", QO_SIGV4_V2 },
	{ "AWS4-ECDSA-P256-SHA256 Credential=x", QO_SIGV4_V4A },
	{ "AWS4-HMAC-SHA256 Credential=" AK "/" SCOPE ", SignedHeaders=" H4,
	    QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, H4, SIG64) ", X=y", QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, H4, SIG64) ",", QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, H4, SIG64) ", Signature=" SIG64,
	    QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, H4, SIG64 "0"), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, H4, "0123"), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, H4,
	      "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcde"
	      "f"),
	    QO_SIGV4_HEADER_BAD },
	{ A4("/" SCOPE, H4, SIG64), QO_SIGV4_HEADER_BAD },
	{ A4(SCOPE, H4, SIG64), QO_SIGV4_HEADER_BAD },
	{ A4("a/" AK "/" SCOPE, H4, SIG64), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE "/", H4, SIG64), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/2013052/us-east-1/s3/aws4_request", H4, SIG64),
	    QO_SIGV4_HEADER_BAD },
	{ A4(AK "/2013052x/us-east-1/s3/aws4_request", H4, SIG64),
	    QO_SIGV4_HEADER_BAD },
	{ A4(AK "/20130524//s3/aws4_request", H4, SIG64), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/20130524/us-east-1/s3/aws4_reques", H4, SIG64),
	    QO_SIGV4_HEADER_BAD },
	{ A4(AK "/20130525/us-east-1/s3/aws4_request", H4, SIG64),
	    QO_SIGV4_SCOPE_BAD },
	{ A4(AK "/20130524/us-west-1/s3/aws4_request", H4, SIG64),
	    QO_SIGV4_REGION_BAD },
	{ A4(AK "/20130524/us-east-1/sts/aws4_request", H4, SIG64),
	    QO_SIGV4_SERVICE_BAD },
	{ A4(AK "/" SCOPE, "", SIG64), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, "host;", SIG64), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, ";host", SIG64), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, "host;;x", SIG64), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, "host;host", SIG64), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, "x-amz-date;host", SIG64), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, "Host;x-amz-date", SIG64), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, "hos t", SIG64), QO_SIGV4_HEADER_BAD },
	{ A4(AK "/" SCOPE, "x-amz-content-sha256;x-amz-date", SIG64),
	    QO_SIGV4_UNSIGNED },
	{ A4(AK "/" SCOPE, "host;x-amz-date", SIG64), QO_SIGV4_UNSIGNED },
	{ A4(AK "/" SCOPE, "host;x-amz-content-sha25;x-amz-date", SIG64),
	    QO_SIGV4_UNSIGNED },
};

START_TEST(test_auths)
{
	struct qo_sigv4_auth a;
	enum qo_sigv4_verdict v;

	line("GET", "/", "");
	add("host", "h");
	add("x-amz-date", TIME);
	add("x-amz-content-sha256", QO_SHA256_EMPTY);
	add("authorization", auths[_i].auth);
	v = qo_sigv4_parse(&rq.got, &rules, now, &a);
	ck_assert_int_eq(v, auths[_i].want);
}
END_TEST

#define Q_ALG "X-Amz-Algorithm=AWS4-HMAC-SHA256"
#define Q_CRED \
	"&X-Amz-Credential=" AK "%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
#define Q_DATE "&X-Amz-Date=" TIME
#define Q_HDR  "&X-Amz-SignedHeaders=host"
#define Q_SIG  "&X-Amz-Signature=" SIG64
#define Q_EXP  "&X-Amz-Expires="

static const struct {
	const char *query;
	enum qo_sigv4_verdict want;
} queries[] = {
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "60", QO_SIGV4_OK },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "604800", QO_SIGV4_OK },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "0", QO_SIGV4_OK },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "604801", QO_SIGV4_QUERY_BAD },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "-1", QO_SIGV4_QUERY_BAD },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "", QO_SIGV4_QUERY_BAD },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "1x", QO_SIGV4_QUERY_BAD },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "1%00", QO_SIGV4_QUERY_BAD },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "99999999999999999999",
	    QO_SIGV4_QUERY_BAD },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "60" Q_EXP "61",
	    QO_SIGV4_QUERY_BAD },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG, QO_SIGV4_QUERY_BAD },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_EXP "60", QO_SIGV4_QUERY_BAD },
	{ Q_ALG Q_CRED Q_DATE Q_SIG Q_EXP "60", QO_SIGV4_QUERY_BAD },
	{ Q_ALG Q_CRED Q_HDR Q_SIG Q_EXP "60", QO_SIGV4_QUERY_BAD },
	{ Q_ALG Q_DATE Q_HDR Q_SIG Q_EXP "60", QO_SIGV4_QUERY_BAD },
	{ Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "60", QO_SIGV4_QUERY_BAD },
	{ "X-Amz-Algorithm=AWS4-HMAC-SHA1" Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "60",
	    QO_SIGV4_QUERY_BAD },
	{ "X-Amz-Algorithm=AWS4-ECDSA-P256-SHA256" Q_SIG, QO_SIGV4_V4A },
	{ Q_ALG Q_CRED "&X-Amz-Date=20130524" Q_HDR Q_SIG Q_EXP "60",
	    QO_SIGV4_QUERY_BAD },
	{ Q_ALG Q_CRED "&X-Amz-Date=20130525T000000Z" Q_HDR Q_SIG Q_EXP "60",
	    QO_SIGV4_SCOPE_BAD },
	{ Q_ALG Q_CRED Q_DATE "&X-Amz-SignedHeaders=range" Q_SIG Q_EXP "60",
	    QO_SIGV4_UNSIGNED },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "60&X-Amz-Content-Sha256=x",
	    QO_SIGV4_PAYLOAD_BAD },
	{ Q_ALG Q_CRED Q_DATE Q_HDR Q_SIG Q_EXP "60&a=%", QO_SIGV4_QUERY_BAD },
	{ "AWSAccessKeyId=" AK "&Signature=x&Expires=1", QO_SIGV4_V2 },
	{ "AWSAccessKeyId=" AK "&Signature=x" Q_SIG, QO_SIGV4_BOTH },
	{ "Signature=x", QO_SIGV4_ANONYMOUS },
	{ "list-type=2", QO_SIGV4_ANONYMOUS },
	{ "", QO_SIGV4_ANONYMOUS },
};

START_TEST(test_queries)
{
	struct qo_sigv4_auth a;

	line("GET", "/b/k", queries[_i].query);
	add("host", "h");
	ck_assert_int_eq(qo_sigv4_parse(&rq.got, &rules, now, &a),
	    queries[_i].want);
	if (a.presigned && queries[_i].want == QO_SIGV4_OK) {
		add("authorization", auths[0].auth);
		ck_assert_int_eq(qo_sigv4_parse(&rq.got, &rules, now, &a),
		    QO_SIGV4_BOTH);
	}
}
END_TEST

static const struct {
	const char *hash;
	enum qo_sigv4_verdict want;
	enum qo_sigv4_payload payload;
} payloads[] = {
	{ SIG64, QO_SIGV4_OK, QO_PAYLOAD_HASH },
	{ "UNSIGNED-PAYLOAD", QO_SIGV4_OK, QO_PAYLOAD_UNSIGNED },
	{ "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", QO_SIGV4_OK,
	    QO_PAYLOAD_CHUNKED },
	{ "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", QO_SIGV4_OK,
	    QO_PAYLOAD_CHUNKED_TRAILER },
	{ "STREAMING-UNSIGNED-PAYLOAD-TRAILER", QO_SIGV4_OK,
	    QO_PAYLOAD_UNSIGNED_TRAILER },
	{ "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD", QO_SIGV4_PAYLOAD_ECDSA,
	    0 },
	{ "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER",
	    QO_SIGV4_PAYLOAD_ECDSA, 0 },
	{ "", QO_SIGV4_PAYLOAD_BAD, 0 },
	{ "abc", QO_SIGV4_PAYLOAD_BAD, 0 },
	{ SIG64 "0", QO_SIGV4_PAYLOAD_BAD, 0 },
	{ "unsigned-payload", QO_SIGV4_PAYLOAD_BAD, 0 },
	{ NULL, QO_SIGV4_PAYLOAD_NONE, 0 },
};

START_TEST(test_payloads)
{
	struct qo_sigv4_auth a;

	line("PUT", "/b/k", "");
	add("host", "h");
	add("x-amz-date", TIME);
	add("authorization", auths[0].auth);
	if (payloads[_i].hash != NULL)
		add("x-amz-content-sha256", payloads[_i].hash);
	ck_assert_int_eq(qo_sigv4_parse(&rq.got, &rules, now, &a),
	    payloads[_i].want);
	if (payloads[_i].want == QO_SIGV4_OK)
		ck_assert_int_eq(a.payload, payloads[_i].payload);
}
END_TEST

START_TEST(test_dates)
{
	static const struct {
		const char *amz, *date;
		enum qo_sigv4_verdict want;
	} v[] = {
		{ NULL, NULL, QO_SIGV4_DATE_BAD },
		{ NULL, "Fri, 24 May 2013 00:00:00 GMT", QO_SIGV4_OK },
		{ NULL, TIME, QO_SIGV4_OK },
		{ NULL, "yesterday", QO_SIGV4_DATE_BAD },
		{ TIME, "yesterday", QO_SIGV4_OK },
		{ "2013-05-24", "Fri, 24 May 2013 00:00:00 GMT",
		    QO_SIGV4_DATE_BAD },
	};
	struct qo_sigv4_auth a;
	size_t i;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		rq.got.nheaders = 0;
		line("PUT", "/b/k", "");
		add("host", "h");
		add("x-amz-content-sha256", SIG64);
		add("authorization", auths[0].auth);
		if (v[i].amz != NULL)
			add("x-amz-date", v[i].amz);
		if (v[i].date != NULL)
			add("date", v[i].date);
		ck_assert_int_eq(qo_sigv4_parse(&rq.got, &rules, now, &a),
		    v[i].want);
	}
}
END_TEST

START_TEST(test_regions_sts)
{
	const struct qo_sigv4_rules any = { "auto", true }, none = { NULL, 0 };
	struct qo_sigv4_req r;
	struct qo_sigv4_auth a;

	line("POST", "/", "");
	add("host", "h");
	add("x-amz-date", TIME);
	r = to_sign(SIG64);
	r.region = "mars-north-1";
	r.service = "sts";
	r.flags = QO_SIGV4_NORMALIZE;
	ck_assert_int_eq(qo_sigv4_authorization(signer, &r, &cred, &auth, NULL),
	    0);
	add("authorization", auth.data);
	ck_assert_int_eq(qo_sigv4_parse(&rq.got, &none, now, &a),
	    QO_SIGV4_SERVICE_BAD);
	ck_assert_int_eq(qo_sigv4_parse(&rq.got, &any, now, &a), QO_SIGV4_OK);
	ck_assert_int_eq(a.payload, QO_PAYLOAD_BODY);
	ck_assert_str_eq(a.region, "mars-north-1");
	ck_assert_int_eq(qo_sigv4_check(signer, &rq.got, &a, SK, SIG64),
	    QO_SIGV4_OK);
	ck_assert_int_eq(qo_sigv4_check(signer, &rq.got, &a, SK,
			     QO_SHA256_EMPTY),
	    QO_SIGV4_MISMATCH);
}
END_TEST

/* Both readings of + are consistent, and never exchangeable. */
START_TEST(test_plus)
{
	struct qo_sigv4_auth a;
	struct qo_sigv4_req r;

	line("GET", "/b", "prefix=a%20b");
	add("host", "h");
	add("x-amz-date", TIME);
	add("x-amz-content-sha256", SIG64);
	r = to_sign(SIG64);
	ck_assert_int_eq(qo_sigv4_authorization(signer, &r, &cred, &auth, NULL),
	    0);
	add("authorization", auth.data);
	ck_assert_int_eq(verify(&a), QO_SIGV4_OK);
	line("GET", "/b", "prefix=a+b");
	ck_assert_int_eq(verify(&a), QO_SIGV4_MISMATCH);
	rq.got.plus_space = true;
	ck_assert_int_eq(verify(&a), QO_SIGV4_OK);
	line("GET", "/b", "prefix=a%2Bb");
	ck_assert_int_eq(verify(&a), QO_SIGV4_MISMATCH);
}
END_TEST

START_TEST(test_limits)
{
	struct qo_sigv4_auth a;
	char big[512];

	base();
	sign_header();
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	add("x-amz-security-token", big);
	ck_assert_int_eq(verify(&a), QO_SIGV4_UNSIGNED);
	ck_assert_str_eq(a.session_token, big);
	add("x-amz-security-token", big);
	ck_assert_int_eq(verify(&a), QO_SIGV4_HEADER_BAD);
}
END_TEST

/* As many parameters as may be signed, and X-Amz-Signature beside them. */
START_TEST(test_most_params)
{
	struct qo_sigv4_auth a;
	struct qo_sigv4_req r;
	size_t i, most = QO_SIGV4_PARAMS_MAX - 5;

	line("GET", "/b/k", "");
	for (i = 0; i < most; i++)
		memcpy(rq.query + 2 * i, "a&", 3);
	add("host", "h");
	sign_query(60, NULL);
	ck_assert_int_eq(verify(&a), QO_SIGV4_OK);
	memset(rq.query, 0, sizeof(rq.query));
	for (i = 0; i <= most; i++)
		memcpy(rq.query + 2 * i, "a&", 3);
	r = to_sign(NULL);
	ck_assert_int_eq(qo_sigv4_presign(signer, &r, &cred, 60, &auth), -1);
}
END_TEST

START_TEST(test_faults)
{
	const struct qo_sigv4_fault *f;
	int v;

	for (v = QO_SIGV4_OK; v <= QO_SIGV4_MISMATCH; v++) {
		f = qo_sigv4_fault((enum qo_sigv4_verdict)v, false);
		ck_assert_ptr_nonnull(f->code);
		ck_assert_ptr_nonnull(f->message);
		ck_assert_int_ge(f->status, v == QO_SIGV4_OK ? 200 : 400);
		f = qo_sigv4_fault((enum qo_sigv4_verdict)v, true);
		ck_assert_ptr_nonnull(f->code);
	}
	f = qo_sigv4_fault(QO_SIGV4_REGION_BAD, true);
	ck_assert_str_eq(f->code, "AuthorizationQueryParametersError");
	f = qo_sigv4_fault(QO_SIGV4_REGION_BAD, false);
	ck_assert_str_eq(f->code, "AuthorizationHeaderMalformed");
}
END_TEST

#define N(a) (int)(sizeof(a) / sizeof((a)[0]))

int
main(void)
{
	Suite *s = suite_create("sigv4_verify");
	TCase *tc = tcase_create("verify");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_round_trip);
	tcase_add_test(tc, test_nobody);
	tcase_add_test(tc, test_presigned);
	tcase_add_test(tc, test_flips_header);
	tcase_add_test(tc, test_flips_query);
	tcase_add_test(tc, test_remove_double);
	tcase_add_test(tc, test_remove_empty);
	tcase_add_test(tc, test_skew);
	tcase_add_test(tc, test_window);
	tcase_add_loop_test(tc, test_auths, 0, N(auths));
	tcase_add_loop_test(tc, test_queries, 0, N(queries));
	tcase_add_loop_test(tc, test_payloads, 0, N(payloads));
	tcase_add_test(tc, test_dates);
	tcase_add_test(tc, test_regions_sts);
	tcase_add_test(tc, test_plus);
	tcase_add_test(tc, test_limits);
	tcase_add_test(tc, test_most_params);
	tcase_add_test(tc, test_faults);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
