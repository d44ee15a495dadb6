/* history: what became of a task, from its versions. */
#include <string.h>

#include "history.h"
#include "taskview.h"

#define VALUE_MAX 200 /* of a member, on the screen */

struct hist {
	struct session *s;
	bool diff, all;
	enum out_format format;
	struct out_list out;
	/* the version before */
	bool has_last;
	struct qo_task last;
	struct buf last_text;
	/* renewals since the last line */
	size_t folded;
	struct qo_wall folded_at;
	size_t ncorrupt;
};

/* What happened between two versions, in a word. */

static const char *
event_to_pending(const struct qo_task *was, const struct qo_task *is)
{
	if (was->status == QO_STATUS_RUNNING) {
		if (is->give_up != QO_STATUS_NONE)
			return "given up";
		if (is->retry_count > was->retry_count)
			return "to be retried";
		if (is->reschedule_count > was->reschedule_count)
			return "rescheduled";
		return "given back";
	}
	if (was->status == QO_STATUS_PENDING)
		return is->give_up != was->give_up ? "given up" : "bumped";
	return was->status == QO_STATUS_ARCHIVED ? "unarchived" : "replayed";
}

static const char *
event_running(const struct qo_task *was, const struct qo_task *is)
{
	if (was->status != QO_STATUS_RUNNING)
		return "claimed";
	if (is->cancel_requested && !was->cancel_requested)
		return "cancel requested";
	return qo_history_is_renewal(was, is) ? "renewed" : "changed";
}

static const char *
event_of(const struct qo_task *was, const struct qo_task *is)
{
	if (was == NULL)
		return is->rev <= 1 ? "submitted" : "as first kept";
	if (is->status == QO_STATUS_PENDING)
		return event_to_pending(was, is);
	if (is->status == QO_STATUS_RUNNING)
		return event_running(was, is);
	if (was->status == QO_STATUS_ARCHIVED &&
	    is->status != QO_STATUS_ARCHIVED)
		return "unarchived";
	return was->status == is->status ? "bumped"
					 : qo_status_name(is->status);
}

/* Output for people */

static void
put_line(struct qo_wall at, const char *event, enum out_style style,
    const struct qo_task *t)
{
	char time[TASKVIEW_TIME_SIZE];

	out_text(OUT_DIM, "%s  ", taskview_time(at, time));
	out_text(style, "%-16s", event);
	if (t != NULL) {
		out_text(OUT_PLAIN, "  attempt %lld", (long long)t->attempt);
		if (t->worker_id != NULL)
			out_text(OUT_PLAIN, "  %s", t->worker_id);
		if (qo_wall_is_set(t->available_at) &&
		    t->status == QO_STATUS_PENDING &&
		    t->available_at.us > t->updated_at.us)
			out_text(OUT_PLAIN, "  due %s",
			    taskview_time(t->available_at, time));
		if (t->last_error != NULL &&
		    (t->status == QO_STATUS_FAILED ||
			(t->status == QO_STATUS_PENDING && t->retry_count > 0)))
			out_text(OUT_PLAIN, "  %s", t->last_error);
	}
	out_raw("\n", 1);
}

static bool
is_noise(const char *member)
{
	return strcmp(member, "rev") == 0 ||
	    strcmp(member, "updated_by") == 0 ||
	    strcmp(member, "updated_at") == 0;
}

static void
put_value(const struct qo_json *v)
{
	if (v->p == NULL)
		out_text(OUT_DIM, "(none)");
	else if (v->len <= VALUE_MAX)
		out_text(OUT_PLAIN, "%.*s", (int)v->len, v->p);
	else
		out_text(OUT_PLAIN, "%.*s... (%zu bytes)", VALUE_MAX, v->p,
		    v->len);
}

static void
put_change(const char *member, const struct qo_json *was,
    const struct qo_json *is, void *arg)
{
	const struct hist *h = arg;

	if (is_noise(member) && !h->all)
		return;
	out_text(OUT_BOLD, "    %s: ", member);
	put_value(was);
	out_text(OUT_DIM, " -> ");
	put_value(is);
	out_raw("\n", 1);
}

static void
unfold(struct hist *h)
{
	char time[TASKVIEW_TIME_SIZE];

	if (h->folded == 0)
		return;
	out_text(OUT_DIM, "%s  renewed", taskview_time(h->folded_at, time));
	if (h->folded > 1)
		out_text(OUT_DIM, " %zu times", h->folded);
	out_raw("\n", 1);
	h->folded = 0;
}

static void
show_text(struct hist *h, const struct qo_task *t, const char *text, size_t len)
{
	const struct qo_task *was = h->has_last ? &h->last : NULL;

	if (!h->all && was != NULL && qo_history_is_renewal(was, t)) {
		h->folded++;
		h->folded_at = t->updated_at;
		return;
	}
	unfold(h);
	put_line(t->updated_at, event_of(was, t), taskview_style(t->status), t);
	if (h->diff && was != NULL)
		qo_history_diff(h->last_text.data, h->last_text.len, text, len,
		    put_change, h);
}

/* Output for programs */

static void
add_change(const char *member, const struct qo_json *was,
    const struct qo_json *is, void *arg)
{
	struct buf *b = arg;

	out_json_open(b, NULL, '{');
	out_json_str(b, "member", member);
	out_json_raw(b, "old", was);
	out_json_raw(b, "new", is);
	out_json_close(b, '}');
}

static void
show_json(struct hist *h, const struct qo_version *v, const struct qo_task *t,
    const char *text, size_t len)
{
	const struct qo_task *was = h->has_last ? &h->last : NULL;
	struct qo_json task = { text, len };
	struct buf b;

	if (!h->all && t != NULL && was != NULL &&
	    qo_history_is_renewal(was, t))
		return;
	buf_init(&b, 4 * QO_TASK_LEN_MAX);
	out_json_open(&b, NULL, '{');
	out_json_str(&b, "version_id", v->id[0] != '\0' ? v->id : NULL);
	out_json_time(&b, "last_modified", v->modified);
	out_json_str(&b, "event", t != NULL ? event_of(was, t) : "deleted");
	if (h->diff) {
		out_json_open(&b, "changes", '[');
		if (was != NULL && t != NULL)
			qo_history_diff(h->last_text.data, h->last_text.len,
			    text, len, add_change, &b);
		out_json_close(&b, ']');
	}
	out_json_raw(&b, "task", &task);
	out_json_close(&b, '}');
	taskview_add_line(&h->out, b.data, b.len);
	buf_fini(&b);
}

/* The walk */

static void
forget(struct hist *h)
{
	if (h->has_last)
		qo_task_fini(&h->last);
	h->has_last = false;
}

/* A copy of its own: the version before is needed for the next. */
static void
remember(struct hist *h, const struct qo_task *t, const char *text, size_t len)
{
	forget(h);
	buf_reset(&h->last_text);
	buf_add(&h->last_text, text, len);
	h->has_last = qo_task_decode(&h->last, t->id, text, len, NULL) == 0;
}

static bool
on_version(struct qo_history *qh, const struct qo_version *v,
    const struct qo_task *t, const char *text, size_t len)
{
	struct hist *h = qh->arg;

	if (h->format != OUT_TEXT) {
		show_json(h, v, t, text, len);
	} else if (t != NULL) {
		show_text(h, t, text, len);
	} else {
		unfold(h);
		put_line(v->modified, "deleted", OUT_WARN, NULL);
	}
	if (t != NULL)
		remember(h, t, text, len);
	return !out_broken();
}

static void
on_corrupt(struct qo_history *qh, const struct qo_version *v, const char *why)
{
	struct hist *h = qh->arg;

	h->ncorrupt++;
	exit_say("%s, version %s: %s", qh->key, v->id, why);
}

static enum exit_code
show(struct hist *h, const char *id)
{
	static struct qo_history qh; /* large */
	enum exit_code code = EXIT_OK;
	enum qo_rc rc;

	qo_history_init(&qh, h->s->q, id);
	qh.version = on_version;
	qh.corrupt = on_corrupt;
	qh.arg = h;
	if (h->format != OUT_TEXT)
		out_list_begin(&h->out, h->format);
	rc = qo_history_wait(&qh);
	if (h->format != OUT_TEXT)
		out_list_end(&h->out);
	else
		unfold(h);
	if (rc != QO_OK)
		code = session_fail(h->s, rc, &qh.err);
	else if (qh.unversioned)
		exit_say("bucket %s keeps no versions: only the task as it "
			 "is now can be shown",
		    h->s->q->bucket);
	qo_history_fini(&qh);
	return code;
}

static enum exit_code
run_history(struct session *s, const struct opts *o)
{
	struct hist h;
	enum exit_code code;

	memset(&h, 0, sizeof(h));
	h.s = s;
	h.diff = opts_has(o, "diff");
	h.all = opts_has(o, "all");
	if ((code = cmd_format(o, &h.format)) != EXIT_OK ||
	    (code = taskview_check_ids(o)) != EXIT_OK ||
	    (code = session_open(s)) != EXIT_OK)
		return code;
	buf_init(&h.last_text, QO_TASK_LEN_MAX);
	code = show(&h, o->args[0]);
	forget(&h);
	buf_fini(&h.last_text);
	return code;
}

static const struct opt history_opts[] = {
	{ "diff", 'd', NULL, "Show what changed, member by member.", false },
	{ "all", 'a', NULL, "Show each renewal of the lease, too.", false },
	CMD_OPT_JSON,
	CMD_OPT_JSONL,
	CMD_OPT_END,
};

const struct cmd cmd_history = {
	.name = "history",
	.run = run_history,
	.opts = history_opts,
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.summary = "show what became of a task",
	.help = "Every change with its time, attempt and worker, oldest "
		"first, from the versions that the bucket keeps.  Renewals of "
		"a lease are folded into one line.  With --json each version "
		"has version_id, last_modified, event, changes (with --diff) "
		"and the task as it was stored.",
};
