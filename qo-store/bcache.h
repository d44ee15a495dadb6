/*
 * bcache.h - the buckets that were asked for lately, in memory.
 *
 * No request needs a database read to know its bucket.  An entry is a
 * snapshot: whoever changes a bucket drops it here when the change is on
 * disk.  Entries are counted; a holder keeps the snapshot it has.
 */
#ifndef BCACHE_H
#define BCACHE_H

#include "cors.h"
#include "db.h"

struct bucket {
	struct bucket *next; /* the cache's */
	unsigned refs;
	struct db_bucket b;
	struct cors *cors; /* b.cors taken apart; NULL when there is none */
};

struct bcache;

struct bcache *bcache_new(struct db *db);
void bcache_free(struct bcache *c); /* entries still held live on */
/* DB_OK: *out is held by the caller.  DB_NO_BUCKET is not remembered. */
enum db_rc bcache_get(struct bcache *c, const char *name, struct bucket **out);
struct bucket *bucket_hold(struct bucket *b);
void bucket_release(struct bucket *b); /* NULL is fine */
/* The bucket has changed or is gone. */
void bcache_drop(struct bcache *c, const char *name);

#endif
