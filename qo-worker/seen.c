#include <stdlib.h>
#include <string.h>

#include "seen.h"
#include "xalloc.h"

/* 32768 entries of 16 bytes, found by hash in rows of 8. */
#define ROWS  4096
#define WAYS  8
#define TICK  (10 * QO_US_PER_MS)
#define LEVEL 20

struct known {
	uint64_t hash;
	uint32_t at; /* ticks since base */
	uint8_t state;
	uint8_t why;
	uint8_t level; /* how often in a row */
	uint8_t used;
};

struct seen {
	struct qo_mono base;
	struct known rows[ROWS][WAYS];
};

/* First and longest pause before the next look. */
static const struct {
	int64_t min_ms, max_ms;
} pauses[SEEN_WHYS] = {
	[SEEN_UNKNOWN_TYPE] = { 10000, 600000 },
	[SEEN_PAUSED] = { 30000, 30000 },
	[SEEN_ABSENT] = { 10000, 300000 },
	[SEEN_BUSY] = { 500, 30000 },
	[SEEN_ERROR] = { 1000, 60000 },
};

struct seen *
seen_new(struct qo_mono now)
{
	struct seen *s = xcalloc(1, sizeof(*s));

	s->base = now;
	return s;
}

void
seen_free(struct seen *s)
{
	free(s);
}

/* FNV-1a: the ids are random enough, or derived from a hash. */
static uint64_t
hash_add(uint64_t h, const void *p, size_t len)
{
	const unsigned char *s = p;

	while (len-- > 0)
		h = (h ^ *s++) * UINT64_C(1099511628211);
	return h;
}

static uint64_t
hash_of(const struct qo_entry *e)
{
	uint64_t h = UINT64_C(14695981039346656037);

	h = hash_add(h, e->id, strlen(e->id));
	h = hash_add(h, &e->generation, sizeof(e->generation));
	h = hash_add(h, e->nonce, strlen(e->nonce));
	return h ^ h >> 32;
}

static uint32_t
tick_of(const struct seen *s, struct qo_mono t)
{
	int64_t n = qo_mono_diff_us(s->base, t) / TICK;

	return n < 0 ? 0 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static struct known *
find(const struct seen *s, uint64_t hash)
{
	const struct known *row = s->rows[hash % ROWS];
	size_t i;

	for (i = 0; i < WAYS; i++)
		if (row[i].used && row[i].hash == hash)
			return (struct known *)&row[i];
	return NULL;
}

/* What may be forgotten first: done with (its entry is soon deleted), then
 * what waits; and of those what was set first. */
static bool
less_useful(const struct known *a, const struct known *b)
{
	if (a->used != b->used)
		return !a->used;
	if ((a->state == SEEN_HELD) != (b->state == SEEN_HELD))
		return b->state == SEEN_HELD;
	return a->at < b->at;
}

static struct known *
make(struct seen *s, uint64_t hash)
{
	struct known *row = s->rows[hash % ROWS], *least = row;
	struct known *k = find(s, hash);
	size_t i;

	if (k != NULL)
		return k;
	for (i = 1; i < WAYS; i++)
		if (less_useful(&row[i], least))
			least = &row[i];
	memset(least, 0, sizeof(*least));
	least->hash = hash;
	least->used = 1;
	return least;
}

enum seen_state
seen_get(const struct seen *s, const struct qo_entry *e, struct qo_mono *at)
{
	const struct known *k = find(s, hash_of(e));

	if (k == NULL)
		return SEEN_NEVER;
	if (at != NULL)
		at->us = s->base.us + (int64_t)k->at * TICK;
	return (enum seen_state)k->state;
}

void
seen_set(struct seen *s, const struct qo_entry *e, enum seen_state state,
    struct qo_mono at)
{
	struct known *k = make(s, hash_of(e));

	k->state = (uint8_t)state;
	k->at = tick_of(s, at);
}

struct qo_mono
seen_later(struct seen *s, const struct qo_entry *e, enum seen_why why,
    struct qo_mono now)
{
	struct known *k = make(s, hash_of(e));
	int64_t ms;

	if (k->why != (uint8_t)why)
		k->level = 0;
	ms = pauses[why].min_ms << k->level;
	if (ms > pauses[why].max_ms)
		ms = pauses[why].max_ms;
	if (k->level < LEVEL)
		k->level++;
	k->why = (uint8_t)why;
	k->state = SEEN_LATER;
	now = qo_mono_add_ms(now, ms);
	k->at = tick_of(s, now);
	return now;
}

bool
seen_was(const struct seen *s, const struct qo_entry *e, enum seen_why why)
{
	const struct known *k = find(s, hash_of(e));

	return k != NULL && k->level > 0 && k->why == (uint8_t)why;
}

void
seen_forgive(struct seen *s, enum seen_why why)
{
	struct known *k = &s->rows[0][0], *end = k + (size_t)ROWS * WAYS;

	for (; k < end; k++) {
		if (k->used && k->state == SEEN_LATER &&
		    k->why == (uint8_t)why) {
			k->at = 0;
			k->level = 0;
		}
	}
}
