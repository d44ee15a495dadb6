#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rfc3339.h"
#include "s3_answer.h"
#include "xalloc.h"

void
s3_res_reset(struct qo_s3_res *res)
{
	struct qo_s3xml *xml = res->xml;

	free(res->version_id);
	if (res->body.data != NULL)
		buf_fini(&res->body);
	memset(res, 0, sizeof(*res));
	buf_init(&res->body, 0);
	res->length = res->seq = -1;
	res->xml = xml;
}

void
s3_res_fini(struct qo_s3_res *res)
{
	s3_res_reset(res);
	qo_s3xml_free(res->xml);
	res->xml = NULL;
}

bool
s3_op_writes(enum qo_s3_op op)
{
	switch (op) {
	case QO_S3_GET:
	case QO_S3_HEAD:
	case QO_S3_LIST:
	case QO_S3_LIST_VERSIONS:
	case QO_S3_BUCKET_HEAD:
	case QO_S3_VERSIONING_GET:
	case QO_S3_LIFECYCLE_GET:
		return false;
	case QO_S3_PUT:
	case QO_S3_DELETE:
	case QO_S3_DELETE_MANY:
	case QO_S3_BUCKET_CREATE:
	case QO_S3_BUCKET_DELETE:
	case QO_S3_VERSIONING_PUT:
	case QO_S3_CORS_PUT:
	case QO_S3_LIFECYCLE_PUT:
	case QO_S3_OPS:
		break;
	}
	return true;
}

/* What the request was about, for messages: "PUT qo/tasks/1/x.json". */
static void
describe(const struct qo_s3_req *r, char *out, size_t size)
{
	snprintf(out, size, "%s %s%s%.120s", qo_s3_op_name(r->op),
	    r->bucket != NULL ? r->bucket : "", r->key != NULL ? "/" : "",
	    r->key != NULL ? r->key : "");
}

static void
fail(struct qo_s3_req *r, enum qo_s3_outcome outcome, const char *why)
{
	char what[256];

	describe(r, what, sizeof(what));
	r->res.outcome = outcome;
	qo_err_set(&r->res.err, "%s: %s", what, why);
}

/* No whole answer */

static void
read_failure(struct qo_s3_req *r, const struct http_req *h)
{
	bool writes = s3_op_writes(r->op);

	switch (h->result) {
	case HTTP_UNSENT:
		fail(r, QO_S3_UNREACHABLE, h->message);
		return;
	case HTTP_TOO_BIG:
		fail(r, QO_S3_TOO_LARGE, h->message);
		break;
	case HTTP_GARBLED:
		fail(r, QO_S3_BAD_RESPONSE, h->message);
		break;
	case HTTP_CUT:
	case HTTP_DONE:
		fail(r, QO_S3_AMBIGUOUS, h->message);
		break;
	}
	/* Whatever came back was no answer: a write may have been done. */
	if (writes) {
		r->res.maybe_applied = true;
		if (r->res.outcome == QO_S3_BAD_RESPONSE)
			r->res.outcome = QO_S3_AMBIGUOUS;
	}
}

/* An answer with a status of 300 and above */

static enum qo_s3_outcome
outcome_of(int status)
{
	switch (status) {
	case 304:
		return QO_S3_NOT_MODIFIED;
	case 401:
	case 403:
		return QO_S3_DENIED;
	case 404:
		return QO_S3_NOT_FOUND;
	case 408:
		return QO_S3_AMBIGUOUS;
	case 409:
		return QO_S3_CONFLICT;
	case 412:
		return QO_S3_PRECONDITION;
	case 413:
		return QO_S3_TOO_LARGE;
	case 429:
	case 503:
		return QO_S3_SLOW_DOWN;
	case 501:
		return QO_S3_UNSUPPORTED;
	}
	if (status >= 500)
		return QO_S3_AMBIGUOUS;
	return status >= 400 ? QO_S3_REJECTED : QO_S3_BAD_RESPONSE;
}

/* S3 gives up on a slow upload, on a token or on a size with a 400. */
static enum qo_s3_outcome
outcome_of_code(const char *code)
{
	if (strcmp(code, "RequestTimeout") == 0)
		return QO_S3_AMBIGUOUS;
	if (strcmp(code, "ExpiredToken") == 0)
		return QO_S3_DENIED;
	if (strcmp(code, "EntityTooLarge") == 0 ||
	    strcmp(code, "MaxMessageLengthExceeded") == 0)
		return QO_S3_TOO_LARGE;
	return QO_S3_REJECTED;
}

/* A redirect, or a 400 that names the region: never followed, since the
 * signature is for here and the keys are for nobody else. */
static void
read_redirect(struct qo_s3_req *r, const struct http_req *h,
    const struct qo_s3_error *e)
{
	char region[64], where[200], text[400];

	if (http_header_copy(h, "x-amz-bucket-region", region,
		sizeof(region)) == -1 &&
	    e != NULL)
		snprintf(region, sizeof(region), "%.60s", e->region);
	if (region[0] != '\0') {
		snprintf(text, sizeof(text),
		    "the bucket is in region %s: set region = %s in [s3]",
		    region, region);
		fail(r, QO_S3_WRONG_REGION, text);
		return;
	}
	if (http_header_copy(h, "location", where, sizeof(where)) == -1 &&
	    e != NULL)
		snprintf(where, sizeof(where), "%.190s", e->endpoint);
	snprintf(text, sizeof(text),
	    "the store answered %d, go to %s: not followed, set endpoint and "
	    "region in [s3]",
	    h->status,
	    where[0] != '\0' ? where : "an address it does not name");
	fail(r, QO_S3_WRONG_REGION, text);
}

static bool
is_region_error(const struct http_req *h, const struct qo_s3_error *e)
{
	if (h->status == 301 || h->status == 302 || h->status == 307 ||
	    h->status == 308)
		return true;
	return h->status == 400 && e != NULL && e->region[0] != '\0' &&
	    (strcmp(e->code, "AuthorizationHeaderMalformed") == 0 ||
		strcmp(e->code, "IllegalLocationConstraintException") == 0);
}

/* The <Error> in a body, or NULL; *kind and *said tell what is there. */
static const struct qo_s3_error *
error_in(const struct http_req *h, struct qo_s3xml *xml,
    enum qo_s3xml_kind *kind, struct qo_err *said)
{
	qo_err_reset(said);
	*kind = qo_s3xml_parse(xml, QO_S3XML_DOC_ERROR, h->body_in.data,
	    h->body_in.len, said);
	return *kind == QO_S3XML_OK || *kind == QO_S3XML_ERROR
	    ? qo_s3xml_error(xml)
	    : NULL;
}

static void
keep_error(struct qo_err *err, const struct qo_err *said)
{
	strlcpy(err->s3_code, said->s3_code, sizeof(err->s3_code));
	if (err->request_id[0] == '\0')
		strlcpy(err->request_id, said->request_id,
		    sizeof(err->request_id));
}

static void
read_error(struct qo_s3_req *r, const struct http_req *h, struct qo_s3xml *xml)
{
	const struct qo_s3_error *e;
	enum qo_s3xml_kind kind;
	enum qo_s3_outcome outcome = outcome_of(h->status);
	struct qo_err said;
	char text[sizeof(said.msg) + 16];

	e = error_in(h, xml, &kind, &said);
	keep_error(&r->res.err, &said);
	if (is_region_error(h, e)) {
		read_redirect(r, h, e);
		return;
	}
	if (h->status == 400 && e != NULL)
		outcome = outcome_of_code(e->code);
	if (e != NULL)
		snprintf(text, sizeof(text), "%d %s", h->status, said.msg);
	else if (kind == QO_S3XML_HTML)
		snprintf(text, sizeof(text),
		    "%d with an HTML page: a proxy answers, not the store; "
		    "check endpoint in [s3]",
		    h->status);
	else
		snprintf(text, sizeof(text), "the store answered %d",
		    h->status);
	fail(r, outcome, text);
}

/* An answer with a status of 200 to 299 */

static void
read_document(struct qo_s3_req *r, const struct http_req *h,
    enum qo_s3xml_doc doc)
{
	struct qo_s3_res *res = &r->res;
	enum qo_s3xml_kind kind;
	struct qo_err said;

	if (res->xml == NULL)
		res->xml = qo_s3xml_new();
	qo_err_reset(&said);
	kind = qo_s3xml_parse(res->xml, doc, h->body_in.data, h->body_in.len,
	    &said);
	if (kind == QO_S3XML_OK) {
		res->list = qo_s3xml_list(res->xml);
		res->deleted = qo_s3xml_delete(res->xml);
		res->versioning = qo_s3xml_versioning(res->xml);
		return;
	}
	keep_error(&res->err, &said);
	/* 200, and then an error, is as good as a 500. */
	fail(r, kind == QO_S3XML_ERROR ? QO_S3_AMBIGUOUS : QO_S3_BAD_RESPONSE,
	    said.msg);
}

/* Only a real store sends the ETag of what it keeps; a portal that says 200
 * to everything does not, and some proxies weaken it. */
static void
check_etag(struct qo_s3_req *r)
{
	if (r->res.etag[0] == '\0')
		fail(r, QO_S3_BAD_RESPONSE,
		    "200 without an ETag: this is no S3 store, or a proxy "
		    "answers for it; check endpoint in [s3]");
	else if (strncmp(r->res.etag, "W/", 2) == 0)
		fail(r, QO_S3_BAD_RESPONSE,
		    "a weak ETag: a proxy between here and the store changes "
		    "answers; conditional writes can not work through it");
}

/* 200 to a PUT is a promise, so its body is looked at too: some stores put
 * an error there. */
static void
check_empty(struct qo_s3_req *r, const struct http_req *h, struct qo_s3xml *xml)
{
	enum qo_s3xml_kind kind;
	struct qo_err said;
	char text[sizeof(said.msg) + 32];

	if (h->body_in.len == 0 || error_in(h, xml, &kind, &said) == NULL)
		return;
	keep_error(&r->res.err, &said);
	snprintf(text, sizeof(text), "200 with an error inside: %s", said.msg);
	fail(r, QO_S3_AMBIGUOUS, text);
}

static void
take_body(struct qo_s3_req *r, struct http_req *h)
{
	r->res.body = h->body_in;
	buf_init(&h->body_in, 0);
}

static void
read_success(struct qo_s3_req *r, struct http_req *h, struct qo_s3xml *xml)
{
	switch (r->op) {
	case QO_S3_GET:
		check_etag(r);
		if (r->range_len > 0 && h->status != 206 &&
		    r->res.outcome == QO_S3_OK)
			fail(r, QO_S3_BAD_RESPONSE,
			    "the whole object came where a range was asked "
			    "for");
		if (r->res.outcome == QO_S3_OK)
			take_body(r, h);
		break;
	case QO_S3_HEAD:
		check_etag(r);
		break;
	case QO_S3_PUT:
		check_empty(r, h, xml);
		if (r->res.outcome == QO_S3_OK)
			check_etag(r);
		break;
	case QO_S3_LIST:
		read_document(r, h, QO_S3XML_DOC_LIST);
		break;
	case QO_S3_LIST_VERSIONS:
		read_document(r, h, QO_S3XML_DOC_VERSIONS);
		break;
	case QO_S3_DELETE_MANY:
		read_document(r, h, QO_S3XML_DOC_DELETE);
		break;
	case QO_S3_VERSIONING_GET:
		read_document(r, h, QO_S3XML_DOC_VERSIONING);
		break;
	case QO_S3_LIFECYCLE_GET:
		take_body(r, h);
		break;
	case QO_S3_DELETE:
	case QO_S3_BUCKET_CREATE:
	case QO_S3_BUCKET_DELETE:
	case QO_S3_VERSIONING_PUT:
	case QO_S3_CORS_PUT:
	case QO_S3_LIFECYCLE_PUT:
		check_empty(r, h, xml);
		break;
	case QO_S3_BUCKET_HEAD:
	case QO_S3_OPS:
		break;
	}
}

static int64_t
header_number(const struct http_req *h, const char *name)
{
	const char *bad;
	char text[32];
	long long n;

	if (http_header_copy(h, name, text, sizeof(text)) == -1)
		return -1;
	n = strtonum(text, 0, INT64_MAX, &bad);
	return bad == NULL ? n : -1;
}

static void
read_headers(struct qo_s3_res *res, const struct http_req *h)
{
	const char *v;
	size_t len;
	char text[64];

	http_header_copy(h, "etag", res->etag, sizeof(res->etag));
	http_header_copy(h, "x-amz-request-id", res->err.request_id,
	    sizeof(res->err.request_id));
	v = http_header(h, "x-amz-version-id", &len);
	if (v != NULL && len > 0 && len < QO_S3_VERSION_MAX)
		res->version_id = xmemdup0(v, len);
	if (http_header_copy(h, "last-modified", text, sizeof(text)) == 0)
		qo_httpdate_parse(text, strlen(text), &res->last_modified);
	if (http_header_copy(h, "x-amz-delete-marker", text, sizeof(text)) == 0)
		res->delete_marker = strcmp(text, "true") == 0;
	res->length = header_number(h, "content-length");
	res->seq = header_number(h, "x-qo-seq");
}

void
s3_answer_read(struct qo_s3_req *r, struct http_req *h,
    struct qo_s3xml *err_xml)
{
	struct qo_s3_res *res = &r->res;
	unsigned attempts = res->attempts;
	bool maybe = res->maybe_applied;

	s3_res_reset(res);
	res->attempts = attempts;
	res->maybe_applied = maybe;
	res->status = h->status;
	if (h->result != HTTP_DONE) {
		read_failure(r, h);
		return;
	}
	read_headers(res, h);
	if (h->status >= 200 && h->status < 300)
		read_success(r, h, err_xml);
	else
		read_error(r, h, err_xml);
	res->err.http_status = h->status;
	if (s3_op_writes(r->op) &&
	    (res->outcome == QO_S3_AMBIGUOUS ||
		res->outcome == QO_S3_SLOW_DOWN ||
		res->outcome == QO_S3_BAD_RESPONSE))
		res->maybe_applied = true;
}
