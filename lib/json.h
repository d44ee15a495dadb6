/*
 * json.h - JSON of other people: check it, compact it, write strings.
 *
 * RFC 8259 to the letter: UTF-8 without BOM, no lone surrogates, no comments,
 * nothing behind the value.  Text stays text: numbers and strings are never
 * parsed and printed again, so a producer's 1e400 or 12345678901234567890
 * comes out as it went in.  Nothing recurses.
 *
 * yyjson does the parsing, and no type of it leaves lib: codecs of records
 * use record.h, and what these need of yyjson is in json_doc.h.
 */
#ifndef QO_JSON_H
#define QO_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

#define QO_JSON_DEPTH        64  /* records and what users submit */
#define QO_JSON_DEPTH_OUTPUT 512 /* what handlers print */
#define QO_JSON_DEPTH_MAX    520 /* any limit: handlers' output in a record */

/* A value as its text, borrowed; p == NULL: there is none. */
struct qo_json {
	const char *p;
	size_t len;
};

struct qo_json_limits {
	size_t max_len;
	unsigned max_depth; /* [] is 1; at most QO_JSON_DEPTH_MAX */
	bool unique_keys;   /* an object with a key twice is refused */
};

/* 0, or -1 with a message that tells line, column and byte. */
int qo_json_check(const char *text, size_t len,
    const struct qo_json_limits *limits, struct qo_err *err);
/* Checks, then adds the text without its insignificant white space. */
int qo_json_compact(const char *text, size_t len,
    const struct qo_json_limits *limits, struct buf *out, struct qo_err *err);

/* Adds s as a JSON string with its quotes.  Whatever bytes s holds, the
 * result is valid: what is not UTF-8 becomes U+FFFD.  Like buf_add, -1 over
 * the buf's limit. */
int qo_json_add_string(struct buf *b, const char *s, size_t len);
int qo_json_add_int(struct buf *b, int64_t v);
/* The shortest text that reads back as v, with a point or an exponent; v is
 * finite. */
int qo_json_add_double(struct buf *b, double v);

#endif
