/*
 * tail: follows what happens to tasks.
 *
 * A task that moves changes its entry in the indexes, and one that ends
 * loses it.  So each round lists the indexes, compares them with the round
 * before, and reads the tasks that have a new entry or none any more.  A
 * store that can hold a LIST wakes us when an entry is made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"
#include "sig.h"
#include "taskview.h"
#include "xalloc.h"

#define ROUND_MS     500
#define ROUND_MAX_MS 10000
#define GATHER_MS    20
/* The entry is written before the task, a minute at most (R1, R3): how long a
 * task that does not fit its entry is read again, ever less often. */
#define SETTLE_US (70 * QO_US_PER_SEC)
#define STATE_LEN 4096

/* A task with an entry, as it was last seen. */
struct seen {
	struct qo_entry entry;
	enum qo_status status; /* QO_STATUS_NONE: not read yet */
	int64_t attempt, generation;
	bool cancel_requested;
	bool unsettled; /* does not fit its entry, or is not read yet */
	struct qo_mono since, again; /* of that, and when to look again */
};

struct tail {
	struct session *s;
	const char *type;
	enum out_format format;
	struct out_list out;
	struct qo_scan scan;
	struct seen *seen; /* sorted by id */
	size_t nseen;
	/* those to read, of this round and of the last */
	struct seen **ask;
	size_t nask;
	struct qo_fetch fetch;
	bool fetched, stop;
	enum exit_code code;
	struct loop_io sig_io;
};

static int
by_id(const void *pa, const void *pb)
{
	const struct seen *a = pa, *b = pb;

	return strcmp(a->entry.id, b->entry.id);
}

/* Printing */

static void
print_task(struct tail *tl, const struct qo_task *t, const char *text,
    size_t len)
{
	char time[TASKVIEW_TIME_SIZE];
	struct buf b;

	if (tl->type != NULL && strcmp(tl->type, t->task_type) != 0)
		return;
	if (tl->format != OUT_TEXT) {
		taskview_add_line(&tl->out, text, len);
		return;
	}
	buf_init(&b, STATE_LEN);
	taskview_add_state(&b, t, qo_queue_now(tl->s->q));
	out_text(OUT_DIM, "%s  ", taskview_time(t->updated_at, time));
	out_text(taskview_style(t->status), "%-9s", qo_status_name(t->status));
	out_text(OUT_PLAIN, "  %s  %s  ", t->id, t->task_type);
	if (t->status == QO_STATUS_RUNNING && t->worker_id != NULL)
		out_text(OUT_PLAIN, "%s, ", t->worker_id);
	out_text(OUT_PLAIN, "%s", b.data);
	out_raw("\n", 1);
	buf_fini(&b);
}

/* Does the task show what the entry announced? */
static bool
fits(const struct seen *e, const struct qo_task *t)
{
	if (t->generation != e->entry.generation)
		return t->generation > e->entry.generation;
	switch (e->entry.index) {
	case QO_INDEX_READY_HIGH:
	case QO_INDEX_READY:
	case QO_INDEX_READY_LOW:
		return true;
	case QO_INDEX_LEASES:
		return t->status != QO_STATUS_PENDING;
	case QO_INDEX_FAILED:
		return qo_status_terminal(t->status);
	}
	return true;
}

static void
look_at(struct tail *tl, struct seen *e, const struct qo_task *t,
    const char *text, size_t len)
{
	if (fits(e, t))
		e->unsettled = false;
	if (e->status == t->status && e->attempt == t->attempt &&
	    e->generation == t->generation &&
	    e->cancel_requested == t->cancel_requested)
		return;
	e->status = t->status;
	e->attempt = t->attempt;
	e->generation = t->generation;
	e->cancel_requested = t->cancel_requested;
	print_task(tl, t, text, len);
}

/* Reading what has moved */

static int
on_name(struct qo_fetch *f, size_t i, char key[QO_KEY_SIZE],
    const char **version)
{
	struct tail *tl = f->arg;

	(void)version;
	return qo_key_task(&tl->s->q->layout, tl->ask[i]->entry.id, key);
}

static bool
on_got(struct qo_fetch *f, size_t i, struct qo_s3_req *r)
{
	struct tail *tl = f->arg;
	struct seen *e = tl->ask[i];
	struct qo_task t;
	struct qo_err err;

	if (r->res.outcome == QO_S3_NOT_FOUND)
		return true;
	if (r->res.outcome != QO_S3_OK) {
		tl->code = session_fail(tl->s, qo_s3_outcome_rc(r->res.outcome),
		    &r->res.err);
		return false;
	}
	if (qo_scan_decode(&t, e->entry.id, r, &err) == -1) {
		e->unsettled = false;
		exit_say("%s: %s", r->key, err.msg);
		return true;
	}
	look_at(tl, e, &t, r->res.body.data, r->res.body.len);
	qo_task_fini(&t);
	return !tl->stop;
}

static void
on_fetched(struct qo_fetch *f)
{
	((struct tail *)f->arg)->fetched = true;
}

static void
read_moved(struct tail *tl)
{
	tl->fetched = false;
	tl->fetch.n = tl->nask;
	tl->fetch.response_max = QO_TASK_LEN_MAX;
	tl->fetch.name = on_name;
	tl->fetch.got = on_got;
	tl->fetch.done = on_fetched;
	tl->fetch.arg = tl;
	qo_fetch_start(&tl->fetch);
	while (!tl->fetched)
		loop_once(tl->s->loop, -1);
}

/* Comparing two rounds */

static bool
has_moved(const struct qo_entry *was, const struct qo_entry *is)
{
	/* Another minute of the same lease is a renewal. */
	return was->index != is->index || was->generation != is->generation;
}

static void
unsettle(struct seen *e)
{
	e->unsettled = true;
	e->since = e->again = qo_mono_now();
}

/* Is it to be read again in this round? */
static bool
is_due(struct seen *e)
{
	struct qo_mono now = qo_mono_now();
	int64_t age_us = qo_mono_diff_us(e->since, now);

	if (!e->unsettled || now.us < e->again.us)
		return false;
	e->again.us = now.us + age_us / 2;
	if (age_us > SETTLE_US)
		e->unsettled = false; /* this look is the last */
	return true;
}

static struct seen *
names_by_id(const struct qo_scan *scan)
{
	struct seen *now;
	size_t i;

	now = xcalloc(scan->nnames + 1, sizeof(*now));
	for (i = 0; i < scan->nnames; i++) {
		now[i].entry = scan->names[i].entry;
		unsettle(&now[i]);
	}
	qsort(now, scan->nnames, sizeof(*now), by_id);
	return now;
}

/* Takes over what is known of e's task; it is asked for when it has moved or
 * did not fit its entry. */
static void
carry_on(struct tail *tl, struct seen *e, const struct seen *was)
{
	struct qo_entry entry = e->entry;
	bool moved = has_moved(&was->entry, &entry);

	*e = *was;
	e->entry = entry;
	if (moved)
		unsettle(e);
	if (moved || is_due(e))
		tl->ask[tl->nask++] = e;
}

/* Compares the names of this round with those of the last, both by id. */
static void
compare(struct tail *tl, struct seen *now, size_t n)
{
	size_t i = 0, j = 0;
	int c;

	tl->nask = 0;
	tl->ask = xcalloc(n + tl->nseen + 1, sizeof(tl->ask[0]));
	while (i < n || j < tl->nseen) {
		c = i == n ? 1
		    : j == tl->nseen
		    ? -1
		    : strcmp(now[i].entry.id, tl->seen[j].entry.id);
		if (c < 0)
			tl->ask[tl->nask++] = &now[i++];
		else if (c > 0)
			tl->ask[tl->nask++] = &tl->seen[j++];
		else
			carry_on(tl, &now[i++], &tl->seen[j++]);
	}
}

static enum exit_code
one_round(struct tail *tl, bool first)
{
	struct seen *now;
	enum qo_rc rc;
	size_t i, n;

	rc = qo_scan_wait(&tl->scan);
	if (rc != QO_OK)
		return session_fail(tl->s, rc, &tl->scan.err);
	n = tl->scan.nnames;
	now = names_by_id(&tl->scan);
	if (first) {
		for (i = 0; i < n; i++)
			now[i].unsettled = false;
	} else {
		compare(tl, now, n);
		read_moved(tl);
		free(tl->ask);
		tl->ask = NULL;
	}
	free(tl->seen);
	tl->seen = now;
	tl->nseen = n;
	fflush(stdout);
	return tl->code;
}

/* Between rounds */

static void
on_signal(struct loop_io *io, uint32_t events)
{
	struct tail *tl = io->arg;

	(void)events;
	while (sig_next() != 0)
		tl->stop = true;
}

struct nap {
	struct loop *loop;
	struct loop_timer timer;
	bool over;
};

static void
on_timer(struct loop_timer *t)
{
	((struct nap *)t->arg)->over = true;
}

/* An entry was made: a moment more, since others will follow.  Without a good
 * answer it is left to the timer. */
static void
on_woken(struct qo_s3_req *r)
{
	struct nap *n = r->arg;

	if (r->res.outcome == QO_S3_OK)
		loop_timer_set_ms(n->loop, &n->timer, GATHER_MS, on_timer, n);
}

/* Until the time is over, an entry is made (when the store can tell), or a
 * signal comes. */
static void
pause_round(struct tail *tl, int64_t ms)
{
	struct nap n = { tl->s->loop, { { 0 }, 0, NULL, NULL }, false };
	char prefix[QO_KEY_SIZE], wait[64];
	struct qo_s3_req r;

	snprintf(prefix, sizeof(prefix), "%sready", tl->s->q->prefix);
	snprintf(wait, sizeof(wait), "%lld; since=%lld",
	    (long long)(ms / 1000 + 1), (long long)tl->scan.seq);
	qo_s3_req_init(&r, QO_S3_LIST, tl->s->q->index_bucket, NULL);
	r.prefix = prefix;
	r.max_keys = 1;
	r.wait = wait;
	r.wait_ms = ms + 1000;
	r.done = on_woken;
	r.arg = &n;
	loop_timer_set_ms(n.loop, &n.timer, ms, on_timer, &n);
	if (tl->scan.seq >= 0)
		qo_s3_send(tl->s->s3, &r);
	while (!n.over && !tl->stop)
		loop_once(n.loop, -1);
	loop_timer_del(n.loop, &n.timer);
	qo_s3_req_fini(&r);
}

static enum exit_code
follow(struct tail *tl)
{
	struct qo_mono began;
	enum exit_code code;
	int64_t ms;
	bool first = true;

	for (;;) {
		began = qo_mono_now();
		code = one_round(tl, first);
		if (code != EXIT_OK || tl->stop || out_broken())
			return code;
		first = false;
		/* A long index is not listed all the time. */
		ms = 4 * qo_mono_diff_us(began, qo_mono_now()) / QO_US_PER_MS;
		ms = ms < ROUND_MS ? ROUND_MS : ms;
		pause_round(tl, ms > ROUND_MAX_MS ? ROUND_MAX_MS : ms);
		if (tl->stop)
			return EXIT_OK;
	}
}

static enum exit_code
run_tail(struct session *s, const struct opts *o)
{
	static struct tail tl; /* large */
	enum exit_code code;

	tl.s = s;
	tl.type = opts_get(o, "type");
	if ((code = cmd_format(o, &tl.format)) != EXIT_OK ||
	    (code = taskview_check_type(o)) != EXIT_OK ||
	    (code = session_open(s)) != EXIT_OK)
		return code;
	sig_catch(SIGINT);
	sig_catch(SIGTERM);
	loop_io_add(s->loop, &tl.sig_io, sig_fd(), EPOLLIN, on_signal, &tl);
	qo_scan_init(&tl.scan, s->q, QO_SCAN_ACTIVE);
	qo_fetch_init(&tl.fetch, s->loop, s->s3, s->q->bucket);
	if (tl.format != OUT_TEXT)
		out_list_begin(&tl.out, tl.format);
	code = follow(&tl);
	if (tl.format != OUT_TEXT)
		out_list_end(&tl.out);
	qo_fetch_fini(&tl.fetch);
	qo_scan_fini(&tl.scan);
	loop_io_del(s->loop, &tl.sig_io);
	free(tl.seen);
	return code;
}

static const struct opt tail_opts[] = {
	{ "type", 0, "TYPE", "Only tasks of this type.", false },
	CMD_OPT_JSONL,
	CMD_OPT_END,
};

const struct cmd cmd_tail = {
	.name = "tail",
	.run = run_tail,
	.opts = tail_opts,
	.summary = "follow what happens to tasks",
	.help = "A line for each task that is submitted, claimed, retried or "
		"ended, from now on, until it is interrupted.  The indexes "
		"are looked at twice a second: of a task that passes through "
		"several states in between only the last is seen.",
};
