#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "buf.h"
#include "err.h"
#include "run_suite.h"
#include "s3body.h"

#define NS " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""

static struct buf b;
static struct qo_err err;

static void
setup(void)
{
	buf_init(&b, 65536);
	qo_err_reset(&err);
}

static void
teardown(void)
{
	buf_fini(&b);
}

START_TEST(test_delete)
{
	static const struct qo_s3_delete_key keys[] = {
		{ "a/<&>\r\xc3\xbc", NULL }, { "b", "v1" }
	};
	static const struct qo_s3_delete_key one = { "k", NULL };

	ck_assert_int_eq(qo_s3body_delete(&b, keys, 2, true, &err), 0);
	ck_assert_str_eq(b.data,
	    "<Delete" NS "><Quiet>true</Quiet><Object>"
	    "<Key>a/&lt;&amp;&gt;&#xD;\xc3\xbc</Key></Object><Object>"
	    "<Key>b</Key><VersionId>v1</VersionId></Object></Delete>");
	buf_reset(&b);
	ck_assert_int_eq(qo_s3body_delete(&b, &one, 1, false, &err), 0);
	ck_assert_str_eq(b.data,
	    "<Delete" NS "><Object><Key>k</Key></Object></Delete>");
}
END_TEST

START_TEST(test_delete_refused)
{
	static const char *const bad[] = { "a\x01", "\xff", "\xef\xbf\xbf",
		"" };
	struct qo_s3_delete_key many[QO_S3_DELETE_MAX + 1];
	struct qo_s3_delete_key key = { NULL, NULL };
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		key.key = bad[i];
		ck_assert_int_eq(qo_s3body_delete(&b, &key, 1, true, &err), -1);
		ck_assert_str_ne(err.msg, "");
		buf_reset(&b);
	}
	key.key = "a";
	key.version_id = "\x02";
	ck_assert_int_eq(qo_s3body_delete(&b, &key, 1, true, &err), -1);
	for (i = 0; i < QO_S3_DELETE_MAX + 1; i++) {
		many[i].key = "k";
		many[i].version_id = NULL;
	}
	buf_reset(&b);
	ck_assert_int_eq(qo_s3body_delete(&b, many, QO_S3_DELETE_MAX, true,
			     &err),
	    0);
	ck_assert_int_eq(qo_s3body_delete(&b, many, QO_S3_DELETE_MAX + 1, true,
			     &err),
	    -1);
	ck_assert_int_eq(qo_s3body_delete(&b, many, 0, true, &err), -1);
}
END_TEST

START_TEST(test_buffer_full)
{
	struct buf small;

	buf_init(&small, 100);
	ck_assert_int_eq(qo_s3body_versioning(&small, true, &err), -1);
	ck_assert_ptr_ne(strstr(err.msg, "larger than 100"), NULL);
	buf_fini(&small);
}
END_TEST

START_TEST(test_versioning)
{
	ck_assert_int_eq(qo_s3body_versioning(&b, true, &err), 0);
	ck_assert_int_eq(qo_s3body_versioning(&b, false, &err), 0);
	ck_assert_str_eq(b.data,
	    "<VersioningConfiguration" NS "><Status>Enabled</Status>"
	    "</VersioningConfiguration>"
	    "<VersioningConfiguration" NS "><Status>Suspended</Status>"
	    "</VersioningConfiguration>");
}
END_TEST

START_TEST(test_cors)
{
	static const char *const origins[] = { "https://*.example.org",
		"http://localhost", NULL };
	static const char *const methods[] = { "GET", "PUT", NULL };
	static const char *const expose[] = { "ETag", NULL };
	static const char *const stars[] = { "http://*.a.*", NULL };
	static const char *const none[] = { NULL };
	struct qo_s3_cors_rule r = { origins, methods, NULL, expose, 3000 };

	ck_assert_int_eq(qo_s3body_cors(&b, &r, 1, &err), 0);
	ck_assert_str_eq(b.data,
	    "<CORSConfiguration" NS "><CORSRule>"
	    "<AllowedOrigin>https://*.example.org</AllowedOrigin>"
	    "<AllowedOrigin>http://localhost</AllowedOrigin>"
	    "<AllowedMethod>GET</AllowedMethod>"
	    "<AllowedMethod>PUT</AllowedMethod>"
	    "<ExposeHeader>ETag</ExposeHeader>"
	    "<MaxAgeSeconds>3000</MaxAgeSeconds></CORSRule>"
	    "</CORSConfiguration>");
	ck_assert_int_eq(qo_s3body_cors(&b, &r, 0, &err), -1);
	r.methods = none;
	ck_assert_int_eq(qo_s3body_cors(&b, &r, 1, &err), -1);
	r.methods = methods;
	r.origins = stars;
	ck_assert_int_eq(qo_s3body_cors(&b, &r, 1, &err), -1);
}
END_TEST

START_TEST(test_lifecycle)
{
	static const struct qo_s3_lifecycle_rule rules[] = {
		{ "old", "idx/", 7, true, 0 }, { "parts", "", 0, false, 2 }
	};
	static const struct qo_s3_lifecycle_rule idle = { "x", "", 0, false,
		0 };
	static const struct qo_s3_lifecycle_rule negative = { "x", "", -1, true,
		0 };

	ck_assert_int_eq(qo_s3body_lifecycle(&b, rules, 2, &err), 0);
	ck_assert_str_eq(b.data,
	    "<LifecycleConfiguration" NS "><Rule><ID>old</ID>"
	    "<Filter><Prefix>idx/</Prefix></Filter><Status>Enabled</Status>"
	    "<Expiration><ExpiredObjectDeleteMarker>true"
	    "</ExpiredObjectDeleteMarker></Expiration>"
	    "<NoncurrentVersionExpiration><NoncurrentDays>7</NoncurrentDays>"
	    "</NoncurrentVersionExpiration></Rule><Rule><ID>parts</ID>"
	    "<Filter><Prefix></Prefix></Filter><Status>Enabled</Status>"
	    "<AbortIncompleteMultipartUpload><DaysAfterInitiation>2"
	    "</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule>"
	    "</LifecycleConfiguration>");
	ck_assert_int_eq(qo_s3body_lifecycle(&b, rules, 0, &err), -1);
	ck_assert_int_eq(qo_s3body_lifecycle(&b, &idle, 1, &err), -1);
	ck_assert_int_eq(qo_s3body_lifecycle(&b, &negative, 1, &err), -1);
}
END_TEST

START_TEST(test_location)
{
	ck_assert_int_eq(qo_s3body_location(&b, "eu-west-1", &err), 0);
	ck_assert_str_eq(b.data,
	    "<CreateBucketConfiguration" NS ">"
	    "<LocationConstraint>eu-west-1</LocationConstraint>"
	    "</CreateBucketConfiguration>");
}
END_TEST

int
main(void)
{
	Suite *s;
	TCase *tc;

	s = suite_create("s3body");
	tc = tcase_create("s3body");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_delete);
	tcase_add_test(tc, test_delete_refused);
	tcase_add_test(tc, test_buffer_full);
	tcase_add_test(tc, test_versioning);
	tcase_add_test(tc, test_cors);
	tcase_add_test(tc, test_lifecycle);
	tcase_add_test(tc, test_location);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
