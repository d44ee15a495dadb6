/*
 * copy.c - CopyObject and UploadPartCopy.
 *
 * A small body is copied here and now; one that lives in a file is copied by
 * the database's file thread.
 */
#include "acl.h"
#include "condition.h"
#include "meta.h"
#include "ops.h"
#include "range.h"
#include "reply.h"
#include "server.h"
#include "xml.h"
#include "xmlout.h"

struct copy {
	const char *bucket_name, *key, *version_id;
	struct bucket *bucket;
	struct db_obj obj;
	int64_t off, len;
};

static void
copy_free(struct request *r)
{
	struct copy *c = r->state;

	bucket_release(c->bucket);
	db_obj_fini(&c->obj);
}

/* bucket/key[?versionId=id], percent-encoded, with or without a slash. */
static enum s3_err
parse_source(struct request *r, struct copy *c)
{
	const char *text, *q;
	struct uri_query query;
	char *path;
	enum s3_err e;

	text = request_header(r, "x-amz-copy-source");
	if (*text == '/')
		text++;
	if ((q = strstr(text, "?versionId=")) != NULL) {
		path = pool_printf(&r->mem, "/%.*s", (int)(q - text), text);
		if (uri_query_parse(&query, q + 1, 1, 0) == -1)
			return S3_INVALID_ARGUMENT;
		c->version_id = pool_strdup(&r->mem, query.pairs[0].value);
		uri_query_fini(&query);
	} else {
		path = pool_printf(&r->mem, "/%s", text);
	}
	e = route_split(&r->mem, path, &c->bucket_name, &c->key);
	if (e != S3_OK || *c->bucket_name == '\0' || *c->key == '\0')
		return S3_INVALID_ARGUMENT;
	return S3_OK;
}

static enum s3_err
judge(struct request *r, const struct db_obj *o)
{
	struct condition_read c;

	c.if_match = request_header(r, "x-amz-copy-source-if-match");
	c.if_none_match = request_header(r, "x-amz-copy-source-if-none-match");
	c.if_modified_since = request_header(r,
	    "x-amz-copy-source-if-modified-since");
	c.if_unmodified_since = request_header(r,
	    "x-amz-copy-source-if-unmodified-since");
	return condition_read(&c, o->etag, o->mtime_us) == CONDITION_GO
	    ? S3_OK
	    : S3_PRECONDITION_FAILED;
}

static enum s3_err
open_source(struct request *r, struct copy *c)
{
	enum s3_err e;
	enum db_rc rc;

	if ((e = parse_source(r, c)) != S3_OK)
		return e;
	rc = bcache_get(r->srv->buckets, c->bucket_name, &c->bucket);
	if (rc != DB_OK)
		return reply_db_err(rc);
	if (!access_bucket(&r->who, ACCESS_GET, &c->bucket->b, c->key,
		&r->srv->conf->public_prefixes))
		return S3_ACCESS_DENIED;
	rc = db_get(r->srv->db, c->bucket->b.id, c->key, c->version_id,
	    DB_READ_BODY, &c->obj);
	if (rc != DB_OK)
		return access_may_know(&r->who, &c->bucket->b)
		    ? reply_db_err(rc)
		    : S3_ACCESS_DENIED;
	if (!access_object(&r->who, &c->bucket->b, &c->obj.meta))
		return S3_ACCESS_DENIED;
	if (c->obj.marker)
		return S3_INVALID_REQUEST;
	c->off = 0;
	c->len = c->obj.size;
	return judge(r, &c->obj);
}

/* Gives the operation its body; 0, or -1 after an answer. */
static int
set_body(struct request *r, struct copy *c)
{
	enum db_rc rc;

	r->op.copy_fd = c->obj.file_fd;
	if (c->obj.file_fd != -1) {
		r->op.copy_off = c->off;
		r->op.copy_len = c->len;
		return 0;
	}
	r->op.body = db_body_new(r->srv->db);
	if (c->len > 0 &&
	    db_body_add(r->op.body, c->obj.data + c->off, (size_t)c->len,
		&rc) == -1) {
		db_body_free(r->op.body);
		r->op.body = NULL;
		reply_db(r, rc);
		return -1;
	}
	return 0;
}

static struct copy *
copy_new(struct request *r)
{
	struct copy *c;

	c = pool_calloc(&r->mem, 1, sizeof(*c));
	c->obj.file_fd = -1;
	r->state = c;
	r->state_free = copy_free;
	return c;
}

static void
copy_reply(struct request *r, const char *root)
{
	struct copy *c = r->state;
	struct buf b;

	if (r->op.rc != DB_OK) {
		reply_db(r, r->op.rc);
		return;
	}
	if (r->op.out_version[0] != '\0')
		reply_header(r, "x-amz-version-id", r->op.out_version);
	if (c->bucket->b.versioning != DB_UNVERSIONED)
		reply_header(r, "x-amz-copy-source-version-id",
		    c->obj.version_id);
	buf_init(&b, 4096);
	xmlout_root(&b, root);
	xmlout_time(&b, "LastModified", r->op.out_mtime_us);
	xmlout_etag(&b, r->op.out_etag);
	xmlout_close(&b, root);
	reply_xml(r, 200, &b);
}

static void
object_done(struct request *r)
{
	copy_reply(r, "CopyObjectResult");
}

/* The copy's own headers, by the directive. */
static enum s3_err
copy_meta(struct request *r, struct copy *c)
{
	const char *directive;
	bool replace;
	enum s3_err e;

	directive = request_header(r, "x-amz-metadata-directive");
	replace = directive != NULL && strcmp(directive, "REPLACE") == 0;
	if (directive != NULL && !replace && strcmp(directive, "COPY") != 0)
		return S3_INVALID_ARGUMENT;
	if (replace) {
		e = meta_collect(&r->mem, r->http, &r->op.meta.headers);
	} else {
		e = meta_refuse(r->http);
		if (c->obj.meta.headers != NULL)
			r->op.meta.headers = pool_strdup(&r->mem,
			    c->obj.meta.headers);
		if (strcmp(c->bucket_name, r->bucket_name) == 0 &&
		    strcmp(c->key, r->key) == 0 && c->version_id == NULL)
			return S3_INVALID_REQUEST;
	}
	/* That of parts is not that of the whole. */
	if (c->obj.meta.checksum != NULL && c->obj.parts == 0)
		r->op.meta.checksum = pool_strdup(&r->mem,
		    c->obj.meta.checksum);
	return e;
}

void
op_object_copy(struct request *r)
{
	struct copy *c;
	enum s3_err e;

	c = copy_new(r);
	e = open_source(r, c);
	if (e == S3_OK && c->len > request_max_object(r))
		e = S3_ENTITY_TOO_LARGE;
	if (e == S3_OK)
		e = copy_meta(r, c);
	if (e == S3_OK)
		e = acl_parse_canned(request_header(r, "x-amz-acl"),
		    &r->op.meta.acl);
	if (e == S3_OK)
		e = request_conditions(r);
	if (e != S3_OK) {
		reply_error(r, e);
		return;
	}
	if (set_body(r, c) == -1)
		return;
	r->op.kind = DB_OP_PUT;
	r->op.key = r->key;
	r->op.meta.owner = pool_strdup(&r->mem, r->who.owner);
	request_submit(r, object_done);
}

static void
part_done(struct request *r)
{
	copy_reply(r, "CopyPartResult");
}

void
op_part_copy(struct request *r)
{
	const char *range;
	struct copy *c;
	int64_t number;
	enum s3_err e;

	c = copy_new(r);
	e = request_param_int(r, "partNumber", 0, 10001, &number);
	if (e == S3_OK && (number < 1 || number > 10000))
		e = S3_INVALID_ARGUMENT;
	if (e == S3_OK)
		e = open_source(r, c);
	range = request_header(r, "x-amz-copy-source-range");
	if (e == S3_OK && range != NULL &&
	    range_parse_copy(range, c->obj.size, &c->off, &c->len) == -1)
		e = S3_INVALID_ARGUMENT;
	if (e == S3_OK &&
	    (c->len > r->srv->conf->max_body || c->len > request_max_object(r)))
		e = S3_ENTITY_TOO_LARGE;
	if (e != S3_OK) {
		reply_error(r, e);
		return;
	}
	if (set_body(r, c) == -1)
		return;
	r->op.kind = DB_OP_PART_PUT;
	r->op.key = r->key;
	r->op.upload_id = request_param(r, "uploadId");
	r->op.part_number = (int)number;
	request_submit(r, part_done);
}
