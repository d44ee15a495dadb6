/*
 * rules.h - do the rules R1 and R2 hold, seen from the bucket alone?
 *
 * What is there and every version that was there is read with a client of the
 * test; nothing that the program under test said is believed.
 */
#ifndef RULES_H
#define RULES_H

#include "live_store.h"

#define RULES_ENTRIES 16

/* One task and its index entries. */
struct rules_view {
	bool exists;
	struct qo_task task;
	struct qo_entry entries[RULES_ENTRIES];
	size_t n;
};

void rules_look(struct live_store *s, const char *id, struct rules_view *v);
void rules_view_fini(struct rules_view *v);
size_t rules_count(const struct rules_view *v, enum qo_index index);

/*
 * Fails the test, naming `what', unless the task has the entry that its state
 * needs (same generation, same minute) and the payloads that it points to,
 * its revs are 1 to n without a gap,
 * and each version follows from the one before: transitions, generation,
 * attempt, lease.  A task that is not there is fine.
 */
void rules_check(struct live_store *s, const char *id, const char *what);

/* As time and a monitor would: repairs every entry without any grace, takes
 * every lease for dead, claims and completes what can be claimed, until only
 * failed/ (and bell/) has entries.  Fails the test when that does not end. */
void rules_recover(struct live_store *s);

#endif
