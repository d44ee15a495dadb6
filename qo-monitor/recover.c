#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "recover.h"
#include "repair.h"
#include "report.h"
#include "xalloc.h"

#define INFLIGHT     128
#define AGAIN_MIN_MS 50
#define AGAIN_MAX_MS 5000

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

/* Pauses before a task that waits is looked at again, in ms: about a second
 * in all. */
static const int64_t pauses_ms[] = { 40, 80, 160, 300, 440 };

struct lost {
	struct recover *all;
	struct lost *next;
	char id[QO_UUID_SIZE];
	char lease[QO_UUID_SIZE];
	int64_t generation;
	size_t looks; /* that left it undecided */
	int64_t again_ms;
	bool begun;
	struct qo_repair repair;
	struct loop_timer timer;
};

struct recover {
	struct monitor *m;
	bool open;
	struct lost *first; /* newest first */
	size_t n, begun;
	void (*settled)(void *arg, const char *lease);
	void *arg;
	void (*idle)(void *arg);
	void *idle_arg;
};

static void start_some(struct recover *r);

static void
forget(struct lost *l)
{
	struct recover *r = l->all;
	struct lost **p;

	for (p = &r->first; *p != l; p = &(*p)->next)
		continue;
	*p = l->next;
	r->n--;
	if (l->begun) {
		r->begun--;
		loop_timer_del(r->m->loop, &l->timer);
		qo_repair_fini(&l->repair);
	}
	free(l);
}

static void
on_settled(struct loop_timer *t)
{
	struct lost *l = t->arg;
	struct recover *r = l->all;

	r->settled(r->arg, l->lease);
	forget(l);
	if (r->n == 0 && r->idle != NULL)
		r->idle(r->idle_arg);
	else
		start_some(r);
}

static void
on_again(struct loop_timer *t)
{
	struct lost *l = t->arg;

	qo_repair_start(&l->repair);
}

static void
wait_for(struct lost *l, int64_t ms, void (*then)(struct loop_timer *t))
{
	loop_timer_set_ms(l->all->m->loop, &l->timer, ms, then, l);
}

static void
again(struct lost *l)
{
	wait_for(l, l->again_ms, on_again);
	l->again_ms *= 2;
	if (l->again_ms > AGAIN_MAX_MS)
		l->again_ms = AGAIN_MAX_MS;
}

static void
on_repaired(struct qo_repair *rep)
{
	struct lost *l = rep->arg;

	if (!report_repair(l->all->m, rep)) {
		health_note(l->all->m->health, rep->change.rc, &rep->change.err,
		    qo_mono_now());
		again(l);
	} else if (rep->did == QO_REPAIR_UNDECIDED &&
	    l->looks < nitems(pauses_ms)) {
		wait_for(l, pauses_ms[l->looks++], on_again);
	} else {
		/* Not from within the repair's own call: it is freed. */
		wait_for(l, 0, on_settled);
	}
}

static void
begin(struct lost *l)
{
	struct recover *r = l->all;

	l->begun = true;
	r->begun++;
	qo_repair_init_lease(&l->repair, r->m->q, l->id, l->generation,
	    l->lease);
	l->repair.done = on_repaired;
	l->repair.arg = l;
	qo_repair_start(&l->repair);
}

static void
start_some(struct recover *r)
{
	struct lost *l;

	for (l = r->first; l != NULL && r->open && r->begun < INFLIGHT;
	     l = l->next)
		if (!l->begun)
			begin(l);
}

static struct lost *
find(struct recover *r, const char *lease)
{
	struct lost *l;

	for (l = r->first; l != NULL; l = l->next)
		if (strcmp(l->lease, lease) == 0)
			break;
	return l;
}

int
recover_add(struct recover *r, char *rest)
{
	const char *id, *generation, *lease, *bad;
	struct lost *l;
	int64_t n;

	id = strsep(&rest, " ");
	generation = strsep(&rest, " ");
	lease = strsep(&rest, " ");
	if (lease == NULL || rest != NULL || !qo_uuid_valid(id, strlen(id)) ||
	    !qo_uuid_valid(lease, strlen(lease)))
		return -1;
	n = strtonum(generation, 0, QO_COUNT_MAX, &bad);
	if (bad != NULL)
		return -1;
	/* qod asks again when a monitor took its time or was replaced. */
	if (find(r, lease) != NULL)
		return 0;
	l = xcalloc(1, sizeof(*l));
	l->all = r;
	snprintf(l->id, sizeof(l->id), "%s", id);
	snprintf(l->lease, sizeof(l->lease), "%s", lease);
	l->generation = n;
	l->again_ms = AGAIN_MIN_MS;
	l->next = r->first;
	r->first = l;
	r->n++;
	start_some(r);
	return 0;
}

struct recover *
recover_new(struct monitor *m, void (*settled)(void *arg, const char *lease),
    void *arg)
{
	struct recover *r = xcalloc(1, sizeof(*r));

	r->m = m;
	r->settled = settled;
	r->arg = arg;
	return r;
}

void
recover_free(struct recover *r)
{
	if (r == NULL)
		return;
	while (r->first != NULL)
		forget(r->first);
	free(r);
}

void
recover_start(struct recover *r)
{
	r->open = true;
	start_some(r);
}

size_t
recover_pending(const struct recover *r)
{
	return r->n;
}

void
recover_on_idle(struct recover *r, void (*idle)(void *arg), void *arg)
{
	r->idle = idle;
	r->idle_arg = arg;
}
