#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "cmd.h"
#include "confval.h"
#include "draft.h"
#include "io.h"
#include "tags.h"

static const struct opt submit_opts[] = {
	{ "type", 't', "TYPE",
	    "The task's type: 1 to 128 of A-Z a-z 0-9 . _ : / -.", false },
	{ "input", 'i', "JSON|@FILE|-",
	    "The input: JSON, or the file or standard input that holds it.  "
	    "The default is null.",
	    false },
	{ "timeout", 0, "DURATION",
	    "How long one attempt may run, 1s to 30d in whole seconds.",
	    false },
	{ "retries", 0, "N",
	    "How often a failed attempt is retried, 0 to 1000.", false },
	{ "at", 0, "TIME",
	    "Not before this time, UTC as in RFC 3339: 2026-01-28T12:00:00Z.",
	    false },
	{ "delay", 0, "DURATION", "Not before so long from now.", false },
	{ "expires", 0, "DURATION",
	    "Given up when it has not started so long from now.", false },
	{ "key", 'k', "TEXT",
	    "An idempotency key: the same key gives the same task.", false },
	{ "tag", 0, "NAME=VALUE", "A tag; may be given more than once.", true },
	{ "priority", 0, "high|normal|low",
	    "Which of the tasks that are due are looked at first.", false },
	{ "batch", 'b', "FILE|-", "Submit one task for each line of the file.",
	    false },
	CMD_OPT_JSON,
	CMD_OPT_END,
};

/* Everything that the options say, and what it stands in. */
struct order {
	struct qo_draft draft;
	struct buf input, tags;
};

static void
order_init(struct order *order)
{
	qo_draft_init(&order->draft);
	buf_init(&order->input, QO_INPUT_MAX);
	buf_init(&order->tags, 65536);
}

static void
order_fini(struct order *order)
{
	buf_fini(&order->input);
	buf_fini(&order->tags);
	qo_draft_fini(&order->draft);
}

static int
read_raw(const char *arg, struct buf *raw, struct qo_err *err)
{
	if (strcmp(arg, "-") == 0) {
		if (io_read_all(STDIN_FILENO, raw) == 0)
			return 0;
		if (raw->failed)
			qo_err_set(err, "more than 64MiB");
		else
			qo_err_set(err, "standard input can not be read");
		return -1;
	}
	if (arg[0] == '@')
		return io_read_file(arg + 1, raw, err);
	if (buf_adds(raw, arg) == 0)
		return 0;
	qo_err_set(err, "more than 64MiB");
	return -1;
}

static int
parse_input(struct order *order, const char *arg, struct qo_err *err)
{
	static const struct qo_json_limits limits = { QO_INPUT_MAX,
		QO_JSON_DEPTH, true };
	struct buf raw;
	int rv = -1;

	buf_init(&raw, QO_INPUT_MAX);
	if (read_raw(arg, &raw, err) == 0 &&
	    qo_json_compact(raw.data, raw.len, &limits, &order->input, err) ==
		0)
		rv = 0;
	buf_fini(&raw);
	order->draft.input = (struct qo_json){ order->input.data,
		order->input.len };
	return rv;
}

static int
parse_tags(struct order *order, const struct opts *o, struct qo_err *err)
{
	const char *texts[QO_TAGS_MAX + 1];
	size_t n;

	for (n = 0; n <= QO_TAGS_MAX; n++)
		if ((texts[n] = opts_nth(o, "tag", n)) == NULL)
			break;
	if (n == 0)
		return 0;
	if (qo_tags_build(&order->tags, texts, n, err) == -1)
		return -1;
	order->draft.tags = (struct qo_json){ order->tags.data,
		order->tags.len };
	return 0;
}

static int
parse_retries(struct order *order, const char *arg, struct qo_err *err)
{
	return confval_int(arg, 0, QO_RETRIES_MAX, &order->draft.retries, err);
}

/* EXIT_OK, or EXIT_USAGE after the line that names the option. */
static enum exit_code
parse_options(struct order *order, const struct opts *o)
{
	struct qo_draft *d = &order->draft;
	struct qo_err err = { 0 };
	const char *v, *bad = NULL;

	d->type = opts_get(o, "type");
	d->key = opts_get(o, "key");
	if ((v = opts_get(o, "timeout")) != NULL &&
	    qo_draft_timeout(v, &d->timeout_ms, &err) == -1)
		bad = "timeout";
	else if ((v = opts_get(o, "retries")) != NULL &&
	    parse_retries(order, v, &err) == -1)
		bad = "retries";
	else if ((v = opts_get(o, "at")) != NULL &&
	    qo_draft_time(v, &d->at, &err) == -1)
		bad = "at";
	else if ((v = opts_get(o, "delay")) != NULL &&
	    qo_draft_delay(v, &d->delay_ms, &err) == -1)
		bad = "delay";
	else if ((v = opts_get(o, "expires")) != NULL &&
	    qo_draft_delay(v, &d->expires_ms, &err) == -1)
		bad = "expires";
	else if ((v = opts_get(o, "priority")) != NULL &&
	    qo_draft_priority(v, &d->priority, &err) == -1)
		bad = "priority";
	else if (parse_tags(order, o, &err) == -1)
		bad = "tag";
	else if ((v = opts_get(o, "input")) != NULL &&
	    parse_input(order, v, &err) == -1)
		bad = "input";
	return bad == NULL ? EXIT_OK : exit_usage("--%s: %s", bad, err.msg);
}

static enum exit_code
check_together(const struct opts *o)
{
	const char *batch = opts_get(o, "batch"), *input = opts_get(o, "input");

	if (opts_has(o, "at") && opts_has(o, "delay"))
		return exit_usage("--at and --delay: only one of them");
	if (batch == NULL && !opts_has(o, "type"))
		return exit_usage("--type is missing: 1 to 128 of A-Z a-z 0-9 "
				  ". _ : / -");
	if (batch == NULL)
		return EXIT_OK;
	if (opts_has(o, "key"))
		return exit_usage("--key: every line of a batch has its own");
	if (strcmp(batch, "-") == 0 && input != NULL && strcmp(input, "-") == 0)
		return exit_usage(
		    "--input - and --batch -: only one can read it");
	return EXIT_OK;
}

static const char *
traceparent(void)
{
	const char *s = getenv("TRACEPARENT");

	return s != NULL && qo_draft_traceparent_valid(s) ? s : NULL;
}

static enum exit_code
submit_one(struct session *s, const struct opts *o,
    const struct qo_submission *sub)
{
	struct qo_submit submit;
	enum exit_code code;

	qo_submit_init(&submit, s->q, sub);
	if (qo_submit_wait(&submit) != QO_OK)
		code = session_fail(s, submit.change.rc, &submit.change.err);
	else {
		code = EXIT_OK;
		if (opts_has(o, "json"))
			batch_print(&submit, 0);
		else
			out_line("%s", submit.change.id);
	}
	qo_submit_fini(&submit);
	return code;
}

/* What can be judged without the store is: nothing has been asked of it
 * when the user hears of a mistake. */
static enum exit_code
check_order(struct session *s, const struct order *order, bool batch)
{
	struct qo_draft d = order->draft;
	struct qo_submission sub;
	struct qo_err err = { 0 };

	if (batch && d.type == NULL)
		d.type = "x"; /* the lines have their own */
	if (qo_wall_is_set(d.at))
		return EXIT_OK; /* judged by the store's clock */
	if (qo_draft_submission(&d, &s->conf->submit, qo_wall_local(), &sub,
		&err) == -1)
		return exit_usage("--%s", err.msg);
	return EXIT_OK;
}

static enum exit_code
submit_order(struct session *s, const struct opts *o, const struct order *order)
{
	const char *batch = opts_get(o, "batch");
	struct qo_submission sub;
	struct qo_err err = { 0 };
	enum exit_code code;

	if ((code = session_conf(s)) != EXIT_OK ||
	    (code = check_order(s, order, batch != NULL)) != EXIT_OK ||
	    (code = session_open_writer(s)) != EXIT_OK)
		return code;
	if (batch != NULL)
		return batch_submit(s, batch, &order->draft, traceparent());
	if (qo_draft_submission(&order->draft, &s->conf->submit,
		qo_queue_now(s->q), &sub, &err) == -1)
		return exit_usage("--%s", err.msg);
	sub.submitted_by = session_who();
	sub.traceparent = traceparent();
	return submit_one(s, o, &sub);
}

static enum exit_code
run(struct session *s, const struct opts *o)
{
	struct order order;
	enum exit_code code;

	if ((code = check_together(o)) != EXIT_OK)
		return code;
	order_init(&order);
	if ((code = parse_options(&order, o)) == EXIT_OK)
		code = submit_order(s, o, &order);
	order_fini(&order);
	return code;
}

const struct cmd cmd_submit = {
	.name = "submit",
	.run = run,
	.opts = submit_opts,
	.summary = "put tasks into the queue",
	.help =
	    "Prints the id of the task; with --json a line of JSON.\n\n"
	    "With --key the id is made from the key: submitting again gives "
	    "the same task for as long as it is kept, and exit status 5 when "
	    "type or input differ.\n\n"
	    "A batch has one JSON object a line, with the members type, "
	    "input, timeout, retries, at, delay, expires, key, tags and "
	    "priority; the options of the command line stand for members "
	    "that a line does not have.  Durations are \"30s\" or whole "
	    "seconds.  One line of JSON is printed for each task, in the "
	    "order in which they are done.  A bad line is reported with its "
	    "number and the rest goes on; the exit status is then 8.\n\n"
	    "What is not given comes from [submit] of the configuration.  A "
	    "valid W3C traceparent in the environment variable TRACEPARENT is "
	    "passed on to the task.",
};
