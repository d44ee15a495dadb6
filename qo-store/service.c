/*
 * service.c - what is asked of the store as a whole: the list of buckets,
 * and a browser's question whether it may ask.
 */
#include "cors.h"
#include "ops.h"
#include "reply.h"
#include "server.h"
#include "xml.h"
#include "xmlout.h"

struct bucket_list {
	const char *owner;
	struct buf xml;
};

static bool
on_bucket(const struct db_bucket *b, void *arg)
{
	struct bucket_list *l = arg;

	if (strcmp(b->owner, l->owner) != 0)
		return true;
	xmlout_open(&l->xml, "Bucket");
	xml_add(&l->xml, "Name", b->name);
	xmlout_time(&l->xml, "CreationDate", b->created_us);
	xmlout_close(&l->xml, "Bucket");
	return !buf_failed(&l->xml);
}

void
op_list_buckets(struct request *r)
{
	struct bucket_list l;
	enum db_rc rc;

	l.owner = r->who.owner;
	buf_init(&l.xml, 16 << 20);
	xmlout_root(&l.xml, "ListAllMyBucketsResult");
	xmlout_owner(&l.xml, "Owner", l.owner);
	xmlout_open(&l.xml, "Buckets");
	rc = db_bucket_each(r->srv->db, on_bucket, &l);
	if (rc != DB_OK) {
		buf_fini(&l.xml);
		reply_db(r, rc);
		return;
	}
	xmlout_close(&l.xml, "Buckets");
	xmlout_close(&l.xml, "ListAllMyBucketsResult");
	reply_xml(r, 200, &l.xml);
}

static bool
names_token(const char *headers)
{
	return headers != NULL &&
	    strcasestr(headers, "x-amz-security-token") != NULL;
}

void
op_preflight(struct request *r)
{
	const char *origin, *method, *headers;
	const struct cors_rule *rule = NULL;
	bool star;

	origin = request_header(r, "origin");
	method = request_header(r, "access-control-request-method");
	headers = request_header(r, "access-control-request-headers");
	if (origin == NULL || method == NULL) {
		reply_errorf(r, S3_BAD_REQUEST,
		    "Insufficient information. Origin and "
		    "Access-Control-Request-Method are needed");
		return;
	}
	if (r->bucket != NULL && r->bucket->cors != NULL)
		rule = cors_match(r->bucket->cors, origin, method, headers,
		    names_token(headers), &star);
	if (rule == NULL) {
		reply_error(r, S3_CORS_FORBIDDEN);
		return;
	}
	reply_header(r, "Access-Control-Allow-Origin", star ? "*" : origin);
	reply_header(r, "Access-Control-Allow-Methods", method);
	if (headers != NULL)
		reply_header(r, "Access-Control-Allow-Headers", headers);
	if (rule->expose != NULL)
		reply_header(r, "Access-Control-Expose-Headers", rule->expose);
	if (rule->max_age >= 0)
		httpd_header_addf(r->http, "Access-Control-Max-Age", "%ld",
		    rule->max_age);
	reply_empty(r, 200);
}
