#include <stdlib.h>
#include <string.h>

#include "deleter.h"
#include "s3body.h"
#include "xalloc.h"

#define BATCH_MAX 200
#define WAIT_MS   500
#define KEEP_MAX  20000 /* keys; beyond, the oldest are left to R3 */

struct qo_deleter {
	struct loop *loop;
	struct qo_s3 *s3;
	const char *bucket;
	char **keys; /* oldest first */
	size_t n, cap;
	size_t sent; /* the first of them are under way */
	struct qo_s3_req req;
	struct buf body;
	struct loop_timer timer;
	void (*done)(void *arg);
	void *arg;
};

static void on_deleted(struct qo_s3_req *r);

struct qo_deleter *
qo_deleter_new(struct loop *l, struct qo_s3 *s3, const char *bucket)
{
	struct qo_deleter *d;

	d = xcalloc(1, sizeof(*d));
	d->loop = l;
	d->s3 = s3;
	d->bucket = bucket;
	buf_init(&d->body, (size_t)4 << 20);
	qo_s3_req_init(&d->req, QO_S3_DELETE_MANY, bucket, NULL);
	return d;
}

static void
drop_first(struct qo_deleter *d, size_t n)
{
	size_t i;

	if (n == 0)
		return; /* there may be no array yet */
	for (i = 0; i < n; i++)
		free(d->keys[i]);
	memmove(d->keys, d->keys + n, (d->n - n) * sizeof(*d->keys));
	d->n -= n;
}

void
qo_deleter_free(struct qo_deleter *d)
{
	if (d == NULL)
		return;
	qo_s3_req_fini(&d->req);
	loop_timer_del(d->loop, &d->timer);
	drop_first(d, d->n);
	free(d->keys);
	buf_fini(&d->body);
	free(d);
}

size_t
qo_deleter_pending(const struct qo_deleter *d)
{
	return d->n;
}

static void
send_batch(struct qo_deleter *d)
{
	struct qo_s3_delete_key list[BATCH_MAX];
	size_t i;

	d->sent = d->n < BATCH_MAX ? d->n : BATCH_MAX;
	qo_s3_req_fini(&d->req);
	if (d->sent == 1) {
		/* One alone is cheaper as a DELETE. */
		qo_s3_req_init(&d->req, QO_S3_DELETE, d->bucket, d->keys[0]);
	} else {
		memset(list, 0, sizeof(list));
		for (i = 0; i < d->sent; i++)
			list[i].key = d->keys[i];
		buf_reset(&d->body);
		/* Our own keys: nothing in them that XML can not carry. */
		qo_s3body_delete(&d->body, list, d->sent, true, NULL);
		qo_s3_req_init(&d->req, QO_S3_DELETE_MANY, d->bucket, NULL);
		d->req.body = d->body.data;
		d->req.body_len = d->body.len;
	}
	d->req.done = on_deleted;
	d->req.arg = d;
	qo_s3_send(d->s3, &d->req);
}

static void
flushed(struct qo_deleter *d)
{
	void (*done)(void *arg) = d->done;

	d->done = NULL;
	if (done != NULL)
		done(d->arg);
}

static void
on_timer(struct loop_timer *t)
{
	struct qo_deleter *d = t->arg;

	if (d->sent == 0 && d->n > 0)
		send_batch(d);
	else if (d->sent == 0)
		flushed(d);
}

static void
on_deleted(struct qo_s3_req *r)
{
	struct qo_deleter *d = r->arg;
	bool ok = r->res.outcome == QO_S3_OK ||
	    r->res.outcome == QO_S3_NOT_FOUND;

	/* A key that the store would not delete is left to R3 like any that a
	 * crash left behind. */
	if (ok)
		drop_first(d, d->sent);
	d->sent = 0;
	if (ok && d->n > 0 && (d->done != NULL || d->n >= BATCH_MAX)) {
		send_batch(d);
		return;
	}
	if (d->n > 0)
		loop_timer_set_ms(d->loop, &d->timer, WAIT_MS, on_timer, d);
	flushed(d);
}

void
qo_deleter_add(struct qo_deleter *d, const char *key)
{
	if (d->n == KEEP_MAX && d->sent == 0)
		drop_first(d, BATCH_MAX);
	if (d->n == d->cap) {
		d->cap = d->cap == 0 ? 64 : d->cap * 2;
		d->keys = xreallocarray(d->keys, d->cap, sizeof(*d->keys));
	}
	d->keys[d->n++] = xstrdup(key);
	if (d->sent > 0)
		return;
	if (d->n >= BATCH_MAX)
		send_batch(d);
	else if (!loop_timer_is_set(&d->timer))
		loop_timer_set_ms(d->loop, &d->timer, WAIT_MS, on_timer, d);
}

void
qo_deleter_flush(struct qo_deleter *d, void (*done)(void *arg), void *arg)
{
	d->done = done;
	d->arg = arg;
	if (d->sent > 0)
		return;
	if (d->n > 0)
		send_batch(d);
	else
		/* Not from within this call. */
		loop_timer_set_ms(d->loop, &d->timer, 0, on_timer, d);
}
