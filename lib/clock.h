/*
 * clock.h - two kinds of time that can not be mixed.
 *
 * struct qo_mono is for waiting and for deadlines: CLOCK_BOOTTIME, which goes
 * on while the machine is suspended and never jumps.  struct qo_wall is a
 * date, microseconds since 1970 UTC.  The local wall clock is only a first
 * guess; server time (stime.h) is what the queue uses.
 */
#ifndef QO_CLOCK_H
#define QO_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct qo_mono {
	int64_t us;
};

struct qo_wall {
	int64_t us;
};

/* No date at all. */
#define QO_WALL_NONE ((struct qo_wall){ INT64_MIN })

static inline bool
qo_wall_is_set(struct qo_wall t)
{
	return t.us != INT64_MIN;
}

#define QO_US_PER_MS  INT64_C(1000)
#define QO_US_PER_SEC INT64_C(1000000)

struct qo_mono qo_mono_now(void);
struct qo_wall qo_wall_local(void); /* the machine's own idea of the date */

static inline struct qo_mono
qo_mono_add_ms(struct qo_mono t, int64_t ms)
{
	t.us += ms * QO_US_PER_MS;
	return t;
}

/* b - a in microseconds. */
static inline int64_t
qo_mono_diff_us(struct qo_mono a, struct qo_mono b)
{
	return b.us - a.us;
}

#endif
