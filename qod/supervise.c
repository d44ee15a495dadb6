#include <inttypes.h>
#include <sysexits.h>

#include "child.h"
#include "log.h"
#include "lost.h"
#include "reload.h"
#include "roles.h"
#include "stop.h"
#include "supervise.h"
#include "title.h"

/* Who is wanted */

/* One that can not overlap serves every generation. */
static bool
is_of(const struct child *c, const struct generation *gen)
{
	return !c->retired && (c->gen == gen || !c->role->overlaps);
}

static struct child *
find(const struct qod *q, const struct qod_role *role, int index,
    const struct generation *gen)
{
	struct child *c;

	TAILQ_FOREACH (c, &q->children, entry)
		if (c->role == role && c->index == index && is_of(c, gen))
			return c;
	return NULL;
}

static void
retire_beyond(struct qod *q, const struct qod_role *role, int n,
    const struct generation *gen)
{
	struct child *c, *next;

	for (c = TAILQ_FIRST(&q->children); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (c->role == role && c->index >= n && is_of(c, gen))
			child_retire(c);
	}
}

void
supervise_fill(struct qod *q, struct generation *gen)
{
	size_t r;
	int i, n;

	for (r = 0; r < qod_nroles; r++) {
		n = qod_roles[r].count(q, gen->conf);
		for (i = 0; i < n; i++)
			if (find(q, &qod_roles[r], i, gen) == NULL)
				child_new(q, &qod_roles[r], i, gen);
		retire_beyond(q, &qod_roles[r], n, gen);
	}
}

static bool
all_ready(const struct qod *q)
{
	const struct child *c;

	TAILQ_FOREACH (c, &q->children, entry)
		if (is_of(c, q->gen) && c->state != CHILD_READY)
			return false;
	return true;
}

static const struct child *
find_failed(const struct qod *q)
{
	const struct child *c;

	TAILQ_FOREACH (c, &q->children, entry)
		if (is_of(c, q->gen) && c->state == CHILD_FAILED)
			return c;
	return NULL;
}

/* All others need the store; once it was there they wait for themselves. */
static bool
may_start(struct qod *q, const struct child *c)
{
	const struct child *store;

	if (c->state != CHILD_DOWN || loop_timer_is_set(&c->timer))
		return false;
	if (c->role->kind == BOARD_STORE || q->store_up)
		return true;
	store = find(q, roles_find("store"), 0, q->gen);
	q->store_up = store == NULL || store->state == CHILD_READY;
	return q->store_up;
}

void
supervise_start(struct qod *q)
{
	struct child *c;

	TAILQ_FOREACH (c, &q->children, entry)
		if (may_start(q, c))
			child_start(c);
}

static void
announce(struct qod *q)
{
	char name[CHILD_NAME];
	const struct child *c;

	if (q->announced)
		return;
	c = find_failed(q);
	if (c != NULL) {
		log_event(LOG_LVL_ERROR, "can not start", "child",
		    child_name(c, name), "how", c->why, NULL);
		q->exit_code = EX_CONFIG;
		qod_stop(q, true);
		return;
	}
	if (!all_ready(q))
		return;
	q->announced = true;
	log_event(LOG_LVL_INFO, "ready", "ms",
	    LOG_NUM((qo_wall_local().us - q->started.us) / QO_US_PER_MS), NULL);
	reload_tell(q);
}

/* The turn */

static void
show_title(struct qod *q)
{
	int n = roles_find("worker")->count(q, q->gen->conf);

	if (n == q->shown_workers)
		return;
	q->shown_workers = n;
	title_set("master of %d worker%s", n, n == 1 ? "" : "s");
}

static void
on_turn(struct loop_task *t)
{
	struct qod *q = t->arg;

	if (q->stopping) {
		lost_send(q);
		stop_go_on(q);
		return;
	}
	supervise_fill(q, q->gen);
	supervise_start(q);
	reload_go_on(q);
	announce(q);
	show_title(q);
	lost_send(q);
}

void
qod_changed(struct qod *q)
{
	loop_defer(q->loop, &q->turn, on_turn, q);
}
