/*
 * checksum.h - the object checksums of S3, computed while bytes pass.
 *
 * crc32 (ISO-HDLC), crc32c (Castagnoli), crc64nvme, sha1 and sha256, by the
 * names that S3 gives them.  Any thread; one struct belongs to one thread at
 * a time.
 */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "hash.h"

enum checksum_alg {
	CHECKSUM_CRC32 = 0,
	CHECKSUM_CRC32C,
	CHECKSUM_CRC64NVME,
	CHECKSUM_SHA1,
	CHECKSUM_SHA256
};

#define CHECKSUM_NALGS     5
#define CHECKSUM_MAX       SHA256_LEN
#define CHECKSUM_TEXT_SIZE 45 /* base64 of the longest, with its NUL */

struct checksum {
	enum checksum_alg alg;
	uint64_t crc;
	struct hash hash; /* of the sha ones */
};

/* "crc32", "CRC32C", ...; any case.  -1 when there is no such algorithm. */
int checksum_by_name(const char *name, enum checksum_alg *out);
/* "x-amz-checksum-crc32"; any case.  -1 when it is not one. */
int checksum_by_header(const char *name, enum checksum_alg *out);
const char *checksum_name(enum checksum_alg alg);   /* "CRC32C" */
const char *checksum_header(enum checksum_alg alg); /* lower case */
size_t checksum_len(enum checksum_alg alg);         /* bytes, before base64 */

void checksum_init(struct checksum *c, enum checksum_alg alg);
void checksum_update(struct checksum *c, const void *p, size_t len);
/* checksum_len bytes, a CRC with its highest byte first; starts anew. */
void checksum_final(struct checksum *c, uint8_t out[static CHECKSUM_MAX]);
/* The same as base64, as it stands in the header. */
void checksum_final_text(struct checksum *c,
    char out[static CHECKSUM_TEXT_SIZE]);
void checksum_fini(struct checksum *c);

/* crc32c of p from an earlier value (0 at the start); for records on disk. */
uint32_t crc32c(uint32_t crc, const void *p, size_t len);

#endif
