/* ctl: talks to the qod of this machine through its control socket. */
#include <string.h>

#include "cmd.h"
#include "confval.h"
#include "ctlcall.h"
#include "ctlpath.h"
#include "qodstatus.h"
#include "taskview.h"

#define QUICK_MS    60000 /* for what qod answers at once, if it runs */
#define LIMIT_MAX   (365 * CONFVAL_DAY)
#define MESSAGE_LEN 16384

/* One call; the answer is in c, which the caller finis. */
static enum exit_code
call(struct session *s, struct ctlcall *c, const char *line, int64_t limit_ms)
{
	enum exit_code code;
	const char *path;

	if (s->loop == NULL)
		s->loop = loop_new();
	ctlcall_init(c, s->loop);
	if ((code = ctlpath_find(s, &path)) != EXIT_OK)
		return code;
	code = ctlcall_wait(c, path, line, limit_ms);
	if (code != EXIT_OK)
		exit_say("%s", c->err.msg);
	return code;
}

/* Commands with a result */

/* A line for each line of the message: mistakes in a configuration. */
static void
say_lines(char *message)
{
	char *line;

	while ((line = strsep(&message, "\n")) != NULL)
		if (line[0] != '\0')
			exit_say("%s", line);
}

static enum exit_code
show_result(const struct ctlcall *c, bool json)
{
	static char message[MESSAGE_LEN];
	struct qo_err err;
	bool ok;

	if (qodstatus_result(c->answer.data, c->answer.len, &ok, message,
		sizeof(message), &err) == -1) {
		exit_say("qod's answer: %s", err.msg);
		return EXIT_FAILED;
	}
	if (json)
		out_json(c->answer.data, c->answer.len);
	if (!ok)
		say_lines(message);
	else if (!json && message[0] != '\0')
		out_line("%s", message);
	return ok ? EXIT_OK : EXIT_FAILED;
}

static enum exit_code
get_limit(const struct opts *o, int64_t *ms)
{
	const char *text = opts_get(o, "timeout");
	struct qo_err err;

	if (text == NULL || confval_duration(text, 0, LIMIT_MAX, ms, &err) == 0)
		return EXIT_OK;
	return exit_usage("--timeout: %s", err.msg);
}

static enum exit_code
run_line(struct session *s, const struct opts *o, const char *line,
    int64_t limit_ms)
{
	struct ctlcall c;
	enum exit_code code;

	if ((code = call(s, &c, line, limit_ms)) == EXIT_OK)
		code = show_result(&c, opts_has(o, "json"));
	ctlcall_fini(&c);
	return code;
}

/* For commands that end when what they began has ended. */
static enum exit_code
run_long(struct session *s, const struct opts *o, const char *line)
{
	int64_t limit_ms = -1;
	enum exit_code code;

	if ((code = get_limit(o, &limit_ms)) != EXIT_OK)
		return code;
	return run_line(s, o, line, limit_ms);
}

static const struct opt quick_opts[] = {
	CMD_OPT_JSON,
	CMD_OPT_END,
};

static const struct opt long_opts[] = {
	{ "timeout", 0, "DURATION",
	    "Wait at most so long; what was begun goes on.", false },
	CMD_OPT_JSON,
	CMD_OPT_END,
};

#define QUICK(word, says, more)                             \
	static enum exit_code run_##word(struct session *s, \
	    const struct opts *o)                           \
	{                                                   \
		return run_line(s, o, #word, QUICK_MS);     \
	}                                                   \
	const struct cmd cmd_ctl_##word = { .name = "ctl",  \
		.sub = #word,                               \
		.run = run_##word,                          \
		.opts = quick_opts,                         \
		.summary = says,                            \
		.help = more }

#define LONG(word, says, more)                              \
	static enum exit_code run_##word(struct session *s, \
	    const struct opts *o)                           \
	{                                                   \
		return run_long(s, o, #word);               \
	}                                                   \
	const struct cmd cmd_ctl_##word = { .name = "ctl",  \
		.sub = #word,                               \
		.run = run_##word,                          \
		.opts = long_opts,                          \
		.summary = says,                            \
		.help = more }

LONG(reload, "have qod read its configuration again",
    "Waits for the end of it.  A configuration with a mistake changes "
    "nothing: each mistake is shown, and the exit status is 1.");
LONG(drain, "stop claiming tasks and wait until none runs",
    "The service stays up and answers; qo ctl resume has it claim again.");
QUICK(quiet, "stop claiming tasks",
    "What runs goes on, and the service stays up; qo ctl resume has it claim "
    "again.  Unlike qo pause this is about one machine, not about the queue, "
    "and is forgotten when qod ends.");
QUICK(resume, "claim tasks again after quiet or drain", NULL);
QUICK(more, "start one more worker process",
    "Until the next reload, which has the number of the configuration.");
QUICK(less, "end one worker process", "When its last task has ended.");
QUICK(reopen, "open log files again", "For those who rotate them.");
QUICK(upgrade, "replace qod and all its processes by what is installed now",
    "The new qod is checked first and takes over under the same process id; "
    "no task is lost or disturbed.");

/* stop */

static enum exit_code
run_stop(struct session *s, const struct opts *o)
{
	return run_line(s, o, opts_has(o, "now") ? "stop now" : "stop",
	    QUICK_MS);
}

static const struct opt stop_opts[] = {
	{ "now", 0, NULL, "Give running tasks back to the queue at once.",
	    false },
	CMD_OPT_JSON,
	CMD_OPT_END,
};

const struct cmd cmd_ctl_stop = {
	.name = "ctl",
	.sub = "stop",
	.run = run_stop,
	.opts = stop_opts,
	.summary = "end qod and all its processes",
	.help = "Does not wait for it.  Running tasks have [qod] "
		"drain_timeout to end; what still runs then goes back to the "
		"queue.",
};

/* status */

static const struct out_col cols[] = {
	{ "ROLE", false },
	{ "PID", true },
	{ "STATE", false },
	{ "GEN", true },
	{ "UP", true },
	{ "RESTARTS", true },
	{ "RUNNING", true },
	{ "COMPLETED", true },
	{ "FAILED", true },
	{ "NOTE", false },
};

static enum out_style
state_style(const char *state)
{
	if (strcmp(state, "ready") == 0)
		return OUT_GOOD;
	return strcmp(state, "failed") == 0 ? OUT_BAD : OUT_WARN;
}

static void
add_note(struct buf *b, const struct qodstatus_child *c)
{
	if (c->note != NULL && c->note[0] != '\0')
		buf_adds(b, c->note);
	if (c->last_exit != NULL)
		buf_addf(b, "%s%s", b->len > 0 ? ", " : "", c->last_exit);
	if (c->next_restart_ms >= 0) {
		buf_adds(b, ", starts again in ");
		out_duration(b, c->next_restart_ms);
	}
}

static void
add_work(struct out_table *t, const struct qodstatus_child *c)
{
	if (strcmp(c->role, "worker") != 0) {
		out_cell(t, OUT_PLAIN, "%s", "");
		out_cell(t, OUT_PLAIN, "%s", "");
		out_cell(t, OUT_PLAIN, "%s", "");
		return;
	}
	out_cell(t, OUT_PLAIN, "%lld/%lld", (long long)c->running,
	    (long long)c->slots);
	out_cell(t, OUT_PLAIN, "%lld", (long long)c->completed);
	out_cell(t, c->failed > 0 ? OUT_BAD : OUT_PLAIN, "%lld",
	    (long long)c->failed);
}

static void
add_child(struct out_table *t, const struct qodstatus_child *c)
{
	char text[OUT_DURATION_SIZE];
	struct buf note;

	if (strcmp(c->role, "worker") == 0)
		out_cell(t, OUT_BOLD, "%s %lld", c->role, (long long)c->index);
	else
		out_cell(t, OUT_BOLD, "%s", c->role);
	if (c->pid > 0)
		out_cell(t, OUT_PLAIN, "%lld", (long long)c->pid);
	else
		out_cell(t, OUT_PLAIN, "-");
	out_cell(t, state_style(c->state), "%s", c->state);
	out_cell(t, OUT_PLAIN, "%lld", (long long)c->generation);
	out_cell(t, OUT_PLAIN, "%s",
	    c->uptime_ms >= 0 ? out_duration_text(c->uptime_ms, text) : "-");
	out_cell(t, c->restarts > 0 ? OUT_WARN : OUT_PLAIN, "%lld",
	    (long long)c->restarts);
	add_work(t, c);
	buf_init(&note, 4096);
	add_note(&note, c);
	out_cell(t, OUT_PLAIN, "%s", note.data);
	buf_fini(&note);
}

static void
show_head(const struct qodstatus *st)
{
	char up[OUT_DURATION_SIZE];
	struct buf when;

	out_line("qod %s, process %lld, %s, up %s",
	    st->version != NULL ? st->version : "of unknown version",
	    (long long)st->pid, st->state != NULL ? st->state : "?",
	    out_duration_text(st->uptime_ms, up));
	out_line("configuration %s, generation %lld",
	    st->config != NULL ? st->config : "(defaults, no file)",
	    (long long)st->generation);
	if (!qo_wall_is_set(st->reload_at))
		return;
	buf_init(&when, 64);
	taskview_add_when(&when, st->reload_at, qo_wall_local());
	out_text(OUT_PLAIN, "last reload %s: ", when.data);
	if (st->reload_ok)
		out_text(OUT_GOOD, "done");
	else
		out_text(OUT_BAD, "failed, %s",
		    st->reload_message != NULL ? st->reload_message : "");
	out_raw("\n", 1);
	buf_fini(&when);
}

static enum exit_code
show_status(const struct ctlcall *c)
{
	struct out_table *t;
	struct qodstatus st;
	struct qo_err err;
	size_t i;

	if (qodstatus_read(&st, c->answer.data, c->answer.len, &err) == -1) {
		exit_say("qod's answer: %s", err.msg);
		return EXIT_FAILED;
	}
	show_head(&st);
	t = out_table_new(cols, sizeof(cols) / sizeof(cols[0]));
	for (i = 0; i < st.nchildren; i++)
		add_child(t, &st.children[i]);
	if (out_table_rows(t) > 0)
		out_raw("\n", 1);
	out_table_print(t);
	qodstatus_fini(&st);
	return EXIT_OK;
}

static enum exit_code
run_status(struct session *s, const struct opts *o)
{
	struct ctlcall c;
	enum exit_code code;

	if ((code = call(s, &c, "status", QUICK_MS)) == EXIT_OK) {
		if (opts_has(o, "json"))
			out_json(c.answer.data, c.answer.len);
		else
			code = show_status(&c);
	}
	ctlcall_fini(&c);
	return code;
}

const struct cmd cmd_ctl_status = {
	.name = "ctl",
	.sub = "status",
	.run = run_status,
	.opts = quick_opts,
	.summary = "show qod and its processes on this machine",
	.help = "Through the control socket of [qod] control, which belongs "
		"to the user that qod was started by, and to [qod] group.  "
		"The exit status is 7 when no qod listens there, and 4 when "
		"it is not allowed to ask.",
};
