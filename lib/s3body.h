/*
 * s3body.h - the XML bodies that our S3 requests carry.
 *
 * Each function adds one whole document to b.  0, or -1 with *err when a
 * text can not be carried by XML 1.0 (control characters, not UTF-8), the
 * input makes no sense or b is full; b's contents are then not to be used.
 * All input is borrowed.
 */
#ifndef QO_S3BODY_H
#define QO_S3BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "err.h"

#define QO_S3_DELETE_MAX 1000 /* keys in one DeleteObjects */

struct qo_s3_delete_key {
	const char *key;
	const char *version_id; /* NULL: the current version */
};

/* 1 to QO_S3_DELETE_MAX keys; quiet: only errors are answered. */
int qo_s3body_delete(struct buf *b, const struct qo_s3_delete_key *keys,
    size_t n, bool quiet, struct qo_err *err);

/* Enabled, or Suspended. */
int qo_s3body_versioning(struct buf *b, bool enabled, struct qo_err *err);

struct qo_s3_cors_rule {
	/* NULL-terminated; origins and methods hold at least one. */
	const char *const *origins; /* each with at most one '*' */
	const char *const *methods;
	const char *const *headers; /* NULL: none */
	const char *const *expose;  /* NULL: none */
	int max_age_s;              /* -1: not said */
};

/* At least one rule. */
int qo_s3body_cors(struct buf *b, const struct qo_s3_cors_rule *rules, size_t n,
    struct qo_err *err);

/* What is 0 or false is not asked for; one thing must be. */
struct qo_s3_lifecycle_rule {
	const char *id;
	const char *prefix;       /* "": the whole bucket */
	int noncurrent_days;      /* versions are deleted so long after
	                           * they were replaced */
	bool expired_markers;     /* delete markers with nothing below */
	int abort_multipart_days; /* unfinished uploads */
};

/* At least one rule. */
int qo_s3body_lifecycle(struct buf *b, const struct qo_s3_lifecycle_rule *rules,
    size_t n, struct qo_err *err);

/* CreateBucket in a region.  us-east-1 takes no body: do not send this. */
int qo_s3body_location(struct buf *b, const char *region, struct qo_err *err);

#endif
