/* cron.h: the text of an expression. */
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "confval.h"
#include "cron.h"

struct field {
	const char *name;
	int min, max;      /* of what may be written */
	const char *names; /* three letters each */
};

enum {
	MINUTE = 0,
	HOUR,
	DAY,
	MONTH,
	WDAY,
	NFIELDS
};

static const struct field fields[NFIELDS] = {
	{ "minute", 0, 59, "" },
	{ "hour", 0, 23, "" },
	{ "day-of-month", 1, 31, "" },
	{ "month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
	{ "day-of-week", 0, 7, "sunmontuewedthufrisat" },
};

static const struct {
	const char *name, *means;
} macros[] = {
	{ "@hourly", "0 * * * *" },
	{ "@daily", "0 0 * * *" },
	{ "@midnight", "0 0 * * *" },
	{ "@weekly", "0 0 * * 0" },
	{ "@monthly", "0 0 1 * *" },
	{ "@yearly", "0 0 1 1 *" },
	{ "@annually", "0 0 1 1 *" },
};

/* Where we are in which field, and what it has come to so far. */
struct parser {
	const char *expr, *p;
	const struct field *f;
	uint64_t bits;
	bool star;
	struct qo_err *err;
};

#define REFUSE(ps, at, fmt, ...)                                    \
	qo_err_set((ps)->err, "%s, column %d: " fmt, (ps)->f->name, \
	    (int)((at) - (ps)->expr) + 1, __VA_ARGS__)

static bool
is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool
is_week(const struct parser *ps)
{
	return ps->f == &fields[WDAY];
}

/* What other crons have and this one has not, and what none has. */
static int
refuse_char(struct parser *ps)
{
	char c = *ps->p;

	if (c == '\0' || is_blank(c))
		REFUSE(ps, ps->p, "%s", "something is missing here");
	else if (strchr("lLwW#", c) != NULL)
		REFUSE(ps, ps->p, "%c: L, W and # are not supported", c);
	else if (c == '?')
		REFUSE(ps, ps->p, "%s", "? is not supported: write *");
	else if (c > ' ' && c <= '~')
		REFUSE(ps, ps->p, "%c does not belong here", c);
	else
		REFUSE(ps, ps->p, "%s", "a byte that does not belong here");
	return -1;
}

static int
refuse_name(struct parser *ps, size_t len)
{
	int shown = (int)(len < 20 ? len : 20);

	if (len <= 2)
		return refuse_char(ps);
	if (ps->f->names[0] == '\0')
		REFUSE(ps, ps->p, "%.*s: a number is wanted", shown, ps->p);
	else
		REFUSE(ps, ps->p, "%.*s: a number, or a name like %.3s", shown,
		    ps->p, ps->f->names);
	return -1;
}

static int
take_name(struct parser *ps, int *out)
{
	const char *names = ps->f->names;
	size_t len = 0, i;

	while (is_letter(ps->p[len]))
		len++;
	for (i = 0; len == 3 && names[i] != '\0'; i += 3)
		if (strncasecmp(ps->p, names + i, 3) == 0) {
			*out = (int)(i / 3) + ps->f->min;
			ps->p += len;
			return 0;
		}
	return refuse_name(ps, len);
}

/* A number of at most 4 digits: more is out of every range. */
static int
take_digits(struct parser *ps, int *out)
{
	int v = 0, n;

	for (n = 0; is_digit(ps->p[n]); n++)
		if (n < 4)
			v = v * 10 + (ps->p[n] - '0');
	if (n == 0)
		return refuse_char(ps);
	ps->p += n;
	*out = n > 4 ? INT_MAX : v;
	return 0;
}

static int
take_value(struct parser *ps, int *out)
{
	const char *at = ps->p;

	if (is_letter(*ps->p))
		return take_name(ps, out);
	if (take_digits(ps, out) == -1)
		return -1;
	if (*out >= ps->f->min && *out <= ps->f->max)
		return 0;
	REFUSE(ps, at, "%.*s is not in %d to %d", (int)(ps->p - at), at,
	    ps->f->min, ps->f->max);
	return -1;
}

static int
take_step(struct parser *ps, int *step)
{
	const char *at = ++ps->p;

	if (take_digits(ps, step) == -1)
		return -1;
	if (*step >= 1 && *step <= ps->f->max)
		return 0;
	REFUSE(ps, at, "a step of %.*s: 1 to %d", (int)(ps->p - at), at,
	    ps->f->max);
	return -1;
}

static int
take_range(struct parser *ps, int *lo, int *hi)
{
	const char *at = ps->p;

	if (*ps->p == '*') {
		ps->p++;
		ps->star = true;
		*lo = ps->f->min;
		*hi = is_week(ps) ? 6 : ps->f->max;
		return 0;
	}
	if (take_value(ps, lo) == -1)
		return -1;
	*hi = *lo;
	if (*ps->p == '/') {
		REFUSE(ps, ps->p, "a step needs a range: %.*s-%d/...",
		    (int)(ps->p - at), at, ps->f->max);
		return -1;
	}
	if (*ps->p != '-')
		return 0;
	ps->p++;
	if (take_value(ps, hi) == -1)
		return -1;
	/* A week may end with Sunday. */
	if (is_week(ps) && *hi == 0 && *lo > 0)
		*hi = 7;
	if (*lo <= *hi)
		return 0;
	REFUSE(ps, at, "%.*s runs backwards: write two ranges",
	    (int)(ps->p - at), at);
	return -1;
}

/* One element of a list. */
static int
take_item(struct parser *ps)
{
	int lo, hi, v, step = 1;

	if (take_range(ps, &lo, &hi) == -1)
		return -1;
	if (*ps->p == '/' && take_step(ps, &step) == -1)
		return -1;
	for (v = lo; v <= hi; v += step)
		ps->bits |= UINT64_C(1) << (is_week(ps) ? v % 7 : v);
	return 0;
}

static int
take_field(struct parser *ps)
{
	ps->bits = 0;
	ps->star = false;
	while (is_blank(*ps->p))
		ps->p++;
	if (*ps->p == '\0') {
		qo_err_set(ps->err,
		    "%s is missing: five fields, minute hour day-of-month "
		    "month day-of-week, or @daily",
		    ps->f->name);
		return -1;
	}
	for (;;) {
		if (take_item(ps) == -1)
			return -1;
		if (*ps->p != ',')
			break;
		ps->p++;
	}
	return *ps->p == '\0' || is_blank(*ps->p) ? 0 : refuse_char(ps);
}

/* Is there any such date? */
static int
check_dates(const struct qo_cron *c, struct qo_err *err)
{
	uint32_t days;
	int month;

	if (c->either)
		return 0; /* the days of the week come */
	for (month = 1; month <= 12; month++) {
		/* Of a leap year. */
		days = UINT32_MAX >> (31 - qo_civil_month_days(4, month));
		if ((c->months & (UINT32_C(1) << month)) != 0 &&
		    (c->days & days) != 0)
			return 0;
	}
	qo_err_set(err,
	    "day-of-month and month: there is no such date in any year");
	return -1;
}

static int
parse_fields(struct qo_cron *c, const char *expr, struct qo_err *err)
{
	struct parser ps = { .expr = expr, .p = expr, .err = err };
	uint64_t bits[NFIELDS];
	bool star[NFIELDS];
	size_t i;

	for (i = 0; i < NFIELDS; i++) {
		ps.f = &fields[i];
		if (take_field(&ps) == -1)
			return -1;
		bits[i] = ps.bits;
		star[i] = ps.star;
	}
	while (is_blank(*ps.p))
		ps.p++;
	if (*ps.p != '\0') {
		qo_err_set(err,
		    "column %d: more than five fields (minute hour "
		    "day-of-month month day-of-week)",
		    (int)(ps.p - expr) + 1);
		return -1;
	}
	c->minutes = bits[MINUTE];
	c->hours = (uint32_t)bits[HOUR];
	c->days = (uint32_t)bits[DAY];
	c->months = (uint32_t)bits[MONTH];
	c->wdays = (uint32_t)bits[WDAY];
	c->either = !star[DAY] && !star[WDAY];
	c->running = star[HOUR] || c->hours == 0xffffff;
	return check_dates(c, err);
}

static int
parse_every(struct qo_cron *c, const char *text, struct qo_err *err)
{
	struct qo_err why = { 0 };
	int64_t ms;

	while (is_blank(*text))
		text++;
	if (confval_duration(text, CONFVAL_SEC, 366 * CONFVAL_DAY, &ms, &why) ==
	    -1) {
		qo_err_set(err, "@every: %s", why.msg);
		return -1;
	}
	if (ms % CONFVAL_SEC != 0) {
		qo_err_set(err, "@every: whole seconds");
		return -1;
	}
	c->every_s = ms / CONFVAL_SEC;
	return 0;
}

static int
parse_macro(struct qo_cron *c, const char *expr, struct qo_err *err)
{
	char shown[CONFVAL_SHOWN];
	size_t i;

	if (strncmp(expr, "@every", 6) == 0 &&
	    (expr[6] == '\0' || is_blank(expr[6])))
		return parse_every(c, expr + 6, err);
	for (i = 0; i < sizeof(macros) / sizeof(macros[0]); i++)
		if (strcmp(expr, macros[i].name) == 0)
			return parse_fields(c, macros[i].means, err);
	qo_err_set(err,
	    "%s: there are @hourly, @daily, @weekly, @monthly, @yearly and "
	    "@every DURATION",
	    confval_shown(expr, shown, sizeof(shown)));
	return -1;
}

int
qo_cron_parse(struct qo_cron *c, const char *expr, struct qo_err *err)
{
	memset(c, 0, sizeof(*c));
	if (strlen(expr) > QO_CRON_MAX) {
		qo_err_set(err, "more than %d bytes", QO_CRON_MAX);
		return -1;
	}
	return expr[0] == '@' ? parse_macro(c, expr, err)
			      : parse_fields(c, expr, err);
}
