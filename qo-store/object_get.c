/*
 * object_get.c - GET and HEAD of an object.
 */
#include "condition.h"
#include "meta.h"
#include "ops.h"
#include "range.h"
#include "reply.h"
#include "rfc3339.h"
#include "server.h"
#include "verified.h"
#include "xmlout.h"

struct get {
	struct db_obj obj;
	int status;
	int64_t off, len;
};

/* Headers that a signed GET may ask to be answered with. */
static const struct {
	const char *param, *header;
} overrides[] = {
	{ "response-cache-control", "cache-control" },
	{ "response-content-disposition", "content-disposition" },
	{ "response-content-encoding", "content-encoding" },
	{ "response-content-language", "content-language" },
	{ "response-content-type", "content-type" },
	{ "response-expires", "expires" },
};

#define NOVERRIDES (sizeof(overrides) / sizeof(overrides[0]))

static void
get_free(struct request *r)
{
	struct get *g = r->state;

	db_obj_fini(&g->obj);
}

static void
add_date(struct request *r, const char *name, int64_t us)
{
	char text[QO_HTTPDATE_SIZE];

	qo_httpdate_print((struct qo_wall){ us }, text);
	reply_header(r, name, text);
}

static bool
versioned(const struct request *r)
{
	return r->bucket->b.versioning != DB_UNVERSIONED;
}

/* There is no body to give: absent, a marker, or none of the asker's. */
static void
reply_absent(struct request *r, struct get *g, enum db_rc rc)
{
	struct db_obj *o = &g->obj;

	if (rc != DB_OK && !access_may_know(&r->who, &r->bucket->b)) {
		reply_error(r, S3_ACCESS_DENIED);
		return;
	}
	if (o->marker) {
		reply_header(r, "x-amz-delete-marker", "true");
		if (versioned(r))
			reply_header(r, "x-amz-version-id", o->version_id);
	}
	if (rc == DB_OK) {
		add_date(r, "Last-Modified", o->mtime_us);
		reply_header(r, "Allow", "DELETE");
		reply_error(r, S3_METHOD_NOT_ALLOWED);
		return;
	}
	reply_db(r, rc);
}

static enum condition_rc
judge(struct request *r, const struct db_obj *o)
{
	struct condition_read c;

	c.if_match = request_header(r, "if-match");
	c.if_none_match = request_header(r, "if-none-match");
	c.if_modified_since = request_header(r, "if-modified-since");
	c.if_unmodified_since = request_header(r, "if-unmodified-since");
	return condition_read(&c, o->etag, o->mtime_us);
}

/* S3_INVALID_ARGUMENT when a value could break out of its header. */
static enum s3_err
check_overrides(struct request *r)
{
	const char *v;
	size_t i;

	for (i = 0; i < NOVERRIDES && r->query.n > 0; i++) {
		if ((v = request_param(r, overrides[i].param)) == NULL)
			continue;
		if (r->who.anonymous)
			return S3_INVALID_REQUEST;
		for (; *v != '\0'; v++)
			if ((unsigned char)*v < 0x20 || *v == 0x7f)
				return S3_INVALID_ARGUMENT;
	}
	return S3_OK;
}

static bool
overridden(struct request *r, const char *name)
{
	size_t i;

	for (i = 0; i < NOVERRIDES && r->query.n > 0; i++)
		if (strcmp(overrides[i].header, name) == 0)
			return request_param(r, overrides[i].param) != NULL;
	return false;
}

static void
add_kept(struct request *r, struct db_obj *o)
{
	char *p, *name, *value;
	bool type = false;
	size_t i;

	for (i = 0; i < NOVERRIDES && r->query.n > 0; i++) {
		value = (char *)(uintptr_t)request_param(r, overrides[i].param);
		if (value != NULL)
			reply_header(r, overrides[i].header, value);
	}
	for (p = o->meta.headers; meta_next(&p, &name, &value);) {
		if (strcmp(name, "content-type") == 0)
			type = true;
		if (!overridden(r, name))
			reply_header(r, name, value);
	}
	if (!type && !overridden(r, "content-type"))
		reply_header(r, "content-type", "binary/octet-stream");
}

static void
add_checksum(struct request *r, const struct db_obj *o)
{
	const char *mode, *colon;
	char name[48];

	mode = request_header(r, "x-amz-checksum-mode");
	if (mode == NULL || strcasecmp(mode, "ENABLED") != 0 ||
	    o->meta.checksum == NULL)
		return;
	if ((colon = strchr(o->meta.checksum, ':')) == NULL)
		return;
	(void)snprintf(name, sizeof(name), "x-amz-checksum-%.*s",
	    (int)(colon - o->meta.checksum), o->meta.checksum);
	reply_header(r, name, colon + 1);
	reply_header(r, "x-amz-checksum-type",
	    o->parts > 0 ? "COMPOSITE" : "FULL_OBJECT");
}

static void
add_identity(struct request *r, const struct db_obj *o)
{
	reply_etag(r, o->etag);
	add_date(r, "Last-Modified", o->mtime_us);
	if (versioned(r))
		reply_header(r, "x-amz-version-id", o->version_id);
}

static void
send_body(struct request *r)
{
	struct get *g = r->state;
	struct db_obj *o = &g->obj;
	int fd;

	add_identity(r, o);
	reply_header(r, "Accept-Ranges", "bytes");
	add_kept(r, o);
	if (g->status == 206 && g->len > 0)
		httpd_header_addf(r->http, "Content-Range",
		    "bytes %lld-%lld/%lld", (long long)g->off,
		    (long long)(g->off + g->len - 1), (long long)o->size);
	if (g->status == 200)
		add_checksum(r, o);
	if (r->route.op == OP_OBJECT_HEAD) {
		reply_head(r, g->status, g->len);
	} else if (o->file_fd != -1) {
		fd = o->file_fd;
		o->file_fd = -1;
		reply_file(r, g->status, fd, g->off, g->len);
	} else {
		reply_data(r, g->status,
		    o->data != NULL ? o->data + g->off : NULL, (size_t)g->len);
	}
}

static void
verify_done(struct request *r)
{
	struct get *g = r->state;

	if (r->op.rc != DB_OK) {
		reply_db(r, r->op.rc);
		return;
	}
	verified_add(g->obj.version_id, g->obj.etag, g->obj.mtime_us,
	    loop_now(r->srv->loop));
	send_body(r);
}

/* A body in a file is compared with its checksum before a byte is sent. */
static void
get_verified(struct request *r)
{
	struct get *g = r->state;
	struct db_obj *o = &g->obj;

	if (o->file_fd == -1 ||
	    verified_has(o->version_id, o->etag, o->mtime_us,
		loop_now(r->srv->loop))) {
		send_body(r);
		return;
	}
	r->op.kind = DB_OP_VERIFY;
	r->op.copy_fd = o->file_fd;
	r->op.copy_off = 0;
	r->op.copy_len = o->size;
	r->op.crc = o->crc;
	request_submit(r, verify_done);
}

/* Where part n of "5242880 5242880 17" lies; false when there is none. */
static bool
find_part(const char *sizes, int64_t n, int64_t *off, int64_t *len)
{
	char *end;

	*off = *len = 0;
	while (n-- > 0) {
		*off += *len;
		*len = strtoll(sizes, &end, 10);
		if (end == sizes)
			return false;
		sizes = end;
	}
	return true;
}

/* partNumber: an object that was not made of parts is its own first. */
static enum s3_err
get_part(struct request *r, struct get *g)
{
	const struct db_obj *o = &g->obj;
	int64_t n;

	if (request_param_int(r, "partNumber", 1, 10001, &n) != S3_OK ||
	    n < 1 || n > 10000)
		return S3_INVALID_ARGUMENT;
	if (request_header(r, "range") != NULL)
		return S3_INVALID_REQUEST;
	if (o->parts == 0) {
		if (n != 1)
			return S3_INVALID_PART_NUMBER;
	} else if (o->part_sizes == NULL) {
		return S3_NOT_IMPLEMENTED;
	} else if (!find_part(o->part_sizes, n, &g->off, &g->len)) {
		return S3_INVALID_PART_NUMBER;
	}
	g->status = 206;
	if (o->parts > 0)
		httpd_header_addf(r->http, "x-amz-mp-parts-count", "%lld",
		    (long long)o->parts);
	return S3_OK;
}

static void
get_range(struct request *r, struct get *g)
{
	const char *text;
	enum s3_err e;

	g->status = 200;
	g->off = 0;
	g->len = g->obj.size;
	if (request_param(r, "partNumber") != NULL) {
		if ((e = get_part(r, g)) != S3_OK)
			reply_error(r, e);
		else
			get_verified(r);
		return;
	}
	text = request_header(r, "range");
	if (text != NULL &&
	    !condition_if_range(request_header(r, "if-range"), g->obj.etag,
		g->obj.mtime_us))
		text = NULL;
	switch (range_parse(text, g->obj.size, &g->off, &g->len)) {
	case RANGE_WHOLE:
		break;
	case RANGE_PART:
		g->status = 206;
		break;
	case RANGE_UNSATISFIABLE:
		httpd_header_addf(r->http, "Content-Range", "bytes */%lld",
		    (long long)g->obj.size);
		reply_error(r, S3_INVALID_RANGE);
		return;
	}
	get_verified(r);
}

void
op_object_get(struct request *r)
{
	enum s3_err e;
	enum db_rc rc;
	struct get *g;

	g = pool_calloc(&r->mem, 1, sizeof(*g));
	g->obj.file_fd = -1;
	r->state = g;
	r->state_free = get_free;
	rc = db_get(r->srv->db, r->bucket->b.id, r->key,
	    request_param(r, "versionId"),
	    r->route.op == OP_OBJECT_HEAD ? DB_READ_META : DB_READ_BODY,
	    &g->obj);
	if (rc != DB_OK || g->obj.marker) {
		reply_absent(r, g, rc);
		return;
	}
	e = S3_OK;
	if (!access_object(&r->who, &r->bucket->b, &g->obj.meta))
		e = S3_ACCESS_DENIED;
	if (e == S3_OK)
		e = check_overrides(r);
	if (e != S3_OK) {
		reply_error(r, e);
		return;
	}
	switch (judge(r, &g->obj)) {
	case CONDITION_GO:
		get_range(r, g);
		break;
	case CONDITION_NOT_MODIFIED:
		add_identity(r, &g->obj);
		reply_empty(r, 304);
		break;
	case CONDITION_FAILED:
		reply_error(r, S3_PRECONDITION_FAILED);
		break;
	}
}

/* Tags are not kept: every object has the empty set. */
void
op_object_tagging(struct request *r)
{
	struct db_obj o;
	struct buf b;
	enum db_rc rc;

	memset(&o, 0, sizeof(o));
	o.file_fd = -1;
	rc = db_get(r->srv->db, r->bucket->b.id, r->key,
	    request_param(r, "versionId"), DB_READ_META, &o);
	if (rc == DB_OK && !access_object(&r->who, &r->bucket->b, &o.meta))
		rc = DB_NO_KEY;
	db_obj_fini(&o);
	if (rc != DB_OK) {
		reply_db(r, rc);
		return;
	}
	buf_init(&b, 4096);
	xmlout_root(&b, "Tagging");
	buf_adds(&b, "<TagSet></TagSet>");
	xmlout_close(&b, "Tagging");
	reply_xml(r, 200, &b);
}
