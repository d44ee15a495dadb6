/*
 * object_put.c - PUT and DELETE of one object.
 */
#include "acl.h"
#include "condition.h"
#include "meta.h"
#include "ops.h"
#include "reply.h"
#include "server.h"

int
op_object_put_start(struct request *r)
{
	enum s3_err e;

	e = meta_collect(&r->mem, r->http, &r->op.meta.headers);
	if (e == S3_OK)
		e = acl_parse_canned(request_header(r, "x-amz-acl"),
		    &r->op.meta.acl);
	if (e == S3_OK)
		e = request_conditions(r);
	if (e != S3_OK) {
		reply_error(r, e);
		return -1;
	}
	return 0;
}

static void
put_done(struct request *r)
{
	if (r->op.rc != DB_OK) {
		reply_db(r, r->op.rc);
		return;
	}
	reply_etag(r, r->op.out_etag);
	if (r->op.out_version[0] != '\0')
		reply_header(r, "x-amz-version-id", r->op.out_version);
	payload_echo_checksum(&r->payload, r->http);
	reply_empty(r, 200);
}

void
op_object_put(struct request *r)
{
	r->op.kind = DB_OP_PUT;
	r->op.key = r->key;
	r->op.meta.owner = pool_strdup(&r->mem, r->who.owner);
	r->op.meta.checksum = payload_checksum(&r->payload, &r->mem);
	r->op.body = payload_take_body(&r->payload);
	request_submit(r, put_done);
}

static void
delete_done(struct request *r)
{
	const struct db_delete *d = &r->op.deletes[0];
	enum db_rc rc;

	rc = r->op.rc != DB_OK ? r->op.rc : d->rc;
	if (rc != DB_OK) {
		reply_db(r, rc);
		return;
	}
	if (d->out_version[0] != '\0')
		reply_header(r, "x-amz-version-id", d->out_version);
	if (d->marker)
		reply_header(r, "x-amz-delete-marker", "true");
	reply_empty(r, 204);
}

void
op_object_delete(struct request *r)
{
	struct condition_write c;
	struct db_delete *d;
	enum s3_err e;

	if (request_header(r, "x-amz-if-match-size") != NULL ||
	    request_header(r, "x-amz-if-match-last-modified-time") != NULL) {
		reply_error(r, S3_NOT_IMPLEMENTED);
		return;
	}
	e = condition_write_parse(&r->mem, request_header(r, "if-match"), NULL,
	    false, &c);
	if (e != S3_OK) {
		reply_error(r, e);
		return;
	}
	d = pool_calloc(&r->mem, 1, sizeof(*d));
	d->key = r->key;
	d->version_id = request_param(r, "versionId");
	d->if_match = c.if_match;
	r->op.kind = DB_OP_DELETE;
	r->op.owner = r->who.owner;
	r->op.deletes = d;
	r->op.ndeletes = 1;
	request_submit(r, delete_done);
}
