/*
 * pass.h - go through an index, a turn at a time, and look at what may need
 * repair.
 *
 * A turn reads pages from where the last one stopped and ends when the index
 * is through, or when its share of pages or looks is used up; a round is as
 * many turns as the index needs.  Entries of minutes to come are jumped over
 * together with the rest of their shard, so that a round costs one LIST when
 * there are few entries and never more for what lies in the future.
 */
#ifndef PASS_H
#define PASS_H

#include "look.h"

struct pass {
	/* in */
	struct monitor *m;
	const char *index;  /* "leases/", "failed/" or "ready": all three */
	int64_t min_age_ms; /* younger entries are left alone */
	size_t pages_max;   /* of a turn; 0 here and below: no limit */
	size_t looks_max;   /* of a turn */
	void (*done)(struct pass *p); /* the turn is over */
	void *arg;
	/* out */
	enum qo_rc rc; /* of the turn: how its lists were answered */
	struct qo_err err;
	bool round_over;
	/* of the last whole round */
	size_t entries;        /* that are due */
	size_t seen;           /* all that were listed: those to come too, as
	                        * far as they share a page with others */
	struct qo_wall oldest; /* since then, at least; QO_WALL_NONE */
	/* private */
	char prefix[QO_KEY_SIZE];
	char cursor[QO_KEY_SIZE]; /* "": at the beginning */
	struct look look;
	struct later *later;
	struct qo_s3_req list;
	int64_t minute; /* of this page: what is later is to come */
	bool jumped;    /* the next page begins a shard */
	bool last_page;
	bool stopping;
	size_t pages, looks;
	size_t count, keys;
	struct qo_wall first;
};

/* window: looks at once.  index is a literal. */
void pass_init(struct pass *p, struct monitor *m, const char *index,
    size_t window);
void pass_fini(struct pass *p); /* cancels */
/* A turn; never calls done before it returns. */
void pass_start(struct pass *p);
/* Ends the turn that is under way as soon as what was begun is done. */
void pass_stop(struct pass *p);

/* Where to go on when this entry is one of the future: behind the last one of
 * its shard.  Pure. */
void pass_jump(const char *key, char out[QO_KEY_SIZE]);

#endif
