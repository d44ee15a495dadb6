#include <stdbool.h>

#include <arpa/inet.h>

#include "db.h"
#include "encode.h"
#include "route.h"
#include "utf8.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

enum scope {
	SCOPE_SERVICE = 0,
	SCOPE_BUCKET,
	SCOPE_OBJECT
};

/* Without a sub-resource. */
static const struct {
	enum scope scope;
	const char *method;
	enum route_op op;
} plain[] = {
	{ SCOPE_SERVICE, "GET", OP_LIST_BUCKETS },
	{ SCOPE_SERVICE, "POST", OP_SESSION_TOKEN },
	{ SCOPE_BUCKET, "GET", OP_LIST_V1 },
	{ SCOPE_BUCKET, "PUT", OP_BUCKET_CREATE },
	{ SCOPE_BUCKET, "HEAD", OP_BUCKET_HEAD },
	{ SCOPE_BUCKET, "DELETE", OP_BUCKET_DELETE },
	{ SCOPE_OBJECT, "GET", OP_OBJECT_GET },
	{ SCOPE_OBJECT, "HEAD", OP_OBJECT_HEAD },
	{ SCOPE_OBJECT, "PUT", OP_OBJECT_PUT },
	{ SCOPE_OBJECT, "DELETE", OP_OBJECT_DELETE },
};

/*
 * With one.  A sub-resource stands once per method that is served; its last
 * line, with a method of NULL, is the answer to all others.
 */
static const struct subroute {
	enum scope scope;
	const char *sub;
	const char *method;
	enum route_op op;
	enum s3_err none;
} subs[] = {
	{ SCOPE_BUCKET, "acl", "GET", OP_BUCKET_ACL_GET, S3_OK },
	{ SCOPE_BUCKET, "acl", "PUT", OP_BUCKET_ACL_PUT, S3_OK },
	{ SCOPE_BUCKET, "cors", "GET", OP_BUCKET_CORS_GET, S3_OK },
	{ SCOPE_BUCKET, "cors", "PUT", OP_BUCKET_CORS_PUT, S3_OK },
	{ SCOPE_BUCKET, "cors", "DELETE", OP_BUCKET_CORS_DELETE, S3_OK },
	{ SCOPE_BUCKET, "delete", "POST", OP_MULTI_DELETE, S3_OK },
	{ SCOPE_BUCKET, "lifecycle", "GET", OP_BUCKET_LIFECYCLE_GET, S3_OK },
	{ SCOPE_BUCKET, "lifecycle", "PUT", OP_BUCKET_LIFECYCLE_PUT, S3_OK },
	{ SCOPE_BUCKET, "lifecycle", "DELETE", OP_BUCKET_LIFECYCLE_DELETE,
	    S3_OK },
	{ SCOPE_BUCKET, "location", "GET", OP_BUCKET_LOCATION, S3_OK },
	{ SCOPE_BUCKET, "uploads", "GET", OP_LIST_UPLOADS, S3_OK },
	{ SCOPE_BUCKET, "versioning", "GET", OP_BUCKET_VERSIONING_GET, S3_OK },
	{ SCOPE_BUCKET, "versioning", "PUT", OP_BUCKET_VERSIONING_PUT, S3_OK },
	{ SCOPE_BUCKET, "versions", "GET", OP_LIST_VERSIONS, S3_OK },
	{ SCOPE_BUCKET, "accelerate", "GET", OP_BUCKET_STATIC, S3_OK },
	{ SCOPE_BUCKET, "logging", "GET", OP_BUCKET_STATIC, S3_OK },
	{ SCOPE_BUCKET, "notification", "GET", OP_BUCKET_STATIC, S3_OK },
	{ SCOPE_BUCKET, "requestPayment", "GET", OP_BUCKET_STATIC, S3_OK },
	{ SCOPE_BUCKET, "encryption", "GET", OP_NONE, S3_NO_SUCH_ENCRYPTION },
	{ SCOPE_BUCKET, "object-lock", "GET", OP_NONE,
	    S3_NO_SUCH_OBJECT_LOCK_CONF },
	{ SCOPE_BUCKET, "ownershipControls", "GET", OP_NONE,
	    S3_NO_SUCH_OWNERSHIP },
	{ SCOPE_BUCKET, "policy", "GET", OP_NONE, S3_NO_SUCH_BUCKET_POLICY },
	{ SCOPE_BUCKET, "policyStatus", "GET", OP_NONE,
	    S3_NO_SUCH_BUCKET_POLICY },
	{ SCOPE_BUCKET, "publicAccessBlock", "GET", OP_NONE,
	    S3_NO_SUCH_PUBLIC_BLOCK },
	{ SCOPE_BUCKET, "replication", "GET", OP_NONE, S3_NO_SUCH_REPLICATION },
	{ SCOPE_BUCKET, "tagging", "GET", OP_NONE, S3_NO_SUCH_TAG_SET },
	{ SCOPE_BUCKET, "website", "GET", OP_NONE, S3_NO_SUCH_WEBSITE },
	{ SCOPE_OBJECT, "acl", "GET", OP_OBJECT_ACL_GET, S3_OK },
	{ SCOPE_OBJECT, "acl", "PUT", OP_OBJECT_ACL_PUT, S3_OK },
	{ SCOPE_OBJECT, "tagging", "GET", OP_OBJECT_TAGGING_GET, S3_OK },
	{ SCOPE_OBJECT, "uploads", "POST", OP_UPLOAD_CREATE, S3_OK },
	{ SCOPE_OBJECT, "uploadId", "GET", OP_UPLOAD_PARTS, S3_OK },
	{ SCOPE_OBJECT, "uploadId", "PUT", OP_UPLOAD_PART, S3_OK },
	{ SCOPE_OBJECT, "uploadId", "POST", OP_UPLOAD_COMPLETE, S3_OK },
	{ SCOPE_OBJECT, "uploadId", "DELETE", OP_UPLOAD_ABORT, S3_OK },
	{ SCOPE_OBJECT, "legal-hold", "GET", OP_NONE, S3_NO_SUCH_OBJECT_LOCK },
	{ SCOPE_OBJECT, "retention", "GET", OP_NONE, S3_NO_SUCH_OBJECT_LOCK },
};

/* Everything S3 knows as a sub-resource: one that no line above serves is
 * not implemented, and must never be taken for the plain operation. */
static const char *const known[] = {
	"accelerate",
	"acl",
	"analytics",
	"attributes",
	"cors",
	"delete",
	"encryption",
	"intelligent-tiering",
	"inventory",
	"legal-hold",
	"lifecycle",
	"location",
	"logging",
	"metadataTable",
	"metrics",
	"notification",
	"object-lock",
	"ownershipControls",
	"policy",
	"policyStatus",
	"publicAccessBlock",
	"renameObject",
	"replication",
	"requestPayment",
	"restore",
	"retention",
	"select",
	"session",
	"tagging",
	"torrent",
	"uploadId",
	"uploads",
	"versioning",
	"versions",
	"website",
};

/* Decodes into dst, which has room; the length, or -1. */
static ptrdiff_t
decode(char *dst, const char *src, size_t len)
{
	size_t i, n = 0;
	int hi, lo;

	for (i = 0; i < len; i++) {
		if (src[i] != '%') {
			dst[n++] = src[i];
			continue;
		}
		if (len - i < 3 || (hi = hex_digit(src[i + 1])) == -1 ||
		    (lo = hex_digit(src[i + 2])) == -1)
			return -1;
		if (hi == 0 && lo == 0)
			return -1;
		dst[n++] = (char)(hi << 4 | lo);
		i += 2;
	}
	dst[n] = '\0';
	return (ptrdiff_t)n;
}

enum s3_err
route_split(struct pool *a, const char *path, const char **bucket,
    const char **key)
{
	size_t blen, klen;
	ptrdiff_t n;
	char *b, *k;

	*bucket = *key = "";
	if (*path != '/')
		return S3_INVALID_URI;
	path++;
	blen = strcspn(path, "/");
	klen = path[blen] == '/' ? strlen(path + blen + 1) : 0;
	b = pool_alloc(a, blen + klen + 2);
	k = b + blen + 1;
	k[0] = '\0';
	if ((n = decode(b, path, blen)) == -1 || !utf8_valid(b, (size_t)n))
		return S3_INVALID_URI;
	if (klen > 0 &&
	    ((n = decode(k, path + blen + 1, klen)) == -1 ||
		!utf8_valid(k, (size_t)n)))
		return S3_INVALID_URI;
	if (klen > 0 && n > DB_KEY_MAX)
		return S3_KEY_TOO_LONG;
	*bucket = b;
	*key = k;
	return S3_OK;
}

static const char *
find_sub(const struct uri_query *q)
{
	size_t i, k;

	for (i = 0; i < q->n; i++)
		for (k = 0; k < nitems(known); k++)
			if (strcmp(q->pairs[i].name, known[k]) == 0)
				return known[k];
	return NULL;
}

static void
find_plain(struct route *out, enum scope scope, const char *method)
{
	size_t i;

	for (i = 0; i < nitems(plain); i++) {
		if (plain[i].scope != scope ||
		    strcmp(plain[i].method, method) != 0)
			continue;
		out->op = plain[i].op;
		return;
	}
	out->none = S3_METHOD_NOT_ALLOWED;
	/* A browser's form upload. */
	if (scope == SCOPE_BUCKET && strcmp(method, "POST") == 0)
		out->none = S3_NOT_IMPLEMENTED;
}

static void
find_subroute(struct route *out, enum scope scope, const char *method)
{
	size_t i;

	out->none = S3_NOT_IMPLEMENTED;
	for (i = 0; i < nitems(subs); i++) {
		if (subs[i].scope != scope ||
		    strcmp(subs[i].sub, out->sub) != 0 ||
		    strcmp(subs[i].method, method) != 0)
			continue;
		out->op = subs[i].op;
		out->none = subs[i].none;
		return;
	}
}

void
route_find(struct route *out, const char *method, const char *bucket,
    const char *key, const struct uri_query *q, bool copy)
{
	const struct uri_pair *p;
	enum scope scope;

	out->op = OP_NONE;
	out->none = S3_OK;
	out->sub = NULL;
	if (strcmp(method, "OPTIONS") == 0) {
		out->op = OP_PREFLIGHT;
		return;
	}
	scope = *bucket == '\0' ? SCOPE_SERVICE
	    : *key == '\0'      ? SCOPE_BUCKET
				: SCOPE_OBJECT;
	if (scope != SCOPE_SERVICE && (out->sub = find_sub(q)) != NULL)
		find_subroute(out, scope, method);
	else
		find_plain(out, scope, method);
	if (out->op == OP_LIST_V1 &&
	    (p = uri_query_get(q, "list-type")) != NULL) {
		if (strcmp(p->value, "2") == 0)
			out->op = OP_LIST_V2;
		else if (strcmp(p->value, "1") != 0) {
			out->op = OP_NONE;
			out->none = S3_INVALID_ARGUMENT;
		}
	}
	if (copy && out->op == OP_OBJECT_PUT)
		out->op = OP_OBJECT_COPY;
	if (copy && out->op == OP_UPLOAD_PART)
		out->op = OP_UPLOAD_PART_COPY;
}

bool
route_bucket_name_ok(const char *name)
{
	struct in_addr ip;
	size_t i, len;
	char c;

	len = strlen(name);
	if (len < 2 || len > 63)
		return false;
	for (i = 0; i < len; i++) {
		c = name[i];
		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			continue;
		if (c != '-' && c != '.')
			return false;
		if (i == 0 || i == len - 1 || (c == '.' && name[i - 1] == '.'))
			return false;
	}
	return inet_pton(AF_INET, name, &ip) != 1;
}
