#include <stdarg.h>

#include "cors.h"
#include "log.h"
#include "reply.h"
#include "server.h"

#define ERROR_MAX (64 * 1024)

void
reply_header(struct request *r, const char *name, const char *value)
{
	httpd_header_add(r->http, name, value);
}

void
reply_etag(struct request *r, const char *etag)
{
	char quoted[DB_ETAG_MAX + 2];
	size_t len;

	len = strlen(etag);
	quoted[0] = '"';
	memcpy(quoted + 1, etag, len);
	quoted[len + 1] = '"';
	quoted[len + 2] = '\0';
	httpd_header_add(r->http, "ETag", quoted);
}

static void
add_cors(struct request *r)
{
	const struct cors_rule *rule;
	const char *origin;
	bool star;

	origin = request_header(r, "origin");
	if (r->bucket == NULL || r->bucket->cors == NULL) {
		if (origin != NULL)
			reply_header(r, "Vary", "Origin");
		return;
	}
	reply_header(r, "Vary", "Origin");
	if (origin == NULL || r->route.op == OP_PREFLIGHT)
		return;
	rule = cors_match(r->bucket->cors, origin, r->http->method, NULL,
	    r->who.session, &star);
	if (rule == NULL)
		return;
	reply_header(r, "Access-Control-Allow-Origin", star ? "*" : origin);
	if (rule->expose != NULL)
		reply_header(r, "Access-Control-Expose-Headers", rule->expose);
}

static void
add_common(struct request *r, int status)
{
	reply_header(r, "x-amz-request-id", r->id);
	reply_header(r, "x-amz-id-2", r->srv->id2);
	reply_header(r, "X-Content-Type-Options", "nosniff");
	add_cors(r);
	if (log_wants(LOG_LVL_DEBUG))
		log_event(LOG_LVL_DEBUG, "request", "id", r->id, "method",
		    r->http->method, "path", r->resource, "status",
		    LOG_NUM(status), NULL);
}

void
reply_fault(struct request *r, int status, const char *code,
    const char *message, const char *extra)
{
	struct buf b;

	buf_init(&b, ERROR_MAX);
	if (r->route.op == OP_SESSION_TOKEN)
		s3err_sts_body(&b, status, code, message, r->id);
	else
		s3err_body(&b, code, message, r->resource, r->id, extra);
	if (status == 503)
		reply_header(r, "Retry-After", "1");
	reply_header(r, "Content-Type", "application/xml");
	add_common(r, status);
	httpd_send_buf(r->http, status, &b);
	buf_fini(&b);
	r->http = NULL;
	request_free(r);
}

void
reply_error(struct request *r, enum s3_err e)
{
	reply_fault(r, s3err_status(e), s3err_code(e), s3err_message(e), NULL);
}

void
reply_errorf(struct request *r, enum s3_err e, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	reply_fault(r, s3err_status(e), s3err_code(e), text, NULL);
}

enum s3_err
reply_db_err(enum db_rc rc)
{
	switch (rc) {
	case DB_OK:
		return S3_OK;
	case DB_NO_BUCKET:
		return S3_NO_SUCH_BUCKET;
	case DB_NO_KEY:
		return S3_NO_SUCH_KEY;
	case DB_NO_VERSION:
		return S3_NO_SUCH_VERSION;
	case DB_NO_UPLOAD:
		return S3_NO_SUCH_UPLOAD;
	case DB_BAD_PART:
		return S3_INVALID_PART;
	case DB_PART_ORDER:
		return S3_INVALID_PART_ORDER;
	case DB_PART_SMALL:
		return S3_ENTITY_TOO_SMALL;
	case DB_QUOTA:
		return S3_QUOTA_EXCEEDED;
	case DB_TOO_LARGE:
		return S3_ENTITY_TOO_LARGE;
	case DB_EXISTS:
		return S3_BUCKET_ALREADY_EXISTS;
	case DB_NOT_EMPTY:
		return S3_BUCKET_NOT_EMPTY;
	case DB_PRECONDITION:
		return S3_PRECONDITION_FAILED;
	case DB_FULL:
	case DB_READONLY:
		return S3_UNAVAILABLE;
	case DB_CORRUPT:
	case DB_ERROR:
		return S3_INTERNAL;
	}
	return S3_INTERNAL;
}

void
reply_db(struct request *r, enum db_rc rc)
{
	if (rc == DB_FULL)
		reply_errorf(r, S3_UNAVAILABLE, "The disk is full");
	else if (rc == DB_READONLY)
		reply_errorf(r, S3_UNAVAILABLE, "The disk is read-only");
	else
		reply_error(r, reply_db_err(rc));
}

void
reply_empty(struct request *r, int status)
{
	reply_data(r, status, NULL, 0);
}

void
reply_data(struct request *r, int status, const char *p, size_t len)
{
	add_common(r, status);
	httpd_send(r->http, status, p, len);
	r->http = NULL;
	request_free(r);
}

void
reply_xml(struct request *r, int status, struct buf *b)
{
	if (buf_failed(b)) {
		buf_fini(b);
		reply_error(r, S3_INTERNAL);
		return;
	}
	reply_header(r, "Content-Type", "application/xml");
	add_common(r, status);
	httpd_send_buf(r->http, status, b);
	buf_fini(b);
	r->http = NULL;
	request_free(r);
}

void
reply_file(struct request *r, int status, int fd, int64_t off, int64_t len)
{
	add_common(r, status);
	httpd_send_file(r->http, status, fd, off, len);
	r->http = NULL;
	request_free(r);
}

void
reply_head(struct request *r, int status, int64_t length)
{
	add_common(r, status);
	httpd_send_head(r->http, status, length);
	r->http = NULL;
	request_free(r);
}
