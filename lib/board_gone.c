/*
 * What the processes have counted that are gone.  Their area has no process
 * and is written by qod alone.
 */
#include <string.h>

#include "board_int.h"

struct board_area *
board_gone(struct board *b)
{
	struct board_area *a;
	size_t i, n = board_entries(b);

	if (b->gone > 0)
		return board_area_get(b, b->gone - 1);
	for (i = 0; i < n; i++) {
		if ((a = board_area_get(b, i)) == NULL ||
		    a->entry.role != ROLE_GONE)
			continue;
		b->gone = i + 1;
		return a;
	}
	return NULL;
}

uint64_t
board_moves(const struct board *b)
{
	/* Neither what is read before nor after may pass it. */
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load(&b->dir->moves);
}

/* Where a handler's counts go; the last row takes all for whom there is no
 * room, under a name that no section can have: a sum has one row for both. */
static struct handler_row *
gone_row(struct board_area *gone, const struct board_handler *of)
{
	struct board_handler h;
	size_t i;

	for (i = 0; i < GONE_MAX - 1; i++) {
		if (board_handler_read(gone, i, &h) &&
		    (strcmp(h.name, of->name) != 0 ||
			strcmp(h.type, of->type) != 0))
			continue;
		board_handler_name(gone, i, of->name, of->type);
		return &gone->handlers[i];
	}
	board_handler_name(gone, i, BOARD_REST, BOARD_REST);
	return &gone->handlers[i];
}

static void
add_handler(struct handler_row *to, const struct board_handler *h)
{
	size_t i;

	for (i = 0; i < BOARD_ENDS; i++)
		atomic_fetch_add_explicit(&to->ends[i], h->ends[i],
		    memory_order_relaxed);
	for (i = 0; i < BOARD_STEPS; i++)
		atomic_fetch_add_explicit(&to->steps[i], h->steps[i],
		    memory_order_relaxed);
	atomic_fetch_add_explicit(&to->sum_ms, h->sum_ms, memory_order_relaxed);
}

static void
add_counts(struct board_area *gone, const struct board_area *a)
{
	struct board_handler h;
	size_t i;

	for (i = 0; i < BOARD_COUNTERS; i++)
		board_add(gone, (unsigned)i,
		    atomic_load_explicit(&a->mem->counters[i],
			memory_order_relaxed));
	for (i = 0; i < a->entry.nhandlers; i++)
		if (board_handler_read(a, i, &h))
			add_handler(gone_row(gone, &h), &h);
}

/* NULL: there is no room for it; then a sum will fall, and that is all. */
static struct board_area *
make_gone(struct board *b)
{
	struct board_area *gone = board_gone(b);
	struct qo_err err;

	if (gone == NULL) {
		(void)board_alloc(b, (enum board_role)ROLE_GONE, 0, 0, 0,
		    GONE_MAX, &err);
		gone = board_gone(b);
	}
	return gone;
}

void
board_release(struct board *b, int64_t offset)
{
	struct board_area *a, *gone;

	if (board_at(b, offset) == NULL)
		return;
	gone = make_gone(b);
	a = board_at(b, offset);
	atomic_fetch_add(&b->dir->moves, 1);
	atomic_thread_fence(memory_order_seq_cst);
	if (gone != NULL)
		add_counts(gone, a);
	a->entry.role = BOARD_FREE;
	board_publish(b, a->place, &a->entry);
	atomic_fetch_add(&b->dir->moves, 1);
}

void
board_restarted(struct board *b)
{
	struct board_area *gone = make_gone(b);

	if (gone != NULL)
		board_add(gone, BOARD_RESTARTS, 1);
}
