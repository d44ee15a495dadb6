#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board_int.h"
#include "clock.h"
#include "log.h"
#include "xalloc.h"

#define MAGIC UINT64_C(0x6472616f622d6f71) /* "qo-board" */
/* One more whenever something means something else and has the same size. */
#define LAYOUT 1

static const int64_t step_ms[BOARD_STEPS - 1] = { 5, 10, 25, 50, 100, 250, 500,
	1000, 2500, 5000, 10000, 60000, 600000 };

/* Processes of two versions must not read each other's numbers. */
static uint64_t
layout(void)
{
	static const uint64_t parts[] = { LAYOUT, sizeof(struct directory),
		sizeof(struct shared), sizeof(struct handler_row),
		sizeof(struct slot), BOARD_COUNTERS, BOARD_S3_OPS };
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		all = all * UINT64_C(1000003) + parts[i];
	return all;
}

static size_t
round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static size_t
area_size(size_t nslots, size_t nhandlers)
{
	return sizeof(struct shared) + nhandlers * sizeof(struct handler_row) +
	    nslots * sizeof(struct slot);
}

static void
area_at(struct board_area *a, void *mem, const struct entry *e)
{
	a->mem = mem;
	a->entry = *e;
	a->handlers = (struct handler_row *)((char *)mem +
	    sizeof(struct shared));
	a->slots = (struct slot *)(a->handlers + e->nhandlers);
}

/* The whole */

static struct board *
board_map(int fd, bool writable, struct qo_err *err)
{
	struct board *b;
	void *map;

	map = mmap(NULL, MAP_SIZE,
	    writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		qo_err_sys(err, errno, "mapping the scoreboard");
		close(fd);
		return NULL;
	}
	b = xcalloc(1, sizeof(*b));
	b->fd = fd;
	b->writable = writable;
	b->page = (size_t)sysconf(_SC_PAGESIZE);
	if (b->page < ALIGN)
		b->page = ALIGN;
	b->map = map;
	b->dir = map;
	return b;
}

struct board *
board_create(struct qo_err *err)
{
	struct board *b;
	int fd;

	fd = memfd_create("qo-board", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd == -1) {
		qo_err_sys(err, errno, "making the scoreboard");
		return NULL;
	}
	/* Whoever else has it can not make it shorter, which would kill us. */
	if (ftruncate(fd, (off_t)sizeof(struct directory)) == -1 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) == -1) {
		qo_err_sys(err, errno, "making the scoreboard");
		close(fd);
		return NULL;
	}
	if ((b = board_map(fd, true, err)) == NULL)
		return NULL;
	b->dir->layout = layout();
	b->dir->magic = MAGIC;
	return b;
}

static bool
board_sound(int fd, struct qo_err *err)
{
	struct stat st;

	if (fstat(fd, &st) == -1) {
		qo_err_sys(err, errno, "scoreboard on descriptor %d", fd);
		return false;
	}
	if (!S_ISREG(st.st_mode) ||
	    st.st_size < (off_t)sizeof(struct directory)) {
		qo_err_set(err, "descriptor %d is no scoreboard", fd);
		return false;
	}
	return true;
}

struct board *
board_open(int fd, bool writable, struct qo_err *err)
{
	struct board *b;

	if (!board_sound(fd, err)) {
		close(fd);
		return NULL;
	}
	if ((b = board_map(fd, writable, err)) == NULL)
		return NULL;
	if (b->dir->magic == MAGIC && b->dir->layout == layout())
		return b;
	qo_err_set(err,
	    b->dir->magic == MAGIC
		? "the scoreboard is that of another version of qo"
		: "descriptor %d is no scoreboard",
	    fd);
	board_free(b);
	return NULL;
}

void
board_free(struct board *b)
{
	size_t i;

	if (b == NULL)
		return;
	for (i = 0; i < AREAS_MAX; i++)
		free(b->areas[i]);
	munmap(b->map, MAP_SIZE);
	close(b->fd);
	free(b);
}

int
board_fd(const struct board *b)
{
	return b->fd;
}

/* The directory */

size_t
board_entries(const struct board *b)
{
	uint64_t n;

	n = atomic_load_explicit(&b->dir->used, memory_order_acquire);
	return n < AREAS_MAX ? (size_t)n : AREAS_MAX;
}

void
board_publish(struct board *b, size_t place, const struct entry *e)
{
	cell_write(&b->dir->entries[place], e);
	if (place >= board_entries(b))
		atomic_store_explicit(&b->dir->used, place + 1,
		    memory_order_release);
}

/* The free area that wastes least, or AREAS_MAX; *end: of all areas. */
static size_t
find_free(struct board *b, size_t need, size_t *end)
{
	size_t i, best = AREAS_MAX, n = board_entries(b);
	int64_t best_size = INT64_MAX;
	struct entry e;

	*end = round_up(sizeof(struct directory), b->page);
	for (i = 0; i < n; i++) {
		if (!cell_read(&b->dir->entries[i], &e))
			continue;
		if ((size_t)(e.offset + e.size) > *end)
			*end = (size_t)(e.offset + e.size);
		if (e.role == BOARD_FREE && (size_t)e.size >= need &&
		    e.size < best_size) {
			best = i;
			best_size = e.size;
		}
	}
	return best;
}

static int
grow(struct board *b, size_t end, struct qo_err *err)
{
	if (board_entries(b) == AREAS_MAX || end > MAP_SIZE) {
		qo_err_set(err,
		    "the scoreboard is full (%d processes, %zu MiB)", AREAS_MAX,
		    MAP_SIZE >> 20);
		return -1;
	}
	if (ftruncate(b->fd, (off_t)end) == -1) {
		qo_err_sys(err, errno, "growing the scoreboard");
		return -1;
	}
	return 0;
}

static int
check_wish(const struct board *b, size_t nslots, size_t nhandlers,
    struct qo_err *err)
{
	if (!b->writable)
		qo_bug("board_alloc in a child");
	if (nslots <= SLOTS_MAX && nhandlers <= HANDLERS_MAX)
		return 0;
	qo_err_set(err, "more than %d slots or %d handlers for one process",
	    SLOTS_MAX, HANDLERS_MAX);
	return -1;
}

int64_t
board_alloc(struct board *b, enum board_role role, int index, int generation,
    size_t nslots, size_t nhandlers, struct qo_err *err)
{
	struct entry e;
	size_t place, need, end;

	if (check_wish(b, nslots, nhandlers, err) == -1)
		return -1;
	need = round_up(area_size(nslots, nhandlers), b->page);
	place = find_free(b, need, &end);
	memset(&e, 0, sizeof(e));
	if (place != AREAS_MAX) {
		(void)cell_read(&b->dir->entries[place], &e);
		memset(b->map + e.offset, 0, (size_t)e.size);
	} else {
		if (grow(b, end + need, err) == -1)
			return -1;
		place = board_entries(b);
		e.offset = (int64_t)end;
		e.size = (int64_t)need;
	}
	e.role = (int32_t)role;
	e.index = index;
	e.generation = generation;
	e.nslots = (uint32_t)nslots;
	e.nhandlers = (uint32_t)nhandlers;
	e.uses++;
	board_publish(b, place, &e);
	return e.offset;
}

static bool
entry_sound(const struct board *b, const struct entry *e)
{
	return e->role != BOARD_FREE && e->offset > 0 && e->size > 0 &&
	    (size_t)e->offset < MAP_SIZE &&
	    (size_t)e->size <= MAP_SIZE - (size_t)e->offset &&
	    (size_t)e->offset % b->page == 0 &&
	    area_size(e->nslots, e->nhandlers) <= (size_t)e->size;
}

struct board_area *
board_area_get(struct board *b, size_t place)
{
	struct board_area *a;
	struct entry e;

	if (!cell_read(&b->dir->entries[place], &e) || !entry_sound(b, &e))
		return NULL;
	if ((a = b->areas[place]) == NULL)
		a = b->areas[place] = xcalloc(1, sizeof(*a));
	a->place = place;
	area_at(a, b->map + e.offset, &e);
	return a;
}

struct board_area *
board_at(struct board *b, int64_t offset)
{
	struct board_area *a;
	size_t i, n = board_entries(b);

	for (i = 0; i < n; i++)
		if ((a = board_area_get(b, i)) != NULL &&
		    a->entry.role != ROLE_GONE && a->entry.offset == offset)
			return a;
	return NULL;
}

struct board_area *
board_next(struct board *b, const struct board_area *prev)
{
	struct board_area *a;
	size_t i, n = board_entries(b);

	for (i = prev == NULL ? 0 : prev->place + 1; i < n; i++)
		if ((a = board_area_get(b, i)) != NULL &&
		    a->entry.role != ROLE_GONE)
			return a;
	return NULL;
}

int64_t
board_offset(const struct board_area *a)
{
	return a->entry.offset;
}

/* Writing */

static void
note_start(struct board_area *a)
{
	atomic_store(&a->mem->started_ms, qo_wall_local().us / QO_US_PER_MS);
	atomic_store(&a->mem->pid, getpid());
}

struct board_area *
board_own(struct board *b, int64_t offset, struct qo_err *err)
{
	struct board_area *a;

	if ((a = board_at(b, offset)) == NULL) {
		qo_err_set(err, "no area at %lld of the scoreboard",
		    (long long)offset);
		return NULL;
	}
	if (mprotect(a->mem, (size_t)a->entry.size, PROT_READ | PROT_WRITE) ==
	    -1) {
		qo_err_sys(err, errno, "area of the scoreboard");
		return NULL;
	}
	note_start(a);
	return a;
}

struct board_area *
board_private(enum board_role role, size_t nslots, size_t nhandlers)
{
	struct board_area *a;
	struct entry e;

	memset(&e, 0, sizeof(e));
	e.role = (int32_t)role;
	e.nslots = (uint32_t)nslots;
	e.nhandlers = (uint32_t)nhandlers;
	a = xcalloc(1, sizeof(*a));
	area_at(a, xcalloc(1, area_size(nslots, nhandlers)), &e);
	note_start(a);
	return a;
}

void
board_private_free(struct board_area *a)
{
	if (a == NULL)
		return;
	free(a->mem);
	free(a);
}

void
board_add(struct board_area *a, unsigned counter, uint64_t n)
{
	if (counter < BOARD_COUNTERS)
		atomic_fetch_add_explicit(&a->mem->counters[counter], n,
		    memory_order_relaxed);
}

void
board_set_counter(struct board_area *a, unsigned counter, uint64_t n)
{
	if (counter < BOARD_COUNTERS)
		atomic_store_explicit(&a->mem->counters[counter], n,
		    memory_order_relaxed);
}

void
board_gauge(struct board_area *a, enum board_gauge g, int64_t value)
{
	if ((unsigned)g < BOARD_GAUGES)
		atomic_store_explicit(&a->mem->gauges[g], value,
		    memory_order_relaxed);
}

void
board_set_state(struct board_area *a, enum board_state state)
{
	atomic_store(&a->mem->state, (int64_t)state);
}

void
board_set_name(struct board_area *a, const char *name)
{
	struct name n;

	memset(&n, 0, sizeof(n));
	strlcpy(n.text, name, sizeof(n.text));
	cell_write(&a->mem->name, &n);
}

void
board_set_note(struct board_area *a, const char *note)
{
	struct note n;

	memset(&n, 0, sizeof(n));
	strlcpy(n.text, note, sizeof(n.text));
	cell_write(&a->mem->note, &n);
}

static void
slot_write(struct board_area *a, size_t slot, const struct board_task *t)
{
	struct board_task old;
	int64_t change;

	if (slot >= a->entry.nslots)
		qo_bug("slot %zu of %u", slot, a->entry.nslots);
	change = board_slot_read(a, slot, &old) ? -1 : 0;
	change += t->task_id[0] != '\0' ? 1 : 0;
	cell_write(&a->slots[slot].task, t);
	if (change != 0)
		atomic_fetch_add_explicit(&a->mem->gauges[BOARD_RUNNING],
		    change, memory_order_relaxed);
}

void
board_slot_set(struct board_area *a, size_t slot, const struct board_task *t)
{
	if (t->task_id[0] == '\0')
		qo_bug("slot %zu set without a task", slot);
	slot_write(a, slot, t);
}

void
board_slot_clear(struct board_area *a, size_t slot)
{
	struct board_task none;

	memset(&none, 0, sizeof(none));
	slot_write(a, slot, &none);
}

void
board_handler_name(struct board_area *a, size_t i, const char *name,
    const char *type)
{
	struct label l;

	if (i >= a->entry.nhandlers)
		return;
	memset(&l, 0, sizeof(l));
	strlcpy(l.name, name, sizeof(l.name));
	strlcpy(l.type, type, sizeof(l.type));
	cell_write(&a->handlers[i].label, &l);
}

void
board_task_ended(struct board_area *a, size_t i, enum board_counter how)
{
	if (how < BOARD_COMPLETED || how > BOARD_LOST)
		qo_bug("%d is no end of a task", (int)how);
	board_add(a, how, 1);
	if (i < a->entry.nhandlers)
		atomic_fetch_add_explicit(&a->handlers[i]
					       .ends[how - BOARD_COMPLETED],
		    1, memory_order_relaxed);
}

void
board_handler_ran(struct board_area *a, size_t i, int64_t ms)
{
	struct handler_row *h;
	size_t step = 0;

	if (i >= a->entry.nhandlers)
		return;
	h = &a->handlers[i];
	while (step < BOARD_STEPS - 1 && ms > step_ms[step])
		step++;
	atomic_fetch_add_explicit(&h->steps[step], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->sum_ms, ms > 0 ? (uint64_t)ms : 0,
	    memory_order_relaxed);
}

/* Reading */

static int64_t
number(const _Atomic int64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static enum board_state
state_of(const struct shared *m)
{
	int64_t s = number(&m->state);

	return s >= BOARD_STARTING && s <= BOARD_DRAINING ? (enum board_state)s
							  : BOARD_STARTING;
}

void
board_read(const struct board_area *a, struct board_info *out)
{
	const struct shared *m = a->mem;
	struct name name;
	struct note note;
	size_t i;

	memset(out, 0, sizeof(*out));
	out->role = (enum board_role)a->entry.role;
	out->state = state_of(m);
	out->pid = (pid_t)number(&m->pid);
	out->index = a->entry.index;
	out->generation = a->entry.generation;
	out->started_ms = number(&m->started_ms);
	out->nslots = a->entry.nslots;
	out->nhandlers = a->entry.nhandlers;
	if (cell_read(&m->name, &name))
		(void)snprintf(out->name, sizeof(out->name), "%.*s",
		    (int)sizeof(name.text) - 1, name.text);
	if (cell_read(&m->note, &note))
		(void)snprintf(out->note, sizeof(out->note), "%.*s",
		    (int)sizeof(note.text) - 1, note.text);
	for (i = 0; i < BOARD_COUNTERS; i++)
		out->counters[i] = atomic_load_explicit(&m->counters[i],
		    memory_order_relaxed);
	for (i = 0; i < BOARD_GAUGES; i++)
		out->gauges[i] = number(&m->gauges[i]);
}

bool
board_slot_read(const struct board_area *a, size_t slot, struct board_task *out)
{
	if (slot >= a->entry.nslots || !cell_read(&a->slots[slot].task, out))
		return false;
	out->task_id[BOARD_ID - 1] = '\0';
	out->lease_id[BOARD_ID - 1] = '\0';
	out->type[BOARD_NAME - 1] = '\0';
	if (out->handler <= 1) /* never the name of everybody */
		out->handler = 0;
	return out->task_id[0] != '\0';
}

bool
board_handler_read(const struct board_area *a, size_t i,
    struct board_handler *out)
{
	const struct handler_row *h;
	struct label label;
	size_t j;

	if (i >= a->entry.nhandlers)
		return false;
	h = &a->handlers[i];
	memset(out, 0, sizeof(*out));
	if (!cell_read(&h->label, &label) || label.name[0] == '\0')
		return false;
	(void)snprintf(out->name, sizeof(out->name), "%.*s",
	    (int)sizeof(label.name) - 1, label.name);
	(void)snprintf(out->type, sizeof(out->type), "%.*s",
	    (int)sizeof(label.type) - 1, label.type);
	for (j = 0; j < BOARD_ENDS; j++)
		out->ends[j] = atomic_load_explicit(&h->ends[j],
		    memory_order_relaxed);
	for (j = 0; j < BOARD_STEPS; j++)
		out->steps[j] = atomic_load_explicit(&h->steps[j],
		    memory_order_relaxed);
	out->sum_ms = atomic_load_explicit(&h->sum_ms, memory_order_relaxed);
	return true;
}

int64_t
board_step_ms(size_t step)
{
	return step < BOARD_STEPS - 1 ? step_ms[step] : INT64_MAX;
}

const char *
board_role_name(enum board_role role)
{
	static const char *const names[] = { "free", "store", "monitor",
		"sweeper", "worker" };

	return (unsigned)role < 5 ? names[role] : "?";
}

const char *
board_state_name(enum board_state state)
{
	static const char *const names[] = { "starting", "ready", "draining" };

	return (unsigned)state < 3 ? names[state] : "?";
}
