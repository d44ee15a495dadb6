/*
 * stime.h - what time it is at the store, as an interval.
 *
 * Learned from the Date header of answers and the monotonic clock around the
 * request.  A Date of D, on a request sent at m0 and answered at m1, says
 * that at any later m the server's time lies in
 *	[D + (m - m1), D + 1 s + (m - m0)].
 * Answers that agree are intersected, so the interval narrows; it widens by
 * 200 ppm of its age, because two clocks never run alike.
 *
 * Answers that do not overlap but lie within 30 s of each other (two front
 * ends, a small step of the server's clock) give the hull of both, and the
 * next one narrows it.  An answer further away is ignored until three in a
 * row agree; they then replace what was known, and that is counted as a
 * correction, after which a writer must start its index-first write again.
 *
 * Pure: the caller passes the monotonic time.  Not locked; one per process.
 * The caller's storage, nothing to free.
 */
#ifndef QO_STIME_H
#define QO_STIME_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

/* The bounds of the server's time at one moment of the monotonic clock. */
struct qo_stime_span {
	struct qo_mono at;
	int64_t lo_us, hi_us;
};

struct qo_stime {
	struct qo_stime_span span;
	struct qo_stime_span other; /* what the outliers say */
	unsigned outliers;          /* in a row, agreeing with each other */
	bool known;
	struct qo_wall floor; /* the highest middle given out */
	uint64_t corrections;
	struct qo_mono corrected_at; /* of the last one */
};

struct qo_stime_now {
	struct qo_wall lo;  /* it is certainly not earlier */
	struct qo_wall mid; /* qo_now(): never steps back but by a correction */
	struct qo_wall hi;  /* it is certainly not later */
};

enum qo_stime_verdict {
	QO_STIME_USED = 0,
	QO_STIME_IGNORED,  /* an outlier, or m1 before m0 */
	QO_STIME_CORRECTED /* the third outlier: known time was replaced */
};

void qo_stime_init(struct qo_stime *st);
/* date: the Date header, whole seconds. */
enum qo_stime_verdict qo_stime_learn(struct qo_stime *st, struct qo_mono m0,
    struct qo_mono m1, struct qo_wall date);
/* The store has refused a signature by this time, so it is believed at once:
 * what was known goes, and that counts as a correction. */
void qo_stime_replace(struct qo_stime *st, struct qo_mono m0, struct qo_mono m1,
    struct qo_wall date);
/* False before the first Date: no index-first write may be sent. */
bool qo_stime_known(const struct qo_stime *st);
/* -1 and all three from the local clock guess when nothing is known. */
int qo_stime_now(struct qo_stime *st, struct qo_mono m, struct qo_wall guess,
    struct qo_stime_now *out);
/* True when the clock was corrected at or after since. */
bool qo_stime_corrected_since(const struct qo_stime *st, struct qo_mono since);
/* How far the local clock is ahead (negative: behind) of the interval, in
 * microseconds; 0 while it lies inside or nothing is known. */
int64_t qo_stime_skew_us(const struct qo_stime *st, struct qo_mono m,
    struct qo_wall local);

#endif
