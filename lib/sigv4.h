/*
 * sigv4.h - sign requests with AWS Signature Version 4.
 *
 * A signer holds the buffers that signing reuses and a few derived keys (one
 * derivation per secret, day, region and service, instead of one per
 * request).  It is the caller's, belongs to one thread at a time, and its
 * memory is wiped when it is freed.  Nothing here reads a clock or the
 * environment.
 *
 * The caller sends what it signs: the headers given must hold host,
 * x-amz-date (qo_amzdate_print of the same time), x-amz-content-sha256 for S3,
 * and x-amz-security-token when there is a session token.
 */
#ifndef QO_SIGV4_H
#define QO_SIGV4_H

#include <stdint.h>

#include "buf.h"
#include "clock.h"
#include "hash.h"
#include "rfc3339.h"
#include "sigv4_canon.h"

#define QO_SIGV4_ALGORITHM "AWS4-HMAC-SHA256"
/* Sizes with their NUL. */
#define QO_SIGV4_SIG_SIZE    65 /* hex */
#define QO_SIGV4_SECRET_SIZE 129
#define QO_SIGV4_SCOPE_SIZE  128 /* 20130524/us-east-1/s3/aws4_request */

#define QO_SIGV4_EXPIRES_MAX 604800 /* seconds that a presigned URL may live */

struct qo_sigv4_cred {
	const char *access_key;
	const char *secret_key;
	const char *session_token; /* or NULL */
};

struct qo_sigv4_signer; /* opaque */

struct qo_sigv4_signer *qo_sigv4_new(void);
void qo_sigv4_free(struct qo_sigv4_signer *s); /* wipes; NULL is fine */

/*
 * The signature of a request in its headers, and of a server's view of one.
 * -1 when the request has no canonical form (sigv4_canon.h), or secret,
 * region or service are longer than any real one.
 */
int qo_sigv4_sign(struct qo_sigv4_signer *s, const struct qo_sigv4_req *req,
    const char *secret, char sig[static QO_SIGV4_SIG_SIZE]);
/* Of the last call that signed; borrowed until the next one. */
const char *qo_sigv4_last_canonical(const struct qo_sigv4_signer *s);
const char *qo_sigv4_last_string(const struct qo_sigv4_signer *s);

/* Signs and appends the value of the Authorization header to out.  sig may be
 * NULL; a streaming upload needs it as its seed.  -1 as qo_sigv4_sign, or
 * when out is full. */
int qo_sigv4_authorization(struct qo_sigv4_signer *s,
    const struct qo_sigv4_req *req, const struct qo_sigv4_cred *cred,
    struct buf *out, char *sig);

/*
 * Signs for a URL and appends its whole query string to out, the request's
 * own query and X-Amz-Signature included.  The headers given (host, If-Match
 * if the URL shall be bound to it) must be sent by whoever uses the URL.
 * expires: 1 to QO_SIGV4_EXPIRES_MAX seconds, else -1.  A payload_hash of
 * NULL is UNSIGNED-PAYLOAD.
 */
int qo_sigv4_presign(struct qo_sigv4_signer *s, const struct qo_sigv4_req *req,
    const struct qo_sigv4_cred *cred, int64_t expires, struct buf *out);

/*
 * The chain of signatures of an aws-chunked body: each covers the one before
 * it, the first the request's.  Plain memory; fini wipes it.
 */
struct qo_sigv4_chain {
	struct hmac_key key;
	char time[QO_AMZDATE_SIZE];
	char scope[QO_SIGV4_SCOPE_SIZE];
	char last[QO_SIGV4_SIG_SIZE];
};

/* seed: the signature of the request; time, region and service of req count,
 * the rest is not looked at.  -1 as qo_sigv4_sign. */
int qo_sigv4_chain_init(struct qo_sigv4_chain *c, struct qo_sigv4_signer *s,
    const struct qo_sigv4_req *req, const char *secret, const char *seed);
/* sha: of the chunk's data.  The result is in c->last. */
void qo_sigv4_chain_chunk(struct qo_sigv4_chain *c,
    const uint8_t sha[static SHA256_LEN]);
/* sha: of the trailers as "name:value\n" each. */
void qo_sigv4_chain_trailer(struct qo_sigv4_chain *c,
    const uint8_t sha[static SHA256_LEN]);
void qo_sigv4_chain_fini(struct qo_sigv4_chain *c);

#endif
