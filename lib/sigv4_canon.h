/*
 * sigv4_canon.h - the canonical request of AWS Signature Version 4.
 *
 * What both sides hash: the client before it sends, the server over what it
 * got.  Pure: bytes in, bytes out.  Everything in a request struct is
 * borrowed for the time of a call.
 */
#ifndef QO_SIGV4_CANON_H
#define QO_SIGV4_CANON_H

#include <stddef.h>

#include "buf.h"
#include "clock.h"

#define QO_SIGV4_HEADERS_MAX 128 /* headers that are signed */
#define QO_SIGV4_PARAMS_MAX  128 /* parameters of a query */

#define QO_SHA256_EMPTY \
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define QO_UNSIGNED_PAYLOAD "UNSIGNED-PAYLOAD"

/* The same layout as struct httpd_header. */
struct qo_kv {
	const char *name; /* lower case */
	const char *value;
};

/* Not S3: dot segments and double slashes go, and the path is encoded once
 * more (S3 takes each path as it is). */
#define QO_SIGV4_NORMALIZE 0x1
/* A + in the query means a space.  A server that reads it so must set this,
 * or the two spellings could be exchanged under one signature. */
#define QO_SIGV4_PLUS_SPACE 0x2
/* The query is a presigned one as received: X-Amz-Signature is left out. */
#define QO_SIGV4_PRESIGNED 0x4

struct qo_sigv4_req {
	const char *method;
	const char *path;  /* percent-encoded, as in the request line */
	const char *query; /* the same, without ?; NULL is "" */
	const struct qo_kv *headers;
	size_t nheaders;
	/* The names to sign, "host;x-amz-date", lower case and sorted; NULL:
	 * all of headers, in any order. */
	const char *signed_headers;
	/* 64 hex digits, UNSIGNED-PAYLOAD or one of the STREAMING- words. */
	const char *payload_hash;
	const char *region;
	const char *service; /* "s3" */
	struct qo_wall time;
	int flags; /* QO_SIGV4_* */
};

/* Where parts of the canonical request are, as offsets. */
struct qo_sigv4_canon {
	size_t query, query_len;
	size_t names, names_len; /* SignedHeaders */
};

/*
 * Appends the canonical request to out.  -1 when there is none: a bad % in
 * path or query, more headers or parameters than the limits, a signed header
 * that is not there, or out is full.  out is garbage then.
 */
int qo_sigv4_canonical(struct buf *out, const struct qo_sigv4_req *req,
    struct qo_sigv4_canon *at);

#endif
