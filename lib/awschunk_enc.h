/*
 * awschunk_enc.h - put a body into the aws-chunked coding.
 *
 * The other side of awschunk.h: bytes go in split anywhere, framed (and
 * signed) chunks of one size come out at the end of a buffer.
 */
#ifndef QO_AWSCHUNK_ENC_H
#define QO_AWSCHUNK_ENC_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "sigv4.h"
#include "sigv4_verify.h"

struct qo_awschunk_enc; /* opaque */

/* kind: one of the three streaming kinds.  chunk: bytes of data in each, at
 * least QO_AWSCHUNK_MIN.  chain: copied; NULL when kind is not signed. */
struct qo_awschunk_enc *qo_awschunk_enc_new(enum qo_sigv4_payload kind,
    size_t chunk, const struct qo_sigv4_chain *chain);
void qo_awschunk_enc_free(struct qo_awschunk_enc *e); /* wipes; NULL is fine */

/* Appends to out the chunks that are full now; -1 when out is (e is of no
 * further use then). */
int qo_awschunk_enc_add(struct qo_awschunk_enc *e, const void *p, size_t len,
    struct buf *out);
/* The rest, the last chunk and the trailers (lower-case names, sorted; none
 * for the kind without).  -1 as above. */
int qo_awschunk_enc_end(struct qo_awschunk_enc *e, const struct qo_kv *trailers,
    size_t n, struct buf *out);

/* The Content-Length of all that for a body of len bytes, before it is known
 * what the trailers will say: trailer_chars is the sum of the lengths of
 * their n names and values. */
int64_t qo_awschunk_enc_length(enum qo_sigv4_payload kind, size_t chunk,
    int64_t len, size_t n, size_t trailer_chars);

#endif
