#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch.h"
#include "schedule_change.h"
#include "schedule_list.h"
#include "walk.h"
#include "xalloc.h"

struct reading {
	struct qo_schedule_list *l;
	struct qo_walk walk;
	struct qo_fetch fetch;
	char **keys;
	size_t nkeys, cap;
	bool ended;
	enum qo_rc rc;
};

static int
on_name(struct qo_fetch *f, size_t i, char key[QO_KEY_SIZE],
    const char **version)
{
	struct reading *r = f->arg;

	(void)version;
	return strlcpy(key, r->keys[i], QO_KEY_SIZE) < QO_KEY_SIZE ? 0 : -1;
}

static void
give(struct qo_schedule_list *l, struct qo_s3_req *req)
{
	char id[QO_NAME_MAX + 1];
	struct qo_schedule s;
	struct qo_err err = { 0 };

	if (qo_schedule_id_of_key(&l->q->layout, req->key, id) == -1)
		l->corrupt(l, req->key, "not the key of a schedule");
	else if (qo_schedule_decode(&s, id, req->res.body.data,
		     req->res.body.len, &err) == -1)
		l->corrupt(l, req->key, err.msg);
	else {
		l->record(l, &s, req->res.body.data, req->res.body.len);
		qo_schedule_fini(&s);
	}
}

static bool
on_got(struct qo_fetch *f, size_t i, struct qo_s3_req *req)
{
	struct reading *r = f->arg;

	(void)i;
	if (req->res.outcome == QO_S3_OK) {
		give(r->l, req);
		return true;
	}
	if (req->res.outcome == QO_S3_NOT_FOUND)
		return true; /* deleted since the list */
	if (req->res.outcome == QO_S3_TOO_LARGE) {
		r->l->corrupt(r->l, req->key, "too large for a schedule");
		return true;
	}
	r->rc = qo_s3_outcome_rc(req->res.outcome);
	r->l->err = req->res.err;
	return false;
}

static void
on_fetched(struct qo_fetch *f)
{
	((struct reading *)f->arg)->ended = true;
}

static bool
on_entry(struct qo_walk *w, const struct qo_s3_entry *e)
{
	struct reading *r = w->arg;

	if (r->nkeys == r->cap) {
		r->cap = r->cap == 0 ? 64 : 2 * r->cap;
		r->keys = xreallocarray(r->keys, r->cap, sizeof(*r->keys));
	}
	r->keys[r->nkeys++] = xstrdup(e->key);
	return true;
}

static void
on_walked(struct qo_walk *w)
{
	struct reading *r = w->arg;

	r->rc = w->rc;
	r->l->err = w->err;
	if (w->rc != QO_OK) {
		r->ended = true;
		return;
	}
	r->fetch.n = r->nkeys;
	qo_fetch_start(&r->fetch);
}

enum qo_rc
qo_schedule_list_read(struct qo_schedule_list *l)
{
	struct reading *r = xcalloc(1, sizeof(*r));
	struct qo_queue *q = l->q;
	enum qo_rc rc;

	r->l = l;
	qo_walk_init(&r->walk, q->s3, q->bucket);
	snprintf(r->walk.prefix, sizeof(r->walk.prefix), "%sschedules/",
	    q->prefix);
	r->walk.entry = on_entry;
	r->walk.done = on_walked;
	r->walk.arg = r;
	qo_fetch_init(&r->fetch, q->loop, q->s3, q->bucket);
	r->fetch.response_max = QO_SCHEDULE_LEN_MAX;
	r->fetch.name = on_name;
	r->fetch.got = on_got;
	r->fetch.done = on_fetched;
	r->fetch.arg = r;
	qo_walk_start(&r->walk);
	while (!r->ended)
		loop_once(q->loop, -1);
	qo_walk_fini(&r->walk);
	qo_fetch_fini(&r->fetch);
	while (r->nkeys > 0)
		free(r->keys[--r->nkeys]);
	free(r->keys);
	rc = r->rc;
	free(r);
	return rc;
}
