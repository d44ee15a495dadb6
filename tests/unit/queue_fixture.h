/*
 * queue_fixture.h - the steps of a task's life, each in a line, for tests of
 * the queue on the real store.
 */
#ifndef QUEUE_FIXTURE_H
#define QUEUE_FIXTURE_H

#include "commit.h"
#include "live_store.h"
#include "submit.h"

#define QUEUE_LEASE_MS 60000

/* A submission with an input and nothing else. */
struct qo_submission queue_plain(void);
void queue_submit(struct live_store *s, const struct qo_submission *sub,
    char id[QO_UUID_SIZE]);
/* The one entry of the index under this prefix. */
struct qo_entry queue_entry(struct live_store *s, const char *prefix);
/* Claims what the one ready entry is of; *cl is to be ended. */
enum qo_rc queue_take(struct live_store *s, struct qo_claim *cl,
    const char *worker);
/* A task that is held, ready for an end. */
void queue_held(struct live_store *s, struct qo_claim *cl,
    char id[QO_UUID_SIZE]);
/* An entry as a crashed writer leaves it. */
void queue_put_entry(struct live_store *s, enum qo_index index, const char *id,
    int64_t generation);

#endif
