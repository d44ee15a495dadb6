/*
 * uuid.h - ids and short nonces.
 *
 * Always lower case.  Randomness is arc4random's: safe across fork, never
 * seeded by us.
 */
#ifndef QO_UUID_H
#define QO_UUID_H

#include <stdbool.h>
#include <stddef.h>

#define QO_UUID_SIZE  37 /* with NUL */
#define QO_NONCE_SIZE 9  /* 8 hex digits and NUL */
#define QO_SHARD_SIZE 3  /* 1 or 2 hex digits and NUL */

/* Version 4. */
void qo_uuid_v4(char out[QO_UUID_SIZE]);
/* Exactly 36 characters, lower case, version 4 or 8, RFC 9562's variant:
 * the ids that qo itself makes. */
bool qo_uuid_valid(const char *s, size_t len);
/* 8 random hex digits. */
void qo_nonce(char out[QO_NONCE_SIZE]);
/* The first width (1 or 2) digits of a valid id. */
void qo_uuid_shard(const char *id, int width, char out[QO_SHARD_SIZE]);

/* Sets version and variant in a copy of the 16 bytes and prints it. */
void qo_uuid_print(
    const unsigned char bytes[16], int version, char out[QO_UUID_SIZE]);

#endif
