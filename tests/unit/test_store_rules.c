/*
 * The documents that configure a bucket: CORS and lifecycle rules.
 */
#include <check.h>
#include <stdlib.h>

#include "../../qo-store/cors.h"
#include "../../qo-store/lifecycle.h"
#include "run_suite.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

#define RULE(in) "<CORSRule>" in "</CORSRule>"
#define CORS(in) "<CORSConfiguration>" in "</CORSConfiguration>"

static struct cors *
cors(const char *text)
{
	enum s3_err e = S3_OK;
	struct cors *c;

	c = cors_parse(text, strlen(text), &e);
	if (c == NULL)
		ck_assert_int_eq(e, S3_MALFORMED_XML);
	return c;
}

static const char some[] = CORS(
    RULE("<AllowedOrigin>http://*.a</AllowedOrigin>"
	 "<AllowedOrigin>http://b</AllowedOrigin>"
	 "<AllowedMethod>PUT</AllowedMethod>"
	 "<AllowedHeader>x-amz-*</AllowedHeader>"
	 "<ExposeHeader>ETag</ExposeHeader><ExposeHeader>Date</ExposeHeader>"
	 "<MaxAgeSeconds>5</MaxAgeSeconds>")
	RULE("<ID>open</ID><AllowedOrigin>*</AllowedOrigin>"
	     "<AllowedMethod>GET</AllowedMethod>"));

static const struct {
	const char *origin, *method, *headers;
	bool session, want, star;
} asked[] = {
	{ "http://x.a", "PUT", NULL, false, true, false },
	{ "http://b", "PUT", "X-Amz-Date, x-amz-acl", false, true, false },
	{ "http://b", "PUT", "X-Amz-Date, other", false, false, false },
	{ "http://.a", "PUT", NULL, false, true, false },
	{ "http://x.ab", "PUT", NULL, false, false, false },
	{ "HTTP://b", "PUT", NULL, false, false, false },
	{ "http://c", "PUT", NULL, false, false, false },
	{ "http://c", "GET", NULL, false, true, true },
	{ "http://c", "GET", NULL, true, false, false },
	{ "http://b", "PUT", NULL, true, true, false },
	{ "http://c", "DELETE", NULL, false, false, false },
	{ "http://c", "GET", "x-amz-date", false, false, false },
};

START_TEST(test_cors_match)
{
	const struct cors_rule *r;
	struct cors *c;
	bool star = false;

	c = cors(some);
	ck_assert_ptr_nonnull(c);
	r = cors_match(c, asked[_i].origin, asked[_i].method, asked[_i].headers,
	    asked[_i].session, &star);
	ck_assert_int_eq(r != NULL, asked[_i].want);
	if (r != NULL)
		ck_assert_int_eq(star, asked[_i].star);
	cors_free(c);
}
END_TEST

START_TEST(test_cors_round_trip)
{
	struct cors *c, *again;
	struct buf a, b;

	c = cors(some);
	buf_init(&a, 10000);
	cors_encode(c, &a);
	again = cors(a.data);
	ck_assert_ptr_nonnull(again);
	buf_init(&b, 10000);
	cors_encode(again, &b);
	ck_assert_str_eq(a.data, b.data);
	ck_assert_ptr_nonnull(strstr(a.data, "<ID>open</ID>"));
	cors_free(c);
	cors_free(again);
	buf_fini(&a);
	buf_fini(&b);
}
END_TEST

static const char *const bad_cors[] = {
	"",
	"<x/>",
	CORS(""),
	CORS(RULE("<AllowedOrigin>*</AllowedOrigin>")),
	CORS(RULE("<AllowedMethod>GET</AllowedMethod>")),
	CORS(RULE("<AllowedOrigin>*.*</AllowedOrigin>"
		  "<AllowedMethod>GET</AllowedMethod>")),
	CORS(RULE("<AllowedOrigin>a</AllowedOrigin>"
		  "<AllowedMethod>PATCH</AllowedMethod>")),
	CORS(RULE("<AllowedOrigin>a</AllowedOrigin><Other/>"
		  "<AllowedMethod>GET</AllowedMethod>")),
	CORS(RULE("<AllowedOrigin>a</AllowedOrigin>"
		  "<AllowedMethod>GET</AllowedMethod>"
		  "<ExposeHeader>a\nb</ExposeHeader>")),
	CORS(RULE("<AllowedOrigin>a</AllowedOrigin>"
		  "<AllowedMethod>GET</AllowedMethod>"
		  "<MaxAgeSeconds>x</MaxAgeSeconds>")),
	CORS("<Rule/>"),
};

START_TEST(test_bad_cors)
{
	ck_assert_ptr_null(cors(bad_cors[_i]));
}
END_TEST

#define LC(in)                                                      \
	"<LifecycleConfiguration><Rule><Status>Enabled</Status>" in \
	"</Rule></LifecycleConfiguration>"

START_TEST(test_lifecycle_round_trip)
{
	static const char text[] = "<LifecycleConfiguration><Rule><ID>a</ID>"
				   "<Filter><Prefix>p&amp;/</Prefix></Filter>"
				   "<Status>Disabled</Status><Expiration>"
				   "<Days>3</Days></Expiration></Rule><Rule>"
				   "<Prefix/><Status>Enabled</Status>"
				   "<NoncurrentVersionExpiration>"
				   "<NoncurrentDays>2</NoncurrentDays>"
				   "</NoncurrentVersionExpiration>"
				   "<AbortIncompleteMultipartUpload>"
				   "<DaysAfterInitiation>7"
				   "</DaysAfterInitiation>"
				   "</AbortIncompleteMultipartUpload>"
				   "</Rule></LifecycleConfiguration>";
	struct lifecycle *lc;
	struct buf b;
	int i;

	buf_init(&b, 10000);
	buf_adds(&b, text);
	for (i = 0; i < 2; i++) {
		lc = lifecycle_parse(b.data, b.len, NULL);
		ck_assert_ptr_nonnull(lc);
		ck_assert_uint_eq(lc->n, 2);
		ck_assert_str_eq(lc->rules[0].prefix, "p&/");
		ck_assert(!lc->rules[0].enabled);
		ck_assert_int_eq(lc->rules[0].days, 3);
		ck_assert_str_eq(lc->rules[1].prefix, "");
		ck_assert_int_eq(lc->rules[1].noncurrent_days, 2);
		ck_assert_int_eq(lc->rules[1].upload_days, 7);
		buf_reset(&b);
		lifecycle_encode(lc, &b);
		lifecycle_free(lc);
	}
	buf_fini(&b);
}
END_TEST

static const struct {
	const char *text;
	enum s3_err err;
} lifecycles[] = {
	{ "", S3_MALFORMED_XML },
	{ "<LifecycleConfiguration/>", S3_MALFORMED_XML },
	{ LC(""), S3_MALFORMED_XML },
	{ LC("<Expiration><Days>1</Days></Expiration>"), S3_OK },
	{ LC("<Expiration><Date>2027-01-01T00:00:00.000Z</Date></Expiration>"),
	    S3_OK },
	{ LC("<Expiration><Date>tomorrow</Date></Expiration>"),
	    S3_MALFORMED_XML },
	{ LC("<Expiration><Days>0</Days></Expiration>"), S3_INVALID_ARGUMENT },
	{ LC("<Expiration><Days>1</Days><Date>2027-01-01T00:00:00Z</Date>"
	     "</Expiration>"),
	    S3_MALFORMED_XML },
	{ LC("<Prefix>a</Prefix><Prefix>b</Prefix>"
	     "<Expiration><Days>1</Days></Expiration>"),
	    S3_MALFORMED_XML },
	{ LC("<Filter><Tag><Key>a</Key></Tag></Filter>"
	     "<Expiration><Days>1</Days></Expiration>"),
	    S3_NOT_IMPLEMENTED },
	{ LC("<Transition><Days>1</Days></Transition>"), S3_NOT_IMPLEMENTED },
	{ LC("<Status>On</Status><Expiration><Days>1</Days></Expiration>"),
	    S3_MALFORMED_XML },
};

START_TEST(test_lifecycle)
{
	const char *text = lifecycles[_i].text;
	enum s3_err e = S3_OK;

	lifecycle_free(lifecycle_parse(text, strlen(text), &e));
	ck_assert_int_eq(e, lifecycles[_i].err);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("rules");
	TCase *tc = tcase_create("rules");

	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, test_cors_match, 0, (int)nitems(asked));
	tcase_add_test(tc, test_cors_round_trip);
	tcase_add_loop_test(tc, test_bad_cors, 0, (int)nitems(bad_cors));
	tcase_add_test(tc, test_lifecycle_round_trip);
	tcase_add_loop_test(tc, test_lifecycle, 0, (int)nitems(lifecycles));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
