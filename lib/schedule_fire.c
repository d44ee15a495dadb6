#include <stdlib.h>
#include <string.h>

#include "schedule_fire.h"
#include "xalloc.h"

#define NO_WORKFLOWS "it starts a workflow, which this version can not do"

#define KNOWN_MS (10 * 60 * 1000)

static void consider(struct qo_fire *f);

static struct qo_fire *
fire_of(struct qo_schedule_change *c)
{
	return (struct qo_fire *)c;
}

static void
end(struct qo_fire *f, enum qo_rc rc, const struct qo_err *err)
{
	f->rc = rc;
	if (err != NULL)
		f->err = *err;
	f->done(f);
}

static void
start_change(struct qo_fire *f,
    enum qo_verdict (*decide)(struct qo_schedule_change *c),
    void (*done)(struct qo_schedule_change *c))
{
	f->known = qo_mono_now();
	f->change.decide = decide;
	f->change.done = done;
	qo_schedule_change_start(&f->change);
}

/* What has been decided is done */

static bool
is_submitted(const struct qo_fire *f, struct qo_wall due)
{
	size_t i;

	for (i = 0; i < f->nruns; i++)
		if (f->runs[i].due.us == due.us)
			return true;
	return false;
}

/* Takes what we know to be there out of firing. */
static enum qo_verdict
decide_done(struct qo_schedule_change *c)
{
	struct qo_fire *f = fire_of(c);
	struct qo_wall *left;
	size_t i, n = 0;

	left = xcalloc(c->s.nfiring + 1, sizeof(*left));
	for (i = 0; i < c->s.nfiring; i++)
		if (!is_submitted(f, c->s.firing[i]))
			left[n++] = c->s.firing[i];
	i = c->s.nfiring;
	if (n < i)
		qo_schedule_set_firing(&c->s, left, n);
	free(left);
	if (n == i)
		return QO_VERDICT_NOTHING; /* others were as quick */
	if (n == 0)
		c->s.cancelling = NULL;
	return QO_VERDICT_WRITE;
}

static void
on_confirmed(struct qo_schedule_change *c)
{
	struct qo_fire *f = fire_of(c);
	const struct qo_schedule *s = &c->s;

	/* Deleted meanwhile: what was decided before has been done. */
	if (c->rc != QO_OK)
		end(f, c->rc, &c->err);
	/* More may have been due than one decision holds.  What is due since
	 * then is not waited for: with a slow store there is always more. */
	else if (s->nfiring > 0 || !qo_wall_is_set(s->next_due) ||
	    s->next_due.us <= f->until.us)
		consider(f);
	else
		end(f, QO_OK, NULL);
}

static void
confirm(struct qo_fire *f)
{
	start_change(f, decide_done, on_confirmed);
}

/* Submits, several at once */

static enum qo_bulk_next
next_run(struct qo_bulk_submit *bs, const struct qo_submission **sub,
    void **item)
{
	struct qo_fire *f = bs->arg;

	if (f->next == f->nruns || f->rc != QO_OK)
		return QO_BULK_END;
	*item = &f->runs[f->next];
	*sub = &f->runs[f->next++].sub;
	return QO_BULK_STARTED;
}

static void
on_submitted(struct qo_bulk_submit *bs, const struct qo_submit *s, void *item)
{
	struct qo_fire *f = bs->arg;

	(void)item;
	if (s->change.rc == QO_OK)
		f->submitted += s->change.existed ? 0 : 1;
	else if (f->rc == QO_OK) {
		f->rc = s->change.rc;
		f->err = s->change.err;
	}
}

static void
on_all_submitted(struct qo_bulk *b)
{
	struct qo_fire *f = b->arg;

	if (f->rc == QO_OK)
		confirm(f);
	else
		end(f, f->rc, NULL);
}

static void
start_submits(struct qo_fire *f)
{
	if (f->has_bulk)
		qo_bulk_submit_fini(&f->bulk);
	f->has_bulk = true;
	qo_bulk_submit_init(&f->bulk, f->change.q, QO_FIRE_WINDOW);
	f->bulk.next = next_run;
	f->bulk.ended = on_submitted;
	f->bulk.arg = f;
	f->bulk.bulk.done = on_all_submitted;
	f->bulk.bulk.arg = f;
	/* The record remembers: no need to insist. */
	f->bulk.patience_ms = 0;
	qo_bulk_start(&f->bulk.bulk);
}

/* The run before */

static void
on_cancelled(struct qo_admin *a)
{
	struct qo_fire *f = a->arg;

	switch (a->change.rc) {
	case QO_OK:
	case QO_LOST: /* it has ended by itself */
	case QO_NOENT:
		start_submits(f);
		return;
	case QO_AGAIN:
	case QO_DENIED:
	case QO_ERR:
		break;
	}
	end(f, a->change.rc, &a->change.err);
}

static void
cancel_previous(struct qo_fire *f)
{
	if (f->has_cancel)
		qo_admin_fini(&f->cancel);
	f->has_cancel = true;
	qo_admin_init(&f->cancel, f->change.q, QO_ADMIN_CANCEL,
	    f->change.s.cancelling);
	f->cancel.who = f->who;
	f->cancel.reason = "the next run of the schedule is due";
	f->cancel.done = on_cancelled;
	f->cancel.arg = f;
	qo_admin_start(&f->cancel);
}

static void
make_runs(struct qo_fire *f, const struct qo_submission *sub)
{
	const struct qo_schedule *s = &f->change.s;
	struct qo_fire_run *r;
	size_t i;

	free(f->runs);
	f->runs = xcalloc(s->nfiring, sizeof(*f->runs));
	f->nruns = s->nfiring;
	f->next = 0;
	for (i = 0; i < f->nruns; i++) {
		r = &f->runs[i];
		r->due = s->firing[i];
		qo_schedule_task_id(f->change.q->prefix, s->id, r->due, r->id);
		r->sub = *sub;
		r->sub.available_at = r->due;
		r->sub.derived_id = r->id;
		r->sub.submitted_by = f->who;
		r->sub.deadline = qo_mono_add_ms(f->known, KNOWN_MS);
	}
}

/* Does what firing and cancelling of the record at hand say. */
static void
carry_out(struct qo_fire *f)
{
	const struct qo_schedule *s = &f->change.s;
	struct qo_submission sub;

	if (f->has_draft)
		qo_draft_fini(&f->draft);
	f->has_draft = false;
	if (s->workflow != NULL)
		qo_err_set(&f->err, NO_WORKFLOWS);
	else if (qo_schedule_submission(s, f->conf, qo_queue_now(f->change.q),
		     &f->draft, &sub, &f->err) == 0)
		f->has_draft = true;
	if (!f->has_draft) {
		end(f, QO_ERR, NULL);
		return;
	}
	make_runs(f, &sub);
	if (s->cancelling != NULL)
		cancel_previous(f);
	else
		start_submits(f);
}

/* Decisions */

static bool
asks_previous(const struct qo_schedule *s, struct qo_wall now)
{
	return s->overlap != QO_OVERLAP_ALLOW && s->last_task_id != NULL &&
	    s->nfiring == 0 && qo_schedule_is_due(s, now);
}

static enum qo_verdict
decide(struct qo_schedule_change *c)
{
	struct qo_fire *f = fire_of(c);
	struct qo_wall now = qo_queue_now(c->q);
	struct qo_schedule_clock clock;
	struct qo_err err;
	int rv;

	if (c->s.workflow != NULL)
		return qo_schedule_refuse(c, QO_ERR, NO_WORKFLOWS);
	/* Another one is the run before now: look at that first. */
	if (asks_previous(&c->s, now) &&
	    (!f->looked || strcmp(f->previous, c->s.last_task_id) != 0))
		return QO_VERDICT_NOTHING;
	rv = qo_schedule_clock_open(&clock, &c->s, &err);
	if (rv == 0)
		qo_schedule_plan(&c->s, &clock, now,
		    f->unfinished && asks_previous(&c->s, now), &f->plan);
	qo_schedule_clock_close(&clock);
	if (rv == -1)
		return qo_schedule_refuse(c, QO_ERR, "%s", err.msg);
	if (!f->plan.writes)
		return QO_VERDICT_NOTHING;
	qo_schedule_apply(&c->s, &f->plan, c->q->prefix);
	return QO_VERDICT_WRITE;
}

static void
on_decided(struct qo_schedule_change *c)
{
	struct qo_fire *f = fire_of(c);

	if (c->rc != QO_OK) {
		end(f, c->rc, &c->err);
		return;
	}
	if (c->wrote)
		f->decision = f->plan.decision;
	if (c->wrote && c->s.nfiring > 0)
		carry_out(f);
	else if (asks_previous(&c->s, qo_queue_now(c->q)))
		consider(f);
	else
		end(f, QO_OK, NULL);
}

static void
start_decision(struct qo_fire *f)
{
	start_change(f, decide, on_decided);
}

static void
on_previous(struct qo_s3_req *r)
{
	struct qo_fire *f = r->arg;
	struct qo_task t;
	struct qo_err why = { 0 };

	f->looked = true;
	f->unfinished = false;
	if (r->res.outcome == QO_S3_OK) {
		if (qo_task_decode(&t, f->previous, r->res.body.data,
			r->res.body.len, &why) == -1) {
			qo_err_set(&f->err, "the run before: %.128s: %.160s",
			    f->key, why.msg);
			end(f, QO_ERR, NULL);
			return;
		}
		f->unfinished = !qo_status_terminal(t.status);
		qo_task_fini(&t);
	} else if (r->res.outcome != QO_S3_NOT_FOUND) {
		/* Not found: it was kept long enough. */
		end(f, qo_s3_outcome_rc(r->res.outcome), &r->res.err);
		return;
	}
	start_decision(f);
}

static void
look_at_previous(struct qo_fire *f)
{
	struct qo_queue *q = f->change.q;

	strlcpy(f->previous, f->change.s.last_task_id, sizeof(f->previous));
	qo_key_task(&q->layout, f->previous, f->key);
	qo_s3_req_fini(&f->req);
	qo_s3_req_init(&f->req, QO_S3_GET, q->bucket, f->key);
	f->req.response_max = QO_TASK_LEN_MAX;
	f->req.done = on_previous;
	f->req.arg = f;
	qo_s3_send(q->s3, &f->req);
}

/* From the record at hand. */
static void
consider(struct qo_fire *f)
{
	const struct qo_schedule *s = &f->change.s;

	if (s->nfiring > 0)
		carry_out(f);
	else if (f->only_decided)
		end(f, QO_OK, NULL);
	else if (asks_previous(s, qo_queue_now(f->change.q)))
		look_at_previous(f);
	else
		start_decision(f);
}

static enum qo_verdict
decide_nothing(struct qo_schedule_change *c)
{
	(void)c;
	return QO_VERDICT_NOTHING;
}

static void
on_loaded(struct qo_schedule_change *c)
{
	if (c->rc == QO_OK)
		consider(fire_of(c));
	else
		end(fire_of(c), c->rc, &c->err);
}

static void
on_start(struct loop_task *t)
{
	struct qo_fire *f = t->arg;

	f->until = qo_queue_now(f->change.q);
	/* What somebody else is firing may be done by now, and gone. */
	f->change.loaded = f->change.loaded && f->change.s.nfiring == 0;
	if (f->change.loaded)
		consider(f);
	else
		start_change(f, decide_nothing, on_loaded);
}

/* Interface */

void
qo_fire_init(struct qo_fire *f, struct qo_queue *q,
    const struct conf_submit *conf, const char *id)
{
	memset(f, 0, sizeof(*f));
	qo_schedule_change_init(&f->change, q, id);
	qo_s3_req_init(&f->req, QO_S3_GET, NULL, NULL);
	f->conf = conf;
	qo_schedule_who(id, f->who);
}

void
qo_fire_fini(struct qo_fire *f)
{
	loop_defer_del(f->change.q->loop, &f->start);
	qo_s3_req_fini(&f->req);
	if (f->has_bulk)
		qo_bulk_submit_fini(&f->bulk);
	if (f->has_cancel)
		qo_admin_fini(&f->cancel);
	if (f->has_draft)
		qo_draft_fini(&f->draft);
	free(f->runs);
	qo_schedule_change_fini(&f->change);
	memset(f, 0, sizeof(*f));
}

void
qo_fire_start(struct qo_fire *f)
{
	f->rc = QO_OK;
	f->decision = QO_DECISION_NONE;
	f->submitted = 0;
	f->looked = f->unfinished = false;
	loop_defer(f->change.q->loop, &f->start, on_start, f);
}

static void
on_waited(struct qo_fire *f)
{
	*(bool *)f->arg = true;
}

enum qo_rc
qo_fire_wait(struct qo_fire *f)
{
	bool done = false;

	f->done = on_waited;
	f->arg = &done;
	qo_fire_start(f);
	while (!done)
		loop_once(f->change.q->loop, -1);
	return f->rc;
}
