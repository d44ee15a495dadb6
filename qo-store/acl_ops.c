/*
 * acl_ops.c - GET and PUT of ?acl, on buckets and on objects.
 */
#include "acl.h"
#include "ops.h"
#include "reply.h"
#include "server.h"

static void
reply_acl(struct request *r, const char *owner, enum db_acl acl)
{
	struct buf b;

	buf_init(&b, 64 * 1024);
	acl_encode(&b, owner, acl);
	reply_xml(r, 200, &b);
}

/* From the header or, without one, from the document. */
static enum s3_err
wanted_acl(struct request *r, const char *owner, enum db_acl *out)
{
	const char *word;
	size_t i;

	for (i = 0; i < r->http->nheaders; i++)
		if (strncmp(r->http->headers[i].name, "x-amz-grant-", 12) == 0)
			return S3_NOT_IMPLEMENTED;
	if ((word = request_header(r, "x-amz-acl")) != NULL)
		return acl_parse_canned(word, out);
	if (r->payload.text.len == 0)
		return S3_MISSING_BODY;
	return acl_parse_xml(r->payload.text.data, r->payload.text.len, owner,
	    out);
}

void
op_bucket_acl_get(struct request *r)
{
	reply_acl(r, r->bucket->b.owner, r->bucket->b.acl);
}

static void
bucket_acl_done(struct request *r)
{
	bcache_drop(r->srv->buckets, r->bucket_name);
	if (r->op.rc != DB_OK)
		reply_db(r, r->op.rc);
	else
		reply_empty(r, 200);
}

void
op_bucket_acl_put(struct request *r)
{
	enum s3_err e;

	if ((e = wanted_acl(r, r->bucket->b.owner, &r->op.acl)) != S3_OK) {
		reply_error(r, e);
		return;
	}
	r->op.kind = DB_OP_BUCKET_SET;
	r->op.set = DB_SET_ACL;
	request_submit(r, bucket_acl_done);
}

/* The object that ?acl speaks of; answers and gives -1 when there is none. */
static int
find_object(struct request *r, struct db_obj *o)
{
	enum db_rc rc;

	memset(o, 0, sizeof(*o));
	o->file_fd = -1;
	rc = db_get(r->srv->db, r->bucket->b.id, r->key,
	    request_param(r, "versionId"), DB_READ_META, o);
	if (rc == DB_OK && o->marker) {
		db_obj_fini(o);
		reply_header(r, "x-amz-delete-marker", "true");
		reply_header(r, "Allow", "DELETE");
		reply_error(r, S3_METHOD_NOT_ALLOWED);
		return -1;
	}
	if (rc != DB_OK) {
		db_obj_fini(o);
		reply_db(r, rc);
		return -1;
	}
	return 0;
}

void
op_object_acl_get(struct request *r)
{
	const char *owner;
	struct db_obj o;
	enum db_acl acl;

	if (find_object(r, &o) == -1)
		return;
	owner = pool_strdup(&r->mem,
	    o.meta.owner != NULL ? o.meta.owner : r->bucket->b.owner);
	acl = o.meta.acl;
	db_obj_fini(&o);
	reply_acl(r, owner, acl);
}

static void
object_acl_done(struct request *r)
{
	if (r->op.rc != DB_OK)
		reply_db(r, r->op.rc);
	else
		reply_empty(r, 200);
}

void
op_object_acl_put(struct request *r)
{
	const char *owner, *vid;
	struct db_obj o;
	enum s3_err e;

	if (find_object(r, &o) == -1)
		return;
	owner = pool_strdup(&r->mem,
	    o.meta.owner != NULL ? o.meta.owner : r->bucket->b.owner);
	db_obj_fini(&o);
	if ((e = wanted_acl(r, owner, &r->op.acl)) != S3_OK) {
		reply_error(r, e);
		return;
	}
	vid = request_param(r, "versionId");
	r->op.kind = DB_OP_SET_ACL;
	r->op.key = r->key;
	r->op.version_id = vid;
	r->op.meta.acl = r->op.acl;
	request_submit(r, object_acl_done);
}
