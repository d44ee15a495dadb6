/*
 * health.h - does the store answer, and is the queue there?  What /readyz
 * says, and a line in the log when it changes.
 */
#ifndef HEALTH_H
#define HEALTH_H

#include <stdbool.h>

#include "clock.h"
#include "err.h"

struct health {
	bool open;               /* the queue was found */
	bool failing;            /* the last answer was none */
	struct qo_mono answered; /* the last one that was */
	char why[320];           /* of the last failure */
};

/* How a request to the store ended. */
void health_note(struct health *h, enum qo_rc rc, const struct qo_err *err,
    struct qo_mono now);
/* NULL: ready; else why not (good until the next call of either).
 * within_ms: how old the last answer may be. */
const char *health_why_not(struct health *h, int64_t within_ms,
    struct qo_mono now);

#endif
