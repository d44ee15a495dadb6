/*
 * rate.h - so many a second: a token bucket in one number.
 *
 * The bucket holds what comes in one second, so a second's worth may come at
 * once.  It is kept as the time at which it will be full again, which needs
 * no timer and loses nothing to rounding.
 */
#ifndef RATE_H
#define RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#define RATE_MAX 1000000

struct rate {
	int64_t per_s;   /* 1 to RATE_MAX; 0: no limit */
	int64_t full_ns; /* when the bucket is full again; 0 at the start */
};

/* Takes one; false when there is none, and then nothing is taken. */
bool rate_take(struct rate *r, struct qo_mono now);

#endif
