#include <string.h>

#include "bench.h"
#include "bulk.h"
#include "cmd.h"
#include "confval.h"
#include "submit.h"

/* AWS list prices, us-east-1, S3 Standard, in dollars for one request. */
#define PRICE_WRITE (0.005 / 1000) /* PUT, COPY, POST, LIST */
#define PRICE_READ  (0.0004 / 1000)
#define PRICE_NOTE                                                           \
	"AWS list prices, us-east-1, S3 Standard: PUT, COPY, POST and LIST " \
	"$0.005, GET $0.0004 per 1,000, DELETE free"

/* The budget of the happy path: DESIGN.md 5. */
#define PUTS_MAX   5.0
#define GETS_MAX   1.0
#define SHARED_MAX 0.1

#define TASKS_MAX 10000000

static const char *const modes[] = { "submit", "drain", "mixed", NULL };
static const char *const classes[] = { "PUT", "GET", "LIST", "DELETE" };

static double
per_task(const struct bench *b, enum bench_class c)
{
	return b->done > 0 ? (double)b->requests[c] / (double)b->done : 0;
}

static double
cost_per_million(const struct bench *b)
{
	return 1e6 *
	    ((per_task(b, BENCH_PUT) + per_task(b, BENCH_LIST)) * PRICE_WRITE +
		per_task(b, BENCH_GET) * PRICE_READ);
}

static bool
budget_met(const struct bench *b)
{
	/* A request that was sent again does not break it. */
	return per_task(b, BENCH_PUT) <= PUTS_MAX * 1.01 &&
	    per_task(b, BENCH_GET) <= GETS_MAX * 1.01 &&
	    per_task(b, BENCH_LIST) + per_task(b, BENCH_DELETE) < SHARED_MAX;
}

static double
rate(const struct bench *b)
{
	return b->us > 0 ? (double)b->done * 1e6 / (double)b->us : 0;
}

/* Text */

static void
add_times(struct out_table *t, const char *name, struct bench_times *times)
{
	static const double points[] = { 0.5, 0.95, 0.99, 1 };
	size_t i;

	if (times->n == 0)
		return;
	out_cell(t, OUT_PLAIN, "%s", name);
	for (i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		out_cell(t, OUT_PLAIN, "%.1f ms",
		    (double)bench_percentile(times, points[i]) / 1000);
}

static void
print_text(struct bench *b)
{
	static const struct out_col cols[] = { { "LATENCY", false },
		{ "P50", true }, { "P95", true }, { "P99", true },
		{ "MAX", true } };
	struct out_table *t;
	size_t i;

	out_line("%s: %zu tasks in %.2f s, %.0f tasks/s, %zu at a time, input "
		 "of %zu bytes",
	    modes[b->mode], b->done, (double)b->us / 1e6, rate(b), b->inflight,
	    b->payload);
	t = out_table_new(cols, sizeof(cols) / sizeof(cols[0]));
	if (b->mode != BENCH_DRAIN)
		add_times(t, "submit", &b->submit);
	add_times(t, "claim to completed", &b->run);
	out_table_print(t);
	out_text(OUT_PLAIN, "S3 requests per task:");
	for (i = 0; i < BENCH_CLASSES; i++)
		out_text(OUT_PLAIN, "%s %s %.3f", i > 0 ? "," : "", classes[i],
		    per_task(b, i));
	out_line("%s", "");
	out_line("budget: at most 5 PUT and 1 GET a task from submit to "
		 "completed, LIST and DELETE together under 0.1: %s",
	    budget_met(b) ? "met" : "not met");
	out_line("cost: $%.2f per million tasks (" PRICE_NOTE ")",
	    cost_per_million(b));
}

/* JSON */

static void
add_times_json(struct buf *out, const char *name, struct bench_times *times)
{
	if (times->n == 0)
		return;
	out_json_open(out, name, '{');
	out_json_int(out, "p50", bench_percentile(times, 0.5));
	out_json_int(out, "p95", bench_percentile(times, 0.95));
	out_json_int(out, "p99", bench_percentile(times, 0.99));
	out_json_int(out, "max", bench_percentile(times, 1));
	out_json_close(out, '}');
}

static void
print_json(struct bench *b)
{
	struct buf out;
	size_t i;

	buf_init(&out, 8192);
	out_json_open(&out, NULL, '{');
	out_json_str(&out, "mode", modes[b->mode]);
	out_json_int(&out, "tasks", (int64_t)b->done);
	out_json_int(&out, "inflight", (int64_t)b->inflight);
	out_json_int(&out, "payload", (int64_t)b->payload);
	out_json_double(&out, "seconds", (double)b->us / 1e6);
	out_json_double(&out, "tasks_per_second", rate(b));
	out_json_open(&out, "latency_us", '{');
	if (b->mode != BENCH_DRAIN)
		add_times_json(&out, "submit", &b->submit);
	add_times_json(&out, "claim_to_completed", &b->run);
	out_json_close(&out, '}');
	out_json_open(&out, "requests", '{');
	for (i = 0; i < BENCH_CLASSES; i++)
		out_json_int(&out, classes[i], (int64_t)b->requests[i]);
	out_json_close(&out, '}');
	out_json_open(&out, "requests_per_task", '{');
	for (i = 0; i < BENCH_CLASSES; i++)
		out_json_double(&out, classes[i], per_task(b, i));
	out_json_close(&out, '}');
	out_json_bool(&out, "budget_met", budget_met(b));
	out_json_double(&out, "usd_per_million_tasks", cost_per_million(b));
	out_json_str(&out, "prices", PRICE_NOTE);
	out_json_close(&out, '}');
	out_json(out.data, out.len);
	buf_fini(&out);
}

/* The command */

static enum exit_code
get_number(const struct opts *o, const char *name, int64_t min, int64_t max,
    size_t *out)
{
	const char *text = opts_get(o, name);
	struct qo_err err = { 0 };
	int64_t n;

	if (text == NULL)
		return EXIT_OK;
	if (confval_int(text, min, max, &n, &err) == -1)
		return exit_usage("--%s: %s", name, err.msg);
	*out = (size_t)n;
	return EXIT_OK;
}

static enum exit_code
get_payload(const struct opts *o, size_t *out)
{
	const char *text = opts_get(o, "payload");
	struct qo_err err = { 0 };
	int64_t n;

	if (text == NULL)
		return EXIT_OK;
	if (confval_size(text, 2, QO_INPUT_MAX, &n, &err) == -1)
		return exit_usage("--payload: %s", err.msg);
	*out = (size_t)n;
	return EXIT_OK;
}

static enum exit_code
run(struct session *s, const struct opts *o)
{
	struct bench b = { .session = s, .tasks = 1000, .payload = 100 };
	enum exit_code code;
	struct qo_err err = { 0 };
	int mode;

	if (confval_enum(o->args[0], modes, &mode, &err) == -1)
		return exit_usage("%s", err.msg);
	b.mode = (enum bench_mode)mode;
	b.keep = opts_has(o, "keep");
	if ((code = get_number(o, "tasks", 1, TASKS_MAX, &b.tasks)) !=
		EXIT_OK ||
	    (code = get_number(o, "inflight", 1, QO_BULK_INFLIGHT_MAX,
		 &b.inflight)) != EXIT_OK ||
	    (code = get_payload(o, &b.payload)) != EXIT_OK ||
	    (code = session_open_writer(s)) != EXIT_OK)
		return code;
	if (b.inflight == 0)
		b.inflight = (size_t)s->conf->submit.max_inflight;
	code = bench_run(&b);
	if (code == EXIT_OK || code == EXIT_PARTLY) {
		if (opts_has(o, "json"))
			print_json(&b);
		else
			print_text(&b);
	}
	bench_fini(&b);
	return code;
}

static const struct opt bench_opts[] = {
	{ "tasks", 0, "N", "How many tasks; 1000.", false },
	{ "inflight", 0, "N",
	    "How many at a time; [submit] max_inflight of the configuration.",
	    false },
	{ "payload", 0, "BYTES", "The size of the input of a task; 100.",
	    false },
	{ "keep", 0, NULL, "Leave the tasks in the bucket.", false },
	CMD_OPT_JSON,
	CMD_OPT_END,
};

const struct cmd cmd_bench = {
	.name = "bench",
	.run = run,
	.opts = bench_opts,
	.args = "submit|drain|mixed",
	.min_args = 1,
	.max_args = 1,
	.words = modes,
	.summary = "measure the queue and what it costs",
	.help =
	    "submit puts tasks of type qo.bench into the queue; drain puts "
	    "them there and then measures how they are claimed and completed, "
	    "by a handler that does nothing; mixed does both at once.  What "
	    "it made is removed after (with versioning the versions stay); "
	    "nothing else is touched.\n\n"
	    "Shown are tasks per second, percentiles of the latency, the "
	    "requests per task by class, and what these cost for a million "
	    "tasks at the list prices of AWS.",
};
