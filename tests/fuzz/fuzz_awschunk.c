/*
 * Bodies in the aws-chunked coding.  The first byte chooses the kind, the
 * second the announced length; whole and in pieces a body must be judged
 * alike, and what the encoder makes must come back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "awschunk.h"
#include "awschunk_enc.h"
#include "buf.h"
#include "log.h"

#define TRAILERS "x-amz-checksum-crc32,a"
#define OUT_MAX  ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const enum qo_sigv4_payload kinds[] = { QO_PAYLOAD_UNSIGNED_TRAILER,
	QO_PAYLOAD_CHUNKED, QO_PAYLOAD_CHUNKED_TRAILER };
static struct qo_sigv4_chain chain; /* any key does */

static int
sink(const void *p, size_t len, void *arg)
{
	return buf_add(arg, p, len);
}

static enum qo_awschunk_rc
decode(const struct qo_awschunk_conf *c, const uint8_t *p, size_t len,
    bool whole)
{
	struct qo_awschunk *d;
	enum qo_awschunk_rc rc;
	size_t n, at;

	if ((d = qo_awschunk_new(c)) == NULL)
		qo_bug("good settings were refused");
	for (at = 0; at < len; at += n) {
		n = whole ? len : 1 + (p[at] ^ at * 7) % 23;
		if (n > len - at)
			n = len - at;
		(void)qo_awschunk_add(d, p + at, n);
	}
	rc = qo_awschunk_end(d);
	if (rc == QO_AWSCHUNK_OK && c->trailer != NULL &&
	    qo_awschunk_trailer(d, "a") == NULL)
		qo_bug("complete without an announced trailer");
	qo_awschunk_free(d);
	return rc;
}

static void
compare(enum qo_sigv4_payload kind, int64_t length, const char *trailer,
    const uint8_t *p, size_t len)
{
	struct buf one, two;
	struct qo_awschunk_conf c = { kind, length, trailer, &chain, sink,
		&one };
	enum qo_awschunk_rc rc;

	buf_init(&one, OUT_MAX);
	buf_init(&two, OUT_MAX);
	rc = decode(&c, p, len, true);
	c.arg = &two;
	if (decode(&c, p, len, false) != rc)
		qo_bug("a split changes the verdict");
	if (one.len != two.len || memcmp(one.data, two.data, one.len) != 0)
		qo_bug("a split changes the data");
	if (rc == QO_AWSCHUNK_OK && (int64_t)one.len != length)
		qo_bug("another length than was announced");
	buf_fini(&one);
	buf_fini(&two);
}

static void
there_and_back(enum qo_sigv4_payload kind, const uint8_t *p, size_t len)
{
	const struct qo_kv trailers[] = { { "a", "1" },
		{ "x-amz-checksum-crc32", "AAAAAA==" } };
	struct qo_awschunk_enc *e;
	struct buf body, back;
	struct qo_awschunk_conf c = { kind, (int64_t)len, NULL, &chain, sink,
		&back };
	size_t n = 0;

	buf_init(&body, OUT_MAX);
	buf_init(&back, OUT_MAX);
	if (kind != QO_PAYLOAD_CHUNKED) {
		c.trailer = TRAILERS;
		n = 2;
	}
	e = qo_awschunk_enc_new(kind, QO_AWSCHUNK_MIN, &chain);
	if (qo_awschunk_enc_add(e, p, len / 3, &body) == -1 ||
	    qo_awschunk_enc_add(e, p + len / 3, len - len / 3, &body) == -1 ||
	    qo_awschunk_enc_end(e, trailers, n, &body) == -1)
		qo_bug("can not encode");
	qo_awschunk_enc_free(e);
	if (decode(&c, (const uint8_t *)body.data, body.len, false) !=
		QO_AWSCHUNK_OK ||
	    back.len != len || memcmp(back.data, p, len) != 0)
		qo_bug("it does not come back");
	buf_fini(&body);
	buf_fini(&back);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum qo_sigv4_payload kind;

	if (size < 2 || size > OUT_MAX / 2)
		return 0;
	kind = kinds[data[0] % 3];
	compare(kind, data[1], data[0] % 2 == 0 ? TRAILERS : NULL, data + 2,
	    size - 2);
	there_and_back(kind, data + 2, size - 2);
	return 0;
}
