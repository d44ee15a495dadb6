#include <stdlib.h>
#include <string.h>

#include "ring.h"
#include "walk.h"
#include "xalloc.h"

#define AT_ONCE 32

struct bell {
	struct ring *ring;
	struct qo_s3_req req;
	char key[QO_KEY_SIZE];
};

struct ring {
	struct qo_queue *q;
	struct qo_walk walk;
	bool walked;
	char **workers;
	size_t n, next;
	struct bell bells[AT_ONCE];
	size_t under_way, rung;
};

static void ring_next(struct bell *b);

/* workers/{id}.json */
static bool
on_record(struct qo_walk *w, const struct qo_s3_entry *e)
{
	struct ring *r = w->arg;
	const char *name = e->key + strlen(w->prefix);
	size_t len = strlen(name);

	if (len <= 5 || strcmp(name + len - 5, ".json") != 0 ||
	    !qo_name_valid(name, len - 5))
		return true;
	r->workers = xreallocarray(r->workers, r->n + 1, sizeof(*r->workers));
	r->workers[r->n++] = xmemdup0(name, len - 5);
	return true;
}

static void
on_walked(struct qo_walk *w)
{
	((struct ring *)w->arg)->walked = true;
}

static void
on_put(struct qo_s3_req *req)
{
	struct bell *b = req->arg;

	b->ring->under_way--;
	b->ring->rung += req->res.outcome == QO_S3_OK;
	ring_next(b);
}

static void
ring_next(struct bell *b)
{
	struct ring *r = b->ring;
	char id[QO_UUID_SIZE];

	if (r->next == r->n)
		return;
	qo_uuid_v4(id);
	qo_key_bell(&r->q->layout, r->workers[r->next++], id, b->key);
	qo_s3_req_fini(&b->req);
	qo_s3_req_init(&b->req, QO_S3_PUT, r->q->index_bucket, b->key);
	b->req.done = on_put;
	b->req.arg = b;
	r->under_way++;
	qo_s3_send(r->q->s3, &b->req);
}

static void
list_workers(struct ring *r)
{
	qo_walk_init(&r->walk, r->q->s3, r->q->index_bucket);
	strlcpy(r->walk.prefix, r->q->layout.prefix, sizeof(r->walk.prefix));
	strlcat(r->walk.prefix, "workers/", sizeof(r->walk.prefix));
	r->walk.entry = on_record;
	r->walk.done = on_walked;
	r->walk.arg = r;
	qo_walk_start(&r->walk);
	while (!r->walked)
		loop_once(r->q->loop, -1);
}

enum qo_rc
qo_ring_all(struct qo_queue *q, size_t *rung, struct qo_err *err)
{
	struct ring *r = xcalloc(1, sizeof(*r));
	enum qo_rc rc;
	size_t i;

	r->q = q;
	list_workers(r);
	if ((rc = r->walk.rc) != QO_OK)
		*err = r->walk.err;
	for (i = 0; i < AT_ONCE; i++) {
		r->bells[i].ring = r;
		qo_s3_req_init(&r->bells[i].req, QO_S3_PUT, NULL, NULL);
		ring_next(&r->bells[i]);
	}
	while (r->under_way > 0)
		loop_once(q->loop, -1);
	*rung = r->rung;
	for (i = 0; i < AT_ONCE; i++)
		qo_s3_req_fini(&r->bells[i].req);
	for (i = 0; i < r->n; i++)
		free(r->workers[i]);
	free(r->workers);
	qo_walk_fini(&r->walk);
	free(r);
	return rc;
}
