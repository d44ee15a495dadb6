#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "checksum.h"
#include "encode.h"
#include "log.h"

#define PREFIX "x-amz-checksum-"

static const struct {
	const char *name;
	const char *header;
	size_t len;
} algs[CHECKSUM_NALGS] = {
	[CHECKSUM_CRC32] = { "CRC32", PREFIX "crc32", 4 },
	[CHECKSUM_CRC32C] = { "CRC32C", PREFIX "crc32c", 4 },
	[CHECKSUM_CRC64NVME] = { "CRC64NVME", PREFIX "crc64nvme", 8 },
	[CHECKSUM_SHA1] = { "SHA1", PREFIX "sha1", SHA1_LEN },
	[CHECKSUM_SHA256] = { "SHA256", PREFIX "sha256", SHA256_LEN },
};

/*
 * Slicing by eight: table[k][b] is the effect of byte b followed by k zero
 * bytes, so that eight bytes are looked up at once.  32-bit CRCs use the low
 * half of the same code.  All three polynomials are bit-reflected.
 */
struct crc_table {
	uint64_t poly;
	uint64_t ones; /* start value and final xor */
	uint64_t t[8][256];
};

static struct crc_table tables[] = {
	[CHECKSUM_CRC32] = { 0xedb88320, 0xffffffff, { { 0 } } },
	[CHECKSUM_CRC32C] = { 0x82f63b78, 0xffffffff, { { 0 } } },
	[CHECKSUM_CRC64NVME] = { 0x9a6c9329ac4bc9b5, UINT64_MAX, { { 0 } } },
};
static bool have_sse42;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
table_fill(struct crc_table *t)
{
	uint64_t v;
	unsigned b, k;

	for (b = 0; b < 256; b++) {
		v = b;
		for (k = 0; k < 8; k++)
			v = (v & 1) != 0 ? v >> 1 ^ t->poly : v >> 1;
		t->t[0][b] = v;
	}
	for (k = 1; k < 8; k++)
		for (b = 0; b < 256; b++) {
			v = t->t[k - 1][b];
			t->t[k][b] = v >> 8 ^ t->t[0][v & 255];
		}
}

static void
crc_once(void)
{
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		table_fill(&tables[i]);
#if defined(__x86_64__)
	have_sse42 = __builtin_cpu_supports("sse4.2") != 0;
#endif
}

static void
crc_ready(void)
{
	if (pthread_once(&once, crc_once) != 0)
		fatalx("pthread_once failed");
}

/* Without the inversions before and after. */
static uint64_t
crc_by_table(const struct crc_table *t, uint64_t crc, const uint8_t *p,
    size_t len)
{
	uint64_t v;
	unsigned i;

	for (; len >= 8; len -= 8, p += 8) {
		for (v = 0, i = 0; i < 8; i++)
			v |= (uint64_t)p[i] << 8 * i;
		v ^= crc;
		crc = t->t[7][v & 255] ^ t->t[6][v >> 8 & 255] ^
		    t->t[5][v >> 16 & 255] ^ t->t[4][v >> 24 & 255] ^
		    t->t[3][v >> 32 & 255] ^ t->t[2][v >> 40 & 255] ^
		    t->t[1][v >> 48 & 255] ^ t->t[0][v >> 56];
	}
	for (; len > 0; len--, p++)
		crc = crc >> 8 ^ t->t[0][(crc ^ *p) & 255];
	return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint64_t
crc32c_sse42(uint64_t crc, const uint8_t *p, size_t len)
{
	uint64_t v;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&v, p, sizeof(v));
		crc = __builtin_ia32_crc32di(crc, v);
	}
	for (; len > 0; len--, p++)
		crc = __builtin_ia32_crc32qi((uint32_t)crc, *p);
	return crc;
}
#endif

static uint64_t
crc_add(enum checksum_alg alg, uint64_t crc, const void *p, size_t len)
{
#if defined(__x86_64__)
	if (alg == CHECKSUM_CRC32C && have_sse42)
		return crc32c_sse42(crc, p, len);
#endif
	return crc_by_table(&tables[alg], crc, p, len);
}

uint32_t
crc32c(uint32_t crc, const void *p, size_t len)
{
	crc_ready();
	return (uint32_t)~crc_add(CHECKSUM_CRC32C, (uint32_t)~crc, p, len);
}

int
checksum_by_name(const char *name, enum checksum_alg *out)
{
	size_t i;

	for (i = 0; i < CHECKSUM_NALGS; i++)
		if (strcasecmp(name, algs[i].name) == 0) {
			*out = (enum checksum_alg)i;
			return 0;
		}
	return -1;
}

int
checksum_by_header(const char *name, enum checksum_alg *out)
{
	if (strncasecmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
		return -1;
	return checksum_by_name(name + sizeof(PREFIX) - 1, out);
}

const char *
checksum_name(enum checksum_alg alg)
{
	return algs[alg].name;
}

const char *
checksum_header(enum checksum_alg alg)
{
	return algs[alg].header;
}

size_t
checksum_len(enum checksum_alg alg)
{
	return algs[alg].len;
}

void
checksum_init(struct checksum *c, enum checksum_alg alg)
{
	memset(c, 0, sizeof(*c));
	c->alg = alg;
	switch (alg) {
	case CHECKSUM_CRC32:
	case CHECKSUM_CRC32C:
	case CHECKSUM_CRC64NVME:
		crc_ready();
		c->crc = tables[alg].ones;
		break;
	case CHECKSUM_SHA1:
		hash_init(&c->hash, HASH_SHA1);
		break;
	case CHECKSUM_SHA256:
		hash_init(&c->hash, HASH_SHA256);
		break;
	}
}

void
checksum_update(struct checksum *c, const void *p, size_t len)
{
	if (c->hash.ctx != NULL)
		hash_update(&c->hash, p, len);
	else
		c->crc = crc_add(c->alg, c->crc, p, len);
}

void
checksum_final(struct checksum *c, uint8_t out[static CHECKSUM_MAX])
{
	size_t i, len = algs[c->alg].len;
	uint64_t v;

	if (c->hash.ctx != NULL) {
		hash_final(&c->hash, out);
		return;
	}
	v = c->crc ^ tables[c->alg].ones;
	for (i = 0; i < len; i++)
		out[i] = (uint8_t)(v >> 8 * (len - 1 - i));
	c->crc = tables[c->alg].ones;
}

void
checksum_final_text(struct checksum *c, char out[static CHECKSUM_TEXT_SIZE])
{
	uint8_t raw[CHECKSUM_MAX];

	checksum_final(c, raw);
	b64_encode(out, raw, algs[c->alg].len);
}

void
checksum_fini(struct checksum *c)
{
	hash_fini(&c->hash);
}
