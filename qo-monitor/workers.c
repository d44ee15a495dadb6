#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "walk.h"
#include "workers.h"
#include "xalloc.h"

/* A stale one is to be seen before it has been so for long. */
#define PER_STALE       3
#define INTERVAL_MAX_MS 60000

struct name {
	struct name *next;
	bool seen; /* in this look */
	char id[QO_NAME_MAX + 1];
};

struct workers {
	struct monitor *m;
	struct qo_walk walk;  /* of workers/ */
	struct qo_walk bells; /* of one that is dead */
	struct name *stale, *dead;
	size_t alive, nstale;
	struct loop_timer timer;
	void (*done)(void *arg);
	void *arg;
};

static void bury_next(struct workers *w);

/* Names */

static struct name *
find(struct name *list, const char *id)
{
	for (; list != NULL; list = list->next)
		if (strcmp(list->id, id) == 0)
			break;
	return list;
}

static struct name *
add(struct name **list, const char *id)
{
	struct name *n = xcalloc(1, sizeof(*n));

	snprintf(n->id, sizeof(n->id), "%s", id);
	n->next = *list;
	*list = n;
	return n;
}

/* Drops those that the look did not find (all: every one). */
static void
drop(struct name **list, bool all)
{
	struct name *n;

	while ((n = *list) != NULL) {
		if (!all && n->seen) {
			n->seen = false;
			list = &n->next;
			continue;
		}
		*list = n->next;
		free(n);
	}
}

/* The look */

static void on_due(struct loop_timer *t);

static void
finish(struct workers *w)
{
	void (*done)(void *arg) = w->done;
	int64_t ms = w->m->conf->worker_stale_ms / PER_STALE;

	w->done = NULL;
	if (done != NULL)
		done(w->arg);
	else
		loop_timer_set_ms(w->m->loop, &w->timer,
		    ms < INTERVAL_MAX_MS ? ms : INTERVAL_MAX_MS, on_due, w);
}

static bool
on_bell(struct qo_walk *walk, const struct qo_s3_entry *e)
{
	struct workers *w = walk->arg;

	qo_deleter_add(w->m->q->deleter, e->key);
	return true;
}

/* Its bells first: while its record is there they will be found again. */
static void
on_bells(struct qo_walk *walk)
{
	struct workers *w = walk->arg;
	char key[QO_KEY_SIZE];
	struct name *n = w->dead;

	if (walk->rc != QO_OK) {
		health_note(w->m->health, walk->rc, &walk->err, qo_mono_now());
		drop(&w->dead, true);
		finish(w);
		return;
	}
	if (qo_key_worker(&w->m->q->layout, n->id, key) == 0)
		qo_deleter_add(w->m->q->deleter, key);
	log_event(LOG_LVL_WARN, "removed the record of a dead worker", "worker",
	    n->id, NULL);
	w->dead = n->next;
	free(n);
	bury_next(w);
}

static void
bury_next(struct workers *w)
{
	struct qo_queue *q = w->m->q;
	struct qo_walk *b = &w->bells;

	if (w->dead == NULL) {
		finish(w);
		return;
	}
	qo_walk_fini(b);
	qo_walk_init(b, q->s3, q->index_bucket);
	snprintf(b->prefix, sizeof(b->prefix), "%sbell/%s/", q->prefix,
	    w->dead->id);
	b->entry = on_bell;
	b->done = on_bells;
	b->arg = w;
	qo_walk_start(b);
}

/* workers/{id}.json; false: a key that is none of ours. */
static bool
id_of(const struct workers *w, const char *key, char id[QO_NAME_MAX + 1])
{
	const char *name = key + strlen(w->walk.prefix);
	size_t len = strlen(name);

	if (len <= 5 || strcmp(name + len - 5, ".json") != 0 ||
	    !qo_name_valid(name, len - 5))
		return false;
	snprintf(id, QO_NAME_MAX + 1, "%.*s", (int)(len - 5), name);
	return true;
}

static void
note_stale(struct workers *w, const char *id, int64_t silent_ms)
{
	struct name *n = find(w->stale, id);
	char text[32];

	w->nstale++;
	if (n == NULL) {
		n = add(&w->stale, id);
		snprintf(text, sizeof(text), "%llds",
		    (long long)(silent_ms / 1000));
		log_event(LOG_LVL_WARN, "a worker is silent", "worker", id,
		    "for", text, NULL);
	}
	n->seen = true;
}

static bool
on_worker(struct qo_walk *walk, const struct qo_s3_entry *e)
{
	struct workers *w = walk->arg;
	const struct conf_monitor *c = w->m->conf;
	struct qo_wall lo = monitor_lo(w->m);
	char id[QO_NAME_MAX + 1];
	int64_t silent_ms;

	if (!qo_wall_is_set(lo) || !id_of(w, e->key, id))
		return true;
	silent_ms = (lo.us - e->last_modified.us) / QO_US_PER_MS;
	if (silent_ms > c->worker_dead_ms)
		add(&w->dead, id);
	else if (silent_ms > c->worker_stale_ms)
		note_stale(w, id, silent_ms);
	else
		w->alive++;
	return true;
}

static void
on_walked(struct qo_walk *walk)
{
	struct workers *w = walk->arg;

	health_note(w->m->health, walk->rc, &walk->err, qo_mono_now());
	if (walk->rc == QO_OK) {
		drop(&w->stale, false);
		board_gauge(w->m->area, BOARD_WORKERS, (int64_t)w->alive);
		board_gauge(w->m->area, BOARD_WORKERS_STALE,
		    (int64_t)w->nstale);
		bury_next(w);
	} else {
		drop(&w->dead, true);
		finish(w);
	}
}

static void
look(struct workers *w)
{
	w->alive = w->nstale = 0;
	qo_walk_start(&w->walk);
}

static void
on_due(struct loop_timer *t)
{
	look(t->arg);
}

struct workers *
workers_new(struct monitor *m)
{
	struct workers *w = xcalloc(1, sizeof(*w));

	w->m = m;
	qo_walk_init(&w->walk, m->q->s3, m->q->index_bucket);
	snprintf(w->walk.prefix, sizeof(w->walk.prefix), "%sworkers/",
	    m->q->prefix);
	w->walk.entry = on_worker;
	w->walk.done = on_walked;
	w->walk.arg = w;
	qo_walk_init(&w->bells, m->q->s3, m->q->index_bucket);
	return w;
}

void
workers_free(struct workers *w)
{
	if (w == NULL)
		return;
	loop_timer_del(w->m->loop, &w->timer);
	qo_walk_fini(&w->walk);
	qo_walk_fini(&w->bells);
	drop(&w->stale, true);
	drop(&w->dead, true);
	free(w);
}

void
workers_start(struct workers *w)
{
	loop_timer_set_ms(w->m->loop, &w->timer, 0, on_due, w);
}

void
workers_once(struct workers *w, void (*done)(void *arg), void *arg)
{
	w->done = done;
	w->arg = arg;
	look(w);
}
