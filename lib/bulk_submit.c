#include <stdlib.h>
#include <string.h>

#include "bulk_submit.h"
#include "xalloc.h"

struct qo_bulk_submit_slot {
	struct qo_bulk_submit *bs;
	size_t slot;
	bool busy;
	void *item;
	struct qo_bulk_patience patience;
	struct qo_submit submit;
};

static void
on_again(struct loop_timer *t)
{
	struct qo_bulk_submit_slot *s = t->arg;

	/* The same id: what the first try wrote is recognised. */
	qo_submit_start(&s->submit);
}

static void
on_submitted(struct qo_submit *submit)
{
	struct qo_bulk_submit_slot *s = submit->arg;
	struct qo_bulk_submit *bs = s->bs;

	if (submit->change.rc == QO_AGAIN &&
	    qo_bulk_again(&bs->bulk, &s->patience, bs->patience_ms, on_again,
		s))
		return;
	bs->ended(bs, submit, s->item);
	qo_submit_fini(submit);
	s->busy = false;
	qo_bulk_ended(&bs->bulk, s->slot);
}

static enum qo_bulk_next
next(struct qo_bulk *b, size_t slot)
{
	struct qo_bulk_submit *bs = (struct qo_bulk_submit *)b;
	struct qo_bulk_submit_slot *s = bs->slots[slot];
	const struct qo_submission *sub = NULL;
	void *item = NULL;
	enum qo_bulk_next rv;

	rv = bs->next(bs, &sub, &item);
	if (rv != QO_BULK_STARTED)
		return rv;
	if (s == NULL)
		s = bs->slots[slot] = xcalloc(1, sizeof(*s));
	s->bs = bs;
	s->slot = slot;
	s->busy = true;
	s->item = item;
	memset(&s->patience, 0, sizeof(s->patience));
	qo_submit_init(&s->submit, bs->q, sub);
	s->submit.done = on_submitted;
	s->submit.arg = s;
	qo_submit_start(&s->submit);
	return QO_BULK_STARTED;
}

void
qo_bulk_submit_init(struct qo_bulk_submit *bs, struct qo_queue *q,
    size_t inflight)
{
	memset(bs, 0, sizeof(*bs));
	qo_bulk_init(&bs->bulk, q->loop, inflight);
	bs->bulk.next = next;
	bs->q = q;
	bs->patience_ms = QO_BULK_PATIENCE_MS;
	bs->slots = xcalloc(inflight, sizeof(*bs->slots));
}

void
qo_bulk_submit_fini(struct qo_bulk_submit *bs)
{
	struct qo_bulk_submit_slot *s;
	size_t i;

	for (i = 0; i < bs->bulk.inflight; i++) {
		if ((s = bs->slots[i]) == NULL)
			continue;
		loop_timer_del(bs->q->loop, &s->patience.pause);
		if (s->busy)
			qo_submit_fini(&s->submit);
		free(s);
	}
	free(bs->slots);
	qo_bulk_fini(&bs->bulk);
}

void
qo_bulk_submit_wait(struct qo_bulk_submit *bs)
{
	qo_bulk_wait(&bs->bulk);
	qo_queue_flush(bs->q);
}
