#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board_rows.h"
#include "hash.h"
#include "job_int.h"
#include "log.h"
#include "submit.h"
#include "xalloc.h"

/* A claim whose answer was lost is looked for so often before it is left to
 * its lease. */
#define RECLAIMS_MAX 5
#define RECLAIM_MS   500
/* So long a task that was claimed ahead waits for a process; one that became
 * slow is not claimed ahead for any more. */
#define WAIT_MS 2000
#define SLOW    8

static void start_claim(struct job *j);

struct job *
job_new(struct jobs *host, size_t slot)
{
	struct job *j = xcalloc(1, sizeof(*j));

	j->host = host;
	j->slot = slot;
	qo_s3_req_init(&j->req, QO_S3_GET, NULL, NULL);
	buf_init(&j->input, QO_TASK_LEN_MAX);
	buf_init(&j->progress_text, QO_TASK_LEN_MAX);
	return j;
}

/* The board */

void
job_put_board(struct job *j)
{
	const struct qo_task *t = &j->claim.change.task;
	struct board_task b;

	memset(&b, 0, sizeof(b));
	snprintf(b.task_id, sizeof(b.task_id), "%s", j->entry.id);
	snprintf(b.lease_id, sizeof(b.lease_id), "%s", j->claim.lease_id);
	b.generation = j->entry.generation;
	if (j->claim.held) {
		snprintf(b.type, sizeof(b.type), "%s", t->task_type);
		b.generation = t->generation;
		b.attempt = t->attempt;
		b.started_ms = j->since.us / QO_US_PER_MS;
	}
	if (j->running)
		b.handler = j->run.pid;
	board_slot_set(j->host->area, j->slot, &b);
}

void
job_count(struct job *j, enum board_counter how)
{
	board_task_ended(j->host->area, board_row(j->host->conf, j->handler),
	    how);
}

void
job_log(const struct job *j, enum log_level level, const char *msg,
    const char *name, const char *value)
{
	const struct qo_task *t = &j->claim.change.task;

	log_event(level, msg, "task", j->entry.id, "type", t->task_type,
	    "attempt", LOG_NUM(j->attempt), "lease", j->claim.lease_id,
	    "workflow", t->workflow_id, name, value, NULL);
}

/* The end */

static void
release(struct job *j)
{
	if (j->reserved)
		handlers_unreserve(j->host->handlers, j->handler);
	if (j->ahead) {
		ahead_leave(j->host->ahead, j->handler, &j->wait);
		ahead_end(j->host->ahead, j->handler);
	}
	j->reserved = j->ahead = false;
}

static void
clear(struct job *j)
{
	job_lease_stop(j);
	loop_timer_del(j->host->loop, &j->again);
	if (j->committing)
		qo_commit_fini(&j->commit);
	if (j->run_there)
		run_fini(&j->run);
	qo_s3_req_fini(&j->req);
	qo_s3_req_init(&j->req, QO_S3_GET, NULL, NULL);
	qo_claim_fini(&j->claim);
	j->committing = j->run_there = j->running = false;
	j->state = JOB_FREE;
}

void
job_finish(struct job *j, enum job_end how)
{
	release(j);
	board_slot_clear(j->host->area, j->slot);
	j->host->ended(j, how, j->host->arg);
	clear(j);
}

void
job_free(struct job *j)
{
	if (j == NULL)
		return;
	if (j->state != JOB_FREE)
		clear(j);
	qo_s3_req_fini(&j->req);
	buf_fini(&j->input);
	buf_fini(&j->progress_text);
	free(j);
}

/* Running */

static void
on_started(struct run *r)
{
	job_put_board(r->arg);
}

static void
on_progressed(struct run *r)
{
	job_lease_progressed(r->arg);
}

static void
on_ran(struct run *r)
{
	struct job *j = r->arg;

	j->running = false;
	j->outcome = r->outcome;
	j->result = r->result;
	ahead_took(j->host->ahead, j->handler, r->ran_ms);
	/* The next one goes in its place while this is committed. */
	release(j);
	job_conclude(j);
}

static int64_t
timeout_of(const struct job *j)
{
	int64_t task_ms = j->claim.change.task.timeout_seconds * 1000;
	int64_t ms = j->handler->timeout_ms;

	return ms > 0 && ms < task_ms ? ms : task_ms;
}

static void
start_run(struct job *j)
{
	struct run *r = &j->run;

	run_init(r);
	r->handlers = j->host->handlers;
	r->handler = j->handler;
	r->task = &j->claim.change.task;
	r->input = j->input_text;
	r->input_len = j->input_len;
	r->timeout_ms = timeout_of(j);
	r->deadline = qo_queue_now(j->host->q);
	r->deadline.us += r->timeout_ms * QO_US_PER_MS;
	r->started = on_started;
	r->progressed = on_progressed;
	r->done = on_ran;
	r->arg = j;
	j->state = JOB_RUNNING;
	j->run_there = j->running = true;
	j->reserved = false; /* the run gives it back */
	run_start(r);
}

/* Waiting */

static void
on_waited_enough(struct loop_timer *t)
{
	struct job *j = t->arg;

	ahead_leave(j->host->ahead, j->handler, &j->wait);
	ahead_took(j->host->ahead, j->handler, WAIT_MS * SLOW);
	job_conclude_why(j, QO_OUTCOME_REQUEUE, "busy",
	    "no process of handler %s became free", j->handler->name);
}

void
job_go(struct ahead_wait *w)
{
	struct job *j = w->arg;

	loop_timer_del(j->host->loop, &j->again);
	j->reserved = true;
	start_run(j);
}

static void
run_when_free(struct job *j, const char *input, size_t len)
{
	j->input_text = input;
	j->input_len = len;
	if (j->reserved) {
		start_run(j);
		return;
	}
	j->state = JOB_WAITING;
	j->wait.arg = j;
	loop_timer_set_ms(j->host->loop, &j->again, WAIT_MS, on_waited_enough,
	    j);
	ahead_wait(j->host->ahead, j->handler, &j->wait);
}

/* The input */

static void
on_input(struct qo_s3_req *r)
{
	struct job *j = r->arg;
	const struct qo_task *t = &j->claim.change.task;
	char sha256[2 * SHA256_LEN + 1];

	if (r->res.outcome == QO_S3_NOT_FOUND ||
	    r->res.outcome == QO_S3_TOO_LARGE) {
		job_conclude_why(j, QO_OUTCOME_FAILED, "input",
		    "the input %s can not be used: %s", j->key, r->res.err.msg);
		return;
	}
	if (r->res.outcome != QO_S3_OK) {
		job_conclude_why(j, QO_OUTCOME_RETRY, "input",
		    "the input %s can not be read: %s", j->key, r->res.err.msg);
		return;
	}
	sha256_hex(r->res.body.data, r->res.body.len, sha256);
	if (t->input_sha256 == NULL || strcmp(t->input_sha256, sha256) != 0) {
		job_conclude_why(j, QO_OUTCOME_FAILED, "input",
		    "the input %s is not the one that was submitted: its "
		    "SHA-256 is %s",
		    j->key, sha256);
		return;
	}
	run_when_free(j, r->res.body.data, r->res.body.len);
}

/* A task may name its own payloads and nothing else in the bucket. */
static bool
is_own_payload(const struct job *j, const char *key)
{
	char dir[QO_KEY_SIZE];
	int n;

	n = snprintf(dir, sizeof(dir), "%spayloads/%s/",
	    j->host->q->layout.prefix, j->entry.id);
	return n > 0 && (size_t)n < sizeof(dir) &&
	    strncmp(key, dir, (size_t)n) == 0 && strlen(key) < QO_KEY_SIZE &&
	    strstr(key, "..") == NULL;
}

static void
fetch_input(struct job *j, const char *key)
{
	if (!is_own_payload(j, key)) {
		job_conclude_why(j, QO_OUTCOME_FAILED, "input",
		    "input_ref %.200s is not among the payloads of this task",
		    key);
		return;
	}
	snprintf(j->key, sizeof(j->key), "%s", key);
	qo_s3_req_fini(&j->req);
	qo_s3_req_init(&j->req, QO_S3_GET, j->host->q->bucket, j->key);
	j->req.response_max = QO_INPUT_MAX;
	j->req.done = on_input;
	j->req.arg = j;
	qo_s3_send(j->host->q->s3, &j->req);
}

/* Claiming */

static void
begin(struct job *j)
{
	const struct qo_task *t = &j->claim.change.task;

	if (j->host->draining) {
		job_conclude_why(j, QO_OUTCOME_REQUEUE, "drain", "%s",
		    "the worker ends");
		return;
	}
	if (j->handler == NULL) {
		job_conclude_why(j, QO_OUTCOME_FAILED, "unknown_type",
		    "no handler serves tasks of type %s", t->task_type);
		return;
	}
	if (t->input_ref != NULL) {
		fetch_input(j, t->input_ref);
		return;
	}
	/* A copy: a renewal may read the task anew. */
	buf_reset(&j->input);
	if (t->input.p != NULL)
		buf_add(&j->input, t->input.p, t->input.len);
	else
		buf_adds(&j->input, "null");
	run_when_free(j, j->input.data, j->input.len);
}

static void
held(struct job *j)
{
	j->attempt = j->claim.change.task.attempt;
	j->since = qo_queue_now(j->host->q);
	j->state = JOB_FETCHING;
	board_add(j->host->area, BOARD_CLAIMED, 1);
	job_put_board(j);
	j->host->held(j, j->host->arg);
	if (log_wants(LOG_LVL_DEBUG))
		job_log(j, LOG_LVL_DEBUG, "claimed", NULL, NULL);
	job_lease_start(j);
	begin(j);
}

static void
on_reclaim(struct loop_timer *t)
{
	start_claim(t->arg);
}

static bool
is_not_due(const struct job *j)
{
	const struct qo_task *t = &j->claim.change.task;

	return t->rev > 0 && t->status == QO_STATUS_PENDING &&
	    t->available_at.us > qo_queue_now(j->host->q).us;
}

/* Its entry was written, the task itself not yet: nobody was first. */
static bool
is_announced(const struct job *j)
{
	return j->claim.change.task.generation < j->entry.generation;
}

/* Not known, or not reached. */
static void
claim_unsettled(struct job *j)
{
	if (j->claim.change.unsettled != NULL && j->reclaims++ < RECLAIMS_MAX) {
		loop_timer_set_ms(j->host->loop, &j->again,
		    RECLAIM_MS << j->reclaims, on_reclaim, j);
		return;
	}
	job_finish(j, is_not_due(j) ? JOB_NOT_DUE : JOB_ERROR);
}

/* The claim has ended the task, unless it was ours and was taken away. */
static void
count_settled(const struct job *j)
{
	const struct qo_task *t = &j->claim.change.task;
	size_t row = board_row_of_type(j->host->conf, t->task_type);

	if (qo_claim_error(&j->claim, t) != NULL)
		return;
	if (t->status == QO_STATUS_CANCELLED)
		board_task_ended(j->host->area, row, BOARD_CANCELLED);
	else if (t->status == QO_STATUS_EXPIRED)
		board_task_ended(j->host->area, row, BOARD_EXPIRED);
}

static void
on_claimed(struct qo_claim *cl)
{
	struct job *j = cl->arg;

	j->err = cl->change.err;
	switch (cl->change.rc) {
	case QO_OK:
		if (cl->held) {
			held(j);
		} else {
			count_settled(j);
			job_finish(j, JOB_SETTLED);
		}
		return;
	case QO_LOST:
		if (!is_announced(j))
			board_add(j->host->area, BOARD_CLAIM_CONFLICTS, 1);
		job_finish(j, JOB_TAKEN);
		return;
	case QO_NOENT:
		job_finish(j, JOB_ABSENT);
		return;
	case QO_DENIED:
		job_finish(j, j->refusal);
		return;
	case QO_AGAIN:
		claim_unsettled(j);
		return;
	case QO_ERR:
		break;
	}
	job_finish(j, JOB_ERROR);
}

/* May be asked again after a lost race: one instance is reserved once. */
static bool
serves(const char *task_type, void *arg)
{
	struct job *j = arg;
	const struct conf_handler *h;

	h = conf_handler_find(j->host->conf, task_type);
	if (j->host->paused(task_type, j->host->arg)) {
		j->refusal = JOB_PAUSED;
		return false;
	}
	if ((j->reserved || j->ahead) && j->handler == h)
		return true;
	release(j);
	j->handler = h;
	/* Workflows' tasks are never a user's handler's, nor failed for want
	 * of one. */
	if (!qo_type_valid_user(task_type, strlen(task_type))) {
		j->refusal = JOB_UNKNOWN_TYPE;
		return false;
	}
	if (h == NULL) {
		j->refusal = JOB_UNKNOWN_TYPE;
		return j->host->conf->worker.unknown_type == CONF_UNKNOWN_FAIL;
	}
	j->refusal = JOB_BUSY;
	if (ahead_quick(j->host->ahead, h))
		return j->ahead = ahead_begin(j->host->ahead, h);
	return j->reserved = handlers_reserve(j->host->handlers, h);
}

static void
start_claim(struct job *j)
{
	j->claim.done = on_claimed;
	j->claim.arg = j;
	j->refusal = JOB_ERROR;
	qo_claim_take(&j->claim, j->host->conf->worker.lease_ms);
}

void
job_start(struct job *j, const struct qo_entry *entry, unsigned tries,
    const struct conf_handler *reserved)
{
	j->entry = *entry;
	j->tries = tries;
	j->handler = reserved;
	j->ahead = reserved != NULL && ahead_quick(j->host->ahead, reserved);
	j->reserved = reserved != NULL && !j->ahead;
	j->reclaims = j->renew_fails = j->commit_tries = 0;
	j->renewing = j->lost = j->look = j->progress = false;
	qo_err_reset(&j->err);
	buf_reset(&j->progress_text);
	j->state = JOB_CLAIMING;
	qo_claim_init(&j->claim, j->host->q, entry, j->host->worker_id);
	j->claim.serves = serves;
	j->claim.serves_arg = j;
	job_put_board(j);
	start_claim(j);
}

void
job_give_back(struct job *j, bool now)
{
	switch (j->state) {
	case JOB_FETCHING:
	case JOB_WAITING:
		qo_s3_cancel(&j->req);
		ahead_leave(j->host->ahead, j->handler, &j->wait);
		job_conclude_why(j, QO_OUTCOME_REQUEUE, "drain", "%s",
		    "the worker ends");
		return;
	case JOB_RUNNING:
		if (j->running)
			run_stop(&j->run, now ? RUN_NOW : RUN_DRAIN);
		return;
	case JOB_FREE:
	case JOB_CLAIMING: /* given back when it is claimed */
	case JOB_LOGGING:
	case JOB_COMMITTING:
		return;
	}
}

/* Questions */

bool
job_busy(const struct job *j)
{
	return j->state != JOB_FREE;
}

bool
job_held(const struct job *j)
{
	return j->state > JOB_CLAIMING;
}

size_t
job_slot(const struct job *j)
{
	return j->slot;
}

const struct qo_entry *
job_entry(const struct job *j)
{
	return &j->entry;
}

unsigned
job_tries(const struct job *j)
{
	return j->tries;
}

const struct qo_task *
job_task(const struct job *j)
{
	return &j->claim.change.task;
}

const struct qo_err *
job_err(const struct job *j)
{
	return &j->err;
}

const struct conf_handler *
job_handler(const struct job *j)
{
	return j->handler;
}

const struct qo_entry *
job_next_entry(const struct job *j)
{
	const struct qo_change *c = &j->claim.change;

	if (c->rc != QO_OK || !c->has_entry ||
	    c->task.status != QO_STATUS_PENDING)
		return NULL;
	return &c->entry;
}

struct qo_wall
job_since(const struct job *j)
{
	return j->since;
}
