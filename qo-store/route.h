/*
 * route.h - method, path and query of a request -> the S3 operation.
 *
 * Path style: /bucket/key.  A sub-resource is a known name in the query
 * (?acl, ?uploads, ...); one that S3 has and we have not is NotImplemented
 * or the "there is none" answer that clients expect.  Pure.
 */
#ifndef ROUTE_H
#define ROUTE_H

#include "pool.h"
#include "s3err.h"
#include "uri.h"

enum route_op {
	OP_NONE = 0, /* S3 has it, we answer with an error code */
	OP_PREFLIGHT,
	OP_LIST_BUCKETS,
	OP_SESSION_TOKEN,
	OP_BUCKET_CREATE,
	OP_BUCKET_DELETE,
	OP_BUCKET_HEAD,
	OP_BUCKET_LOCATION,
	OP_BUCKET_VERSIONING_GET,
	OP_BUCKET_VERSIONING_PUT,
	OP_BUCKET_ACL_GET,
	OP_BUCKET_ACL_PUT,
	OP_BUCKET_CORS_GET,
	OP_BUCKET_CORS_PUT,
	OP_BUCKET_CORS_DELETE,
	OP_BUCKET_LIFECYCLE_GET,
	OP_BUCKET_LIFECYCLE_PUT,
	OP_BUCKET_LIFECYCLE_DELETE,
	OP_BUCKET_STATIC, /* an unchanging document: ?logging, ... */
	OP_LIST_V1,
	OP_LIST_V2,
	OP_LIST_VERSIONS,
	OP_LIST_UPLOADS,
	OP_MULTI_DELETE,
	OP_OBJECT_GET,
	OP_OBJECT_HEAD,
	OP_OBJECT_PUT,
	OP_OBJECT_COPY,
	OP_OBJECT_DELETE,
	OP_OBJECT_ACL_GET,
	OP_OBJECT_ACL_PUT,
	OP_OBJECT_TAGGING_GET,
	OP_UPLOAD_CREATE,
	OP_UPLOAD_PART,
	OP_UPLOAD_PART_COPY,
	OP_UPLOAD_PARTS,
	OP_UPLOAD_COMPLETE,
	OP_UPLOAD_ABORT,
	OP_COUNT
};

struct route {
	enum route_op op;
	enum s3_err none; /* OP_NONE: what to answer */
	const char *sub;  /* the sub-resource, or NULL */
};

/*
 * Splits and decodes a path into bucket and key ("" when absent; in the
 * pool).  S3_OK, S3_INVALID_URI (bad %, NUL, not UTF-8),
 * S3_KEY_TOO_LONG.  Dots and double slashes are part of the key.
 */
enum s3_err route_split(struct pool *a, const char *path, const char **bucket,
    const char **key);
/* copy: there is an x-amz-copy-source header. */
void route_find(struct route *out, const char *method, const char *bucket,
    const char *key, const struct uri_query *q, bool copy);

/* 2 to 63 of [a-z0-9.-] as S3 wants them (it begins at 3, but "qo" is the
 * default), and no IP address. */
bool route_bucket_name_ok(const char *name);

#endif
