#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes.h"
#include "log.h"
#include "poll.h"
#include "xalloc.h"

#define HOLD_S 30
/* After a store would not hold a list. */
#define NO_HOLD_MS 30000
/* A page that brings fewer than this is not worth the next one at once: under
 * a steady load lists stay far below the number of tasks. */
#define PAGE_WORTH 20
#define PACE_MS    10
/* While another priority has plenty to do, an empty one is looked at so
 * often. */
static const int64_t look_ms[ENTRIES_CLASSES] = { 50, 100, 400 };

#define NEVER ((struct qo_mono){ INT64_MAX })

struct poll {
	struct poll_conf c;
	struct lanes *lanes;
	bool on, failing;
	struct qo_s3_req page, watch; /* the second is held by the store */
	struct lanes_ask page_ask, watch_ask;
	char wait[64];
	struct qo_mono due[ENTRIES_CLASSES]; /* when to list it */
	bool idle[ENTRIES_CLASSES];          /* was found empty */
	int64_t seq[ENTRIES_CLASSES];        /* x-qo-seq of that; -1 */
	struct qo_mono watch_at, watched_at, no_hold_until;
	unsigned turn;
	int64_t backoff_ms, pace_ms;
	int64_t future;           /* a minute that has entries; INT64_MAX */
	struct qo_mono relook_at; /* others' entries were left alone */
	struct loop_timer timer;
};

static void step(struct poll *p);

static void
all_due(struct poll *p, struct qo_mono at)
{
	size_t i;

	for (i = 0; i < ENTRIES_CLASSES; i++) {
		p->due[i] = at;
		p->idle[i] = false;
	}
}

static bool
all_idle(const struct poll *p)
{
	size_t i;

	for (i = 0; i < ENTRIES_CLASSES; i++)
		if (!p->idle[i])
			return false;
	return true;
}

static struct qo_mono
earlier(struct qo_mono a, struct qo_mono b)
{
	return a.us < b.us ? a : b;
}

/* The oldest of the numbers from which on new keys are of interest; -1: the
 * store does not hold lists. */
static int64_t
since(const struct poll *p)
{
	int64_t n = INT64_MAX;
	size_t i;

	for (i = 0; i < ENTRIES_CLASSES; i++)
		if (p->seq[i] < n)
			n = p->seq[i];
	return n;
}

static bool
can_hold(const struct poll *p, struct qo_mono now)
{
	return since(p) >= 0 && now.us >= p->no_hold_until.us;
}

bool
poll_is_held(const struct poll *p)
{
	return since(p) >= 0;
}

/* When to ask next */

static int64_t
back_off(struct poll *p)
{
	int64_t ms = p->backoff_ms;

	p->backoff_ms = ms * 2 < p->c.poll_max_ms ? ms * 2 : p->c.poll_max_ms;
	return ms;
}

static void
has_work(struct poll *p)
{
	p->backoff_ms = p->c.poll_min_ms;
	p->pace_ms = PACE_MS;
}

static int64_t
pace(struct poll *p, size_t taken, bool held)
{
	int64_t ms = p->pace_ms;

	if (taken >= PAGE_WORTH)
		return 0;
	if (!held)
		return taken > 0 ? p->c.poll_min_ms : back_off(p);
	if (taken > 0)
		return PACE_MS * (PAGE_WORTH - (int64_t)taken) / PAGE_WORTH;
	p->pace_ms = ms * 2 < p->c.poll_min_ms ? ms * 2 : p->c.poll_min_ms;
	return ms;
}

/* The round over a priority (-1: all) is complete. */
static void
round_ended(struct poll *p, const struct lanes_ask *ask,
    const struct lanes_found *found, int64_t seq, struct qo_mono now)
{
	bool held = seq >= 0 && now.us >= p->no_hold_until.us;
	struct qo_mono next = qo_mono_add_ms(now, pace(p, found->round, held));
	size_t i;

	for (i = 0; i < ENTRIES_CLASSES; i++) {
		if (ask->index >= 0 && (size_t)ask->index != i)
			continue;
		p->seq[i] = seq;
		/* A page that was all there is: the store is asked to say
		 * what comes after it. */
		p->idle[i] = found->round == 0 || (held && ask->lane < 0);
		p->due[i] = next;
	}
	p->watch_at = next;
	/* Others have plenty to do: no reason to wait longer and longer. */
	if (ask->index >= 0 && p->idle[ask->index] && !all_idle(p))
		p->due[ask->index] = qo_mono_add_ms(now, look_ms[ask->index]);
}

static void
digest(struct poll *p, const struct lanes_ask *ask, const struct qo_s3_res *res)
{
	struct qo_mono now = loop_now(p->c.loop);
	struct lanes_offer offer = { p->c.entries,
		p->c.hungry(p->c.arg) == POLL_HELPS, p->c.grace_ms,
		qo_minute(qo_queue_now(p->c.q)), now };
	struct lanes_found found;

	lanes_page(p->lanes, ask, res->list, &offer, &found);
	if (ask->lane < 0)
		p->future = INT64_MAX;
	if (found.future < p->future)
		p->future = found.future;
	if (found.waits > 0)
		p->relook_at = earlier(p->relook_at,
		    qo_mono_add_ms(now, p->c.grace_ms));
	if (found.taken > 0)
		has_work(p);
	if (found.whole)
		round_ended(p, ask, &found, res->seq, now);
	else if (ask->index < 0)
		all_due(p, now);
	else
		p->due[ask->index] = now;
	if (found.taken > 0)
		p->c.found(p->c.arg);
}

/* Answers */

static void
works(struct poll *p)
{
	if (p->failing)
		log_info("the store answers again");
	p->failing = false;
}

static void
fails(struct poll *p, const struct qo_s3_res *res)
{
	if (!p->failing)
		log_event(LOG_LVL_WARN, "can not look for tasks", "error",
		    res->err.msg, NULL);
	p->failing = true;
	all_due(p, qo_mono_add_ms(loop_now(p->c.loop), back_off(p)));
}

static void
on_page(struct qo_s3_req *r)
{
	struct poll *p = r->arg;

	if (r->res.outcome == QO_S3_OK) {
		works(p);
		digest(p, &p->page_ask, &r->res);
	} else {
		fails(p, &r->res);
	}
	step(p);
}

/* Answered early although nothing is new: a store that drains. */
static bool
in_vain(const struct poll *p, const struct qo_s3_res *res, int64_t before)
{
	return res->seq <= before &&
	    qo_mono_diff_us(p->watched_at, loop_now(p->c.loop)) < QO_US_PER_SEC;
}

static void
on_watch(struct qo_s3_req *r)
{
	struct poll *p = r->arg;
	int64_t before = since(p);

	if (r->res.outcome != QO_S3_OK) {
		p->no_hold_until = qo_mono_add_ms(loop_now(p->c.loop),
		    NO_HOLD_MS);
		fails(p, &r->res);
		step(p);
		return;
	}
	works(p);
	if (p->watch_ask.max_keys > 1 && lanes_small(p->lanes))
		digest(p, &p->watch_ask, &r->res);
	else
		all_due(p, loop_now(p->c.loop));
	if (in_vain(p, &r->res, before))
		p->watch_at = qo_mono_add_ms(loop_now(p->c.loop), back_off(p));
	step(p);
}

/* Requests */

static void
send_list(struct poll *p, struct qo_s3_req *r, const struct lanes_ask *ask,
    void (*done)(struct qo_s3_req *r))
{
	qo_s3_req_fini(r);
	qo_s3_req_init(r, QO_S3_LIST, p->c.q->index_bucket, NULL);
	r->prefix = ask->prefix;
	r->start_after = ask->start_after[0] != '\0' ? ask->start_after : NULL;
	r->max_keys = ask->max_keys;
	r->done = done;
	r->arg = p;
	if (r == &p->watch) {
		r->wait = p->wait;
		r->wait_ms = HOLD_S * 1000;
		r->max_attempts = 1;
	}
	qo_s3_send(p->c.q->s3, r);
}

static void
send_watch(struct poll *p, struct qo_mono now)
{
	lanes_next(p->lanes, -1, false, now, &p->watch_ask);
	if (!lanes_small(p->lanes))
		p->watch_ask.max_keys = 1; /* only to be woken */
	snprintf(p->wait, sizeof(p->wait), "%d; since=%lld", HOLD_S,
	    (long long)since(p));
	p->watched_at = now;
	send_list(p, &p->watch, &p->watch_ask, on_watch);
}

/* Turns */

enum {
	PICK_ALL = -1,
	PICK_NONE = -2
};

static bool
wanted(const struct poll *p, size_t i)
{
	return entries_count(p->c.entries, (enum qo_index)i) < p->c.low;
}

/* The high priority first; but one that always has more to list does not
 * keep the others from being listed. */
static int
pick(struct poll *p, struct qo_mono now)
{
	size_t i, k, first;

	if (all_idle(p) && can_hold(p, now))
		return PICK_NONE; /* the store will say */
	first = p->turn % 16 == 15 ? 2 : p->turn % 4 == 3 ? 1 : 0;
	for (i = 0; i < ENTRIES_CLASSES; i++) {
		k = (first + i) % ENTRIES_CLASSES;
		if (p->due[k].us <= now.us && wanted(p, k)) {
			p->turn++;
			return lanes_small(p->lanes) ? PICK_ALL : (int)k;
		}
	}
	return PICK_NONE;
}

static struct qo_mono
minute_at(const struct poll *p, int64_t minute, struct qo_mono now)
{
	now.us += minute * 60 * QO_US_PER_SEC - qo_queue_now(p->c.q).us;
	return now;
}

static void
on_timer(struct loop_timer *t)
{
	struct poll *p = t->arg;
	struct qo_mono now = loop_now(p->c.loop);

	if (p->relook_at.us <= now.us ||
	    (p->future != INT64_MAX &&
		minute_at(p, p->future, now).us <= now.us)) {
		p->relook_at = NEVER;
		p->future = INT64_MAX;
		all_due(p, now);
	}
	step(p);
}

static void
set_timer(struct poll *p, struct qo_mono now)
{
	struct qo_mono at = p->relook_at;
	size_t i;

	if (p->future != INT64_MAX)
		at = earlier(at, minute_at(p, p->future, now));
	if (!(all_idle(p) && can_hold(p, now))) {
		for (i = 0; i < ENTRIES_CLASSES; i++)
			if (wanted(p, i))
				at = earlier(at, p->due[i]);
	} else if (p->watch.flight == NULL) {
		at = earlier(at, p->watch_at);
	}
	if (at.us != INT64_MAX)
		loop_timer_set(p->c.loop, &p->timer, at, on_timer, p);
	else
		loop_timer_del(p->c.loop, &p->timer);
}

static void
step(struct poll *p)
{
	struct qo_mono now = loop_now(p->c.loop);
	enum poll_hunger hunger;
	int index;

	if (!p->on || p->page.flight != NULL)
		return;
	if ((hunger = p->c.hungry(p->c.arg)) == POLL_SATED) {
		loop_timer_del(p->c.loop, &p->timer);
		return;
	}
	if ((index = pick(p, now)) != PICK_NONE) {
		lanes_next(p->lanes, index, hunger == POLL_HELPS, now,
		    &p->page_ask);
		send_list(p, &p->page, &p->page_ask, on_page);
		return;
	}
	if (all_idle(p) && can_hold(p, now) && p->watch.flight == NULL &&
	    p->watch_at.us <= now.us)
		send_watch(p, now);
	set_timer(p, now);
}

/* Interface */

struct poll *
poll_new(const struct poll_conf *conf)
{
	struct poll *p = xcalloc(1, sizeof(*p));
	size_t i;

	p->c = *conf;
	p->lanes = lanes_new(&conf->q->layout, conf->shards);
	qo_s3_req_init(&p->page, QO_S3_LIST, NULL, NULL);
	qo_s3_req_init(&p->watch, QO_S3_LIST, NULL, NULL);
	for (i = 0; i < ENTRIES_CLASSES; i++)
		p->seq[i] = -1;
	p->relook_at = NEVER;
	p->future = INT64_MAX;
	has_work(p);
	return p;
}

void
poll_free(struct poll *p)
{
	if (p == NULL)
		return;
	poll_stop(p);
	qo_s3_req_fini(&p->page);
	qo_s3_req_fini(&p->watch);
	lanes_free(p->lanes);
	free(p);
}

void
poll_start(struct poll *p)
{
	p->on = true;
	poll_now(p);
}

void
poll_stop(struct poll *p)
{
	p->on = false;
	qo_s3_cancel(&p->page);
	qo_s3_cancel(&p->watch);
	loop_timer_del(p->c.loop, &p->timer);
}

void
poll_kick(struct poll *p)
{
	step(p);
}

void
poll_now(struct poll *p)
{
	has_work(p);
	all_due(p, loop_now(p->c.loop));
	step(p);
}
