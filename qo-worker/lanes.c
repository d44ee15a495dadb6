#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes.h"
#include "xalloc.h"

#define PAGE_KEYS   1000
#define LANE_KEYS   500
#define FUTURE_KEYS 50
/* A lane that was read to its end is read again in the same round after so
 * long, while another one has more. */
#define AGAIN_MS 200
/* Every so many visits the slow place moves on. */
#define SLOW_EVERY 16
/* A round over lanes that saw fewer keys than this would fit in one page, but
 * that is tried only so often; at once after a round that saw next to none, for
 * then the load is over and one list finds what comes, not one of each lane. */
#define SMALL_KEYS   500
#define TRY_SMALL_MS 10000
#define FEW_KEYS     50

struct lane {
	char *after[2]; /* where the next page begins; NULL: at the start */
	struct qo_mono read_at;
	bool done;   /* in this round */
	bool future; /* its last page ended there */
	unsigned visits;
};

struct priority {
	bool big;
	struct qo_mono big_since;
	struct lane *lanes;
	size_t next;        /* lane to be visited */
	size_t keys, taken; /* of this round */
};

struct lanes {
	const struct qo_layout *layout;
	const struct shards *shards;
	size_t n;
	struct priority of[ENTRIES_CLASSES];
};

struct lanes *
lanes_new(const struct qo_layout *layout, const struct shards *shards)
{
	struct lanes *l = xcalloc(1, sizeof(*l));
	size_t i;

	l->layout = layout;
	l->shards = shards;
	l->n = shards->nown + shards->ntheirs;
	for (i = 0; i < ENTRIES_CLASSES; i++)
		l->of[i].lanes = xcalloc(l->n, sizeof(struct lane));
	return l;
}

void
lanes_free(struct lanes *l)
{
	size_t i, k;

	if (l == NULL)
		return;
	for (i = 0; i < ENTRIES_CLASSES; i++) {
		for (k = 0; k < l->n; k++) {
			free(l->of[i].lanes[k].after[0]);
			free(l->of[i].lanes[k].after[1]);
		}
		free(l->of[i].lanes);
	}
	free(l);
}

bool
lanes_small(const struct lanes *l)
{
	size_t i;

	for (i = 0; i < ENTRIES_CLASSES; i++)
		if (l->of[i].big)
			return false;
	return true;
}

/* Asking */

static void
move(struct lane *lane, bool slow, const char *after)
{
	free(lane->after[slow]);
	lane->after[slow] = after != NULL ? xstrdup(after) : NULL;
}

static size_t
lanes_count(const struct lanes *l, bool help)
{
	return help ? l->n : l->shards->nown;
}

static bool
wants_visit(const struct lane *lane, struct qo_mono now)
{
	return !lane->done ||
	    qo_mono_diff_us(lane->read_at, now) >= AGAIN_MS * QO_US_PER_MS;
}

static size_t
pick_lane(struct lanes *l, struct priority *p, bool help, struct qo_mono now)
{
	size_t n = lanes_count(l, help), i, k;

	for (i = 0; i < n; i++) {
		k = (p->next + i) % n;
		if (wants_visit(&p->lanes[k], now)) {
			p->next = (k + 1) % n;
			return k;
		}
	}
	return p->next % n;
}

static void
ask_lane(struct lanes *l, struct lanes_ask *ask, bool help, struct qo_mono now)
{
	struct priority *p = &l->of[ask->index];
	size_t k = pick_lane(l, p, help, now);
	struct lane *lane = &p->lanes[k];
	char shard[QO_SHARD_SIZE];

	shards_name(l->shards, l->shards->order[k], shard);
	ask->lane = (int)k;
	ask->slow = ++lane->visits % SLOW_EVERY == 0 &&
	    lane->after[false] != NULL;
	if (lane->after[ask->slow] != NULL)
		snprintf(ask->start_after, sizeof(ask->start_after), "%s",
		    lane->after[ask->slow]);
	ask->max_keys = lane->future ? FUTURE_KEYS : LANE_KEYS;
	qo_key_index(l->layout, (enum qo_index)ask->index, shard, ask->prefix);
}

void
lanes_next(struct lanes *l, int index, bool help, struct qo_mono now,
    struct lanes_ask *ask)
{
	memset(ask, 0, sizeof(*ask));
	ask->index = index;
	ask->lane = -1;
	ask->max_keys = PAGE_KEYS;
	if (index == -1)
		snprintf(ask->prefix, sizeof(ask->prefix), "%sready",
		    l->layout->prefix);
	else if (!l->of[index].big)
		qo_key_index(l->layout, (enum qo_index)index, NULL,
		    ask->prefix);
	else
		ask_lane(l, ask, help, now);
}

/* Reading */

/* False: it belongs to the future.  *full: there was no room for it. */
static bool
offer_entry(struct lanes *l, const struct qo_entry *e,
    const struct lanes_offer *o, struct lanes_found *found, bool *full)
{
	enum shards_whose whose = shards_of(l->shards, e->id);

	if (e->minute > o->minute) {
		if (whose != SHARDS_NOBODYS && e->minute < found->future)
			found->future = e->minute;
		return false;
	}
	if (whose == SHARDS_NOBODYS)
		return true;
	switch (entries_add(o->entries, e, whose == SHARDS_THEIRS,
	    o->help ? o->grace_ms : -1, o->now)) {
	case ENTRIES_TAKEN:
		found->taken++;
		break;
	case ENTRIES_WAITS:
		found->waits++;
		break;
	case ENTRIES_FULL:
		*full = true;
		break;
	case ENTRIES_KNOWN:
		break;
	}
	return true;
}

/* The slow place has nothing to do beyond the first one. */
static void
move_slow(struct lane *lane, const char *last, bool more)
{
	const char *first = lane->after[false];

	if (!more || last == NULL || first == NULL || strcmp(last, first) >= 0)
		last = NULL;
	move(lane, true, last);
}

static void
read_lane(struct lanes *l, const struct lanes_ask *ask,
    const struct qo_s3_list *list, const struct lanes_offer *o,
    struct lanes_found *found)
{
	struct priority *p = &l->of[ask->index];
	struct lane *lane = &p->lanes[ask->lane];
	const char *last = NULL;
	struct qo_entry e;
	bool full = false, past = true, end;
	size_t i;

	for (i = 0; i < list->n && past && !full; i++) {
		if (qo_entry_parse(l->layout, list->entries[i].key,
			strlen(list->entries[i].key), &e) == 0)
			past = offer_entry(l, &e, o, found, &full);
		if (past && !full)
			last = list->entries[i].key;
	}
	p->keys += i;
	p->taken += found->taken;
	lane->read_at = o->now;
	if (ask->slow) {
		move_slow(lane, last, past && list->truncated);
		return;
	}
	lane->future = !past;
	end = !full && (!past || !list->truncated);
	/* One that is read again in the same round stays done. */
	lane->done |= end;
	if (end || last != NULL)
		move(lane, false, end ? NULL : last);
}

/* Have all lanes been read to their ends?  Then the next round begins. */
static bool
round_whole(struct lanes *l, struct priority *p, bool help, struct qo_mono now)
{
	size_t i, n = lanes_count(l, help);

	for (i = 0; i < n; i++)
		if (!p->lanes[i].done)
			return false;
	for (i = 0; i < n; i++)
		p->lanes[i].done = false;
	if (p->keys < FEW_KEYS ||
	    (p->keys < SMALL_KEYS &&
		qo_mono_diff_us(p->big_since, now) >=
		    TRY_SMALL_MS * QO_US_PER_MS))
		p->big = false;
	p->keys = p->taken = 0;
	return true;
}

static void
become_big(struct lanes *l, size_t index, struct qo_mono now)
{
	struct priority *p = &l->of[index];
	size_t k;

	if (p->big)
		return;
	p->big = true;
	p->big_since = now;
	p->keys = p->taken = 0;
	/* Workers that start together do not walk together. */
	p->next = arc4random_uniform((uint32_t)l->shards->nown);
	for (k = 0; k < l->n; k++) {
		move(&p->lanes[k], false, NULL);
		move(&p->lanes[k], true, NULL);
		p->lanes[k].done = p->lanes[k].future = false;
	}
}

/* A page over more than a lane: the future of one shard is followed by the
 * past of the next. */
static void
read_wide(struct lanes *l, const struct lanes_ask *ask,
    const struct qo_s3_list *list, const struct lanes_offer *o,
    struct lanes_found *found)
{
	struct qo_entry e = { .index = QO_INDEX_READY_HIGH };
	bool full = false;
	size_t i;

	if (ask->index >= 0)
		e.index = (enum qo_index)ask->index;
	for (i = 0; i < list->n && !full; i++)
		if (qo_entry_parse(l->layout, list->entries[i].key,
			strlen(list->entries[i].key), &e) == 0)
			offer_entry(l, &e, o, found, &full);
	found->whole = !full && !list->truncated;
	found->round = found->taken;
	/* The priorities before that of the last key were seen whole. */
	if (!found->whole && e.index <= QO_INDEX_READY_LOW)
		become_big(l, e.index, o->now);
}

void
lanes_page(struct lanes *l, const struct lanes_ask *ask,
    const struct qo_s3_list *list, const struct lanes_offer *offer,
    struct lanes_found *found)
{
	memset(found, 0, sizeof(*found));
	found->future = INT64_MAX;
	if (ask->lane < 0) {
		read_wide(l, ask, list, offer, found);
	} else {
		read_lane(l, ask, list, offer, found);
		found->round = l->of[ask->index].taken;
		found->whole = round_whole(l, &l->of[ask->index], offer->help,
		    offer->now);
	}
	entries_page_end(offer->entries);
}
