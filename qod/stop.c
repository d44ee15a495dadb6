#include "child.h"
#include "log.h"
#include "notify.h"
#include "reload.h"
#include "stop.h"
#include "supervise.h"
#include "upgrade.h"

#define HAND_BACK_MS 10000 /* a stop waits so long for a monitor's answers */

static void
count_alive(const struct qod *q, size_t alive[RULES_STAGES])
{
	const struct child *c;
	int i;

	for (i = 0; i < RULES_STAGES; i++)
		alive[i] = 0;
	TAILQ_FOREACH (c, &q->children, entry)
		alive[c->role->stage]++;
}

static void
end_child(struct qod *q, struct child *c)
{
	if (!child_is_live(c)) {
		child_free(c);
	} else if (q->now && !c->told_now) {
		c->told_now = c->told_end = true;
		child_now(c);
	} else if (!c->told_end) {
		c->told_end = true;
		child_drain(c, q->gen->conf->qod.drain_timeout_ms);
	}
}

static void
on_stage_timer(struct loop_timer *t)
{
	qod_changed(t->arg);
}

void
stop_go_on(struct qod *q)
{
	size_t alive[RULES_STAGES];
	struct child *c, *next;
	enum rules_stage stage;
	bool waited = loop_timer_is_set(&q->stage_timer);

	count_alive(q, alive);
	if (alive[RULES_STAGE_WORK] == 0 && !q->workless) {
		q->workless = true;
		loop_timer_set_ms(q->loop, &q->stage_timer, HAND_BACK_MS,
		    on_stage_timer, q);
		waited = true;
	}
	stage = rules_stop(alive, q->nlost, q->workless && !waited);
	for (c = TAILQ_FIRST(&q->children); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (c->role->stage <= stage)
			end_child(q, c);
	}
	supervise_start(q); /* whoever is still needed */
	if (TAILQ_EMPTY(&q->children))
		loop_stop(q->loop);
}

void
qod_stop(struct qod *q, bool now)
{
	if (q->stopping && q->now)
		return;
	if (!q->stopping) {
		log_info("stopping%s", now ? " now" : "");
		notify_send("STOPPING=1");
		reload_abandon(q);
		upgrade_abandon(q);
	} else {
		log_info("stopping now: running tasks go back to the queue");
		now = true;
	}
	q->stopping = true;
	q->now = now;
	qod_changed(q);
}
