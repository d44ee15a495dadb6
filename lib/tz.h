/*
 * tz.h - time zones, without TZ and the process-wide state of localtime.
 *
 * A zone is read from a TZif file (RFC 9636, versions 1 to 4) of the system's
 * database, and is a value from then on: what it says changes when it is read
 * again.  UTC needs no file.
 *
 * Two kinds of seconds since 1970: an instant is unix_s, and what the zone's
 * clock shows is local_s (as if it were UTC).  A clock that is put forward
 * leaves a gap, readings that no instant has; one that is put back makes an
 * overlap, readings that two instants have.  Instants before the year 2 and
 * behind 9998 are taken for the nearest one inside.
 */
#ifndef QO_TZ_H
#define QO_TZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "civil.h"
#include "err.h"

#define QO_TZ_NAME_MAX     128
#define QO_TZ_FILE_MAX     ((size_t)128 * 1024)
#define QO_TZ_INSTANTS_MAX 4 /* no real zone has more than two */

struct qo_tz;

/* What a clock in the zone shows. */
struct qo_tz_time {
	struct qo_civil date;
	int hour, minute, second;
	int32_t offset_s; /* east of UTC */
	bool dst;
	const char *abbr; /* "CEST"; borrowed from the zone */
};

/* A stretch of time with one offset: start <= t < end. */
struct qo_tz_period {
	int64_t start, end; /* INT64_MIN, INT64_MAX: no such limit */
	int32_t offset_s;
	bool dst;
	const char *abbr;
};

/* Europe/Berlin: words of [A-Za-z0-9._+-] with / between them, none of them
 * beginning with a dot. */
bool qo_tz_name_valid(const char *s, size_t len);
/* From $TZDIR or /usr/share/zoneinfo.  NULL with *err. */
struct qo_tz *qo_tz_open(const char *name, struct qo_err *err);
/* The text of such a file. */
struct qo_tz *qo_tz_parse(const void *data, size_t len, struct qo_err *err);
void qo_tz_free(struct qo_tz *tz); /* NULL is fine */

void qo_tz_period(const struct qo_tz *tz, int64_t unix_s,
    struct qo_tz_period *out);
void qo_tz_local(const struct qo_tz *tz, int64_t unix_s,
    struct qo_tz_time *out);
/* All instants at which the clock shows exactly this, in order: none in a
 * gap, two in an overlap. */
size_t qo_tz_instants(const struct qo_tz *tz, int64_t local_s,
    int64_t out[QO_TZ_INSTANTS_MAX]);
/* The first instant at which the clock shows this or more: in a gap its end,
 * in an overlap the first of the two. */
int64_t qo_tz_reached(const struct qo_tz *tz, int64_t local_s);
/* The most that the clock has shown up to this instant: more than what it
 * shows, in the second pass of an overlap. */
int64_t qo_tz_high(const struct qo_tz *tz, int64_t unix_s);

#endif
