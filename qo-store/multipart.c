/*
 * multipart.c - uploads in parts: begin, parts, end, abort.
 */
#include "acl.h"
#include "checksum.h"
#include "meta.h"
#include "ops.h"
#include "reply.h"
#include "server.h"
#include "xml.h"
#include "xmlout.h"

#define PARTS_MAX    10000
#define DOCUMENT_MAX (4 << 20)

static void
create_done(struct request *r)
{
	struct buf b;

	if (r->op.rc != DB_OK) {
		reply_db(r, r->op.rc);
		return;
	}
	buf_init(&b, 64 * 1024);
	xmlout_root(&b, "InitiateMultipartUploadResult");
	xml_add(&b, "Bucket", r->bucket_name);
	xml_add(&b, "Key", r->key);
	xml_add(&b, "UploadId", r->op.out_upload);
	xmlout_close(&b, "InitiateMultipartUploadResult");
	reply_xml(r, 200, &b);
}

void
op_upload_create(struct request *r)
{
	enum checksum_alg alg;
	const char *name;
	enum s3_err e;

	e = meta_collect(&r->mem, r->http, &r->op.meta.headers);
	if (e == S3_OK)
		e = acl_parse_canned(request_header(r, "x-amz-acl"),
		    &r->op.meta.acl);
	name = request_header(r, "x-amz-checksum-algorithm");
	if (e == S3_OK && name != NULL) {
		if (checksum_by_name(name, &alg) == -1)
			e = S3_INVALID_REQUEST;
		else
			reply_header(r, "x-amz-checksum-algorithm",
			    checksum_name(alg));
	}
	if (e != S3_OK) {
		reply_error(r, e);
		return;
	}
	r->op.kind = DB_OP_UPLOAD_CREATE;
	r->op.key = r->key;
	r->op.meta.owner = pool_strdup(&r->mem, r->who.owner);
	request_submit(r, create_done);
}

/* Refuses before the body is read. */
int
op_part_put_start(struct request *r)
{
	struct db_upload u;
	int64_t number;
	enum db_rc rc;

	if (request_param_int(r, "partNumber", 0, PARTS_MAX + 1, &number) !=
		S3_OK ||
	    number < 1 || number > PARTS_MAX) {
		reply_errorf(r, S3_INVALID_ARGUMENT,
		    "Part number must be an integer between 1 and %d",
		    PARTS_MAX);
		return -1;
	}
	memset(&u, 0, sizeof(u));
	r->op.upload_id = request_param(r, "uploadId");
	rc = db_upload_get(r->srv->db, r->bucket->b.id, r->key, r->op.upload_id,
	    &u);
	if (rc != DB_OK) {
		reply_db(r, rc);
		return -1;
	}
	db_upload_fini(&u);
	r->op.part_number = (int)number;
	return 0;
}

static void
part_done(struct request *r)
{
	if (r->op.rc != DB_OK) {
		reply_db(r, r->op.rc);
		return;
	}
	reply_etag(r, r->op.out_etag);
	payload_echo_checksum(&r->payload, r->http);
	reply_empty(r, 200);
}

void
op_part_put(struct request *r)
{
	r->op.kind = DB_OP_PART_PUT;
	r->op.key = r->key;
	r->op.part_checksum = payload_checksum(&r->payload, &r->mem);
	r->op.body = payload_take_body(&r->payload);
	request_submit(r, part_done);
}

struct complete {
	struct request *r;
	struct db_complete_part *parts;
	size_t n;
};

static int
on_open(struct xml *x, const struct xml_elem *e, void *arg)
{
	struct complete *c = arg;

	if (e->depth == 1 && strcmp(e->name, "CompleteMultipartUpload") != 0)
		return xml_refuse(x, "not a CompleteMultipartUpload");
	if (e->depth != 2)
		return 0;
	if (strcmp(e->name, "Part") != 0)
		return xml_refuse(x, "unknown element %s", e->name);
	if (c->n >= PARTS_MAX)
		return xml_refuse(x, "too many parts");
	c->n++;
	return 0;
}

static const char *
unquote(struct request *r, const char *etag)
{
	size_t len;

	len = strlen(etag);
	if (len >= 2 && etag[0] == '"' && etag[len - 1] == '"')
		return pool_strndup(&r->mem, etag + 1, len - 2);
	return pool_strdup(&r->mem, etag);
}

static int
on_close(struct xml *x, const struct xml_elem *e, void *arg)
{
	struct complete *c = arg;
	struct db_complete_part *p;
	enum checksum_alg alg;
	const char *why;

	if (c->n == 0)
		return 0;
	p = &c->parts[c->n - 1];
	if (e->depth == 2 && (p->number == 0 || p->etag == NULL))
		return xml_refuse(x, "a Part needs PartNumber and ETag");
	if (e->depth != 3)
		return 0;
	if (strcmp(e->name, "PartNumber") == 0) {
		p->number = (int)strtonum(e->text, 1, PARTS_MAX, &why);
		if (why != NULL)
			return xml_refuse(x, "bad PartNumber");
	} else if (strcmp(e->name, "ETag") == 0) {
		p->etag = unquote(c->r, e->text);
	} else if (strncmp(e->name, "Checksum", 8) == 0) {
		if (checksum_by_name(e->name + 8, &alg) == -1)
			return xml_refuse(x, "unknown element %s", e->name);
		/* As it is stored: "crc32:base64". */
		p->checksum = pool_printf(&c->r->mem, "%s:%s",
		    checksum_header(alg) + 15, e->text);
	}
	return 0;
}

static enum s3_err
parse_parts(struct request *r)
{
	static const struct xml_ops ops = { on_open, on_close };
	struct complete c = { .r = r };
	struct xml *x;
	int rc;

	c.parts = pool_calloc(&r->mem, PARTS_MAX, sizeof(*c.parts));
	x = xml_new(DOCUMENT_MAX, 4096, &ops, &c);
	rc = xml_parse(x, r->payload.text.data, r->payload.text.len, NULL);
	xml_free(x);
	if (rc == -1 || c.n == 0)
		return S3_MALFORMED_XML;
	r->op.parts = c.parts;
	r->op.nparts = c.n;
	return S3_OK;
}

/* "crc32:base64-3" -> <ChecksumCRC32>base64-3</ChecksumCRC32> */
static void
add_checksum(struct request *r, struct buf *b)
{
	char *text = r->op.out_checksum, *colon;
	enum checksum_alg alg;

	if ((colon = strchr(text, ':')) == NULL)
		return;
	*colon = '\0';
	if (checksum_by_name(text, &alg) == -1)
		return;
	xml_add(b, pool_printf(&r->mem, "Checksum%s", checksum_name(alg)),
	    colon + 1);
	xml_add(b, "ChecksumType", "COMPOSITE");
}

static void
complete_done(struct request *r)
{
	const char *host;
	struct buf b;

	if (r->op.rc != DB_OK) {
		reply_db(r, r->op.rc);
		return;
	}
	if (r->op.out_version[0] != '\0')
		reply_header(r, "x-amz-version-id", r->op.out_version);
	host = request_header(r, "host");
	buf_init(&b, 64 * 1024);
	xmlout_root(&b, "CompleteMultipartUploadResult");
	xml_add(&b, "Location",
	    pool_printf(&r->mem, "http://%s%s", host != NULL ? host : "",
		r->resource));
	xml_add(&b, "Bucket", r->bucket_name);
	xml_add(&b, "Key", r->key);
	xmlout_etag(&b, r->op.out_etag);
	add_checksum(r, &b);
	xmlout_close(&b, "CompleteMultipartUploadResult");
	reply_xml(r, 200, &b);
}

void
op_upload_complete(struct request *r)
{
	enum s3_err e;

	e = parse_parts(r);
	if (e == S3_OK)
		e = request_conditions(r);
	if (e != S3_OK) {
		reply_error(r, e);
		return;
	}
	r->op.kind = DB_OP_UPLOAD_COMPLETE;
	r->op.key = r->key;
	r->op.upload_id = request_param(r, "uploadId");
	r->op.max_size = request_max_object(r);
	request_submit(r, complete_done);
}

static void
abort_done(struct request *r)
{
	if (r->op.rc != DB_OK)
		reply_db(r, r->op.rc);
	else
		reply_empty(r, 204);
}

void
op_upload_abort(struct request *r)
{
	r->op.kind = DB_OP_UPLOAD_ABORT;
	r->op.key = r->key;
	r->op.upload_id = request_param(r, "uploadId");
	request_submit(r, abort_done);
}
