#include <inttypes.h>
#include <signal.h>

#include "child.h"
#include "log.h"
#include "notify.h"
#include "proc.h"
#include "watch.h"

#define START_PATIENCE 5 /* times stuck_after, for one that is not ready */

static void
look_at(struct child *c, int64_t elapsed_ms)
{
	int64_t limit = c->q->gen->conf->qod.stuck_after_ms;
	struct board_area *area = board_at(c->q->board, c->area);
	struct board_info info;
	char name[CHILD_NAME];

	if (!child_is_live(c) || area == NULL)
		return;
	board_read(area, &info);
	if (!rules_stuck(&c->beat, info.gauges[BOARD_HEARTBEAT_MS], elapsed_ms,
		rules_look_ms(limit),
		c->state == CHILD_STARTING ? limit * START_PATIENCE : limit))
		return;
	log_event(LOG_LVL_WARN, "is stuck: SIGKILL", "child",
	    child_name(c, name), "child_pid", LOG_NUM(c->pid), "still_ms",
	    LOG_NUM(c->beat.still_ms), NULL);
	proc_signal(c->pid, SIGKILL);
}

static void
on_look(struct loop_timer *t)
{
	struct qod *q = t->arg;
	struct qo_mono now = qo_mono_now();
	struct child *c;

	TAILQ_FOREACH (c, &q->children, entry)
		look_at(c, qo_mono_diff_us(q->looked, now) / QO_US_PER_MS);
	q->looked = now;
	loop_timer_set_ms(q->loop, t,
	    rules_look_ms(q->gen->conf->qod.stuck_after_ms), on_look, q);
}

/* systemd's watchdog: half of its time, a second at least. */
static void
on_watchdog(struct loop_timer *t)
{
	struct qod *q = t->arg;

	notify_send("WATCHDOG=1");
	loop_timer_set_ms(q->loop, t, q->watchdog_ms, on_watchdog, q);
}

void
watch_begin(struct qod *q)
{
	q->looked = qo_mono_now();
	loop_timer_set_ms(q->loop, &q->look,
	    rules_look_ms(q->gen->conf->qod.stuck_after_ms), on_look, q);
	if (q->watchdog_ms > 0)
		loop_timer_set_ms(q->loop, &q->watchdog, 0, on_watchdog, q);
}

void
watch_end(struct qod *q)
{
	loop_timer_del(q->loop, &q->look);
	loop_timer_del(q->loop, &q->watchdog);
}
