#include <string.h>

#include "buf.h"
#include "err.h"
#include "s3body.h"
#include "xml.h"

#define XMLNS " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"

static int
add_text(struct buf *b, const char *name, const char *s, struct qo_err *err)
{
	if (!xml_can_carry(s, strlen(s))) {
		qo_err_set(err, "%s: XML can not carry this text", name);
		return -1;
	}
	xml_add(b, name, s);
	return 0;
}

/* An overflow of b is found here, once for all the adds before. */
static int
done(struct buf *b, struct qo_err *err)
{
	if (!buf_failed(b))
		return 0;
	qo_err_set(err, "the request body is larger than %zu bytes", b->max);
	return -1;
}

static int
refuse(struct qo_err *err, const char *why)
{
	qo_err_set(err, "%s", why);
	return -1;
}

int
qo_s3body_delete(struct buf *b, const struct qo_s3_delete_key *keys, size_t n,
    bool quiet, struct qo_err *err)
{
	size_t i;

	if (n == 0 || n > QO_S3_DELETE_MAX)
		return refuse(err, "DeleteObjects takes 1 to 1000 keys");
	buf_adds(b, "<Delete" XMLNS);
	if (quiet)
		xml_add(b, "Quiet", "true");
	for (i = 0; i < n; i++) {
		if (keys[i].key[0] == '\0')
			return refuse(err, "an empty key");
		buf_adds(b, "<Object>");
		if (add_text(b, "Key", keys[i].key, err) == -1)
			return -1;
		if (keys[i].version_id != NULL &&
		    add_text(b, "VersionId", keys[i].version_id, err) == -1)
			return -1;
		buf_adds(b, "</Object>");
	}
	buf_adds(b, "</Delete>");
	return done(b, err);
}

int
qo_s3body_versioning(struct buf *b, bool enabled, struct qo_err *err)
{
	buf_adds(b, "<VersioningConfiguration" XMLNS);
	xml_add(b, "Status", enabled ? "Enabled" : "Suspended");
	buf_adds(b, "</VersioningConfiguration>");
	return done(b, err);
}

static int
add_texts(struct buf *b, const char *name, const char *const *list,
    struct qo_err *err)
{
	for (; list != NULL && *list != NULL; list++)
		if (add_text(b, name, *list, err) == -1)
			return -1;
	return 0;
}

static int
add_cors_rule(struct buf *b, const struct qo_s3_cors_rule *r,
    struct qo_err *err)
{
	const char *star;
	size_t i;

	if (r->origins == NULL || r->origins[0] == NULL || r->methods == NULL ||
	    r->methods[0] == NULL)
		return refuse(err, "a CORS rule needs an origin and a method");
	for (i = 0; r->origins[i] != NULL; i++)
		if ((star = strchr(r->origins[i], '*')) != NULL &&
		    strchr(star + 1, '*') != NULL)
			return refuse(err, "an origin with more than one *");
	buf_adds(b, "<CORSRule>");
	if (add_texts(b, "AllowedOrigin", r->origins, err) == -1 ||
	    add_texts(b, "AllowedMethod", r->methods, err) == -1 ||
	    add_texts(b, "AllowedHeader", r->headers, err) == -1 ||
	    add_texts(b, "ExposeHeader", r->expose, err) == -1)
		return -1;
	if (r->max_age_s >= 0)
		xml_add_int(b, "MaxAgeSeconds", r->max_age_s);
	buf_adds(b, "</CORSRule>");
	return 0;
}

int
qo_s3body_cors(struct buf *b, const struct qo_s3_cors_rule *rules, size_t n,
    struct qo_err *err)
{
	size_t i;

	if (n == 0)
		return refuse(err, "no CORS rule");
	buf_adds(b, "<CORSConfiguration" XMLNS);
	for (i = 0; i < n; i++)
		if (add_cors_rule(b, &rules[i], err) == -1)
			return -1;
	buf_adds(b, "</CORSConfiguration>");
	return done(b, err);
}

static int
add_lifecycle_rule(struct buf *b, const struct qo_s3_lifecycle_rule *r,
    struct qo_err *err)
{
	if (r->noncurrent_days < 0 || r->abort_multipart_days < 0 ||
	    (r->noncurrent_days == 0 && r->abort_multipart_days == 0 &&
		!r->expired_markers))
		return refuse(err, "a lifecycle rule that does nothing");
	buf_adds(b, "<Rule>");
	if (add_text(b, "ID", r->id, err) == -1)
		return -1;
	buf_adds(b, "<Filter>");
	if (add_text(b, "Prefix", r->prefix, err) == -1)
		return -1;
	buf_adds(b, "</Filter><Status>Enabled</Status>");
	if (r->expired_markers)
		buf_adds(b,
		    "<Expiration><ExpiredObjectDeleteMarker>true"
		    "</ExpiredObjectDeleteMarker></Expiration>");
	if (r->noncurrent_days > 0) {
		buf_adds(b, "<NoncurrentVersionExpiration>");
		xml_add_int(b, "NoncurrentDays", r->noncurrent_days);
		buf_adds(b, "</NoncurrentVersionExpiration>");
	}
	if (r->abort_multipart_days > 0) {
		buf_adds(b, "<AbortIncompleteMultipartUpload>");
		xml_add_int(b, "DaysAfterInitiation", r->abort_multipart_days);
		buf_adds(b, "</AbortIncompleteMultipartUpload>");
	}
	buf_adds(b, "</Rule>");
	return 0;
}

int
qo_s3body_lifecycle(struct buf *b, const struct qo_s3_lifecycle_rule *rules,
    size_t n, struct qo_err *err)
{
	size_t i;

	if (n == 0)
		return refuse(err, "no lifecycle rule");
	buf_adds(b, "<LifecycleConfiguration" XMLNS);
	for (i = 0; i < n; i++)
		if (add_lifecycle_rule(b, &rules[i], err) == -1)
			return -1;
	buf_adds(b, "</LifecycleConfiguration>");
	return done(b, err);
}

int
qo_s3body_location(struct buf *b, const char *region, struct qo_err *err)
{
	buf_adds(b, "<CreateBucketConfiguration" XMLNS);
	if (add_text(b, "LocationConstraint", region, err) == -1)
		return -1;
	buf_adds(b, "</CreateBucketConfiguration>");
	return done(b, err);
}
