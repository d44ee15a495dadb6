/*
 * civil.h - the calendar: days since 1970 and years, months, days.
 *
 * Gregorian throughout, years 1 to 9999.  Pure, and without any idea of a
 * time zone.
 */
#ifndef QO_CIVIL_H
#define QO_CIVIL_H

#include <stdint.h>

#define QO_DAY_SEC INT64_C(86400)
/* 0001-01-01T00:00:00 and the first second of the year 10000. */
#define QO_CIVIL_MIN_SEC INT64_C(-62135596800)
#define QO_CIVIL_END_SEC INT64_C(253402300800)

struct qo_civil {
	int year, month, day; /* 1-9999, 1-12, 1-31 */
	int wday;             /* 0: Sunday */
};

/* Month and day may be any that the calendar has in that year. */
int64_t qo_civil_days(int year, int month, int day);
void qo_civil_from_days(int64_t days, struct qo_civil *c);
int qo_civil_month_days(int year, int month);

/* Seconds since 1970 as days and the second of that day; rounds down. */
static inline int64_t
qo_civil_split(int64_t sec, int *of_day)
{
	int64_t days = sec / QO_DAY_SEC;

	if (sec % QO_DAY_SEC < 0)
		days--;
	*of_day = (int)(sec - days * QO_DAY_SEC);
	return days;
}

#endif
