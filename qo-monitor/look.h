/*
 * look.h - look at index entries, several at once, and repair what is to be
 * repaired (lib/repair.h).
 *
 * What was done is counted and logged here.  When an entry is worth another
 * look goes into the memory that the caller gives.  Any number of monitors
 * may look at the same entries: one of them wins each task, and one that has
 * lost pauses before it goes on, so that two in step do not stay so.
 */
#ifndef LOOK_H
#define LOOK_H

#include "bulk.h"
#include "later.h"
#include "monitor.h"
#include "repair.h"

#define LOOK_WINDOW_MAX 64

struct look_entry {
	struct qo_entry entry;
	struct qo_wall modified;
};

struct look_slot {
	struct look *look;
	size_t slot;
	bool used; /* repair is to be freed */
	struct qo_repair repair;
};

struct look {
	/* in */
	struct monitor *m;
	struct later *later; /* borrowed */
	void (*done)(struct look *l);
	void *arg;
	/* out: how many of the last run were repaired, and how many could not
	 * be read since the store did not answer */
	size_t repaired, unanswered;
	/* private */
	struct look_entry *entries;
	size_t n, cap, next;
	struct look_slot *slots; /* as many as the window */
	struct qo_bulk bulk;
	struct loop_timer pause;
};

void look_init(struct look *l, struct monitor *m, size_t window);
void look_fini(struct look *l); /* cancels */
/* For the next run; copied.  Not while one is under way. */
void look_add(struct look *l, const struct qo_entry *e,
    struct qo_wall modified);
size_t look_count(const struct look *l);
/* Looks at what was added, in any order; never calls done before it
 * returns. */
void look_start(struct look *l);
/* Begins no more of them; done comes when those under way are over. */
void look_stop(struct look *l);

/* When an entry that was found to be in order, or could not be judged, is
 * worth another look; lo is the time now. */
struct qo_wall look_again(const struct qo_repair *r, struct qo_wall lo);

#endif
