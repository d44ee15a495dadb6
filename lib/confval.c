#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "confval.h"
#include "utf8.h"
#include "xalloc.h"

struct unit {
	const char *name;
	int64_t factor;
};

/* From large to small, which is the order of writing. */
static const struct unit durations[] = {
	{ "d", CONFVAL_DAY },
	{ "h", CONFVAL_HOUR },
	{ "m", CONFVAL_MIN },
	{ "s", CONFVAL_SEC },
	{ "ms", 1 },
	{ NULL, 0 },
};

static const struct unit sizes[] = {
	{ "TiB", INT64_C(1) << 40 },
	{ "GiB", INT64_C(1) << 30 },
	{ "MiB", INT64_C(1) << 20 },
	{ "KiB", INT64_C(1) << 10 },
	{ "", 1 },
	{ NULL, 0 },
};

const char *
confval_shown(const char *s, char *out, size_t size)
{
	size_t n = 0, len;

	if (strlen(s) < size) {
		strlcpy(out, s, size);
		return out;
	}
	for (;;) {
		len = utf8_char_len((const unsigned char *)s + n);
		if (len == 0 || n + len + sizeof("...") > size)
			break;
		n += len;
	}
	memcpy(out, s, n);
	strlcpy(out + n, "...", size - n);
	return out;
}

/* Digits only: no sign, no blanks.  -1 without any or beyond INT64_MAX. */
static int
take_digits(const char **s, int64_t *out)
{
	const char *p = *s;
	int64_t n = 0;

	if (!isdigit((unsigned char)*p))
		return -1;
	for (; isdigit((unsigned char)*p); p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *p - '0', &n))
			return -1;
	*s = p;
	*out = n;
	return 0;
}

int
confval_int(const char *s, int64_t min, int64_t max, int64_t *out,
    struct qo_err *err)
{
	const char *p = s;
	char shown[CONFVAL_SHOWN];
	int64_t n;

	if (take_digits(&p, &n) == -1 || *p != '\0' || n < min || n > max) {
		qo_err_set(err,
		    "\"%s\" is not a whole number from %lld to %lld",
		    confval_shown(s, shown, sizeof(shown)), (long long)min,
		    (long long)max);
		return -1;
	}
	*out = n;
	return 0;
}

/* -1 when s is not a number with one of the units or does not fit. */
static int
take_scaled(const char *s, const struct unit *units, int64_t *out)
{
	int64_t n;

	if (take_digits(&s, &n) == -1)
		return -1;
	if (n == 0 && *s == '\0') {
		*out = 0;
		return 0;
	}
	for (; units->name != NULL; units++)
		if (strcmp(units->name, s) == 0)
			return __builtin_mul_overflow(n, units->factor, out)
			    ? -1
			    : 0;
	return -1;
}

static void
add_scaled(struct buf *b, int64_t n, const struct unit *units)
{
	if (n == 0) {
		buf_addc(b, '0');
		return;
	}
	while (n % units->factor != 0)
		units++;
	buf_addf(b, "%lld%s", (long long)(n / units->factor), units->name);
}

/* Tells the range in the value's own units. */
static int
refuse_range(const char *s, int64_t min, int64_t max, const struct unit *units,
    struct qo_err *err)
{
	char shown[CONFVAL_SHOWN];
	struct buf range;

	buf_init(&range, 128);
	add_scaled(&range, min, units);
	buf_adds(&range, " to ");
	add_scaled(&range, max, units);
	qo_err_set(err, "\"%s\" is out of range: %s",
	    confval_shown(s, shown, sizeof(shown)), range.data);
	buf_fini(&range);
	return -1;
}

int
confval_duration(const char *s, int64_t min, int64_t max, int64_t *ms,
    struct qo_err *err)
{
	char shown[CONFVAL_SHOWN];
	int64_t n;

	if (take_scaled(s, durations, &n) == -1) {
		qo_err_set(err,
		    "\"%s\" is not a duration: a whole number with ms, s, m, "
		    "h or d, like 30s",
		    confval_shown(s, shown, sizeof(shown)));
		return -1;
	}
	if (n < min || n > max)
		return refuse_range(s, min, max, durations, err);
	*ms = n;
	return 0;
}

int
confval_size(const char *s, int64_t min, int64_t max, int64_t *bytes,
    struct qo_err *err)
{
	char shown[CONFVAL_SHOWN];
	int64_t n;

	if (take_scaled(s, sizes, &n) == -1) {
		qo_err_set(err,
		    "\"%s\" is not a size: a whole number of bytes, or with "
		    "KiB, MiB, GiB or TiB, like 64KiB",
		    confval_shown(s, shown, sizeof(shown)));
		return -1;
	}
	if (n < min || n > max)
		return refuse_range(s, min, max, sizes, err);
	*bytes = n;
	return 0;
}

int
confval_bool(const char *s, bool *out, struct qo_err *err)
{
	char shown[CONFVAL_SHOWN];

	if (strcmp(s, "yes") == 0)
		*out = true;
	else if (strcmp(s, "no") == 0)
		*out = false;
	else {
		qo_err_set(err, "\"%s\" is neither yes nor no",
		    confval_shown(s, shown, sizeof(shown)));
		return -1;
	}
	return 0;
}

/* In millionths, so that writing and reading agree to the digit. */
static int
take_millionths(const char **s, int64_t *out)
{
	int64_t whole, scale = 100000, frac = 0;
	const char *p = *s;

	if (take_digits(&p, &whole) == -1 || whole > 1000000000)
		return -1;
	if (*p == '.') {
		p++;
		if (!isdigit((unsigned char)*p))
			return -1;
		for (; isdigit((unsigned char)*p); p++, scale /= 10) {
			if (scale == 0)
				return -1;
			frac += (*p - '0') * scale;
		}
	}
	*s = p;
	*out = whole * 1000000 + frac;
	return 0;
}

int
confval_number(const char *s, double min, double max, double *out,
    struct qo_err *err)
{
	const char *p = s;
	char shown[CONFVAL_SHOWN];
	int64_t n = 0;
	bool ok;
	double d;

	ok = take_millionths(&p, &n) == 0;
	if (ok && *p == '%') {
		p++;
		ok = n % 100 == 0;
		n /= 100;
	}
	d = (double)n / 1e6;
	if (!ok || *p != '\0' || d < min || d > max) {
		qo_err_set(err,
		    "\"%s\" is not a number from %g to %g (or a percentage), "
		    "with at most six digits after the point",
		    confval_shown(s, shown, sizeof(shown)), min, max);
		return -1;
	}
	*out = d;
	return 0;
}

int
confval_enum(const char *s, const char *const *names, int *out,
    struct qo_err *err)
{
	char shown[CONFVAL_SHOWN];
	struct buf all;
	int i;

	for (i = 0; names[i] != NULL; i++) {
		if (strcmp(names[i], s) == 0) {
			*out = i;
			return 0;
		}
	}
	buf_init(&all, 256);
	for (i = 0; names[i] != NULL; i++)
		buf_addf(&all, "%s%s", i == 0 ? "" : ", ", names[i]);
	qo_err_set(err, "\"%s\" is none of %s",
	    confval_shown(s, shown, sizeof(shown)), all.data);
	buf_fini(&all);
	return -1;
}

void
confval_add_duration(struct buf *b, int64_t ms)
{
	add_scaled(b, ms, durations);
}

void
confval_add_size(struct buf *b, int64_t bytes)
{
	add_scaled(b, bytes, sizes);
}

void
confval_add_number(struct buf *b, double n)
{
	char text[32];
	size_t len;

	len = (size_t)snprintf(text, sizeof(text), "%.6f", n);
	while (text[len - 1] == '0')
		len--;
	if (text[len - 1] == '.')
		len--;
	buf_add(b, text, len);
}

#define NEAR_MAX 32 /* longer names are nobody's typo */

/* Levenshtein's distance, with two neighbours swapped counted as one. */
static unsigned
distance(const char *a, const char *b)
{
	unsigned d[NEAR_MAX + 1][NEAR_MAX + 1], n, cost;
	size_t la = strlen(a), lb = strlen(b), i, j;

	if (la > NEAR_MAX || lb > NEAR_MAX)
		return NEAR_MAX;
	for (i = 0; i <= la; i++)
		d[i][0] = (unsigned)i;
	for (j = 0; j <= lb; j++)
		d[0][j] = (unsigned)j;
	for (i = 1; i <= la; i++) {
		for (j = 1; j <= lb; j++) {
			cost = a[i - 1] == b[j - 1] ? 0 : 1;
			n = d[i - 1][j - 1] + cost;
			if (d[i - 1][j] + 1 < n)
				n = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < n)
				n = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < n)
				n = d[i - 2][j - 2] + 1;
			d[i][j] = n;
		}
	}
	return d[la][lb];
}

const char *
confval_nearest(const char *s, const char *const *names)
{
	const char *best = NULL;
	unsigned n, least;

	/* A third of the letters may be wrong, but not all of a short word. */
	least = (unsigned)(strlen(s) / 3) + 1;
	if (least > 4)
		least = 4;
	for (; *names != NULL; names++) {
		n = distance(s, *names);
		if (n < strlen(*names) && n <= least &&
		    (best == NULL || n < least)) {
			best = *names;
			least = n;
		}
	}
	return best;
}
