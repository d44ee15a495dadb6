#include <string.h>

#include "hash.h"
#include "uuid.h"

static const char *
kind_name(enum qo_derive kind)
{
	switch (kind) {
	case QO_DERIVE_KEY:
		return "key";
	case QO_DERIVE_STEP:
		return "step";
	case QO_DERIVE_RUN:
		return "run";
	case QO_DERIVE_SCHED:
		return "sched";
	}
	return "?";
}

void
qo_uuid_derive(const char *prefix, enum qo_derive kind, const void *text,
    size_t len, char out[QO_UUID_SIZE])
{
	const char *name = kind_name(kind);
	uint8_t digest[SHA256_LEN];
	struct hash h;

	hash_init(&h, HASH_SHA256);
	/* With their NULs: no two triples give the same bytes. */
	hash_update(&h, prefix, strlen(prefix) + 1);
	hash_update(&h, name, strlen(name) + 1);
	hash_update(&h, text, len);
	hash_final(&h, digest);
	hash_fini(&h);
	qo_uuid_print(digest, 8, out);
}
