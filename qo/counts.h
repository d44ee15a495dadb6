/*
 * counts.h - how full the queue is, by the names in its indexes.
 */
#ifndef COUNTS_H
#define COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "scan.h"

#define COUNTS_PRIORITIES 3 /* the ready indexes: high, normal, low */

struct counts {
	size_t ready[COUNTS_PRIORITIES], delayed[COUNTS_PRIORITIES];
	size_t running, failed;
	size_t overdue;                           /* leases that have run out */
	struct qo_wall oldest[COUNTS_PRIORITIES]; /* ready since */
};

/* Of a scan that has ended. */
void counts_of(struct counts *c, const struct qo_scan *scan,
    struct qo_wall now);
/* Of the three. */
size_t counts_sum(const size_t *n);
/* Since then, not below 0. */
int64_t counts_age_ms(struct qo_wall since, struct qo_wall now);
/* Of all that are ready; -1: none is. */
int64_t counts_oldest_ms(const struct counts *c, struct qo_wall now);

#endif
