#include <stdio.h>
#include <string.h>

#include "commit.h"

/* The claim's callback and arg are ours while a commit runs. */
static struct qo_commit *
commit_of(struct qo_change *c)
{
	return ((struct qo_claim *)c)->arg;
}

static struct qo_wall
after(struct qo_wall t, int64_t ms)
{
	t.us += ms * QO_US_PER_MS;
	return t;
}

static void
fill_output(struct qo_commit *cm, struct qo_task *t)
{
	t->output_ref = NULL;
	memset(&t->output, 0, sizeof(t->output));
	if (cm->output_key[0] != '\0')
		t->output_ref = qo_task_dup(t, cm->output_key);
	else if (cm->result->output.p != NULL)
		t->output = cm->result->output;
}

static enum qo_verdict
rescheduled(struct qo_change *c, struct qo_wall now, int64_t delay_ms)
{
	static const struct qo_failure too_often = { "reschedule",
		"rescheduled more often than max_reschedules allows" };
	struct qo_task *t = &c->task;

	if (t->max_reschedules >= 0 &&
	    t->reschedule_count >= t->max_reschedules && !t->cancel_requested)
		return qo_ends_failed(c, now, &too_often);
	t->reschedule_count++;
	return qo_ends_pending(c, now, after(now, delay_ms));
}

static enum qo_verdict
commit_decide(struct qo_change *c)
{
	struct qo_claim *cl = (struct qo_claim *)c;
	struct qo_commit *cm = commit_of(c);
	struct qo_wall now = qo_queue_now(c->q);

	if (!qo_claim_holds(cl, &c->task))
		return qo_change_refuse(c, QO_LOST,
		    "task %s is not held by lease %s any more: the result is "
		    "dropped",
		    c->id, cl->lease_id);
	qo_change_drop(c, cl->lease_key);
	switch (cm->outcome) {
	case QO_OUTCOME_COMPLETED:
		fill_output(cm, &c->task);
		return qo_ends_completed(c, now);
	case QO_OUTCOME_RETRY:
		return qo_ends_retried(c, now, &cm->result->why,
		    cm->result->delay_ms);
	case QO_OUTCOME_FAILED:
		return qo_ends_failed(c, now, &cm->result->why);
	case QO_OUTCOME_RESCHEDULE:
		return rescheduled(c, now, cm->result->delay_ms);
	case QO_OUTCOME_REQUEUE:
		return qo_ends_pending(c, now, qo_queue_past(c->q));
	case QO_OUTCOME_CANCELLED:
		return qo_ends_cancelled(c, now);
	}
	return qo_change_refuse(c, QO_ERR, "no such outcome");
}

/* The monitor's reclaim leaves an error under our lease too; only the one
 * with our own time is ours. */
static bool
same_error(const struct qo_task_error *a, const struct qo_task_error *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return a->at.us == b->at.us;
}

/* R5: retry and the like are shown by the generation, a failure by its error;
 * another end by its being there under our lease, whatever came on top. */
static bool
commit_shows(struct qo_change *c, const struct qo_task *found)
{
	const struct qo_claim *cl = (struct qo_claim *)c;
	const struct qo_task *t = &c->task;
	bool same = same_error(qo_claim_error(cl, t),
	    qo_claim_error(cl, found));

	if (t->status == QO_STATUS_PENDING)
		return found->generation >= t->generation && same;
	if (t->status == QO_STATUS_FAILED && qo_claim_error(cl, t) != NULL)
		return same;
	return found->lease_id != NULL &&
	    strcmp(found->lease_id, cl->lease_id) == 0 &&
	    (found->status == t->status || found->archived_from == t->status);
}

static const struct qo_change_kind commit_kind = { "commit", false,
	commit_decide, commit_shows };

static void
on_claim_done(struct qo_claim *cl)
{
	struct qo_commit *cm = cl->arg;

	cm->done(cm);
}

static void
run(struct qo_commit *cm)
{
	cm->claim->done = on_claim_done;
	cm->claim->arg = cm;
	qo_claim_run(cm->claim, &commit_kind, true);
}

static void
on_payload(struct qo_payload *p)
{
	struct qo_commit *cm = p->arg;
	struct qo_change *c = &cm->claim->change;

	/* The name has the attempt in it: one that is there is ours. */
	if (p->rc == QO_OK) {
		run(cm);
		return;
	}
	c->err = *p->err;
	c->rc = p->rc;
	cm->done(cm);
}

void
qo_commit_start(struct qo_commit *cm, struct qo_claim *claim,
    enum qo_outcome outcome, const struct qo_result *result,
    void (*done)(struct qo_commit *cm), void *arg)
{
	struct qo_change *c = &claim->change;

	memset(cm, 0, sizeof(*cm));
	cm->claim = claim;
	cm->outcome = outcome;
	cm->result = result;
	cm->done = done;
	cm->arg = arg;
	qo_payload_init(&cm->payload);
	if (outcome != QO_OUTCOME_COMPLETED ||
	    result->output.len <= c->q->inline_max) {
		run(cm);
		return;
	}
	qo_key_output(&c->q->layout, c->id, c->task.attempt, cm->output_key);
	cm->payload.done = on_payload;
	cm->payload.arg = cm;
	qo_payload_put(&cm->payload, c->q->s3, c->q->bucket, cm->output_key,
	    &result->output);
}

void
qo_commit_fini(struct qo_commit *cm)
{
	qo_payload_fini(&cm->payload);
}

static void
on_waited(struct qo_commit *cm)
{
	*(bool *)cm->arg = true;
}

enum qo_rc
qo_commit_wait(struct qo_claim *claim, enum qo_outcome outcome,
    const struct qo_result *result)
{
	struct qo_commit cm;
	bool done = false;

	qo_commit_start(&cm, claim, outcome, result, on_waited, &done);
	while (!done)
		loop_once(claim->change.q->loop, -1);
	qo_commit_fini(&cm);
	return claim->change.rc;
}
