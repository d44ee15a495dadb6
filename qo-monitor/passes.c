#include <stdlib.h>
#include <string.h>

#include "passes.h"
#include "xalloc.h"

enum {
	LEASES = 0,
	READY,
	FAILED,
	NPASSES
};

#define LEASE_WINDOW  32
#define OTHER_WINDOW  8
#define PAGES_MAX     10 /* of a turn of the others */
#define LOOKS_MAX     100
#define CLAIM_TIME_MS 60000 /* a younger ready entry is left to workers */
/* The store's clock is known to a second only: what is new may seem to come
 * from the future. */
#define ANY_AGE_MS (-3600000)

struct timed_pass {
	struct passes *all;
	int which;
	int64_t interval_ms;
	struct pass pass;
	struct loop_timer timer;
	bool busy;
};

struct passes {
	struct monitor *m;
	struct timed_pass passes[NPASSES];
	bool once, stopping;
	struct loop_task check; /* of stop: is all over? */
	void (*done)(void *arg);
	void *arg;
};

static void
gauge_age(struct monitor *m, struct qo_wall since)
{
	struct qo_wall now = qo_queue_now(m->q);
	int64_t ms = -1;

	if (qo_wall_is_set(since))
		ms = (now.us - since.us) / QO_US_PER_MS;
	board_gauge(m->area, BOARD_OLDEST_READY_MS,
	    qo_wall_is_set(since) && ms < 0 ? 0 : ms);
}

static void
publish(const struct timed_pass *t)
{
	struct monitor *m = t->all->m;
	const struct pass *p = &t->pass;

	switch (t->which) {
	case LEASES:
		board_gauge(m->area, BOARD_LEASES, (int64_t)p->seen);
		break;
	case READY:
		board_gauge(m->area, BOARD_READY_TASKS, (int64_t)p->entries);
		gauge_age(m, p->oldest);
		break;
	case FAILED:
		board_gauge(m->area, BOARD_FAILED_TASKS, (int64_t)p->entries);
		break;
	}
}

static void
end_if_idle(struct passes *ps)
{
	void (*done)(void *arg) = ps->done;
	size_t i;

	for (i = 0; i < NPASSES; i++)
		if (ps->passes[i].busy)
			return;
	ps->done = NULL;
	if (done != NULL)
		done(ps->arg);
}

static void on_due(struct loop_timer *timer);

static void
on_turn(struct pass *p)
{
	struct timed_pass *t = p->arg;
	struct passes *ps = t->all;

	health_note(ps->m->health, p->rc, &p->err, qo_mono_now());
	if (p->rc == QO_OK && p->round_over)
		publish(t);
	t->busy = false;
	if (ps->once || ps->stopping)
		end_if_idle(ps);
	else
		loop_timer_set_ms(ps->m->loop, &t->timer, t->interval_ms,
		    on_due, t);
}

static void
on_due(struct loop_timer *timer)
{
	struct timed_pass *t = timer->arg;

	t->busy = true;
	pass_start(&t->pass);
}

static void
add_pass(struct passes *ps, int which, const char *index, size_t window,
    int times)
{
	struct timed_pass *t = &ps->passes[which];

	t->all = ps;
	t->which = which;
	t->interval_ms = ps->m->conf->check_interval_ms * times;
	pass_init(&t->pass, ps->m, index, window);
	t->pass.done = on_turn;
	t->pass.arg = t;
}

static void
bound(struct pass *p, int64_t min_age_ms)
{
	p->min_age_ms = min_age_ms;
	p->pages_max = PAGES_MAX;
	p->looks_max = LOOKS_MAX;
}

struct passes *
passes_new(struct monitor *m)
{
	struct passes *ps = xcalloc(1, sizeof(*ps));
	int64_t grace_ms = m->conf->orphan_grace_ms;

	ps->m = m;
	add_pass(ps, LEASES, "leases/", LEASE_WINDOW, 1);
	add_pass(ps, READY, "ready", OTHER_WINDOW, 3);
	add_pass(ps, FAILED, "failed/", OTHER_WINDOW, 12);
	ps->passes[LEASES].pass.min_age_ms = ANY_AGE_MS;
	bound(&ps->passes[READY].pass,
	    grace_ms < CLAIM_TIME_MS ? grace_ms : CLAIM_TIME_MS);
	bound(&ps->passes[FAILED].pass, grace_ms);
	board_gauge(m->area, BOARD_READY_TASKS, -1);
	board_gauge(m->area, BOARD_OLDEST_READY_MS, -1);
	board_gauge(m->area, BOARD_LEASES, -1);
	board_gauge(m->area, BOARD_FAILED_TASKS, -1);
	return ps;
}

void
passes_free(struct passes *ps)
{
	size_t i;

	if (ps == NULL)
		return;
	for (i = 0; i < NPASSES; i++) {
		loop_timer_del(ps->m->loop, &ps->passes[i].timer);
		pass_fini(&ps->passes[i].pass);
	}
	loop_defer_del(ps->m->loop, &ps->check);
	free(ps);
}

void
passes_start(struct passes *ps)
{
	size_t i;

	for (i = 0; i < NPASSES; i++)
		loop_timer_set_ms(ps->m->loop, &ps->passes[i].timer, 0, on_due,
		    &ps->passes[i]);
}

void
passes_once(struct passes *ps, void (*done)(void *arg), void *arg)
{
	size_t i;

	ps->once = true;
	ps->done = done;
	ps->arg = arg;
	for (i = 0; i < NPASSES; i++) {
		ps->passes[i].pass.pages_max = ps->passes[i].pass.looks_max = 0;
		ps->passes[i].busy = true;
		pass_start(&ps->passes[i].pass);
	}
}

static void
on_check(struct loop_task *t)
{
	end_if_idle(t->arg);
}

void
passes_stop(struct passes *ps, void (*done)(void *arg), void *arg)
{
	size_t i;

	ps->stopping = true;
	ps->done = done;
	ps->arg = arg;
	for (i = 0; i < NPASSES; i++) {
		loop_timer_del(ps->m->loop, &ps->passes[i].timer);
		if (ps->passes[i].busy)
			pass_stop(&ps->passes[i].pass);
	}
	loop_defer(ps->m->loop, &ps->check, on_check, ps);
}
