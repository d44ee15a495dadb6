/* workers: who is there, by the heartbeats. */
#include "taskview.h"
#include "workerlist.h"

struct workers {
	struct session *s;
	enum out_format format;
	struct out_table *table;
	struct out_list out;
	struct qo_wall now;
	struct workerlist list;
};

static const struct out_col cols[] = {
	{ "WORKER", false },
	{ "STATE", false },
	{ "BUSY", true },
	{ "COMPLETED", true },
	{ "FAILED", true },
	{ "UP", true },
	{ "SEEN", false },
	{ "HOST", false },
	{ "PID", true },
	{ "VERSION", false },
	{ "TASK", false },
};

static const char *
state_of(const struct workers *w, int64_t silent_ms, enum out_style *style)
{
	if (silent_ms >= w->s->conf->monitor.worker_dead_ms) {
		*style = OUT_BAD;
		return "dead";
	}
	if (silent_ms >= w->s->conf->monitor.worker_stale_ms) {
		*style = OUT_WARN;
		return "stale";
	}
	*style = OUT_GOOD;
	return "alive";
}

static void
add_row(struct workers *w, const struct qo_worker_record *r)
{
	struct out_table *t = w->table;
	char text[OUT_DURATION_SIZE];
	enum out_style style;
	const char *state;
	int64_t silent;
	struct buf seen;

	silent = (w->now.us - r->last_heartbeat.us) / QO_US_PER_MS;
	state = state_of(w, silent, &style);
	out_cell(t, OUT_PLAIN, "%s", r->worker_id);
	out_cell(t, style, "%s", state);
	out_cell(t, OUT_PLAIN, "%zu/%lld", qo_worker_record_busy(r),
	    (long long)r->slots);
	out_cell(t, OUT_PLAIN, "%lld", (long long)r->tasks_completed);
	out_cell(t, OUT_PLAIN, "%lld", (long long)r->tasks_failed);
	out_cell(t, OUT_PLAIN, "%s",
	    out_duration_text((w->now.us - r->started_at.us) / QO_US_PER_MS,
		text));
	buf_init(&seen, 64);
	taskview_add_when(&seen,
	    r->last_heartbeat.us > w->now.us ? w->now : r->last_heartbeat,
	    w->now);
	out_cell(t, OUT_PLAIN, "%s", seen.data);
	buf_fini(&seen);
	out_cell(t, OUT_PLAIN, "%s", r->host != NULL ? r->host : "-");
	out_cell(t, OUT_PLAIN, "%lld", (long long)r->pid);
	out_cell(t, OUT_PLAIN, "%s", r->version != NULL ? r->version : "-");
	out_cell(t, OUT_PLAIN, "%s",
	    r->current_task != NULL ? r->current_task : "-");
}

static void
on_record(struct workerlist *l, const struct qo_worker_record *r,
    const char *text, size_t len)
{
	struct workers *w = l->arg;

	if (w->format == OUT_TEXT)
		add_row(w, r);
	else
		taskview_add_line(&w->out, text, len);
}

static void
on_corrupt(struct workerlist *l, const char *key, const char *why)
{
	(void)l;
	exit_say("%s: %s", key, why);
}

static enum exit_code
run_workers(struct session *s, const struct opts *o)
{
	static struct workers w; /* large */
	enum exit_code code;
	enum qo_rc rc;

	if ((code = cmd_format(o, &w.format)) != EXIT_OK ||
	    (code = session_open(s)) != EXIT_OK)
		return code;
	w.s = s;
	w.now = qo_queue_now(s->q);
	if (w.format == OUT_TEXT)
		w.table = out_table_new(cols, sizeof(cols) / sizeof(cols[0]));
	else
		out_list_begin(&w.out, w.format);
	w.list.q = s->q;
	w.list.record = on_record;
	w.list.corrupt = on_corrupt;
	w.list.arg = &w;
	rc = workerlist_read(&w.list, NULL);
	if (w.format == OUT_TEXT)
		out_table_print(w.table);
	else
		out_list_end(&w.out);
	return rc == QO_OK ? EXIT_OK : session_fail(s, rc, &w.list.err);
}

static const struct opt workers_opts[] = {
	CMD_OPT_JSON,
	CMD_OPT_JSONL,
	CMD_OPT_END,
};

const struct cmd cmd_workers = {
	.name = "workers",
	.run = run_workers,
	.opts = workers_opts,
	.summary = "list the workers and what they do",
	.help = "By their heartbeats.  Stale and dead are those that have not "
		"been heard of for [monitor] worker_stale and worker_dead.",
};
