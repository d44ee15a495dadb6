#include <string.h>

#include "civil.h"
#include "tzrule.h"

/* What is left of the text. */
struct rest {
	const char *p, *end;
};

static bool
take(struct rest *r, char c)
{
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static bool
is_digit(const struct rest *r)
{
	return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

/* 1 to 3 digits, min to max. */
static int
take_number(struct rest *r, int min, int max, int *out)
{
	int digits, v = 0;

	for (digits = 0; digits < 3 && is_digit(r); digits++)
		v = v * 10 + (*r->p++ - '0');
	if (digits == 0 || is_digit(r) || v < min || v > max)
		return -1;
	*out = v;
	return 0;
}

static bool
is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Three letters or more, or anything of letters, digits and signs in <>. */
static int
take_abbr(struct rest *r, char out[QO_TZ_ABBR_SIZE])
{
	bool quoted = take(r, '<');
	size_t n = 0;

	while (r->p < r->end &&
	    (is_letter(*r->p) ||
		(quoted && (is_digit(r) || *r->p == '+' || *r->p == '-')))) {
		if (n == QO_TZ_ABBR_SIZE - 1)
			return -1;
		out[n++] = *r->p++;
	}
	out[n] = '\0';
	if (n < 3 || (quoted && !take(r, '>')))
		return -1;
	return 0;
}

/* [+-]hh[:mm[:ss]] */
static int
take_time(struct rest *r, int max_hours, int32_t *out)
{
	int sign = 1, hours, minutes = 0, seconds = 0;

	if (take(r, '-'))
		sign = -1;
	else
		(void)take(r, '+');
	if (take_number(r, 0, max_hours, &hours) == -1)
		return -1;
	if (take(r, ':')) {
		if (take_number(r, 0, 59, &minutes) == -1)
			return -1;
		if (take(r, ':') && take_number(r, 0, 59, &seconds) == -1)
			return -1;
	}
	*out = sign * (hours * 3600 + minutes * 60 + seconds);
	return 0;
}

/* West is positive in the text. */
static int
take_offset(struct rest *r, int32_t *offset)
{
	int32_t west;

	if (take_time(r, 24, &west) == -1)
		return -1;
	*offset = -west;
	return 0;
}

static int
take_change(struct rest *r, struct qo_tzrule_change *c)
{
	c->time_s = 2 * 3600;
	if (take(r, 'J')) {
		c->kind = QO_TZRULE_JULIAN;
		if (take_number(r, 1, 365, &c->day) == -1)
			return -1;
	} else if (take(r, 'M')) {
		c->kind = QO_TZRULE_MONTH;
		if (take_number(r, 1, 12, &c->month) == -1 || !take(r, '.') ||
		    take_number(r, 1, 5, &c->week) == -1 || !take(r, '.') ||
		    take_number(r, 0, 6, &c->day) == -1)
			return -1;
	} else {
		c->kind = QO_TZRULE_DAY;
		if (take_number(r, 0, 365, &c->day) == -1)
			return -1;
	}
	return take(r, '/') ? take_time(r, 167, &c->time_s) : 0;
}

int
qo_tzrule_parse(const char *s, size_t len, struct qo_tzrule *out)
{
	struct rest r = { s, s + len };

	memset(out, 0, sizeof(*out));
	if (take_abbr(&r, out->std_abbr) == -1 ||
	    take_offset(&r, &out->std_offset) == -1)
		return -1;
	if (r.p == r.end)
		return 0;
	out->has_dst = true;
	out->dst_offset = out->std_offset + 3600;
	if (take_abbr(&r, out->dst_abbr) == -1)
		return -1;
	if (!take(&r, ',') &&
	    (take_offset(&r, &out->dst_offset) == -1 || !take(&r, ',')))
		return -1;
	if (take_change(&r, &out->to_dst) == -1 || !take(&r, ',') ||
	    take_change(&r, &out->to_std) == -1)
		return -1;
	return r.p == r.end ? 0 : -1;
}

static int64_t
month_day(const struct qo_tzrule_change *c, int year)
{
	int64_t first = qo_civil_days(year, c->month, 1);
	struct qo_civil d;
	int day;

	qo_civil_from_days(first, &d);
	day = 1 + (c->day - d.wday + 7) % 7 + 7 * (c->week - 1);
	if (day > qo_civil_month_days(year, c->month))
		day -= 7;
	return first + day - 1;
}

static int64_t
change_at(const struct qo_tzrule_change *c, int year, int32_t offset_before)
{
	int64_t days = 0;

	switch (c->kind) {
	case QO_TZRULE_JULIAN:
		days = qo_civil_days(year, 1, 1) + c->day - 1;
		if (c->day >= 60 && qo_civil_month_days(year, 2) == 29)
			days++;
		break;
	case QO_TZRULE_DAY:
		days = qo_civil_days(year, 1, 1) + c->day;
		break;
	case QO_TZRULE_MONTH:
		days = month_day(c, year);
		break;
	}
	return days * QO_DAY_SEC + c->time_s - offset_before;
}

void
qo_tzrule_changes(const struct qo_tzrule *r, int year, int64_t *to_dst,
    int64_t *to_std)
{
	*to_dst = change_at(&r->to_dst, year, r->std_offset);
	*to_std = change_at(&r->to_std, year, r->dst_offset);
}
