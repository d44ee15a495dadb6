/*
 * tzrule.h - the rule in a time zone's footer: POSIX's TZ string.
 *
 * "CET-1CEST,M3.5.0,M10.5.0/3": what holds after the last change that the
 * zone's table names.  With the extension of TZif version 3: times of day
 * from -167 to 167 hours.  Pure.
 */
#ifndef QO_TZRULE_H
#define QO_TZRULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QO_TZ_ABBR_SIZE 16

enum qo_tzrule_kind {
	QO_TZRULE_JULIAN = 0, /* Jn: 1-365, 29 February is not counted */
	QO_TZRULE_DAY,        /* n: 0-365 */
	QO_TZRULE_MONTH       /* Mm.w.d: the w-th day d of m, 5 the last */
};

struct qo_tzrule_change {
	enum qo_tzrule_kind kind;
	int day; /* also: of the week */
	int week, month;
	int32_t time_s; /* of the local clock before the change */
};

struct qo_tzrule {
	char std_abbr[QO_TZ_ABBR_SIZE], dst_abbr[QO_TZ_ABBR_SIZE];
	int32_t std_offset, dst_offset; /* seconds east */
	bool has_dst;
	struct qo_tzrule_change to_dst, to_std;
};

/* The whole text; -1: it is none. */
int qo_tzrule_parse(const char *s, size_t len, struct qo_tzrule *r);
/* When the two changes of that year (1 to 9999) happen; has_dst is set. */
void qo_tzrule_changes(const struct qo_tzrule *r, int year, int64_t *to_dst,
    int64_t *to_std);

#endif
