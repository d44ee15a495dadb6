/*
 * hash.h - SHA-256, SHA-1, MD5 and HMAC-SHA-256.
 *
 * A thin layer over OpenSSL 3 that pays for its look-ups once: digests are
 * fetched at the first use in the process (under a once lock), and each
 * thread keeps one context for the one-shot calls.  Any thread may call
 * anything here at any time; a single struct hash belongs to one thread at a
 * time.  A crypto library that can not hash is like memory that has run out:
 * the process ends.
 */
#ifndef HASH_H
#define HASH_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_LEN 32
#define SHA1_LEN   20
#define MD5_LEN    16
#define HASH_MAX   SHA256_LEN

enum hash_alg {
	HASH_SHA256 = 0,
	HASH_SHA1,
	HASH_MD5
};

/* Length of the digest in bytes. */
size_t hash_len(enum hash_alg alg);

/* One-shot; out has hash_len(alg) bytes. */
void hash_bytes(enum hash_alg alg, const void *p, size_t len, uint8_t *out);
void sha256(const void *p, size_t len, uint8_t out[SHA256_LEN]);
/* The same as 64 lower-case digits and a NUL. */
void sha256_hex(const void *p, size_t len, char out[static 2 * SHA256_LEN + 1]);

/* Incremental.  The struct is the caller's; init allocates, fini frees. */
struct evp_md_ctx_st;
struct hash {
	struct evp_md_ctx_st *ctx;
	enum hash_alg alg;
};

void hash_init(struct hash *h, enum hash_alg alg);
void hash_update(struct hash *h, const void *p, size_t len);
/* Gives the digest and starts anew, so one struct serves many messages. */
void hash_final(struct hash *h, uint8_t *out);
void hash_reset(struct hash *h); /* forgets what was added */
void hash_fini(struct hash *h);  /* a zeroed struct is fine */

/* An HMAC-SHA-256 key made ready.  Plain memory without pointers: copy it
 * freely, wipe it with explicit_bzero. */
struct hmac_key {
	uint8_t block[64];
};

void hmac_key_set(struct hmac_key *k, const void *key, size_t len);
void hmac_sha256(const struct hmac_key *k, const void *p, size_t len,
    uint8_t out[SHA256_LEN]);

#endif
