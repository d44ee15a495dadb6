/* Keep the lease of a task that runs, or notice that it is gone. */
#include "job_int.h"
#include "log.h"

/* A line of progress brings the next renewal forward, but not closer to the
 * last one than this: each is a version of the task. */
#define PROGRESS_MS 10000
/* A renewal that did not come through is tried again after so long. */
#define AGAIN_MIN_MS 500
#define AGAIN_MAX_MS 5000

static void on_lease(struct loop_timer *t);

bool
job_past_fence(const struct job *j)
{
	return j->lost || qo_mono_now().us >= j->claim.fence.us;
}

static void
set(struct job *j, struct qo_mono at)
{
	if (at.us > j->claim.fence.us)
		at = j->claim.fence;
	loop_timer_set(j->host->loop, &j->lease, at, on_lease, j);
}

static void
arm(struct job *j)
{
	struct qo_mono at = qo_mono_add_ms(j->renewed_at, j->lease_ms / 2);
	struct qo_mono soon = qo_mono_add_ms(j->renewed_at, PROGRESS_MS);
	struct qo_mono late = j->renewed_at;

	/* The margin of the fence is most of a short lease. */
	late.us += qo_mono_diff_us(j->renewed_at, j->claim.fence) * 2 / 3;
	if (late.us < at.us)
		at = late;
	j->early = j->progress && soon.us < at.us;
	set(j, j->early ? soon : at);
}

static void
lose(struct job *j)
{
	j->lost = true;
	job_lease_stop(j);
	if (j->running) {
		run_stop(&j->run, RUN_FENCE);
	} else if (j->state != JOB_COMMITTING) {
		qo_s3_cancel(&j->req);
		job_conclude(j);
	}
}

static void
cancelled(struct job *j)
{
	if (j->running) {
		run_stop(&j->run, RUN_CANCEL);
	} else if (j->state < JOB_RUNNING) {
		qo_s3_cancel(&j->req);
		ahead_leave(j->host->ahead, j->handler, &j->wait);
		job_conclude_why(j, QO_OUTCOME_CANCELLED, "cancelled", "%s",
		    "cancelled before it ran");
	}
}

static void
renewed(struct job *j)
{
	j->renewed_at = j->claim.sent_at;
	j->renew_fails = 0;
	board_add(j->host->area, BOARD_RENEWED, 1);
	arm(j);
	if (j->claim.cancel_seen)
		cancelled(j);
}

static void
not_renewed(struct job *j)
{
	int64_t ms = AGAIN_MIN_MS << j->renew_fails;

	if (j->renew_fails++ == 0)
		job_log(j, LOG_LVL_WARN, "the lease could not be renewed yet",
		    "error", j->claim.change.err.msg);
	if (j->renew_fails > 8)
		j->renew_fails = 8;
	set(j,
	    qo_mono_add_ms(qo_mono_now(),
		ms < AGAIN_MAX_MS ? ms : AGAIN_MAX_MS));
}

static void renew(struct job *j, int64_t lease_ms);

static void
on_renewed(struct qo_claim *cl)
{
	struct job *j = cl->arg;

	j->renewing = false;
	if (cl->change.rc == QO_OK)
		renewed(j);
	else if (cl->change.rc == QO_LOST || cl->change.rc == QO_NOENT)
		lose(j);
	else
		not_renewed(j);
	if (j->look && !j->lost && j->state < JOB_LOGGING) {
		j->look = false;
		renew(j, j->lease_ms);
		return;
	}
	job_go_on(j);
}

static void
renew(struct job *j, int64_t lease_ms)
{
	const struct qo_json *p = &j->run.progress;

	if (j->run_there && p->p != NULL && j->progress) {
		buf_reset(&j->progress_text);
		if (buf_add(&j->progress_text, p->p, p->len) == 0) {
			j->claim.progress.p = j->progress_text.data;
			j->claim.progress.len = j->progress_text.len;
		}
	}
	j->progress = false;
	j->renewing = true;
	j->lease_ms = lease_ms;
	j->claim.done = on_renewed;
	j->claim.arg = j;
	set(j, j->claim.fence);
	qo_claim_renew(&j->claim, lease_ms);
}

static void
on_lease(struct loop_timer *t)
{
	struct job *j = t->arg;
	int64_t ms = j->lease_ms, max = j->host->conf->worker.lease_max_ms;

	if (job_past_fence(j)) {
		lose(j);
		return;
	}
	/* What progress brings forward does not lengthen it, nor does what
	 * did not come through. */
	if (!j->early && j->renew_fails == 0)
		ms = ms * 2 < max ? ms * 2 : max;
	renew(j, ms > j->lease_ms ? ms : j->lease_ms);
}

void
job_lease_start(struct job *j)
{
	j->lease_ms = j->host->conf->worker.lease_ms;
	j->renewed_at = j->claim.sent_at;
	arm(j);
	if (j->look) {
		j->look = false;
		renew(j, j->lease_ms);
	}
}

void
job_lease_stop(struct job *j)
{
	loop_timer_del(j->host->loop, &j->lease);
}

void
job_lease_progressed(struct job *j)
{
	j->progress = true;
	if (!j->renewing && !j->lost && j->renew_fails == 0)
		arm(j);
}

void
job_look(struct job *j)
{
	switch (j->state) {
	case JOB_CLAIMING:
		j->look = true;
		return;
	case JOB_FETCHING:
	case JOB_WAITING:
	case JOB_RUNNING:
		if (j->renewing)
			j->look = true;
		else if (!j->lost && !job_past_fence(j))
			renew(j, j->lease_ms);
		return;
	case JOB_FREE:
	case JOB_LOGGING:
	case JOB_COMMITTING:
		return; /* too late, or not ours */
	}
}
