/* workers: who is there, by the heartbeats. */
#include <stdlib.h>
#include <string.h>

#include "fetch.h"
#include "taskview.h"
#include "walk.h"
#include "worker_record.h"
#include "xalloc.h"

struct workers {
	struct session *s;
	enum out_format format;
	struct out_table *table;
	struct out_list out;
	struct qo_wall now;
	struct qo_walk walk;
	struct qo_fetch fetch;
	char **keys;
	size_t nkeys, cap;
	bool ended;
	enum qo_rc rc;
	struct qo_err err;
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

/* Reading the records */

static int
on_name(struct qo_fetch *f, size_t i, char key[QO_KEY_SIZE],
    const char **version)
{
	struct workers *w = f->arg;

	(void)version;
	return strlcpy(key, w->keys[i], QO_KEY_SIZE) < QO_KEY_SIZE ? 0 : -1;
}

/* The name in workers/{worker_id}.json. */
static char *
worker_of(const char *key)
{
	const char *slash = strrchr(key, '/');
	size_t len;

	if (slash == NULL || (len = strlen(slash + 1)) < 6 ||
	    strcmp(slash + 1 + len - 5, ".json") != 0)
		return NULL;
	return xmemdup0(slash + 1, len - 5);
}

static void
give(struct workers *w, struct qo_s3_req *r)
{
	struct qo_worker_record rec;
	struct qo_err err;
	char *id = worker_of(r->key);

	if (id == NULL) {
		exit_say("%s: this is no key of a worker", r->key);
	} else if (qo_worker_record_decode(&rec, id, r->res.body.data,
		       r->res.body.len, &err) == -1) {
		exit_say("%s: %s", r->key, err.msg);
	} else {
		if (w->format == OUT_TEXT)
			add_row(w, &rec);
		else
			taskview_add_line(&w->out, r->res.body.data,
			    r->res.body.len);
		qo_worker_record_fini(&rec);
	}
	free(id);
}

static bool
on_got(struct qo_fetch *f, size_t i, struct qo_s3_req *r)
{
	struct workers *w = f->arg;

	(void)i;
	if (r->res.outcome == QO_S3_OK) {
		give(w, r);
		return true;
	}
	if (r->res.outcome == QO_S3_NOT_FOUND)
		return true; /* removed since the list */
	if (r->res.outcome == QO_S3_TOO_LARGE) {
		exit_say("%s: too large for a worker's record", r->key);
		return true;
	}
	w->rc = qo_s3_outcome_rc(r->res.outcome);
	w->err = r->res.err;
	return false;
}

static void
on_fetched(struct qo_fetch *f)
{
	((struct workers *)f->arg)->ended = true;
}

/* Listing them */

static bool
on_entry(struct qo_walk *walk, const struct qo_s3_entry *e)
{
	struct workers *w = walk->arg;

	if (w->nkeys == w->cap) {
		w->cap = w->cap == 0 ? 64 : 2 * w->cap;
		w->keys = xreallocarray(w->keys, w->cap, sizeof(*w->keys));
	}
	w->keys[w->nkeys++] = xstrdup(e->key);
	return true;
}

static void
on_walked(struct qo_walk *walk)
{
	struct workers *w = walk->arg;

	w->rc = walk->rc;
	w->err = walk->err;
	if (walk->rc != QO_OK) {
		w->ended = true;
		return;
	}
	w->fetch.n = w->nkeys;
	w->fetch.response_max = QO_WORKER_LEN_MAX;
	w->fetch.name = on_name;
	w->fetch.got = on_got;
	w->fetch.done = on_fetched;
	w->fetch.arg = w;
	qo_fetch_start(&w->fetch);
}

static void
read_all(struct workers *w)
{
	struct qo_queue *q = w->s->q;

	qo_walk_init(&w->walk, q->s3, q->index_bucket);
	qo_fetch_init(&w->fetch, q->loop, q->s3, q->index_bucket);
	snprintf(w->walk.prefix, sizeof(w->walk.prefix), "%sworkers/",
	    q->prefix);
	w->walk.entry = on_entry;
	w->walk.done = on_walked;
	w->walk.arg = w;
	qo_walk_start(&w->walk);
	while (!w->ended)
		loop_once(q->loop, -1);
	qo_walk_fini(&w->walk);
	qo_fetch_fini(&w->fetch);
	while (w->nkeys > 0)
		free(w->keys[--w->nkeys]);
	free(w->keys);
}

static enum exit_code
run_workers(struct session *s, const struct opts *o)
{
	static struct workers w; /* large */
	enum exit_code code;

	if ((code = cmd_format(o, &w.format)) != EXIT_OK ||
	    (code = session_open(s)) != EXIT_OK)
		return code;
	w.s = s;
	w.now = qo_queue_now(s->q);
	if (w.format == OUT_TEXT)
		w.table = out_table_new(cols, sizeof(cols) / sizeof(cols[0]));
	else
		out_list_begin(&w.out, w.format);
	read_all(&w);
	if (w.format == OUT_TEXT)
		out_table_print(w.table);
	else
		out_list_end(&w.out);
	return w.rc == QO_OK ? EXIT_OK : session_fail(s, w.rc, &w.err);
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
