/* top.h: how a look is shown. */
#include <stdio.h>
#include <string.h>

#include "top.h"

#define DRAW_MAX ((size_t)64 << 20)

static const char *const sort_names[TOP_SORTS] = { "time", "type", "worker" };

/* The head */

static void
add_rate(struct buf *b, double rate)
{
	if (rate < 0)
		buf_adds(b, "-");
	else
		buf_addf(b, rate < 10 ? "%.1f/s" : "%.0f/s", rate);
}

static void
sum_up(const struct top_look *l, int64_t *running, int64_t *slots)
{
	size_t i;

	*running = *slots = 0;
	for (i = 0; i < l->nworkers; i++)
		if (l->workers[i].works) {
			*running += l->workers[i].running;
			*slots += l->workers[i].slots;
		}
}

static void
add_count(struct buf *b, const char *name, int64_t n)
{
	if (n < 0)
		buf_addf(b, "   %s -", name);
	else
		buf_addf(b, "   %s %lld", name, (long long)n);
}

static void
draw_head(const struct top_look *l, const struct top_style *st, struct buf *b)
{
	char text[OUT_DURATION_SIZE];
	int64_t running, slots;
	struct buf line;
	size_t i;

	buf_init(&line, 1024);
	out_add(b, OUT_BOLD, st->coloured, "%s", l->title);
	if (st->paused)
		out_add(b, OUT_WARN, st->coloured, "   paused");
	sum_up(l, &running, &slots);
	buf_addf(b, "\ntasks  running %lld of %lld", (long long)running,
	    (long long)slots);
	add_count(b, "ready", l->ready);
	buf_addf(b, "   oldest %s",
	    l->oldest_ms >= 0 ? out_duration_text(l->oldest_ms, text) : "-");
	add_count(&line, "failed", l->failed_tasks);
	out_add(b, l->failed_tasks > 0 ? OUT_BAD : OUT_PLAIN, st->coloured,
	    "%s", line.data);
	buf_adds(b, "\nrates  completed ");
	add_rate(b, l->rate.completed);
	buf_adds(b, "   failed ");
	add_rate(b, l->rate.failed);
	buf_adds(b, "   retried ");
	add_rate(b, l->rate.retried);
	buf_adds(b, "   requests ");
	add_rate(b, l->rate.requests);
	buf_addc(b, '\n');
	for (i = 0; i < l->nmessages; i++) {
		out_add(b, OUT_BAD, st->coloured, "%s", l->messages[i]);
		buf_addc(b, '\n');
	}
	buf_fini(&line);
}

/* The lists */

static const struct out_col worker_cols[] = {
	{ "WORKER", false },
	{ "PID", true },
	{ "STATE", false },
	{ "BUSY", true },
	{ "DONE", true },
	{ "RATE", true },
	{ "FAILED", true },
	{ "RETRIED", true },
	{ "UP", true },
	{ "RESTARTS", true },
	{ "NOTE", false },
};

static void
add_number(struct out_table *t, enum out_style style, int64_t n)
{
	if (n < 0)
		out_cell(t, OUT_PLAIN, "-");
	else
		out_cell(t, n > 0 ? style : OUT_PLAIN, "%lld", (long long)n);
}

static void
add_work(struct out_table *t, const struct top_worker *w)
{
	struct buf b;
	size_t i;

	if (!w->works) {
		for (i = 0; i < 5; i++)
			out_cell(t, OUT_PLAIN, "%s", "");
		return;
	}
	buf_init(&b, 64);
	add_rate(&b, w->rate);
	out_cell(t, w->running > 0 ? OUT_BUSY : OUT_PLAIN, "%lld/%lld",
	    (long long)w->running, (long long)w->slots);
	add_number(t, OUT_PLAIN, w->completed);
	out_cell(t, OUT_PLAIN, "%s", b.data);
	add_number(t, OUT_BAD, w->failed);
	add_number(t, OUT_WARN, w->retried);
	buf_fini(&b);
}

static void
draw_workers(const struct top_look *l, const struct top_style *st,
    struct buf *b)
{
	const struct top_worker *w;
	struct out_table *t;
	char text[OUT_DURATION_SIZE];
	size_t i;

	t = out_table_new(worker_cols,
	    sizeof(worker_cols) / sizeof(worker_cols[0]));
	for (i = 0; i < l->nworkers; i++) {
		w = &l->workers[i];
		out_cell(t, OUT_PLAIN, "%s", w->name);
		add_number(t, OUT_PLAIN, w->pid > 0 ? w->pid : -1);
		out_cell(t, w->style, "%s", w->state);
		add_work(t, w);
		out_cell(t, OUT_PLAIN, "%s",
		    w->uptime_ms >= 0 ? out_duration_text(w->uptime_ms, text)
				      : "-");
		add_number(t, OUT_WARN, w->restarts);
		out_cell(t, OUT_PLAIN, "%s", w->note);
	}
	out_table_add(t, b, st->cols, st->coloured);
}

#define TASK_TYPE 1
static const struct out_col task_cols[] = {
	{ "TASK", false },
	{ "TYPE", false },
	{ "TRY", true },
	{ "FOR", true },
	{ "PID", true },
	{ "WORKER", false },
};

static void
draw_tasks(const struct top_look *l, const struct top_style *st, struct buf *b)
{
	const struct top_task *k;
	struct out_table *t;
	char text[OUT_DURATION_SIZE];
	size_t i;

	t = out_table_new(task_cols, sizeof(task_cols) / sizeof(task_cols[0]));
	out_table_gives(t, TASK_TYPE);
	for (i = 0; i < l->ntasks; i++) {
		k = &l->tasks[i];
		out_cell(t, OUT_PLAIN, "%s", k->id);
		out_cell(t, OUT_PLAIN, "%s",
		    k->type[0] != '\0' ? k->type : "-");
		add_number(t, OUT_PLAIN, k->attempt > 0 ? k->attempt : -1);
		out_cell(t, OUT_PLAIN, "%s",
		    k->age_ms >= 0 ? out_duration_text(k->age_ms, text) : "-");
		add_number(t, OUT_PLAIN,
		    k->handler_pid > 0 ? k->handler_pid : -1);
		out_cell(t, OUT_PLAIN, "%s", k->worker);
	}
	if (l->ntasks > 0)
		buf_addc(b, '\n');
	out_table_add(t, b, st->cols, st->coloured);
	if (l->omitted > 0)
		buf_addf(b, "and %lld more\n", (long long)l->omitted);
}

/* The screen */

/* Adds the line cut to cols columns; what is between ESC and m takes none. */
static void
add_clipped(struct buf *b, const char *p, size_t len, size_t cols)
{
	size_t i, at = 0;
	bool styled = false;

	for (i = 0; i < len; i++) {
		if (p[i] == '\033') {
			styled = true;
			while (i < len && p[i] != 'm')
				buf_addc(b, p[i++]);
			buf_addc(b, 'm');
			continue;
		}
		if (((unsigned char)p[i] & 0xc0) != 0x80 && cols > 0 &&
		    at++ == cols)
			break;
		buf_addc(b, p[i]);
	}
	if (styled && i < len)
		buf_adds(b, "\033[0m");
}

static size_t
count_lines(const struct buf *b)
{
	size_t i, n = 0;

	for (i = 0; i < b->len; i++)
		n += b->data[i] == '\n';
	return n;
}

/* Copies lines from the first-th on, n at most. */
static void
add_lines(struct buf *b, const struct buf *from, size_t first, size_t n,
    size_t cols)
{
	const char *p = from->data, *end = from->data + from->len, *nl;

	for (; n > 0 && p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			nl = end;
		if (first > 0) {
			first--;
			continue;
		}
		add_clipped(b, p, (size_t)(nl - p), cols);
		buf_addc(b, '\n');
		n--;
	}
}

static void
add_keys(struct buf *b, const struct top_style *st, size_t hidden)
{
	struct buf line, out;

	buf_init(&line, 512);
	buf_init(&out, 1024);
	buf_addf(&line, "q quit  p %s  s sort by %s  j k scroll",
	    st->paused ? "go on" : "pause", sort_names[st->sort]);
	if (hidden > 0)
		buf_addf(&line, "  (%zu more)", hidden);
	out_add(&out, OUT_DIM, st->coloured, "%s", line.data);
	add_clipped(b, out.data, out.len, st->cols);
	buf_fini(&out);
	buf_fini(&line);
}

/* What the lists get of the rows, and where they begin. */
static size_t
fit(struct top_style *st, size_t head, size_t body)
{
	size_t room = st->rows > head + 1 ? st->rows - head - 1 : 0;

	if (st->scroll + room > body)
		st->scroll = body > room ? body - room : 0;
	return room;
}

void
top_draw(const struct top_look *l, struct top_style *st, struct buf *b)
{
	struct buf head, body;
	size_t room, lines;

	buf_init(&head, DRAW_MAX);
	buf_init(&body, DRAW_MAX);
	draw_head(l, st, &head);
	buf_addc(&head, '\n');
	draw_workers(l, st, &body);
	draw_tasks(l, st, &body);
	lines = count_lines(&body);
	if (st->rows == 0) {
		add_lines(b, &head, 0, SIZE_MAX, st->cols);
		add_lines(b, &body, 0, SIZE_MAX, st->cols);
	} else {
		room = fit(st, count_lines(&head), lines);
		add_lines(b, &head, 0, st->rows - 1, st->cols);
		add_lines(b, &body, st->scroll, room, st->cols);
		if (st->keys)
			add_keys(b, st,
			    lines > st->scroll + room
				? lines - st->scroll - room
				: 0);
	}
	buf_fini(&body);
	buf_fini(&head);
}

/* JSON */

static void
json_number(struct buf *b, const char *name, int64_t n)
{
	if (n < 0)
		out_json_raw(b, name, &(struct qo_json){ NULL, 0 });
	else
		out_json_int(b, name, n);
}

static void
json_worker(struct buf *b, const struct top_worker *w)
{
	out_json_open(b, NULL, '{');
	out_json_str(b, "name", w->name);
	json_number(b, "pid", w->pid > 0 ? w->pid : -1);
	out_json_str(b, "state", w->state);
	if (w->works) {
		json_number(b, "running", w->running);
		json_number(b, "slots", w->slots);
		json_number(b, "completed", w->completed);
		json_number(b, "failed", w->failed);
		json_number(b, "retried", w->retried);
	}
	json_number(b, "uptime_ms", w->uptime_ms);
	json_number(b, "restarts", w->restarts);
	out_json_str(b, "note", w->note[0] != '\0' ? w->note : NULL);
	out_json_close(b, '}');
}

static void
json_task(struct buf *b, const struct top_task *t)
{
	out_json_open(b, NULL, '{');
	out_json_str(b, "id", t->id);
	out_json_str(b, "type", t->type[0] != '\0' ? t->type : NULL);
	json_number(b, "attempt", t->attempt > 0 ? t->attempt : -1);
	json_number(b, "age_ms", t->age_ms);
	json_number(b, "handler_pid", t->handler_pid > 0 ? t->handler_pid : -1);
	out_json_str(b, "worker", t->worker);
	out_json_close(b, '}');
}

static void
json_rates(struct buf *b, const struct top_rate *r)
{
	static const char *const names[] = { "completed", "failed", "retried",
		"requests" };
	const double rates[] = { r->completed, r->failed, r->retried,
		r->requests };
	size_t i;

	out_json_open(b, "rates", '{');
	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (rates[i] < 0)
			json_number(b, names[i], -1);
		else
			out_json_double(b, names[i], rates[i]);
	out_json_close(b, '}');
}

void
top_json(const struct top_look *l, struct buf *b)
{
	int64_t running, slots;
	size_t i;

	sum_up(l, &running, &slots);
	out_json_open(b, NULL, '{');
	out_json_str(b, "source", l->source);
	out_json_time(b, "at", l->at);
	out_json_int(b, "running", running);
	out_json_int(b, "slots", slots);
	json_number(b, "ready", l->ready);
	json_number(b, "oldest_ready_ms", l->oldest_ms);
	json_number(b, "failed", l->failed_tasks);
	json_rates(b, &l->rate);
	out_json_open(b, "workers", '[');
	for (i = 0; i < l->nworkers; i++)
		json_worker(b, &l->workers[i]);
	out_json_close(b, ']');
	out_json_open(b, "tasks", '[');
	for (i = 0; i < l->ntasks; i++)
		json_task(b, &l->tasks[i]);
	out_json_close(b, ']');
	out_json_open(b, "messages", '[');
	for (i = 0; i < l->nmessages; i++)
		out_json_str(b, NULL, l->messages[i]);
	out_json_close(b, ']');
	out_json_close(b, '}');
}
