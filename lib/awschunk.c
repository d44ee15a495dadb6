#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "awschunk.h"
#include "encode.h"
#include "hash.h"
#include "xalloc.h"

#define SIG_LEN     (QO_SIGV4_SIG_SIZE - 1)
#define EXTENSION   ";chunk-signature="
#define HEAD_MAX    (16 + sizeof(EXTENSION) - 1 + SIG_LEN + 1) /* and a CR */
#define TRAILER_MAX 512
#define NAME_SIZE   64
#define VALUE_SIZE  256
#define TRAILER_SIG "x-amz-trailer-signature"

enum state {
	HEAD = 0,  /* the line with a chunk's length */
	DATA,      /* left bytes of it */
	DATA_CRLF, /* what follows the data */
	LAST_CRLF, /* what follows the last chunk without trailers */
	TRAILERS,  /* lines of them */
	AFTER      /* only a line end may follow */
};

struct trailer {
	char name[NAME_SIZE]; /* lower case */
	char value[VALUE_SIZE];
	bool seen;
};

struct qo_awschunk {
	enum state state;
	enum qo_awschunk_rc rc;
	enum qo_sigv4_payload kind;
	bool is_signed;
	bool small;    /* the chunk before was below the minimum */
	bool complete; /* nothing more is needed */
	int blanks;    /* empty lines among the trailers */
	uint64_t left; /* of the chunk */
	uint64_t todo; /* of the announced length */
	struct qo_sigv4_chain chain;
	struct hash hash;      /* of the chunk */
	char claimed[SIG_LEN]; /* the chunk's signature as sent */
	char line[TRAILER_MAX];
	size_t line_len;
	struct trailer trailers[QO_AWSCHUNK_TRAILERS]; /* sorted by name */
	size_t ntrailers;
	qo_awschunk_sink *sink;
	void *arg;
};

static const struct qo_sigv4_fault faults[] = {
	[QO_AWSCHUNK_OK] = { 200, "", "" },
	[QO_AWSCHUNK_FRAMING] = { 400, "InvalidRequest",
	    "The body is not in the aws-chunked coding that "
	    "x-amz-content-sha256 names" },
	[QO_AWSCHUNK_SMALL] = { 403, "InvalidChunkSizeError",
	    "Only the last chunk is allowed to have a size less than 8192 "
	    "bytes" },
	[QO_AWSCHUNK_SIGNATURE] = { 403, "SignatureDoesNotMatch",
	    "The signature of a chunk or of the trailer does not match the "
	    "one you provided. Check your key and signing method." },
	[QO_AWSCHUNK_LENGTH] = { 400, "IncompleteBody",
	    "You did not provide the number of bytes specified by the "
	    "x-amz-decoded-content-length header" },
	[QO_AWSCHUNK_TRAILER] = { 400, "MalformedTrailerError",
	    "The request contained trailing data that was not well-formed or "
	    "did not conform to our published schema." },
	[QO_AWSCHUNK_SINK] = { 500, "InternalError",
	    "We encountered an internal error. Please try again." },
};

const struct qo_sigv4_fault *
qo_awschunk_fault(enum qo_awschunk_rc rc)
{
	return &faults[rc];
}

static bool
name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

/* Copies a header name in lower case; -1 when it is not one. */
static int
copy_name(char out[NAME_SIZE], const char *s, size_t len)
{
	size_t i;

	if (len == 0 || len >= NAME_SIZE)
		return -1;
	for (i = 0; i < len; i++) {
		out[i] = s[i];
		if (s[i] >= 'A' && s[i] <= 'Z')
			out[i] = (char)(s[i] - 'A' + 'a');
		if (!name_char(out[i]))
			return -1;
	}
	out[len] = '\0';
	return 0;
}

/* Which trailer has this name; ntrailers when none has. */
static size_t
find(const struct qo_awschunk *d, const char *name)
{
	size_t i;

	for (i = 0; i < d->ntrailers; i++)
		if (strcmp(d->trailers[i].name, name) == 0)
			break;
	return i;
}

/* Takes the names of x-amz-trailer, sorted as the signature wants them. */
static int
announce(struct qo_awschunk *d, const char *s)
{
	char name[NAME_SIZE];
	size_t len, n, j;

	for (;; s += len + 1) {
		s += strspn(s, " \t");
		len = n = strcspn(s, ",");
		while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t'))
			n--;
		if (copy_name(name, s, n) == -1 ||
		    d->ntrailers == QO_AWSCHUNK_TRAILERS ||
		    find(d, name) < d->ntrailers ||
		    strcmp(name, TRAILER_SIG) == 0)
			return -1;
		for (j = d->ntrailers++;
		     j > 0 && strcmp(name, d->trailers[j - 1].name) < 0; j--)
			d->trailers[j] = d->trailers[j - 1];
		memset(&d->trailers[j], 0, sizeof(d->trailers[j]));
		memcpy(d->trailers[j].name, name, sizeof(name));
		if (s[len] == '\0')
			return 0;
	}
}

struct qo_awschunk *
qo_awschunk_new(const struct qo_awschunk_conf *conf)
{
	struct qo_awschunk *d;

	if (conf->decoded_length < 0)
		return NULL;
	d = xcalloc(1, sizeof(*d));
	d->kind = conf->kind;
	d->is_signed = conf->kind != QO_PAYLOAD_UNSIGNED_TRAILER;
	d->todo = (uint64_t)conf->decoded_length;
	d->sink = conf->sink;
	d->arg = conf->arg;
	if (conf->kind != QO_PAYLOAD_CHUNKED && conf->trailer != NULL &&
	    announce(d, conf->trailer) == -1) {
		qo_awschunk_free(d);
		return NULL;
	}
	if (d->is_signed) {
		d->chain = *conf->chain;
		hash_init(&d->hash, HASH_SHA256);
	}
	return d;
}

void
qo_awschunk_free(struct qo_awschunk *d)
{
	if (d == NULL)
		return;
	hash_fini(&d->hash);
	explicit_bzero(d, sizeof(*d));
	free(d);
}

/* The chunk is complete: is its signature the one that was sent? */
static enum qo_awschunk_rc
chunk_done(struct qo_awschunk *d)
{
	uint8_t sha[SHA256_LEN];

	if (!d->is_signed)
		return QO_AWSCHUNK_OK;
	hash_final(&d->hash, sha);
	qo_sigv4_chain_chunk(&d->chain, sha);
	return CRYPTO_memcmp(d->chain.last, d->claimed, SIG_LEN) == 0
	    ? QO_AWSCHUNK_OK
	    : QO_AWSCHUNK_SIGNATURE;
}

static enum qo_awschunk_rc
last_chunk(struct qo_awschunk *d)
{
	if (d->todo != 0)
		return QO_AWSCHUNK_LENGTH;
	d->state = d->kind == QO_PAYLOAD_CHUNKED ? LAST_CRLF : TRAILERS;
	return chunk_done(d);
}

/* length[;chunk-signature=...]CR, the LF is off already. */
static enum qo_awschunk_rc
head_line(struct qo_awschunk *d)
{
	const char *s = d->line, *end = d->line + d->line_len;
	uint64_t size = 0;
	int digit;

	for (; s < end && s < d->line + 16 && (digit = hex_digit(*s)) != -1;
	     s++)
		size = size << 4 | (uint64_t)digit;
	if (s == d->line)
		return QO_AWSCHUNK_FRAMING;
	if (d->is_signed) {
		if ((size_t)(end - s) != sizeof(EXTENSION) - 1 + SIG_LEN + 1 ||
		    memcmp(s, EXTENSION, sizeof(EXTENSION) - 1) != 0)
			return QO_AWSCHUNK_FRAMING;
		s += sizeof(EXTENSION) - 1;
		memcpy(d->claimed, s, SIG_LEN);
		s += SIG_LEN;
	}
	if (end - s != 1 || *s != '\r')
		return QO_AWSCHUNK_FRAMING;
	if (size == 0)
		return last_chunk(d);
	if (d->small)
		return QO_AWSCHUNK_SMALL;
	if (size > d->todo)
		return QO_AWSCHUNK_LENGTH;
	d->small = size < QO_AWSCHUNK_MIN;
	d->left = size;
	d->todo -= size;
	d->state = DATA;
	return QO_AWSCHUNK_OK;
}

static enum qo_awschunk_rc
trailer_signature(struct qo_awschunk *d, const char *value, size_t len)
{
	const struct trailer *t;
	uint8_t sha[SHA256_LEN];

	if (d->kind != QO_PAYLOAD_CHUNKED_TRAILER || len != SIG_LEN)
		return QO_AWSCHUNK_TRAILER;
	for (t = d->trailers; t < d->trailers + d->ntrailers; t++) {
		if (!t->seen)
			return QO_AWSCHUNK_TRAILER;
		hash_update(&d->hash, t->name, strlen(t->name));
		hash_update(&d->hash, ":", 1);
		hash_update(&d->hash, t->value, strlen(t->value));
		hash_update(&d->hash, "\n", 1);
	}
	hash_final(&d->hash, sha);
	qo_sigv4_chain_trailer(&d->chain, sha);
	if (CRYPTO_memcmp(d->chain.last, value, SIG_LEN) != 0)
		return QO_AWSCHUNK_SIGNATURE;
	d->complete = true;
	d->state = AFTER;
	return QO_AWSCHUNK_OK;
}

/*
 * An empty line.  The S3 documentation (and clients that follow it to the
 * letter) put one before the trailer signature, and one client writes two at
 * the end: so many are let pass.
 */
static enum qo_awschunk_rc
blank_line(struct qo_awschunk *d)
{
	if (++d->blanks > 2)
		return QO_AWSCHUNK_TRAILER;
	if (d->kind == QO_PAYLOAD_UNSIGNED_TRAILER) {
		d->complete = true;
		d->state = AFTER;
	}
	return QO_AWSCHUNK_OK;
}

static enum qo_awschunk_rc
trailer_line(struct qo_awschunk *d)
{
	const char *s = d->line, *colon;
	char name[NAME_SIZE];
	struct trailer *t;
	size_t len = d->line_len, i;

	if (len > 0 && s[len - 1] == '\r')
		len--;
	if (len == 0)
		return blank_line(d);
	if (d->state == AFTER || (colon = memchr(s, ':', len)) == NULL ||
	    copy_name(name, s, (size_t)(colon - s)) == -1)
		return QO_AWSCHUNK_TRAILER;
	len -= (size_t)(++colon - s);
	for (; len > 0 && (*colon == ' ' || *colon == '\t'); colon++)
		len--;
	while (len > 0 && (colon[len - 1] == ' ' || colon[len - 1] == '\t'))
		len--;
	if (strcmp(name, TRAILER_SIG) == 0)
		return trailer_signature(d, colon, len);
	if ((i = find(d, name)) == d->ntrailers || d->trailers[i].seen ||
	    len >= VALUE_SIZE)
		return QO_AWSCHUNK_TRAILER;
	t = &d->trailers[i];
	for (i = 0; i < len; i++)
		if (colon[i] < ' ' || colon[i] > '~')
			return QO_AWSCHUNK_TRAILER;
	memcpy(t->value, colon, len);
	t->seen = true;
	return QO_AWSCHUNK_OK;
}

/* Collects a line up to max bytes before its LF; how many bytes were taken,
 * *whole when it is complete. */
static size_t
collect(struct qo_awschunk *d, const char *p, size_t len, size_t max,
    bool *whole)
{
	const char *nl;
	size_t n;

	nl = memchr(p, '\n', len);
	n = nl != NULL ? (size_t)(nl - p) : len;
	*whole = nl != NULL;
	if (n > max - d->line_len) {
		d->rc = d->state == HEAD ? QO_AWSCHUNK_FRAMING
					 : QO_AWSCHUNK_TRAILER;
		return 0;
	}
	memcpy(d->line + d->line_len, p, n);
	d->line_len += n;
	return n + *whole;
}

static size_t
add_line(struct qo_awschunk *d, const char *p, size_t len)
{
	size_t took;
	bool whole;

	took = collect(d, p, len, d->state == HEAD ? HEAD_MAX : TRAILER_MAX,
	    &whole);
	if (d->rc == QO_AWSCHUNK_OK && whole) {
		d->rc = d->state == HEAD ? head_line(d) : trailer_line(d);
		d->line_len = 0;
	}
	return took;
}

static size_t
add_data(struct qo_awschunk *d, const char *p, size_t len)
{
	size_t n = len < d->left ? len : (size_t)d->left;

	if (d->is_signed)
		hash_update(&d->hash, p, n);
	if (d->sink(p, n, d->arg) == -1) {
		d->rc = QO_AWSCHUNK_SINK;
		return 0;
	}
	d->left -= n;
	if (d->left == 0) {
		d->state = DATA_CRLF;
		d->rc = chunk_done(d);
	}
	return n;
}

/* CR and LF, one call each. */
static size_t
add_crlf(struct qo_awschunk *d, const char *p)
{
	if (d->complete || *p != "\r\n"[d->line_len]) {
		d->rc = QO_AWSCHUNK_FRAMING;
		return 0;
	}
	if (++d->line_len == 2) {
		d->line_len = 0;
		if (d->state == DATA_CRLF)
			d->state = HEAD;
		else
			d->complete = true;
	}
	return 1;
}

enum qo_awschunk_rc
qo_awschunk_add(struct qo_awschunk *d, const void *p, size_t len)
{
	const char *s = p;
	size_t took;

	while (len > 0 && d->rc == QO_AWSCHUNK_OK) {
		took = 0;
		switch (d->state) {
		case HEAD:
		case TRAILERS:
		case AFTER:
			took = add_line(d, s, len);
			break;
		case DATA:
			took = add_data(d, s, len);
			break;
		case DATA_CRLF:
		case LAST_CRLF:
			took = add_crlf(d, s);
			break;
		}
		s += took;
		len -= took;
	}
	return d->rc;
}

enum qo_awschunk_rc
qo_awschunk_end(struct qo_awschunk *d)
{
	size_t i;

	if (d->rc != QO_AWSCHUNK_OK)
		return d->rc;
	if (!d->complete || d->line_len != 0)
		return d->rc = QO_AWSCHUNK_LENGTH;
	for (i = 0; i < d->ntrailers; i++)
		if (!d->trailers[i].seen)
			return d->rc = QO_AWSCHUNK_TRAILER;
	return QO_AWSCHUNK_OK;
}

const char *
qo_awschunk_trailer(const struct qo_awschunk *d, const char *name)
{
	size_t i = find(d, name);

	return i < d->ntrailers && d->trailers[i].seen ? d->trailers[i].value
						       : NULL;
}
