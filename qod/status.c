#include <unistd.h>

#include "board_sum.h"
#include "child.h"
#include "jsonout.h"
#include "s3.h"
#include "status.h"

static const char *const gauge_names[BOARD_GAUGES] = {
	[BOARD_RUNNING] = "running",
	[BOARD_SKEW_MS] = "skew_ms",
	[BOARD_READY_TASKS] = "ready_tasks",
	[BOARD_OLDEST_READY_MS] = "oldest_ready_ms",
	[BOARD_LEASES] = "leases",
	[BOARD_FAILED_TASKS] = "failed_tasks",
	[BOARD_WORKERS] = "workers",
	[BOARD_WORKERS_STALE] = "workers_stale",
};

static void
add_null(struct buf *b, const char *name)
{
	out_json_raw(b, name, &(struct qo_json){ NULL, 0 });
}

static void
add_ms(struct buf *b, const char *name, int64_t wall_ms)
{
	struct qo_wall t = QO_WALL_NONE;

	if (wall_ms > 0)
		t.us = wall_ms * QO_US_PER_MS;
	out_json_time(b, name, t);
}

/* What the board has of a process */

/* Requests of all kinds. */
static int64_t
ended_so(const struct board_info *info, size_t outcome)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < QO_S3_OPS; i++)
		n += info->counters[BOARD_S3_ENDED(i, outcome)];
	return (int64_t)n;
}

static void
add_counters(struct buf *b, const struct board_info *info)
{
	int64_t n;
	size_t i;

	out_json_open(b, "counters", '{');
	for (i = 0; i < BOARD_S3_OPS; i++)
		if (board_counter_name(i) != NULL && info->counters[i] > 0)
			out_json_int(b, board_counter_name(i),
			    (int64_t)info->counters[i]);
	out_json_close(b, '}');
	out_json_open(b, "s3_requests", '{');
	for (i = 0; i < QO_S3_OPS; i++)
		if (info->counters[BOARD_S3_OPS + i] > 0)
			out_json_int(b, qo_s3_op_name((enum qo_s3_op)i),
			    (int64_t)info->counters[BOARD_S3_OPS + i]);
	out_json_close(b, '}');
	out_json_open(b, "s3_outcomes", '{');
	for (i = 0; i < QO_S3_OUTCOMES; i++)
		if ((n = ended_so(info, i)) > 0)
			out_json_int(b,
			    qo_s3_outcome_name((enum qo_s3_outcome)i), n);
	out_json_close(b, '}');
}

/* Those of one role alone mean nothing for the others. */
static bool
has_gauge(enum board_role role, size_t gauge)
{
	if (gauge_names[gauge] == NULL)
		return false;
	if (gauge == BOARD_SKEW_MS)
		return role != BOARD_STORE;
	return gauge == BOARD_RUNNING ? role == BOARD_WORKER
				      : role == BOARD_MONITOR;
}

static void
add_gauges(struct buf *b, const struct board_info *info)
{
	size_t i;

	out_json_open(b, "gauges", '{');
	for (i = 0; i < BOARD_GAUGES; i++)
		if (has_gauge(info->role, i))
			out_json_int(b, gauge_names[i], info->gauges[i]);
	out_json_close(b, '}');
}

static void
add_task(struct buf *b, const struct board_task *t)
{
	out_json_open(b, NULL, '{');
	out_json_str(b, "id", t->task_id);
	out_json_str(b, "type", t->type);
	out_json_int(b, "attempt", t->attempt);
	add_ms(b, "since", t->started_ms);
	out_json_str(b, "lease_id", t->lease_id);
	out_json_int(b, "handler_pid", t->handler);
	out_json_close(b, '}');
}

struct budget {
	size_t tasks, omitted;
};

static void
add_tasks(struct buf *b, const struct board_area *area,
    const struct board_info *info, struct budget *budget)
{
	struct board_task t;
	size_t i;

	out_json_open(b, "tasks", '[');
	for (i = 0; i < info->nslots; i++) {
		if (!board_slot_read(area, i, &t))
			continue;
		if (budget->tasks == STATUS_TASKS_MAX) {
			budget->omitted++;
			continue;
		}
		budget->tasks++;
		add_task(b, &t);
	}
	out_json_close(b, ']');
}

static void
add_area(struct buf *b, const struct board_area *area, struct budget *budget)
{
	struct board_info info;

	board_read(area, &info);
	out_json_str(b, "name", info.name[0] != '\0' ? info.name : NULL);
	out_json_int(b, "slots", (int64_t)info.nslots);
	add_counters(b, &info);
	add_gauges(b, &info);
	add_tasks(b, area, &info, budget);
}

/* Children */

static void
add_when(struct buf *b, const struct child *c)
{
	struct qo_mono now = qo_mono_now();
	int64_t ms;

	if (child_is_live(c))
		out_json_int(b, "uptime_ms",
		    qo_mono_diff_us(c->started, now) / QO_US_PER_MS);
	else
		add_null(b, "uptime_ms");
	if (c->state != CHILD_DOWN || !loop_timer_is_set(&c->timer)) {
		add_null(b, "next_restart_ms");
		return;
	}
	ms = qo_mono_diff_us(now, c->timer.due) / QO_US_PER_MS;
	out_json_int(b, "next_restart_ms", ms > 0 ? ms : 0);
}

static void
add_child(struct buf *b, const struct child *c, struct budget *budget)
{
	const struct board_area *area;

	out_json_open(b, NULL, '{');
	out_json_str(b, "role", c->role->name);
	out_json_int(b, "index", c->index);
	if (child_is_live(c))
		out_json_int(b, "pid", c->pid);
	else
		add_null(b, "pid");
	out_json_str(b, "state", child_state_name(c->state));
	out_json_int(b, "generation",
	    child_is_live(c) ? c->generation : c->gen->number);
	add_when(b, c);
	out_json_int(b, "restarts", c->restarts);
	out_json_str(b, "last_exit", c->why[0] != '\0' ? c->why : NULL);
	out_json_str(b, "note", c->note[0] != '\0' ? c->note : NULL);
	area = c->area != -1 ? board_at(c->q->board, c->area) : NULL;
	if (area != NULL && child_is_live(c))
		add_area(b, area, budget);
	out_json_close(b, '}');
}

/* Handlers */

static int64_t
ends(const struct board_handler *h, enum board_counter how)
{
	return (int64_t)h->ends[how - BOARD_COMPLETED];
}

static void
add_handler(struct buf *b, const struct board_handler *h)
{
	uint64_t runs = 0;
	size_t i;

	for (i = 0; i < BOARD_STEPS; i++)
		runs += h->steps[i];
	out_json_open(b, NULL, '{');
	out_json_str(b, "name", h->name);
	out_json_str(b, "type", h->type);
	out_json_int(b, "completed", ends(h, BOARD_COMPLETED));
	out_json_int(b, "retried", ends(h, BOARD_RETRIED));
	out_json_int(b, "failed", ends(h, BOARD_FAILED));
	out_json_int(b, "cancelled", ends(h, BOARD_CANCELLED));
	out_json_int(b, "other",
	    ends(h, BOARD_RESCHEDULED) + ends(h, BOARD_REQUEUED) +
		ends(h, BOARD_EXPIRED) + ends(h, BOARD_LOST));
	out_json_int(b, "runs", (int64_t)runs);
	out_json_double(b, "seconds", (double)h->sum_ms / 1000);
	out_json_close(b, '}');
}

static void
add_handlers(struct buf *b, struct board *board)
{
	struct board_sum sum;
	size_t i;

	board_sum(board, NULL, &sum);
	out_json_open(b, "handlers", '[');
	for (i = 0; i < sum.nhandlers && i < STATUS_HANDLERS_MAX; i++)
		add_handler(b, &sum.handlers[i]);
	out_json_close(b, ']');
	board_sum_fini(&sum);
}

/* The whole */

const char *
status_state(const struct qod *q)
{
	if (q->stopping)
		return "stopping";
	if (!q->announced)
		return "starting";
	if (q->phase != RELOAD_IDLE)
		return "reloading";
	return q->quiet ? "quiet" : "running";
}

static void
add_reload(struct buf *b, const struct reload_result *r)
{
	if (!r->any) {
		add_null(b, "last_reload");
		return;
	}
	out_json_open(b, "last_reload", '{');
	add_ms(b, "at", r->at_ms);
	out_json_bool(b, "ok", r->ok);
	out_json_int(b, "took_ms", r->took_ms);
	out_json_str(b, "message", r->text[0] != '\0' ? r->text : NULL);
	out_json_close(b, '}');
}

void
status_add(const struct qod *q, struct buf *b)
{
	struct budget budget = { 0, 0 };
	const struct child *c;

	out_json_open(b, NULL, '{');
	out_json_bool(b, "ok", true);
	out_json_str(b, "version", QO_VERSION);
	out_json_int(b, "pid", getpid());
	out_json_time(b, "started_at", q->started);
	out_json_int(b, "uptime_ms",
	    (qo_wall_local().us - q->started.us) / QO_US_PER_MS);
	out_json_str(b, "state", status_state(q));
	out_json_str(b, "config", q->file);
	out_json_int(b, "generation", q->gen->number);
	add_reload(b, &q->reload);
	out_json_int(b, "lost", (int64_t)q->nlost);
	out_json_open(b, "children", '[');
	TAILQ_FOREACH (c, &q->children, entry)
		add_child(b, c, &budget);
	out_json_close(b, ']');
	add_handlers(b, q->board);
	out_json_int(b, "tasks_omitted", (int64_t)budget.omitted);
	out_json_close(b, '}');
}
