#include <string.h>

#include "stime.h"

#define OUTLIER_US (30 * QO_US_PER_SEC)
#define AGREEING   3    /* outliers in a row before they are believed */
#define DRIFT_DIV  5000 /* 200 ppm */

void
qo_stime_init(struct qo_stime *st)
{
	memset(st, 0, sizeof(*st));
}

bool
qo_stime_known(const struct qo_stime *st)
{
	return st->known;
}

/* The span as it is at another moment: moved along and widened. */
static struct qo_stime_span
span_at(struct qo_stime_span s, struct qo_mono m)
{
	int64_t age = qo_mono_diff_us(s.at, m);
	int64_t drift = (age < 0 ? -age : age) / DRIFT_DIV;

	s.at = m;
	s.lo_us += age - drift;
	s.hi_us += age + drift;
	return s;
}

/* How far two spans of the same moment lie apart; 0 when they overlap. */
static int64_t
span_gap(struct qo_stime_span a, struct qo_stime_span b)
{
	if (a.lo_us > b.hi_us)
		return a.lo_us - b.hi_us;
	if (b.lo_us > a.hi_us)
		return b.lo_us - a.hi_us;
	return 0;
}

static int64_t
max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t
min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Takes b into a: what both allow, or when they contradict each other all
 * that either allows.  -1 and no change when they are too far apart. */
static int
span_merge(struct qo_stime_span *a, struct qo_stime_span b)
{
	struct qo_stime_span old;
	struct qo_mono m = { max64(a->at.us, b.at.us) };
	int64_t gap;

	/* Answers may arrive out of order: the later moment is the common
	 * one. */
	old = span_at(*a, m);
	b = span_at(b, m);
	gap = span_gap(old, b);
	if (gap > OUTLIER_US)
		return -1;
	a->at = m;
	if (gap > 0) {
		a->lo_us = min64(old.lo_us, b.lo_us);
		a->hi_us = max64(old.hi_us, b.hi_us);
	} else {
		a->lo_us = max64(old.lo_us, b.lo_us);
		a->hi_us = min64(old.hi_us, b.hi_us);
	}
	return 0;
}

static void
correct(struct qo_stime *st, struct qo_stime_span s)
{
	st->span = s;
	st->known = true;
	st->outliers = 0;
	/* A large correction may step back: staying ahead by minutes would be
	 * worse than repeating them. */
	st->floor.us = 0;
	st->corrections++;
	st->corrected_at = s.at;
}

static enum qo_stime_verdict
learn_outlier(struct qo_stime *st, struct qo_stime_span s)
{
	if (st->outliers == 0 || span_merge(&st->other, s) == -1) {
		st->other = s;
		st->outliers = 0;
	}
	if (++st->outliers < AGREEING)
		return QO_STIME_IGNORED;
	correct(st, st->other);
	return QO_STIME_CORRECTED;
}

static struct qo_stime_span
span_of(struct qo_mono m0, struct qo_mono m1, struct qo_wall date)
{
	struct qo_stime_span s;

	s.at = m1;
	s.lo_us = date.us;
	s.hi_us = date.us + QO_US_PER_SEC + qo_mono_diff_us(m0, m1);
	return s;
}

enum qo_stime_verdict
qo_stime_learn(struct qo_stime *st, struct qo_mono m0, struct qo_mono m1,
    struct qo_wall date)
{
	struct qo_stime_span s;

	if (m1.us < m0.us)
		return QO_STIME_IGNORED;
	s = span_of(m0, m1, date);
	if (!st->known) {
		st->span = s;
		st->known = true;
		return QO_STIME_USED;
	}
	if (span_merge(&st->span, s) == -1)
		return learn_outlier(st, s);
	st->outliers = 0;
	return QO_STIME_USED;
}

void
qo_stime_replace(struct qo_stime *st, struct qo_mono m0, struct qo_mono m1,
    struct qo_wall date)
{
	if (m1.us >= m0.us)
		correct(st, span_of(m0, m1, date));
}

int
qo_stime_now(struct qo_stime *st, struct qo_mono m, struct qo_wall guess,
    struct qo_stime_now *out)
{
	struct qo_stime_span s;

	if (!st->known) {
		out->lo = out->mid = out->hi = guess;
		return -1;
	}
	s = span_at(st->span, m);
	out->lo.us = s.lo_us;
	out->hi.us = s.hi_us;
	out->mid.us = s.lo_us + (s.hi_us - s.lo_us) / 2;
	if (out->mid.us < st->floor.us)
		out->mid = st->floor;
	st->floor = out->mid;
	return 0;
}

bool
qo_stime_corrected_since(const struct qo_stime *st, struct qo_mono since)
{
	return st->corrections > 0 && st->corrected_at.us >= since.us;
}

int64_t
qo_stime_skew_us(const struct qo_stime *st, struct qo_mono m,
    struct qo_wall local)
{
	struct qo_stime_span s;

	if (!st->known)
		return 0;
	s = span_at(st->span, m);
	if (local.us > s.hi_us)
		return local.us - s.hi_us;
	if (local.us < s.lo_us)
		return local.us - s.lo_us;
	return 0;
}
