/*
 * progress.h - a bar on stderr for long work, when that is a terminal.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

struct progress {
	bool on;
	const char *label; /* "submitting"; borrowed */
	int64_t total;     /* -1: not known */
	struct qo_mono started, shown;
};

void progress_start(struct progress *p, const char *label, int64_t total);
/* Cheap: draws ten times a second at most. */
void progress_set(struct progress *p, int64_t done);
/* Removes the bar, so that a line of text can follow; set draws it again. */
void progress_clear(struct progress *p);

#endif
