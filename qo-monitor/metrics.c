#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "metrics.h"
#include "prom.h"
#include "s3.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

/* S3 Standard, us-east-1, dollars for one request. */
#define COST_WRITE (0.005 / 1000) /* PUT, LIST and the like */
#define COST_READ  (0.0004 / 1000)

struct counter {
	const char *name;
	unsigned counter;
	const char *help;
};

static const struct counter plain[] = {
	{ "qo_claims_total", BOARD_CLAIMED, "Tasks claimed." },
	{ "qo_claim_conflicts_total", BOARD_CLAIM_CONFLICTS,
	    "Claims that another worker won." },
	{ "qo_lease_renewals_total", BOARD_RENEWED, "Leases renewed." },
	{ "qo_leases_reclaimed_total", BOARD_RECLAIMED,
	    "Tasks given back because their lease had run out." },
	{ "qo_tasks_recovered_total", BOARD_RECOVERED,
	    "Tasks given back because their process had died." },
	{ "qo_index_orphans_total", BOARD_ORPHANS,
	    "Stray index entries removed." },
	{ "qo_index_repairs_total", BOARD_INDEX_REPAIRS,
	    "Index entries that were missing: 0 unless there is a bug." },
	{ "qo_tasks_retired_total", BOARD_RETIRED,
	    "Finished tasks removed by retention." },
	{ "qo_schedule_runs_total", BOARD_SCHEDULED,
	    "Runs of schedules submitted." },
	{ "qo_restarts_total", BOARD_RESTARTS,
	    "Processes started again after they died." },
	{ "qo_s3_retries_total", BOARD_S3_RETRIES,
	    "Requests to the store sent again." },
};

static void
add_counters(struct buf *b, const struct board_sum *s)
{
	size_t i;

	for (i = 0; i < nitems(plain); i++) {
		prom_family(b, plain[i].name, "counter", plain[i].help);
		prom_count(b, plain[i].name, s->counters[plain[i].counter],
		    NULL);
	}
}

/* Handlers */

static void
add_outcomes(struct buf *b, const struct board_handler *h)
{
	size_t i;

	for (i = 0; i < BOARD_ENDS; i++)
		prom_count(b, "qo_tasks_total", h->ends[i], "handler", h->name,
		    "type", h->type, "outcome",
		    board_counter_name(BOARD_COMPLETED + i), NULL);
}

static void
add_histogram(struct buf *b, const struct board_handler *h)
{
	uint64_t n = 0;
	char le[32];
	size_t i;

	for (i = 0; i < BOARD_STEPS; i++) {
		n += h->steps[i];
		if (board_step_ms(i) == INT64_MAX)
			snprintf(le, sizeof(le), "+Inf");
		else
			snprintf(le, sizeof(le), "%g",
			    (double)board_step_ms(i) / 1000);
		prom_count(b, "qo_handler_seconds_bucket", n, "handler",
		    h->name, "type", h->type, "le", le, NULL);
	}
	prom_number(b, "qo_handler_seconds_sum", (double)h->sum_ms / 1000,
	    "handler", h->name, "type", h->type, NULL);
	prom_count(b, "qo_handler_seconds_count", n, "handler", h->name, "type",
	    h->type, NULL);
}

static void
add_handlers(struct buf *b, const struct board_sum *s)
{
	size_t i;

	if (s->nhandlers == 0)
		return;
	prom_family(b, "qo_tasks_total", "counter",
	    "Attempts by what became of the task.");
	for (i = 0; i < s->nhandlers; i++)
		add_outcomes(b, &s->handlers[i]);
	prom_family(b, "qo_handler_seconds", "histogram",
	    "How long handlers ran.");
	for (i = 0; i < s->nhandlers; i++)
		add_histogram(b, &s->handlers[i]);
}

/* The store */

double
metrics_cost(const uint64_t *counters)
{
	const uint64_t *ops = counters + BOARD_S3_OPS;
	double cost = 0;
	unsigned i;

	for (i = 0; i < QO_S3_OPS; i++) {
		switch ((enum qo_s3_op)i) {
		case QO_S3_GET:
		case QO_S3_HEAD:
		case QO_S3_BUCKET_HEAD:
		case QO_S3_VERSIONING_GET:
		case QO_S3_LIFECYCLE_GET:
			cost += (double)ops[i] * COST_READ;
			break;
		case QO_S3_PUT:
		case QO_S3_LIST:
		case QO_S3_LIST_VERSIONS:
		case QO_S3_BUCKET_CREATE:
		case QO_S3_VERSIONING_PUT:
		case QO_S3_CORS_PUT:
		case QO_S3_LIFECYCLE_PUT:
			cost += (double)ops[i] * COST_WRITE;
			break;
		case QO_S3_DELETE: /* these are free */
		case QO_S3_DELETE_MANY:
		case QO_S3_BUCKET_DELETE:
		case QO_S3_OPS:
			break;
		}
	}
	return cost;
}

/* "GET" and "not found" as label values: "get", "not_found". */
static const char *
word(const char *s, char out[32])
{
	size_t i;

	for (i = 0; i < 31 && s[i] != '\0'; i++)
		out[i] = isalnum((unsigned char)s[i])
		    ? (char)tolower((unsigned char)s[i])
		    : '_';
	out[i] = '\0';
	return out;
}

/* Most kinds never end in most ways: no lines for that. */
static void
add_s3_outcomes(struct buf *b, const uint64_t *counters, unsigned op)
{
	char kind[32], w[32];
	uint64_t n;
	unsigned i;

	word(qo_s3_op_name((enum qo_s3_op)op), kind);
	for (i = 0; i < QO_S3_OUTCOMES; i++) {
		n = counters[BOARD_S3_ENDED(op, i)];
		if (n == 0 && i != QO_S3_OK)
			continue;
		word(qo_s3_outcome_name((enum qo_s3_outcome)i), w);
		prom_count(b, "qo_s3_outcomes_total", n, "op", kind, "outcome",
		    w, NULL);
	}
}

static void
add_store(struct buf *b, const struct metrics *m)
{
	const uint64_t *c = m->sum->counters;
	char w[32];
	unsigned i;

	prom_family(b, "qo_s3_requests_total", "counter",
	    "Requests sent to the store, by kind; each time it was sent.");
	for (i = 0; i < QO_S3_OPS; i++)
		prom_count(b, "qo_s3_requests_total", c[BOARD_S3_OPS + i], "op",
		    word(qo_s3_op_name((enum qo_s3_op)i), w), NULL);
	prom_family(b, "qo_s3_outcomes_total", "counter",
	    "Requests that ended, by kind and outcome; each once, however "
	    "often it was sent.");
	for (i = 0; i < QO_S3_OPS; i++)
		add_s3_outcomes(b, c, i);
	prom_family(b, "qo_s3_cost_dollars_total", "counter",
	    "What these requests cost at Amazon's list prices: an estimate.");
	prom_number(b, "qo_s3_cost_dollars_total", metrics_cost(c), NULL);
	prom_family(b, "qo_store_up", "gauge",
	    "1 when the store answered the monitor's last request.");
	prom_count(b, "qo_store_up", m->store_up ? 1 : 0, NULL);
}

/* What goes up and down */

static void
add_gauge(struct buf *b, const char *name, const char *help, int64_t value)
{
	if (value < 0)
		return; /* not known */
	prom_family(b, name, "gauge", help);
	prom_count(b, name, (uint64_t)value, NULL);
}

static void
add_queue(struct buf *b, const int64_t *g)
{
	int64_t oldest = g[BOARD_OLDEST_READY_MS];

	add_gauge(b, "qo_ready_tasks", "Tasks that are due and not claimed.",
	    g[BOARD_READY_TASKS]);
	if (g[BOARD_READY_TASKS] >= 0) {
		prom_family(b, "qo_oldest_ready_seconds", "gauge",
		    "How long the oldest of them has been due, at most.");
		prom_number(b, "qo_oldest_ready_seconds",
		    oldest < 0 ? 0 : (double)oldest / 1000, NULL);
	}
	add_gauge(b, "qo_lease_entries",
	    "Leases of all hosts, as far as they were listed.",
	    g[BOARD_LEASES]);
	add_gauge(b, "qo_failed_tasks", "Tasks in the dead-letter state.",
	    g[BOARD_FAILED_TASKS]);
	prom_family(b, "qo_workers", "gauge",
	    "Worker processes of all hosts, by when they were last heard of.");
	prom_count(b, "qo_workers", (uint64_t)g[BOARD_WORKERS], "state",
	    "alive", NULL);
	prom_count(b, "qo_workers", (uint64_t)g[BOARD_WORKERS_STALE], "state",
	    "stale", NULL);
}

static void
add_processes(struct buf *b, const struct board_sum *s)
{
	int role, state;

	prom_family(b, "qo_processes", "gauge", "Processes of this qod.");
	for (role = BOARD_STORE; role < BOARD_ROLES; role++)
		for (state = 0; state < BOARD_STATES; state++)
			prom_count(b, "qo_processes", s->processes[role][state],
			    "role", board_role_name((enum board_role)role),
			    "state", board_state_name((enum board_state)state),
			    NULL);
	add_gauge(b, "qo_running_tasks", "Tasks that run on this host.",
	    s->running);
	add_gauge(b, "qo_slots", "Tasks that may run at once on this host.",
	    s->slots);
	prom_family(b, "qo_clock_skew_seconds", "gauge",
	    "How far the local clock is ahead of the store's; 0: within "
	    "[s3] max_skew.");
	prom_number(b, "qo_clock_skew_seconds", (double)s->skew_ms / 1000,
	    NULL);
}

void
metrics_add(struct buf *b, const struct metrics *m)
{
	prom_family(b, "qo_build_info", "gauge", "The version of qo.");
	prom_count(b, "qo_build_info", 1, "version", QO_VERSION, NULL);
	add_counters(b, m->sum);
	add_handlers(b, m->sum);
	add_store(b, m);
	add_queue(b, m->self->gauges);
	add_processes(b, m->sum);
}
