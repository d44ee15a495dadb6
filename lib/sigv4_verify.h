/*
 * sigv4_verify.h - judge the signature of a request, as S3 does.
 *
 * Two steps, because the access key that the request names must be looked up
 * in between: parse finds out who claims to have signed and refuses all that
 * is wrong without a key; check recomputes the signature.  Pure functions:
 * the time is given, nothing is stored, nothing is printed.
 *
 * An unknown access key is checked with a secret that nobody has, so that it
 * takes the same path as a wrong signature.
 */
#ifndef QO_SIGV4_VERIFY_H
#define QO_SIGV4_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "sigv4.h"

#define QO_SIGV4_SKEW_US (900 * QO_US_PER_SEC) /* 15 minutes either way */

/* Each is answered with its own S3 error: qo_sigv4_fault. */
enum qo_sigv4_verdict {
	QO_SIGV4_OK = 0,
	QO_SIGV4_ANONYMOUS,     /* not signed at all */
	QO_SIGV4_BOTH,          /* signed in the header and in the query */
	QO_SIGV4_V2,            /* Signature Version 2 */
	QO_SIGV4_V4A,           /* AWS4-ECDSA-P256-SHA256 */
	QO_SIGV4_ALGORITHM_BAD, /* an Authorization of another kind */
	QO_SIGV4_HEADER_BAD,    /* Authorization is malformed */
	QO_SIGV4_QUERY_BAD,    /* an X-Amz- parameter is missing or malformed */
	QO_SIGV4_REGION_BAD,   /* signed for another region */
	QO_SIGV4_SERVICE_BAD,  /* signed for another service */
	QO_SIGV4_SCOPE_BAD,    /* the scope is of another day than the date */
	QO_SIGV4_DATE_BAD,     /* no x-amz-date or Date, or malformed */
	QO_SIGV4_SKEWED,       /* signed more than 15 minutes ago or ahead */
	QO_SIGV4_EXPIRED,      /* presigned, and its time is over */
	QO_SIGV4_NOT_YET,      /* presigned for the future */
	QO_SIGV4_UNSIGNED,     /* host or an x-amz- header is not signed */
	QO_SIGV4_PAYLOAD_NONE, /* x-amz-content-sha256 is missing */
	QO_SIGV4_PAYLOAD_BAD,  /* and is none of the allowed values */
	QO_SIGV4_PAYLOAD_ECDSA, /* a streaming kind of V4A */
	QO_SIGV4_KEY_UNKNOWN,
	QO_SIGV4_MISMATCH
};

/* How S3 answers. */
struct qo_sigv4_fault {
	int status;
	const char *code;
	const char *message;
};
/* Static; {200, "", ""} for QO_SIGV4_OK, AccessDenied for ANONYMOUS.  Some
 * codes differ between a header and a presigned query. */
const struct qo_sigv4_fault *qo_sigv4_fault(enum qo_sigv4_verdict v,
    bool presigned);

enum qo_sigv4_payload {
	QO_PAYLOAD_HASH = 0,         /* 64 hex digits: the body must have it */
	QO_PAYLOAD_UNSIGNED,         /* UNSIGNED-PAYLOAD */
	QO_PAYLOAD_CHUNKED,          /* STREAMING-AWS4-HMAC-SHA256-PAYLOAD */
	QO_PAYLOAD_CHUNKED_TRAILER,  /* the same with -TRAILER */
	QO_PAYLOAD_UNSIGNED_TRAILER, /* STREAMING-UNSIGNED-PAYLOAD-TRAILER */
	QO_PAYLOAD_BODY              /* not S3 and not said: hash the body */
};

/* What a request says about its signature; all strings are copies. */
struct qo_sigv4_auth {
	bool presigned;
	char access_key[129];
	char region[65];
	char service[17];
	char signed_headers[2048];
	char signature[QO_SIGV4_SIG_SIZE]; /* lower-case hex */
	char session_token[4096];          /* "" when there is none */
	struct qo_wall time;
	int64_t expires_s; /* of a presigned one */
	enum qo_sigv4_payload payload;
	char payload_hash[65]; /* as it is signed; "" for QO_PAYLOAD_BODY */
};

/* The request as the server got it: paths and query as sent. */
struct qo_sigv4_got {
	const char *method;
	const char *path;
	const char *query; /* NULL is "" */
	const struct qo_kv *headers;
	size_t nheaders;
	/* The server reads + in a query as a space, as S3 does: botocore sends
	 * it so, and signs %20. */
	bool plus_space;
};

struct qo_sigv4_rules {
	const char *region; /* NULL or "auto": any */
	bool sts;           /* accept the service "sts" beside "s3" */
};

/*
 * Fills *a, also when the verdict is not QO_SIGV4_OK, with what could be read
 * (empty otherwise).  Everything but the key and the signature is judged.
 */
enum qo_sigv4_verdict qo_sigv4_parse(const struct qo_sigv4_got *got,
    const struct qo_sigv4_rules *rules, struct qo_wall now,
    struct qo_sigv4_auth *a);

/*
 * secret: of a->access_key, or NULL when there is no such key.  body_sha: the
 * hex SHA-256 of the body for QO_PAYLOAD_BODY, else not looked at.  Returns
 * QO_SIGV4_OK, QO_SIGV4_KEY_UNKNOWN or QO_SIGV4_MISMATCH.  After a mismatch
 * qo_sigv4_last_canonical and _string of s are what was expected.
 */
enum qo_sigv4_verdict qo_sigv4_check(struct qo_sigv4_signer *s,
    const struct qo_sigv4_got *got, const struct qo_sigv4_auth *a,
    const char *secret, const char *body_sha);

/* The chain for the chunks of a request that was checked; -1 as
 * qo_sigv4_chain_init. */
int qo_sigv4_auth_chain(const struct qo_sigv4_auth *a,
    struct qo_sigv4_signer *s, const char *secret, struct qo_sigv4_chain *c);

#endif
