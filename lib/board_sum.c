#include <stdlib.h>
#include <string.h>

#include "board_sum.h"
#include "xalloc.h"

/* A qod that was killed while counts moved leaves them so. */
#define TRIES 1000

static int
compare(const struct board_handler *a, const struct board_handler *b)
{
	int order = strcmp(a->name, b->name);

	return order != 0 ? order : strcmp(a->type, b->type);
}

/* Whoever has a handler for everything need not hear of the rest. */
static bool
is_idle_rest(const struct board_handler *h)
{
	size_t i;

	for (i = 0; i < BOARD_ENDS; i++)
		if (h->ends[i] > 0)
			return false;
	for (i = 0; i < BOARD_STEPS; i++)
		if (h->steps[i] > 0)
			return false;
	return strcmp(h->name, BOARD_REST) == 0;
}

static void
add_handler(struct board_sum *s, const struct board_handler *h)
{
	struct board_handler *to;
	size_t i, k;

	if (is_idle_rest(h))
		return;
	for (i = 0; i < s->nhandlers; i++)
		if (compare(&s->handlers[i], h) >= 0)
			break;
	if (i == s->nhandlers || compare(&s->handlers[i], h) != 0) {
		s->handlers = xreallocarray(s->handlers, s->nhandlers + 1,
		    sizeof(*s->handlers));
		memmove(&s->handlers[i + 1], &s->handlers[i],
		    (s->nhandlers - i) * sizeof(*s->handlers));
		s->nhandlers++;
		s->handlers[i] = *h;
		return;
	}
	to = &s->handlers[i];
	for (k = 0; k < BOARD_ENDS; k++)
		to->ends[k] += h->ends[k];
	for (k = 0; k < BOARD_STEPS; k++)
		to->steps[k] += h->steps[k];
	to->sum_ms += h->sum_ms;
}

static void
add_counts(struct board_sum *s, const struct board_area *a,
    const struct board_info *info)
{
	struct board_handler h;
	size_t i;

	for (i = 0; i < BOARD_COUNTERS; i++)
		s->counters[i] += info->counters[i];
	for (i = 0; i < info->nhandlers; i++)
		if (board_handler_read(a, i, &h))
			add_handler(s, &h);
}

static void
add_process(struct board_sum *s, const struct board_area *a)
{
	struct board_info info;
	int64_t skew;

	board_read(a, &info);
	add_counts(s, a, &info);
	if ((unsigned)info.role < BOARD_ROLES)
		s->processes[info.role][info.state]++;
	s->running += info.gauges[BOARD_RUNNING];
	if (info.state != BOARD_DRAINING)
		s->slots += (int64_t)info.nslots;
	skew = info.gauges[BOARD_SKEW_MS];
	if (llabs(skew) > llabs(s->skew_ms))
		s->skew_ms = skew;
}

static void
add_all(struct board_sum *s, struct board *b)
{
	struct board_area *a;
	struct board_info info;

	for (a = NULL; (a = board_next(b, a)) != NULL;)
		add_process(s, a);
	if ((a = board_gone(b)) == NULL)
		return;
	board_read(a, &info);
	add_counts(s, a, &info);
}

void
board_sum(struct board *b, const struct board_area *own, struct board_sum *out)
{
	uint64_t moves;
	int tries;

	memset(out, 0, sizeof(*out));
	if (b == NULL) {
		add_process(out, own);
		return;
	}
	for (tries = 0; tries < TRIES; tries++) {
		moves = board_moves(b);
		board_sum_fini(out);
		add_all(out, b);
		if (moves % 2 == 0 && moves == board_moves(b))
			return;
	}
}

void
board_sum_fini(struct board_sum *s)
{
	free(s->handlers);
	memset(s, 0, sizeof(*s));
}
