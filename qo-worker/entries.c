#include <stdlib.h>
#include <string.h>

#include "entries.h"
#include "xalloc.h"

#define WAITING_MAX 4096
#define PARKED_MAX  1024
/* Looks for a task that should follow: after 1 ms, 2, 4, ..., 4096 ms. */
#define ABSENT_LOOKS 13
/* Of so many, one is taken of the priority below first. */
#define SHARE_BELOW 8

struct fifo {
	struct qo_entry *v; /* a ring */
	unsigned *tries;
	size_t head, n, cap;
	size_t fresh; /* at the end: of the page that is being read */
};

struct waiting {
	struct qo_mono at;
	unsigned tries;
	struct qo_entry entry;
};

struct parked {
	const void *who;
	struct qo_entry entry;
};

struct entries {
	struct seen *seen;
	size_t max;
	struct fifo fifos[ENTRIES_CLASSES];
	unsigned turn;
	struct waiting *heap; /* the first due on top */
	size_t nheap, heap_cap;
	struct parked *parked; /* in the order they came */
	size_t nparked, parked_cap;
};

struct entries *
entries_new(size_t max, struct qo_mono now)
{
	struct entries *e = xcalloc(1, sizeof(*e));

	e->max = max;
	e->seen = seen_new(now);
	return e;
}

void
entries_free(struct entries *e)
{
	size_t i;

	if (e == NULL)
		return;
	for (i = 0; i < ENTRIES_CLASSES; i++) {
		free(e->fifos[i].v);
		free(e->fifos[i].tries);
	}
	seen_free(e->seen);
	free(e->heap);
	free(e->parked);
	free(e);
}

/* The queues */

static size_t
place(const struct fifo *f, size_t i)
{
	return (f->head + i) % f->cap;
}

static void
fifo_grow(struct fifo *f)
{
	size_t cap = f->cap == 0 ? 64 : 2 * f->cap, i;
	struct qo_entry *v = xreallocarray(NULL, cap, sizeof(*v));
	unsigned *tries = xreallocarray(NULL, cap, sizeof(*tries));

	for (i = 0; i < f->n; i++) {
		v[i] = f->v[place(f, i)];
		tries[i] = f->tries[place(f, i)];
	}
	free(f->v);
	free(f->tries);
	f->v = v;
	f->tries = tries;
	f->cap = cap;
	f->head = 0;
}

static void
push_back(struct fifo *f, const struct qo_entry *entry)
{
	if (f->n == f->cap)
		fifo_grow(f);
	f->v[place(f, f->n)] = *entry;
	f->tries[place(f, f->n)] = 0;
	f->n++;
}

static void
push_front(struct fifo *f, const struct qo_entry *entry, unsigned tries)
{
	if (f->n == f->cap)
		fifo_grow(f);
	f->head = (f->head + f->cap - 1) % f->cap;
	f->v[f->head] = *entry;
	f->tries[f->head] = tries;
	f->n++;
}

static struct fifo *
fifo_of(struct entries *e, const struct qo_entry *entry)
{
	return &e->fifos[entry->index];
}

enum entries_offer
entries_add(struct entries *e, const struct qo_entry *entry, bool theirs,
    int64_t grace_ms, struct qo_mono now)
{
	struct fifo *f = fifo_of(e, entry);
	struct qo_mono at = { 0 };

	switch (seen_get(e->seen, entry, &at)) {
	case SEEN_HELD:
	case SEEN_DONE:
		return ENTRIES_KNOWN;
	case SEEN_LATER:
		if (now.us < at.us)
			return ENTRIES_KNOWN;
		break;
	case SEEN_THEIRS:
		if (theirs && grace_ms < 0)
			return ENTRIES_KNOWN;
		if (theirs && now.us < at.us + grace_ms * QO_US_PER_MS)
			return ENTRIES_WAITS;
		break;
	case SEEN_NEVER:
		if (!theirs)
			break;
		seen_set(e->seen, entry, SEEN_THEIRS, now);
		return grace_ms < 0 ? ENTRIES_KNOWN : ENTRIES_WAITS;
	}
	if (f->n >= e->max)
		return ENTRIES_FULL;
	seen_set(e->seen, entry, SEEN_HELD, now);
	push_back(f, entry);
	f->fresh++;
	return ENTRIES_TAKEN;
}

void
entries_page_end(struct entries *e)
{
	struct qo_entry tmp;
	struct fifo *f;
	size_t i, a, b;

	for (f = e->fifos; f < e->fifos + ENTRIES_CLASSES; f++) {
		for (i = f->fresh; i > 1; i--) {
			a = place(f, f->n - i);
			b = place(f,
			    f->n - i + arc4random_uniform((uint32_t)i));
			tmp = f->v[a];
			f->v[a] = f->v[b];
			f->v[b] = tmp;
		}
		f->fresh = 0;
	}
}

bool
entries_has(const struct entries *e, const struct qo_entry *entry)
{
	return seen_get(e->seen, entry, NULL) == SEEN_HELD;
}

size_t
entries_count(const struct entries *e, enum qo_index index)
{
	return e->fifos[index].n;
}

size_t
entries_total(const struct entries *e)
{
	size_t i, n = 0;

	for (i = 0; i < ENTRIES_CLASSES; i++)
		n += e->fifos[i].n;
	return n;
}

/* What waits for its time */

static void
heap_up(struct entries *e, size_t i)
{
	struct waiting w = e->heap[i];

	for (; i > 0 && e->heap[(i - 1) / 2].at.us > w.at.us; i = (i - 1) / 2)
		e->heap[i] = e->heap[(i - 1) / 2];
	e->heap[i] = w;
}

static void
heap_down(struct entries *e)
{
	struct waiting w = e->heap[0];
	size_t i = 0, kid;

	while ((kid = 2 * i + 1) < e->nheap) {
		if (kid + 1 < e->nheap &&
		    e->heap[kid + 1].at.us < e->heap[kid].at.us)
			kid++;
		if (w.at.us <= e->heap[kid].at.us)
			break;
		e->heap[i] = e->heap[kid];
		i = kid;
	}
	e->heap[i] = w;
}

void
entries_wait(struct entries *e, const struct qo_entry *entry, unsigned tries,
    struct qo_mono at)
{
	struct waiting *w;

	if (e->nheap == WAITING_MAX) {
		seen_set(e->seen, entry, SEEN_LATER, at);
		return;
	}
	if (e->nheap == e->heap_cap) {
		e->heap_cap = e->heap_cap == 0 ? 64 : 2 * e->heap_cap;
		e->heap = xreallocarray(e->heap, e->heap_cap, sizeof(*e->heap));
	}
	seen_set(e->seen, entry, SEEN_HELD, at);
	w = &e->heap[e->nheap++];
	w->at = at;
	w->tries = tries;
	w->entry = *entry;
	heap_up(e, e->nheap - 1);
}

bool
entries_next(const struct entries *e, struct qo_mono *at)
{
	if (e->nheap == 0)
		return false;
	*at = e->heap[0].at;
	return true;
}

static void
wake_due(struct entries *e, struct qo_mono now)
{
	struct waiting *w;

	while (e->nheap > 0 && e->heap[0].at.us <= now.us) {
		w = &e->heap[0];
		push_front(fifo_of(e, &w->entry), &w->entry, w->tries);
		*w = e->heap[--e->nheap];
		if (e->nheap > 0)
			heap_down(e);
	}
}

/* Taking */

/* Which priority is asked first, second, third. */
static size_t
class_at(unsigned turn, size_t i)
{
	if (turn % (SHARE_BELOW * SHARE_BELOW) == 0)
		return ENTRIES_CLASSES - 1 - i;
	if (turn % SHARE_BELOW == 0)
		return (i + 1) % ENTRIES_CLASSES;
	return i;
}

bool
entries_take(struct entries *e, struct qo_mono now, struct qo_entry *out,
    unsigned *tries)
{
	struct fifo *f;
	size_t i;

	wake_due(e, now);
	e->turn++;
	for (i = 0; i < ENTRIES_CLASSES; i++) {
		f = &e->fifos[class_at(e->turn, i)];
		if (f->n == 0)
			continue;
		*out = f->v[f->head];
		*tries = f->tries[f->head];
		f->head = (f->head + 1) % f->cap;
		f->n--;
		return true;
	}
	return false;
}

void
entries_done(struct entries *e, const struct qo_entry *entry,
    struct qo_mono now)
{
	seen_set(e->seen, entry, SEEN_DONE, now);
}

void
entries_later(struct entries *e, const struct qo_entry *entry,
    enum seen_why why, struct qo_mono now)
{
	seen_later(e->seen, entry, why, now);
}

void
entries_absent(struct entries *e, const struct qo_entry *entry, unsigned tries,
    struct qo_mono now)
{
	if (tries < ABSENT_LOOKS && !seen_was(e->seen, entry, SEEN_ABSENT))
		entries_wait(e, entry, tries + 1,
		    qo_mono_add_ms(now, INT64_C(1) << tries));
	else
		entries_later(e, entry, SEEN_ABSENT, now);
}

void
entries_resume(struct entries *e)
{
	seen_forgive(e->seen, SEEN_PAUSED);
}

/* What waits for a handler */

void
entries_park(struct entries *e, const struct qo_entry *entry, const void *who,
    struct qo_mono now)
{
	struct parked *p;

	if (e->nparked == PARKED_MAX) {
		seen_later(e->seen, entry, SEEN_BUSY, now);
		return;
	}
	if (e->nparked == e->parked_cap) {
		e->parked_cap = e->parked_cap == 0 ? 64 : 2 * e->parked_cap;
		e->parked = xreallocarray(e->parked, e->parked_cap,
		    sizeof(*e->parked));
	}
	p = &e->parked[e->nparked++];
	p->who = who;
	p->entry = *entry;
}

bool
entries_unpark(struct entries *e, const void *who)
{
	struct parked *p = e->parked, *end = p + e->nparked;

	for (; p < end; p++) {
		if (p->who != who)
			continue;
		push_front(fifo_of(e, &p->entry), &p->entry, 0);
		memmove(p, p + 1, (size_t)(end - p - 1) * sizeof(*p));
		e->nparked--;
		return true;
	}
	return false;
}
