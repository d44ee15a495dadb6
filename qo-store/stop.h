/*
 * stop.h - when and how the store ends.
 *
 * Asked by a signal or by qod it answers those who wait, finishes the other
 * requests and ends.  When qod is gone its other children drain by themselves
 * and need the store meanwhile: it goes on until they are gone and nobody has
 * asked for 3 seconds in which it could have heard them, at most drain_timeout
 * and 15 seconds.
 */
#ifndef STOP_H
#define STOP_H

#include "role.h"
#include "server.h"

struct stop {
	struct role *role;     /* borrowed */
	struct server *server; /* borrowed; set before the loop runs */
	int64_t drain_ms;      /* our own patience */
	bool draining;
	struct loop_timer end, look;
	struct qo_mono since;  /* nobody had to ask before that */
	struct qo_mono looked; /* for the last time */
};

/* role->loop is set. */
void stop_init(struct stop *s, struct role *role, int64_t drain_ms);
/* What is left after limit_ms (-1: no limit) is cut off.  Again: the earlier
 * end counts. */
void stop_drain(struct stop *s, int64_t limit_ms);
void stop_orphaned(struct stop *s);
void stop_fini(struct stop *s); /* before the server is freed */

#endif
