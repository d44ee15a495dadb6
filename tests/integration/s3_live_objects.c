/*
 * Buckets, objects, conditions, versions and presigned URLs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "s3_live.h"
#include "s3body.h"
#include "xalloc.h"

#define KIB 1024

/* One request without more than its name; the outcome is needed. */
static void
plain(struct live *l, enum qo_s3_op op, const char *bucket, const char *key,
    enum qo_s3_outcome want)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, op, bucket, key);
	expect(l, &r, want);
	qo_s3_req_fini(&r);
}

static void
put_if(struct live *l, const char *bucket, const char *key,
    const char *if_match, const char *if_none_match, enum qo_s3_outcome want)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_PUT, bucket, key);
	r.body = "conditional";
	r.body_len = strlen(r.body);
	r.if_match = if_match;
	r.if_none_match = if_none_match;
	expect(l, &r, want);
	qo_s3_req_fini(&r);
}

static void
send_body(struct live *l, enum qo_s3_op op, const char *bucket,
    const struct buf *b)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, op, bucket, NULL);
	r.body = b->data;
	r.body_len = b->len;
	expect(l, &r, QO_S3_OK);
	qo_s3_req_fini(&r);
}

static void
case_bucket(struct live *l)
{
	const char *name;
	struct qo_s3_req r;

	plain(l, QO_S3_BUCKET_HEAD, "live-never-made", NULL, QO_S3_NOT_FOUND);
	plain(l, QO_S3_GET, "live-never-made", "x", QO_S3_NOT_FOUND);
	name = live_bucket(l, false);
	plain(l, QO_S3_BUCKET_HEAD, name, NULL, QO_S3_OK);
	/* AWS says 200 in us-east-1 and 409 elsewhere. */
	qo_s3_req_init(&r, QO_S3_BUCKET_CREATE, name, NULL);
	qo_s3_wait(l->s3, &r);
	need(l, r.res.outcome == QO_S3_OK || r.res.outcome == QO_S3_CONFLICT);
	qo_s3_req_fini(&r);
	live_put(l, name, "k", "v", NULL);
	plain(l, QO_S3_BUCKET_DELETE, name, NULL, QO_S3_CONFLICT);
	plain(l, QO_S3_DELETE, name, "k", QO_S3_OK);
	plain(l, QO_S3_BUCKET_DELETE, name, NULL, QO_S3_OK);
	plain(l, QO_S3_BUCKET_HEAD, name, NULL, QO_S3_NOT_FOUND);
}

static void
is_versioning(struct live *l, const char *bucket, enum qo_s3_versioning want)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_VERSIONING_GET, bucket, NULL);
	expect(l, &r, QO_S3_OK);
	need(l, r.res.versioning == want);
	qo_s3_req_fini(&r);
}

static void
case_versioning(struct live *l)
{
	const char *name = live_bucket(l, false);
	struct qo_err err;
	struct buf b;

	buf_init(&b, 4096);
	is_versioning(l, name, QO_S3_VERSIONING_OFF);
	need(l, qo_s3body_versioning(&b, true, &err) == 0);
	send_body(l, QO_S3_VERSIONING_PUT, name, &b);
	is_versioning(l, name, QO_S3_VERSIONING_ENABLED);
	buf_reset(&b);
	need(l, qo_s3body_versioning(&b, false, &err) == 0);
	send_body(l, QO_S3_VERSIONING_PUT, name, &b);
	is_versioning(l, name, QO_S3_VERSIONING_SUSPENDED);
	buf_fini(&b);
}

/* Both are stored, and CORS is seen to work by a preflight. */
static void
case_bucket_configuration(struct live *l)
{
	static const char *const origins[] = { "https://ui.example", NULL };
	static const char *const methods[] = { "GET", "PUT", NULL };
	static const char *const headers[] = { "*", NULL };
	static const char *const expose[] = { "ETag", NULL };
	static const char *const allowed[] = { "Origin: https://ui.example",
		"Access-Control-Request-Method: PUT", NULL };
	static const char *const foreign[] = { "Origin: https://evil.example",
		"Access-Control-Request-Method: PUT", NULL };
	const struct qo_s3_cors_rule cors = { origins, methods, headers, expose,
		600 };
	const struct qo_s3_lifecycle_rule rules[] = {
		{ "old", "tasks/", 7, false, 0 },
		{ "markers", "", 0, true, 1 },
	};
	const char *name = live_bucket(l, true);
	char url[256];
	struct qo_s3_req r;
	struct qo_err err;
	struct buf b;

	buf_init(&b, 65536);
	need(l, qo_s3body_cors(&b, &cors, 1, &err) == 0);
	send_body(l, QO_S3_CORS_PUT, name, &b);
	snprintf(url, sizeof(url), "%s/%s/x", l->store->endpoint, name);
	need(l, live_curl(l, "OPTIONS", url, allowed, NULL, &b) == 200);
	need(l, live_curl(l, "OPTIONS", url, foreign, NULL, &b) == 403);
	plain(l, QO_S3_LIFECYCLE_GET, name, NULL, QO_S3_NOT_FOUND);
	buf_reset(&b);
	need(l, qo_s3body_lifecycle(&b, rules, nitems(rules), &err) == 0);
	send_body(l, QO_S3_LIFECYCLE_PUT, name, &b);
	qo_s3_req_init(&r, QO_S3_LIFECYCLE_GET, name, NULL);
	expect(l, &r, QO_S3_OK);
	need(l, strstr(r.res.body.data, "<Prefix>tasks/</Prefix>") != NULL);
	qo_s3_req_fini(&r);
	buf_fini(&b);
}

static void
case_object(struct live *l)
{
	const char *name = live_bucket(l, false);
	struct qo_wall lo, hi;
	struct qo_s3_req r;
	char etag[QO_S3_ETAG_MAX];

	plain(l, QO_S3_GET, name, "a", QO_S3_NOT_FOUND);
	plain(l, QO_S3_HEAD, name, "a", QO_S3_NOT_FOUND);
	plain(l, QO_S3_DELETE, name, "a", QO_S3_OK);
	live_put(l, name, "a", "hello", etag);
	need(l, strcmp(etag, "\"5d41402abc4b2a76b9719d911017c592\"") == 0);
	live_same(l, name, "a", "hello");
	qo_s3_req_init(&r, QO_S3_HEAD, name, "a");
	expect(l, &r, QO_S3_OK);
	need(l, r.res.length == 5);
	need(l, strcmp(r.res.etag, etag) == 0);
	need(l, qo_s3_now(l->s3, &lo, NULL, &hi));
	/* A second's grain, and two clocks in some stores. */
	need(l, r.res.last_modified.us > lo.us - 60 * QO_US_PER_SEC);
	need(l, r.res.last_modified.us < hi.us + 2 * QO_US_PER_SEC);
	qo_s3_req_fini(&r);
	live_put(l, name, "a", "", NULL);
	live_same(l, name, "a", "");
	plain(l, QO_S3_DELETE, name, "a", QO_S3_OK);
	plain(l, QO_S3_GET, name, "a", QO_S3_NOT_FOUND);
}

static void
not_modified(struct live *l, const char *bucket, const char *etag)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_GET, bucket, "c");
	r.if_none_match = etag;
	expect(l, &r, QO_S3_NOT_MODIFIED);
	need(l, r.res.body.len == 0);
	qo_s3_req_fini(&r);
	qo_s3_req_init(&r, QO_S3_GET, bucket, "c");
	r.if_none_match = "\"00000000000000000000000000000000\"";
	expect(l, &r, QO_S3_OK);
	qo_s3_req_fini(&r);
}

static void
conditions(struct live *l, bool versioned)
{
	const char *name = live_bucket(l, versioned);
	char first[QO_S3_ETAG_MAX], second[QO_S3_ETAG_MAX];
	struct qo_s3_req r;

	put_if(l, name, "c", NULL, "*", QO_S3_OK);
	qo_s3_req_init(&r, QO_S3_PUT, name, "c");
	r.if_none_match = "*";
	qo_s3_wait(l->s3, &r);
	if (l->store->foreign && versioned && r.res.outcome == QO_S3_OK)
		live_skip(l,
		    "this store ignores conditions on PUT in a "
		    "versioned bucket");
	need(l, r.res.outcome == QO_S3_PRECONDITION);
	qo_s3_req_fini(&r);
	live_put(l, name, "c", "first", first);
	live_put(l, name, "c", "second", second);
	put_if(l, name, "c", first, NULL, QO_S3_PRECONDITION);
	live_same(l, name, "c", "second");
	not_modified(l, name, second);
	put_if(l, name, "c", second, NULL, QO_S3_OK);
	live_same(l, name, "c", "conditional");
	plain(l, QO_S3_DELETE, name, "c", QO_S3_OK);
	put_if(l, name, "c", NULL, "*", QO_S3_OK);
	qo_s3_req_init(&r, QO_S3_PUT, name, "absent");
	r.if_match = first;
	qo_s3_wait(l->s3, &r);
	need(l,
	    r.res.outcome == QO_S3_NOT_FOUND ||
		(l->store->foreign && r.res.outcome == QO_S3_PRECONDITION));
	qo_s3_req_fini(&r);
}

static void
case_conditions(struct live *l)
{
	conditions(l, false);
}

static void
case_conditions_versioned(struct live *l)
{
	conditions(l, true);
}

static void
case_etag_forms(struct live *l)
{
	const char *name = live_bucket(l, false);
	char etag[QO_S3_ETAG_MAX];

	live_put(l, name, "f", "1", etag);
	qo_s3_set_etag_form(l->s3, QO_S3_ETAG_BARE);
	put_if(l, name, "f", etag, NULL, QO_S3_OK);
	put_if(l, name, "f", etag, NULL, QO_S3_PRECONDITION);
	if (l->store->etag_form == QO_S3_ETAG_BARE)
		live_skip(l, "this store takes the bare form alone");
	live_put(l, name, "f", "1", etag);
	qo_s3_set_etag_form(l->s3, QO_S3_ETAG_QUOTED);
	put_if(l, name, "f", etag, NULL, QO_S3_OK);
	put_if(l, name, "f", etag, NULL, QO_S3_PRECONDITION);
}

static void
case_conditional_delete(struct live *l)
{
	const char *name = live_bucket(l, false);
	char etag[QO_S3_ETAG_MAX];
	struct qo_s3_req r;

	live_put(l, name, "d", "1", etag);
	qo_s3_req_init(&r, QO_S3_DELETE, name, "d");
	r.if_match = "\"00000000000000000000000000000000\"";
	qo_s3_wait(l->s3, &r);
	if (l->store->foreign && r.res.outcome == QO_S3_OK)
		live_skip(l, "this store ignores If-Match on DELETE");
	need(l, r.res.outcome == QO_S3_PRECONDITION);
	live_same(l, name, "d", "1");
	r.if_match = etag;
	expect(l, &r, QO_S3_OK);
	plain(l, QO_S3_GET, name, "d", QO_S3_NOT_FOUND);
	qo_s3_req_fini(&r);
}

static void
get_version(struct live *l, const char *bucket, const char *version,
    const char *body)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_GET, bucket, "v");
	r.version_id = version;
	expect(l, &r, QO_S3_OK);
	need(l, strcmp(r.res.body.data, body) == 0);
	need(l, strcmp(r.res.version_id, version) == 0);
	qo_s3_req_fini(&r);
}

/* A delete marker hides, and taking it away shows again. */
static void
case_versions(struct live *l)
{
	const char *name = live_bucket(l, true);
	char *ids[3], *marker, body[16];
	struct qo_s3_req r;
	int i;

	for (i = 0; i < 3; i++) {
		snprintf(body, sizeof(body), "body %d", i);
		qo_s3_req_init(&r, QO_S3_PUT, name, "v");
		r.body = body;
		r.body_len = strlen(body);
		expect(l, &r, QO_S3_OK);
		need(l, r.res.version_id != NULL);
		ids[i] = xstrdup(r.res.version_id);
		qo_s3_req_fini(&r);
	}
	get_version(l, name, ids[0], "body 0");
	get_version(l, name, ids[1], "body 1");
	live_same(l, name, "v", "body 2");
	qo_s3_req_init(&r, QO_S3_DELETE, name, "v");
	expect(l, &r, QO_S3_OK);
	need(l, r.res.delete_marker && r.res.version_id != NULL);
	marker = xstrdup(r.res.version_id);
	qo_s3_req_fini(&r);
	qo_s3_req_init(&r, QO_S3_GET, name, "v");
	expect(l, &r, QO_S3_NOT_FOUND);
	/* Ceph does not say why it is not found. */
	need(l, r.res.delete_marker || l->store->foreign);
	qo_s3_req_fini(&r);
	get_version(l, name, ids[2], "body 2");
	qo_s3_req_init(&r, QO_S3_DELETE, name, "v");
	r.version_id = marker;
	expect(l, &r, QO_S3_OK);
	live_same(l, name, "v", "body 2");
	r.version_id = ids[2];
	expect(l, &r, QO_S3_OK);
	live_same(l, name, "v", "body 1");
	qo_s3_req_fini(&r);
	for (i = 0; i < 3; i++)
		free(ids[i]);
	free(marker);
}

static void
case_range(struct live *l)
{
	const char *name = live_bucket(l, false);
	struct qo_s3_req r;

	live_put(l, name, "r", "0123456789", NULL);
	qo_s3_req_init(&r, QO_S3_GET, name, "r");
	r.range_first = 3;
	r.range_len = 4;
	expect(l, &r, QO_S3_OK);
	need(l, r.res.status == 206);
	need(l, strcmp(r.res.body.data, "3456") == 0);
	r.range_first = 8;
	r.range_len = 100;
	expect(l, &r, QO_S3_OK);
	need(l, strcmp(r.res.body.data, "89") == 0);
	r.range_first = 10;
	expect(l, &r, QO_S3_REJECTED);
	need(l, r.res.status == 416);
	qo_s3_req_fini(&r);
}

static void
case_too_large(struct live *l)
{
	const char *name = live_bucket(l, false);
	size_t size = 5 * KIB * KIB; /* our store was told 4 MiB */
	char *big = xmalloc(size + 1);
	struct qo_s3_req r;

	memset(big, 'x', size);
	big[size] = '\0';
	qo_s3_req_init(&r, QO_S3_PUT, name, "big");
	r.body = big;
	r.body_len = size / 2;
	expect(l, &r, QO_S3_OK);
	if (!l->store->foreign) {
		r.body_len = size;
		expect(l, &r, QO_S3_TOO_LARGE);
		need(l, r.res.attempts == 1);
	}
	qo_s3_req_fini(&r);
	/* The answer, and then the same connection is good again. */
	qo_s3_req_init(&r, QO_S3_GET, name, "big");
	r.response_max = 1000;
	expect(l, &r, QO_S3_TOO_LARGE);
	r.response_max = 0;
	expect(l, &r, QO_S3_OK);
	need(l, r.res.body.len == size / 2);
	qo_s3_req_fini(&r);
	free(big);
}

static void
presign(struct live *l, const char *method, const char *bucket, const char *key,
    const char *if_match, struct buf *url)
{
	struct qo_err err;
	int rc;

	buf_reset(url);
	rc = qo_s3_presign(l->s3, method, bucket, key, if_match, 600, url,
	    &err);
	live_need(l, rc == 0, "%s", rc == 0 ? "" : err.msg);
}

static void
case_presign(struct live *l)
{
	const char *name = live_bucket(l, false), *key = "pre signed/é+&%";
	char etag[QO_S3_ETAG_MAX], header[QO_S3_ETAG_MAX + 16];
	const char *const headers[] = { header, NULL };
	struct buf url, out;

	buf_init(&url, 8192);
	buf_init(&out, 65536);
	presign(l, "PUT", name, key, NULL, &url);
	need(l, live_curl(l, "PUT", url.data, NULL, "by curl", &out) == 200);
	live_same(l, name, key, "by curl");
	/* It is good for that method alone. */
	need(l, live_curl(l, "GET", url.data, NULL, NULL, &out) == 403);
	presign(l, "GET", name, key, NULL, &url);
	need(l, live_curl(l, "GET", url.data, NULL, NULL, &out) == 200);
	need(l, strcmp(out.data, "by curl") == 0);
	url.data[url.len - 1] = url.data[url.len - 1] == '0' ? '1' : '0';
	need(l, live_curl(l, "GET", url.data, NULL, NULL, &out) == 403);
	/* Bound to what the object is now: once, and with the header. */
	live_put(l, name, key, "now", etag);
	if (l->store->etag_form == QO_S3_ETAG_BARE) {
		etag[strlen(etag) - 1] = '\0';
		memmove(etag, etag + 1, strlen(etag));
	}
	snprintf(header, sizeof(header), "If-Match: %s", etag);
	presign(l, "PUT", name, key, etag, &url);
	need(l, live_curl(l, "PUT", url.data, NULL, "x", &out) == 403);
	need(l, live_curl(l, "PUT", url.data, headers, "then", &out) == 200);
	need(l, live_curl(l, "PUT", url.data, headers, "late", &out) == 412);
	live_same(l, name, key, "then");
	buf_fini(&url);
	buf_fini(&out);
}

static void
denied(struct live *l, const struct qo_s3_conf *conf, const char *code)
{
	const char *name = live_bucket(l, false);
	struct qo_s3 *mine = l->s3;
	struct qo_s3_req r;

	l->s3 = live_client(l, conf);
	qo_s3_req_init(&r, QO_S3_PUT, name, "x");
	expect(l, &r, QO_S3_DENIED);
	live_need(l, strcmp(r.res.err.s3_code, code) == 0, "%s, not %s",
	    r.res.err.s3_code, code);
	need(l, r.res.attempts == 1 && !r.res.maybe_applied);
	qo_s3_req_fini(&r);
	plain(l, QO_S3_HEAD, name, "x", QO_S3_DENIED);
	qo_s3_free(l->s3);
	l->s3 = mine;
	plain(l, QO_S3_GET, name, "x", QO_S3_NOT_FOUND);
}

static void
case_denied(struct live *l)
{
	struct qo_s3_conf conf = live_conf(l->store);

	conf.secret_key = "bm90LXRoZS1zZWNyZXQtdGhhdC1pdC1zaG91bGQtYmU";
	denied(l, &conf, "SignatureDoesNotMatch");
	conf = live_conf(l->store);
	conf.access_key = "QONOSUCHKEYNOSUCHKEY";
	denied(l, &conf, "InvalidAccessKeyId");
}

/* The first request is refused for its time, and sent again with the
 * store's. */
static void
wrong_clock(struct live *l, int64_t hours, enum qo_s3_op op)
{
	const char *name;
	struct qo_s3_conf conf = live_conf(l->store);
	struct qo_s3 *mine = l->s3;
	struct qo_s3_req r;
	int64_t skew;

	name = live_bucket(l, false);
	live_put(l, name, "x", "1", NULL);
	live_clock_off_us = hours * 3600 * QO_US_PER_SEC;
	l->s3 = live_client(l, &conf);
	qo_s3_req_init(&r, op, name, "x");
	expect(l, &r, QO_S3_OK);
	need(l, r.res.attempts == 2);
	expect(l, &r, QO_S3_OK);
	need(l, r.res.attempts == 1);
	skew = qo_s3_skew_ms(l->s3) - hours * 3600 * 1000;
	need(l, skew > -60000 && skew < 60000);
	qo_s3_req_fini(&r);
	qo_s3_free(l->s3);
	l->s3 = mine;
	live_clock_off_us = 0;
}

static void
case_wrong_clock(struct live *l)
{
	wrong_clock(l, 5, QO_S3_PUT);
	wrong_clock(l, -30, QO_S3_GET);
	wrong_clock(l, 5, QO_S3_HEAD);
}

const struct live_case live_objects[] = {
	{ "bucket", case_bucket },
	{ "versioning", case_versioning },
	{ "bucket_configuration", case_bucket_configuration },
	{ "object", case_object },
	{ "conditions", case_conditions },
	{ "conditions_versioned", case_conditions_versioned },
	{ "etag_forms", case_etag_forms },
	{ "conditional_delete", case_conditional_delete },
	{ "versions", case_versions },
	{ "range", case_range },
	{ "too_large", case_too_large },
	{ "presign", case_presign },
	{ "denied", case_denied },
	{ "wrong_clock", case_wrong_clock },
	{ NULL, NULL },
};
