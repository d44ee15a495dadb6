/* From candidates to jobs, and what becomes of them. */
#include <string.h>

#include "log.h"
#include "worker_int.h"

/* With all slots in use more candidates are looked for only when slots become
 * free all the time. */
#define TURNOVER_MS 200
/* What becomes due later than this is left to the poll. */
#define WAIT_MAX_MS 120000

/* The poll */

static bool
may_claim(const struct worker *w)
{
	return !w->quiet && !w->draining && !gate_paused(&w->gate, NULL);
}

enum poll_hunger
dispatch_hungry(void *arg)
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

void
dispatch_found(void *arg)
{
	dispatch(arg);
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

void
dispatch_handler_free(void *arg, const struct conf_handler *h)
{
	struct worker *w = arg;

	ahead_freed(w->ahead, h);
	entries_unpark(w->entries, h);
	dispatch(w);
}

/* Candidates to jobs */

static void
on_due(struct loop_timer *t)
{
	dispatch(t->arg);
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
	worker_check_end(w);
}

void
dispatch(struct worker *w)
{
	loop_defer(w->loop, &w->fill, on_fill, w);
}

void
dispatch_unpark(struct worker *w)
{
	size_t i;

	for (i = 0; i < w->conf->nhandlers; i++)
		if (entries_unpark(w->entries, &w->conf->handlers[i]))
			dispatch(w);
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
	/* A list may have been faster: then it is a candidate already. */
	if (next != NULL && !w->draining && !entries_has(w->entries, next) &&
	    shards_of(&w->shards, next->id) != SHARDS_NOBODYS)
		wait_for(w, next, t->available_at);
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
			entries_absent(w->entries, e, job_tries(j), now);
		else
			entries_done(w->entries, e, now);
		return;
	case JOB_ABSENT:
		entries_absent(w->entries, e, job_tries(j), now);
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

void
dispatch_ended(struct job *j, enum job_end how, void *arg)
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
	dispatch(w);
}

void
dispatch_held(struct job *j, void *arg)
{
	struct worker *w = arg;

	(void)j;
	w->held++;
	board_gauge(w->role->area, BOARD_RUNNING, (int64_t)w->held);
	heartbeat_changed(&w->heartbeat);
	bell_kick(w->bell);
}

bool
dispatch_paused(const char *task_type, void *arg)
{
	struct worker *w = arg;

	return gate_paused(&w->gate, task_type);
}
