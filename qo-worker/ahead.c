#include <stdlib.h>

#include "ahead.h"
#include "xalloc.h"

#define WORTH_US (200 * QO_US_PER_MS) /* of work that may be claimed ahead */
#define LEAST_US QO_US_PER_MS
/* Of the new value; the average follows a change within a few runs. */
#define WEIGHT 8
#define KNOWN  4 /* runs before anything is concluded */

struct section {
	size_t begun;
	int64_t runs, average_us;
	TAILQ_HEAD(, ahead_wait) waiting;
};

struct ahead {
	struct handlers *handlers;
	const struct conf *conf;
	void (*go)(struct ahead_wait *w);
	struct section *sections;
};

struct ahead *
ahead_new(struct handlers *h, const struct conf *conf,
    void (*go)(struct ahead_wait *w))
{
	struct ahead *a = xcalloc(1, sizeof(*a));
	size_t i;

	a->handlers = h;
	a->conf = conf;
	a->go = go;
	a->sections = xcalloc(conf->nhandlers + 1, sizeof(*a->sections));
	for (i = 0; i < conf->nhandlers; i++)
		TAILQ_INIT(&a->sections[i].waiting);
	return a;
}

void
ahead_free(struct ahead *a)
{
	if (a == NULL)
		return;
	free(a->sections);
	free(a);
}

static struct section *
section_of(const struct ahead *a, const struct conf_handler *h)
{
	return &a->sections[h - a->conf->handlers];
}

bool
ahead_quick(const struct ahead *a, const struct conf_handler *h)
{
	const struct section *s = section_of(a, h);

	return h->mode == CONF_MODE_SERVE && s->runs >= KNOWN &&
	    s->average_us < WORTH_US;
}

bool
ahead_begin(struct ahead *a, const struct conf_handler *h)
{
	struct section *s = section_of(a, h);
	size_t each = (size_t)(WORTH_US / s->average_us);

	if (s->begun >= (size_t)h->instances * (1 + each))
		return false;
	s->begun++;
	return true;
}

void
ahead_end(struct ahead *a, const struct conf_handler *h)
{
	section_of(a, h)->begun--;
}

void
ahead_wait(struct ahead *a, const struct conf_handler *h, struct ahead_wait *w)
{
	w->queued = true;
	TAILQ_INSERT_TAIL(&section_of(a, h)->waiting, w, link);
	ahead_freed(a, h);
}

void
ahead_leave(struct ahead *a, const struct conf_handler *h, struct ahead_wait *w)
{
	if (w->queued)
		TAILQ_REMOVE(&section_of(a, h)->waiting, w, link);
	w->queued = false;
}

void
ahead_freed(struct ahead *a, const struct conf_handler *h)
{
	struct section *s = section_of(a, h);
	struct ahead_wait *w;

	while ((w = TAILQ_FIRST(&s->waiting)) != NULL &&
	    handlers_reserve(a->handlers, h)) {
		ahead_leave(a, h, w);
		a->go(w);
	}
}

void
ahead_took(struct ahead *a, const struct conf_handler *h, int64_t ms)
{
	struct section *s = section_of(a, h);
	int64_t us = ms * QO_US_PER_MS;

	if (us < LEAST_US)
		us = LEAST_US;
	if (s->runs++ == 0)
		s->average_us = us;
	else
		s->average_us += (us - s->average_us) / WEIGHT;
	if (s->average_us < LEAST_US)
		s->average_us = LEAST_US;
}
