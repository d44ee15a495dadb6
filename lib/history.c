#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "xalloc.h"

static void on_page(struct qo_s3_req *r);

static void
finish(struct qo_history *h, enum qo_rc rc)
{
	h->rc = rc;
	h->done(h);
}

/* Reading the versions */

/* They were listed newest first. */
static struct qo_version *
version_of(struct qo_history *h, size_t i)
{
	return &h->versions[h->nversions - 1 - i];
}

static int
on_name(struct qo_fetch *f, size_t i, char key[QO_KEY_SIZE],
    const char **version)
{
	struct qo_history *h = f->arg;
	const struct qo_version *v = version_of(h, i);

	/* Nothing can be read where the object was deleted. */
	if (v->is_marker)
		return -1;
	memcpy(key, h->key, QO_KEY_SIZE);
	*version = v->id[0] != '\0' ? v->id : NULL;
	return 0;
}

static bool
give_version(struct qo_history *h, struct qo_version *v, struct qo_s3_req *r)
{
	struct qo_task t;
	struct qo_err err;
	bool more;

	if (qo_task_decode(&t, h->id, r->res.body.data, r->res.body.len,
		&err) == -1) {
		h->corrupt(h, v, err.msg);
		return true;
	}
	if (!qo_wall_is_set(v->modified))
		v->modified = r->res.last_modified;
	more = h->version(h, v, &t, r->res.body.data, r->res.body.len);
	qo_task_fini(&t);
	return more;
}

static bool
on_got(struct qo_fetch *f, size_t i, struct qo_s3_req *r)
{
	struct qo_history *h = f->arg;
	struct qo_version *v = version_of(h, i);

	if (v->is_marker)
		return h->version(h, v, NULL, NULL, 0);
	if (r->res.outcome == QO_S3_OK)
		return give_version(h, v, r);
	/* A version that the lifecycle has removed since the list. */
	if (r->res.outcome == QO_S3_NOT_FOUND && h->nversions > 1)
		return true;
	if (r->res.outcome == QO_S3_TOO_LARGE) {
		h->corrupt(h, v, "the object is too large for a task");
		return true;
	}
	h->rc = qo_s3_outcome_rc(r->res.outcome);
	h->err = r->res.err;
	return false;
}

static void
on_fetched(struct qo_fetch *f)
{
	struct qo_history *h = f->arg;

	finish(h, h->rc);
}

static void
read_versions(struct qo_history *h)
{
	h->rc = QO_OK;
	h->fetch.n = h->nversions;
	h->fetch.response_max = QO_TASK_LEN_MAX;
	h->fetch.name = on_name;
	h->fetch.got = on_got;
	h->fetch.done = on_fetched;
	h->fetch.arg = h;
	qo_fetch_start(&h->fetch);
}

/* Listing them */

static struct qo_version *
add_version(struct qo_history *h)
{
	struct qo_version *v;

	if (h->nversions == h->cap) {
		h->cap = h->cap == 0 ? 16 : 2 * h->cap;
		h->versions = xreallocarray(h->versions, h->cap,
		    sizeof(h->versions[0]));
	}
	v = &h->versions[h->nversions++];
	memset(v, 0, sizeof(*v));
	v->modified = QO_WALL_NONE;
	return v;
}

static void
read_current(struct qo_history *h)
{
	h->unversioned = true;
	h->nversions = 0;
	add_version(h);
	read_versions(h);
}

static void
listed(struct qo_history *h)
{
	if (h->nversions == 0) {
		qo_err_set(&h->err, "there is no task %s", h->id);
		finish(h, QO_NOENT);
		return;
	}
	/* Only a store without versions has but one that is named null. */
	if (h->nversions == 1 && strcmp(h->versions[0].id, "null") == 0) {
		read_current(h);
		return;
	}
	read_versions(h);
}

static void
ask(struct qo_history *h)
{
	qo_s3_req_fini(&h->req);
	qo_s3_req_init(&h->req, QO_S3_LIST_VERSIONS, h->q->bucket, NULL);
	h->req.prefix = h->key;
	if (h->key_marker[0] != '\0')
		h->req.key_marker = h->key_marker;
	if (h->version_marker[0] != '\0')
		h->req.version_marker = h->version_marker;
	h->req.done = on_page;
	h->req.arg = h;
	qo_s3_send(h->q->s3, &h->req);
}

/* False at the first key that is not the task's. */
static bool
take_page(struct qo_history *h, const struct qo_s3_list *list)
{
	const struct qo_s3_entry *e;
	struct qo_version *v;
	size_t i;

	for (i = 0; i < list->n; i++) {
		e = &list->entries[i];
		if (strcmp(e->key, h->key) != 0)
			return false;
		v = add_version(h);
		v->modified = e->last_modified;
		v->is_marker = e->is_marker;
		/* Longer than any store's, and cut it names no version. */
		strlcpy(v->id, e->version_id, sizeof(v->id));
	}
	return list->truncated && strcmp(list->next_marker, h->key) == 0;
}

static int
move_on(struct qo_history *h, const struct qo_s3_list *list)
{
	if (strcmp(h->version_marker, list->next_version) == 0) {
		qo_err_set(&h->err,
		    "the store's list of the versions of %s does not move on",
		    h->key);
		return -1;
	}
	strlcpy(h->key_marker, list->next_marker, sizeof(h->key_marker));
	strlcpy(h->version_marker, list->next_version,
	    sizeof(h->version_marker));
	return 0;
}

static void
on_page(struct qo_s3_req *r)
{
	struct qo_history *h = r->arg;

	if (r->res.outcome == QO_S3_UNSUPPORTED) {
		read_current(h);
		return;
	}
	if (r->res.outcome != QO_S3_OK) {
		h->err = r->res.err;
		finish(h, qo_s3_outcome_rc(r->res.outcome));
		return;
	}
	if (!take_page(h, r->res.list))
		listed(h);
	else if (move_on(h, r->res.list) == -1)
		finish(h, QO_ERR);
	else
		ask(h);
}

void
qo_history_init(struct qo_history *h, struct qo_queue *q, const char *id)
{
	memset(h, 0, sizeof(*h));
	h->q = q;
	memcpy(h->id, id, sizeof(h->id));
	qo_key_task(&q->layout, id, h->key);
	qo_s3_req_init(&h->req, QO_S3_LIST_VERSIONS, q->bucket, NULL);
	qo_fetch_init(&h->fetch, q->loop, q->s3, q->bucket);
}

void
qo_history_fini(struct qo_history *h)
{
	qo_s3_req_fini(&h->req);
	qo_fetch_fini(&h->fetch);
	free(h->versions);
	h->versions = NULL;
}

void
qo_history_start(struct qo_history *h)
{
	h->nversions = 0;
	h->unversioned = false;
	h->key_marker[0] = h->version_marker[0] = '\0';
	qo_err_reset(&h->err);
	ask(h);
}

static void
on_waited(struct qo_history *h)
{
	h->ended = true;
}

enum qo_rc
qo_history_wait(struct qo_history *h)
{
	h->ended = false;
	h->done = on_waited;
	qo_history_start(h);
	while (!h->ended)
		loop_once(h->q->loop, -1);
	return h->rc;
}
