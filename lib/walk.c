#include <stdlib.h>
#include <string.h>

#include "walk.h"
#include "xalloc.h"

/* Some stores answer with a page that holds nothing, but not for ever. */
#define EMPTY_PAGES_MAX 100

static void on_page(struct qo_s3_req *r);

static void
finish(struct qo_walk *w, enum qo_rc rc)
{
	w->rc = rc;
	w->done(w);
}

static void
fail_stuck(struct qo_walk *w, const char *what)
{
	qo_err_set(&w->err, "the store's list of %s does not move on: %s",
	    w->prefix, what);
	finish(w, QO_ERR);
}

static void
ask(struct qo_walk *w)
{
	qo_s3_req_fini(&w->req);
	qo_s3_req_init(&w->req, QO_S3_LIST, w->bucket, NULL);
	w->req.prefix = w->prefix;
	w->req.continuation = w->token;
	if (w->token == NULL && w->last[0] != '\0')
		w->req.start_after = w->last;
	w->req.done = on_page;
	w->req.arg = w;
	qo_s3_send(w->s3, &w->req);
}

/* False when the walk has ended. */
static bool
take_entries(struct qo_walk *w, const struct qo_s3_list *list)
{
	const struct qo_s3_entry *e;
	size_t i;

	for (i = 0; i < list->n; i++) {
		e = &list->entries[i];
		if (strcmp(e->key, w->last) <= 0) {
			fail_stuck(w, "a key comes out of order");
			return false;
		}
		if (strlcpy(w->last, e->key, sizeof(w->last)) >=
		    sizeof(w->last)) {
			qo_err_set(&w->err, "a key under %s is too long",
			    w->prefix);
			finish(w, QO_ERR);
			return false;
		}
		w->keys++;
		if (!w->entry(w, e)) {
			finish(w, QO_OK);
			return false;
		}
	}
	return true;
}

/* Remembers where to go on; false when the walk has ended. */
static bool
move_on(struct qo_walk *w, const struct qo_s3_list *list)
{
	const char *next = list->next_token;

	w->empty = list->n == 0 ? w->empty + 1 : 0;
	if (w->empty > EMPTY_PAGES_MAX) {
		fail_stuck(w, "its pages are empty");
		return false;
	}
	if (*next == '\0') {
		/* A server that knows no tokens: start_after. */
		if (list->n == 0) {
			fail_stuck(w, "an empty page without a token");
			return false;
		}
		free(w->token);
		w->token = NULL;
		return true;
	}
	if (w->token != NULL && strcmp(w->token, next) == 0) {
		fail_stuck(w, "the same continuation token again");
		return false;
	}
	free(w->token);
	w->token = xstrdup(next);
	return true;
}

static void
on_page(struct qo_s3_req *r)
{
	struct qo_walk *w = r->arg;
	const struct qo_s3_list *list = r->res.list;

	if (r->res.outcome != QO_S3_OK) {
		w->err = r->res.err;
		finish(w, qo_s3_outcome_rc(r->res.outcome));
		return;
	}
	if (w->pages++ == 0)
		w->seq = r->res.seq;
	w->skipped += list->skipped;
	if (!take_entries(w, list))
		return;
	if (!list->truncated)
		finish(w, QO_OK);
	else if (move_on(w, list))
		ask(w);
}

void
qo_walk_init(struct qo_walk *w, struct qo_s3 *s3, const char *bucket)
{
	memset(w, 0, sizeof(*w));
	w->s3 = s3;
	w->bucket = bucket;
	qo_s3_req_init(&w->req, QO_S3_LIST, bucket, NULL);
}

void
qo_walk_fini(struct qo_walk *w)
{
	qo_s3_req_fini(&w->req);
	free(w->token);
	w->token = NULL;
}

void
qo_walk_start(struct qo_walk *w)
{
	free(w->token);
	w->token = NULL;
	memcpy(w->last, w->start_after, sizeof(w->last));
	w->pages = w->keys = w->skipped = 0;
	w->empty = 0;
	w->seq = -1;
	qo_err_reset(&w->err);
	ask(w);
}
