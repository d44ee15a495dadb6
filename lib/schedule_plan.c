/* schedule.h: what is due, and what is done about it.  Pure. */
#include <string.h>

#include "schedule.h"

int
qo_schedule_clock_open(struct qo_schedule_clock *c, const struct qo_schedule *s,
    struct qo_err *err)
{
	struct qo_err why = { 0 };

	c->tz = NULL;
	if (qo_cron_parse(&c->cron, s->cron, &why) == -1) {
		qo_err_set(err, "cron: %.300s", why.msg);
		return -1;
	}
	if ((c->tz = qo_tz_open(s->timezone, &why)) == NULL) {
		qo_err_set(err, "timezone: %.300s", why.msg);
		return -1;
	}
	return 0;
}

void
qo_schedule_clock_close(struct qo_schedule_clock *c)
{
	qo_tz_free(c->tz);
	c->tz = NULL;
}

struct qo_wall
qo_schedule_next(const struct qo_schedule_clock *c, struct qo_wall after)
{
	struct qo_wall due;

	return qo_cron_next(&c->cron, c->tz, after, &due) ? due : QO_WALL_NONE;
}

bool
qo_schedule_is_due(const struct qo_schedule *s, struct qo_wall now)
{
	return !s->paused && qo_wall_is_set(s->next_due) &&
	    s->next_due.us <= now.us;
}

static struct qo_wall
earlier(struct qo_wall t, int64_t us)
{
	t.us -= us;
	return t;
}

/* Times from that one on, up to now, as many as there is room for. */
static void
take_from(struct qo_schedule_plan *plan, const struct qo_schedule_clock *c,
    struct qo_wall first, struct qo_wall now)
{
	struct qo_wall due = first;

	while (plan->nruns < QO_SCHEDULE_RUNS_MAX && qo_wall_is_set(due) &&
	    due.us <= now.us) {
		plan->runs[plan->nruns++] = due;
		due = qo_schedule_next(c, due);
	}
}

/* The times that run if nothing stands in their way: what is on time, and of
 * the rest what the catch-up rule says. */
static void
choose(struct qo_schedule_plan *plan, const struct qo_schedule *s,
    const struct qo_schedule_clock *c, struct qo_wall now)
{
	struct qo_wall late, first;

	if (s->catch_up == QO_CATCH_UP_ALL && s->overlap == QO_OVERLAP_ALLOW) {
		take_from(plan, c, s->next_due, now);
		return;
	}
	late = earlier(now, QO_SCHEDULE_ON_TIME_MS * QO_US_PER_MS + 1);
	first = s->next_due.us > late.us ? s->next_due
					 : qo_schedule_next(c, late);
	take_from(plan, c, first, now);
	if (plan->nruns == 0 && s->catch_up != QO_CATCH_UP_SKIP) {
		plan->runs[0] = plan->last_due;
		plan->nruns = 1;
	}
	/* Of several at once, each would skip or cancel the one before. */
	if (plan->nruns > 1 && s->overlap != QO_OVERLAP_ALLOW) {
		plan->runs[0] = plan->runs[plan->nruns - 1];
		plan->nruns = 1;
	}
}

void
qo_schedule_plan(const struct qo_schedule *s, const struct qo_schedule_clock *c,
    struct qo_wall now, bool unfinished, struct qo_schedule_plan *plan)
{
	plan->writes = plan->cancels = false;
	plan->decision = QO_DECISION_NONE;
	plan->last_due = s->last_due;
	plan->next_due = s->next_due;
	plan->nruns = 0;
	if (s->paused || s->nfiring > 0)
		return;
	if (!qo_wall_is_set(s->next_due)) {
		/* Written by hand, or resumed: from now on. */
		plan->next_due = qo_schedule_next(c, now);
		plan->writes = qo_wall_is_set(plan->next_due);
		return;
	}
	if (!qo_schedule_is_due(s, now))
		return;
	plan->writes = true;
	/* next_due itself counts, whatever the expression says of it. */
	if (!qo_cron_latest(&c->cron, c->tz, s->next_due, now, &plan->last_due))
		plan->last_due = s->next_due;
	choose(plan, s, c, now);
	plan->decision = plan->nruns > 0 ? QO_DECISION_RUN : QO_DECISION_MISSED;
	if (plan->nruns > 0)
		plan->last_due = plan->runs[plan->nruns - 1];
	if (plan->nruns > 0 && unfinished && s->overlap == QO_OVERLAP_SKIP) {
		plan->decision = QO_DECISION_SKIPPED;
		plan->nruns = 0;
	}
	plan->cancels = plan->nruns > 0 && unfinished &&
	    s->overlap == QO_OVERLAP_CANCEL;
	plan->next_due = qo_schedule_next(c, plan->last_due);
}

void
qo_schedule_apply(struct qo_schedule *s, const struct qo_schedule_plan *plan,
    const char *prefix)
{
	char id[QO_UUID_SIZE];

	s->next_due = plan->next_due;
	s->cancelling = plan->cancels ? s->last_task_id : NULL;
	qo_schedule_set_firing(s, plan->runs, plan->nruns);
	if (plan->decision == QO_DECISION_NONE)
		return;
	s->last_due = plan->last_due;
	s->last_decision = plan->decision;
	if (plan->nruns == 0)
		return;
	qo_schedule_task_id(prefix, s->id, plan->last_due, id);
	s->last_task_id = qo_record_dup(&s->rec, id);
}
