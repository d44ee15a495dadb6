/*
 * still_clock.h - a monotonic clock that stands until the test moves it.
 *
 * For the one file of a test that is linked with --wrap=qo_mono_now: no limit
 * of what is tested runs out because the machine was busy, and each is seen
 * to run out to the millisecond.
 */
#ifndef STILL_CLOCK_H
#define STILL_CLOCK_H

#include "clock.h"

static struct qo_mono still_clock = { QO_US_PER_SEC };

/* The linker puts this in the place of qo_mono_now. */
struct qo_mono __wrap_qo_mono_now(void);

struct qo_mono
__wrap_qo_mono_now(void)
{
	return still_clock;
}

static inline void
still_clock_pass(int64_t ms)
{
	still_clock = qo_mono_add_ms(still_clock, ms);
}

#endif
