/*
 * rfc3339.h - dates as text: RFC 3339, HTTP's and SigV4's.
 *
 * Pure functions on struct qo_wall, always UTC, no locale, no TZ.  Years are
 * 1 to 9999 everywhere: a time outside prints as the nearest one inside (a
 * date that far away means "never"), and does not parse.
 *
 * Parsing takes exactly len bytes and nothing around them; 0, or -1 with *t
 * left alone.  A second 60 is accepted at 23:59 only and is, as in POSIX,
 * the first second of the next day.
 */
#ifndef QO_RFC3339_H
#define QO_RFC3339_H

#include <stddef.h>

#include "clock.h"

#define QO_RFC3339_SIZE  28 /* 2026-01-28T12:00:00.000000Z and NUL */
#define QO_HTTPDATE_SIZE 30 /* Sun, 06 Nov 1994 08:49:37 GMT and NUL */
#define QO_AMZDATE_SIZE \
	17 /* 20130524T000000Z and NUL; the day is the
			     * first 8 */

/* Always six fraction digits and Z, so that the texts sort by time. */
void qo_rfc3339_print(struct qo_wall t, char out[QO_RFC3339_SIZE]);
/* 0 to 9 fraction digits (beyond the sixth: cut off), Z or +00:00, T and Z
 * in upper case. */
int qo_rfc3339_parse(const char *s, size_t len, struct qo_wall *t);

/* IMF-fixdate of RFC 9110, the only form still sent; fractions of a second
 * are cut off. */
void qo_httpdate_print(struct qo_wall t, char out[QO_HTTPDATE_SIZE]);
/* The day of the week must be the right one. */
int qo_httpdate_parse(const char *s, size_t len, struct qo_wall *t);

/* x-amz-date; fractions of a second are cut off. */
void qo_amzdate_print(struct qo_wall t, char out[QO_AMZDATE_SIZE]);
int qo_amzdate_parse(const char *s, size_t len, struct qo_wall *t);

#endif
