/* schedule list, show, pause, resume, delete, run-now. */
#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "schedule_list.h"
#include "schedule_ops.h"
#include "scheduleview.h"
#include "taskview.h"

/* As session_fail, and says what is not there. */
static enum exit_code
fail(struct session *s, const char *id, enum qo_rc rc, const struct qo_err *err)
{
	if (rc == QO_NOENT && strcmp(err->s3_code, "NoSuchBucket") != 0) {
		exit_say("there is no schedule %s", id);
		return EXIT_NOENT;
	}
	return session_fail(s, rc, err);
}

/* Opens the session and reads the schedule that was named; on EXIT_OK the
 * caller ends *rec. */
static enum exit_code
read_record(struct session *s, const struct opts *o,
    enum exit_code (*open_as)(struct session *), struct qo_schedule *rec)
{
	struct qo_err err = { 0 };
	enum exit_code code;
	enum qo_rc rc;

	if ((code = scheduleview_check_id(o->args[0])) != EXIT_OK ||
	    (code = open_as(s)) != EXIT_OK)
		return code;
	if ((rc = qo_schedule_read(s->q, o->args[0], rec, &err)) != QO_OK)
		return fail(s, o->args[0], rc, &err);
	return EXIT_OK;
}

/* list */

struct list {
	enum out_format format;
	struct out_table *table;
	struct out_list out;
	bool corrupt;
};

static const struct out_col cols[] = {
	{ "SCHEDULE", false },
	{ "CRON", false },
	{ "TIME ZONE", false },
	{ "NEXT DUE", false },
	{ "LAST DUE", false },
	{ "DECISION", false },
	{ "RUNS", false },
};

static void
add_row(struct out_table *t, const struct qo_schedule *s)
{
	const char *decision = qo_decision_name(s->last_decision);
	char next[SCHEDULEVIEW_TIME_SIZE], last[SCHEDULEVIEW_TIME_SIZE];
	struct qo_err err;
	struct qo_tz *tz;

	tz = qo_tz_open(s->timezone, &err);
	out_cell(t, OUT_PLAIN, "%s", s->id);
	out_cell(t, OUT_PLAIN, "%s", s->cron);
	out_cell(t, tz != NULL ? OUT_PLAIN : OUT_BAD, "%s%s", s->timezone,
	    tz != NULL ? "" : " (unknown here)");
	if (s->paused)
		out_cell(t, OUT_WARN, "paused");
	else
		out_cell(t, OUT_PLAIN, "%s",
		    scheduleview_time(tz, s->next_due, next));
	out_cell(t, OUT_PLAIN, "%s", scheduleview_time(tz, s->last_due, last));
	out_cell(t, s->last_decision > QO_DECISION_RUN ? OUT_WARN : OUT_PLAIN,
	    "%s", decision != NULL ? decision : "-");
	if (s->workflow != NULL)
		out_cell(t, OUT_PLAIN, "workflow %s", s->workflow);
	else
		out_cell(t, OUT_PLAIN, "%s", s->task_type);
	qo_tz_free(tz);
}

static void
on_record(struct qo_schedule_list *l, const struct qo_schedule *s,
    const char *text, size_t len)
{
	struct list *list = l->arg;

	if (list->format == OUT_TEXT)
		add_row(list->table, s);
	else
		taskview_add_line(&list->out, text, len);
}

static void
on_corrupt(struct qo_schedule_list *l, const char *key, const char *why)
{
	struct list *list = l->arg;

	list->corrupt = true;
	exit_say("%s: %s", key, why);
}

static enum exit_code
run_list(struct session *s, const struct opts *o)
{
	struct list list = { .table = NULL };
	struct qo_schedule_list l = {
		.record = on_record, .corrupt = on_corrupt, .arg = &list
	};
	enum exit_code code;
	enum qo_rc rc;

	if ((code = cmd_format(o, &list.format)) != EXIT_OK ||
	    (code = session_open(s)) != EXIT_OK)
		return code;
	l.q = s->q;
	if (list.format == OUT_TEXT)
		list.table = out_table_new(cols,
		    sizeof(cols) / sizeof(cols[0]));
	else
		out_list_begin(&list.out, list.format);
	rc = qo_schedule_list_read(&l);
	if (list.format == OUT_TEXT)
		out_table_print(list.table);
	else
		out_list_end(&list.out);
	if (rc != QO_OK)
		return session_fail(s, rc, &l.err);
	return list.corrupt ? EXIT_PARTLY : EXIT_OK;
}

static const struct opt list_opts[] = {
	CMD_OPT_JSON,
	CMD_OPT_JSONL,
	CMD_OPT_END,
};

const struct cmd cmd_schedule_list = {
	.name = "schedule",
	.sub = "list",
	.run = run_list,
	.opts = list_opts,
	.summary = "list the schedules, when each is due and what it did last",
	.help = "Times are those of the schedule's zone.  Exit status 8 when "
		"something under schedules/ is none.",
};

/* show */

static enum exit_code
run_show(struct session *s, const struct opts *o)
{
	struct qo_schedule rec;
	enum exit_code code;

	if ((code = read_record(s, o, session_open, &rec)) != EXIT_OK)
		return code;
	if (opts_has(o, "json"))
		code = scheduleview_json(&rec);
	else
		scheduleview_show(&rec, qo_queue_now(s->q));
	qo_schedule_fini(&rec);
	return code;
}

static const struct opt show_opts[] = {
	CMD_OPT_JSON,
	CMD_OPT_END,
};

const struct cmd cmd_schedule_show = {
	.name = "schedule",
	.sub = "show",
	.run = run_show,
	.opts = show_opts,
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.summary = "show a schedule and its next five times, in its zone",
};

/* pause, resume */

static enum exit_code
set_paused(struct session *s, const struct opts *o, bool paused)
{
	struct qo_schedule rec;
	struct qo_err err = { 0 };
	enum exit_code code;
	bool changed;
	enum qo_rc rc;

	if ((code = scheduleview_check_id(o->args[0])) != EXIT_OK ||
	    (code = session_open(s)) != EXIT_OK)
		return code;
	rc = qo_schedule_pause(s->q, o->args[0], paused, &rec, &changed, &err);
	if (rc != QO_OK)
		return fail(s, o->args[0], rc, &err);
	out_line("%s %s%s", paused ? "paused" : "resumed", rec.id,
	    changed ? "" : ": it was so already");
	if (!paused)
		scheduleview_next(&rec, qo_queue_now(s->q));
	qo_schedule_fini(&rec);
	return EXIT_OK;
}

static enum exit_code
run_pause(struct session *s, const struct opts *o)
{
	return set_paused(s, o, true);
}

static enum exit_code
run_resume(struct session *s, const struct opts *o)
{
	return set_paused(s, o, false);
}

const struct cmd cmd_schedule_pause = {
	.name = "schedule",
	.sub = "pause",
	.run = run_pause,
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.summary = "let a schedule run nothing until it is resumed",
	.help = "What it has submitted goes on.  Times that pass meanwhile are "
		"not made up for, whatever its catch-up rule.",
};

const struct cmd cmd_schedule_resume = {
	.name = "schedule",
	.sub = "resume",
	.run = run_resume,
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.summary = "let a paused schedule run again, from now on",
};

/* delete */

static enum exit_code
run_delete(struct session *s, const struct opts *o)
{
	struct qo_err err = { 0 };
	enum exit_code code;
	enum qo_rc rc;

	if ((code = scheduleview_check_id(o->args[0])) != EXIT_OK ||
	    (code = session_open(s)) != EXIT_OK)
		return code;
	if ((rc = qo_schedule_delete(s->q, o->args[0], &err)) != QO_OK)
		return fail(s, o->args[0], rc, &err);
	out_line("deleted %s", o->args[0]);
	return EXIT_OK;
}

const struct cmd cmd_schedule_delete = {
	.name = "schedule",
	.sub = "delete",
	.run = run_delete,
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.summary = "delete a schedule; the tasks that it submitted stay",
};

/* run-now */

static enum exit_code
submit_run(struct session *s, const struct opts *o,
    const struct qo_schedule *rec)
{
	struct qo_submission sub;
	struct qo_submit submit;
	struct qo_draft draft;
	struct qo_err err = { 0 };
	enum exit_code code = EXIT_OK;

	if (rec->workflow != NULL) {
		exit_say("%s starts a workflow, which this version can not do",
		    rec->id);
		return EXIT_FAILED;
	}
	if (qo_schedule_submission(rec, &s->conf->submit, qo_queue_now(s->q),
		&draft, &sub, &err) == -1)
		return exit_fail(QO_ERR, &err);
	sub.submitted_by = session_who();
	qo_submit_init(&submit, s->q, &sub);
	if (qo_submit_wait(&submit) != QO_OK)
		code = session_fail(s, submit.change.rc, &submit.change.err);
	else if (opts_has(o, "json"))
		batch_print(&submit, 0);
	else
		out_line("%s", submit.change.id);
	qo_submit_fini(&submit);
	qo_draft_fini(&draft);
	return code;
}

static enum exit_code
run_now(struct session *s, const struct opts *o)
{
	struct qo_schedule rec;
	enum exit_code code;

	if ((code = read_record(s, o, session_open_writer, &rec)) != EXIT_OK)
		return code;
	code = submit_run(s, o, &rec);
	qo_schedule_fini(&rec);
	return code;
}

const struct cmd cmd_schedule_run_now = {
	.name = "schedule",
	.sub = "run-now",
	.run = run_now,
	.opts = show_opts,
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.summary = "submit what a schedule runs, at once",
	.help = "Prints the id of the task; with --json a line of JSON.  It is "
		"a task like any other: the schedule does not know of it, its "
		"overlap rule does not count it, and its own times stay as "
		"they are.  A paused schedule can be run too.",
};
