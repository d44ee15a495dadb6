/*
 * bucket_conf.c - a bucket's versioning state, CORS and lifecycle rules.
 */
#include "cors.h"
#include "lifecycle.h"
#include "lifecycle_run.h"
#include "ops.h"
#include "reply.h"
#include "server.h"
#include "xml.h"
#include "xmlout.h"

#define CONF_MAX (256 * 1024)

static void
set_done(struct request *r)
{
	bcache_drop(r->srv->buckets, r->bucket_name);
	if (r->op.rc != DB_OK) {
		reply_db(r, r->op.rc);
		return;
	}
	if ((r->op.set & DB_SET_LIFECYCLE) != 0 && r->op.lifecycle != NULL)
		lifecycle_run_wake(r->srv->lifecycle);
	reply_empty(r, strcmp(r->http->method, "DELETE") == 0 ? 204 : 200);
}

static void
set_submit(struct request *r, unsigned set)
{
	r->op.kind = DB_OP_BUCKET_SET;
	r->op.set = set;
	request_submit(r, set_done);
}

static void
reply_text(struct request *r, const char *text, enum s3_err none)
{
	struct buf b;

	if (text == NULL) {
		reply_error(r, none);
		return;
	}
	buf_init(&b, CONF_MAX);
	buf_adds(&b, text);
	reply_xml(r, 200, &b);
}

void
op_versioning_get(struct request *r)
{
	struct buf b;

	buf_init(&b, 4096);
	xmlout_root(&b, "VersioningConfiguration");
	switch (r->bucket->b.versioning) {
	case DB_UNVERSIONED:
		break;
	case DB_VERSIONED:
		xml_add(&b, "Status", "Enabled");
		break;
	case DB_SUSPENDED:
		xml_add(&b, "Status", "Suspended");
		break;
	}
	xmlout_close(&b, "VersioningConfiguration");
	reply_xml(r, 200, &b);
}

struct versioning {
	enum db_versioning state;
	bool set, mfa;
};

static int
versioning_close(struct xml *x, const struct xml_elem *e, void *arg)
{
	struct versioning *v = arg;

	if (strcmp(e->path, "VersioningConfiguration/Status") == 0) {
		if (strcmp(e->text, "Enabled") == 0)
			v->state = DB_VERSIONED;
		else if (strcmp(e->text, "Suspended") == 0)
			v->state = DB_SUSPENDED;
		else
			return xml_refuse(x, "bad Status");
		v->set = true;
	} else if (strcmp(e->path, "VersioningConfiguration/MfaDelete") == 0) {
		v->mfa = strcmp(e->text, "Enabled") == 0;
	} else if (e->depth == 1 &&
	    strcmp(e->name, "VersioningConfiguration") != 0) {
		return xml_refuse(x, "not a VersioningConfiguration");
	}
	return 0;
}

void
op_versioning_put(struct request *r)
{
	static const struct xml_ops ops = { NULL, versioning_close };
	struct versioning v = { DB_UNVERSIONED, false, false };
	struct xml *x;
	int rc;

	x = xml_new(64 * 1024, 4096, &ops, &v);
	rc = xml_parse(x, r->payload.text.data, r->payload.text.len, NULL);
	xml_free(x);
	if (rc == -1)
		reply_error(r, S3_MALFORMED_XML);
	else if (v.mfa)
		reply_error(r, S3_NOT_IMPLEMENTED);
	else if (!v.set)
		reply_error(r, S3_ILLEGAL_VERSIONING);
	else {
		r->op.versioning = v.state;
		set_submit(r, DB_SET_VERSIONING);
	}
}

void
op_cors_get(struct request *r)
{
	reply_text(r, r->bucket->b.cors, S3_NO_SUCH_CORS);
}

void
op_cors_put(struct request *r)
{
	struct cors *c;
	struct buf b;
	enum s3_err e;

	c = cors_parse(r->payload.text.data, r->payload.text.len, &e);
	if (c == NULL) {
		reply_error(r, e);
		return;
	}
	buf_init(&b, CONF_MAX);
	cors_encode(c, &b);
	cors_free(c);
	r->op.cors = pool_strndup(&r->mem, b.data, b.len);
	buf_fini(&b);
	set_submit(r, DB_SET_CORS);
}

void
op_cors_delete(struct request *r)
{
	r->op.cors = NULL;
	set_submit(r, DB_SET_CORS);
}

void
op_lifecycle_get(struct request *r)
{
	reply_text(r, r->bucket->b.lifecycle, S3_NO_SUCH_LIFECYCLE);
}

void
op_lifecycle_put(struct request *r)
{
	struct lifecycle *lc;
	struct buf b;
	enum s3_err e;

	lc = lifecycle_parse(r->payload.text.data, r->payload.text.len, &e);
	if (lc == NULL) {
		reply_error(r, e);
		return;
	}
	buf_init(&b, CONF_MAX);
	lifecycle_encode(lc, &b);
	lifecycle_free(lc);
	r->op.lifecycle = pool_strndup(&r->mem, b.data, b.len);
	buf_fini(&b);
	set_submit(r, DB_SET_LIFECYCLE);
}

void
op_lifecycle_delete(struct request *r)
{
	r->op.lifecycle = NULL;
	set_submit(r, DB_SET_LIFECYCLE);
}
