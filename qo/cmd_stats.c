/* stats: how full the queue is, from the indexes alone. */
#include "counts.h"
#include "taskview.h"

#define JSON_LEN 65536

static const char *const priorities[COUNTS_PRIORITIES] = { "high", "normal",
	"low" };

/* Output */

static void
add_age(struct buf *b, int64_t ms)
{
	if (ms < 0)
		out_json_raw(b, "oldest_ready_seconds",
		    &(struct qo_json){ "null", 4 });
	else
		out_json_double(b, "oldest_ready_seconds", (double)ms / 1000);
}

static void
show_json(const struct session *s, const struct counts *st, struct qo_wall now)
{
	struct buf b;
	size_t p;

	buf_init(&b, JSON_LEN);
	out_json_open(&b, NULL, '{');
	out_json_int(&b, "ready", (int64_t)counts_sum(st->ready));
	out_json_int(&b, "delayed", (int64_t)counts_sum(st->delayed));
	out_json_int(&b, "running", (int64_t)st->running);
	out_json_int(&b, "overdue", (int64_t)st->overdue);
	out_json_int(&b, "failed", (int64_t)st->failed);
	add_age(&b, counts_oldest_ms(st, now));
	out_json_open(&b, "priorities", '{');
	for (p = 0; p < COUNTS_PRIORITIES; p++) {
		out_json_open(&b, priorities[p], '{');
		out_json_int(&b, "ready", (int64_t)st->ready[p]);
		out_json_int(&b, "delayed", (int64_t)st->delayed[p]);
		add_age(&b,
		    qo_wall_is_set(st->oldest[p])
			? counts_age_ms(st->oldest[p], now)
			: -1);
		out_json_close(&b, '}');
	}
	out_json_close(&b, '}');
	out_json_bool(&b, "paused", s->control.paused);
	out_json_open(&b, "paused_types", '[');
	for (p = 0; p < s->control.npaused_types; p++)
		out_json_str(&b, NULL, s->control.paused_types[p]);
	out_json_close(&b, ']');
	out_json_time(&b, "at", now);
	out_json_close(&b, '}');
	out_json(b.data, b.len);
	buf_fini(&b);
}

static const struct out_col cols[] = {
	{ "", false },
	{ "TASKS", true },
	{ "HIGH", true },
	{ "NORMAL", true },
	{ "LOW", true },
	{ "OLDEST", true },
};

static void
add_row(struct out_table *t, const char *name, const size_t *n, int64_t age)
{
	char text[OUT_DURATION_SIZE];
	size_t p;

	out_cell(t, OUT_BOLD, "%s", name);
	out_cell(t, OUT_PLAIN, "%zu", counts_sum(n));
	for (p = 0; p < COUNTS_PRIORITIES; p++)
		out_cell(t, OUT_PLAIN, "%zu", n[p]);
	out_cell(t, OUT_PLAIN, "%s",
	    age >= 0 ? out_duration_text(age, text) : "");
}

static void
add_count(struct out_table *t, const char *name, size_t n, enum out_style style)
{
	size_t i;

	out_cell(t, OUT_BOLD, "%s", name);
	out_cell(t, n > 0 ? style : OUT_PLAIN, "%zu", n);
	for (i = 0; i < COUNTS_PRIORITIES + 1; i++)
		out_cell(t, OUT_PLAIN, "%s", "");
}

static void
show_text(const struct session *s, const struct counts *st, struct qo_wall now)
{
	struct out_table *t;
	size_t i;

	t = out_table_new(cols, sizeof(cols) / sizeof(cols[0]));
	add_row(t, "ready", st->ready, counts_oldest_ms(st, now));
	add_row(t, "delayed", st->delayed, -1);
	add_count(t, "running", st->running, OUT_BUSY);
	if (st->overdue > 0)
		add_count(t, "overdue", st->overdue, OUT_WARN);
	add_count(t, "failed", st->failed, OUT_BAD);
	out_table_print(t);
	if (s->control.paused)
		out_line("the queue is paused");
	for (i = 0; i < s->control.npaused_types; i++)
		out_line("paused: type %s", s->control.paused_types[i]);
}

static void
on_corrupt(struct qo_scan *s, const char *key, const char *why)
{
	(void)s;
	exit_say("%s: %s", key, why);
}

static enum exit_code
run_stats(struct session *s, const struct opts *o)
{
	static struct qo_scan scan; /* large */
	struct counts st;
	struct qo_wall now;
	enum exit_code code;
	enum qo_rc rc;

	if ((code = session_open(s)) != EXIT_OK)
		return code;
	qo_scan_init(&scan, s->q, QO_SCAN_ACTIVE);
	scan.corrupt = on_corrupt;
	rc = qo_scan_wait(&scan);
	if (rc != QO_OK) {
		code = session_fail(s, rc, &scan.err);
	} else {
		now = qo_queue_now(s->q);
		counts_of(&st, &scan, now);
		if (opts_has(o, "json"))
			show_json(s, &st, now);
		else
			show_text(s, &st, now);
		if (scan.dropped > 0)
			exit_say("%zu more entries were not counted",
			    scan.dropped);
	}
	qo_scan_fini(&scan);
	return code;
}

static const struct opt stats_opts[] = {
	CMD_OPT_JSON,
	CMD_OPT_END,
};

const struct cmd cmd_stats = {
	.name = "stats",
	.run = run_stats,
	.opts = stats_opts,
	.summary = "count tasks: ready, delayed, running, failed",
	.help = "From the indexes alone, by priority, with the age of the "
		"oldest task that is ready.  An index entry that waits to be "
		"removed may be counted for a moment.  Overdue tasks have a "
		"lease that has run out and wait for the monitor.",
};
