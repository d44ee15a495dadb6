#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "later.h"
#include "xalloc.h"

/*
 * Open addressing with linear probing, at most half full.  A key is known by
 * its hash: two keys of one hash share a time, which delays a look at worst.
 */
struct slot {
	uint64_t hash; /* 0: free */
	int64_t until_us;
};

struct later {
	struct slot *slots;
	size_t size; /* a power of two */
	size_t n, max;
};

static uint64_t
hash_of(const char *key)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (; *key != '\0'; key++)
		h = (h ^ (unsigned char)*key) * UINT64_C(1099511628211);
	h ^= h >> 32;
	return h != 0 ? h : 1;
}

struct later *
later_new(size_t max)
{
	struct later *l = xcalloc(1, sizeof(*l));

	l->max = max;
	for (l->size = 16; l->size < 2 * max; l->size *= 2)
		continue;
	l->slots = xcalloc(l->size, sizeof(*l->slots));
	return l;
}

void
later_free(struct later *l)
{
	if (l == NULL)
		return;
	free(l->slots);
	free(l);
}

/* Where it is, or the free place where it would be. */
static struct slot *
find(const struct later *l, uint64_t hash)
{
	size_t i = (size_t)hash & (l->size - 1);

	while (l->slots[i].hash != 0 && l->slots[i].hash != hash)
		i = (i + 1) & (l->size - 1);
	return &l->slots[i];
}

/* Keeps what is to be left alone after now. */
static void
rebuild(struct later *l, int64_t now_us)
{
	struct slot *old = l->slots;
	size_t i;

	l->slots = xcalloc(l->size, sizeof(*l->slots));
	l->n = 0;
	for (i = 0; i < l->size; i++) {
		if (old[i].hash == 0 || old[i].until_us <= now_us)
			continue;
		*find(l, old[i].hash) = old[i];
		l->n++;
	}
	free(old);
}

void
later_clean(struct later *l, struct qo_wall now)
{
	rebuild(l, now.us);
}

void
later_set(struct later *l, const char *key, struct qo_wall until)
{
	uint64_t hash = hash_of(key);
	struct slot *s = find(l, hash);

	if (s->hash == 0 && l->n == l->max) {
		rebuild(l, INT64_MAX); /* from the start */
		s = find(l, hash);
	}
	if (s->hash == 0)
		l->n++;
	s->hash = hash;
	s->until_us = until.us;
}

bool
later_is(const struct later *l, const char *key, struct qo_wall now)
{
	const struct slot *s = find(l, hash_of(key));

	return s->hash != 0 && now.us < s->until_us;
}

size_t
later_count(const struct later *l)
{
	return l->n;
}
