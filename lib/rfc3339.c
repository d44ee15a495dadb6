#include <stdbool.h>
#include <string.h>

#include "rfc3339.h"

#define DAY_SEC INT64_C(86400)
/* 0001-01-01T00:00:00Z and the first second of the year 10000. */
#define MIN_SEC INT64_C(-62135596800)
#define END_SEC INT64_C(253402300800)

struct civil {
	int year, month, day; /* 1-9999, 1-12, 1-31 */
	int hour, min, sec;
	int wday; /* 0: Sunday */
	int us;
};

static const char wdays[7][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri",
	"Sat" };
static const char months[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
	"Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

/* Years that begin in March put the leap day last, which makes the days
 * before a month a straight line: (153 * m + 2) / 5 for m = 0 (March). */
static int64_t
days_from_civil(int year, int month, int day)
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

static void
civil_from_days(int64_t days, struct civil *c)
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

static void
civil_from_wall(struct qo_wall t, struct civil *c)
{
	int64_t us = t.us;
	int64_t since, days;
	int sec;

	if (us < MIN_SEC * QO_US_PER_SEC)
		us = MIN_SEC * QO_US_PER_SEC;
	if (us >= END_SEC * QO_US_PER_SEC)
		us = END_SEC * QO_US_PER_SEC - 1;
	/* Counted from the year 1, so that division rounds down. */
	since = us - MIN_SEC * QO_US_PER_SEC;
	c->us = (int)(since % QO_US_PER_SEC);
	since /= QO_US_PER_SEC;
	days = since / DAY_SEC;
	sec = (int)(since % DAY_SEC);
	c->hour = sec / 3600;
	c->min = sec / 60 % 60;
	c->sec = sec % 60;
	civil_from_days(days + MIN_SEC / DAY_SEC, c);
}

static int
month_days(int year, int month)
{
	static const int days[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31,
		30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

static int
wall_from_civil(const struct civil *c, struct qo_wall *t)
{
	int64_t sec;

	if (c->year < 1 || c->year > 9999 || c->month < 1 || c->month > 12 ||
	    c->day < 1 || c->day > month_days(c->year, c->month) ||
	    c->hour > 23 || c->min > 59 || c->sec > 60)
		return -1;
	if (c->sec == 60 && (c->hour != 23 || c->min != 59))
		return -1;
	sec = days_from_civil(c->year, c->month, c->day) * DAY_SEC +
	    c->hour * 3600 + c->min * 60 + c->sec;
	if (sec >= END_SEC)
		return -1;
	t->us = sec * QO_US_PER_SEC + c->us;
	return 0;
}

/* Writes v with n digits and returns the place behind them. */
static char *
put(char *p, int v, int n)
{
	int i;

	for (i = n - 1; i >= 0; i--) {
		p[i] = (char)('0' + v % 10);
		v /= 10;
	}
	return p + n;
}

static char *
put_name(char *p, const char name[4])
{
	memcpy(p, name, 3);
	return p + 3;
}

/* Reads n digits; the caller has checked that they are there.  -1: a byte
 * that is no digit. */
static int
get(const char *p, int n)
{
	int i, v = 0;

	for (i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		v = v * 10 + (p[i] - '0');
	}
	return v;
}

static int
get_name(const char *p, const char names[][4], int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (memcmp(p, names[i], 3) == 0)
			return i;
	return -1;
}

/* Every field of a date that was read must be a number. */
static bool
all_read(const struct civil *c)
{
	return (c->year | c->month | c->day | c->hour | c->min | c->sec) >= 0;
}

void
qo_rfc3339_print(struct qo_wall t, char out[QO_RFC3339_SIZE])
{
	struct civil c;
	char *p = out;

	civil_from_wall(t, &c);
	p = put(p, c.year, 4);
	*p++ = '-';
	p = put(p, c.month, 2);
	*p++ = '-';
	p = put(p, c.day, 2);
	*p++ = 'T';
	p = put(p, c.hour, 2);
	*p++ = ':';
	p = put(p, c.min, 2);
	*p++ = ':';
	p = put(p, c.sec, 2);
	*p++ = '.';
	p = put(p, c.us, 6);
	*p++ = 'Z';
	*p = '\0';
}

/* The part behind the seconds: fraction and zone. */
static int
parse_tail(const char *s, size_t len, int *us)
{
	size_t n = 0;
	int scale = 100000;

	*us = 0;
	if (len > 0 && s[0] == '.') {
		for (n = 1; n < len && s[n] >= '0' && s[n] <= '9'; n++) {
			*us += (s[n] - '0') * scale;
			scale /= 10;
		}
		if (n < 2 || n > 10)
			return -1;
	}
	if (len - n == 1 && s[n] == 'Z')
		return 0;
	if (len - n == 6 && memcmp(s + n, "+00:00", 6) == 0)
		return 0;
	return -1;
}

int
qo_rfc3339_parse(const char *s, size_t len, struct qo_wall *t)
{
	struct civil c;

	if (len < 20 || s[4] != '-' || s[7] != '-' || s[10] != 'T' ||
	    s[13] != ':' || s[16] != ':')
		return -1;
	c.year = get(s, 4);
	c.month = get(s + 5, 2);
	c.day = get(s + 8, 2);
	c.hour = get(s + 11, 2);
	c.min = get(s + 14, 2);
	c.sec = get(s + 17, 2);
	if (!all_read(&c) || parse_tail(s + 19, len - 19, &c.us) == -1)
		return -1;
	return wall_from_civil(&c, t);
}

void
qo_httpdate_print(struct qo_wall t, char out[QO_HTTPDATE_SIZE])
{
	struct civil c;
	char *p = out;

	civil_from_wall(t, &c);
	p = put_name(p, wdays[c.wday]);
	*p++ = ',';
	*p++ = ' ';
	p = put(p, c.day, 2);
	*p++ = ' ';
	p = put_name(p, months[c.month - 1]);
	*p++ = ' ';
	p = put(p, c.year, 4);
	*p++ = ' ';
	p = put(p, c.hour, 2);
	*p++ = ':';
	p = put(p, c.min, 2);
	*p++ = ':';
	p = put(p, c.sec, 2);
	memcpy(p, " GMT", 5);
}

int
qo_httpdate_parse(const char *s, size_t len, struct qo_wall *t)
{
	struct civil c, day;
	struct qo_wall w;
	int wday;

	if (len != QO_HTTPDATE_SIZE - 1 || memcmp(s + 3, ", ", 2) != 0 ||
	    s[7] != ' ' || s[11] != ' ' || s[16] != ' ' || s[19] != ':' ||
	    s[22] != ':' || memcmp(s + 25, " GMT", 4) != 0)
		return -1;
	wday = get_name(s, wdays, 7);
	c.day = get(s + 5, 2);
	c.month = get_name(s + 8, months, 12) + 1;
	c.year = get(s + 12, 4);
	c.hour = get(s + 17, 2);
	c.min = get(s + 20, 2);
	c.sec = get(s + 23, 2);
	c.us = 0;
	if (!all_read(&c) || wall_from_civil(&c, &w) == -1)
		return -1;
	civil_from_days(days_from_civil(c.year, c.month, c.day), &day);
	if (day.wday != wday)
		return -1;
	*t = w;
	return 0;
}

void
qo_amzdate_print(struct qo_wall t, char out[QO_AMZDATE_SIZE])
{
	struct civil c;
	char *p = out;

	civil_from_wall(t, &c);
	p = put(p, c.year, 4);
	p = put(p, c.month, 2);
	p = put(p, c.day, 2);
	*p++ = 'T';
	p = put(p, c.hour, 2);
	p = put(p, c.min, 2);
	p = put(p, c.sec, 2);
	*p++ = 'Z';
	*p = '\0';
}

int
qo_amzdate_parse(const char *s, size_t len, struct qo_wall *t)
{
	struct civil c;

	if (len != QO_AMZDATE_SIZE - 1 || s[8] != 'T' || s[15] != 'Z')
		return -1;
	c.year = get(s, 4);
	c.month = get(s + 4, 2);
	c.day = get(s + 6, 2);
	c.hour = get(s + 9, 2);
	c.min = get(s + 11, 2);
	c.sec = get(s + 13, 2);
	c.us = 0;
	if (!all_read(&c))
		return -1;
	return wall_from_civil(&c, t);
}
