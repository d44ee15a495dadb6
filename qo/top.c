#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"
#include "xalloc.h"

void
top_look_init(struct top_look *l, const char *source)
{
	memset(l, 0, sizeof(*l));
	l->source = source;
	l->at = qo_wall_local();
	l->taken = qo_mono_now();
	l->ready = l->oldest_ms = l->failed_tasks = -1;
	l->rate = (struct top_rate){ -1, -1, -1, -1 };
}

void
top_look_fini(struct top_look *l)
{
	free(l->workers);
	free(l->tasks);
	memset(l, 0, sizeof(*l));
}

struct top_worker *
top_add_worker(struct top_look *l)
{
	struct top_worker *w;

	l->workers = xreallocarray(l->workers, l->nworkers + 1,
	    sizeof(*l->workers));
	w = &l->workers[l->nworkers++];
	memset(w, 0, sizeof(*w));
	w->restarts = w->retried = w->requests = -1;
	w->rate = -1;
	return w;
}

struct top_task *
top_add_task(struct top_look *l)
{
	struct top_task *t;

	l->tasks = xreallocarray(l->tasks, l->ntasks + 1, sizeof(*l->tasks));
	t = &l->tasks[l->ntasks++];
	memset(t, 0, sizeof(*t));
	t->age_ms = -1;
	return t;
}

void
top_say(struct top_look *l, const char *fmt, ...)
{
	va_list ap;

	if (l->nmessages == TOP_MESSAGES)
		return;
	va_start(ap, fmt);
	vsnprintf(l->messages[l->nmessages++], sizeof(l->messages[0]), fmt, ap);
	va_end(ap);
}

/* Rates */

static const struct top_worker *
same_worker(const struct top_look *l, const struct top_worker *w)
{
	size_t i;

	for (i = 0; i < l->nworkers; i++)
		if (l->workers[i].pid == w->pid &&
		    strcmp(l->workers[i].name, w->name) == 0 &&
		    l->workers[i].completed <= w->completed)
			return &l->workers[i];
	return NULL;
}

/* A process that is new has counted from 0. */
static double
grown(int64_t now, int64_t before)
{
	if (now < 0)
		return 0;
	return (double)(before >= 0 && before <= now ? now - before : now);
}

void
top_rates(struct top_look *l, const struct top_look *before)
{
	static const struct top_worker none;
	const struct top_worker *was;
	struct top_worker *w;
	double seconds;
	size_t i;

	seconds = (double)qo_mono_diff_us(before->taken, l->taken) /
	    QO_US_PER_SEC;
	if (before->source == NULL || seconds <= 0)
		return;
	l->rate = (struct top_rate){ 0, 0, 0, 0 };
	for (i = 0; i < l->nworkers; i++) {
		w = &l->workers[i];
		if ((was = same_worker(before, w)) == NULL)
			was = &none;
		w->rate = grown(w->completed, was->completed) / seconds;
		l->rate.completed += w->rate;
		l->rate.failed += grown(w->failed, was->failed) / seconds;
		l->rate.retried += grown(w->retried, was->retried) / seconds;
		l->rate.requests += grown(w->requests, was->requests) / seconds;
	}
	if (strcmp(l->source, "bucket") == 0)
		l->rate.retried = l->rate.requests = -1;
}

/* Order */

static int
by_age(const void *pa, const void *pb)
{
	const struct top_task *a = pa, *b = pb;

	if (a->age_ms != b->age_ms)
		return a->age_ms < b->age_ms ? 1 : -1;
	return strcmp(a->id, b->id);
}

static int
by_type(const void *pa, const void *pb)
{
	const struct top_task *a = pa, *b = pb;
	int c = strcmp(a->type, b->type);

	return c != 0 ? c : by_age(a, b);
}

static int
by_worker(const void *pa, const void *pb)
{
	const struct top_task *a = pa, *b = pb;
	int c = strcmp(a->worker, b->worker);

	return c != 0 ? c : by_age(a, b);
}

void
top_sort_tasks(struct top_look *l, enum top_sort by)
{
	static int (*const orders[TOP_SORTS])(const void *,
	    const void *) = { by_age, by_type, by_worker };

	if (l->ntasks > 0)
		qsort(l->tasks, l->ntasks, sizeof(*l->tasks), orders[by]);
}
