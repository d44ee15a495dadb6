/* The attempt is over: its log, then its result. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "job_int.h"
#include "log.h"

#define LOG_DEADLINE_MS 10000
#define AGAIN_MIN_MS    200
#define AGAIN_MAX_MS    5000

static void commit(struct job *j);

/* Dropped */

static void
drop(struct job *j)
{
	job_log(j, LOG_LVL_WARN, "stale result dropped", "reason",
	    j->claim.change.rc == QO_LOST || j->claim.change.rc == QO_NOENT
		? "another holds the task by now"
		: "the lease ran out before it could be renewed");
	job_count(j, BOARD_LOST);
	job_finish(j, JOB_DROPPED);
}

/* Committed */

static enum board_counter
what_became(const struct job *j)
{
	switch (j->claim.change.task.status) {
	case QO_STATUS_COMPLETED:
		return BOARD_COMPLETED;
	case QO_STATUS_CANCELLED:
		return BOARD_CANCELLED;
	case QO_STATUS_EXPIRED:
		return BOARD_EXPIRED;
	case QO_STATUS_PENDING:
		break;
	case QO_STATUS_NONE:
	case QO_STATUS_RUNNING:
	case QO_STATUS_FAILED:
	case QO_STATUS_ARCHIVED:
		return BOARD_FAILED;
	}
	if (j->outcome == QO_OUTCOME_REQUEUE)
		return BOARD_REQUEUED;
	return j->outcome == QO_OUTCOME_RESCHEDULE ? BOARD_RESCHEDULED
						   : BOARD_RETRIED;
}

static void
report(const struct job *j, enum board_counter became)
{
	const struct qo_task *t = &j->claim.change.task;
	bool bad = j->outcome == QO_OUTCOME_RETRY ||
	    j->outcome == QO_OUTCOME_FAILED;
	enum log_level level = bad ? LOG_LVL_INFO : LOG_LVL_DEBUG;

	if (!log_wants(level))
		return;
	log_event(level, board_counter_name(became), "task", t->id, "type",
	    t->task_type, "attempt", LOG_NUM(t->attempt), "lease",
	    j->claim.lease_id, "status", qo_status_name(t->status), "workflow",
	    t->workflow_id, "error", bad ? j->result.why.message : NULL, NULL);
}

static void
on_again(struct loop_timer *t)
{
	commit(t->arg);
}

static void
commit_later(struct job *j)
{
	int64_t ms = AGAIN_MIN_MS << j->commit_tries;

	if (j->commit_tries++ == 0)
		job_log(j, LOG_LVL_WARN, "the result could not be written yet",
		    "error", j->claim.change.err.msg);
	if (j->commit_tries > 8)
		j->commit_tries = 8;
	loop_timer_set_ms(j->host->loop, &j->again,
	    ms < AGAIN_MAX_MS ? ms : AGAIN_MAX_MS, on_again, j);
}

static void
on_committed(struct qo_commit *cm)
{
	struct job *j = cm->arg;
	enum qo_rc rc = j->claim.change.rc;
	enum board_counter became;

	j->committing = false;
	qo_commit_fini(cm);
	switch (rc) {
	case QO_OK:
		became = what_became(j);
		job_count(j, became);
		report(j, became);
		job_finish(j, JOB_COMMITTED);
		return;
	case QO_LOST:
	case QO_NOENT:
		drop(j);
		return;
	case QO_ERR:
		/* A result that can not be stored is a failure of its own. */
		if (j->outcome == QO_OUTCOME_COMPLETED) {
			snprintf(j->reason, sizeof(j->reason), "%s",
			    j->claim.change.err.msg);
			job_conclude_why(j, QO_OUTCOME_FAILED, "output",
			    "the result can not be stored: %.250s", j->reason);
			return;
		}
		break;
	case QO_AGAIN:
	case QO_DENIED:
		break;
	}
	commit_later(j);
}

static void
commit(struct job *j)
{
	if (job_past_fence(j)) {
		drop(j);
		return;
	}
	job_lease_stop(j);
	j->committing = true;
	qo_commit_start(&j->commit, &j->claim, j->outcome, &j->result,
	    on_committed, j);
}

/* The log */

static void
log_done(struct job *j)
{
	j->state = JOB_COMMITTING;
	if (!j->renewing)
		commit(j);
}

static void
on_log(struct qo_s3_req *r)
{
	struct job *j = r->arg;

	if (r->res.outcome != QO_S3_OK)
		job_log(j, LOG_LVL_WARN, "the log of a task was not kept",
		    "error", r->res.err.msg);
	log_done(j);
}

static void
upload_log(struct job *j)
{
	const struct qo_task *t = &j->claim.change.task;

	if (qo_key_log(&j->host->q->layout, t->id, t->attempt, j->key) == -1) {
		log_done(j);
		return;
	}
	j->state = JOB_LOGGING;
	qo_s3_req_fini(&j->req);
	qo_s3_req_init(&j->req, QO_S3_PUT, j->host->q->index_bucket, j->key);
	j->req.content_type = "text/plain; charset=utf-8";
	j->req.body = j->run.log.data;
	j->req.body_len = j->run.log.len;
	j->req.deadline_ms = LOG_DEADLINE_MS;
	j->req.done = on_log;
	j->req.arg = j;
	qo_s3_send(j->host->q->s3, &j->req);
}

void
job_conclude(struct job *j)
{
	if (job_past_fence(j))
		drop(j);
	else if (j->run_there && j->run.log.len > 0)
		upload_log(j);
	else
		log_done(j);
}

void
job_conclude_why(struct job *j, enum qo_outcome outcome, const char *kind,
    const char *fmt, ...)
{
	char text[sizeof(j->reason)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(j->reason, text, sizeof(text));
	j->outcome = outcome;
	memset(&j->result, 0, sizeof(j->result));
	j->result.why.kind = kind;
	j->result.why.message = j->reason;
	j->result.delay_ms = -1;
	if (j->state == JOB_COMMITTING)
		commit(j); /* its log was uploaded before */
	else
		job_conclude(j);
}

void
job_go_on(struct job *j)
{
	if (j->state == JOB_COMMITTING && !j->committing &&
	    !loop_timer_is_set(&j->again))
		commit(j);
}
