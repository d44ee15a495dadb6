#include <string.h>

#include "log.h"
#include "stop.h"

#define QUIET_MS 3000
#define LOOK_MS  250
#define STILL_MS 1000
#define MORE_MS  15000 /* than drain_timeout, for all of it */
#define LAST_MS  1000  /* of that for the requests under way */

void
stop_init(struct stop *s, struct role *role, int64_t drain_ms)
{
	memset(s, 0, sizeof(*s));
	s->role = role;
	s->drain_ms = drain_ms;
}

static void
on_end(struct loop_timer *t)
{
	struct stop *s = t->arg;

	log_warnx("not all requests ended in time");
	loop_stop(s->role->loop);
}

static void
end_by(struct stop *s, int64_t ms)
{
	struct qo_mono due;

	due = qo_mono_add_ms(qo_mono_now(), ms);
	if (!loop_timer_is_set(&s->end) || qo_mono_diff_us(due, s->end.due) > 0)
		loop_timer_set(s->role->loop, &s->end, due, on_end, s);
}

static void
on_drained(void *arg)
{
	struct stop *s = arg;

	loop_stop(s->role->loop);
}

void
stop_drain(struct stop *s, int64_t limit_ms)
{
	if (limit_ms >= 0)
		end_by(s, limit_ms);
	if (s->draining)
		return;
	s->draining = true;
	log_event(LOG_LVL_INFO, "draining", "connections",
	    LOG_NUM(httpd_connections(s->server->httpd)), NULL);
	server_drain(s->server, on_drained, s);
}

/* Nobody has asked for a while, and nobody is left who would. */
static bool
is_over(const struct stop *s, struct qo_mono now)
{
	struct qo_mono last = s->since;

	if (qo_mono_diff_us(last, s->server->asked_at) > 0)
		last = s->server->asked_at;
	return qo_mono_diff_us(last, now) >= QUIET_MS * QO_US_PER_MS &&
	    !role_has_siblings(s->role);
}

static void
on_look(struct loop_timer *t)
{
	struct stop *s = t->arg;
	struct qo_mono now = qo_mono_now();

	/* We stood still, and with us maybe all who would have asked. */
	if (qo_mono_diff_us(s->looked, now) > STILL_MS * QO_US_PER_MS)
		s->since = now;
	s->looked = now;
	if (is_over(s, now) ||
	    qo_mono_diff_us(now, s->end.due) <= LAST_MS * QO_US_PER_MS)
		stop_drain(s, -1);
	else
		loop_timer_set_ms(s->role->loop, t, LOOK_MS, on_look, s);
}

void
stop_orphaned(struct stop *s)
{
	s->since = s->looked = qo_mono_now();
	db_set_orphan(s->server->db);
	end_by(s, s->drain_ms + MORE_MS);
	if (!s->draining)
		loop_timer_set_ms(s->role->loop, &s->look, LOOK_MS, on_look, s);
}

void
stop_fini(struct stop *s)
{
	loop_timer_del(s->role->loop, &s->end);
	loop_timer_del(s->role->loop, &s->look);
}
