#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "loop.h"
#include "xalloc.h"

#define BATCH 128

struct loop {
	int epfd;
	bool stopping;
	struct qo_mono now;
	/* Binary heap by due time; a timer knows its slot, so that moving and
	 * deleting cost O(log n). */
	struct loop_timer **heap;
	size_t timers, heap_cap;
	bool in_timers; /* timers are being run */
	struct loop_task *tasks, **tasks_tail;
	size_t ntasks;
	/* The batch being worked on: loop_io_del clears what it deletes. */
	struct epoll_event batch[BATCH];
	int batch_len, batch_pos;
};

struct loop *
loop_new(void)
{
	struct loop *l;

	l = xcalloc(1, sizeof(*l));
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epfd == -1)
		fatal("epoll_create1");
	l->tasks_tail = &l->tasks;
	l->now = qo_mono_now();
	return l;
}

void
loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	close(l->epfd);
	free(l->heap);
	free(l);
}

struct qo_mono
loop_now(const struct loop *l)
{
	return l->now;
}

/* Descriptors */

static int
epoll_change(struct loop *l, int op, struct loop_io *io, uint32_t events)
{
	struct epoll_event ev;

	memset(&ev, 0, sizeof(ev));
	ev.events = events;
	ev.data.ptr = io;
	return epoll_ctl(l->epfd, op, io->fd, &ev);
}

/* A private bit says "added", so that interest in nothing is not 0. */
#define IO_ADDED (UINT32_C(1) << 20)

int
loop_io_add(struct loop *l, struct loop_io *io, int fd, uint32_t events,
    void (*cb)(struct loop_io *io, uint32_t events), void *arg)
{
	io->fd = fd;
	io->cb = cb;
	io->arg = arg;
	if (epoll_change(l, EPOLL_CTL_ADD, io, events) == -1) {
		io->events = 0;
		return -1;
	}
	io->events = events | IO_ADDED;
	return 0;
}

void
loop_io_set(struct loop *l, struct loop_io *io, uint32_t events)
{
	if (io->events == (events | IO_ADDED))
		return;
	if (epoll_change(l, EPOLL_CTL_MOD, io, events) == -1)
		fatal("epoll_ctl fd %d", io->fd);
	io->events = events | IO_ADDED;
}

void
loop_io_del(struct loop *l, struct loop_io *io)
{
	int i;

	if (io->events == 0)
		return;
	/* EBADF, ENOENT: closed before us, which also removed it. */
	epoll_change(l, EPOLL_CTL_DEL, io, 0);
	io->events = 0;
	for (i = l->batch_pos; i < l->batch_len; i++)
		if (l->batch[i].data.ptr == io)
			l->batch[i].data.ptr = NULL;
}

/* Timers */

static void
heap_put(struct loop *l, size_t i, struct loop_timer *t)
{
	l->heap[i] = t;
	t->slot = i + 1;
}

static void
heap_up(struct loop *l, size_t i)
{
	struct loop_timer *t = l->heap[i];
	size_t parent;

	while (i > 0) {
		parent = (i - 1) / 2;
		if (l->heap[parent]->due.us <= t->due.us)
			break;
		heap_put(l, i, l->heap[parent]);
		i = parent;
	}
	heap_put(l, i, t);
}

static void
heap_down(struct loop *l, size_t i)
{
	struct loop_timer *t = l->heap[i];
	size_t kid;

	for (;;) {
		kid = 2 * i + 1;
		if (kid >= l->timers)
			break;
		if (kid + 1 < l->timers &&
		    l->heap[kid + 1]->due.us < l->heap[kid]->due.us)
			kid++;
		if (t->due.us <= l->heap[kid]->due.us)
			break;
		heap_put(l, i, l->heap[kid]);
		i = kid;
	}
	heap_put(l, i, t);
}

void
loop_timer_set(struct loop *l, struct loop_timer *t, struct qo_mono due,
    void (*cb)(struct loop_timer *t), void *arg)
{
	/* A timer that a timer sets for "now" waits for the next turn and can
	 * not starve the descriptors. */
	if (l->in_timers && due.us <= l->now.us)
		due.us = l->now.us + 1;
	t->due = due;
	t->cb = cb;
	t->arg = arg;
	if (t->slot == 0) {
		if (l->timers == l->heap_cap) {
			l->heap_cap = l->heap_cap == 0 ? 64 : l->heap_cap * 2;
			l->heap = xreallocarray(l->heap, l->heap_cap,
			    sizeof(*l->heap));
		}
		heap_put(l, l->timers++, t);
	}
	heap_up(l, t->slot - 1);
	heap_down(l, t->slot - 1);
}

void
loop_timer_set_ms(struct loop *l, struct loop_timer *t, int64_t ms,
    void (*cb)(struct loop_timer *t), void *arg)
{
	loop_timer_set(l, t, qo_mono_add_ms(qo_mono_now(), ms), cb, arg);
}

void
loop_timer_del(struct loop *l, struct loop_timer *t)
{
	struct loop_timer *last;
	size_t i;

	if (t->slot == 0)
		return;
	i = t->slot - 1;
	t->slot = 0;
	last = l->heap[--l->timers];
	if (last == t)
		return;
	heap_put(l, i, last);
	heap_up(l, i);
	heap_down(l, last->slot - 1);
}

static void
run_timers(struct loop *l)
{
	struct loop_timer *t;

	l->in_timers = true;
	while (l->timers > 0 && l->heap[0]->due.us <= l->now.us) {
		t = l->heap[0];
		loop_timer_del(l, t);
		t->cb(t);
	}
	l->in_timers = false;
}

/* Deferred calls */

void
loop_defer(struct loop *l, struct loop_task *t, void (*cb)(struct loop_task *t),
    void *arg)
{
	t->cb = cb;
	t->arg = arg;
	if (t->queued)
		return;
	t->queued = true;
	t->next = NULL;
	*l->tasks_tail = t;
	l->tasks_tail = &t->next;
	l->ntasks++;
}

void
loop_defer_del(struct loop *l, struct loop_task *t)
{
	struct loop_task **p;

	if (!t->queued)
		return;
	for (p = &l->tasks; *p != t; p = &(*p)->next)
		continue;
	*p = t->next;
	if (l->tasks_tail == &t->next)
		l->tasks_tail = p;
	t->queued = false;
	l->ntasks--;
}

/* As many as there are now: one that queues itself again must not keep the
 * descriptors waiting.  Those queued meanwhile run at the next turn, which
 * does not sleep before. */
static bool
run_tasks(struct loop *l)
{
	struct loop_task *t;
	size_t n = l->ntasks;
	bool any = n > 0;

	for (; n > 0 && (t = l->tasks) != NULL; n--) {
		loop_defer_del(l, t);
		t->cb(t);
	}
	return any;
}

/* The turn */

static int
wait_ms(const struct loop *l, int64_t max_ms)
{
	int64_t ms = max_ms;
	int64_t us;

	if (l->timers > 0) {
		us = qo_mono_diff_us(qo_mono_now(), l->heap[0]->due);
		/* Rounded up: waking early would spin until it is due. */
		us = us <= 0 ? 0 : (us + QO_US_PER_MS - 1) / QO_US_PER_MS;
		if (ms < 0 || us < ms)
			ms = us;
	}
	return ms > 3600000 ? 3600000 : (int)ms;
}

void
loop_once(struct loop *l, int64_t max_ms)
{
	struct loop_io *io;
	int n;

	/* A call may have brought about what the caller waits for. */
	if (run_tasks(l))
		max_ms = 0;
	n = epoll_wait(l->epfd, l->batch, BATCH, wait_ms(l, max_ms));
	if (n == -1 && errno != EINTR)
		fatal("epoll_wait");
	l->now = qo_mono_now();
	l->batch_len = n > 0 ? n : 0;
	for (l->batch_pos = 0; l->batch_pos < l->batch_len;) {
		io = l->batch[l->batch_pos].data.ptr;
		n = l->batch_pos++;
		if (io != NULL)
			io->cb(io, l->batch[n].events);
	}
	l->batch_len = 0;
	run_timers(l);
	run_tasks(l);
}

void
loop_run(struct loop *l)
{
	l->stopping = false;
	while (!l->stopping)
		loop_once(l, -1);
}

void
loop_stop(struct loop *l)
{
	l->stopping = true;
}
