/*
 * s3xml.h - the XML that an S3 server answers with.
 *
 * One parser reads one answer after the other: begin with the document that
 * is awaited, feed the body as it arrives, end.  The result belongs to the
 * parser and is good until the next begin.  Only QO_S3XML_OK means that the
 * awaited document was there, whole and with all that it must have; whatever
 * else came instead has a name of its own, since an <Error> in a 200 answer,
 * a proxy's HTML page and a connection cut short ask for different things.
 *
 * Keys, prefixes and key markers are decoded when the answer says
 * EncodingType url (+ is a space, / may come as %2F: servers differ).  ETags
 * are opaque and kept as received, quotes and all.  Unknown elements are
 * ignored; fields that are missing, given twice or out of range are not.
 */
#ifndef QO_S3XML_H
#define QO_S3XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "err.h"

#define QO_S3XML_DOC_MAX     ((size_t)16 << 20)
#define QO_S3XML_ENTRIES_MAX 10000

/* What is awaited. */
enum qo_s3xml_doc {
	QO_S3XML_DOC_ERROR = 0,  /* body of a status of 300 and above: never
				  * QO_S3XML_OK */
	QO_S3XML_DOC_LIST,       /* ListObjectsV2; version 1 is understood */
	QO_S3XML_DOC_VERSIONS,   /* ListObjectVersions */
	QO_S3XML_DOC_DELETE,     /* DeleteObjects */
	QO_S3XML_DOC_VERSIONING, /* GetBucketVersioning */
	QO_S3XML_DOC_LOCATION    /* GetBucketLocation */
};

/* What came. */
enum qo_s3xml_kind {
	QO_S3XML_OK = 0,     /* the awaited document */
	QO_S3XML_ERROR,      /* an <Error>, whatever was awaited */
	QO_S3XML_EMPTY,      /* no body at all */
	QO_S3XML_HTML,       /* a web page: a proxy or portal answered */
	QO_S3XML_NOT_XML,    /* some other text */
	QO_S3XML_TRUNCATED,  /* cut off */
	QO_S3XML_WRONG_ROOT, /* XML, but of another kind */
	QO_S3XML_INVALID     /* malformed, incomplete, absurd or too large */
};

enum qo_s3_versioning {
	QO_S3_VERSIONING_OFF = 0, /* never enabled */
	QO_S3_VERSIONING_ENABLED,
	QO_S3_VERSIONING_SUSPENDED
};

/* All strings below are NUL-terminated and never NULL; "" when absent. */

/* An object, or a version of one. */
struct qo_s3_entry {
	const char *key;
	const char *version_id; /* "" in a list of objects; may be "null" */
	const char *etag;       /* "" for a delete marker */
	int64_t size;           /* 0 for a delete marker */
	struct qo_wall last_modified;
	bool is_latest; /* true in a list of objects */
	bool is_marker;
};

struct qo_s3_list {
	struct qo_s3_entry *entries; /* in the order of the answer */
	size_t n;
	const char **prefixes; /* CommonPrefixes */
	size_t nprefixes;
	/* Keys and prefixes left out since no C string can hold them (a NUL
	 * inside) or since they are not UTF-8. */
	size_t skipped;
	/* There is more: ask again with next_token, or when that is "" (a
	 * server that knows only version 1) with marker = next_marker; for
	 * versions with key-marker and version-id-marker.  What is needed to
	 * go on is there, or the answer is invalid. */
	bool truncated;
	const char *next_token;
	const char *next_marker;
	const char *next_version; /* version-id-marker */
};

struct qo_s3_error {
	const char *code;
	const char *message;
	const char *request_id;
	const char *region;   /* letters, digits and -._ only, or "" */
	const char *endpoint; /* unchecked */
	const char *bucket;
	bool has_server_time; /* in RequestTimeTooSkewed */
	struct qo_wall server_time;
};

/* One key that DeleteObjects did not delete. */
struct qo_s3_undeleted {
	const char *key;
	const char *version_id;
	const char *code;
	const char *message;
};

struct qo_s3_delete {
	struct qo_s3_undeleted *errors;
	size_t n;
	size_t deleted; /* <Deleted> elements: 0 when asked for quiet */
};

struct qo_s3xml;

struct qo_s3xml *qo_s3xml_new(void);
void qo_s3xml_free(struct qo_s3xml *p); /* NULL is fine */

/* Drops the last result; memory is kept. */
void qo_s3xml_begin(struct qo_s3xml *p, enum qo_s3xml_doc want);
/* 0, or -1 when the rest of the body makes no difference any more. */
int qo_s3xml_feed(struct qo_s3xml *p, const void *data, size_t len);
/* The body is complete.  *err (may be NULL) is filled unless QO_S3XML_OK,
 * with the S3 code and request id of an <Error>. */
enum qo_s3xml_kind qo_s3xml_end(struct qo_s3xml *p, struct qo_err *err);
/* Begin, feed and end in one. */
enum qo_s3xml_kind qo_s3xml_parse(struct qo_s3xml *p, enum qo_s3xml_doc want,
    const void *data, size_t len, struct qo_err *err);
/* A word for logs: "ok", "error", "html", ... */
const char *qo_s3xml_kind_name(enum qo_s3xml_kind kind);

/* The results, borrowed; empty unless end said OK for that document. */
const struct qo_s3_list *qo_s3xml_list(const struct qo_s3xml *p);
const struct qo_s3_delete *qo_s3xml_delete(const struct qo_s3xml *p);
enum qo_s3_versioning qo_s3xml_versioning(const struct qo_s3xml *p);
/* The region's name: "us-east-1" for the empty answer of old. */
const char *qo_s3xml_location(const struct qo_s3xml *p);
/* After QO_S3XML_ERROR; all "" else. */
const struct qo_s3_error *qo_s3xml_error(const struct qo_s3xml *p);

#endif
