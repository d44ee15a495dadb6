/*
 * json_doc.h - parsed JSON, for the codecs in lib only.
 *
 * The one header of ours that shows yyjson.  Numbers are kept as text
 * (yyjson's raw type).  The document copies what it needs of the text;
 * strings borrowed from it live until yyjson_doc_free.
 */
#ifndef QO_JSON_DOC_H
#define QO_JSON_DOC_H

#include <yyjson.h>

#include "json.h"

/* Which objects are looked at when keys have to be unique. */
enum qo_json_doc_keys {
	QO_JSON_DOC_ALL = 0,
	QO_JSON_DOC_NOT_ROOT /* the caller sees those of the root itself */
};

/* NULL with *err when the text is not what the limits allow. */
yyjson_doc *qo_json_doc_read(const char *text, size_t len,
    const struct qo_json_limits *limits, enum qo_json_doc_keys keys,
    struct qo_err *err);
/* The second of two equal keys in an object, or NULL. */
const yyjson_val *qo_json_doc_double(yyjson_val *obj);
/* The value of a member of the root object, as its place inside the text
 * that was read (len bytes); next is the key of the member behind it, NULL
 * for the last one. */
struct qo_json qo_json_doc_member(const yyjson_doc *doc, const char *text,
    size_t len, const yyjson_val *key, const yyjson_val *next);
/* Where a key's text begins, with its quote. */
const char *qo_json_doc_key(const yyjson_doc *doc, const char *text,
    const yyjson_val *key);
/* Behind the value that begins at p, in text known to be valid. */
const char *qo_json_skip(const char *p);
/* -1 when v is no number, has a fraction or an exponent, or is outside. */
int qo_json_get_int(const yyjson_val *v, int64_t min, int64_t max,
    int64_t *out);
/* -1 when v is no number, or not finite as a double. */
int qo_json_get_double(const yyjson_val *v, double *out);

#endif
