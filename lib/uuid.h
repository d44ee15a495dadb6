/*
 * uuid.h - ids: random ones, derived ones, and short nonces.
 *
 * Always lower case.  Randomness is arc4random's: safe across fork, never
 * seeded by us.  Derived ids live in uuid_derive.c, apart from the rest, so
 * that a program that needs only random ids does not link libcrypto.
 */
#ifndef QO_UUID_H
#define QO_UUID_H

#include <stdbool.h>
#include <stddef.h>

#define QO_UUID_SIZE  37 /* with NUL */
#define QO_NONCE_SIZE 9  /* 8 hex digits and NUL */
#define QO_SHARD_SIZE 3  /* 1 or 2 hex digits and NUL */

/* What a derived id stands for; a user's key can never name another. */
enum qo_derive {
	QO_DERIVE_KEY = 0, /* a user's idempotency key */
	QO_DERIVE_STEP,    /* a workflow step's task */
	QO_DERIVE_RUN,     /* a workflow's own task */
	QO_DERIVE_SCHED    /* one run of a schedule */
};

/* Version 4. */
void qo_uuid_v4(char out[QO_UUID_SIZE]);
/* Exactly 36 characters, lower case, version 4 or 8, RFC 9562's variant:
 * the ids that qo itself makes. */
bool qo_uuid_valid(const char *s, size_t len);
/* 8 random hex digits. */
void qo_nonce(char out[QO_NONCE_SIZE]);
/* The first width (1 or 2) digits of a valid id. */
void qo_uuid_shard(const char *id, int width, char out[QO_SHARD_SIZE]);

/* Version 8 from SHA-256 of `prefix \0 kind \0 text`: the same text is the
 * same id.  prefix is the queue's [s3] prefix, "" when there is none. */
void qo_uuid_derive(const char *prefix, enum qo_derive kind, const void *text,
    size_t len, char out[QO_UUID_SIZE]);
/* For uuid_derive.c: sets version and variant in the 16 bytes and prints. */
void qo_uuid_print(const unsigned char bytes[16], int version,
    char out[QO_UUID_SIZE]);

#endif
