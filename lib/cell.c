#include <string.h>

#include "cell.h"

#define TRIES 1000

void
cell_put(_Atomic uint64_t *seq, _Atomic uint64_t *words, const void *p,
    size_t size)
{
	const char *from = p;
	uint64_t now, w;
	size_t i, n = CELL_WORDS(size), part;

	now = atomic_load_explicit(seq, memory_order_relaxed);
	words += ((now + 1) & 1) * n;
	/* The last switch is seen before anything written here, so that who
	 * still reads this copy notices. */
	atomic_thread_fence(memory_order_release);
	for (i = 0; i < n; i++) {
		part = size - i * 8 < 8 ? size - i * 8 : 8;
		w = 0;
		memcpy(&w, from + i * 8, part);
		atomic_store_explicit(&words[i], w, memory_order_relaxed);
	}
	atomic_store_explicit(seq, now + 1, memory_order_release);
}

static void
copy_out(const _Atomic uint64_t *words, char *to, size_t size)
{
	uint64_t w;
	size_t i, n = CELL_WORDS(size), part;

	for (i = 0; i < n; i++) {
		w = atomic_load_explicit(&words[i], memory_order_relaxed);
		part = size - i * 8 < 8 ? size - i * 8 : 8;
		memcpy(to + i * 8, &w, part);
	}
}

bool
cell_get(const _Atomic uint64_t *seq, const _Atomic uint64_t *words, void *p,
    size_t size)
{
	uint64_t before, after;
	int tries;

	for (tries = 0; tries < TRIES; tries++) {
		before = atomic_load_explicit(seq, memory_order_acquire);
		copy_out(words + (before & 1) * CELL_WORDS(size), p, size);
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(seq, memory_order_relaxed);
		/* A write of the other copy may be under way; that does not
		 * matter. */
		if (after == before)
			return true;
	}
	return false;
}
