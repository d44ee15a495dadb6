#include <stdlib.h>
#include <string.h>

#include "book.h"
#include "log.h"
#include "rfc3339.h"
#include "schedule_fire.h"
#include "schedules.h"
#include "xalloc.h"

#define FIRES_MAX 32 /* at once */
/* What another has decided and not yet submitted is left to it so long. */
#define OTHERS_MS    2000
#define FAIL_MIN_MS  1000
#define FAIL_MAX_MS  60000
#define FAILURES_MAX 16

struct schedules {
	struct monitor *m;
	const struct conf_submit *submit;
	struct book book;
	struct loop_timer refresh, due;
	bool refreshing;
	size_t nfires;
	bool once, stopping;
	struct qo_wall until;   /* of once: what is due later is left alone */
	struct loop_task check; /* of stop: is all over? */
	void (*done)(void *arg);
	void *arg;
};

static void on_refresh(struct loop_timer *t);
static void fire_due(struct schedules *s);

/* The end */

static void
end_if_idle(struct schedules *s)
{
	void (*done)(void *arg) = s->done;

	if (s->refreshing || s->nfires > 0)
		return;
	s->done = NULL;
	if (done != NULL)
		done(s->arg);
}

/* When */

/* When to look at it again; INT64_MAX: not before it changes. */
static int64_t
wake_us(const struct book_entry *e)
{
	const struct qo_schedule *s = &e->s;

	if (!e->usable || e->settled || e->fire != NULL)
		return INT64_MAX;
	if (s->nfiring > 0)
		return s->updated_at.us + OTHERS_MS * QO_US_PER_MS;
	if (s->paused)
		return INT64_MAX;
	return qo_wall_is_set(s->next_due) ? s->next_due.us : INT64_MIN;
}

static void
on_due(struct loop_timer *t)
{
	fire_due(t->arg);
}

/* Sleeps until the first is due.  Server time may be corrected meanwhile;
 * the refresh comes here again. */
static void
sleep_until_due(struct schedules *s)
{
	int64_t now = qo_queue_now(s->m->q).us, first = INT64_MAX, wake;
	struct qo_mono mono = qo_mono_now();
	size_t i;

	loop_timer_del(s->m->loop, &s->due);
	if (s->once || s->stopping || s->nfires >= FIRES_MAX)
		return;
	for (i = 0; i < s->book.n; i++) {
		wake = wake_us(s->book.entries[i]);
		if (wake == INT64_MAX)
			continue;
		/* From now on, as the two clocks can not be compared. */
		wake = wake <= now ? 0 : wake - now;
		if (s->book.entries[i]->not_before.us - mono.us > wake)
			wake = s->book.entries[i]->not_before.us - mono.us;
		if (wake < first)
			first = wake;
	}
	if (first != INT64_MAX)
		loop_timer_set(s->m->loop, &s->due,
		    (struct qo_mono){ mono.us + first }, on_due, s);
}

/* Firing */

static void
report(const struct book_entry *e, const struct qo_fire *f)
{
	char due[QO_RFC3339_SIZE];

	if (f->decision == QO_DECISION_NONE && f->submitted == 0)
		return;
	qo_rfc3339_print(e->s.last_due, due);
	log_event(LOG_LVL_INFO, "schedule fired", "schedule", e->id, "due", due,
	    "decision",
	    f->decision == QO_DECISION_NONE ? "resumed"
					    : qo_decision_name(f->decision),
	    "submitted", LOG_NUM(f->submitted), NULL);
}

static void
back_off(struct book_entry *e, const struct qo_fire *f)
{
	int64_t ms = FAIL_MIN_MS;
	unsigned i;

	strlcpy(e->failed, e->listed, sizeof(e->failed));
	for (i = 0; i < e->failures && ms < FAIL_MAX_MS; i++)
		ms *= 2;
	if (ms > FAIL_MAX_MS)
		ms = FAIL_MAX_MS;
	e->not_before = qo_mono_add_ms(qo_mono_now(), ms);
	/* Once; a store that does not answer is told of by health. */
	if (e->failures == 0 && f->rc != QO_AGAIN)
		log_event(LOG_LVL_WARN, "a schedule could not be fired",
		    "schedule", e->id, "error", f->err.msg, NULL);
	if (e->failures < FAILURES_MAX)
		e->failures++;
}

/* The record goes back into the book; after a failure it is not certain what
 * is there, and the book reads it again. */
static void
take_back(struct book_entry *e, struct qo_fire *f)
{
	e->usable = f->change.loaded;
	e->etag[0] = '\0';
	if (!e->usable)
		return;
	e->s = f->change.s;
	strlcpy(e->etag, e->s.etag, sizeof(e->etag));
	qo_schedule_init(&f->change.s);
}

static void
on_fired(struct qo_fire *f)
{
	struct schedules *s = f->arg;
	struct book_entry *e = NULL;
	size_t i;

	for (i = 0; i < s->book.n; i++)
		if (s->book.entries[i]->fire == f)
			e = s->book.entries[i];
	if (e == NULL)
		qo_bug("schedules: a fire that is in no book");
	take_back(e, f);
	board_add(s->m->area, BOARD_SCHEDULED, f->submitted);
	if (f->rc != QO_ERR)
		health_note(s->m->health, f->rc == QO_NOENT ? QO_OK : f->rc,
		    &f->err, qo_mono_now());
	if (f->rc == QO_OK) {
		e->failures = 0;
		e->not_before.us = 0;
		e->settled = !qo_wall_is_set(e->s.next_due) &&
		    e->s.nfiring == 0;
		report(e, f);
	} else if (f->rc != QO_NOENT) {
		back_off(e, f);
	}
	e->fire = NULL;
	qo_fire_fini(f);
	free(f);
	s->nfires--;
	fire_due(s);
	if (s->once || s->stopping)
		end_if_idle(s);
}

static void
start_fire(struct schedules *s, struct book_entry *e)
{
	struct qo_fire *f = xcalloc(1, sizeof(*f));

	qo_fire_init(f, s->m->q, s->submit, e->id);
	qo_schedule_fini(&f->change.s);
	f->change.s = e->s;
	f->change.loaded = true;
	f->done = on_fired;
	f->arg = s;
	e->fire = f;
	s->nfires++;
	qo_fire_start(f);
}

static void
fire_due(struct schedules *s)
{
	struct qo_wall now = qo_queue_now(s->m->q);
	struct qo_mono mono = qo_mono_now();
	struct book_entry *e;
	size_t i;

	if (s->once)
		now = s->until;
	for (i = 0; i < s->book.n && !s->stopping; i++) {
		e = s->book.entries[i];
		if (s->nfires < FIRES_MAX && wake_us(e) <= now.us &&
		    e->not_before.us <= mono.us)
			start_fire(s, e);
	}
	sleep_until_due(s);
}

/* The book */

static void
on_book(struct book *b)
{
	struct schedules *s = b->arg;

	s->refreshing = false;
	health_note(s->m->health, b->rc, &b->err, qo_mono_now());
	if (s->stopping) {
		end_if_idle(s);
		return;
	}
	/* One that is due each second would be due again for ever. */
	s->until = qo_queue_now(s->m->q);
	fire_due(s);
	if (s->once)
		end_if_idle(s);
	else
		loop_timer_set_ms(s->m->loop, &s->refresh,
		    s->m->conf->check_interval_ms, on_refresh, s);
}

static void
on_refresh(struct loop_timer *t)
{
	struct schedules *s = t->arg;

	s->refreshing = true;
	book_refresh(&s->book);
}

/* Interface */

struct schedules *
schedules_new(struct monitor *m, const struct conf_submit *submit)
{
	struct schedules *s = xcalloc(1, sizeof(*s));

	s->m = m;
	s->submit = submit;
	book_init(&s->book, m);
	s->book.done = on_book;
	s->book.arg = s;
	return s;
}

void
schedules_free(struct schedules *s)
{
	struct book_entry *e;
	size_t i;

	if (s == NULL)
		return;
	loop_timer_del(s->m->loop, &s->refresh);
	loop_timer_del(s->m->loop, &s->due);
	loop_defer_del(s->m->loop, &s->check);
	for (i = 0; i < s->book.n; i++) {
		e = s->book.entries[i];
		if (e->fire == NULL)
			continue;
		e->usable = false; /* the record is the fire's */
		qo_fire_fini(e->fire);
		free(e->fire);
		e->fire = NULL;
	}
	book_fini(&s->book);
	free(s);
}

void
schedules_start(struct schedules *s)
{
	loop_timer_set_ms(s->m->loop, &s->refresh, 0, on_refresh, s);
}

void
schedules_once(struct schedules *s, void (*done)(void *arg), void *arg)
{
	s->once = true;
	s->done = done;
	s->arg = arg;
	schedules_start(s);
}

static void
on_check(struct loop_task *t)
{
	end_if_idle(t->arg);
}

void
schedules_stop(struct schedules *s, void (*done)(void *arg), void *arg)
{
	s->stopping = true;
	s->done = done;
	s->arg = arg;
	loop_timer_del(s->m->loop, &s->refresh);
	loop_timer_del(s->m->loop, &s->due);
	loop_defer(s->m->loop, &s->check, on_check, s);
}

bool
schedules_hold(void *s, const char *task_id)
{
	return book_holds(&((struct schedules *)s)->book, task_id);
}
