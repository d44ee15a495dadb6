#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "order.h"

static const struct opt submit_opts[] = {
	ORDER_OPT_TYPE,
	ORDER_OPT_INPUT,
	ORDER_OPT_TIMEOUT,
	ORDER_OPT_RETRIES,
	{ "at", 0, "TIME",
	    "Not before this time, UTC as in RFC 3339: 2026-01-28T12:00:00Z.",
	    false },
	{ "delay", 0, "DURATION", "Not before so long from now.", false },
	{ "expires", 0, "DURATION",
	    "Given up when it has not started so long from now.", false },
	{ "key", 'k', "TEXT",
	    "An idempotency key: the same key gives the same task.", false },
	ORDER_OPT_TAG,
	ORDER_OPT_PRIORITY,
	{ "batch", 'b', "FILE|-", "Submit one task for each line of the file.",
	    false },
	CMD_OPT_JSON,
	CMD_OPT_END,
};

/* EXIT_OK, or EXIT_USAGE after the line that names the option. */
static enum exit_code
parse_options(struct order *order, const struct opts *o)
{
	struct qo_draft *d = &order->draft;
	struct qo_err err = { 0 };
	const char *v;

	d->key = opts_get(o, "key");
	if ((v = opts_get(o, "at")) != NULL &&
	    qo_draft_time(v, &d->at, &err) == -1)
		return exit_usage("--at: %s", err.msg);
	if ((v = opts_get(o, "delay")) != NULL &&
	    qo_draft_delay(v, &d->delay_ms, &err) == -1)
		return exit_usage("--delay: %s", err.msg);
	return order_parse(order, o);
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
