/*
 * live_store.h - the real qo-store, a client and a queue on it, for tests.
 *
 * The program is the one that was built beside the test.  Each store has a
 * directory of its own and a port that the kernel chose.
 */
#ifndef LIVE_STORE_H
#define LIVE_STORE_H

#include <sys/types.h>

#include "queue.h"
#include "task.h"

struct live_store {
	pid_t pid;
	char dir[96];
	char url[64];
	char access_key[64], secret_key[64];
	struct loop *loop;
	struct qo_s3 *s3;
	struct qo_queue *q; /* buckets qo (versioned) and qo-index */
};

void live_store_start(struct live_store *s);
void live_store_stop(struct live_store *s); /* removes the directory */
/* Another client and queue on the same store, as another process has them;
 * endpoint NULL: the store's own. */
struct qo_s3 *live_store_client(struct live_store *s, struct loop *l,
    const char *endpoint);
struct qo_queue *live_store_queue(struct live_store *s, struct loop *l,
    struct qo_s3 *s3);

/* How many keys the index bucket holds under this prefix; the last one is
 * copied to key (QO_KEY_SIZE, may be NULL). */
size_t live_store_count(struct live_store *s, const char *prefix, char *key);
/* Reads a task as it is in the store; fails the test when it is not there. */
void live_store_task(struct live_store *s, const char *id, struct qo_task *t);
enum qo_status live_store_status(struct live_store *s, const char *id);

/* Where the program of that name was built. */
void live_program(const char *name, char *out, size_t size);

#endif
