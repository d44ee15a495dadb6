/* status and why: one task, for people. */
#include <string.h>

#include "taskview.h"

#define LINE_LEN 8192

struct view {
	const struct qo_task *t;
	struct qo_wall now;
};

static void
row(const char *name, const char *value)
{
	out_text(OUT_DIM, "%-13s", name);
	out_text(OUT_PLAIN, "%s", value);
	out_raw("\n", 1);
}

static void
row_str(const char *name, const char *value)
{
	if (value != NULL)
		row(name, value);
}

static void
row_json(const char *name, const struct qo_json *v)
{
	if (v->p == NULL)
		return;
	out_text(OUT_DIM, "%-13s", name);
	taskview_json(v);
	out_raw("\n", 1);
}

static void
row_time(const struct view *v, const char *name, struct qo_wall t)
{
	char at[TASKVIEW_TIME_SIZE];
	struct buf b;

	if (!qo_wall_is_set(t))
		return;
	buf_init(&b, LINE_LEN);
	buf_addf(&b, "%s, ", taskview_time(t, at));
	taskview_add_when(&b, t, v->now);
	row(name, b.data);
	buf_fini(&b);
}

static void
show_head(const struct view *v)
{
	const struct qo_task *t = v->t;
	struct buf b;

	buf_init(&b, LINE_LEN);
	row("task", t->id);
	row("type", t->task_type);
	out_text(OUT_DIM, "%-13s", "status");
	out_text(taskview_style(t->status), "%s", qo_status_name(t->status));
	taskview_add_state(&b, t, v->now);
	if (b.len > 0 && t->status != QO_STATUS_FAILED)
		out_text(OUT_PLAIN, ", %s", b.data);
	out_raw("\n", 1);
	buf_reset(&b);
	buf_addf(&b, "%lld, %lld of %lld retries used", (long long)t->attempt,
	    (long long)t->retry_count, (long long)t->max_retries);
	if (t->reschedule_count > 0)
		buf_addf(&b, ", rescheduled %lld times",
		    (long long)t->reschedule_count);
	row("attempts", b.data);
	buf_fini(&b);
}

static void
show_run(const struct view *v)
{
	const struct qo_task *t = v->t;

	if (t->status == QO_STATUS_RUNNING) {
		row_str("worker", t->worker_id);
		row_time(v, "lease until", t->lease_expires_at);
	}
	row_json("progress", &t->progress);
	row_str("last error", t->last_error);
	if (t->cancel_requested)
		row("cancel", "requested");
	row_str("cancelled by", t->cancelled_by);
	row_str("reason", t->cancel_reason);
	if (t->give_up != QO_STATUS_NONE)
		row("given up as", qo_status_name(t->give_up));
}

static void
show_rest(const struct view *v)
{
	static const char *const priorities[] = { "normal", "high", "low" };
	const struct qo_task *t = v->t;

	row_time(v, "created", t->created_at);
	row_time(v, "updated", t->updated_at);
	row_time(v, "due", t->available_at);
	row_time(v, "ended", t->completed_at);
	row_time(v, "expires", t->expires_at);
	if (t->priority != QO_PRIORITY_NORMAL)
		row("priority", priorities[t->priority]);
	row_str("key", t->idempotency_key);
	row_json("tags", &t->tags);
	row_str("workflow", t->workflow_id);
	row_str("step", t->step);
	row_json("waiting for", &t->waiting_for);
	row_str("parent", t->parent_id);
	row_str("submitted by", t->submitted_by);
	row_json("input", &t->input);
	row_str("input in", t->input_ref);
	row_json("output", &t->output);
	row_str("output in", t->output_ref);
}

static void
show_errors(const struct view *v)
{
	const struct qo_task_error *e;
	char at[TASKVIEW_TIME_SIZE];
	size_t i;

	for (i = 0; i < v->t->nerrors; i++) {
		e = &v->t->errors[i];
		out_text(OUT_DIM, "%-13s", i == 0 ? "errors" : "");
		out_text(OUT_PLAIN, "%s attempt %lld %s: %s",
		    taskview_time(e->at, at), (long long)e->attempt,
		    e->kind != NULL ? e->kind : "error",
		    e->message != NULL ? e->message : "");
		out_raw("\n", 1);
	}
}

static enum exit_code
run_status(struct session *s, const struct opts *o)
{
	struct qo_task t;
	struct buf text;
	struct view v = { &t, { 0 } };
	enum exit_code code;

	if ((code = taskview_check_ids(o)) != EXIT_OK ||
	    (code = taskview_get(s, o->args[0], &t, &text)) != EXIT_OK)
		return code;
	v.now = taskview_now(s, &t);
	if (opts_has(o, "json")) {
		out_json(text.data, text.len);
	} else {
		show_head(&v);
		show_run(&v);
		show_rest(&v);
		show_errors(&v);
	}
	if (qo_task_read_only(&t))
		exit_say("task %s has format %lld, this program knows up to "
			 "%d: it may mean more than is shown",
		    t.id, (long long)t.format, QO_TASK_FORMAT);
	buf_fini(&text);
	qo_task_fini(&t);
	return EXIT_OK;
}

static enum exit_code
run_why(struct session *s, const struct opts *o)
{
	struct qo_task t;
	struct buf b;
	enum exit_code code;

	if ((code = taskview_check_ids(o)) != EXIT_OK ||
	    (code = taskview_get(s, o->args[0], &t, NULL)) != EXIT_OK)
		return code;
	buf_init(&b, QO_TASK_LEN_MAX);
	taskview_add_why(&b, &t, &s->control, taskview_now(s, &t));
	out_line("%s", b.data);
	buf_fini(&b);
	qo_task_fini(&t);
	return EXIT_OK;
}

static const struct opt status_opts[] = {
	{ "json", 0, NULL, "Print the task as it is stored.", false },
	CMD_OPT_END,
};

const struct cmd cmd_status = {
	.name = "status",
	.run = run_status,
	.opts = status_opts,
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.summary = "show one task",
	.help = "With the time that is left of a lease or a backoff, by the "
		"store's clock.  Ends with 3 when there is no such task.",
};

const struct cmd cmd_why = {
	.name = "why",
	.run = run_why,
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.summary = "say in one line what a task waits for",
	.help = "What it waits for, until when, and who holds it; or how it "
		"ended.",
};
