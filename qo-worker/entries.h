/*
 * entries.h - the candidates: index entries that the poll has found and that
 * wait for a slot.
 *
 * Each entry is here once, however often it is listed.  An entry that can
 * not be served now (its type is not known here, it is not due yet, all its
 * handler's processes are busy, there is no task yet) is remembered and never
 * stands before others.  Everything has a limit; what does not fit is found
 * again by a later list.
 *
 * Pure: the caller passes the time.
 */
#ifndef ENTRIES_H
#define ENTRIES_H

#include "seen.h"

#define ENTRIES_CLASSES 3 /* priorities, in the order of enum qo_index */

struct entries;

enum entries_offer {
	ENTRIES_TAKEN = 0, /* new: it is a candidate now */
	ENTRIES_KNOWN,     /* nothing to do with it, now */
	ENTRIES_WAITS,     /* another's: look again after the grace */
	ENTRIES_FULL       /* no room */
};

/* max: candidates of one priority. */
struct entries *entries_new(size_t max, struct qo_mono now);
void entries_free(struct entries *e); /* NULL is fine */

/* An entry of a page.  theirs: of another process's shard, taken when it is
 * still there grace_ms after it was first seen; grace_ms < 0: not at all. */
enum entries_offer entries_add(struct entries *e, const struct qo_entry *entry,
    bool theirs, int64_t grace_ms, struct qo_mono now);
/* The page ends: what it brought is shuffled, so that workers who read the
 * same page do not fight for the same entries in the same order. */
void entries_page_end(struct entries *e);
/* Is it a candidate, or being worked on? */
bool entries_has(const struct entries *e, const struct qo_entry *entry);
size_t entries_count(const struct entries *e, enum qo_index index);
size_t entries_total(const struct entries *e);

/* The next candidate: those of high priority first, but each priority gets a
 * share.  *tries: how often it was put off by entries_wait before.  The
 * caller says what became of it by one of those below. */
bool entries_take(struct entries *e, struct qo_mono now, struct qo_entry *out,
    unsigned *tries);
/* Not needed any more: its task was taken. */
void entries_done(struct entries *e, const struct qo_entry *entry,
    struct qo_mono now);
/* Not now; it comes back with a later list. */
void entries_later(struct entries *e, const struct qo_entry *entry,
    enum seen_why why, struct qo_mono now);
/* A candidate again at that time, without a list. */
void entries_wait(struct entries *e, const struct qo_entry *entry,
    unsigned tries, struct qo_mono at);
/* Its task is not yet what it promises: an entry is written first (R1).  Its
 * writer is soon there, or slow, or dead: it is a candidate again after a
 * moment and then after twice as long each time, for about 8 s.  After that it
 * comes back with later lists, for one look each. */
void entries_absent(struct entries *e, const struct qo_entry *entry,
    unsigned tries, struct qo_mono now);
/* When the next of those is due; false: there is none. */
bool entries_next(const struct entries *e, struct qo_mono *at);
/* A candidate again when who has room: entries_unpark. */
void entries_park(struct entries *e, const struct qo_entry *entry,
    const void *who, struct qo_mono now);
/* The first that waits for who becomes a candidate.  False: none does. */
bool entries_unpark(struct entries *e, const void *who);
/* Types were resumed: what was put off for that reason may come back. */
void entries_resume(struct entries *e);

#endif
