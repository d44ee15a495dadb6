#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "encode.h"
#include "hash.h"
#include "log.h"

static EVP_MD *mds[HASH_MD5 + 1];
static pthread_key_t scratch_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The context of this thread's one-shot calls. */
static _Thread_local EVP_MD_CTX *scratch;

static void
scratch_free(void *ctx)
{
	EVP_MD_CTX_free(ctx);
}

static EVP_MD *
fetch(const char *name)
{
	EVP_MD *md;

	if ((md = EVP_MD_fetch(NULL, name, NULL)) == NULL)
		fatalx("the crypto library has no %s", name);
	return md;
}

static void
hash_once(void)
{
	mds[HASH_SHA256] = fetch("SHA256");
	mds[HASH_SHA1] = fetch("SHA1");
	mds[HASH_MD5] = fetch("MD5");
	/* Only the key's destructor is wanted: it frees a thread's context
	 * when the thread ends. */
	if (pthread_key_create(&scratch_key, scratch_free) != 0)
		fatalx("no thread key left");
}

static EVP_MD_CTX *
ctx_new(void)
{
	EVP_MD_CTX *ctx;

	if (pthread_once(&once, hash_once) != 0)
		fatalx("pthread_once failed");
	if ((ctx = EVP_MD_CTX_new()) == NULL)
		fatalx("out of memory");
	return ctx;
}

static EVP_MD_CTX *
scratch_get(void)
{
	if (scratch == NULL) {
		scratch = ctx_new();
		if (pthread_setspecific(scratch_key, scratch) != 0)
			fatalx("out of memory");
	}
	return scratch;
}

/* The same digest again on a context costs no allocation. */
static void
ctx_start(EVP_MD_CTX *ctx, enum hash_alg alg)
{
	if (EVP_DigestInit_ex2(ctx, mds[alg], NULL) != 1)
		fatalx("can not start a hash");
}

static void
ctx_add(EVP_MD_CTX *ctx, const void *p, size_t len)
{
	if (EVP_DigestUpdate(ctx, p, len) != 1)
		fatalx("can not hash");
}

static void
ctx_end(EVP_MD_CTX *ctx, uint8_t *out)
{
	if (EVP_DigestFinal_ex(ctx, out, NULL) != 1)
		fatalx("can not finish a hash");
}

size_t
hash_len(enum hash_alg alg)
{
	switch (alg) {
	case HASH_SHA256:
		return SHA256_LEN;
	case HASH_SHA1:
		return SHA1_LEN;
	case HASH_MD5:
		return MD5_LEN;
	}
	abort();
}

void
hash_bytes(enum hash_alg alg, const void *p, size_t len, uint8_t *out)
{
	EVP_MD_CTX *ctx;

	ctx = scratch_get();
	ctx_start(ctx, alg);
	ctx_add(ctx, p, len);
	ctx_end(ctx, out);
}

void
sha256(const void *p, size_t len, uint8_t out[SHA256_LEN])
{
	hash_bytes(HASH_SHA256, p, len, out);
}

void
sha256_hex(const void *p, size_t len, char out[static 2 * SHA256_LEN + 1])
{
	uint8_t md[SHA256_LEN];

	sha256(p, len, md);
	hex_encode(out, md, sizeof(md));
}

void
hash_init(struct hash *h, enum hash_alg alg)
{
	h->ctx = ctx_new();
	h->alg = alg;
	ctx_start(h->ctx, alg);
}

void
hash_update(struct hash *h, const void *p, size_t len)
{
	ctx_add(h->ctx, p, len);
}

void
hash_final(struct hash *h, uint8_t *out)
{
	ctx_end(h->ctx, out);
	ctx_start(h->ctx, h->alg);
}

void
hash_reset(struct hash *h)
{
	ctx_start(h->ctx, h->alg);
}

void
hash_fini(struct hash *h)
{
	EVP_MD_CTX_free(h->ctx);
	h->ctx = NULL;
}

void
hmac_key_set(struct hmac_key *k, const void *key, size_t len)
{
	memset(k->block, 0, sizeof(k->block));
	if (len > sizeof(k->block))
		sha256(key, len, k->block);
	else if (len > 0)
		memcpy(k->block, key, len);
}

static void
hmac_half(const struct hmac_key *k, uint8_t pad, const void *p, size_t len,
    uint8_t out[SHA256_LEN])
{
	EVP_MD_CTX *ctx;
	uint8_t block[sizeof(k->block)];
	size_t i;

	for (i = 0; i < sizeof(block); i++)
		block[i] = k->block[i] ^ pad;
	ctx = scratch_get();
	ctx_start(ctx, HASH_SHA256);
	ctx_add(ctx, block, sizeof(block));
	ctx_add(ctx, p, len);
	ctx_end(ctx, out);
	explicit_bzero(block, sizeof(block));
}

/*
 * RFC 2104 spelled out: two passes over a reused digest context cost two
 * blocks more than a prepared EVP_MAC, and no allocation, where copying one
 * in OpenSSL 3.0 allocates for each message.
 */
void
hmac_sha256(const struct hmac_key *k, const void *p, size_t len,
    uint8_t out[SHA256_LEN])
{
	uint8_t inner[SHA256_LEN];

	hmac_half(k, 0x36, p, len, inner);
	hmac_half(k, 0x5c, inner, sizeof(inner), out);
}
