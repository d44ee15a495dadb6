/*
 * uri.h - percent-encoding and query strings (RFC 3986, as S3 reads it).
 *
 * Unreserved characters (letters, digits, - . _ ~) stand for themselves and
 * all others are %XX with upper-case digits, so that a byte string has
 * exactly one spelling.  Decoding is strict: a % without two digits is an
 * error, and + is a space only where the caller says so.
 */
#ifndef URI_H
#define URI_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

#define URI_KEEP_SLASH 0x1 /* leave / as it is (paths) */
#define URI_PLUS_SPACE 0x2 /* decode + as a space (form data) */

/* Appends the encoded bytes to out; -1 when out is full. */
int uri_encode(struct buf *out, const char *s, size_t len, int flags);
/* Appends the decoded bytes, NUL among them possibly; -1 for a bad % or when
 * out is full (what was added before stays). */
int uri_decode(struct buf *out, const char *s, size_t len, int flags);
/* Encoded text in, the one right spelling of the same bytes out; -1 as
 * uri_decode. */
int uri_recode(struct buf *out, const char *s, size_t len, int flags);

/* One name[=value] of a query string, still encoded, not NUL-terminated. */
struct uri_raw {
	const char *name;
	size_t name_len;
	const char *value; /* "" without = */
	size_t value_len;
	bool has_value; /* there was a = */
};

/*
 * Walks a query string (without its ?): set *p to its start, then call until
 * false.  Empty parts ("a&&b") are skipped.
 */
bool uri_query_next(const char **p, struct uri_raw *out);

/* A query string taken apart and decoded. */
struct uri_pair {
	const char
	    *name; /* NUL-terminated; longer than strlen if a %00 was in */
	const char *value;
	size_t name_len;
	size_t value_len;
	bool has_value;
};

struct uri_query {
	struct uri_pair *pairs; /* in the order sent */
	size_t n;
	struct buf text; /* what they point into */
};

/* Decodes s (NULL is empty).  flags: URI_PLUS_SPACE.  -1 for a bad % or more
 * than max pairs; q is empty then.  uri_query_fini frees in both cases. */
int uri_query_parse(struct uri_query *q, const char *s, size_t max, int flags);
void uri_query_fini(struct uri_query *q);
/* The first pair of this name, or NULL; names are case-sensitive. */
const struct uri_pair *uri_query_get(const struct uri_query *q,
    const char *name);

#endif
