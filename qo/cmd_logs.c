/* logs: what an attempt wrote to its standard error. */
#include <string.h>

#include "confval.h"
#include "taskview.h"

#define LOG_MAX ((size_t)64 << 20)

static void
put_lines(const char *p, size_t len)
{
	const char *nl;
	size_t n;

	for (; len > 0; p += n, len -= n) {
		nl = memchr(p, '\n', len);
		n = nl != NULL ? (size_t)(nl - p) + 1 : len;
		out_line("%.*s", (int)(nl != NULL ? n - 1 : n), p);
	}
}

static enum exit_code
show(struct session *s, const char *id, int64_t attempt)
{
	struct qo_s3_req r;
	char key[QO_KEY_SIZE];
	enum exit_code code = EXIT_OK;

	if (qo_key_log(&s->q->layout, id, attempt, key) == -1)
		return exit_usage("ID: no key can be made of it");
	qo_s3_req_init(&r, QO_S3_GET, s->q->index_bucket, key);
	r.response_max = LOG_MAX;
	if (qo_s3_wait(s->s3, &r) == QO_S3_OK) {
		/* A terminal gets no control characters of a handler's. */
		if (out_is_terminal())
			put_lines(r.res.body.data, r.res.body.len);
		else
			out_raw(r.res.body.data, r.res.body.len);
	} else if (r.res.outcome == QO_S3_NOT_FOUND &&
	    strcmp(r.res.err.s3_code, "NoSuchBucket") != 0) {
		exit_say("attempt %lld of task %s has left no log",
		    (long long)attempt, id);
		code = EXIT_NOENT;
	} else {
		code = session_fail(s, qo_s3_outcome_rc(r.res.outcome),
		    &r.res.err);
	}
	qo_s3_req_fini(&r);
	return code;
}

static enum exit_code
run_logs(struct session *s, const struct opts *o)
{
	const char *text = opts_get(o, "attempt");
	int64_t attempt = 0;
	struct qo_task t;
	struct qo_err err;
	enum exit_code code;

	if ((code = taskview_check_ids(o)) != EXIT_OK)
		return code;
	if (text != NULL &&
	    confval_int(text, 1, QO_COUNT_MAX, &attempt, &err) == -1)
		return exit_usage("--attempt: %s", err.msg);
	if (text == NULL) {
		code = taskview_get(s, o->args[0], &t, NULL);
		if (code != EXIT_OK)
			return code;
		attempt = t.attempt;
		qo_task_fini(&t);
		if (attempt == 0) {
			exit_say("task %s has not been tried yet", o->args[0]);
			return EXIT_NOENT;
		}
	} else if ((code = session_open(s)) != EXIT_OK) {
		return code;
	}
	return show(s, o->args[0], attempt);
}

static const struct opt logs_opts[] = {
	{ "attempt", 'n', "N", "The log of this attempt instead of the last.",
	    false },
	CMD_OPT_END,
};

const struct cmd cmd_logs = {
	.name = "logs",
	.run = run_logs,
	.opts = logs_opts,
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.summary = "print what an attempt wrote to standard error",
	.help = "The handler's standard error, its end when it was long.  "
		"Ends with 3 when the attempt wrote nothing.",
};
