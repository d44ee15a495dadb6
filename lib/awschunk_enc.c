#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "awschunk_enc.h"
#include "hash.h"
#include "xalloc.h"

#define SIG_LEN     (QO_SIGV4_SIG_SIZE - 1)
#define EXTENSION   ";chunk-signature="
#define TRAILER_SIG "x-amz-trailer-signature:"

struct qo_awschunk_enc {
	enum qo_sigv4_payload kind;
	size_t chunk;
	struct qo_sigv4_chain chain;
	struct buf rest; /* of data, less than a chunk */
};

static bool
is_signed(enum qo_sigv4_payload kind)
{
	return kind != QO_PAYLOAD_UNSIGNED_TRAILER;
}

struct qo_awschunk_enc *
qo_awschunk_enc_new(enum qo_sigv4_payload kind, size_t chunk,
    const struct qo_sigv4_chain *chain)
{
	struct qo_awschunk_enc *e;

	e = xcalloc(1, sizeof(*e));
	e->kind = kind;
	e->chunk = chunk;
	if (is_signed(kind))
		e->chain = *chain;
	buf_init(&e->rest, chunk);
	return e;
}

void
qo_awschunk_enc_free(struct qo_awschunk_enc *e)
{
	if (e == NULL)
		return;
	buf_fini(&e->rest);
	explicit_bzero(e, sizeof(*e));
	free(e);
}

/* The line before a chunk's data. */
static void
put_head(struct qo_awschunk_enc *e, const void *p, size_t len, struct buf *out)
{
	uint8_t sha[SHA256_LEN];

	buf_addf(out, "%zx", len);
	if (is_signed(e->kind)) {
		sha256(p, len, sha);
		qo_sigv4_chain_chunk(&e->chain, sha);
		buf_adds(out, EXTENSION);
		buf_adds(out, e->chain.last);
	}
	buf_adds(out, "\r\n");
}

static void
put_chunk(struct qo_awschunk_enc *e, const void *p, size_t len, struct buf *out)
{
	put_head(e, p, len, out);
	buf_add(out, p, len);
	buf_adds(out, "\r\n");
}

int
qo_awschunk_enc_add(struct qo_awschunk_enc *e, const void *p, size_t len,
    struct buf *out)
{
	const char *s = p;
	size_t n;

	while (len > 0) {
		if (e->rest.len == 0 && len >= e->chunk) {
			n = e->chunk;
			put_chunk(e, s, n, out);
		} else {
			n = e->chunk - e->rest.len;
			if (n > len)
				n = len;
			buf_add(&e->rest, s, n);
			if (e->rest.len == e->chunk) {
				put_chunk(e, e->rest.data, e->chunk, out);
				buf_reset(&e->rest);
			}
		}
		s += n;
		len -= n;
	}
	return buf_failed(out) ? -1 : 0;
}

static void
put_trailers(struct qo_awschunk_enc *e, const struct qo_kv *trailers, size_t n,
    struct buf *out)
{
	struct hash h;
	uint8_t sha[SHA256_LEN];
	size_t i;

	hash_init(&h, HASH_SHA256);
	for (i = 0; i < n; i++) {
		buf_adds(out, trailers[i].name);
		buf_addc(out, ':');
		buf_adds(out, trailers[i].value);
		buf_adds(out, "\r\n");
		hash_update(&h, trailers[i].name, strlen(trailers[i].name));
		hash_update(&h, ":", 1);
		hash_update(&h, trailers[i].value, strlen(trailers[i].value));
		hash_update(&h, "\n", 1);
	}
	hash_final(&h, sha);
	hash_fini(&h);
	if (is_signed(e->kind)) {
		qo_sigv4_chain_trailer(&e->chain, sha);
		buf_adds(out, TRAILER_SIG);
		buf_adds(out, e->chain.last);
		buf_adds(out, "\r\n");
	}
}

int
qo_awschunk_enc_end(struct qo_awschunk_enc *e, const struct qo_kv *trailers,
    size_t n, struct buf *out)
{
	if (e->rest.len > 0)
		put_chunk(e, e->rest.data, e->rest.len, out);
	buf_reset(&e->rest);
	put_head(e, "", 0, out);
	if (e->kind != QO_PAYLOAD_CHUNKED)
		put_trailers(e, trailers, n, out);
	buf_adds(out, "\r\n");
	return buf_failed(out) ? -1 : 0;
}

/* A chunk of len bytes with everything around them. */
static int64_t
framed(enum qo_sigv4_payload kind, uint64_t len)
{
	int64_t n = 4 + 1; /* two CRLFs and a digit */
	uint64_t v;

	for (v = len >> 4; v > 0; v >>= 4)
		n++;
	if (is_signed(kind))
		n += (int64_t)(sizeof(EXTENSION) - 1 + SIG_LEN);
	return n + (int64_t)len;
}

int64_t
qo_awschunk_enc_length(enum qo_sigv4_payload kind, size_t chunk, int64_t len,
    size_t n, size_t trailer_chars)
{
	int64_t size = (int64_t)chunk, total;

	total = len / size * framed(kind, chunk);
	if (len % size != 0)
		total += framed(kind, (uint64_t)(len % size));
	total += framed(kind, 0);
	if (kind != QO_PAYLOAD_CHUNKED)
		total += (int64_t)(trailer_chars + 3 * n);
	if (kind == QO_PAYLOAD_CHUNKED_TRAILER)
		total += (int64_t)(sizeof(TRAILER_SIG) - 1 + SIG_LEN + 2);
	return total;
}
