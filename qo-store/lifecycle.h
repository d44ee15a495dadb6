/*
 * lifecycle.h - a bucket's lifecycle rules: read, checked, written.  Pure.
 *
 * Kept: expiry of current objects by age or date, of noncurrent versions, of
 * delete markers without versions, and of unfinished uploads, each under a
 * prefix.  Transitions, tags, sizes and version counts are not implemented
 * and are refused: a rule that is accepted is a rule that is carried out.
 */
#ifndef LIFECYCLE_H
#define LIFECYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "s3err.h"

struct lifecycle_rule {
	char *id;
	char *prefix; /* never NULL */
	bool enabled;
	bool expired_markers;
	int64_t days;            /* of current objects; 0: none */
	int64_t date_us;         /* the same, by date; 0: none */
	int64_t noncurrent_days; /* 0: none */
	int64_t upload_days;     /* 0: none */
};

struct lifecycle {
	struct lifecycle_rule *rules;
	size_t n;
};

/* NULL with *e (may be NULL) when the document is not a good one. */
struct lifecycle *lifecycle_parse(const char *text, size_t len, enum s3_err *e);
void lifecycle_free(struct lifecycle *lc); /* NULL is fine */
/* The document as S3 gives it back; lifecycle_parse reads it again. */
void lifecycle_encode(const struct lifecycle *lc, struct buf *b);

#endif
