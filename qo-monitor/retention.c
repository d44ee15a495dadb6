#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "cursor.h"
#include "log.h"
#include "retention.h"
#include "retire.h"
#include "xalloc.h"

#define WINDOW      64
#define AGAIN_MS    30000
#define REST_MIN_MS 600000 /* between two rounds */
#define REST_MAX_MS 3600000
#define RESTS       24 /* rounds in one retention period, at least */

static const struct retention_pace usual = { 1000, 2000, 100, 2000 };

struct job {
	struct retention *r;
	size_t slot;
	bool used;
	struct retire retire;
};

struct retention {
	struct monitor *m;
	struct retention_pace pace;
	struct cursor cursor;
	struct job *jobs; /* WINDOW */
	struct qo_bulk bulk;
	struct qo_s3_req list;
	char prefix[QO_KEY_SIZE], last[QO_KEY_SIZE];
	char (*ids)[QO_UUID_SIZE]; /* of the page, those that are old */
	size_t n, next, cap;
	bool more;     /* pages */
	bool answered; /* all of this page */
	bool checked;  /* the store obeys If-Match on DELETE */
	struct qo_s3_req probe;
	char probe_key[QO_KEY_SIZE], probe_etag[QO_S3_ETAG_MAX];
	struct loop_timer timer;
	bool once;
	void (*done)(void *arg);
	void *arg;
};

static void begin(struct retention *r);
static void check_store(struct retention *r);
static void read_page(struct retention *r);

/* What is next, and when */

static void
end_once(struct retention *r)
{
	void (*done)(void *arg) = r->done;

	r->done = NULL;
	if (done != NULL)
		done(r->arg);
}

static void
on_begin(struct loop_timer *t)
{
	begin(t->arg);
}

/* From the start, later; a run of once is over. */
static void
begin_later(struct retention *r, int64_t ms)
{
	if (r->once)
		end_once(r);
	else
		loop_timer_set_ms(r->m->loop, &r->timer, ms, on_begin, r);
}

static void
give_up(struct retention *r, enum qo_rc rc, const struct qo_err *err)
{
	health_note(r->m->health, rc, err, qo_mono_now());
	begin_later(r, AGAIN_MS);
}

static int64_t
rest_ms(const struct retention *r)
{
	int64_t ms = r->m->conf->retention_ms / RESTS;

	return ms < REST_MIN_MS ? REST_MIN_MS
	    : ms > REST_MAX_MS  ? REST_MAX_MS
				: ms;
}

static void
on_page_due(struct loop_timer *t)
{
	read_page(t->arg);
}

static void
on_saved(struct cursor *c)
{
	struct retention *r = c->arg;

	if (c->rc == QO_LOST)
		begin_later(r, r->pace.page_ms); /* another monitor is at it */
	else if (c->rc != QO_OK)
		give_up(r, c->rc, &c->err);
	else if (!r->more)
		begin_later(r, rest_ms(r));
	else
		loop_timer_set_ms(r->m->loop, &r->timer,
		    r->once ? 0 : r->pace.page_ms, on_page_due, r);
}

/* The page is through. */
static void
save(struct retention *r)
{
	struct cursor *c = &r->cursor;
	struct qo_wall now = qo_queue_now(r->m->q);

	if (!r->answered) {
		/* The same page again, when the store is back. */
		begin_later(r, AGAIN_MS);
		return;
	}
	if (c->at[0] == '\0')
		c->started = now;
	snprintf(c->at, sizeof(c->at), "%s", r->more ? r->last : "");
	if (!r->more)
		c->ended = now;
	c->done = on_saved;
	c->arg = r;
	cursor_save(c);
}

/* The tasks of a page */

static void
on_retired(struct retire *t)
{
	struct job *j = t->arg;
	struct retention *r = j->r;

	if (t->removed) {
		board_add(r->m->area, BOARD_RETIRED, 1);
		log_event(LOG_LVL_DEBUG, "removed", "task", t->change.id, NULL);
	}
	if (t->rc == QO_ERR) {
		log_event(LOG_LVL_WARN, "a task can not be removed", "task",
		    t->change.id, "why", t->err.msg, NULL);
	} else if (t->rc != QO_OK) {
		health_note(r->m->health, t->rc, &t->err, qo_mono_now());
		r->answered = false;
	}
	qo_bulk_ended(&r->bulk, j->slot);
}

static enum qo_bulk_next
start_next(struct qo_bulk *b, size_t slot)
{
	struct retention *r = b->arg;
	struct job *j = &r->jobs[slot];

	if (r->next == r->n || !r->answered)
		return QO_BULK_END;
	if (j->used)
		retire_fini(&j->retire);
	j->used = true;
	retire_init(&j->retire, r->m, r->ids[r->next++]);
	j->retire.settle_ms = r->pace.settle_ms;
	j->retire.done = on_retired;
	j->retire.arg = j;
	retire_start(&j->retire);
	return QO_BULK_STARTED;
}

static void
on_all(struct qo_bulk *b)
{
	save(b->arg);
}

static void
add_id(struct retention *r, const char *id)
{
	if (r->n == r->cap) {
		r->cap = r->cap == 0 ? 64 : 2 * r->cap;
		r->ids = xreallocarray(r->ids, r->cap, sizeof(*r->ids));
	}
	memcpy(r->ids[r->n++], id, QO_UUID_SIZE);
}

/* Is this exactly the key of a task? */
static bool
task_id(const struct retention *r, const char *key, char id[QO_UUID_SIZE])
{
	const char *slash = strrchr(key, '/');
	char again[QO_KEY_SIZE];

	if (slash == NULL || strlen(slash + 1) != QO_UUID_SIZE - 1 + 5)
		return false;
	memcpy(id, slash + 1, QO_UUID_SIZE - 1);
	id[QO_UUID_SIZE - 1] = '\0';
	return qo_key_task(&r->m->q->layout, id, again) == 0 &&
	    strcmp(key, again) == 0;
}

static void
take_page(struct retention *r, const struct qo_s3_list *list)
{
	int64_t keep_us = r->m->conf->retention_ms * QO_US_PER_MS;
	struct qo_wall lo = monitor_lo(r->m);
	const struct qo_s3_entry *e;
	char id[QO_UUID_SIZE];
	size_t i;

	r->n = r->next = 0;
	r->more = list->truncated && list->n > 0;
	for (i = 0; i < list->n; i++) {
		e = &list->entries[i];
		if (qo_wall_is_set(lo) &&
		    lo.us - e->last_modified.us > keep_us &&
		    task_id(r, e->key, id))
			add_id(r, id);
	}
	if (list->n > 0)
		snprintf(r->last, sizeof(r->last), "%s",
		    list->entries[list->n - 1].key);
}

static void
on_page(struct qo_s3_req *req)
{
	struct retention *r = req->arg;

	if (req->res.outcome != QO_S3_OK) {
		give_up(r, qo_s3_outcome_rc(req->res.outcome), &req->res.err);
		return;
	}
	r->answered = true;
	take_page(r, req->res.list);
	qo_bulk_start(&r->bulk);
}

static void
read_page(struct retention *r)
{
	struct qo_queue *q = r->m->q;

	qo_s3_req_fini(&r->list);
	qo_s3_req_init(&r->list, QO_S3_LIST, q->bucket, NULL);
	r->list.prefix = r->prefix;
	if (r->cursor.at[0] != '\0')
		r->list.start_after = r->cursor.at;
	r->list.max_keys = r->pace.page;
	r->list.done = on_page;
	r->list.arg = r;
	qo_s3_send(q->s3, &r->list);
}

/* Does the store obey? */

static void
probe(struct retention *r, enum qo_s3_op op, const char *if_match,
    void (*done)(struct qo_s3_req *req))
{
	qo_s3_req_fini(&r->probe);
	qo_s3_req_init(&r->probe, op, r->m->q->bucket, r->probe_key);
	r->probe.if_match = if_match;
	r->probe.done = done;
	r->probe.arg = r;
	qo_s3_send(r->m->q->s3, &r->probe);
}

static void
on_probe_end(struct qo_s3_req *req)
{
	struct retention *r = req->arg;

	if (req->res.outcome != QO_S3_OK &&
	    req->res.outcome != QO_S3_NOT_FOUND) {
		log_errorx("retention is off: a DELETE with If-Match is "
			   "answered: %s",
		    req->res.err.msg);
		end_once(r);
		return;
	}
	r->checked = true;
	begin(r);
}

static void
on_probe_wrong(struct qo_s3_req *req)
{
	struct retention *r = req->arg;

	switch (req->res.outcome) {
	case QO_S3_PRECONDITION:
	case QO_S3_CONFLICT:
		probe(r, QO_S3_DELETE, r->probe_etag, on_probe_end);
		return;
	case QO_S3_NOT_FOUND: /* another monitor tries the same */
		check_store(r);
		return;
	case QO_S3_SLOW_DOWN:
	case QO_S3_AMBIGUOUS:
	case QO_S3_UNREACHABLE:
		give_up(r, QO_AGAIN, &req->res.err);
		return;
	default:
		log_errorx("retention is off: this store does not obey "
			   "If-Match on DELETE; let a lifecycle rule of the "
			   "bucket remove what is old");
		end_once(r);
		return;
	}
}

static void
on_probe_put(struct qo_s3_req *req)
{
	struct retention *r = req->arg;

	if (req->res.outcome != QO_S3_OK) {
		give_up(r, qo_s3_outcome_rc(req->res.outcome), &req->res.err);
		return;
	}
	snprintf(r->probe_etag, sizeof(r->probe_etag), "%s", req->res.etag);
	probe(r, QO_S3_DELETE, "\"00000000000000000000000000000000\"",
	    on_probe_wrong);
}

static void
check_store(struct retention *r)
{
	/* One name, so that kills leave one object at most. */
	snprintf(r->probe_key, sizeof(r->probe_key), "%sqo-probe/retention",
	    r->m->q->prefix);
	probe(r, QO_S3_PUT, NULL, on_probe_put);
}

/* A round, or the rest of one */

static void
on_cursor(struct cursor *c)
{
	struct retention *r = c->arg;
	struct qo_wall now = qo_queue_now(r->m->q);
	int64_t left_ms;

	if (c->rc != QO_OK) {
		give_up(r, c->rc, &c->err);
		return;
	}
	if (!r->once && c->at[0] == '\0' && qo_wall_is_set(c->ended)) {
		left_ms = rest_ms(r) - (now.us - c->ended.us) / QO_US_PER_MS;
		if (left_ms > 0) {
			begin_later(r,
			    left_ms < rest_ms(r) ? left_ms : rest_ms(r));
			return;
		}
	}
	read_page(r);
}

static void
begin(struct retention *r)
{
	if (!r->checked) {
		check_store(r);
		return;
	}
	r->cursor.done = on_cursor;
	r->cursor.arg = r;
	cursor_read(&r->cursor);
}

struct retention *
retention_new(struct monitor *m, const struct retention_pace *pace)
{
	struct retention *r = xcalloc(1, sizeof(*r));
	size_t i;

	r->m = m;
	r->pace = pace != NULL ? *pace : usual;
	cursor_init(&r->cursor, m->q);
	snprintf(r->prefix, sizeof(r->prefix), "%stasks/", m->q->prefix);
	qo_s3_req_init(&r->list, QO_S3_LIST, NULL, NULL);
	qo_s3_req_init(&r->probe, QO_S3_PUT, NULL, NULL);
	r->jobs = xcalloc(WINDOW, sizeof(*r->jobs));
	for (i = 0; i < WINDOW; i++) {
		r->jobs[i].r = r;
		r->jobs[i].slot = i;
	}
	qo_bulk_init(&r->bulk, m->loop, WINDOW);
	r->bulk.rate = r->pace.rate;
	r->bulk.next = start_next;
	r->bulk.done = on_all;
	r->bulk.arg = r;
	return r;
}

void
retention_free(struct retention *r)
{
	size_t i;

	if (r == NULL)
		return;
	for (i = 0; i < WINDOW; i++)
		if (r->jobs[i].used)
			retire_fini(&r->jobs[i].retire);
	qo_bulk_fini(&r->bulk);
	free(r->jobs);
	cursor_fini(&r->cursor);
	qo_s3_req_fini(&r->list);
	qo_s3_req_fini(&r->probe);
	loop_timer_del(r->m->loop, &r->timer);
	free(r->ids);
	free(r);
}

void
retention_start(struct retention *r)
{
	loop_timer_set_ms(r->m->loop, &r->timer, 0, on_begin, r);
}

void
retention_once(struct retention *r, void (*done)(void *arg), void *arg)
{
	r->once = true;
	r->done = done;
	r->arg = arg;
	begin(r);
}
