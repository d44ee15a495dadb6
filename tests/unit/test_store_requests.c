/*
 * The pure parts that read requests: routes, conditions, ranges, headers.
 */
#include <check.h>
#include <stdlib.h>

#include "../../qo-store/condition.h"
#include "../../qo-store/meta.h"
#include "../../qo-store/pool.h"
#include "../../qo-store/range.h"
#include "../../qo-store/route.h"
#include "run_suite.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *text;
	int64_t size;
	enum range_rc rc;
	int64_t off, len;
} ranges[] = {
	{ NULL, 10, RANGE_WHOLE, 0, 0 },
	{ "bytes=0-0", 10, RANGE_PART, 0, 1 },
	{ "bytes=9-9", 10, RANGE_PART, 9, 1 },
	{ "bytes=2-", 10, RANGE_PART, 2, 8 },
	{ "bytes=-3", 10, RANGE_PART, 7, 3 },
	{ "bytes=-30", 10, RANGE_PART, 0, 10 },
	{ "bytes=5-500", 10, RANGE_PART, 5, 5 },
	{ "bytes=10-", 10, RANGE_UNSATISFIABLE, 0, 0 },
	{ "bytes=0-", 0, RANGE_UNSATISFIABLE, 0, 0 },
	{ "bytes=-5", 0, RANGE_UNSATISFIABLE, 0, 0 },
	{ "bytes=-0", 10, RANGE_UNSATISFIABLE, 0, 0 },
	{ "bytes=5-4", 10, RANGE_WHOLE, 0, 0 },
	{ "bytes=1-2,4-5", 10, RANGE_WHOLE, 0, 0 },
	{ "bytes= 1-2", 10, RANGE_WHOLE, 0, 0 },
	{ "bytes=1-2 ", 10, RANGE_WHOLE, 0, 0 },
	{ "bytes=-", 10, RANGE_WHOLE, 0, 0 },
	{ "bytes=", 10, RANGE_WHOLE, 0, 0 },
	{ "bytes=+1-2", 10, RANGE_WHOLE, 0, 0 },
	{ "items=1-2", 10, RANGE_WHOLE, 0, 0 },
	{ "bytes=9999999999999999999-", 10, RANGE_WHOLE, 0, 0 },
	{ "bytes=999999999999999999-", 10, RANGE_UNSATISFIABLE, 0, 0 },
};

START_TEST(test_range)
{
	int64_t off = -1, len = -1;

	ck_assert_int_eq(range_parse(ranges[_i].text, ranges[_i].size, &off,
			     &len),
	    ranges[_i].rc);
	if (ranges[_i].rc == RANGE_PART) {
		ck_assert_int_eq(off, ranges[_i].off);
		ck_assert_int_eq(len, ranges[_i].len);
	}
}
END_TEST

START_TEST(test_range_of_a_copy)
{
	int64_t off, len;

	ck_assert_int_eq(range_parse_copy("bytes=1-3", 10, &off, &len), 0);
	ck_assert_int_eq(off, 1);
	ck_assert_int_eq(len, 3);
	ck_assert_int_eq(range_parse_copy("bytes=1-10", 10, &off, &len), -1);
	ck_assert_int_eq(range_parse_copy("bytes=3-1", 10, &off, &len), -1);
	ck_assert_int_eq(range_parse_copy("bytes=1-", 10, &off, &len), -1);
	ck_assert_int_eq(range_parse_copy("1-3", 10, &off, &len), -1);
}
END_TEST

#define T0     INT64_C(1769601600500000) /* 2026-01-28T12:00:00.5Z */
#define BEFORE "Wed, 28 Jan 2026 11:59:59 GMT"
#define AT     "Wed, 28 Jan 2026 12:00:00 GMT"

static const struct {
	struct condition_read c;
	enum condition_rc rc;
} reads[] = {
	{ { NULL, NULL, NULL, NULL }, CONDITION_GO },
	{ { "\"e\"", NULL, NULL, NULL }, CONDITION_GO },
	{ { "e", NULL, NULL, NULL }, CONDITION_GO },
	{ { "*", NULL, NULL, NULL }, CONDITION_GO },
	{ { "\"x\", \"e\"", NULL, NULL, NULL }, CONDITION_GO },
	{ { "\"x\"", NULL, NULL, NULL }, CONDITION_FAILED },
	{ { "W/\"e\"", NULL, NULL, NULL }, CONDITION_FAILED },
	{ { "\"ee\"", NULL, NULL, NULL }, CONDITION_FAILED },
	{ { "", NULL, NULL, NULL }, CONDITION_FAILED },
	{ { NULL, "\"e\"", NULL, NULL }, CONDITION_NOT_MODIFIED },
	{ { NULL, "W/\"e\"", NULL, NULL }, CONDITION_NOT_MODIFIED },
	{ { NULL, "*", NULL, NULL }, CONDITION_NOT_MODIFIED },
	{ { NULL, "\"x\"", NULL, NULL }, CONDITION_GO },
	{ { NULL, NULL, BEFORE, NULL }, CONDITION_GO },
	{ { NULL, NULL, AT, NULL }, CONDITION_NOT_MODIFIED },
	{ { NULL, NULL, "nonsense", NULL }, CONDITION_GO },
	{ { NULL, NULL, NULL, BEFORE }, CONDITION_FAILED },
	{ { NULL, NULL, NULL, AT }, CONDITION_GO },
	{ { NULL, NULL, NULL, "nonsense" }, CONDITION_GO },
	/* Tags stand above dates. */
	{ { "\"e\"", NULL, NULL, BEFORE }, CONDITION_GO },
	{ { NULL, "\"x\"", AT, NULL }, CONDITION_GO },
	{ { "\"e\"", "\"e\"", NULL, NULL }, CONDITION_NOT_MODIFIED },
};

START_TEST(test_condition_read)
{
	ck_assert_int_eq(condition_read(&reads[_i].c, "e", T0), reads[_i].rc);
}
END_TEST

START_TEST(test_if_range)
{
	ck_assert(condition_if_range(NULL, "e", T0));
	ck_assert(condition_if_range("\"e\"", "e", T0));
	ck_assert(!condition_if_range("W/\"e\"", "e", T0));
	ck_assert(!condition_if_range("\"x\"", "e", T0));
	ck_assert(condition_if_range(AT, "e", T0));
	ck_assert(!condition_if_range(BEFORE, "e", T0));
}
END_TEST

static const struct {
	const char *match, *none;
	bool strict;
	enum s3_err err;
	const char *out_match, *out_none;
} writes[] = {
	{ NULL, NULL, true, S3_OK, NULL, NULL },
	{ "\"abc\"", NULL, true, S3_OK, "abc", NULL },
	{ "abc", NULL, true, S3_OK, "abc", NULL },
	{ NULL, "*", true, S3_OK, NULL, "*" },
	{ "*", NULL, false, S3_OK, "*", NULL },
	{ "*", NULL, true, S3_NOT_IMPLEMENTED, NULL, NULL },
	{ NULL, "\"abc\"", false, S3_OK, NULL, "abc" },
	{ NULL, "\"abc\"", true, S3_NOT_IMPLEMENTED, NULL, NULL },
	{ "\"a\"", "*", false, S3_NOT_IMPLEMENTED, NULL, NULL },
	{ "\"a\", \"b\"", NULL, false, S3_NOT_IMPLEMENTED, NULL, NULL },
	{ "", NULL, false, S3_INVALID_ARGUMENT, NULL, NULL },
	{ "\"\"", NULL, false, S3_INVALID_ARGUMENT, NULL, NULL },
	/* Never equal to any object's. */
	{ "W/\"abc\"", NULL, false, S3_OK, "W/", NULL },
};

START_TEST(test_condition_write)
{
	struct condition_write c;
	struct pool pool;

	pool_init(&pool);
	ck_assert_int_eq(condition_write_parse(&pool, writes[_i].match,
			     writes[_i].none, writes[_i].strict, &c),
	    writes[_i].err);
	if (writes[_i].err == S3_OK) {
		ck_assert_pstr_eq(c.if_match, writes[_i].out_match);
		ck_assert_pstr_eq(c.if_none_match, writes[_i].out_none);
	}
	pool_reset(&pool);
}
END_TEST

static const struct {
	const char *path;
	enum s3_err err;
	const char *bucket, *key;
} paths[] = {
	{ "/", S3_OK, "", "" },
	{ "/b", S3_OK, "b", "" },
	{ "/b/", S3_OK, "b", "" },
	{ "/b/k", S3_OK, "b", "k" },
	{ "/b//k", S3_OK, "b", "/k" },
	{ "/b/../x", S3_OK, "b", "../x" },
	{ "/b/%2e%2E/x", S3_OK, "b", "../x" },
	{ "/b/a+b", S3_OK, "b", "a+b" },
	{ "/b/%C3%BC%20", S3_OK, "b", "\xc3\xbc " },
	{ "/b%2Fc/d", S3_OK, "b/c", "d" },
	{ "/b/%00", S3_INVALID_URI, "", "" },
	{ "/b/%", S3_INVALID_URI, "", "" },
	{ "/b/%4", S3_INVALID_URI, "", "" },
	{ "/b/%gg", S3_INVALID_URI, "", "" },
	{ "/b/%ff", S3_INVALID_URI, "", "" },
	{ "*", S3_INVALID_URI, "", "" },
};

START_TEST(test_split)
{
	const char *bucket, *key;
	struct pool pool;

	pool_init(&pool);
	ck_assert_int_eq(route_split(&pool, paths[_i].path, &bucket, &key),
	    paths[_i].err);
	ck_assert_str_eq(bucket, paths[_i].bucket);
	ck_assert_str_eq(key, paths[_i].key);
	pool_reset(&pool);
}
END_TEST

START_TEST(test_split_length)
{
	const char *bucket, *key;
	struct pool pool;
	char path[2000];

	pool_init(&pool);
	memset(path, 'k', sizeof(path));
	memcpy(path, "/b/", 3);
	path[3 + 1024] = '\0';
	ck_assert_int_eq(route_split(&pool, path, &bucket, &key), S3_OK);
	ck_assert_uint_eq(strlen(key), 1024);
	path[3 + 1024] = 'k';
	path[3 + 1025] = '\0';
	ck_assert_int_eq(route_split(&pool, path, &bucket, &key),
	    S3_KEY_TOO_LONG);
	pool_reset(&pool);
}
END_TEST

static const struct {
	const char *method, *bucket, *key, *query;
	bool copy;
	enum route_op op;
	enum s3_err none;
} routes[] = {
	{ "GET", "", "", "", false, OP_LIST_BUCKETS, S3_OK },
	{ "POST", "", "", "Action=x", false, OP_SESSION_TOKEN, S3_OK },
	{ "PUT", "", "", "", false, OP_NONE, S3_METHOD_NOT_ALLOWED },
	{ "GET", "b", "", "", false, OP_LIST_V1, S3_OK },
	{ "GET", "b", "", "list-type=2&prefix=x", false, OP_LIST_V2, S3_OK },
	{ "GET", "b", "", "list-type=3", false, OP_NONE, S3_INVALID_ARGUMENT },
	{ "GET", "b", "", "versions", false, OP_LIST_VERSIONS, S3_OK },
	{ "GET", "b", "", "versions=&prefix=", false, OP_LIST_VERSIONS, S3_OK },
	{ "PUT", "b", "", "", false, OP_BUCKET_CREATE, S3_OK },
	{ "POST", "b", "", "delete", false, OP_MULTI_DELETE, S3_OK },
	{ "GET", "b", "", "delete", false, OP_NONE, S3_NOT_IMPLEMENTED },
	{ "POST", "b", "", "", false, OP_NONE, S3_NOT_IMPLEMENTED },
	{ "PUT", "b", "", "policy", false, OP_NONE, S3_NOT_IMPLEMENTED },
	{ "GET", "b", "", "policy", false, OP_NONE, S3_NO_SUCH_BUCKET_POLICY },
	/* Never the plain operation. */
	{ "DELETE", "b", "", "policy", false, OP_NONE, S3_NOT_IMPLEMENTED },
	{ "DELETE", "b", "k", "tagging", false, OP_NONE, S3_NOT_IMPLEMENTED },
	{ "PUT", "b", "k", "retention", false, OP_NONE, S3_NOT_IMPLEMENTED },
	{ "GET", "b", "k", "", false, OP_OBJECT_GET, S3_OK },
	{ "GET", "b", "k", "versionId=x", false, OP_OBJECT_GET, S3_OK },
	{ "HEAD", "b", "k", "", false, OP_OBJECT_HEAD, S3_OK },
	{ "PUT", "b", "k", "", false, OP_OBJECT_PUT, S3_OK },
	{ "PUT", "b", "k", "", true, OP_OBJECT_COPY, S3_OK },
	{ "PUT", "b", "k", "partNumber=1&uploadId=x", false, OP_UPLOAD_PART,
	    S3_OK },
	{ "PUT", "b", "k", "partNumber=1&uploadId=x", true, OP_UPLOAD_PART_COPY,
	    S3_OK },
	{ "POST", "b", "k", "uploads", false, OP_UPLOAD_CREATE, S3_OK },
	{ "POST", "b", "k", "uploadId=x", false, OP_UPLOAD_COMPLETE, S3_OK },
	{ "DELETE", "b", "k", "uploadId=x", false, OP_UPLOAD_ABORT, S3_OK },
	{ "PATCH", "b", "k", "", false, OP_NONE, S3_METHOD_NOT_ALLOWED },
	{ "get", "b", "k", "", false, OP_NONE, S3_METHOD_NOT_ALLOWED },
	{ "OPTIONS", "b", "k", "", false, OP_PREFLIGHT, S3_OK },
};

START_TEST(test_route)
{
	struct uri_query q;
	struct route r;

	ck_assert_int_eq(uri_query_parse(&q, routes[_i].query, 16, 0), 0);
	route_find(&r, routes[_i].method, routes[_i].bucket, routes[_i].key, &q,
	    routes[_i].copy);
	ck_assert_int_eq(r.op, routes[_i].op);
	ck_assert_int_eq(r.none, routes[_i].none);
	uri_query_fini(&q);
}
END_TEST

START_TEST(test_bucket_names)
{
	ck_assert(route_bucket_name_ok("abc"));
	ck_assert(route_bucket_name_ok("a.b-c9"));
	ck_assert(route_bucket_name_ok("1.2.3.4.5"));
	ck_assert(route_bucket_name_ok("qo"));
	ck_assert(!route_bucket_name_ok("a"));
	ck_assert(!route_bucket_name_ok("Abc"));
	ck_assert(!route_bucket_name_ok(".abc"));
	ck_assert(!route_bucket_name_ok("abc-"));
	ck_assert(!route_bucket_name_ok("a..b"));
	ck_assert(!route_bucket_name_ok("1.2.3.4"));
	ck_assert(!route_bucket_name_ok("a_b"));
	ck_assert(!route_bucket_name_ok("a/b"));
}
END_TEST

static enum s3_err
collect(struct pool *pool, struct httpd_header *h, size_t n, char **out)
{
	struct httpd_req http = { .headers = h, .nheaders = n };

	return meta_collect(pool, &http, out);
}

START_TEST(test_meta)
{
	struct httpd_header good[] = {
		{ "host", "x" },
		{ "content-type", "a/b; c=d" },
		{ "content-encoding", "aws-chunked, gzip" },
		{ "x-amz-meta-k", "" },
		{ "x-amz-storage-class", "STANDARD" },
	};
	struct httpd_header chunked = { "content-encoding", "aws-chunked" };
	struct httpd_header sse = { "x-amz-server-side-encryption", "AES256" };
	struct httpd_header cold = { "x-amz-storage-class", "GLACIER" };
	struct pool pool;
	char *text, *name, *value;

	pool_init(&pool);
	ck_assert_int_eq(collect(&pool, good, nitems(good), &text), S3_OK);
	ck_assert_str_eq(text,
	    "content-type: a/b; c=d\ncontent-encoding: gzip\n"
	    "x-amz-meta-k: \n");
	ck_assert(meta_next(&text, &name, &value));
	ck_assert_str_eq(name, "content-type");
	ck_assert_str_eq(value, "a/b; c=d");
	ck_assert(meta_next(&text, &name, &value));
	ck_assert_str_eq(value, "gzip");
	ck_assert(meta_next(&text, &name, &value));
	ck_assert_str_eq(name, "x-amz-meta-k");
	ck_assert_str_eq(value, "");
	ck_assert(!meta_next(&text, &name, &value));
	ck_assert_int_eq(collect(&pool, &chunked, 1, &text), S3_OK);
	ck_assert_ptr_null(text);
	ck_assert(!meta_next(&text, &name, &value));
	ck_assert_int_eq(collect(&pool, &sse, 1, &text), S3_NOT_IMPLEMENTED);
	ck_assert_int_eq(collect(&pool, &cold, 1, &text),
	    S3_INVALID_STORAGE_CLASS);
	pool_reset(&pool);
}
END_TEST

START_TEST(test_pool)
{
	struct pool pool;
	char *big, *p[200];
	size_t i;

	pool_init(&pool);
	big = pool_alloc(&pool, 100000);
	memset(big, 'x', 100000);
	for (i = 0; i < nitems(p); i++)
		p[i] = pool_printf(&pool, "%zu %0100d", i, 7);
	for (i = 0; i < nitems(p); i++) {
		ck_assert_uint_eq(strtoul(p[i], NULL, 10), i);
		ck_assert_uint_eq((uintptr_t)p[i] % 16, 0);
	}
	ck_assert_int_eq(big[99999], 'x');
	pool_reset(&pool);
	ck_assert_ptr_null(pool.more);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("requests");
	TCase *tc = tcase_create("requests");

	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, test_range, 0, (int)nitems(ranges));
	tcase_add_test(tc, test_range_of_a_copy);
	tcase_add_loop_test(tc, test_condition_read, 0, (int)nitems(reads));
	tcase_add_test(tc, test_if_range);
	tcase_add_loop_test(tc, test_condition_write, 0, (int)nitems(writes));
	tcase_add_loop_test(tc, test_split, 0, (int)nitems(paths));
	tcase_add_test(tc, test_split_length);
	tcase_add_loop_test(tc, test_route, 0, (int)nitems(routes));
	tcase_add_test(tc, test_bucket_names);
	tcase_add_test(tc, test_meta);
	tcase_add_test(tc, test_pool);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
