#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch.h"
#include "records.h"
#include "walk.h"
#include "xalloc.h"

struct reading {
	struct qo_records *r;
	struct qo_walk walk;
	struct qo_fetch fetch;
	char **keys;
	size_t nkeys, cap;
	bool ended;
	enum qo_rc rc;
};

/* Fetching them */

static int
on_name(struct qo_fetch *f, size_t i, char key[QO_KEY_SIZE],
    const char **version)
{
	struct reading *g = f->arg;

	(void)version;
	return strlcpy(key, g->keys[i], QO_KEY_SIZE) < QO_KEY_SIZE ? 0 : -1;
}

static bool
on_got(struct qo_fetch *f, size_t i, struct qo_s3_req *req)
{
	struct reading *g = f->arg;
	char why[64];

	(void)i;
	switch (req->res.outcome) {
	case QO_S3_OK:
		g->r->record(g->r, req->key, req->res.body.data,
		    req->res.body.len);
		return true;
	case QO_S3_NOT_FOUND: /* deleted since the list */
		return true;
	case QO_S3_TOO_LARGE:
		(void)snprintf(why, sizeof(why), "too large for %s",
		    g->r->what);
		g->r->corrupt(g->r, req->key, why);
		return true;
	default:
		g->rc = qo_s3_outcome_rc(req->res.outcome);
		g->r->err = req->res.err;
		return false;
	}
}

static void
on_fetched(struct qo_fetch *f)
{
	((struct reading *)f->arg)->ended = true;
}

/* Listing them */

static bool
on_entry(struct qo_walk *w, const struct qo_s3_entry *e)
{
	struct reading *g = w->arg;

	if (g->nkeys == g->cap) {
		g->cap = g->cap == 0 ? 64 : 2 * g->cap;
		g->keys = xreallocarray(g->keys, g->cap, sizeof(*g->keys));
	}
	g->keys[g->nkeys++] = xstrdup(e->key);
	return true;
}

static void
on_walked(struct qo_walk *w)
{
	struct reading *g = w->arg;

	g->rc = w->rc;
	g->r->err = w->err;
	if (w->rc != QO_OK) {
		g->ended = true;
		return;
	}
	g->fetch.n = g->nkeys;
	qo_fetch_start(&g->fetch);
}

static void
begin(struct reading *g)
{
	struct qo_queue *q = g->r->q;

	qo_walk_init(&g->walk, q->s3, g->r->bucket);
	(void)snprintf(g->walk.prefix, sizeof(g->walk.prefix), "%s%s",
	    q->prefix, g->r->dir);
	g->walk.entry = on_entry;
	g->walk.done = on_walked;
	g->walk.arg = g;
	qo_fetch_init(&g->fetch, q->loop, q->s3, g->r->bucket);
	g->fetch.response_max = g->r->len_max;
	g->fetch.name = on_name;
	g->fetch.got = on_got;
	g->fetch.done = on_fetched;
	g->fetch.arg = g;
	qo_walk_start(&g->walk);
}

static void
end(struct reading *g)
{
	qo_walk_fini(&g->walk);
	qo_fetch_fini(&g->fetch);
	while (g->nkeys > 0)
		free(g->keys[--g->nkeys]);
	free(g->keys);
}

enum qo_rc
qo_records_read(struct qo_records *r)
{
	struct reading *g = xcalloc(1, sizeof(*g));
	enum qo_rc rc;

	g->r = r;
	begin(g);
	while (!g->ended && (r->stop == NULL || !*r->stop))
		loop_once(r->q->loop, -1);
	end(g);
	rc = g->rc;
	free(g);
	return rc;
}
