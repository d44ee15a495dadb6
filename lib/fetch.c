#include <string.h>

#include "fetch.h"

static void on_answer(struct qo_s3_req *r);

static struct qo_fetch_slot *
slot_of(struct qo_fetch *f, size_t i)
{
	return &f->slots[i % QO_FETCH_WINDOW];
}

static void
send_one(struct qo_fetch *f)
{
	size_t i = f->next_send++;
	struct qo_fetch_slot *s = slot_of(f, i);
	const char *version = NULL;

	s->arrived = false;
	qo_s3_req_fini(&s->req);
	qo_s3_req_init(&s->req, QO_S3_GET, f->bucket, s->key);
	if (f->name(f, i, s->key, &version) == -1) {
		s->req.res.outcome = QO_S3_REJECTED;
		qo_err_set(&s->req.res.err, "no key can be made of it");
		s->arrived = true;
		return;
	}
	s->req.version_id = version;
	s->req.response_max = f->response_max;
	s->req.done = on_answer;
	s->req.arg = s;
	qo_s3_send(f->s3, &s->req);
}

static void
fill(struct qo_fetch *f)
{
	while (f->next_send < f->n && f->next_send - f->next_give < f->window)
		send_one(f);
}

static void
stop(struct qo_fetch *f)
{
	size_t i;

	for (i = 0; i < QO_FETCH_WINDOW; i++)
		qo_s3_cancel(&f->slots[i].req);
}

/* Hands over what is there in order; true when nothing is left to do. */
static bool
give(struct qo_fetch *f)
{
	struct qo_fetch_slot *s;
	size_t i;

	while (f->next_give < f->next_send) {
		i = f->next_give;
		s = slot_of(f, i);
		if (!s->arrived)
			return false;
		s->arrived = false;
		if (!f->got(f, i, &s->req)) {
			stop(f);
			return true;
		}
		f->next_give++;
		fill(f);
	}
	return true;
}

static void
go_on(struct qo_fetch *f)
{
	if (!give(f))
		return;
	loop_defer_del(f->loop, &f->ended);
	f->done(f);
}

static void
on_answer(struct qo_s3_req *r)
{
	struct qo_fetch_slot *s = r->arg;

	s->arrived = true;
	go_on(s->f);
}

static void
on_ended(struct loop_task *t)
{
	go_on(t->arg);
}

void
qo_fetch_init(struct qo_fetch *f, struct loop *l, struct qo_s3 *s3,
    const char *bucket)
{
	size_t i;

	memset(f, 0, sizeof(*f));
	f->loop = l;
	f->s3 = s3;
	f->bucket = bucket;
	f->window = QO_FETCH_WINDOW;
	for (i = 0; i < QO_FETCH_WINDOW; i++) {
		f->slots[i].f = f;
		qo_s3_req_init(&f->slots[i].req, QO_S3_GET, bucket, NULL);
	}
}

void
qo_fetch_fini(struct qo_fetch *f)
{
	size_t i;

	loop_defer_del(f->loop, &f->ended);
	for (i = 0; i < QO_FETCH_WINDOW; i++)
		qo_s3_req_fini(&f->slots[i].req);
}

void
qo_fetch_start(struct qo_fetch *f)
{
	f->next_send = f->next_give = 0;
	fill(f);
	/* When all that was asked for has no key, no answer will come. */
	loop_defer(f->loop, &f->ended, on_ended, f);
}
