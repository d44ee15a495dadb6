#include <stdlib.h>
#include <string.h>

#include "bulk_admin.h"
#include "xalloc.h"

struct qo_bulk_admin_slot {
	struct qo_bulk_admin *ba;
	size_t slot;
	bool busy;
	struct qo_bulk_patience patience;
	struct qo_admin admin;
};

static bool
wanted(const struct qo_task *t, void *arg)
{
	struct qo_bulk_admin *ba = arg;

	return ba->wanted(ba, t);
}

static void
on_again(struct loop_timer *t)
{
	struct qo_bulk_admin_slot *s = t->arg;

	qo_admin_start(&s->admin);
}

static void
on_changed(struct qo_admin *a)
{
	struct qo_bulk_admin_slot *s = a->arg;
	struct qo_bulk_admin *ba = s->ba;

	if (a->change.rc == QO_AGAIN &&
	    qo_bulk_again(&ba->bulk, &s->patience, ba->patience_ms, on_again,
		s))
		return;
	ba->ended(ba, a);
	qo_admin_fini(a);
	s->busy = false;
	qo_bulk_ended(&ba->bulk, s->slot);
}

static enum qo_bulk_next
next(struct qo_bulk *b, size_t slot)
{
	struct qo_bulk_admin *ba = (struct qo_bulk_admin *)b;
	struct qo_bulk_admin_slot *s = ba->slots[slot];
	enum qo_bulk_next rv;
	char id[QO_UUID_SIZE];

	rv = ba->next(ba, id);
	if (rv != QO_BULK_STARTED)
		return rv;
	if (s == NULL)
		s = ba->slots[slot] = xcalloc(1, sizeof(*s));
	s->ba = ba;
	s->slot = slot;
	s->busy = true;
	memset(&s->patience, 0, sizeof(s->patience));
	qo_admin_init(&s->admin, ba->q, ba->op, id);
	s->admin.who = ba->who;
	s->admin.reason = ba->reason;
	s->admin.wanted = ba->wanted != NULL ? wanted : NULL;
	s->admin.wanted_arg = ba;
	s->admin.done = on_changed;
	s->admin.arg = s;
	qo_admin_start(&s->admin);
	return QO_BULK_STARTED;
}

void
qo_bulk_admin_init(struct qo_bulk_admin *ba, struct qo_queue *q,
    enum qo_admin_op op, size_t inflight)
{
	memset(ba, 0, sizeof(*ba));
	qo_bulk_init(&ba->bulk, q->loop, inflight);
	ba->bulk.next = next;
	ba->q = q;
	ba->op = op;
	ba->patience_ms = QO_BULK_PATIENCE_MS;
	ba->slots = xcalloc(inflight, sizeof(*ba->slots));
}

void
qo_bulk_admin_fini(struct qo_bulk_admin *ba)
{
	struct qo_bulk_admin_slot *s;
	size_t i;

	for (i = 0; i < ba->bulk.inflight; i++) {
		if ((s = ba->slots[i]) == NULL)
			continue;
		loop_timer_del(ba->q->loop, &s->patience.pause);
		if (s->busy)
			qo_admin_fini(&s->admin);
		free(s);
	}
	free(ba->slots);
	qo_bulk_fini(&ba->bulk);
}

void
qo_bulk_admin_wait(struct qo_bulk_admin *ba)
{
	qo_bulk_wait(&ba->bulk);
	qo_queue_flush(ba->q);
}
