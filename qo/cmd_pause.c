/* pause and resume. */
#include <string.h>

#include "cmd.h"
#include "ring.h"

struct wish {
	const char *type; /* NULL: the queue */
	bool paused;
	bool full;
	bool changed;
};

static bool
change(struct qo_control *c, void *arg)
{
	struct wish *w = arg;

	w->changed = qo_control_set_paused(c, w->type, w->paused, &w->full);
	return w->changed;
}

static void
say_done(const struct wish *w)
{
	const char *verb = w->paused ? "paused" : "resumed";

	if (w->type == NULL)
		out_line("%s the queue%s", verb,
		    w->changed ? "" : ": it was so already");
	else
		out_line("%s tasks of type %s%s", verb, w->type,
		    w->changed ? "" : ": they were so already");
}

/* Workers that are not told look by themselves, somewhat later. */
static void
tell_workers(struct session *s)
{
	struct qo_err err = { 0 };
	size_t rung;

	if (qo_ring_all(s->q, &rung, &err) != QO_OK)
		exit_say("workers will notice within half a minute: their "
			 "bells could not be rung: %s",
		    err.msg);
}

static enum exit_code
set(struct session *s, const struct opts *o, bool paused)
{
	struct wish w = { opts_get(o, "type"), paused, false, false };
	struct qo_control c;
	struct qo_err err = { 0 };
	enum exit_code code;
	enum qo_rc rc;

	if (w.type != NULL && !qo_type_valid(w.type, strlen(w.type)))
		return exit_usage("--type: a task type is 1 to 128 of "
				  "A-Z a-z 0-9 . _ : / -");
	if ((code = session_open(s)) != EXIT_OK)
		return code;
	rc = qo_control_update(s->s3, s->conf->s3.bucket, s->conf->s3.prefix,
	    change, &w, &c, &err);
	if (rc != QO_OK)
		return session_fail(s, rc, &err);
	qo_control_fini(&c);
	if (w.full) {
		exit_say("%d types are paused already: pause the whole queue",
		    QO_CONTROL_TYPES_MAX);
		return EXIT_FAILED;
	}
	if (w.changed)
		tell_workers(s);
	say_done(&w);
	return EXIT_OK;
}

static enum exit_code
run_pause(struct session *s, const struct opts *o)
{
	return set(s, o, true);
}

static enum exit_code
run_resume(struct session *s, const struct opts *o)
{
	return set(s, o, false);
}

static const struct opt pause_opts[] = {
	{ "type", 0, "TYPE", "Only tasks of this type.", false },
	CMD_OPT_END,
};

const struct cmd cmd_pause = {
	.name = "pause",
	.run = run_pause,
	.opts = pause_opts,
	.summary = "stop claiming tasks, of one type or all",
	.help = "Tasks that run go on to their end; tasks can still be "
		"submitted.  The switch is in the bucket: it holds for all "
		"workers of the queue, and outlives them.",
};

const struct cmd cmd_resume = {
	.name = "resume",
	.run = run_resume,
	.opts = pause_opts,
	.summary = "claim tasks again after a pause",
	.help = "A pause of the whole queue and pauses of types are separate: "
		"each is ended by its own resume.",
};
