#include <stdio.h>
#include <string.h>

#include "change.h"
#include "log.h"
#include "need.h"
#include "scan.h"

bool
qo_need_of(const struct qo_task *t, struct qo_entry *e)
{
	struct qo_wall when = QO_WALL_NONE;

	memset(e, 0, sizeof(*e));
	switch (t->status) {
	case QO_STATUS_PENDING:
		e->index = qo_change_ready_index(t->priority);
		when = t->available_at;
		break;
	case QO_STATUS_RUNNING:
		e->index = QO_INDEX_LEASES;
		when = t->lease_expires_at;
		break;
	case QO_STATUS_FAILED:
		e->index = QO_INDEX_FAILED;
		when = t->completed_at;
		break;
	case QO_STATUS_NONE:
	case QO_STATUS_COMPLETED:
	case QO_STATUS_CANCELLED:
	case QO_STATUS_EXPIRED:
	case QO_STATUS_ARCHIVED:
		return false;
	}
	if (!qo_wall_is_set(when))
		return false;
	e->minute = qo_minute(when);
	e->generation = t->generation;
	snprintf(e->id, sizeof(e->id), "%s", t->id);
	return true;
}

static void
finish(struct qo_need *n, enum qo_rc rc)
{
	n->rc = rc;
	n->done(n);
}

static void
finish_by_request(struct qo_need *n)
{
	n->err = n->req.res.err;
	finish(n, qo_s3_outcome_rc(n->req.res.outcome));
}

static void
request(struct qo_need *n, enum qo_s3_op op, const char *bucket,
    const char *key, void (*done)(struct qo_s3_req *r))
{
	qo_s3_req_fini(&n->req);
	qo_s3_req_init(&n->req, op, bucket, key);
	n->req.done = done;
	n->req.arg = n;
}

static void
on_written(struct qo_s3_req *r)
{
	struct qo_need *n = r->arg;

	if (r->res.outcome != QO_S3_OK) {
		finish_by_request(n);
		return;
	}
	n->repaired = true;
	finish(n, QO_OK);
}

static void
miss(struct qo_need *n)
{
	n->missing = true;
	if (!n->repair) {
		finish(n, QO_OK);
		return;
	}
	qo_nonce(n->entry.nonce);
	if (qo_key_entry(&n->q->layout, &n->entry, n->key) == -1) {
		qo_err_set(&n->err, "task %s: no key for its entry",
		    n->entry.id);
		finish(n, QO_ERR);
		return;
	}
	request(n, QO_S3_PUT, n->q->index_bucket, n->key, on_written);
	qo_s3_send(n->q->s3, &n->req);
}

static void
on_read(struct qo_s3_req *r)
{
	struct qo_need *n = r->arg;
	struct qo_task t;
	bool same;

	if (r->res.outcome == QO_S3_NOT_FOUND) {
		finish(n, QO_OK);
		return;
	}
	if (r->res.outcome != QO_S3_OK) {
		finish_by_request(n);
		return;
	}
	if (qo_scan_decode(&t, n->entry.id, r, &n->err) == -1) {
		finish(n, QO_ERR);
		return;
	}
	same = t.rev == n->rev;
	qo_task_fini(&t);
	if (same)
		miss(n);
	else
		finish(n, QO_OK);
}

static bool
is_listed(const struct qo_need *n, const struct qo_s3_list *list)
{
	struct qo_entry e;
	size_t i;

	for (i = 0; i < list->n; i++)
		if (qo_entry_parse(&n->q->layout, list->entries[i].key,
			strlen(list->entries[i].key), &e) == 0 &&
		    strcmp(e.id, n->entry.id) == 0 &&
		    e.generation == n->entry.generation)
			return true;
	return false;
}

static void
on_listed(struct qo_s3_req *r)
{
	struct qo_need *n = r->arg;

	if (r->res.outcome != QO_S3_OK) {
		finish_by_request(n);
		return;
	}
	if (is_listed(n, r->res.list)) {
		finish(n, QO_OK);
		return;
	}
	(void)qo_key_task(&n->q->layout, n->entry.id, n->key);
	request(n, QO_S3_GET, n->q->bucket, n->key, on_read);
	n->req.response_max = QO_TASK_LEN_MAX;
	qo_s3_send(n->q->s3, &n->req);
}

bool
qo_need_init(struct qo_need *n, struct qo_queue *q, const struct qo_task *t)
{
	memset(n, 0, sizeof(*n));
	n->q = q;
	n->repair = true;
	n->rev = t->rev;
	qo_s3_req_init(&n->req, QO_S3_LIST, NULL, NULL);
	return qo_need_of(t, &n->entry);
}

void
qo_need_fini(struct qo_need *n)
{
	qo_s3_req_fini(&n->req);
}

void
qo_need_start(struct qo_need *n)
{
	struct qo_entry bare = n->entry;

	/* The bare form is where the names of all entries of that task in
	 * that minute begin. */
	bare.generation = QO_GENERATION_FIRST;
	bare.nonce[0] = '\0';
	if (qo_key_entry(&n->q->layout, &bare, n->prefix) == -1)
		qo_bug("need: an entry without a key");
	request(n, QO_S3_LIST, n->q->index_bucket, NULL, on_listed);
	n->req.prefix = n->prefix;
	qo_s3_send(n->q->s3, &n->req);
}

static void
on_waited(struct qo_need *n)
{
	*(bool *)n->arg = true;
}

enum qo_rc
qo_need_wait(struct qo_need *n)
{
	bool done = false;

	n->done = on_waited;
	n->arg = &done;
	qo_need_start(n);
	while (!done)
		loop_once(n->q->loop, -1);
	return n->rc;
}
