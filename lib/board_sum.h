/*
 * board_sum.h - what all processes of one qod have counted together, those
 * that are gone included: for metrics and for people.
 */
#ifndef BOARD_SUM_H
#define BOARD_SUM_H

#include "board.h"

#define BOARD_ROLES  (BOARD_WORKER + 1)
#define BOARD_STATES (BOARD_DRAINING + 1)

struct board_sum {
	uint64_t counters[BOARD_COUNTERS];
	int64_t running; /* tasks */
	int64_t slots;   /* of processes that are not draining */
	int64_t skew_ms; /* the largest, of any process */
	size_t processes[BOARD_ROLES][BOARD_STATES];
	struct board_handler *handlers; /* by name and type */
	size_t nhandlers;
};

/* b NULL: a process that runs alone; own is then all there is.  Free with
 * board_sum_fini. */
void board_sum(struct board *b, const struct board_area *own,
    struct board_sum *out);
void board_sum_fini(struct board_sum *s);

#endif
