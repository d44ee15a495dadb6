/*
 * metrics.h - all that is told on /metrics.
 *
 * Pure: what the processes have counted comes in, text goes out.
 */
#ifndef METRICS_H
#define METRICS_H

#include "board_sum.h"
#include "buf.h"

struct metrics {
	const struct board_sum *sum;   /* of all processes */
	const struct board_info *self; /* the monitor: what it has seen */
	bool store_up;
};

void metrics_add(struct buf *b, const struct metrics *m);
/* What the requests would have cost at Amazon's list prices, in dollars. */
double metrics_cost(const uint64_t *counters);

#endif
