/*
 * lanes.h - where the poll is in the ready indexes, and what to list next.
 *
 * With few entries one list sees all priorities and shards at once.  When
 * that does not fit in a page, a priority is read by its lanes, one for each
 * shard, in turn: each has a place of its own where the next page begins, so
 * that whatever stands in front of it (ten thousand entries that nobody here
 * can serve) is passed once in a round and starves nothing.  A lane whose
 * page ended in the future is asked for a few keys only, and what comes
 * after the first entry of the future is not read (skip-scan).
 *
 * A lane that never comes to its end because more is added than is done has
 * a second, slow place that sees what appeared behind the first.
 *
 * Pure: it makes requests' parameters and looks at pages.
 */
#ifndef LANES_H
#define LANES_H

#include "entries.h"
#include "s3xml.h"
#include "shards.h"

struct lanes;

/* One list to be asked for. */
struct lanes_ask {
	char prefix[QO_KEY_SIZE];
	char start_after[QO_KEY_SIZE]; /* "": from the first */
	unsigned max_keys;
	int index; /* enum qo_index; -1: all three at once */
	int lane;  /* -1: all of the index */
	bool slow; /* its second place */
};

/* What a page held. */
struct lanes_found {
	size_t taken;   /* new candidates */
	size_t waits;   /* of others, to be looked at again */
	int64_t future; /* the first minute that is not yet; INT64_MAX */
	bool whole;     /* the round over what was asked for is complete */
	size_t round;   /* new candidates in all of the round */
};

struct lanes_offer {
	struct entries *entries;
	bool help;        /* others' entries too */
	int64_t grace_ms; /* see entries_add */
	int64_t minute;   /* now */
	struct qo_mono now;
};

/* layout and shards are borrowed. */
struct lanes *lanes_new(const struct qo_layout *layout,
    const struct shards *shards);
void lanes_free(struct lanes *l); /* NULL is fine */

/* All of it fits in a page: ask with index -1. */
bool lanes_small(const struct lanes *l);
/* index -1: all at once (lanes_small); else that priority. */
void lanes_next(struct lanes *l, int index, bool help, struct qo_mono now,
    struct lanes_ask *ask);
/* The answer to that. */
void lanes_page(struct lanes *l, const struct lanes_ask *ask,
    const struct qo_s3_list *list, const struct lanes_offer *offer,
    struct lanes_found *found);

#endif
