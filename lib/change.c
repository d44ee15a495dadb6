#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "log.h"
#include "xalloc.h"

/* An index entry may be cleaned away 17 minutes after it was written, and a
 * request may arrive 15 minutes after it was signed (R3): what we write stays
 * well inside of the two minutes between. */
#define WALK_MS    60000
#define ROUNDS_MAX 50
#define READ_MS    20000

static void read_task(struct qo_change *c);
static void judge(struct qo_change *c);
static void put_entry(struct qo_change *c);
static void put_task(struct qo_change *c);

/* Ends */

static void
end(struct qo_change *c, enum qo_rc rc)
{
	size_t i;

	c->rc = rc;
	c->step = QO_CHANGE_IDLE;
	/* What is at hand can be built upon only when it is what is there. */
	c->loaded = rc == QO_OK;
	c->unsettled = rc == QO_AGAIN && c->writes.n > 0 ? c->kind : NULL;
	for (i = 0; rc == QO_OK && i < c->ndrops; i++)
		qo_deleter_add(c->q->deleter, c->drops[i]);
	c->done(c);
}

static void
end_by_request(struct qo_change *c)
{
	c->err = c->req.res.err;
	end(c, qo_s3_outcome_rc(c->req.res.outcome));
}

static int64_t
entry_age_ms(const struct qo_change *c)
{
	return qo_mono_diff_us(c->entry_at, qo_mono_now()) / QO_US_PER_MS;
}

/* The entry was never seen written (a change that was started again), or may
 * be too old to be trusted any more. */
static bool
entry_stale(const struct qo_change *c)
{
	return c->has_entry &&
	    (!c->entry_there || entry_age_ms(c) >= WALK_MS ||
		qo_s3_corrected_since(c->q->s3, c->entry_at));
}

static void
applied(struct qo_change *c)
{
	/* Created too late to be sure that a cleaner left its entry alone. */
	if (c->kind->creates && entry_stale(c) &&
	    c->task.status == QO_STATUS_PENDING) {
		qo_change_needs(c, qo_change_ready_index(c->task.priority),
		    c->task.available_at, c->task.generation);
		c->step = QO_CHANGE_LATE_ENTRY;
		put_entry(c);
		return;
	}
	end(c, QO_OK);
}

/* Requests */

static void on_request(struct qo_s3_req *r);

static void
request(struct qo_change *c, enum qo_s3_op op, const char *bucket,
    const char *key, int64_t deadline_ms)
{
	qo_s3_req_fini(&c->req);
	qo_s3_req_init(&c->req, op, bucket, key);
	c->req.deadline_ms = deadline_ms;
	c->req.done = on_request;
	c->req.arg = c;
}

static void
read_task(struct qo_change *c)
{
	c->step = QO_CHANGE_READ;
	request(c, QO_S3_GET, c->q->bucket, c->key, READ_MS);
	c->req.response_max = QO_TASK_LEN_MAX;
	qo_s3_send(c->q->s3, &c->req);
}

static void
put_entry(struct qo_change *c)
{
	if (qo_key_entry(&c->q->layout, &c->entry, c->entry_key) == -1)
		qo_bug("change: an entry without a key");
	c->entry_at = qo_mono_now();
	c->entry_there = false;
	request(c, QO_S3_PUT, c->q->index_bucket, c->entry_key, WALK_MS);
	qo_s3_send(c->q->s3, &c->req);
}

static void
start_afresh(struct qo_change *c)
{
	c->afresh = true;
	read_task(c);
}

static void
put_task(struct qo_change *c)
{
	if (entry_stale(c)) {
		start_afresh(c);
		return;
	}
	c->step = QO_CHANGE_WRITE;
	request(c, QO_S3_PUT, c->q->bucket, c->key,
	    c->has_entry ? WALK_MS - entry_age_ms(c) : WALK_MS);
	if (c->base_rev == 0)
		c->req.if_none_match = "*";
	else
		c->req.if_match = c->etag;
	c->req.content_type = "application/json";
	c->req.body = c->body.data;
	c->req.body_len = c->body.len;
	qo_s3_send(c->q->s3, &c->req);
}

/* Decisions */

static void
judge(struct qo_change *c)
{
	if (++c->rounds > ROUNDS_MAX) {
		qo_err_set(&c->err, "%s %s: others change it all the time",
		    c->kind->name, c->id);
		end(c, QO_AGAIN);
		return;
	}
	c->base_rev = c->task.rev;
	c->has_entry = c->afresh = false;
	c->ndrops = 0;
	if (qo_task_read_only(&c->task)) {
		qo_err_set(&c->err,
		    "%s: format %lld is newer than this program: read only",
		    c->key, (long long)c->task.format);
		end(c, QO_ERR);
		return;
	}
	switch (c->kind->decide(c)) {
	case QO_VERDICT_REFUSE:
		end(c, c->rc);
		return;
	case QO_VERDICT_NOTHING:
		/* Nothing changes, so no entry has become useless. */
		c->ndrops = 0;
		applied(c);
		return;
	case QO_VERDICT_WRITE:
		break;
	}
	c->task.rev = c->base_rev + 1;
	c->task.updated_at = qo_queue_now(c->q);
	c->task.updated_by = qo_task_dup(&c->task, qo_cas_next(&c->writes));
	buf_reset(&c->body);
	if (qo_task_encode(&c->task, &c->body, &c->err) == -1) {
		end(c, QO_ERR);
		return;
	}
	if (c->has_entry) {
		c->step = QO_CHANGE_ENTRY;
		put_entry(c);
	} else {
		put_task(c);
	}
}

static void
on_pause(struct loop_timer *t)
{
	judge(t->arg);
}

/* Somebody else was first: from what is there now. */
static void
judge_again(struct qo_change *c)
{
	int64_t ms = qo_cas_pause_ms(c->rounds);

	if (ms == 0)
		judge(c);
	else
		loop_timer_set_ms(c->q->loop, &c->pause, ms, on_pause, c);
}

static void
adopt(struct qo_change *c, struct qo_task *found)
{
	qo_task_fini(&c->task);
	c->task = *found;
	snprintf(c->etag, sizeof(c->etag), "%s", c->req.res.etag);
}

/* Our write may lie beneath what was found.  Not so when exactly one write
 * has come since: that one was another's. */
static bool
is_buried(struct qo_change *c, const struct qo_task *found)
{
	if (found->rev <= c->base_rev)
		return false;
	return (c->kind->creates || found->rev > c->base_rev + 1) &&
	    c->kind->shows(c, found);
}

/* R5: what became of our write? */
static void
resolve(struct qo_change *c, struct qo_task *found)
{
	bool same = found->rev == c->base_rev &&
	    strcmp(c->req.res.etag, c->etag) == 0;

	if (qo_cas_is_ours(&c->writes, found->updated_by)) {
		adopt(c, found);
		applied(c);
		return;
	}
	if (same && !c->afresh) {
		qo_task_fini(found);
		put_task(c); /* the same bytes again */
		return;
	}
	if (is_buried(c, found)) {
		c->existed = c->kind->creates;
		adopt(c, found);
		applied(c);
		return;
	}
	/* Exactly one write since ours was meant to be, and it was another's:
	 * ours was not applied and never will be, so its entry is dead.  With
	 * two or more, ours may lie beneath. */
	if (c->has_entry && found->rev == c->base_rev + 1)
		qo_deleter_add(c->q->deleter, c->entry_key);
	adopt(c, found);
	if (c->kind->creates) {
		qo_err_set(&c->err, "%s %s: it exists and is another",
		    c->kind->name, c->id);
		end(c, QO_LOST);
		return;
	}
	judge_again(c);
}

/* Answers */

static void
on_read(struct qo_change *c)
{
	const struct qo_s3_res *res = &c->req.res;
	struct qo_task found;
	struct qo_err err;

	if (res->outcome == QO_S3_NOT_FOUND && c->kind->creates) {
		if (c->writes.n > 0 && !c->afresh)
			put_task(c);
		else {
			c->task.rev = 0;
			judge(c);
		}
		return;
	}
	if (res->outcome != QO_S3_OK) {
		end_by_request(c);
		return;
	}
	qo_err_reset(&err);
	if (qo_task_decode(&found, c->id, res->body.data, res->body.len,
		&err) == -1) {
		qo_err_set(&c->err, "%s: not a task, left alone: %.200s",
		    c->key, err.msg);
		end(c, QO_ERR);
		return;
	}
	if (c->writes.n > 0 || c->kind->creates) {
		resolve(c, &found);
		return;
	}
	adopt(c, &found);
	judge(c);
}

static void
on_written(struct qo_change *c)
{
	const struct qo_s3_res *res = &c->req.res;

	if (res->outcome == QO_S3_OK) {
		snprintf(c->etag, sizeof(c->etag), "%s", res->etag);
		applied(c);
		return;
	}
	if (qo_cas_refused(res)) {
		end_by_request(c);
		return;
	}
	/* Nothing is settled: read and decide (R4, R5). */
	if (++c->rounds > ROUNDS_MAX) {
		c->err = res->err;
		end(c, QO_AGAIN);
		return;
	}
	read_task(c);
}

static void
on_request(struct qo_s3_req *r)
{
	struct qo_change *c = r->arg;

	switch (c->step) {
	case QO_CHANGE_READ:
		on_read(c);
		return;
	case QO_CHANGE_ENTRY:
		c->entry_there = r->res.outcome == QO_S3_OK;
		if (c->entry_there)
			put_task(c);
		else
			end_by_request(c);
		return;
	case QO_CHANGE_WRITE:
		on_written(c);
		return;
	case QO_CHANGE_LATE_ENTRY:
		c->entry_there = r->res.outcome == QO_S3_OK;
		if (c->entry_there)
			end(c, QO_OK);
		else
			end_by_request(c);
		return;
	case QO_CHANGE_IDLE:
		break;
	}
	qo_bug("change: an answer in no step");
}

/* Interface */

void
qo_change_init(struct qo_change *c, struct qo_queue *q,
    const struct qo_change_kind *kind, const char *id)
{
	memset(c, 0, sizeof(*c));
	c->q = q;
	c->kind = kind;
	snprintf(c->id, sizeof(c->id), "%s", id);
	qo_task_init(&c->task);
	qo_s3_req_init(&c->req, QO_S3_GET, NULL, NULL);
	buf_init(&c->body, QO_TASK_LEN_MAX);
}

void
qo_change_fini(struct qo_change *c)
{
	qo_s3_req_fini(&c->req);
	if (c->q != NULL)
		loop_timer_del(c->q->loop, &c->pause);
	qo_task_fini(&c->task);
	buf_fini(&c->body);
}

static void
on_start(struct loop_timer *t)
{
	judge(t->arg);
}

void
qo_change_start(struct qo_change *c)
{
	/* The same again after an unknown end: its writes may still be found. */
	if (c->unsettled != c->kind)
		c->writes.n = 0;
	c->rounds = 0;
	c->rc = QO_OK;
	c->existed = false;
	qo_err_reset(&c->err);
	if (qo_key_task(&c->q->layout, c->id, c->key) == -1)
		qo_bug("change: %s is no id", c->id);
	/* No index-first write before a first Date: reading brings one. */
	if (c->loaded && qo_queue_time_known(c->q))
		loop_timer_set_ms(c->q->loop, &c->pause, 0, on_start, c);
	else
		read_task(c);
}

static void
on_waited(struct qo_change *c)
{
	*(bool *)c->arg = true;
}

enum qo_rc
qo_change_wait(struct qo_change *c)
{
	bool done = false;

	c->done = on_waited;
	c->arg = &done;
	qo_change_start(c);
	while (!done)
		loop_once(c->q->loop, -1);
	return c->rc;
}

enum qo_verdict
qo_change_refuse(struct qo_change *c, enum qo_rc rc, const char *fmt, ...)
{
	va_list ap;

	c->rc = rc;
	va_start(ap, fmt);
	vsnprintf(c->err.msg, sizeof(c->err.msg), fmt, ap);
	va_end(ap);
	return QO_VERDICT_REFUSE;
}

void
qo_change_needs(struct qo_change *c, enum qo_index index, struct qo_wall t,
    int64_t generation)
{
	qo_entry_make(&c->entry, index, t, c->id, generation);
	c->has_entry = true;
}

void
qo_change_drop(struct qo_change *c, const char *key)
{
	if (c->ndrops == QO_CHANGE_DROPS)
		qo_bug("change: too many entries to drop");
	if (key[0] != '\0')
		snprintf(c->drops[c->ndrops++], QO_KEY_SIZE, "%s", key);
}

enum qo_index
qo_change_ready_index(enum qo_priority p)
{
	switch (p) {
	case QO_PRIORITY_HIGH:
		return QO_INDEX_READY_HIGH;
	case QO_PRIORITY_LOW:
		return QO_INDEX_READY_LOW;
	case QO_PRIORITY_NORMAL:
		break;
	}
	return QO_INDEX_READY;
}
