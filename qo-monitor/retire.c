#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "retire.h"
#include "s3body.h"
#include "schedule.h"
#include "xalloc.h"

#define OWN_MS    60000 /* how long a mark is ours */
#define NAMES_MAX 20    /* attempts whose logs are deleted by name */

static void clean_next(struct retire *r);

static bool
older(struct qo_wall t, int64_t ms, struct qo_wall lo)
{
	return lo.us - t.us > ms * QO_US_PER_MS;
}

enum retire_what
retire_judge(const struct qo_task *t, const struct conf_monitor *conf,
    struct qo_wall lo)
{
	if (!qo_status_terminal(t->status))
		return RETIRE_CHECK;
	if (t->workflow_id != NULL || !qo_wall_is_set(lo))
		return RETIRE_KEEP;
	if (qo_wall_is_set(t->retired_at))
		return older(t->retired_at, conf->orphan_grace_ms, lo)
		    ? RETIRE_MARK
		    : RETIRE_WAIT;
	return older(t->updated_at, conf->retention_ms, lo) ? RETIRE_MARK
							    : RETIRE_KEEP;
}

static struct retire *
retire_of(struct qo_change *c)
{
	return c->arg;
}

/* A schedule may have to submit this run again, and would find no trace of
 * it (schedules.h). */
static bool
is_held(const struct monitor *m, const struct qo_task *t)
{
	return m->holds != NULL && t->submitted_by != NULL &&
	    strncmp(t->submitted_by, QO_SCHEDULE_WHO,
		sizeof(QO_SCHEDULE_WHO) - 1) == 0 &&
	    m->holds(m->holds_arg, t->id);
}

static enum qo_verdict
mark_decide(struct qo_change *c)
{
	struct retire *r = retire_of(c);

	r->what = retire_judge(&c->task, r->m->conf, monitor_lo(r->m));
	if (r->what == RETIRE_MARK && is_held(r->m, &c->task))
		r->what = RETIRE_KEEP;
	if (r->what != RETIRE_MARK)
		return QO_VERDICT_NOTHING;
	r->marked = qo_mono_now();
	c->task.retired_at = qo_queue_now(c->q);
	return QO_VERDICT_WRITE;
}

static bool
mark_shows(struct qo_change *c, const struct qo_task *found)
{
	(void)c;
	(void)found;
	/* Whoever came after is at it now. */
	return false;
}

static const struct qo_change_kind mark_kind = { "retire", false, mark_decide,
	mark_shows };

static void
finish(struct retire *r, enum qo_rc rc, const struct qo_err *err)
{
	r->rc = rc;
	if (err != NULL)
		r->err = *err;
	r->done(r);
}

static void
finish_by_request(struct retire *r)
{
	finish(r, qo_s3_outcome_rc(r->req.res.outcome), &r->req.res.err);
}

static void
request(struct retire *r, enum qo_s3_op op, const char *bucket, const char *key,
    void (*done)(struct qo_s3_req *req))
{
	qo_s3_req_fini(&r->req);
	qo_s3_req_init(&r->req, op, bucket, key);
	r->req.done = done;
	r->req.arg = r;
}

/* The task itself, and then its failed entry */

static bool
on_entry(struct qo_walk *w, const struct qo_s3_entry *e)
{
	struct retire *r = w->arg;

	/* Never the name of another task's: R2. */
	qo_deleter_add(r->m->q->deleter, e->key);
	return true;
}

static void
on_entries(struct qo_walk *w)
{
	struct retire *r = w->arg;

	/* What stays is an entry without a task: removed like any such. */
	finish(r, w->rc, &w->err);
}

static void
drop_failed(struct retire *r)
{
	struct qo_queue *q = r->m->q;
	const struct qo_task *t = &r->change.task;
	struct qo_entry e;

	if (!qo_need_of(t, &e)) {
		finish(r, QO_OK, NULL);
		return;
	}
	qo_walk_fini(&r->walk);
	qo_walk_init(&r->walk, q->s3, q->index_bucket);
	e.generation = QO_GENERATION_FIRST;
	(void)qo_key_entry(&q->layout, &e, r->walk.prefix);
	r->walk.entry = on_entry;
	r->walk.done = on_entries;
	r->walk.arg = r;
	qo_walk_start(&r->walk);
}

static void
on_task_deleted(struct qo_s3_req *req)
{
	struct retire *r = req->arg;

	switch (req->res.outcome) {
	case QO_S3_OK:
	case QO_S3_NOT_FOUND:
		r->removed = true;
		drop_failed(r);
		return;
	case QO_S3_PRECONDITION:
	case QO_S3_CONFLICT:
		finish(r, QO_OK, NULL); /* somebody has changed it */
		return;
	default:
		finish_by_request(r);
		return;
	}
}

static void
on_settled(struct loop_timer *t)
{
	struct retire *r = t->arg;

	(void)qo_key_task(&r->m->q->layout, r->change.id, r->key);
	request(r, QO_S3_DELETE, r->m->q->bucket, r->key, on_task_deleted);
	r->req.if_match = r->change.etag;
	qo_s3_send(r->m->q->s3, &r->req);
}

/* What belongs to it */

static bool
is_ours_still(const struct retire *r)
{
	return qo_mono_diff_us(r->marked, qo_mono_now()) <
	    OWN_MS * QO_US_PER_MS;
}

static void
drop_keys(struct retire *r)
{
	while (r->nkeys > 0)
		free(r->keys[--r->nkeys]);
}

static void
on_deleted(struct qo_s3_req *req)
{
	struct retire *r = req->arg;

	if (req->res.outcome != QO_S3_OK) {
		finish_by_request(r);
		return;
	}
	/* One that was sent twice may still be on its way, and one that was
	 * refused is there: the task stays for a later time. */
	if (req->res.attempts > 1 || req->res.deleted->n > 0)
		r->unclean = true;
	clean_next(r);
}

static void
delete_keys(struct retire *r)
{
	struct qo_queue *q = r->m->q;
	struct qo_s3_delete_key list[RETIRE_KEYS_MAX];
	struct qo_err err;
	size_t i;

	memset(list, 0, sizeof(list));
	for (i = 0; i < r->nkeys; i++)
		list[i].key = r->keys[i];
	buf_reset(&r->body);
	if (qo_s3body_delete(&r->body, list, r->nkeys, true, &err) == -1) {
		finish(r, QO_ERR, &err);
		return;
	}
	request(r, QO_S3_DELETE_MANY, r->logs ? q->index_bucket : q->bucket,
	    NULL, on_deleted);
	r->req.body = r->body.data;
	r->req.body_len = r->body.len;
	/* All attempts within the time that the mark is ours. */
	r->req.deadline_ms = OWN_MS / 4;
	qo_s3_send(q->s3, &r->req);
}

static bool
on_belonging(struct qo_walk *w, const struct qo_s3_entry *e)
{
	struct retire *r = w->arg;

	if (r->nkeys == RETIRE_KEYS_MAX) {
		r->unclean = true;
		return false;
	}
	r->keys[r->nkeys++] = xstrdup(e->key);
	return true;
}

static void
on_belongings(struct qo_walk *w)
{
	struct retire *r = w->arg;

	if (w->rc != QO_OK)
		finish(r, w->rc, &w->err);
	else if (r->nkeys == 0)
		clean_next(r);
	else if (!is_ours_still(r))
		finish(r, QO_OK, NULL);
	else
		delete_keys(r);
}

static void
list_belongings(struct retire *r)
{
	struct qo_queue *q = r->m->q;
	struct qo_walk *w = &r->walk;

	qo_walk_fini(w);
	qo_walk_init(w, q->s3, r->logs ? q->index_bucket : q->bucket);
	if (r->logs)
		snprintf(w->prefix, sizeof(w->prefix), "%slogs/%.*s/%s/",
		    q->prefix, q->layout.shard_width, r->change.id,
		    r->change.id);
	else
		snprintf(w->prefix, sizeof(w->prefix), "%spayloads/%s/",
		    q->prefix, r->change.id);
	w->entry = on_belonging;
	w->done = on_belongings;
	w->arg = r;
	qo_walk_start(w);
}

/* Without versions nothing is left of a delete of what is not there, so the
 * few names that there can be need not be asked for. */
static bool
name_logs(struct retire *r)
{
	struct qo_queue *q = r->m->q;
	const struct qo_task *t = &r->change.task;
	char key[QO_KEY_SIZE];
	int64_t i;

	if (strcmp(q->bucket, q->index_bucket) == 0 || t->attempt > NAMES_MAX)
		return false;
	for (i = 1; i <= t->attempt; i++)
		if (qo_key_log(&q->layout, t->id, i, key) == 0)
			r->keys[r->nkeys++] = xstrdup(key);
	return true;
}

static bool
may_have_payloads(const struct qo_task *t)
{
	if (t->input_ref != NULL || t->output_ref != NULL || t->attempt > 1)
		return true;
	return t->attempt == 1 && t->status != QO_STATUS_COMPLETED;
}

static void
clean_logs(struct retire *r)
{
	r->logs = true;
	if (!name_logs(r))
		list_belongings(r);
	else if (!is_ours_still(r))
		finish(r, QO_OK, NULL);
	else
		delete_keys(r);
}

/* Payloads, logs, then the task. */
static void
clean_next(struct retire *r)
{
	drop_keys(r);
	if (!r->logs && r->change.task.attempt > 0) {
		clean_logs(r);
		return;
	}
	if (r->unclean)
		finish(r, QO_OK, NULL);
	else
		loop_timer_set_ms(r->m->loop, &r->pause, r->settle_ms,
		    on_settled, r);
}

/* The start */

static void
on_need(struct qo_need *n)
{
	struct retire *r = n->arg;

	if (n->repaired) {
		board_add(r->m->area, BOARD_INDEX_REPAIRS, 1);
		log_event(LOG_LVL_ERROR, "a task had no index entry", "task",
		    r->change.id, "entry", n->key, NULL);
	}
	finish(r, n->rc, &n->err);
}

static void
check_entry(struct retire *r)
{
	if (!qo_need_init(&r->need, r->m->q, &r->change.task)) {
		finish(r, QO_OK, NULL);
		return;
	}
	r->need.done = on_need;
	r->need.arg = r;
	qo_need_start(&r->need);
}

static void
on_marked(struct qo_change *c)
{
	struct retire *r = retire_of(c);

	if (c->rc != QO_OK) {
		finish(r, c->rc == QO_NOENT ? QO_OK : c->rc, &c->err);
		return;
	}
	switch (r->what) {
	case RETIRE_KEEP:
	case RETIRE_WAIT:
		finish(r, QO_OK, NULL);
		return;
	case RETIRE_CHECK:
		check_entry(r);
		return;
	case RETIRE_MARK:
		break;
	}
	if (may_have_payloads(&c->task))
		list_belongings(r);
	else
		clean_next(r);
}

void
retire_init(struct retire *r, struct monitor *m, const char *id)
{
	memset(r, 0, sizeof(*r));
	r->m = m;
	qo_change_init(&r->change, m->q, &mark_kind, id);
	qo_walk_init(&r->walk, m->q->s3, m->q->bucket);
	qo_s3_req_init(&r->req, QO_S3_DELETE, NULL, NULL);
	qo_s3_req_init(&r->need.req, QO_S3_LIST, NULL, NULL);
	buf_init(&r->body, (size_t)4 << 20);
}

void
retire_fini(struct retire *r)
{
	qo_change_fini(&r->change);
	qo_need_fini(&r->need);
	qo_walk_fini(&r->walk);
	qo_s3_req_fini(&r->req);
	buf_fini(&r->body);
	drop_keys(r);
	loop_timer_del(r->m->loop, &r->pause);
}

void
retire_start(struct retire *r)
{
	r->change.done = on_marked;
	r->change.arg = r;
	qo_change_start(&r->change);
}
