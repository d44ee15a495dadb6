#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bell.h"
#include "entries.h"
#include "gate.h"
#include "heartbeat.h"
#include "job.h"
#include "log.h"
#include "poll.h"
#include "shards.h"
#include "worker.h"
#include "worker_id.h"
#include "xalloc.h"

#define TICK_MS 1000
/* Candidates that are kept at hand: enough for the slots while the next page
 * is on its way, few enough not to be stale when they are taken. */
#define LOW_MIN 64
#define LOW_PER 4
#define PAGE    1000
/* An entry of another process's shard is left to that process for so long:
 * it has been claimed, and deleted with the next batch, by then. */
#define GRACE_MS 750
/* With all slots in use more candidates are looked for only when slots become
 * free all the time. */
#define TURNOVER_MS 200
/* An entry may be there before its task: submit writes it first. */
#define ABSENT_TRIES  9
#define ABSENT_MIN_MS 1
/* What becomes due later than this is left to the poll. */
#define WAIT_MAX_MS 120000
/* After the last moment of a drain: for requests that hang. */
#define ABANDON_MS 8000

static_assert(QO_S3_OPS <= BOARD_S3_OUTCOMES - BOARD_S3_OPS &&
	QO_S3_OUTCOMES <= BOARD_COUNTERS - BOARD_S3_OUTCOMES,
    "the board has no room for all kinds of requests");

struct worker {
	struct role *role;
	struct loop *loop;
	const struct conf *conf;
	struct qo_s3 *s3;
	struct qo_queue *q;
	char id[QO_NAME_MAX + 1], host[QO_NAME_MAX + 1];

	struct shards shards;
	struct gate gate;
	struct handlers *handlers;
	struct ahead *ahead;
	struct entries *entries;
	struct poll *poll;
	struct bell *bell;
	struct heartbeat heartbeat;
	struct buf shards_text, tasks_text;
	struct qo_wall started_at;

	struct jobs jobs;
	struct job **slots; /* made when first used */
	size_t nslots, busy, held;
	size_t *unused; /* numbers of free slots, a stack */
	bool only_serve;
	size_t guess; /* the handler that was used last */
	struct qo_mono freed_at;
	uint64_t completed, failed;

	bool quiet, draining, ending;
	bool limited; /* the time of the drain is over */
	size_t abandoned;
	unsigned leaving; /* what must be done before the end */
	struct loop_task fill;
	struct loop_timer due, tick, limit;
};

static void check_end(struct worker *w);
static void want_fill(struct worker *w);

/* The poll */

static bool
may_claim(const struct worker *w)
{
	return !w->quiet && !w->draining && !gate_paused(&w->gate, NULL);
}

static enum poll_hunger
on_hungry(void *arg)
{
	struct worker *w = arg;
	bool turns = qo_mono_diff_us(w->freed_at, loop_now(w->loop)) <
	    TURNOVER_MS * QO_US_PER_MS;

	if (!may_claim(w) || (w->busy == w->nslots && !turns))
		return POLL_SATED;
	if (w->shards.ntheirs > 0 && w->busy < w->nslots &&
	    entries_total(w->entries) == 0)
		return POLL_HELPS;
	return POLL_HUNGRY;
}

static void
on_found(void *arg)
{
	want_fill(arg);
}

/* Handlers */

/* The type of a candidate is known only when its task was read; when all
 * handlers are long-lived processes and all of them are busy, there is no
 * need to read any. */
static bool
reserve_any(struct worker *w, const struct conf_handler **out)
{
	const struct conf_handler *h;
	size_t i, k, n = w->conf->nhandlers;

	*out = NULL;
	if (!w->only_serve)
		return true;
	for (i = 0; i < n; i++) {
		k = (w->guess + i) % n;
		h = &w->conf->handlers[k];
		if (ahead_quick(w->ahead, h)
			? ahead_begin(w->ahead, h)
			: handlers_reserve(w->handlers, h)) {
			*out = h;
			return true;
		}
	}
	return false;
}

static void
unreserve(struct worker *w, const struct conf_handler *h)
{
	if (h != NULL && ahead_quick(w->ahead, h))
		ahead_end(w->ahead, h);
	else if (h != NULL)
		handlers_unreserve(w->handlers, h);
}

static void
on_handler_free(void *arg, const struct conf_handler *h)
{
	struct worker *w = arg;

	ahead_freed(w->ahead, h);
	entries_unpark(w->entries, h);
	want_fill(w);
}

/* Candidates to jobs */

static void
on_due(struct loop_timer *t)
{
	want_fill(t->arg);
}

static void
set_due_timer(struct worker *w)
{
	struct qo_mono at;

	if (entries_next(w->entries, &at) && may_claim(w) &&
	    w->busy < w->nslots)
		loop_timer_set(w->loop, &w->due, at, on_due, w);
	else
		loop_timer_del(w->loop, &w->due);
}

static bool
start_one(struct worker *w)
{
	const struct conf_handler *h;
	struct qo_entry entry;
	unsigned tries;
	size_t slot;

	if (w->busy == w->nslots || !reserve_any(w, &h))
		return false;
	if (!entries_take(w->entries, qo_mono_now(), &entry, &tries)) {
		unreserve(w, h);
		return false;
	}
	slot = w->unused[w->nslots - ++w->busy];
	if (w->slots[slot] == NULL)
		w->slots[slot] = job_new(&w->jobs, slot);
	job_start(w->slots[slot], &entry, tries, h);
	return true;
}

static void
on_fill(struct loop_task *t)
{
	struct worker *w = t->arg;

	while (may_claim(w) && start_one(w))
		continue;
	set_due_timer(w);
	if (!w->draining)
		poll_kick(w->poll);
	check_end(w);
}

static void
want_fill(struct worker *w)
{
	loop_defer(w->loop, &w->fill, on_fill, w);
}

/* Jobs' ends */

static struct qo_mono
mono_of(const struct worker *w, struct qo_wall t)
{
	struct qo_mono now = qo_mono_now();

	/* One more, so that it is due by any rounding. */
	now.us += t.us - qo_queue_now(w->q).us + QO_US_PER_MS;
	return now;
}

static void
wait_for(struct worker *w, const struct qo_entry *e, struct qo_wall due)
{
	struct qo_mono at = mono_of(w, due), now = qo_mono_now();

	if (qo_mono_diff_us(now, at) < WAIT_MAX_MS * QO_US_PER_MS)
		entries_wait(w->entries, e, 0, at);
	else
		entries_later(w->entries, e, SEEN_ERROR, now);
}

/* A task that is ready again because of us is claimed without a list. */
static void
committed(struct worker *w, const struct job *j)
{
	const struct qo_task *t = job_task(j);
	const struct qo_entry *next = job_next_entry(j);

	w->completed += t->status == QO_STATUS_COMPLETED;
	w->failed += t->status == QO_STATUS_FAILED;
	if (next != NULL && !w->draining &&
	    shards_of(&w->shards, next->id) != SHARDS_NOBODYS)
		wait_for(w, next, t->available_at);
}

static void
absent(struct worker *w, const struct job *j, struct qo_mono now)
{
	unsigned tries = job_tries(j);

	if (tries >= ABSENT_TRIES)
		entries_later(w->entries, job_entry(j), SEEN_ABSENT, now);
	else
		entries_wait(w->entries, job_entry(j), tries + 1,
		    qo_mono_add_ms(now, ABSENT_MIN_MS << tries));
}

/* A retry or a replay under way: its task will follow the entry (R1). */
static bool
is_ahead(const struct job *j)
{
	const struct qo_task *t = job_task(j);

	return t->rev > 0 && t->generation < job_entry(j)->generation;
}

static void
failed(struct worker *w, const struct job *j, struct qo_mono now)
{
	log_event(LOG_LVL_WARN, "a task could not be claimed", "task",
	    job_entry(j)->id, "error", job_err(j)->msg, NULL);
	entries_later(w->entries, job_entry(j), SEEN_ERROR, now);
}

static void
put_away(struct worker *w, const struct job *j, enum job_end how)
{
	const struct qo_entry *e = job_entry(j);
	struct qo_mono now = qo_mono_now();

	switch (how) {
	case JOB_COMMITTED:
		committed(w, j);
		/* FALLTHROUGH */
	case JOB_DROPPED:
	case JOB_SETTLED:
		entries_done(w->entries, e, now);
		return;
	case JOB_TAKEN:
		if (is_ahead(j))
			absent(w, j, now);
		else
			entries_done(w->entries, e, now);
		return;
	case JOB_ABSENT:
		absent(w, j, now);
		return;
	case JOB_NOT_DUE:
		wait_for(w, e, job_task(j)->available_at);
		return;
	case JOB_UNKNOWN_TYPE:
		entries_later(w->entries, e, SEEN_UNKNOWN_TYPE, now);
		return;
	case JOB_PAUSED:
		entries_later(w->entries, e, SEEN_PAUSED, now);
		return;
	case JOB_BUSY:
		entries_park(w->entries, e, job_handler(j), now);
		return;
	case JOB_ERROR:
		failed(w, j, now);
		return;
	}
}

static void
on_job_ended(struct job *j, enum job_end how, void *arg)
{
	struct worker *w = arg;
	const struct conf_handler *h = job_handler(j);
	size_t slot = job_slot(j);

	put_away(w, j, how);
	if (h != NULL && how <= JOB_DROPPED) {
		w->guess = (size_t)(h - w->conf->handlers);
		entries_unpark(w->entries, h);
	}
	if (how <= JOB_DROPPED) {
		w->held--;
		board_gauge(w->role->area, BOARD_RUNNING, (int64_t)w->held);
		heartbeat_changed(&w->heartbeat);
	}
	w->unused[w->nslots - w->busy--] = slot;
	w->freed_at = loop_now(w->loop);
	want_fill(w);
}

static void
on_job_held(struct job *j, void *arg)
{
	struct worker *w = arg;

	(void)j;
	w->held++;
	board_gauge(w->role->area, BOARD_RUNNING, (int64_t)w->held);
	heartbeat_changed(&w->heartbeat);
	bell_kick(w->bell);
}

static bool
on_paused(const char *task_type, void *arg)
{
	struct worker *w = arg;

	return gate_paused(&w->gate, task_type);
}

/* Bell and gate */

static bool
on_busy(void *arg)
{
	return ((struct worker *)arg)->held > 0;
}

static void
on_rang(const char *id, void *arg)
{
	struct worker *w = arg;
	bool ours = false;
	size_t i;

	for (i = 0; i < w->nslots; i++) {
		if (w->slots[i] != NULL && job_busy(w->slots[i]) &&
		    strcmp(job_entry(w->slots[i])->id, id) == 0) {
			job_look(w->slots[i]);
			ours = true;
		}
	}
	if (!ours)
		gate_look(&w->gate);
}

static void
on_gate(void *arg)
{
	struct worker *w = arg;

	entries_resume(w->entries);
	if (!w->draining)
		poll_now(w->poll);
	want_fill(w);
}

/* What others are told */

static void
add_tasks(struct worker *w, struct qo_worker_record *r)
{
	const struct job *oldest = NULL, *j;
	size_t i;

	buf_reset(&w->tasks_text);
	buf_addc(&w->tasks_text, '[');
	for (i = 0; i < w->nslots; i++) {
		if ((j = w->slots[i]) == NULL || !job_held(j))
			continue;
		buf_addf(&w->tasks_text, "%s\"%s\"",
		    w->tasks_text.len > 1 ? "," : "", job_entry(j)->id);
		if (oldest == NULL || job_since(j).us < job_since(oldest).us)
			oldest = j;
	}
	buf_addc(&w->tasks_text, ']');
	r->current_tasks = (struct qo_json){ w->tasks_text.data,
		w->tasks_text.len };
	r->current_task = oldest != NULL ? job_entry(oldest)->id : NULL;
}

static void
on_heartbeat(struct qo_worker_record *r, void *arg)
{
	struct worker *w = arg;

	r->host = w->host;
	r->pid = getpid();
	r->version = QO_VERSION;
	r->started_at = w->started_at;
	r->shards = (struct qo_json){ w->shards_text.data, w->shards_text.len };
	r->slots = (int64_t)w->nslots;
	r->tasks_completed = (int64_t)w->completed;
	r->tasks_failed = (int64_t)w->failed;
	add_tasks(w, r);
}

static void
show_counters(struct worker *w)
{
	const struct qo_s3_stats *st = qo_s3_stats(w->s3);
	struct board_area *a = w->role->area;
	unsigned i;

	for (i = 0; i < QO_S3_OPS; i++)
		board_set_counter(a, BOARD_S3_OPS + i, st->requests[i]);
	for (i = 0; i < QO_S3_OUTCOMES; i++)
		board_set_counter(a, BOARD_S3_OUTCOMES + i, st->outcomes[i]);
	board_set_counter(a, BOARD_S3_RETRIES, st->retries);
	board_gauge(a, BOARD_SKEW_MS, qo_s3_skew_ms(w->s3));
}

static void
on_tick(struct loop_timer *t)
{
	struct worker *w = t->arg;

	role_title(w->role, "%zu running, %llu done", w->held,
	    (unsigned long long)(w->completed + w->failed));
	show_counters(w);
	loop_timer_set_ms(w->loop, &w->tick, TICK_MS, on_tick, w);
}

/* The end */

/* What it did and what that cost. */
static void
report(const struct worker *w)
{
	const struct qo_s3_stats *st = qo_s3_stats(w->s3);

	log_info("ended: %llu completed, %llu failed, with %llu PUT, %llu GET, "
		 "%llu LIST, %llu DELETE",
	    (unsigned long long)w->completed, (unsigned long long)w->failed,
	    (unsigned long long)st->requests[QO_S3_PUT],
	    (unsigned long long)st->requests[QO_S3_GET],
	    (unsigned long long)st->requests[QO_S3_LIST],
	    (unsigned long long)(st->requests[QO_S3_DELETE] +
		st->requests[QO_S3_DELETE_MANY]));
}

static void
on_left(void *arg)
{
	struct worker *w = arg;

	if (--w->leaving > 0)
		return;
	report(w);
	loop_stop(w->loop);
}

static void
check_end(struct worker *w)
{
	if (!w->draining || w->busy > 0 || w->ending)
		return;
	w->ending = true;
	bell_stop(w->bell);
	w->leaving = 3;
	heartbeat_remove(&w->heartbeat, on_left, w);
	qo_deleter_flush(w->q->deleter, on_left, w);
	handlers_stop(w->handlers, on_left, w);
}

static void
on_abandon(struct loop_timer *t)
{
	struct worker *w = t->arg;

	w->abandoned = w->busy;
	if (w->busy > 0)
		log_warnx("%zu tasks are left to their leases: the store does "
			  "not answer",
		    w->busy);
	loop_stop(w->loop);
}

static void
give_back(struct worker *w, bool now)
{
	int64_t grace = 0;
	size_t i;

	for (i = 0; i < w->conf->nhandlers && !now; i++)
		if (w->conf->handlers[i].grace_ms > grace)
			grace = w->conf->handlers[i].grace_ms;
	w->limited = true;
	loop_timer_set_ms(w->loop, &w->limit, grace + ABANDON_MS, on_abandon,
	    w);
	if (w->held > 0)
		log_info("%zu tasks still run: stopping and requeueing them",
		    w->held);
	for (i = 0; i < w->nslots; i++)
		if (w->slots[i] != NULL)
			job_give_back(w->slots[i], now);
}

static void
on_limit(struct loop_timer *t)
{
	give_back(t->arg, false);
}

static void
stop_claiming(struct worker *w)
{
	if (!w->draining)
		log_info("draining: %zu tasks run", w->held);
	w->draining = w->jobs.draining = true;
	poll_stop(w->poll);
	loop_timer_del(w->loop, &w->due);
	want_fill(w);
}

void
worker_drain(struct worker *w, int64_t limit_ms)
{
	struct qo_mono end = qo_mono_add_ms(qo_mono_now(), limit_ms);

	stop_claiming(w);
	if (limit_ms < 0 || w->limited ||
	    (loop_timer_is_set(&w->limit) && w->limit.due.us <= end.us))
		return;
	loop_timer_set(w->loop, &w->limit, end, on_limit, w);
}

void
worker_now(struct worker *w)
{
	stop_claiming(w);
	give_back(w, true);
}

void
worker_quiet(struct worker *w, bool on)
{
	w->quiet = on;
	log_info("%s", on ? "claims nothing for now" : "claims again");
	if (w->draining)
		return;
	if (on)
		poll_stop(w->poll);
	else
		poll_start(w->poll);
	want_fill(w);
}

size_t
worker_abandoned(const struct worker *w)
{
	return w->abandoned;
}

/* The beginning */

static void
make_parts(struct worker *w, const char *config_path)
{
	size_t low = w->nslots * LOW_PER > LOW_MIN ? w->nslots * LOW_PER
						   : LOW_MIN;
	struct poll_conf pc = { w->loop, w->q, NULL, &w->shards, low,
		w->conf->worker.poll_min_ms, w->conf->worker.poll_max_ms,
		GRACE_MS, on_hungry, on_found, w };
	struct bell_conf bc = { w->loop, w->q, w->id,
		w->conf->worker.poll_max_ms, on_busy, on_rang, w };

	w->handlers = handlers_new(w->loop, w->conf, config_path,
	    w->role->area);
	handlers_on_free(w->handlers, on_handler_free, w);
	w->ahead = ahead_new(w->handlers, w->conf, job_go);
	w->entries = entries_new(low + PAGE, qo_mono_now());
	pc.entries = w->entries;
	w->poll = poll_new(&pc);
	w->bell = bell_new(&bc);
	heartbeat_init(&w->heartbeat, w->q, w->id, w->conf->worker.heartbeat_ms,
	    w->conf->monitor.worker_stale_ms);
	w->heartbeat.fill = on_heartbeat;
	w->heartbeat.arg = w;
	buf_init(&w->tasks_text, QO_WORKER_LEN_MAX);
	buf_init(&w->shards_text, 4096);
	shards_add_json(&w->shards, &w->shards_text);
}

static void
make_slots(struct worker *w)
{
	struct jobs host = { w->loop, w->q, w->conf, w->handlers, w->ahead,
		w->role->area, w->id, false, on_paused, on_job_held,
		on_job_ended, w };
	size_t i;

	w->jobs = host;
	w->slots = xcalloc(w->nslots, sizeof(*w->slots));
	w->unused = xcalloc(w->nslots, sizeof(*w->unused));
	for (i = 0; i < w->nslots; i++)
		w->unused[i] = w->nslots - 1 - i;
	w->only_serve = w->conf->nhandlers > 0;
	for (i = 0; i < w->conf->nhandlers; i++)
		if (w->conf->handlers[i].mode != CONF_MODE_SERVE)
			w->only_serve = false;
}

struct worker *
worker_new(struct role *role, struct qo_s3 *s3, struct qo_queue *q,
    struct qo_control *control, const char *config_path, struct qo_err *err)
{
	struct worker *w = xcalloc(1, sizeof(*w));

	w->role = role;
	w->loop = role->loop;
	w->conf = role->conf;
	w->s3 = s3;
	w->q = q;
	w->nslots = (size_t)w->conf->worker.slots;
	if (shards_init(&w->shards, w->conf->worker.shards,
		(int)control->shard_width, role->index, role->of, err) == -1) {
		free(w);
		return NULL;
	}
	worker_id_make(w->conf->worker.id, role->index, role->of, w->id,
	    w->host);
	w->started_at = qo_queue_now(q);
	gate_init(&w->gate, q, control, on_gate, w);
	make_parts(w, config_path);
	make_slots(w);
	board_set_name(role->area, w->id);
	return w;
}

void
worker_free(struct worker *w)
{
	size_t i;

	if (w == NULL)
		return;
	loop_defer_del(w->loop, &w->fill);
	loop_timer_del(w->loop, &w->due);
	loop_timer_del(w->loop, &w->tick);
	loop_timer_del(w->loop, &w->limit);
	poll_free(w->poll);
	bell_free(w->bell);
	heartbeat_fini(&w->heartbeat);
	gate_fini(&w->gate);
	for (i = 0; i < w->nslots; i++)
		job_free(w->slots[i]);
	ahead_free(w->ahead);
	handlers_free(w->handlers);
	entries_free(w->entries);
	buf_fini(&w->tasks_text);
	buf_fini(&w->shards_text);
	free(w->slots);
	free(w->unused);
	qo_queue_free(w->q);
	qo_s3_free(w->s3);
	free(w);
}

void
worker_start(struct worker *w)
{
	log_event(LOG_LVL_INFO, "claiming tasks", "worker", w->id, "shards",
	    w->shards_text.data, NULL);
	heartbeat_start(&w->heartbeat);
	bell_start(w->bell);
	if (!w->quiet)
		poll_start(w->poll);
	on_tick(&(struct loop_timer){ .arg = w });
}
