#include <stdio.h>
#include <string.h>

#include "confval.h"
#include "rfc3339.h"
#include "taskview.h"

#define VALUE_MAX 2000 /* of a JSON value, on the screen */

/* Arguments */

enum exit_code
taskview_check_id(const char *arg)
{
	char shown[CONFVAL_SHOWN];

	if (qo_uuid_valid(arg, strlen(arg)))
		return EXIT_OK;
	return exit_usage("ID: %s: not a task's id, which is a UUID in lower "
			  "case, like 3f2a1c9e-7b64-4d0e-9f6a-2b8c5d1e7a90",
	    confval_shown(arg, shown, sizeof(shown)));
}

enum exit_code
taskview_check_ids(const struct opts *o)
{
	enum exit_code code;
	int i;

	for (i = 0; i < o->nargs; i++)
		if ((code = taskview_check_id(o->args[i])) != EXIT_OK)
			return code;
	return EXIT_OK;
}

enum exit_code
taskview_check_type(const struct opts *o)
{
	const char *type = opts_get(o, "type");
	char shown[CONFVAL_SHOWN];

	if (type == NULL || qo_type_valid(type, strlen(type)))
		return EXIT_OK;
	return exit_usage("--type: %s: a task type is 1 to 128 of "
			  "A-Z a-z 0-9 . _ : / -",
	    confval_shown(type, shown, sizeof(shown)));
}

/* Reading */

static enum exit_code
judge(struct session *s, const char *id, struct qo_s3_req *r, struct qo_task *t)
{
	struct qo_err err;

	if (r->res.outcome == QO_S3_NOT_FOUND &&
	    strcmp(r->res.err.s3_code, "NoSuchBucket") != 0) {
		exit_say("there is no task %s", id);
		return EXIT_NOENT;
	}
	if (r->res.outcome != QO_S3_OK)
		return session_fail(s, qo_s3_outcome_rc(r->res.outcome),
		    &r->res.err);
	if (qo_task_decode(t, id, r->res.body.data, r->res.body.len, &err) == 0)
		return EXIT_OK;
	exit_say("%s: %s", r->key, err.msg);
	return EXIT_FAILED;
}

enum exit_code
taskview_get(struct session *s, const char *id, struct qo_task *t,
    struct buf *text)
{
	struct qo_s3_req r;
	char key[QO_KEY_SIZE];
	enum exit_code code;

	if ((code = session_open(s)) != EXIT_OK)
		return code;
	qo_key_task(&s->q->layout, id, key);
	qo_s3_req_init(&r, QO_S3_GET, s->q->bucket, key);
	r.response_max = QO_TASK_LEN_MAX;
	qo_s3_wait(s->s3, &r);
	code = judge(s, id, &r, t);
	if (code == EXIT_OK && text != NULL) {
		buf_init(text, QO_TASK_LEN_MAX);
		buf_add(text, r.res.body.data, r.res.body.len);
	}
	qo_s3_req_fini(&r);
	return code;
}

void
taskview_add_line(struct out_list *l, const char *text, size_t len)
{
	const struct qo_json_limits limits = { len, QO_JSON_DEPTH_MAX, false };
	struct buf b;

	if (memchr(text, '\n', len) == NULL &&
	    memchr(text, '\r', len) == NULL) {
		out_list_add(l, text, len);
		return;
	}
	buf_init(&b, len);
	if (qo_json_compact(text, len, &limits, &b, NULL) == 0)
		out_list_add(l, b.data, b.len);
	buf_fini(&b);
}

/* Words */

void
taskview_json(const struct qo_json *v)
{
	if (v->len <= VALUE_MAX)
		out_text(OUT_PLAIN, "%.*s", (int)v->len, v->p);
	else
		out_text(OUT_PLAIN, "%.*s... (%zu bytes, all with --json)",
		    VALUE_MAX, v->p, v->len);
}

enum out_style
taskview_style(enum qo_status status)
{
	switch (status) {
	case QO_STATUS_RUNNING:
		return OUT_BUSY;
	case QO_STATUS_COMPLETED:
		return OUT_GOOD;
	case QO_STATUS_FAILED:
		return OUT_BAD;
	case QO_STATUS_CANCELLED:
	case QO_STATUS_EXPIRED:
		return OUT_WARN;
	case QO_STATUS_ARCHIVED:
		return OUT_DIM;
	case QO_STATUS_NONE:
	case QO_STATUS_PENDING:
		break;
	}
	return OUT_PLAIN;
}

const char *
taskview_time(struct qo_wall t, char out[TASKVIEW_TIME_SIZE])
{
	char text[QO_RFC3339_SIZE];

	if (!qo_wall_is_set(t))
		return "-";
	qo_rfc3339_print(t, text);
	snprintf(out, TASKVIEW_TIME_SIZE, "%.19sZ", text);
	return out;
}

void
taskview_add_when(struct buf *b, struct qo_wall t, struct qo_wall now)
{
	bool ahead = t.us > now.us;

	if (ahead)
		buf_adds(b, "in ");
	out_duration(b, (ahead ? t.us - now.us : now.us - t.us) / QO_US_PER_MS);
	if (!ahead)
		buf_adds(b, " ago");
}

struct qo_wall
taskview_now(const struct session *s, const struct qo_task *t)
{
	struct qo_wall now = qo_queue_now(s->q);

	if (t->created_at.us > now.us)
		now = t->created_at;
	return t->updated_at.us > now.us ? t->updated_at : now;
}

static void
add_at(struct buf *b, struct qo_wall t, struct qo_wall now)
{
	char at[TASKVIEW_TIME_SIZE];

	buf_addf(b, "%s (", taskview_time(t, at));
	taskview_add_when(b, t, now);
	buf_addc(b, ')');
}

void
taskview_add_state(struct buf *b, const struct qo_task *t, struct qo_wall now)
{
	switch (t->status) {
	case QO_STATUS_PENDING:
		buf_adds(b, "due ");
		taskview_add_when(b, t->available_at, now);
		break;
	case QO_STATUS_RUNNING:
		if (t->cancel_requested)
			buf_adds(b, "cancel requested, ");
		buf_adds(b, "lease ends ");
		if (qo_wall_is_set(t->lease_expires_at))
			taskview_add_when(b, t->lease_expires_at, now);
		break;
	case QO_STATUS_ARCHIVED:
		buf_addf(b, "was %s", qo_status_name(t->archived_from));
		break;
	case QO_STATUS_FAILED:
		buf_adds(b, t->last_error != NULL ? t->last_error : "");
		break;
	case QO_STATUS_NONE:
	case QO_STATUS_COMPLETED:
	case QO_STATUS_CANCELLED:
	case QO_STATUS_EXPIRED:
		if (qo_wall_is_set(t->completed_at))
			taskview_add_when(b, t->completed_at, now);
		break;
	}
}

static void
add_why_pending(struct buf *b, const struct qo_task *t,
    const struct qo_control *c, struct qo_wall now)
{
	if (t->available_at.us > now.us) {
		buf_adds(b, "pending: not due until ");
		add_at(b, t->available_at, now);
	} else {
		buf_adds(b, "pending and due since ");
		add_at(b, t->available_at, now);
		if (qo_wall_is_set(t->expires_at) && t->expires_at.us <= now.us)
			buf_adds(b,
			    ", but past its expires_at: ends when a worker "
			    "or the monitor meets it");
		else if (c->paused)
			buf_adds(b, ", but the queue is paused: qo resume");
		else if (qo_control_paused(c, t->task_type))
			buf_addf(b,
			    ", but tasks of type %s are paused: qo resume "
			    "--type %s",
			    t->task_type, t->task_type);
		else
			buf_addf(b, ": waits for a worker that takes type %s",
			    t->task_type);
	}
	if (t->give_up != QO_STATUS_NONE)
		buf_addf(b, "; given up as %s, the workflow is advanced first",
		    qo_status_name(t->give_up));
	else if (t->retry_count > 0)
		buf_addf(b, "; retry %lld of %lld after: %s",
		    (long long)t->retry_count, (long long)t->max_retries,
		    t->last_error != NULL ? t->last_error : "an error");
}

static void
add_why_cancel(struct buf *b, const struct qo_task *t)
{
	if (t->cancelled_by != NULL)
		buf_addf(b, " by %s", t->cancelled_by);
	if (t->cancel_reason != NULL)
		buf_addf(b, " (%s)", t->cancel_reason);
}

static void
add_why_running(struct buf *b, const struct qo_task *t, struct qo_wall now)
{
	if (t->cancel_requested) {
		buf_adds(b, "cancel requested");
		add_why_cancel(b, t);
		buf_adds(b, ", still ");
	}
	buf_addf(b, "running on %s, attempt %lld, last heard of ",
	    t->worker_id != NULL ? t->worker_id : "an unknown worker",
	    (long long)t->attempt);
	taskview_add_when(b, t->updated_at, now);
	if (!qo_wall_is_set(t->lease_expires_at))
		return;
	if (t->lease_expires_at.us <= now.us) {
		buf_adds(b, ", lease ran out at ");
		add_at(b, t->lease_expires_at, now);
		buf_adds(b, ": the monitor gives it back");
	} else {
		buf_adds(b, ", lease until ");
		add_at(b, t->lease_expires_at, now);
	}
}

void
taskview_add_why(struct buf *b, const struct qo_task *t,
    const struct qo_control *c, struct qo_wall now)
{
	switch (t->status) {
	case QO_STATUS_PENDING:
		add_why_pending(b, t, c, now);
		return;
	case QO_STATUS_RUNNING:
		add_why_running(b, t, now);
		return;
	case QO_STATUS_ARCHIVED:
		buf_addf(b, "archived, was %s: waits for nothing",
		    qo_status_name(t->archived_from));
		return;
	case QO_STATUS_FAILED:
		buf_addf(b, "failed after %lld attempt%s because: %s",
		    (long long)t->attempt, t->attempt == 1 ? "" : "s",
		    t->last_error != NULL ? t->last_error : "(no error)");
		break;
	case QO_STATUS_CANCELLED:
		buf_adds(b, "cancelled");
		add_why_cancel(b, t);
		break;
	case QO_STATUS_NONE:
	case QO_STATUS_COMPLETED:
	case QO_STATUS_EXPIRED:
		buf_adds(b, qo_status_name(t->status));
		break;
	}
	if (qo_wall_is_set(t->completed_at)) {
		buf_adds(b, ", ended at ");
		add_at(b, t->completed_at, now);
	}
	if (t->status != QO_STATUS_COMPLETED)
		buf_adds(b, "; qo replay runs it again");
}
