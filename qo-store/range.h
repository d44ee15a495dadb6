/*
 * range.h - the Range header.  Pure.
 *
 * One range of bytes is served.  What RFC 9110 lets a server ignore (another
 * unit, several ranges, nonsense) is ignored: the whole object, 200, as S3
 * does.  A range that lies outside is not satisfiable: 416.
 */
#ifndef RANGE_H
#define RANGE_H

#include <stdint.h>

enum range_rc {
	RANGE_WHOLE = 0,
	RANGE_PART,
	RANGE_UNSATISFIABLE
};

/* text may be NULL.  RANGE_PART sets *off and *len, inside size. */
enum range_rc range_parse(const char *text, int64_t size, int64_t *off,
    int64_t *len);
/* x-amz-copy-source-range: exactly bytes=first-last; -1 when it is not, or
 * lies outside. */
int range_parse_copy(const char *text, int64_t size, int64_t *off,
    int64_t *len);

#endif
