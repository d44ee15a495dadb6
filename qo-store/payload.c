#include <openssl/crypto.h>

#include "auth.h"
#include "encode.h"
#include "payload.h"
#include "request.h"
#include "server.h"

#define SLACK (64 * 1024) /* for the framing of chunks and trailers */

void
payload_init(struct payload *p)
{
	memset(p, 0, sizeof(*p));
	buf_init(&p->text, 0);
}

void
payload_reset(struct payload *p)
{
	if (p->text.cap > 0)
		buf_fini(&p->text);
	db_body_free(p->body);
	p->body = NULL;
	qo_awschunk_free(p->chunks);
	p->chunks = NULL;
	if (p->want_sha)
		hash_reset(&p->sha);
	if (p->want_sum)
		checksum_fini(&p->sum);
	p->want_sha = p->want_md5 = p->want_sum = p->sum_trailer = false;
	p->fault = NULL;
	p->rc = DB_OK;
}

void
payload_fini(struct payload *p)
{
	payload_reset(p);
	if (p->sha_ready)
		hash_fini(&p->sha);
	p->sha_ready = false;
}

static enum s3_err
begin_md5(struct payload *p, const struct request *r)
{
	const char *text;

	if ((text = request_header(r, "content-md5")) == NULL)
		return S3_OK;
	if (b64_decode(p->md5_said, MD5_LEN, text, strlen(text)) != MD5_LEN)
		return S3_INVALID_DIGEST;
	p->want_md5 = true;
	return S3_OK;
}

/* x-amz-checksum-mode and its like say no checksum. */
static bool
names_checksum(const char *name)
{
	return strncmp(name, "x-amz-checksum-", 15) == 0 &&
	    strcmp(name + 15, "mode") != 0 && strcmp(name + 15, "type") != 0 &&
	    strcmp(name + 15, "algorithm") != 0;
}

static enum s3_err
set_checksum(struct payload *p, const char *name)
{
	if (p->want_sum)
		return S3_INVALID_REQUEST;
	if (checksum_by_header(name, &p->alg) == -1)
		return S3_INVALID_REQUEST;
	p->want_sum = true;
	checksum_init(&p->sum, p->alg);
	return S3_OK;
}

static enum s3_err
begin_checksum(struct payload *p, const struct request *r)
{
	uint8_t raw[CHECKSUM_MAX];
	const struct httpd_header *h;
	enum checksum_alg alg;
	const char *trailer, *sdk;
	enum s3_err e;
	size_t i;

	for (i = 0; i < r->http->nheaders; i++) {
		h = &r->http->headers[i];
		if (!names_checksum(h->name))
			continue;
		if ((e = set_checksum(p, h->name)) != S3_OK)
			return e;
		if (b64_decode(raw, sizeof(raw), h->value, strlen(h->value)) !=
		    (ptrdiff_t)checksum_len(p->alg))
			return S3_INVALID_DIGEST;
		strlcpy(p->sum_said, h->value, sizeof(p->sum_said));
	}
	trailer = request_header(r, "x-amz-trailer");
	if (trailer != NULL && p->chunks != NULL) {
		if ((e = set_checksum(p, trailer)) != S3_OK)
			return e;
		p->sum_trailer = true;
	}
	sdk = request_header(r, "x-amz-sdk-checksum-algorithm");
	if (sdk != NULL && p->want_sum &&
	    (checksum_by_name(sdk, &alg) == -1 || alg != p->alg))
		return S3_INVALID_REQUEST;
	return S3_OK;
}

static enum s3_err
sink(struct payload *p, const void *data, size_t len)
{
	if (p->want_sum)
		checksum_update(&p->sum, data, len);
	if (p->body == NULL)
		return buf_add(&p->text, data, len) == -1 ? S3_MESSAGE_TOO_LONG
							  : S3_OK;
	if (db_body_add(p->body, data, len, &p->rc) == -1)
		return p->rc == DB_FULL || p->rc == DB_READONLY ? S3_UNAVAILABLE
								: S3_INTERNAL;
	return S3_OK;
}

static int
chunk_sink(const void *data, size_t len, void *arg)
{
	return sink(arg, data, len) == S3_OK ? 0 : -1;
}

static enum s3_err
too_large(const struct payload_limit *limit)
{
	return limit->object ? S3_ENTITY_TOO_LARGE : S3_MESSAGE_TOO_LONG;
}

static enum s3_err
begin_chunks(struct payload *p, struct request *r, struct payload_limit *limit)
{
	struct qo_awschunk_conf conf;
	struct qo_sigv4_chain chain;
	const char *text, *why;

	memset(&conf, 0, sizeof(conf));
	text = request_header(r, "x-amz-decoded-content-length");
	if (text == NULL)
		return S3_MISSING_CONTENT_LENGTH;
	conf.decoded_length = strtonum(text, 0, INT64_MAX / 4, &why);
	if (why != NULL)
		return S3_INVALID_ARGUMENT;
	if (conf.decoded_length > limit->max)
		return too_large(limit);
	conf.kind = r->auth.payload;
	conf.trailer = request_header(r, "x-amz-trailer");
	conf.sink = chunk_sink;
	conf.arg = p;
	if (conf.kind != QO_PAYLOAD_UNSIGNED_TRAILER) {
		if (auth_chain(r, &chain) == -1)
			return S3_ACCESS_DENIED;
		conf.chain = &chain;
	}
	p->chunks = qo_awschunk_new(&conf);
	if (conf.chain != NULL)
		qo_sigv4_chain_fini(&chain);
	/* Chunks are at least 8 KiB but for the last. */
	limit->wire_max = 2 * conf.decoded_length + SLACK;
	return p->chunks != NULL ? S3_OK : S3_INVALID_REQUEST;
}

static enum s3_err
begin_hash(struct payload *p, const struct request *r)
{
	if (r->http->content_length == 0)
		return strcmp(r->auth.payload_hash, QO_SHA256_EMPTY) == 0
		    ? S3_OK
		    : S3_CONTENT_SHA256_MISMATCH;
	if (hex_decode(p->sha_said, r->auth.payload_hash, SHA256_LEN) == -1)
		return S3_INVALID_ARGUMENT;
	if (!p->sha_ready)
		hash_init(&p->sha, HASH_SHA256);
	p->sha_ready = true;
	p->want_sha = true;
	return S3_OK;
}

enum s3_err
payload_begin(struct payload *p, struct request *r, struct payload_limit *limit)
{
	enum s3_err e = S3_OK;

	limit->wire_max = limit->max;
	switch (r->auth.payload) {
	case QO_PAYLOAD_HASH:
		e = begin_hash(p, r);
		break;
	case QO_PAYLOAD_CHUNKED:
	case QO_PAYLOAD_CHUNKED_TRAILER:
	case QO_PAYLOAD_UNSIGNED_TRAILER:
		e = begin_chunks(p, r, limit);
		break;
	case QO_PAYLOAD_UNSIGNED:
	case QO_PAYLOAD_BODY:
		break;
	}
	if (e == S3_OK && r->http->content_length > limit->wire_max)
		e = too_large(limit);
	if (e == S3_OK)
		e = begin_md5(p, r);
	if (e == S3_OK)
		e = begin_checksum(p, r);
	if (e != S3_OK)
		return e;
	if (limit->object)
		p->body = db_body_new(r->srv->db);
	buf_init(&p->text, (size_t)limit->max);
	return S3_OK;
}

static enum s3_err
chunk_result(struct payload *p, enum qo_awschunk_rc rc)
{
	if (rc == QO_AWSCHUNK_OK)
		return S3_OK;
	if (rc == QO_AWSCHUNK_SINK)
		return p->body == NULL ? S3_MESSAGE_TOO_LONG
		    : p->rc == DB_FULL || p->rc == DB_READONLY ? S3_UNAVAILABLE
							       : S3_INTERNAL;
	p->fault = qo_awschunk_fault(rc);
	return S3_BAD_REQUEST;
}

enum s3_err
payload_add(struct payload *p, const char *data, size_t len)
{
	if (p->want_sha)
		hash_update(&p->sha, data, len);
	if (p->chunks != NULL)
		return chunk_result(p, qo_awschunk_add(p->chunks, data, len));
	return sink(p, data, len);
}

static enum s3_err
end_md5(struct payload *p)
{
	uint8_t md5[MD5_LEN];
	const uint8_t *got = md5;

	if (p->body != NULL)
		got = db_body_md5(p->body);
	else
		hash_bytes(HASH_MD5, p->text.data, p->text.len, md5);
	return memcmp(got, p->md5_said, MD5_LEN) == 0 ? S3_OK : S3_BAD_DIGEST;
}

static enum s3_err
end_checksum(struct payload *p)
{
	char text[CHECKSUM_TEXT_SIZE];
	const char *said;

	if (p->sum_trailer) {
		said = qo_awschunk_trailer(p->chunks, checksum_header(p->alg));
		if (said == NULL)
			return S3_MALFORMED_TRAILER;
		if (strlcpy(p->sum_said, said, sizeof(p->sum_said)) >=
		    sizeof(p->sum_said))
			return S3_INVALID_DIGEST;
	}
	checksum_final_text(&p->sum, text);
	return strcmp(text, p->sum_said) == 0 ? S3_OK : S3_BAD_DIGEST;
}

enum s3_err
payload_end(struct payload *p)
{
	uint8_t sha[SHA256_LEN];
	enum s3_err e;

	if (p->chunks != NULL &&
	    (e = chunk_result(p, qo_awschunk_end(p->chunks))) != S3_OK)
		return e;
	if (p->want_sha) {
		hash_final(&p->sha, sha);
		if (CRYPTO_memcmp(sha, p->sha_said, SHA256_LEN) != 0)
			return S3_CONTENT_SHA256_MISMATCH;
	}
	if (p->want_md5 && (e = end_md5(p)) != S3_OK)
		return e;
	if (p->want_sum)
		return end_checksum(p);
	return S3_OK;
}

struct db_body *
payload_take_body(struct payload *p)
{
	struct db_body *b = p->body;

	p->body = NULL;
	return b;
}

char *
payload_checksum(const struct payload *p, struct pool *mem)
{
	const char *name;

	if (!p->want_sum)
		return NULL;
	/* "x-amz-checksum-crc32" without its first 15. */
	name = checksum_header(p->alg) + 15;
	return pool_printf(mem, "%s:%s", name, p->sum_said);
}

void
payload_echo_checksum(const struct payload *p, struct httpd_req *http)
{
	if (p->want_sum)
		httpd_header_add(http, checksum_header(p->alg), p->sum_said);
}
