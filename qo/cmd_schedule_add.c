/* schedule add. */
#include <string.h>

#include "confval.h"
#include "order.h"
#include "schedule_ops.h"
#include "scheduleview.h"

static const struct opt add_opts[] = {
	{ "cron", 0, "EXPR",
	    "When: five fields, minute hour day-of-month month day-of-week, "
	    "or @hourly, @daily, @weekly, @monthly, @yearly, @every DURATION.",
	    false },
	{ "timezone", 0, "ZONE",
	    "Whose clock that is, like Europe/Berlin.  The default is UTC.",
	    false },
	ORDER_OPT_TYPE,
	{ "workflow", 0, "NAME",
	    "Start a workflow instead of a task: not in this version.", false },
	ORDER_OPT_INPUT,
	ORDER_OPT_TIMEOUT,
	ORDER_OPT_RETRIES,
	{ "expires", 0, "DURATION",
	    "A run is given up when it has not started so long after it was "
	    "submitted.",
	    false },
	ORDER_OPT_TAG,
	ORDER_OPT_PRIORITY,
	{ "catch-up", 0, "skip|last|all",
	    "What becomes of times that nobody was there for, more than a "
	    "minute ago: none of them runs (the default), the last, or all.",
	    false },
	{ "overlap", 0, "allow|skip|cancel",
	    "When the run before has not ended: run all the same (the "
	    "default), do not run, or cancel the old one and run.",
	    false },
	{ "paused", 0, NULL, "It runs nothing until it is resumed.", false },
	{ "replace", 0, NULL, "Change the schedule that there is.", false },
	CMD_OPT_JSON,
	CMD_OPT_END,
};

/* Only what was given: the rest is the configuration's, at each run. */
static void
add_options(struct buf *b, const struct qo_draft *d)
{
	static const char *const priorities[] = { "normal", "high", "low" };

	out_json_open(b, NULL, '{');
	if (d->timeout_ms != -1)
		out_json_int(b, "timeout", d->timeout_ms / CONFVAL_SEC);
	if (d->retries != -1)
		out_json_int(b, "retries", d->retries);
	if (d->expires_ms != -1) {
		struct buf text;

		buf_init(&text, 64);
		confval_add_duration(&text, d->expires_ms);
		out_json_str(b, "expires", text.data);
		buf_fini(&text);
	}
	if (d->tags.p != NULL)
		out_json_raw(b, "tags", &d->tags);
	if (d->priority != -1)
		out_json_str(b, "priority", priorities[d->priority]);
	out_json_close(b, '}');
}

static int
parse_rules(struct qo_schedule *want, const struct opts *o, const char **bad,
    struct qo_err *err)
{
	const char *v;
	int i;

	*bad = "catch-up";
	if ((v = opts_get(o, "catch-up")) != NULL) {
		if (confval_enum(v, qo_catch_up_names, &i, err) == -1)
			return -1;
		want->catch_up = (enum qo_catch_up)i;
	}
	*bad = "overlap";
	if ((v = opts_get(o, "overlap")) != NULL) {
		if (confval_enum(v, qo_overlap_names, &i, err) == -1)
			return -1;
		want->overlap = (enum qo_overlap)i;
	}
	return 0;
}

/* The record as the options have it; its strings are theirs and order's. */
static enum exit_code
fill(struct qo_schedule *want, const struct opts *o, const struct order *order,
    const struct buf *options)
{
	struct qo_schedule_clock clock;
	struct qo_err err = { 0 };
	const char *bad;

	want->id = o->args[0];
	want->cron = opts_get(o, "cron");
	if (opts_has(o, "timezone"))
		want->timezone = opts_get(o, "timezone");
	want->task_type = order->draft.type;
	want->input = order->draft.input;
	want->options = (struct qo_json){ options->data, options->len };
	want->paused = opts_has(o, "paused");
	if (parse_rules(want, o, &bad, &err) == -1)
		return exit_usage("--%s: %s", bad, err.msg);
	/* Both name what is wrong: cron: ..., timezone: ..., input: ... */
	if (qo_schedule_check(want, &err) == -1 ||
	    qo_schedule_clock_open(&clock, want, &err) == -1)
		return exit_usage("--%s", err.msg);
	qo_schedule_clock_close(&clock);
	return EXIT_OK;
}

static enum exit_code
check_target(struct session *s, const struct qo_schedule *want)
{
	struct qo_submission sub;
	struct qo_draft d;
	struct qo_err err = { 0 };
	enum exit_code code;

	if ((code = session_conf(s)) != EXIT_OK)
		return code;
	if (qo_schedule_submission(want, &s->conf->submit, qo_wall_local(), &d,
		&sub, &err) == -1)
		return exit_usage("--%s", err.msg);
	qo_draft_fini(&d);
	return EXIT_OK;
}

static enum exit_code
put(struct session *s, const struct opts *o, const struct qo_schedule *want)
{
	struct qo_schedule got;
	struct qo_err err = { 0 };
	enum exit_code code;
	enum qo_rc rc;

	if ((code = check_target(s, want)) != EXIT_OK ||
	    (code = session_open_writer(s)) != EXIT_OK)
		return code;
	rc = qo_schedule_put(s->q, want, opts_has(o, "replace"), &got, &err);
	if (rc != QO_OK)
		return session_fail(s, rc, &err);
	if (opts_has(o, "json"))
		code = scheduleview_json(&got);
	else {
		out_line("%s %s", got.rev == 1 ? "added" : "replaced", got.id);
		scheduleview_next(&got, qo_queue_now(s->q));
	}
	qo_schedule_fini(&got);
	return code;
}

static enum exit_code
check_given(const struct opts *o)
{
	if (opts_has(o, "workflow"))
		return exit_usage("--workflow: this version runs no "
				  "workflows, only tasks (--type)");
	if (!opts_has(o, "cron"))
		return exit_usage("--cron is missing: '30 2 * * *', or "
				  "@daily");
	if (!opts_has(o, "type"))
		return exit_usage("--type is missing: 1 to 128 of A-Z a-z 0-9 "
				  ". _ : / -");
	return scheduleview_check_id(o->args[0]);
}

static enum exit_code
run(struct session *s, const struct opts *o)
{
	struct qo_schedule want;
	struct order order;
	struct buf options;
	enum exit_code code;

	if ((code = check_given(o)) != EXIT_OK)
		return code;
	order_init(&order);
	qo_schedule_init(&want);
	buf_init(&options, 65536);
	if ((code = order_parse(&order, o)) == EXIT_OK) {
		add_options(&options, &order.draft);
		code = fill(&want, o, &order, &options);
	}
	if (code == EXIT_OK)
		code = put(s, o, &want);
	buf_fini(&options);
	qo_schedule_fini(&want);
	order_fini(&order);
	return code;
}

const struct cmd cmd_schedule_add = {
	.name = "schedule",
	.sub = "add",
	.run = run,
	.opts = add_opts,
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.summary = "submit a task by the clock, again and again",
	.help =
	    "Shows the next five times, in the schedule's zone.  The monitor "
	    "submits the tasks; however many monitors there are, each time "
	    "that is due becomes one task.  What the options do not say of "
	    "the task is taken from the monitor's configuration at each "
	    "run.\n\n"
	    "A field is a list of *, numbers, names (jan, mon) and ranges, "
	    "with steps: */15, 1-5, mon-fri, 8-18/2.  When day-of-month and "
	    "day-of-week both have no *, a day that is in either counts.  "
	    "What happens when clocks are changed is in qo-monitor(8).\n\n"
	    "Exit status 5 when there is a schedule of that id and --replace "
	    "is not given.",
};
