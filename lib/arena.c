#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "xalloc.h"

#define ARENA_FIRST 4096
#define ARENA_MOST  (256 * 1024)

struct arena_chunk {
	struct arena_chunk *next;
	size_t size;
	size_t used;
	char data[];
};

void
arena_init(struct arena *a)
{
	a->first = NULL;
}

static void
arena_free_from(struct arena_chunk *c)
{
	struct arena_chunk *next;

	for (; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
}

void
arena_fini(struct arena *a)
{
	arena_free_from(a->first);
	a->first = NULL;
}

void
arena_reset(struct arena *a)
{
	if (a->first == NULL)
		return;
	/* Chunks grow, so the head is mostly the largest. */
	arena_free_from(a->first->next);
	a->first->next = NULL;
	a->first->used = 0;
}

static void
arena_grow(struct arena *a, size_t len)
{
	struct arena_chunk *c;
	size_t size;

	size = a->first == NULL ? ARENA_FIRST : a->first->size * 2;
	if (size > ARENA_MOST)
		size = ARENA_MOST;
	if (size < len)
		size = len;
	c = xmalloc(sizeof(*c) + size);
	c->size = size;
	c->used = 0;
	c->next = a->first;
	a->first = c;
}

char *
arena_alloc(struct arena *a, size_t len)
{
	char *p;

	if (a->first == NULL || len > a->first->size - a->first->used)
		arena_grow(a, len);
	p = a->first->data + a->first->used;
	a->first->used += len;
	return p;
}

char *
arena_dup(struct arena *a, const char *s, size_t len)
{
	char *p;

	p = arena_alloc(a, len + 1);
	if (len > 0)
		memcpy(p, s, len);
	p[len] = '\0';
	return p;
}
