/*
 * output.h - the log of an attempt: the last part of a stream, bounded.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "buf.h"

struct tail {
	struct buf b;
	size_t max;
	uint64_t cut; /* bytes dropped at the front */
};

void tail_init(struct tail *t, size_t max); /* max >= TAIL_MIN */
void tail_fini(struct tail *t);
void tail_add(struct tail *t, const void *p, size_t len);
/* Makes b what is to be kept: at most max bytes, and, when some were cut, a
 * line in front that says how many. */
void tail_finish(struct tail *t);
/* The last line that is not blank, for people: control characters become
 * blanks.  "" when there is none. */
void tail_last_line(const struct tail *t, char *out, size_t size);

#define TAIL_MIN 256

#endif
