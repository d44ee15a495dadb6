/*
 * bucket.c - buckets made, removed, asked for.
 */
#include "acl.h"
#include "ops.h"
#include "reply.h"
#include "server.h"
#include "xml.h"
#include "xmlout.h"

static void
create_done(struct request *r)
{
	bcache_drop(r->srv->buckets, r->bucket_name);
	if (r->op.rc == DB_EXISTS &&
	    strcmp(r->op.bucket.owner, r->who.owner) == 0) {
		reply_error(r, S3_BUCKET_ALREADY_OWNED);
		return;
	}
	if (r->op.rc != DB_OK) {
		reply_db(r, r->op.rc);
		return;
	}
	reply_header(r, "Location",
	    pool_printf(&r->mem, "/%s", r->bucket_name));
	reply_empty(r, 200);
}

static int
on_open(struct xml *x, const struct xml_elem *e, void *arg)
{
	(void)arg;
	if (e->depth == 1 && strcmp(e->name, "CreateBucketConfiguration") != 0)
		return xml_refuse(x, "not a CreateBucketConfiguration");
	return 0;
}

/* One machine is one place: a location is read and not used. */
static bool
document_ok(const struct payload *p)
{
	static const struct xml_ops ops = { on_open, NULL };
	struct xml *x;
	int rc;

	if (p->text.len == 0)
		return true;
	x = xml_new(64 * 1024, 4096, &ops, NULL);
	rc = xml_parse(x, p->text.data, p->text.len, NULL);
	xml_free(x);
	return rc == 0;
}

void
op_bucket_create(struct request *r)
{
	const char *lock;
	enum s3_err e;

	/* S3 wants three characters; the default of [s3] bucket has two. */
	if (!route_bucket_name_ok(r->bucket_name) &&
	    strcmp(r->bucket_name, "qo") != 0) {
		reply_error(r, S3_INVALID_BUCKET_NAME);
		return;
	}
	lock = request_header(r, "x-amz-bucket-object-lock-enabled");
	if (lock != NULL && strcasecmp(lock, "true") == 0) {
		reply_error(r, S3_NOT_IMPLEMENTED);
		return;
	}
	e = acl_parse_canned(request_header(r, "x-amz-acl"), &r->op.acl);
	if (e == S3_OK && !document_ok(&r->payload))
		e = S3_MALFORMED_XML;
	if (e != S3_OK) {
		reply_error(r, e);
		return;
	}
	r->op.kind = DB_OP_BUCKET_CREATE;
	r->op.bucket_name = r->bucket_name;
	r->op.owner = r->who.owner;
	request_submit(r, create_done);
}

static void
delete_done(struct request *r)
{
	bcache_drop(r->srv->buckets, r->bucket_name);
	if (r->op.rc != DB_OK)
		reply_db(r, r->op.rc);
	else
		reply_empty(r, 204);
}

void
op_bucket_delete(struct request *r)
{
	r->op.kind = DB_OP_BUCKET_DELETE;
	r->op.bucket_name = r->bucket_name;
	request_submit(r, delete_done);
}

static const char *
region(const struct request *r)
{
	return strcmp(r->srv->conf->region, "auto") == 0 ? "us-east-1"
							 : r->srv->conf->region;
}

void
op_bucket_head(struct request *r)
{
	reply_header(r, "x-amz-bucket-region", region(r));
	reply_header(r, "Content-Type", "application/xml");
	reply_empty(r, 200);
}

void
op_bucket_location(struct request *r)
{
	struct buf b;

	buf_init(&b, 4096);
	xmlout_root(&b, "LocationConstraint");
	/* us-east-1 is the empty name, as S3 has it. */
	if (strcmp(region(r), "us-east-1") != 0)
		xml_escape(&b, region(r), strlen(region(r)));
	xmlout_close(&b, "LocationConstraint");
	reply_xml(r, 200, &b);
}

/* What is always the same: nothing is logged, nobody is notified. */
void
op_bucket_static(struct request *r)
{
	static const struct {
		const char *sub, *root, *inner;
	} docs[] = {
		{ "accelerate", "AccelerateConfiguration", "" },
		{ "logging", "BucketLoggingStatus", "" },
		{ "notification", "NotificationConfiguration", "" },
		{ "requestPayment", "RequestPaymentConfiguration",
		    "<Payer>BucketOwner</Payer>" },
	};
	struct buf b;
	size_t i;

	buf_init(&b, 4096);
	for (i = 0; i < sizeof(docs) / sizeof(docs[0]); i++) {
		if (strcmp(docs[i].sub, r->route.sub) != 0)
			continue;
		xmlout_root(&b, docs[i].root);
		buf_adds(&b, docs[i].inner);
		xmlout_close(&b, docs[i].root);
	}
	reply_xml(r, 200, &b);
}
