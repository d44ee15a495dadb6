/*
 * keys.h - the access keys, from a file.
 *
 * An ini file, mode 0600, a section per key:
 *
 *	[default]
 *	access_key = QOXXXXXXXXXXXXXXXXXX
 *	secret_key = ...
 *	owner = qo			; whose buckets these are
 *	policy = both			; read, write or both
 *	prefixes = ready/ tasks/	; only keys under these; none: all
 *	rate = 500			; requests a second; none: any
 *	max_object = 16MiB		; largest object it may write
 *	max_bytes = 10GiB		; not when its owner has more
 *
 * A struct keys never changes once it is loaded; a new file is a new one.
 * Keys are counted, so that a request keeps the key it came with.
 */
#ifndef KEYS_H
#define KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "access.h"
#include "err.h"
#include "rate.h"

struct key {
	unsigned refs;
	char *name; /* of its section */
	char *access_key;
	char *secret_key; /* wiped when freed */
	char *owner;
	bool read, write;
	struct prefix_set prefixes; /* n is 0: all */
	struct rate rate;           /* what the key has used, too */
	int64_t max_object;         /* 0: no limit of its own */
	int64_t max_bytes;          /* 0: no limit */
};

struct keys;

/* NULL when anything is wrong: each mistake goes to report as one line. */
struct keys *keys_load(const char *path,
    void (*report)(const char *line, void *arg), void *arg);
void keys_free(struct keys *k); /* NULL is fine; held keys live on */
size_t keys_count(const struct keys *k);
/* Held for the caller, or NULL. */
struct key *keys_find(struct keys *k, const char *access_key);
void key_release(struct key *k); /* NULL is fine */
/* The name of a key whose secret is short, well known or like its access
 * key, or NULL when all are strong. */
const char *keys_weak(const struct keys *k);

/* Writes a file with one fresh key that may do everything. */
int keys_generate(const char *path, struct qo_err *err);

#endif
