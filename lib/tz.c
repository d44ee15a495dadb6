#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "confval.h"
#include "io.h"
#include "log.h"
#include "tz_int.h"
#include "xalloc.h"

#define TZDIR "/usr/share/zoneinfo"
/* No clock is further from UTC than this, nor two of them from each other. */
#define OFFSET_LIMIT (26 * INT64_C(3600))
#define YEAR_SEC     (366 * QO_DAY_SEC)
#define UNIX_MIN     (QO_CIVIL_MIN_SEC + YEAR_SEC)
#define UNIX_MAX     (QO_CIVIL_END_SEC - YEAR_SEC)

/* Opening */

static bool
is_name_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	    (c >= '0' && c <= '9') || (c != '\0' && strchr("._+-", c) != NULL);
}

bool
qo_tz_name_valid(const char *s, size_t len)
{
	char before = '/';
	size_t i;

	if (len == 0 || len > QO_TZ_NAME_MAX || s[len - 1] == '/')
		return false;
	for (i = 0; i < len; before = s[i++]) {
		if (s[i] != '/' && !is_name_char(s[i]))
			return false;
		/* No empty word, and no way up or to a hidden file. */
		if (before == '/' && (s[i] == '/' || s[i] == '.'))
			return false;
	}
	return true;
}

static void
say_missing(const char *dir, const char *name, struct qo_err *err)
{
	char probe[4096];
	struct buf b;

	buf_init(&b, QO_TZ_FILE_MAX);
	snprintf(probe, sizeof(probe), "%s/Europe/Berlin", dir);
	if (io_read_file(probe, &b, NULL) == 0)
		qo_err_set(err,
		    "no time zone %s in %s: a name like Europe/Berlin", name,
		    dir);
	else
		qo_err_set(err,
		    "no time zone %s: %s has none, is tzdata installed?", name,
		    dir);
	buf_fini(&b);
}

static struct qo_tz *
utc(void)
{
	struct qo_tz *tz;

	tz = xcalloc(1, sizeof(*tz));
	tz->has_rule = true;
	if (qo_tzrule_parse("UTC0", 4, &tz->rule) == -1)
		qo_bug("tz: UTC0 is no rule");
	return tz;
}

struct qo_tz *
qo_tz_open(const char *name, struct qo_err *err)
{
	const char *dir = getenv("TZDIR");
	char path[4096], shown[CONFVAL_SHOWN];
	struct qo_err why = { 0 };
	struct qo_tz *tz = NULL;
	struct buf b;

	if (strcmp(name, "UTC") == 0 || strcmp(name, "Etc/UTC") == 0)
		return utc();
	confval_shown(name, shown, sizeof(shown));
	if (!qo_tz_name_valid(name, strlen(name))) {
		qo_err_set(err,
		    "%s is no time zone: UTC, or a name like Europe/Berlin",
		    shown);
		return NULL;
	}
	if (dir == NULL || dir[0] == '\0')
		dir = TZDIR;
	buf_init(&b, QO_TZ_FILE_MAX);
	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >=
	    (int)sizeof(path))
		qo_err_set(err, "TZDIR is too long");
	else if (io_read_file(path, &b, &why) == -1) {
		if (why.errnum == ENOENT || why.errnum == ENOTDIR)
			say_missing(dir, name, err);
		else
			qo_err_set(err, "time zone %s: %s", name, why.msg);
	} else if ((tz = qo_tz_parse(b.data, b.len, &why)) == NULL)
		qo_err_set(err, "%s: %s", path, why.msg);
	buf_fini(&b);
	return tz;
}

/* Periods */

struct change {
	int64_t at;
	bool to_dst;
};

/* In order; of two at one instant the one to summer time counts, so that a
 * rule for summer time all year (which ends when it begins) is just that. */
static void
insert(struct change *all, size_t n, struct change c)
{
	for (; n > 0; n--) {
		if (all[n - 1].at < c.at || (all[n - 1].at == c.at && c.to_dst))
			break;
		all[n] = all[n - 1];
	}
	all[n] = c;
}

/* Time of day in a rule may reach a week into another year. */
static size_t
changes_around(const struct qo_tzrule *rule, int64_t unix_s,
    struct change all[10])
{
	struct change c;
	struct qo_civil d;
	int64_t at[2];
	size_t n = 0;
	int year, second;

	qo_civil_from_days(qo_civil_split(unix_s, &second), &d);
	for (year = d.year - 2; year <= d.year + 2; year++) {
		if (year < 1 || year > 9999)
			continue;
		qo_tzrule_changes(rule, year, &at[0], &at[1]);
		c = (struct change){ at[0], true };
		insert(all, n++, c);
		c = (struct change){ at[1], false };
		insert(all, n++, c);
	}
	return n;
}

static void
period_by_rule(const struct qo_tz *tz, int64_t unix_s, struct qo_tz_period *out)
{
	const struct qo_tzrule *rule = &tz->rule;
	struct change all[10];
	size_t i, n;

	out->start = INT64_MIN;
	out->end = INT64_MAX;
	out->dst = false;
	if (rule->has_dst) {
		n = changes_around(rule, unix_s, all);
		for (i = 0; i < n && all[i].at <= unix_s; i++) {
			out->start = all[i].at;
			out->dst = all[i].to_dst;
		}
		if (i < n)
			out->end = all[i].at;
	}
	out->offset_s = out->dst ? rule->dst_offset : rule->std_offset;
	out->abbr = out->dst ? rule->dst_abbr : rule->std_abbr;
}

/* How many changes are at or before that instant. */
static size_t
changes_before(const struct qo_tz *tz, int64_t unix_s)
{
	size_t lo = 0, hi = tz->nchanges, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (tz->changes[mid] <= unix_s)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int64_t
clamp(int64_t unix_s)
{
	if (unix_s < UNIX_MIN)
		return UNIX_MIN;
	return unix_s > UNIX_MAX ? UNIX_MAX : unix_s;
}

void
qo_tz_period(const struct qo_tz *tz, int64_t unix_s, struct qo_tz_period *out)
{
	size_t n;

	unix_s = clamp(unix_s);
	n = changes_before(tz, unix_s);
	if (n == tz->nchanges && tz->has_rule) {
		period_by_rule(tz, unix_s, out);
		if (n > 0 && out->start < tz->changes[n - 1])
			out->start = tz->changes[n - 1];
		return;
	}
	out->start = n > 0 ? tz->changes[n - 1] : INT64_MIN;
	out->end = n < tz->nchanges ? tz->changes[n] : INT64_MAX;
	out->offset_s = tz->types[n > 0 ? tz->kinds[n - 1] : 0].offset_s;
	out->dst = tz->types[n > 0 ? tz->kinds[n - 1] : 0].dst;
	out->abbr = tz->types[n > 0 ? tz->kinds[n - 1] : 0].abbr;
}

/* Readings */

void
qo_tz_local(const struct qo_tz *tz, int64_t unix_s, struct qo_tz_time *out)
{
	struct qo_tz_period p;
	int second;

	unix_s = clamp(unix_s);
	qo_tz_period(tz, unix_s, &p);
	qo_civil_from_days(qo_civil_split(unix_s + p.offset_s, &second),
	    &out->date);
	out->hour = second / 3600;
	out->minute = second / 60 % 60;
	out->second = second % 60;
	out->offset_s = p.offset_s;
	out->dst = p.dst;
	out->abbr = p.abbr;
}

size_t
qo_tz_instants(const struct qo_tz *tz, int64_t local_s,
    int64_t out[QO_TZ_INSTANTS_MAX])
{
	struct qo_tz_period p = { .end = clamp(local_s) - OFFSET_LIMIT };
	int64_t last = clamp(local_s) + OFFSET_LIMIT, t;
	size_t n = 0;

	do {
		qo_tz_period(tz, p.end, &p);
		t = local_s - p.offset_s;
		if (t >= p.start && t < p.end && n < QO_TZ_INSTANTS_MAX)
			out[n++] = t;
	} while (p.end <= last && p.end < UNIX_MAX);
	return n;
}

int64_t
qo_tz_reached(const struct qo_tz *tz, int64_t local_s)
{
	struct qo_tz_period p = { .end = clamp(local_s) - OFFSET_LIMIT };
	int64_t last = clamp(local_s) + OFFSET_LIMIT, t;

	do {
		qo_tz_period(tz, p.end, &p);
		t = local_s - p.offset_s;
		if (t < p.start)
			t = p.start;
	} while (t >= p.end && p.end <= last && p.end < UNIX_MAX);
	return t;
}

int64_t
qo_tz_high(const struct qo_tz *tz, int64_t unix_s)
{
	struct qo_tz_period p;
	int64_t high, first;

	unix_s = clamp(unix_s);
	first = unix_s - 2 * OFFSET_LIMIT;
	qo_tz_period(tz, unix_s, &p);
	high = unix_s + p.offset_s;
	while (p.start > first && p.start > UNIX_MIN) {
		/* The last second before the change. */
		unix_s = p.start - 1;
		qo_tz_period(tz, unix_s, &p);
		if (unix_s + p.offset_s > high)
			high = unix_s + p.offset_s;
	}
	return high;
}
