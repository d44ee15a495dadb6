/*
 * seen.h - a bounded memory of index entries: what is known of each, and when
 * it is worth looking at again.
 *
 * A name is written once (R2), so what is known of it stays true: an entry
 * whose task was taken is done with for good.  The memory has a fixed size;
 * when it is full the least useful is forgotten, which costs a GET and
 * nothing else.
 */
#ifndef SEEN_H
#define SEEN_H

#include "clock.h"
#include "layout.h"

enum seen_state {
	SEEN_NEVER = 0,
	SEEN_HELD,   /* a candidate, or being worked on */
	SEEN_LATER,  /* not before its time */
	SEEN_THEIRS, /* of another's shard; its time is when it was found */
	SEEN_DONE    /* its task was taken, by us or others */
};

/* Why it can not be served now. */
enum seen_why {
	SEEN_UNKNOWN_TYPE = 0,
	SEEN_PAUSED,
	SEEN_ABSENT, /* an entry without a task */
	SEEN_BUSY,   /* all instances of its handler are */
	SEEN_ERROR,
	SEEN_WHYS
};

struct seen;

struct seen *seen_new(struct qo_mono now);
void seen_free(struct seen *s); /* NULL is fine */

/* *at (may be NULL) is the time that goes with the state. */
enum seen_state seen_get(const struct seen *s, const struct qo_entry *e,
    struct qo_mono *at);
void seen_set(struct seen *s, const struct qo_entry *e, enum seen_state state,
    struct qo_mono at);
/* Not now, for that reason: each time in a row it takes longer until the
 * next look, whose time is returned. */
struct qo_mono seen_later(struct seen *s, const struct qo_entry *e,
    enum seen_why why, struct qo_mono now);
/* Was it so the last time that it could not be served? */
bool seen_was(const struct seen *s, const struct qo_entry *e,
    enum seen_why why);
/* All that wait for that reason may be looked at again. */
void seen_forgive(struct seen *s, enum seen_why why);

#endif
