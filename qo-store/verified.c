#include <stddef.h>

#include "db.h"
#include "verified.h"

#define SLOTS    64
#define GOOD_FOR (600 * QO_US_PER_SEC)

static struct slot {
	char version_id[DB_VID_MAX];
	char etag[DB_ETAG_MAX];
	int64_t mtime_us;
	struct qo_mono at;
} slots[SLOTS];
static size_t next_slot;

bool
verified_has(const char *version_id, const char *etag, int64_t mtime_us,
    struct qo_mono now)
{
	const struct slot *s;

	for (s = slots; s < slots + SLOTS; s++)
		if (s->mtime_us == mtime_us && strcmp(s->etag, etag) == 0 &&
		    strcmp(s->version_id, version_id) == 0 &&
		    qo_mono_diff_us(s->at, now) < GOOD_FOR)
			return true;
	return false;
}

void
verified_add(const char *version_id, const char *etag, int64_t mtime_us,
    struct qo_mono now)
{
	struct slot *s;

	s = &slots[next_slot++ % SLOTS];
	strlcpy(s->version_id, version_id, sizeof(s->version_id));
	strlcpy(s->etag, etag, sizeof(s->etag));
	s->mtime_us = mtime_us;
	s->at = now;
}
