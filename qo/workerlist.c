#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workerlist.h"
#include "xalloc.h"

/* Reading the records */

static int
on_name(struct qo_fetch *f, size_t i, char key[QO_KEY_SIZE],
    const char **version)
{
	struct workerlist *w = f->arg;

	(void)version;
	return strlcpy(key, w->keys[i], QO_KEY_SIZE) < QO_KEY_SIZE ? 0 : -1;
}

/* The name in workers/{worker_id}.json. */
static char *
worker_of(const char *key)
{
	const char *slash = strrchr(key, '/');
	size_t len;

	if (slash == NULL || (len = strlen(slash + 1)) < 6 ||
	    strcmp(slash + 1 + len - 5, ".json") != 0)
		return NULL;
	return xmemdup0(slash + 1, len - 5);
}

static void
give(struct workerlist *w, struct qo_s3_req *r)
{
	struct qo_worker_record rec;
	struct qo_err err;
	char *id = worker_of(r->key);

	if (id == NULL) {
		w->corrupt(w, r->key, "this is no key of a worker");
	} else if (qo_worker_record_decode(&rec, id, r->res.body.data,
		       r->res.body.len, &err) == -1) {
		w->corrupt(w, r->key, err.msg);
	} else {
		w->record(w, &rec, r->res.body.data, r->res.body.len);
		qo_worker_record_fini(&rec);
	}
	free(id);
}

static bool
on_got(struct qo_fetch *f, size_t i, struct qo_s3_req *r)
{
	struct workerlist *w = f->arg;

	(void)i;
	if (r->res.outcome == QO_S3_OK) {
		give(w, r);
		return true;
	}
	if (r->res.outcome == QO_S3_NOT_FOUND)
		return true; /* removed since the list */
	if (r->res.outcome == QO_S3_TOO_LARGE) {
		w->corrupt(w, r->key, "too large for a worker's record");
		return true;
	}
	w->rc = qo_s3_outcome_rc(r->res.outcome);
	w->err = r->res.err;
	return false;
}

static void
on_fetched(struct qo_fetch *f)
{
	((struct workerlist *)f->arg)->ended = true;
}

/* Listing them */

static bool
on_entry(struct qo_walk *walk, const struct qo_s3_entry *e)
{
	struct workerlist *w = walk->arg;

	if (w->nkeys == w->cap) {
		w->cap = w->cap == 0 ? 64 : 2 * w->cap;
		w->keys = xreallocarray(w->keys, w->cap, sizeof(*w->keys));
	}
	w->keys[w->nkeys++] = xstrdup(e->key);
	return true;
}

static void
on_walked(struct qo_walk *walk)
{
	struct workerlist *w = walk->arg;

	w->rc = walk->rc;
	w->err = walk->err;
	if (walk->rc != QO_OK) {
		w->ended = true;
		return;
	}
	w->fetch.n = w->nkeys;
	w->fetch.response_max = QO_WORKER_LEN_MAX;
	w->fetch.name = on_name;
	w->fetch.got = on_got;
	w->fetch.done = on_fetched;
	w->fetch.arg = w;
	qo_fetch_start(&w->fetch);
}

enum qo_rc
workerlist_read(struct workerlist *w, const bool *stop)
{
	struct qo_queue *q = w->q;

	w->ended = false;
	w->rc = QO_OK;
	qo_walk_init(&w->walk, q->s3, q->index_bucket);
	qo_fetch_init(&w->fetch, q->loop, q->s3, q->index_bucket);
	snprintf(w->walk.prefix, sizeof(w->walk.prefix), "%sworkers/",
	    q->prefix);
	w->walk.entry = on_entry;
	w->walk.done = on_walked;
	w->walk.arg = w;
	qo_walk_start(&w->walk);
	while (!w->ended && (stop == NULL || !*stop))
		loop_once(q->loop, -1);
	qo_walk_fini(&w->walk);
	qo_fetch_fini(&w->fetch);
	while (w->nkeys > 0)
		free(w->keys[--w->nkeys]);
	free(w->keys);
	w->keys = NULL;
	w->cap = 0;
	return w->rc;
}
