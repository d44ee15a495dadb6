/*
 * httpparse.h - the head of an HTTP/1.1 request, and the chunked coding.
 *
 * Pure and incremental: no I/O, no memory of its own.  However the bytes
 * are cut into pieces, the result is the same.  Strict where RFC 9112 leaves
 * a choice: what two parties might read in two ways is refused.
 */
#ifndef HTTPPARSE_H
#define HTTPPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTPPARSE_FIELDS     128 /* 431 beyond */
#define HTTPPARSE_METHOD_MAX 32  /* 400 beyond */

enum httpparse_rc {
	HTTPPARSE_MORE = 0, /* all input used, not complete yet */
	HTTPPARSE_DATA,     /* a piece of a chunked body */
	HTTPPARSE_DONE,
	HTTPPARSE_BAD /* answer and close */
};

struct httpparse_field {
	uint32_t name; /* offsets of NUL-terminated strings in the head */
	uint32_t value;
};

struct httpparse {
	size_t head_max, uri_max;
	size_t line;    /* where the line being read begins */
	size_t scanned; /* no LF before this, from line on */
	bool skipped;   /* one empty line before the request was ignored */
	bool started;   /* the request line has been read */

	/* With HTTPPARSE_BAD: what to answer, and why (a literal). */
	int status;
	const char *reason;

	/* With HTTPPARSE_DONE; all strings are offsets in the head. */
	size_t head_len;
	uint32_t method, path, query;
	uint32_t host;          /* 0: none */
	uint32_t auth;          /* of an absolute-form target; 0: none */
	uint32_t auth_len;      /* it is not NUL-terminated */
	int64_t content_length; /* -1: chunked */
	bool http10;
	bool close; /* Connection: close */
	bool expect_continue;
	bool has_length, has_te, te_chunked, expect_other;
	size_t nfields;
	struct httpparse_field fields[HTTPPARSE_FIELDS]; /* names lower case */
};

/* head_max must be below 2^32. */
void httpparse_init(struct httpparse *p, size_t head_max, size_t uri_max);
/*
 * data is the head from its first byte on, len what has arrived of it, more
 * than a head included.  It is changed in place (names lower-cased, strings
 * terminated); between calls it may move but must not change.  MORE, DONE or
 * BAD; not to be called again after the last two.
 */
enum httpparse_rc httpparse_head(struct httpparse *p, char *data, size_t len);

struct httpchunk {
	int state;
	unsigned digits;
	uint64_t left;
	size_t trailer_len;
	size_t name_len;
	char name[24];
	const char *reason; /* with HTTPPARSE_BAD */
};

void httpchunk_init(struct httpchunk *d);
/*
 * Decodes from p.  *used is how much of it is dealt with.  DATA: *data and
 * *data_len are a piece of the body inside p, call again with the rest;
 * MORE: all was used; DONE: the body is complete, what follows *used belongs
 * to the next request.  Trailers are checked and dropped.
 */
enum httpparse_rc httpchunk_next(struct httpchunk *d, const char *p, size_t len,
    size_t *used, const char **data, size_t *data_len);

#endif
