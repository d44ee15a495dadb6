/*
 * deleter.h - index entries that are no longer needed go in batches.
 *
 * Nothing waits for these deletes and nothing depends on them: an entry that
 * stays behind is found by rule R3.  Keys are sent as one DeleteObjects after
 * half a second or when 200 have come together; what could not be deleted
 * is tried again with the next batch, and forgotten when too much piles up.
 */
#ifndef QO_DELETER_H
#define QO_DELETER_H

#include "loop.h"
#include "s3.h"

struct qo_deleter;

/* s3 and bucket are borrowed. */
struct qo_deleter *qo_deleter_new(struct loop *l, struct qo_s3 *s3,
    const char *bucket);
/* Forgets what is left. */
void qo_deleter_free(struct qo_deleter *d);

/* The key is copied. */
void qo_deleter_add(struct qo_deleter *d, const char *key);
/* Sends what is there now; done(arg) when nothing is left or the store does
 * not answer.  One flush at a time. */
void qo_deleter_flush(struct qo_deleter *d, void (*done)(void *arg), void *arg);
size_t qo_deleter_pending(const struct qo_deleter *d);

#endif
