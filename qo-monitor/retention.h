/*
 * retention.h - finished tasks are kept for so long and then removed.
 *
 * A rolling pass over tasks/, a page at a time, from where the cursor
 * (cursor.h) says.  The list tells how old each object is, so only what is
 * old enough is read (retire.h).  Before the first page it is tried whether
 * the store obeys If-Match on a DELETE; where it does not, nothing is ever
 * removed.
 */
#ifndef RETENTION_H
#define RETENTION_H

#include "monitor.h"

struct retention;

struct retention_pace {
	unsigned page;     /* keys of a list */
	int64_t page_ms;   /* between two pages */
	int64_t rate;      /* tasks a second */
	int64_t settle_ms; /* between what belongs to a task and the task */
};

/* m->conf->retention_ms is not 0.  pace NULL: the usual one. */
struct retention *retention_new(struct monitor *m,
    const struct retention_pace *pace);
void retention_free(struct retention *r); /* cancels; NULL is fine */
void retention_start(struct retention *r);
/* Until the end of a round, without pauses, then done(arg). */
void retention_once(struct retention *r, void (*done)(void *arg), void *arg);

#endif
