/*
 * shards.h - which shards this worker process serves.
 *
 * The processes of one host divide the configured shards among themselves,
 * so that they do not fight for every task; each looks at those of the others
 * only when its own are empty.
 */
#ifndef SHARDS_H
#define SHARDS_H

#include "conflist.h"
#include "err.h"
#include "uuid.h"

#define SHARDS_MAX 256

enum shards_whose {
	SHARDS_OWN = 0,
	SHARDS_THEIRS, /* of another process of this host */
	SHARDS_NOBODYS /* not configured here */
};

struct shards {
	int width;                 /* digits of a shard: 1 or 2 */
	uint8_t whose[SHARDS_MAX]; /* enum shards_whose, by number */
	uint8_t order[SHARDS_MAX]; /* own ones first, then theirs */
	size_t nown, ntheirs;
};

/* conf: what [worker] shards says; index and of: which of how many processes
 * this is.  -1 with *err: a bad list, or none at this width. */
int shards_init(struct shards *s, const char *conf, int width, int index,
    int of, struct qo_err *err);
/* Of a valid task id. */
enum shards_whose shards_of(const struct shards *s, const char *id);
/* "7" or "c0" */
void shards_name(const struct shards *s, unsigned shard,
    char out[QO_SHARD_SIZE]);
/* The own ones as a JSON array of strings. */
void shards_add_json(const struct shards *s, struct buf *out);

#endif
