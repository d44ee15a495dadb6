/* tz_int.h - a time zone inside, for tz.c and tzfile.c. */
#ifndef QO_TZ_INT_H
#define QO_TZ_INT_H

#include "tz.h"
#include "tzrule.h"

struct qo_tz_type {
	int32_t offset_s;
	bool dst;
	const char *abbr; /* into abbrs */
};

struct qo_tz {
	size_t nchanges; /* changes[i]: from then on types[kinds[i]] */
	int64_t *changes;
	unsigned char *kinds;
	size_t ntypes; /* the first holds before all changes */
	struct qo_tz_type *types;
	char *abbrs;
	bool has_rule; /* holds from the last change on */
	struct qo_tzrule rule;
};

#endif
