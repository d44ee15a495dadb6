#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "app.h"
#include "attach.h"
#include "board_rows.h"
#include "board_s3.h"
#include "endpoint.h"
#include "log.h"
#include "monitor.h"
#include "passes.h"
#include "recover.h"
#include "retention.h"
#include "schedules.h"
#include "workers.h"
#include "xalloc.h"

#define COUNT_MS 1000

struct app {
	struct role *role;
	struct monitor m;
	struct health health;
	struct qo_s3 *s3;
	struct qo_control control;
	struct recover *recover;
	struct endpoint *endpoint; /* NULL: not wanted */
	/* while the queue is open */
	struct passes *passes;
	struct workers *workers;
	struct retention *retention; /* NULL: off */
	struct schedules *schedules;
	struct loop_timer count, limit;
	bool stop;   /* asked to end */
	size_t busy; /* parts that have not ended since then */
	bool hurry;  /* without a last word */
	bool once;
	size_t left; /* of once: parts that are not through */
};

/* Counts */

static void
tell_title(struct app *a)
{
	struct board_info info;
	uint64_t given;

	board_read(a->m.area, &info);
	given = info.counters[BOARD_RECLAIMED] + info.counters[BOARD_RECOVERED];
	role_title(a->role, "%lld ready, %llu given back",
	    info.gauges[BOARD_READY_TASKS] < 0
		? 0LL
		: (long long)info.gauges[BOARD_READY_TASKS],
	    (unsigned long long)given);
}

static void
on_count(struct loop_timer *t)
{
	struct app *a = t->arg;

	board_s3_show(a->m.area, a->s3);
	tell_title(a);
	loop_timer_set_ms(a->m.loop, &a->count, COUNT_MS, on_count, a);
}

/* The end */

static void
end_if_idle(struct app *a)
{
	if (a->busy == 0 && recover_pending(a->recover) == 0)
		loop_stop(a->m.loop);
}

static void
on_recovered(void *arg)
{
	struct app *a = arg;

	if (a->stop)
		end_if_idle(a);
}

static void
on_stopped(void *arg)
{
	struct app *a = arg;

	a->busy--;
	end_if_idle(a);
}

static void
on_limit(struct loop_timer *t)
{
	struct app *a = t->arg;

	if (recover_pending(a->recover) > 0)
		log_warnx("the drain is over; %zu leases of dead processes "
			  "are left to run out",
		    recover_pending(a->recover));
	a->hurry = true;
	loop_stop(a->m.loop);
}

void
app_drain(struct role *r, int64_t limit_ms)
{
	struct app *a = r->arg;

	if (limit_ms >= 0 &&
	    (!loop_timer_is_set(&a->limit) ||
		qo_mono_add_ms(qo_mono_now(), limit_ms).us < a->limit.due.us))
		loop_timer_set_ms(a->m.loop, &a->limit, limit_ms, on_limit, a);
	if (a->stop)
		return;
	a->stop = true;
	if (a->endpoint != NULL)
		endpoint_drain(a->endpoint);
	if (a->passes == NULL)
		return;
	a->busy = 2;
	passes_stop(a->passes, on_stopped, a);
	schedules_stop(a->schedules, on_stopped, a);
}

void
app_now(struct role *r)
{
	struct app *a = r->arg;

	a->stop = a->hurry = true;
	loop_stop(a->m.loop);
}

/* Dead processes */

static void
on_settled(void *arg, const char *lease)
{
	struct app *a = arg;

	role_tell(a->role, "settled %s", lease);
}

bool
app_message(struct role *r, const char *verb, char *rest)
{
	struct app *a = r->arg;

	if (strcmp(verb, "lost") != 0)
		return false;
	if (recover_add(a->recover, rest) == -1)
		log_warnx("qod has lost something that is no task");
	return true;
}

/* Together */

struct app *
app_new(struct role *r)
{
	struct app *a = xcalloc(1, sizeof(*a));

	a->role = r;
	a->m.loop = r->loop;
	a->m.conf = &r->conf->monitor;
	a->m.all = r->conf;
	a->m.area = r->area;
	a->m.health = &a->health;
	board_rows_name(r->area, r->conf);
	a->recover = recover_new(&a->m, on_settled, a);
	recover_on_idle(a->recover, on_recovered, a);
	return a;
}

static void
on_part(void *arg)
{
	struct app *a = arg;

	if (--a->left == 0)
		loop_stop(a->m.loop);
}

static void
start_once(struct app *a)
{
	a->left = a->retention != NULL ? 4 : 3;
	passes_once(a->passes, on_part, a);
	workers_once(a->workers, on_part, a);
	schedules_once(a->schedules, on_part, a);
	if (a->retention != NULL)
		retention_once(a->retention, on_part, a);
}

static void
start_all(struct app *a)
{
	passes_start(a->passes);
	workers_start(a->workers);
	schedules_start(a->schedules);
	if (a->retention != NULL)
		retention_start(a->retention);
}

static void
start(struct app *a)
{
	struct role *r = a->role;

	a->health.open = true;
	a->health.answered = qo_mono_now();
	a->passes = passes_new(&a->m);
	a->workers = workers_new(&a->m);
	a->schedules = schedules_new(&a->m, &r->conf->submit);
	a->m.holds = schedules_hold;
	a->m.holds_arg = a->schedules;
	if (a->m.conf->retention_ms != 0)
		a->retention = retention_new(&a->m, NULL);
	on_count(&(struct loop_timer){ .arg = a });
	if (a->once)
		start_once(a);
	else
		start_all(a);
	recover_start(a->recover);
	role_ready(r);
}

/* The role may still call: what is gone is not pointed to. */
static void
finish(struct app *a)
{
	passes_free(a->passes);
	a->passes = NULL;
	workers_free(a->workers);
	a->workers = NULL;
	retention_free(a->retention);
	a->retention = NULL;
	schedules_free(a->schedules);
	a->schedules = NULL;
	/* What is not deleted now is found again. */
	if (!a->hurry)
		qo_queue_flush(a->m.q);
	board_s3_show(a->m.area, a->s3);
}

/* Before the store is reached: /healthz and /readyz tell of that.  The first
 * monitor of a qod finds the port free or never will; one that replaces
 * another waits until that has let go of it. */
static int
open_endpoint(struct app *a)
{
	struct role *r = a->role;
	struct qo_err err = { 0 };

	if (a->once || a->m.conf->listen == NULL)
		return 0;
	a->endpoint = endpoint_new(&a->m, r->board,
	    r->supervised && r->generation > 1, &err);
	if (a->endpoint != NULL)
		return 0;
	log_errorx("[monitor] listen: %s", err.msg);
	return -1;
}

int
app_run(struct app *a, bool once)
{
	struct role *r = a->role;
	struct qo_err err = { 0 };
	enum qo_rc rc;

	a->once = once;
	if (open_endpoint(a) == -1)
		return EX_CONFIG;
	rc = qo_attach_wait(a->m.loop, r->conf, true, &a->stop, &a->s3,
	    &a->control, &a->m.q, &err);
	if (rc == QO_AGAIN)
		return EX_OK;
	if (rc != QO_OK) {
		log_errorx("%s", err.msg);
		return EX_CONFIG;
	}
	if (a->stop)
		return EX_OK;
	start(a);
	loop_run(a->m.loop);
	finish(a);
	return once && a->health.failing ? EXIT_FAILURE : EX_OK;
}

void
app_free(struct app *a)
{
	loop_timer_del(a->m.loop, &a->count);
	loop_timer_del(a->m.loop, &a->limit);
	endpoint_free(a->endpoint);
	recover_free(a->recover);
	if (a->m.q != NULL) {
		qo_control_fini(&a->control);
		qo_queue_free(a->m.q);
	}
	qo_s3_free(a->s3);
	free(a);
}
