#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "child.h"
#include "command.h"
#include "generation.h"
#include "log.h"
#include "notify.h"
#include "reload.h"
#include "roles.h"
#include "supervise.h"
#include "upgrade.h"

#define PATIENCE_MS 30000 /* for the next generation to be ready */
#define APART_MS    1000  /* between the beginnings of two reloads */
/* Old processes that still drain, for each that is wanted: beyond, the next
 * reload waits. */
#define DRAINING_MAX 4

static void
on_timer(struct loop_timer *t)
{
	qod_changed(t->arg);
}

void
reload_tell(const struct qod *q)
{
	const struct reload_result *r = &q->reload;

	if (!q->announced)
		return;
	if (r->any && !r->ok)
		notify_send("READY=1\nSTATUS=The last reload failed: %s",
		    r->text);
	else
		notify_send("READY=1\nSTATUS=Ready, generation %d, %d workers",
		    q->gen->number,
		    roles_find("worker")->count(q, q->gen->conf));
}

static void
finish(struct qod *q, bool ok, const char *text)
{
	struct reload_result *r = &q->reload;

	loop_timer_del(q->loop, &q->reload_timer);
	q->phase = RELOAD_IDLE;
	q->replace_store = false;
	generation_unref(q->previous);
	q->previous = NULL;
	r->any = true;
	r->ok = ok;
	r->at_ms = qo_wall_local().us / QO_US_PER_MS;
	r->took_ms = qo_mono_diff_us(q->reload_began, qo_mono_now()) /
	    QO_US_PER_MS;
	strlcpy(r->text, text, sizeof(r->text));
	if (ok)
		log_event(LOG_LVL_INFO, "reloaded", "generation",
		    LOG_NUM(q->gen->number), "ms", LOG_NUM(r->took_ms), NULL);
	else
		log_event(LOG_LVL_ERROR,
		    "reload failed, the old configuration goes on",
		    "generation", LOG_NUM(q->gen->number), "error", text, NULL);
	if (!q->stopping)
		reload_tell(q);
	command_reloaded(q);
	if (q->upgrade_after && !q->stopping)
		upgrade_checked(q, 0);
	qod_changed(q);
}

/* The next generation is not to be. */
static void
give_up(struct qod *q, const char *why)
{
	struct generation *gen = q->next;
	struct child *c, *next;

	q->next = NULL;
	for (c = TAILQ_FIRST(&q->children); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (c->gen != gen || !c->role->overlaps)
			continue;
		c->retired = true;
		if (child_is_live(c))
			child_now(c);
		else
			child_free(c);
	}
	generation_unref(gen);
	finish(q, false, why);
}

static void
begin(struct qod *q)
{
	struct check k = { .log = true, .start = true };
	struct qo_err err = { 0 };
	struct account account;
	struct conf *conf;

	notify_reloading();
	q->reload_again = false;
	q->reload_began = qo_mono_now();
	conf = check_load(&k, q->file, &account);
	if (conf == NULL) {
		finish(q, false, k.first);
		return;
	}
	if (check_change(&k, q->gen->conf, conf))
		q->next = generation_new(q->last_generation + 1, conf, &account,
		    &err);
	if (q->next == NULL) {
		account_fini(&account);
		conf_free(conf);
		finish(q, false, k.errors > 0 ? k.first : err.msg);
		return;
	}
	q->last_generation++;
	q->phase = RELOAD_STARTING;
	loop_timer_set_ms(q->loop, &q->reload_timer, PATIENCE_MS, on_timer, q);
	supervise_fill(q, q->next);
}

/* How many processes drain, and how many may. */
static bool
too_many_drain(const struct qod *q)
{
	const struct child *c;
	size_t draining = 0, wanted = 0;

	TAILQ_FOREACH (c, &q->children, entry) {
		if (c->retired)
			draining++;
		else
			wanted++;
	}
	return draining > wanted * DRAINING_MAX;
}

static void
begin_again(struct qod *q)
{
	int64_t since;

	since = qo_mono_diff_us(q->reload_began, qo_mono_now()) / QO_US_PER_MS;
	if (q->reload.any && since < APART_MS) {
		loop_timer_set_ms(q->loop, &q->reload_timer, APART_MS - since,
		    on_timer, q);
		return;
	}
	/* The end of one of them comes back here. */
	if (!too_many_drain(q))
		begin(q);
}

void
qod_reload(struct qod *q)
{
	if (q->stopping)
		return;
	q->reload_again = true;
	qod_changed(q);
}

/* Nothing of the generation in force works. */
static bool
none_ready(const struct qod *q)
{
	const struct child *c;

	TAILQ_FOREACH (c, &q->children, entry)
		if (c->role->overlaps && c->gen == q->gen &&
		    c->state == CHILD_READY)
			return false;
	return true;
}

static void
apply(struct qod *q)
{
	const struct conf_qod *c = &q->gen->conf->qod;

	if (log_init("qod", c->log, (enum log_format)c->log_format,
		q->verbose ? LOG_LVL_DEBUG : (enum log_level)c->log_level) ==
	    -1)
		log_warn("log %s: the old one stays", c->log);
	q->quiet = false;
}

static void
replace_store(struct qod *q)
{
	struct child *c;

	q->phase = RELOAD_STORE;
	loop_timer_set_ms(q->loop, &q->reload_timer,
	    PATIENCE_MS + q->gen->conf->qod.drain_timeout_ms, on_timer, q);
	TAILQ_FOREACH (c, &q->children, entry) {
		if (c->role->kind != BOARD_STORE || c->retired)
			continue;
		child_set_generation(c, q->gen);
		if (child_is_live(c))
			child_drain(c, q->gen->conf->qod.drain_timeout_ms);
		else
			child_start(c);
	}
}

/* From now on the next generation is the one. */
static void
take_over(struct qod *q)
{
	struct child *c, *next;
	bool store;

	q->previous = q->gen;
	q->gen = q->next;
	q->next = NULL;
	for (c = TAILQ_FIRST(&q->children); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (c->role->overlaps && c->gen != q->gen && !c->retired)
			child_retire(c);
	}
	apply(q);
	store = q->gen->conf->store.enabled &&
	    (q->replace_store ||
		check_store_differs(q->previous->conf, q->gen->conf));
	if (store)
		replace_store(q);
	else
		finish(q, true, "");
}

/* How far the next generation is; *failed is the first that never will be. */
static bool
next_ready(const struct qod *q, const struct child **failed)
{
	const struct child *c;
	bool ready = true;

	*failed = NULL;
	TAILQ_FOREACH (c, &q->children, entry) {
		if (c->gen != q->next || c->retired)
			continue;
		if (c->state != CHILD_READY)
			ready = false;
		if (c->state == CHILD_FAILED && *failed == NULL)
			*failed = c;
	}
	return ready;
}

static void
wait_for_next(struct qod *q)
{
	const struct child *c;
	char name[CHILD_NAME], why[256];
	bool ready;

	ready = next_ready(q, &c);
	if (c != NULL) {
		snprintf(why, sizeof(why), "%s %s", child_name(c, name),
		    c->why);
		give_up(q, why);
	} else if (ready) {
		take_over(q);
	} else if (!loop_timer_is_set(&q->reload_timer)) {
		if (none_ready(q)) /* nothing to lose */
			take_over(q);
		else
			give_up(q, "the new processes are not ready in time");
	}
}

static struct child *
find_store(const struct qod *q)
{
	struct child *c;

	TAILQ_FOREACH (c, &q->children, entry)
		if (c->role->kind == BOARD_STORE && !c->retired)
			return c;
	return NULL;
}

static void
wait_for_store(struct qod *q)
{
	struct child *c = find_store(q);

	if (c == NULL || c->state == CHILD_READY) {
		finish(q, true, "");
	} else if (c->state == CHILD_FAILED && c->gen == q->gen &&
	    q->previous != NULL) {
		log_errorx("the store goes on with the old configuration");
		child_set_generation(c, q->previous);
		child_start(c);
		finish(q, false, "the store does not start with it");
	} else if (!loop_timer_is_set(&q->reload_timer)) {
		finish(q, false, "the store is not ready in time");
	}
}

void
reload_go_on(struct qod *q)
{
	switch (q->phase) {
	case RELOAD_IDLE:
		if (q->reload_again)
			begin_again(q);
		break;
	case RELOAD_STARTING:
		wait_for_next(q);
		break;
	case RELOAD_STORE:
		wait_for_store(q);
		break;
	}
}

void
reload_replace_all(struct qod *q)
{
	q->replace_store = true;
	qod_reload(q);
}

void
reload_abandon(struct qod *q)
{
	q->reload_again = false;
	if (q->phase == RELOAD_STARTING)
		give_up(q, "qod is stopping");
	else if (q->phase == RELOAD_STORE)
		finish(q, false, "qod is stopping");
}
