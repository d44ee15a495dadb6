#include <stdbool.h>
#include <string.h>

#include "civil.h"
#include "rfc3339.h"

struct civil {
	struct qo_civil d;
	int hour, min, sec;
	int us;
};

static const char wdays[7][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri",
	"Sat" };
static const char months[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
	"Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

static void
civil_from_wall(struct qo_wall t, struct civil *c)
{
	int64_t us = t.us;
	int64_t since, days;
	int sec;

	if (us < QO_CIVIL_MIN_SEC * QO_US_PER_SEC)
		us = QO_CIVIL_MIN_SEC * QO_US_PER_SEC;
	if (us >= QO_CIVIL_END_SEC * QO_US_PER_SEC)
		us = QO_CIVIL_END_SEC * QO_US_PER_SEC - 1;
	/* Counted from the year 1, so that division rounds down. */
	since = us - QO_CIVIL_MIN_SEC * QO_US_PER_SEC;
	c->us = (int)(since % QO_US_PER_SEC);
	since /= QO_US_PER_SEC;
	days = since / QO_DAY_SEC;
	sec = (int)(since % QO_DAY_SEC);
	c->hour = sec / 3600;
	c->min = sec / 60 % 60;
	c->sec = sec % 60;
	qo_civil_from_days(days + QO_CIVIL_MIN_SEC / QO_DAY_SEC, &c->d);
}

static int
wall_from_civil(const struct civil *c, struct qo_wall *t)
{
	int64_t sec;

	if (c->d.year < 1 || c->d.year > 9999 || c->d.month < 1 ||
	    c->d.month > 12 || c->d.day < 1 ||
	    c->d.day > qo_civil_month_days(c->d.year, c->d.month) ||
	    c->hour > 23 || c->min > 59 || c->sec > 60)
		return -1;
	if (c->sec == 60 && (c->hour != 23 || c->min != 59))
		return -1;
	sec = qo_civil_days(c->d.year, c->d.month, c->d.day) * QO_DAY_SEC +
	    c->hour * 3600 + c->min * 60 + c->sec;
	if (sec >= QO_CIVIL_END_SEC)
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
	return (c->d.year | c->d.month | c->d.day | c->hour | c->min |
		   c->sec) >= 0;
}

void
qo_rfc3339_print(struct qo_wall t, char out[QO_RFC3339_SIZE])
{
	struct civil c;
	char *p = out;

	civil_from_wall(t, &c);
	p = put(p, c.d.year, 4);
	*p++ = '-';
	p = put(p, c.d.month, 2);
	*p++ = '-';
	p = put(p, c.d.day, 2);
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
	c.d.year = get(s, 4);
	c.d.month = get(s + 5, 2);
	c.d.day = get(s + 8, 2);
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
	p = put_name(p, wdays[c.d.wday]);
	*p++ = ',';
	*p++ = ' ';
	p = put(p, c.d.day, 2);
	*p++ = ' ';
	p = put_name(p, months[c.d.month - 1]);
	*p++ = ' ';
	p = put(p, c.d.year, 4);
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
	struct qo_civil day;
	struct civil c;
	struct qo_wall w;
	int wday;

	if (len != QO_HTTPDATE_SIZE - 1 || memcmp(s + 3, ", ", 2) != 0 ||
	    s[7] != ' ' || s[11] != ' ' || s[16] != ' ' || s[19] != ':' ||
	    s[22] != ':' || memcmp(s + 25, " GMT", 4) != 0)
		return -1;
	wday = get_name(s, wdays, 7);
	c.d.day = get(s + 5, 2);
	c.d.month = get_name(s + 8, months, 12) + 1;
	c.d.year = get(s + 12, 4);
	c.hour = get(s + 17, 2);
	c.min = get(s + 20, 2);
	c.sec = get(s + 23, 2);
	c.us = 0;
	if (!all_read(&c) || wall_from_civil(&c, &w) == -1)
		return -1;
	qo_civil_from_days(qo_civil_days(c.d.year, c.d.month, c.d.day), &day);
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
	p = put(p, c.d.year, 4);
	p = put(p, c.d.month, 2);
	p = put(p, c.d.day, 2);
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
	c.d.year = get(s, 4);
	c.d.month = get(s + 4, 2);
	c.d.day = get(s + 6, 2);
	c.hour = get(s + 9, 2);
	c.min = get(s + 11, 2);
	c.sec = get(s + 13, 2);
	c.us = 0;
	if (!all_read(&c))
		return -1;
	return wall_from_civil(&c, t);
}
