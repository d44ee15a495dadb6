/*
 * arena.h - many small strings that live and die together.
 *
 * Memory comes in chunks that never move: a pointer into the arena is good
 * until arena_reset or arena_fini.  For results whose total size is bounded
 * by something else, such as the document they were read from.
 */
#ifndef ARENA_H
#define ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *first; /* the chunk in use is at the head */
};

void arena_init(struct arena *a);
void arena_fini(struct arena *a); /* frees; may be init'ed again */
/* Everything in it is gone; memory for the next round is kept. */
void arena_reset(struct arena *a);
/* len bytes without alignment. */
char *arena_alloc(struct arena *a, size_t len);
/* A copy with a NUL behind it; s may hold NULs. */
char *arena_dup(struct arena *a, const char *s, size_t len);

#endif
