/* top.h: where a look comes from. */
#include <stdio.h>
#include <string.h>

#include "counts.h"
#include "qodstatus.h"
#include "taskview.h"
#include "top.h"
#include "workerlist.h"

#define ASK_MS 5000

/* qod */

static void
set_state(struct top_worker *w, const char *state)
{
	snprintf(w->state, sizeof(w->state), "%s", state);
	w->style = strcmp(state, "ready") == 0 ? OUT_GOOD
	    : strcmp(state, "failed") == 0     ? OUT_BAD
					       : OUT_WARN;
}

static void
add_tasks(struct top_look *l, const struct qodstatus_child *c,
    const char *worker)
{
	const struct qodstatus_task *from;
	struct top_task *t;
	size_t i;

	for (i = 0; i < c->ntasks; i++) {
		from = &c->tasks[i];
		t = top_add_task(l);
		snprintf(t->id, sizeof(t->id), "%s", from->id);
		snprintf(t->type, sizeof(t->type), "%s", from->type);
		snprintf(t->worker, sizeof(t->worker), "%s", worker);
		t->attempt = from->attempt;
		t->handler_pid = from->handler_pid;
		if (qo_wall_is_set(from->since))
			t->age_ms = counts_age_ms(from->since, l->at);
	}
}

static void
add_note(struct top_worker *w, const struct qodstatus_child *c)
{
	struct buf b;

	buf_init(&b, sizeof(w->note) - 1);
	if (c->note != NULL)
		buf_adds(&b, c->note);
	if (c->last_exit != NULL && (c->pid <= 0 || c->restarts > 0))
		buf_addf(&b, "%s%s", b.len > 0 ? ", " : "", c->last_exit);
	if (c->next_restart_ms >= 0) {
		buf_adds(&b, ", starts again in ");
		out_duration(&b, c->next_restart_ms);
	}
	snprintf(w->note, sizeof(w->note), "%s", b.data);
	buf_fini(&b);
}

static void
add_child(struct top_look *l, const struct qodstatus_child *c)
{
	struct top_worker *w = top_add_worker(l);

	w->works = strcmp(c->role, "worker") == 0;
	if (w->works)
		snprintf(w->name, sizeof(w->name), "%.100s %lld", c->role,
		    (long long)c->index);
	else
		snprintf(w->name, sizeof(w->name), "%.100s", c->role);
	set_state(w, c->state);
	w->pid = c->pid;
	w->uptime_ms = c->uptime_ms;
	w->restarts = c->restarts;
	w->running = c->running;
	w->slots = c->slots;
	w->completed = c->completed;
	w->failed = c->failed;
	w->retried = c->retried;
	w->requests = c->s3_requests;
	add_note(w, c);
	if (strcmp(c->role, "monitor") == 0) {
		l->ready = c->ready;
		l->oldest_ms = c->oldest_ready_ms;
		l->failed_tasks = c->failed_tasks;
	}
	add_tasks(l, c, w->name);
}

static void
fill_from_status(struct top_look *l, const struct qodstatus *st)
{
	char up[OUT_DURATION_SIZE];
	size_t i;

	snprintf(l->title, sizeof(l->title),
	    "qod %.40s, process %lld, %.40s, up %s",
	    st->version != NULL ? st->version : "?", (long long)st->pid,
	    st->state != NULL ? st->state : "?",
	    out_duration_text(st->uptime_ms, up));
	if (qo_wall_is_set(st->reload_at) && !st->reload_ok)
		top_say(l, "the last reload failed: %s",
		    st->reload_message != NULL ? st->reload_message : "");
	for (i = 0; i < st->nchildren; i++)
		add_child(l, &st->children[i]);
	l->omitted = st->tasks_omitted;
}

static void
on_called(struct ctlcall *c)
{
	*(bool *)c->arg = true;
}

enum exit_code
top_from_qod(struct top_look *l, struct ctlcall *c, const char *path,
    const bool *stop, struct qo_err *err)
{
	struct qodstatus st;
	bool done = false;

	top_look_init(l, "qod");
	ctlcall_start(c, path, "status", ASK_MS, on_called, &done);
	while (!done && !*stop)
		loop_once(c->loop, -1);
	if (!done)
		return EXIT_OK;
	*err = c->err;
	if (c->code != EXIT_OK)
		return c->code;
	if (qodstatus_read(&st, c->answer.data, c->answer.len, err) == -1)
		return EXIT_FAILED;
	fill_from_status(l, &st);
	qodstatus_fini(&st);
	return EXIT_OK;
}

/* The bucket */

struct reading {
	struct top_look *look;
	struct session *s;
};

/* The ids in current_tasks, an array of plain strings. */
static void
add_current(struct top_look *l, const struct qo_json *ids, const char *worker)
{
	const char *p = ids->p, *end = ids->p != NULL ? p + ids->len : NULL;
	const char *close;
	struct top_task *t;

	while (p != NULL && (p = memchr(p, '"', (size_t)(end - p))) != NULL) {
		p++;
		close = memchr(p, '"', (size_t)(end - p));
		if (close == NULL)
			return;
		t = top_add_task(l);
		snprintf(t->id, sizeof(t->id), "%.*s", (int)(close - p), p);
		snprintf(t->worker, sizeof(t->worker), "%s", worker);
		p = close + 1;
	}
}

static void
set_health(struct top_worker *w, const struct conf_monitor *c, int64_t silent)
{
	char text[OUT_DURATION_SIZE];

	if (silent < c->worker_stale_ms) {
		snprintf(w->state, sizeof(w->state), "alive");
		w->style = OUT_GOOD;
		return;
	}
	snprintf(w->state, sizeof(w->state), "%s",
	    silent < c->worker_dead_ms ? "stale" : "dead");
	w->style = silent < c->worker_dead_ms ? OUT_WARN : OUT_BAD;
	snprintf(w->note, sizeof(w->note), "last heard of %s ago",
	    out_duration_text(silent, text));
}

static void
on_record(struct workerlist *list, const struct qo_worker_record *r,
    const char *text, size_t len)
{
	struct reading *rd = list->arg;
	struct top_look *l = rd->look;
	struct top_worker *w = top_add_worker(l);

	(void)text;
	(void)len;
	w->works = true;
	snprintf(w->name, sizeof(w->name), "%.150s", r->worker_id);
	w->pid = r->pid;
	w->uptime_ms = counts_age_ms(r->started_at, l->at);
	w->running = (int64_t)qo_worker_record_busy(r);
	w->slots = r->slots;
	w->completed = r->tasks_completed;
	w->failed = r->tasks_failed;
	set_health(w, &rd->s->conf->monitor,
	    counts_age_ms(r->last_heartbeat, l->at));
	add_current(l, &r->current_tasks, w->name);
}

static void
on_corrupt(struct workerlist *list, const char *key, const char *why)
{
	struct reading *rd = list->arg;

	top_say(rd->look, "%s: %s", key, why);
}

static void
on_scanned(struct qo_scan *s)
{
	*(bool *)s->arg = true;
}

static enum qo_rc
count(struct top_look *l, struct session *s, const bool *stop,
    struct qo_err *err)
{
	static struct qo_scan scan; /* large */
	struct counts c;
	bool done = false;
	enum qo_rc rc = QO_OK;

	qo_scan_init(&scan, s->q, QO_SCAN_ACTIVE);
	scan.done = on_scanned;
	scan.arg = &done;
	qo_scan_start(&scan);
	while (!done && !*stop)
		loop_once(s->loop, -1);
	if (done && (rc = scan.rc) == QO_OK) {
		counts_of(&c, &scan, l->at);
		l->ready = (int64_t)counts_sum(c.ready);
		l->oldest_ms = counts_oldest_ms(&c, l->at);
		l->failed_tasks = (int64_t)c.failed;
	}
	*err = scan.err;
	qo_scan_fini(&scan);
	return rc;
}

enum exit_code
top_from_bucket(struct top_look *l, struct session *s, const bool *stop,
    struct qo_err *err)
{
	static struct workerlist list; /* large */
	struct reading rd = { l, s };
	enum qo_rc rc;

	top_look_init(l, "bucket");
	l->at = qo_queue_now(s->q);
	snprintf(l->title, sizeof(l->title), "bucket %.80s%s%.200s",
	    s->conf->s3.bucket,
	    s->conf->s3.prefix[0] != '\0' ? ", prefix " : "",
	    s->conf->s3.prefix);
	if (s->control.paused)
		top_say(l, "the queue is paused");
	list.q = s->q;
	list.record = on_record;
	list.corrupt = on_corrupt;
	list.arg = &rd;
	if ((rc = workerlist_read(&list, stop)) != QO_OK)
		*err = list.err;
	else if (!*stop)
		rc = count(l, s, stop, err);
	l->taken = qo_mono_now();
	return exit_code_of(rc);
}
