#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bulk_submit.h"
#include "commit.h"
#include "s3body.h"
#include "walk.h"
#include "xalloc.h"

#define LEASE_MS    60000
#define POLL_MIN_MS 50
#define POLL_MAX_MS 1000
#define STALL_MS    30000 /* without any progress: give up */

enum state {
	SUBMITTED = 0,
	LISTED, /* a candidate, or being run */
	DONE,
	LOST
};

struct task {
	struct qo_entry entry; /* its ready entry as it was written */
	enum state state;
};

struct slot {
	struct bench_run *run;
	size_t slot, task;
	struct qo_mono started;
	struct qo_claim claim;
	struct qo_commit commit;
};

struct bench_run {
	struct bench *b;
	struct qo_queue *q;
	struct qo_submission sub;
	char *input;

	struct qo_bulk_submit submits;
	struct qo_mono *started; /* of the submits, by their number */
	size_t asked, failed;
	bool submitting;
	enum qo_rc rc; /* of the first submit that failed */
	struct qo_err err;

	struct task *tasks; /* that were submitted */
	size_t ntasks;
	uint32_t *table; /* by id: place in tasks + 1; 0: free */
	size_t mask;

	struct qo_bulk drains;
	struct slot *slots;
	bool draining;
	size_t *ready; /* places in tasks, a stack */
	size_t nready, settled;
	struct qo_walk walk;
	bool polling;
	size_t found;
	int64_t poll_ms;
	struct loop_timer poll, stall;
	size_t stalled_at;
};

/* The tasks by id; random ids need no hash function */

static size_t
hash(const char *id)
{
	char digits[9];

	memcpy(digits, id, 8);
	digits[8] = '\0';
	return (size_t)strtoul(digits, NULL, 16);
}

static struct task *
find(struct bench_run *r, const char *id)
{
	size_t i;

	for (i = hash(id) & r->mask; r->table[i] != 0; i = (i + 1) & r->mask)
		if (strcmp(r->tasks[r->table[i] - 1].entry.id, id) == 0)
			return &r->tasks[r->table[i] - 1];
	return NULL;
}

static void
add(struct bench_run *r, const struct qo_entry *e)
{
	size_t i;

	r->tasks[r->ntasks].entry = *e;
	r->tasks[r->ntasks++].state = SUBMITTED;
	for (i = hash(e->id) & r->mask; r->table[i] != 0; i = (i + 1) & r->mask)
		continue;
	r->table[i] = (uint32_t)r->ntasks;
}

/* Submitting */

static enum qo_bulk_next
next_submit(struct qo_bulk_submit *bs, const struct qo_submission **sub,
    void **item)
{
	struct bench_run *r = bs->arg;

	if (r->asked == r->b->tasks || r->failed > 0)
		return QO_BULK_END;
	r->started[r->asked] = qo_mono_now();
	*sub = &r->sub;
	*item = &r->started[r->asked++];
	return QO_BULK_STARTED;
}

static void
on_submitted(struct qo_bulk_submit *bs, const struct qo_submit *s, void *item)
{
	struct bench_run *r = bs->arg;
	struct bench_times *t = &r->b->submit;

	if (s->change.rc != QO_OK) {
		if (r->failed++ == 0) {
			r->rc = s->change.rc;
			r->err = s->change.err;
		}
		return;
	}
	t->us[t->n++] = qo_mono_diff_us(*(struct qo_mono *)item, qo_mono_now());
	add(r, &s->change.entry);
}

static void
on_all_submitted(struct qo_bulk *bulk)
{
	struct bench_run *r = ((struct qo_bulk_submit *)bulk)->arg;

	r->submitting = false;
	/* It may be that all were drained already. */
	if (r->draining)
		qo_bulk_kick(&r->drains);
}

/* Draining */

static void
settle(struct slot *s, enum state state)
{
	struct bench_run *r = s->run;
	struct bench_times *t = &r->b->run;

	r->tasks[s->task].state = state;
	if (state == DONE)
		t->us[t->n++] = qo_mono_diff_us(s->started, qo_mono_now());
	if (state != SUBMITTED)
		r->settled++;
	qo_claim_fini(&s->claim);
	qo_bulk_ended(&r->drains, s->slot);
	qo_bulk_kick(&r->drains); /* it may have been the last one */
}

static void
on_committed(struct qo_commit *cm)
{
	struct slot *s = cm->arg;

	qo_commit_fini(cm);
	settle(s, s->claim.change.rc == QO_OK ? DONE : LOST);
}

static void
on_claimed(struct qo_claim *cl)
{
	static const struct qo_result nothing = { .delay_ms = -1 };
	struct slot *s = cl->arg;

	if (cl->change.rc == QO_OK && cl->held)
		qo_commit_start(&s->commit, cl, QO_OUTCOME_COMPLETED, &nothing,
		    on_committed, s);
	else
		settle(s, cl->change.rc == QO_AGAIN ? SUBMITTED : LOST);
}

static bool
on_entry(struct qo_walk *w, const struct qo_s3_entry *se)
{
	struct bench_run *r = w->arg;
	struct qo_entry e;
	struct task *t;

	if (qo_entry_parse(&r->q->layout, se->key, strlen(se->key), &e) == -1 ||
	    (t = find(r, e.id)) == NULL || t->state != SUBMITTED)
		return true;
	t->entry = e;
	t->state = LISTED;
	r->ready[r->nready++] = (size_t)(t - r->tasks);
	r->found++;
	return true;
}

static void
on_poll(struct loop_timer *t)
{
	struct bench_run *r = t->arg;

	r->found = 0;
	qo_walk_start(&r->walk);
}

/* A poll that found enough to do is followed by the next one soon, else
 * later: what came meanwhile then fills it. */
static void
on_walked(struct qo_walk *w)
{
	struct bench_run *r = w->arg;

	r->polling = false;
	if (r->found >= r->b->inflight)
		r->poll_ms = POLL_MIN_MS;
	else if (r->poll_ms < POLL_MAX_MS)
		r->poll_ms *= 2;
	if (r->found > 0)
		qo_bulk_kick(&r->drains);
	else if (r->draining) {
		r->polling = true;
		loop_timer_set_ms(r->q->loop, &r->poll, r->poll_ms, on_poll, r);
	}
}

static enum qo_bulk_next
next_drain(struct qo_bulk *bulk, size_t slot)
{
	struct bench_run *r = bulk->arg;
	struct slot *s = &r->slots[slot];

	if (!r->submitting && r->settled == r->ntasks)
		return QO_BULK_END;
	if (r->nready == 0) {
		if (!r->polling) {
			r->polling = true;
			loop_timer_set_ms(r->q->loop, &r->poll,
			    r->walk.pages == 0 ? 0 : r->poll_ms, on_poll, r);
		}
		return QO_BULK_LATER;
	}
	s->run = r;
	s->slot = slot;
	s->task = r->ready[--r->nready];
	s->started = qo_mono_now();
	qo_claim_init(&s->claim, r->q, &r->tasks[s->task].entry, BENCH_TYPE);
	s->claim.done = on_claimed;
	s->claim.arg = s;
	qo_claim_take(&s->claim, LEASE_MS);
	return QO_BULK_STARTED;
}

static void
on_all_drained(struct qo_bulk *bulk)
{
	struct bench_run *r = bulk->arg;

	r->draining = false;
	loop_timer_del(r->q->loop, &r->stall);
}

static void
on_stall(struct loop_timer *t)
{
	struct bench_run *r = t->arg;

	if (r->settled + r->ntasks == r->stalled_at) {
		qo_bulk_stop(&r->drains);
		return;
	}
	r->stalled_at = r->settled + r->ntasks;
	loop_timer_set_ms(r->q->loop, &r->stall, STALL_MS, on_stall, r);
}

/* The whole */

static void
run_init(struct bench_run *r, struct bench *b)
{
	size_t cap = 2;

	memset(r, 0, sizeof(*r));
	r->b = b;
	r->q = b->session->q;
	while (cap < b->tasks * 2)
		cap *= 2;
	r->mask = cap - 1;
	r->table = xcalloc(cap, sizeof(*r->table));
	r->tasks = xcalloc(b->tasks, sizeof(*r->tasks));
	r->ready = xcalloc(b->tasks, sizeof(*r->ready));
	r->started = xcalloc(b->tasks, sizeof(*r->started));
	b->submit.us = xcalloc(b->tasks, sizeof(*b->submit.us));
	b->run.us = xcalloc(b->tasks, sizeof(*b->run.us));
	r->slots = xcalloc(b->inflight, sizeof(*r->slots));
	qo_submission_init(&r->sub);
	r->sub.task_type = BENCH_TYPE;
	r->sub.submitted_by = session_who();
	/* A JSON string of so many bytes, quotes included. */
	r->input = xmalloc(b->payload + 1);
	memset(r->input, 'x', b->payload);
	r->input[b->payload] = '\0';
	if (b->payload >= 2) {
		r->input[0] = r->input[b->payload - 1] = '"';
		r->sub.input = (struct qo_json){ r->input, b->payload };
	}
}

static void
run_fini(struct bench_run *r)
{
	free(r->table);
	free(r->tasks);
	free(r->ready);
	free(r->started);
	free(r->slots);
	free(r->input);
}

static void
start_submits(struct bench_run *r)
{
	r->submitting = true;
	qo_bulk_submit_init(&r->submits, r->q, r->b->inflight);
	r->submits.next = next_submit;
	r->submits.ended = on_submitted;
	r->submits.arg = r;
	r->submits.bulk.done = on_all_submitted;
	qo_bulk_start(&r->submits.bulk);
}

static void
start_drains(struct bench_run *r)
{
	r->draining = true;
	r->poll_ms = POLL_MIN_MS;
	qo_walk_init(&r->walk, r->q->s3, r->q->index_bucket);
	qo_key_index(&r->q->layout, QO_INDEX_READY, NULL, r->walk.prefix);
	r->walk.entry = on_entry;
	r->walk.done = on_walked;
	r->walk.arg = r;
	qo_bulk_init(&r->drains, r->q->loop, r->b->inflight);
	r->drains.next = next_drain;
	r->drains.done = on_all_drained;
	r->drains.arg = r;
	loop_timer_set_ms(r->q->loop, &r->stall, STALL_MS, on_stall, r);
	qo_bulk_start(&r->drains);
}

static void
run_loop(struct bench_run *r)
{
	while (r->submitting || r->draining)
		loop_once(r->q->loop, -1);
}

static void
stop_all(struct bench_run *r)
{
	if (r->submits.bulk.loop != NULL)
		qo_bulk_submit_fini(&r->submits);
	if (r->drains.loop != NULL) {
		loop_timer_del(r->q->loop, &r->poll);
		qo_walk_fini(&r->walk);
		qo_bulk_fini(&r->drains);
	}
}

static void
count_requests(const struct bench_run *r, uint64_t out[BENCH_CLASSES])
{
	const uint64_t *n = qo_s3_stats(r->q->s3)->requests;

	out[BENCH_PUT] = n[QO_S3_PUT];
	out[BENCH_GET] = n[QO_S3_GET] + n[QO_S3_HEAD];
	out[BENCH_LIST] = n[QO_S3_LIST];
	out[BENCH_DELETE] = n[QO_S3_DELETE] + n[QO_S3_DELETE_MANY];
}

static void
measure(struct bench_run *r)
{
	struct bench *b = r->b;
	uint64_t before[BENCH_CLASSES];
	struct qo_mono start;
	size_t i;

	if (b->mode == BENCH_DRAIN) {
		start_submits(r);
		run_loop(r);
		qo_queue_flush(r->q);
	}
	count_requests(r, before);
	start = qo_mono_now();
	if (b->mode != BENCH_DRAIN)
		start_submits(r);
	if (b->mode != BENCH_SUBMIT)
		start_drains(r);
	run_loop(r);
	b->us = qo_mono_diff_us(start, qo_mono_now());
	/* The deletes belong to it, waiting for them does not. */
	qo_queue_flush(r->q);
	count_requests(r, b->requests);
	for (i = 0; i < BENCH_CLASSES; i++)
		b->requests[i] -= before[i];
	b->done = b->mode == BENCH_SUBMIT ? r->ntasks : b->run.n;
	b->lost = r->ntasks - b->done;
}

/* Removing what was made: the tasks, then the entries that are left, so that
 * a crash between leaves at worst an entry without a task (R3). */

static enum qo_s3_outcome
delete_batch(struct bench_run *r, const char *bucket, char (*keys)[QO_KEY_SIZE],
    size_t n, struct qo_err *err)
{
	struct qo_s3_delete_key list[QO_S3_DELETE_MAX];
	enum qo_s3_outcome rv;
	struct qo_s3_req req;
	struct buf body;
	size_t i;

	memset(list, 0, sizeof(list));
	for (i = 0; i < n; i++)
		list[i].key = keys[i];
	buf_init(&body, (size_t)4 << 20);
	qo_s3body_delete(&body, list, n, true, NULL);
	qo_s3_req_init(&req, QO_S3_DELETE_MANY, bucket, NULL);
	req.body = body.data;
	req.body_len = body.len;
	rv = qo_s3_wait(r->q->s3, &req);
	*err = req.res.err;
	qo_s3_req_fini(&req);
	buf_fini(&body);
	return rv;
}

static enum exit_code
clean(struct bench_run *r)
{
	char(*keys)[QO_KEY_SIZE];
	const struct qo_layout *l = &r->q->layout;
	enum qo_s3_outcome rv = QO_S3_OK;
	struct qo_err err = { 0 };
	size_t i, n, at;

	keys = xcalloc(QO_S3_DELETE_MAX, sizeof(*keys));
	for (at = 0; at < r->ntasks && rv == QO_S3_OK; at += n) {
		n = r->ntasks - at;
		if (n > QO_S3_DELETE_MAX)
			n = QO_S3_DELETE_MAX;
		for (i = 0; i < n; i++)
			qo_key_task(l, r->tasks[at + i].entry.id, keys[i]);
		rv = delete_batch(r, r->q->bucket, keys, n, &err);
		/* A task that ran has had its entries deleted. */
		for (i = 0; i < n && rv == QO_S3_OK; i++) {
			qo_key_entry(l, &r->tasks[at + i].entry, keys[i]);
			if (r->tasks[at + i].state != DONE)
				qo_deleter_add(r->q->deleter, keys[i]);
		}
	}
	free(keys);
	qo_queue_flush(r->q);
	if (rv == QO_S3_OK)
		return EXIT_OK;
	exit_say("tasks of type %s are left behind: %s", BENCH_TYPE, err.msg);
	return exit_code_of(qo_s3_outcome_rc(rv));
}

enum exit_code
bench_run(struct bench *b)
{
	struct bench_run r;
	enum exit_code code = EXIT_OK;

	run_init(&r, b);
	measure(&r);
	stop_all(&r);
	if (!b->keep)
		code = clean(&r);
	if (r.failed > 0)
		code = session_fail(b->session, r.rc, &r.err);
	else if (b->lost > 0) {
		exit_say("%zu tasks were not completed: is a worker serving "
			 "type %s?",
		    b->lost, BENCH_TYPE);
		code = EXIT_PARTLY;
	}
	run_fini(&r);
	return code;
}

void
bench_fini(struct bench *b)
{
	free(b->submit.us);
	free(b->run.us);
	b->submit.us = b->run.us = NULL;
}

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t
bench_percentile(struct bench_times *t, double p)
{
	size_t i;

	if (t->n == 0)
		return 0;
	qsort(t->us, t->n, sizeof(*t->us), compare);
	i = (size_t)(p * (double)t->n);
	return t->us[i < t->n ? i : t->n - 1];
}
