#include "wait.h"
#include "xalloc.h"

struct entry {
	int64_t seq;
	int64_t bucket;
	uint32_t off; /* of the key in bytes[] */
	uint32_t len;
};

struct wait {
	struct loop *loop;
	int64_t seq;         /* the last number given out */
	int64_t base;        /* everything above this is in the ring */
	uint64_t head, tail; /* entries [tail, head), modulo WAIT_RING */
	uint32_t pos;        /* where the next key goes in bytes[] */
	struct waiter *waiters;
	size_t n;
	bool draining;
	struct entry *ring;
	char *bytes;
};

struct wait *
wait_new(struct loop *l, int64_t seq)
{
	struct wait *w;

	w = xcalloc(1, sizeof(*w));
	w->loop = l;
	w->seq = w->base = seq;
	/* Pages that were never used cost nothing. */
	w->ring = xcalloc(WAIT_RING, sizeof(*w->ring));
	w->bytes = xcalloc(1, WAIT_BYTES);
	return w;
}

void
wait_free(struct wait *w)
{
	if (w == NULL)
		return;
	free(w->ring);
	free(w->bytes);
	free(w);
}

int64_t
wait_seq(const struct wait *w)
{
	return w->seq;
}

size_t
wait_count(const struct wait *w)
{
	return w->n;
}

static struct entry *
entry_at(const struct wait *w, uint64_t i)
{
	return &w->ring[i % WAIT_RING];
}

static void
forget_oldest(struct wait *w)
{
	w->base = entry_at(w, w->tail)->seq;
	w->tail++;
}

/* Makes the bytes at pos free: whatever old key lies there is forgotten. */
static void
make_room(struct wait *w, uint32_t len)
{
	struct entry *e;

	if (w->pos + len > WAIT_BYTES) {
		/* The keys between pos and the end are the oldest ones. */
		while (w->tail < w->head && entry_at(w, w->tail)->off >= w->pos)
			forget_oldest(w);
		w->pos = 0;
	}
	while (w->tail < w->head) {
		e = entry_at(w, w->tail);
		if (e->off >= w->pos + len || e->off + e->len <= w->pos)
			break;
		forget_oldest(w);
	}
	if (w->head - w->tail == WAIT_RING)
		forget_oldest(w);
}

static void
on_task(struct loop_task *t)
{
	struct waiter *wt = t->arg;

	wt->wait = NULL;
	wt->wake(wt);
}

/* The answer is given when this turn of the loop has seen all commits. */
static void
release(struct waiter *wt)
{
	struct wait *w = wt->wait;

	wait_cancel(wt);
	wt->wait = w;
	loop_defer(w->loop, &wt->task, on_task, wt);
}

static bool
concerns(const struct waiter *wt, int64_t bucket, const char *key, size_t len)
{
	return wt->bucket == bucket && wt->prefix_len <= len &&
	    memcmp(wt->prefix, key, wt->prefix_len) == 0;
}

void
wait_created(struct wait *w, int64_t seq, int64_t bucket, const char *key)
{
	struct waiter *wt, *next;
	struct entry *e;
	size_t len;

	len = strlen(key);
	make_room(w, (uint32_t)len);
	e = entry_at(w, w->head++);
	e->seq = seq;
	e->bucket = bucket;
	e->off = w->pos;
	e->len = (uint32_t)len;
	memcpy(w->bytes + w->pos, key, len);
	w->pos += (uint32_t)len;
	if (seq > w->seq)
		w->seq = seq;
	for (wt = w->waiters; wt != NULL; wt = next) {
		next = wt->next;
		if (concerns(wt, bucket, key, len))
			release(wt);
	}
}

static int
parse_num(const char **pp, int64_t *out)
{
	const char *p = *pp;
	int64_t n = 0;
	int digits = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (++digits > 18)
			return -1;
		n = n * 10 + (*p - '0');
	}
	*pp = p;
	*out = n;
	return digits > 0 ? 0 : -1;
}

int
wait_parse(const char *text, int64_t *ms, int64_t *since)
{
	int64_t sec;

	if (parse_num(&text, &sec) == -1)
		return -1;
	text += strspn(text, " \t");
	if (*text++ != ';')
		return -1;
	text += strspn(text, " \t");
	if (strncmp(text, "since=", 6) != 0)
		return -1;
	text += 6;
	if (parse_num(&text, since) == -1 || *text != '\0')
		return -1;
	*ms = (sec < WAIT_SECONDS ? sec : WAIT_SECONDS) * 1000;
	return 0;
}

static bool
created_since(const struct wait *w, const struct waiter *wt, int64_t since)
{
	const struct entry *e;
	uint64_t lo, hi, mid;

	lo = w->tail;
	hi = w->head;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (entry_at(w, mid)->seq > since)
			hi = mid;
		else
			lo = mid + 1;
	}
	for (; lo < w->head; lo++) {
		e = entry_at(w, lo);
		if (concerns(wt, e->bucket, w->bytes + e->off, e->len))
			return true;
	}
	return false;
}

static void
on_timer(struct loop_timer *t)
{
	release(t->arg);
}

enum wait_rc
wait_hold(struct wait *w, struct waiter *wt, int64_t since, int64_t ms)
{
	wt->wait = NULL;
	wt->prefix_len = strlen(wt->prefix);
	if (ms == 0 || w->draining || since < w->base || since > w->seq ||
	    created_since(w, wt, since))
		return WAIT_NOW;
	if (w->n >= WAIT_LIMIT)
		return WAIT_FULL;
	memset(&wt->timer, 0, sizeof(wt->timer));
	memset(&wt->task, 0, sizeof(wt->task));
	wt->wait = w;
	wt->prev = NULL;
	if ((wt->next = w->waiters) != NULL)
		wt->next->prev = wt;
	w->waiters = wt;
	w->n++;
	loop_timer_set_ms(w->loop, &wt->timer, ms, on_timer, wt);
	return WAIT_HELD;
}

void
wait_cancel(struct waiter *wt)
{
	struct wait *w = wt->wait;

	if (w == NULL)
		return;
	if (wt->task.queued) {
		/* Released already: only the call is still to come. */
		loop_defer_del(w->loop, &wt->task);
		wt->wait = NULL;
		return;
	}
	loop_timer_del(w->loop, &wt->timer);
	if (wt->prev != NULL)
		wt->prev->next = wt->next;
	else
		w->waiters = wt->next;
	if (wt->next != NULL)
		wt->next->prev = wt->prev;
	w->n--;
	wt->wait = NULL;
}

void
wait_drain(struct wait *w)
{
	w->draining = true;
	while (w->waiters != NULL)
		release(w->waiters);
}
