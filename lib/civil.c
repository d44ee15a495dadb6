#include <stdbool.h>

#include "civil.h"

/* Years that begin in March put the leap day last, which makes the days
 * before a month a straight line: (153 * m + 2) / 5 for m = 0 (March). */
int64_t
qo_civil_days(int year, int month, int day)
{
	int y = month <= 2 ? year - 1 : year;
	int m = month <= 2 ? month + 9 : month - 3;
	int era = y / 400; /* y >= 0 here */
	int yoe = y - era * 400;
	int doy = (153 * m + 2) / 5 + day - 1;
	int doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;

	/* 719468 days lie between 0000-03-01 and 1970-01-01. */
	return (int64_t)era * 146097 + doe - 719468;
}

void
qo_civil_from_days(int64_t days, struct qo_civil *c)
{
	unsigned z = (unsigned)(days + 719468); /* not negative: year >= 1 */
	unsigned era = z / 146097;
	unsigned doe = z - era * 146097;
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	unsigned m = (5 * doy + 2) / 153;

	c->day = (int)(doy - (153 * m + 2) / 5 + 1);
	c->month = (int)(m < 10 ? m + 3 : m - 9);
	c->year = (int)(yoe + era * 400) + (c->month <= 2 ? 1 : 0);
	c->wday = (int)((z + 3) % 7); /* 0000-03-01 was a Wednesday */
}

int
qo_civil_month_days(int year, int month)
{
	static const int days[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31,
		30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap ? 1 : 0);
}
