/*
 * condition.h - the conditional headers of RFC 9110 as S3 reads them.
 *
 * For reads they are judged here against what was read.  For writes they
 * are only parsed here: the database judges them inside its transaction, so
 * that the first writer to finish wins.
 */
#ifndef CONDITION_H
#define CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"
#include "s3err.h"

struct condition_read {
	/* Header values as sent, or NULL. */
	const char *if_match;
	const char *if_none_match;
	const char *if_modified_since;
	const char *if_unmodified_since;
};

enum condition_rc {
	CONDITION_GO = 0,
	CONDITION_NOT_MODIFIED,
	CONDITION_FAILED
};

/* etag without quotes; mtime in whole seconds counts. */
enum condition_rc condition_read(const struct condition_read *c,
    const char *etag, int64_t mtime_us);
/* If-Range: does the range apply?  NULL: yes. */
bool condition_if_range(const char *value, const char *etag, int64_t mtime_us);

struct condition_write {
	const char *if_match;      /* NULL, "*" or an etag without quotes */
	const char *if_none_match; /* the same */
};
/*
 * Parses If-Match and If-None-Match (NULL when absent) of a write; the
 * results are in the pool.  With strict only what AWS takes is accepted:
 * an etag for If-Match, * for If-None-Match; else S3_NOT_IMPLEMENTED.  Both
 * at once are S3_NOT_IMPLEMENTED always.
 */
enum s3_err condition_write_parse(struct pool *a, const char *if_match,
    const char *if_none_match, bool strict, struct condition_write *out);

#endif
