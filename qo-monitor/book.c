#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "book.h"
#include "log.h"
#include "schedule_change.h"
#include "xalloc.h"

#define WINDOW 16
/* Well below the shortest retention, an hour. */
#define FRESH_MS (10 * 60 * 1000)

static void
entry_free(struct book_entry *e)
{
	if (e->usable)
		qo_schedule_fini(&e->s);
	free(e->key);
	free(e);
}

static struct book_entry *
find(const struct book *b, const char *key)
{
	size_t lo = 0, hi = b->n, mid;
	int c;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		c = strcmp(key, b->entries[mid]->key);
		if (c == 0)
			return b->entries[mid];
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

/* Lists and answers differ in how they quote, with some stores. */
static bool
same_etag(const char *a, const char *b)
{
	size_t la, lb;

	a += *a == '"';
	b += *b == '"';
	la = strcspn(a, "\"");
	lb = strcspn(b, "\"");
	return la == lb && memcmp(a, b, la) == 0;
}

/* The end of a refresh */

static void
finish(struct book *b, enum qo_rc rc, const struct qo_err *err)
{
	b->rc = rc;
	if (rc == QO_OK)
		b->as_of = b->began;
	else
		b->err = *err;
	b->done(b);
}

static int
by_key(const void *a, const void *b)
{
	const struct book_entry *const *x = a, *const *y = b;

	return strcmp((*x)->key, (*y)->key);
}

/* What is in the list is the book now; what is not is gone. */
static void
adopt(struct book *b)
{
	struct book_entry *e;
	size_t i, listed = b->nfound;

	for (i = 0; i < b->n; i++) {
		e = b->entries[i];
		if (e->seen) {
			e->seen = false;
			continue;
		}
		/* One that is being fired ends by itself, and is gone then. */
		if (e->fire == NULL) {
			entry_free(e);
			continue;
		}
		b->found[b->nfound++] = e;
	}
	if (b->nfound > listed)
		qsort(b->found, b->nfound, sizeof(*b->found), by_key);
	free(b->entries);
	b->entries = b->found;
	b->n = b->nfound;
	b->found = NULL;
	b->nfound = 0;
}

/* Reading what has changed */

static int
on_name(struct qo_fetch *f, size_t i, char key[QO_KEY_SIZE],
    const char **version)
{
	struct book *b = f->arg;

	(void)version;
	return strlcpy(key, b->changed[i]->key, QO_KEY_SIZE) < QO_KEY_SIZE ? 0
									   : -1;
}

static void
take(struct book_entry *e, struct qo_s3_req *r)
{
	struct qo_schedule s;
	struct qo_err err = { 0 };
	enum qo_rc rc;

	if (e->fire != NULL)
		return; /* it knows better */
	rc = qo_schedule_answer(r, e->id, &s, &err);
	if (rc == QO_NOENT)
		return; /* deleted since the list */
	if (e->usable)
		qo_schedule_fini(&e->s);
	e->usable = rc == QO_OK;
	e->settled = false;
	/* One that is too large has none. */
	strlcpy(e->etag, r->res.etag[0] != '\0' ? r->res.etag : e->listed,
	    sizeof(e->etag));
	if (!same_etag(e->failed, e->etag)) {
		e->failures = 0;
		e->not_before.us = 0;
	}
	if (e->usable)
		e->s = s;
	else
		log_event(LOG_LVL_WARN, "a schedule is left alone", "schedule",
		    e->id, "error", err.msg, NULL);
}

static bool
on_got(struct qo_fetch *f, size_t i, struct qo_s3_req *r)
{
	struct book *b = f->arg;
	enum qo_rc rc = qo_s3_outcome_rc(r->res.outcome);

	if (r->res.outcome == QO_S3_OK || rc == QO_NOENT ||
	    r->res.outcome == QO_S3_TOO_LARGE) {
		take(b->changed[i], r);
		return true;
	}
	b->rc = rc;
	b->err = r->res.err;
	return false;
}

static void
on_fetched(struct qo_fetch *f)
{
	struct book *b = f->arg;

	free(b->changed);
	b->changed = NULL;
	finish(b, b->rc, &b->err);
}

/* Listing */

static struct book_entry *
entry_new(const char *key, const char *id)
{
	struct book_entry *e = xcalloc(1, sizeof(*e));

	e->key = xstrdup(key);
	strlcpy(e->id, id, sizeof(e->id));
	return e;
}

static bool
on_entry(struct qo_walk *w, const struct qo_s3_entry *s3)
{
	struct book *b = w->arg;
	char id[QO_NAME_MAX + 1];
	struct book_entry *e;

	if (qo_schedule_id_of_key(&b->m->q->layout, s3->key, id) == -1)
		return true; /* a name that is none of ours */
	if (b->nfound == b->cap) {
		b->cap = b->cap == 0 ? 64 : 2 * b->cap;
		b->found = xreallocarray(b->found, b->cap, sizeof(*b->found));
		b->changed = xreallocarray(b->changed, b->cap,
		    sizeof(*b->changed));
	}
	if ((e = find(b, s3->key)) == NULL)
		e = entry_new(s3->key, id);
	else
		e->seen = true;
	strlcpy(e->listed, s3->etag, sizeof(e->listed));
	b->found[b->nfound++] = e;
	if (e->fire == NULL && !same_etag(e->etag, s3->etag))
		b->changed[b->nchanged++] = e;
	return true;
}

/* New ones are in no book yet. */
static void
forget_list(struct book *b)
{
	size_t i;

	for (i = 0; i < b->nfound; i++) {
		if (!b->found[i]->seen)
			entry_free(b->found[i]);
		else
			b->found[i]->seen = false;
	}
	free(b->found);
	free(b->changed);
	b->found = b->changed = NULL;
	b->nfound = b->nchanged = 0;
}

static void
on_walked(struct qo_walk *w)
{
	struct book *b = w->arg;

	if (w->rc != QO_OK) {
		forget_list(b);
		finish(b, w->rc, &w->err);
		return;
	}
	/* Room for those that are gone and still being fired. */
	b->found = xreallocarray(b->found, b->nfound + b->n + 1,
	    sizeof(*b->found));
	adopt(b);
	b->rc = QO_OK;
	b->fetch.n = b->nchanged;
	qo_fetch_start(&b->fetch);
}

void
book_refresh(struct book *b)
{
	b->began = qo_mono_now();
	b->nfound = b->nchanged = b->cap = 0;
	qo_walk_start(&b->walk);
}

/* Interface */

void
book_init(struct book *b, struct monitor *m)
{
	memset(b, 0, sizeof(*b));
	b->m = m;
	qo_walk_init(&b->walk, m->q->s3, m->q->bucket);
	snprintf(b->walk.prefix, sizeof(b->walk.prefix), "%sschedules/",
	    m->q->prefix);
	b->walk.entry = on_entry;
	b->walk.done = on_walked;
	b->walk.arg = b;
	qo_fetch_init(&b->fetch, m->loop, m->q->s3, m->q->bucket);
	b->fetch.window = WINDOW;
	b->fetch.response_max = QO_SCHEDULE_LEN_MAX;
	b->fetch.name = on_name;
	b->fetch.got = on_got;
	b->fetch.done = on_fetched;
	b->fetch.arg = b;
}

void
book_fini(struct book *b)
{
	size_t i;

	qo_walk_fini(&b->walk);
	qo_fetch_fini(&b->fetch);
	forget_list(b);
	for (i = 0; i < b->n; i++)
		entry_free(b->entries[i]);
	free(b->entries);
}

static bool
is_firing(const struct qo_schedule *s, const char *prefix, const char *task_id)
{
	char id[QO_UUID_SIZE];
	size_t i;

	for (i = 0; i < s->nfiring; i++) {
		qo_schedule_task_id(prefix, s->id, s->firing[i], id);
		if (strcmp(id, task_id) == 0)
			return true;
	}
	return false;
}

bool
book_holds(const struct book *b, const char *task_id)
{
	const struct book_entry *e;
	size_t i;

	if (b->as_of.us == 0 ||
	    qo_mono_diff_us(b->as_of, qo_mono_now()) >= FRESH_MS * QO_US_PER_MS)
		return true;
	for (i = 0; i < b->n; i++) {
		e = b->entries[i];
		/* Of one that is being fired only its own knows. */
		if (e->fire != NULL ||
		    (e->usable && is_firing(&e->s, b->m->q->prefix, task_id)))
			return true;
	}
	return false;
}
