/*
 * awschunk.h - take the aws-chunked coding off a body.
 *
 * S3 clients that stream send a body in chunks of their own, each with its
 * length and, in the signed kinds, a signature that covers the one before
 * it; checksums may follow as trailers.  The decoder is fed the bytes as
 * they come, split anywhere, and hands the data on at once: what it gave
 * counts only after qo_awschunk_end has returned QO_AWSCHUNK_OK, because a
 * chunk's signature stands for data that has passed already.
 */
#ifndef QO_AWSCHUNK_H
#define QO_AWSCHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "sigv4.h"
#include "sigv4_verify.h"

/* No chunk but the last with data may be smaller. */
#define QO_AWSCHUNK_MIN      8192
#define QO_AWSCHUNK_TRAILERS 8

enum qo_awschunk_rc {
	QO_AWSCHUNK_OK = 0,
	QO_AWSCHUNK_FRAMING,   /* not the coding at all */
	QO_AWSCHUNK_SMALL,     /* a chunk below the minimum */
	QO_AWSCHUNK_SIGNATURE, /* of a chunk or of the trailers */
	QO_AWSCHUNK_LENGTH,    /* more or less than was announced */
	QO_AWSCHUNK_TRAILER,   /* malformed, missing, or not announced */
	QO_AWSCHUNK_SINK       /* the sink returned -1 */
};

/* How S3 answers; static.  Not for OK and SINK. */
const struct qo_sigv4_fault *qo_awschunk_fault(enum qo_awschunk_rc rc);

/* Gets the data, in pieces as they come; -1 stops the decoder. */
typedef int qo_awschunk_sink(const void *p, size_t len, void *arg);

struct qo_awschunk_conf {
	enum qo_sigv4_payload kind; /* one of the three streaming kinds */
	int64_t decoded_length;     /* x-amz-decoded-content-length */
	const char *trailer;        /* x-amz-trailer, or NULL */
	const struct qo_sigv4_chain *chain; /* copied; of the signed kinds */
	qo_awschunk_sink *sink;
	void *arg;
};

struct qo_awschunk; /* opaque; one thread at a time */

/* NULL when the names in x-amz-trailer are not names or are too many, or the
 * length is negative. */
struct qo_awschunk *qo_awschunk_new(const struct qo_awschunk_conf *conf);
void qo_awschunk_free(struct qo_awschunk *d); /* wipes; NULL is fine */

/* An error stays: later calls return it again and do nothing. */
enum qo_awschunk_rc qo_awschunk_add(struct qo_awschunk *d, const void *p,
    size_t len);
/* The body is complete: is it whole? */
enum qo_awschunk_rc qo_awschunk_end(struct qo_awschunk *d);

/* After a good end: the value of an announced trailer (lower-case name), or
 * NULL.  Borrowed from d. */
const char *qo_awschunk_trailer(const struct qo_awschunk *d, const char *name);

#endif
