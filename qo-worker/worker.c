#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "worker_id.h"
#include "worker_int.h"
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
/* After the last moment of a drain: for requests that hang. */
#define ABANDON_MS 8000

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
	dispatch(w);
}

/* The end */

static void
on_left(void *arg)
{
	struct worker *w = arg;

	if (--w->leaving > 0)
		return;
	tell_end(w);
	loop_stop(w->loop);
}

void
worker_check_end(struct worker *w)
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
	dispatch(w);
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
	dispatch(w);
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
		GRACE_MS, dispatch_hungry, dispatch_found, w };
	struct bell_conf bc = { w->loop, w->q, w->id,
		w->conf->worker.poll_max_ms, on_busy, on_rang, w };

	w->handlers = handlers_new(w->loop, w->conf, config_path,
	    w->role->area);
	handlers_on_free(w->handlers, dispatch_handler_free, w);
	w->ahead = ahead_new(w->handlers, w->conf, job_go);
	w->entries = entries_new(low + PAGE, qo_mono_now());
	pc.entries = w->entries;
	w->poll = poll_new(&pc);
	w->bell = bell_new(&bc);
	heartbeat_init(&w->heartbeat, w->q, w->id, w->conf->worker.heartbeat_ms,
	    w->conf->monitor.worker_stale_ms);
	w->heartbeat.fill = tell_heartbeat;
	w->heartbeat.arg = w;
	buf_init(&w->tasks_text, QO_WORKER_LEN_MAX);
	buf_init(&w->shards_text, 4096);
	shards_add_json(&w->shards, &w->shards_text);
}

static void
make_slots(struct worker *w)
{
	struct jobs host = { w->loop, w->q, w->conf, w->handlers, w->ahead,
		w->role->area, w->id, false, dispatch_paused, dispatch_held,
		dispatch_ended, w };
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

static void
on_tick(struct loop_timer *t)
{
	struct worker *w = t->arg;

	tell(w);
	dispatch_unpark(w);
	loop_timer_set_ms(w->loop, &w->tick, TICK_MS, on_tick, w);
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
	w->tick.arg = w;
	on_tick(&w->tick);
}
