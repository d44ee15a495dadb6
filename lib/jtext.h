/*
 * jtext.h - JSON as text, without a tree: is it valid, where is a value.
 *
 * For the part of the library (qo.h) that runs in other people's programs
 * and brings nothing along; records of the queue are read with json.h and
 * record.h.  Pure functions, nothing recurses.  What is called valid here is
 * valid for json.h too: RFC 8259 in UTF-8, no half surrogates.
 */
#ifndef QO_JTEXT_H
#define QO_JTEXT_H

#include <stdbool.h>
#include <stddef.h>

#define QO_JTEXT_DEPTH 520

/* One value with white space around it, at most depth levels of [] and {}
 * (up to QO_JTEXT_DEPTH).  NULL, or what is wrong, a literal, at byte *at. */
const char *qo_jtext_check(const char *text, size_t len, unsigned depth,
    size_t *at);

/* The rest is for text that was checked and has a NUL behind it. */

/* A member of an object: the key with its quotes, the value's text. */
struct qo_jtext_member {
	const char *key;
	size_t key_len;
	const char *value;
	size_t value_len;
};

/* *p stands at the object's { at first.  False: there are no more. */
bool qo_jtext_next(const char **p, struct qo_jtext_member *m);
/* The value that the JSON pointer names, NULL when there is none.  The last
 * of members with the same key counts. */
const char *qo_jtext_find(const char *text, size_t len, const char *pointer,
    size_t *value_len);
/* Decodes a string, whose text begins and ends with a quote, to out, which
 * may be its own place and is never longer.  The new length; no NUL added. */
size_t qo_jtext_unquote(char *out, const char *text, size_t len);

#endif
