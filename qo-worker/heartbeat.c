#include <string.h>

#include "heartbeat.h"
#include "log.h"

#define MAX_MS 30000
/* At the end: for a write that is under way, then for the delete. */
#define LAST_WRITE_MS 5000
#define REMOVE_MS     10000

static void on_timer(struct loop_timer *t);
static void send_delete(struct heartbeat *h);

static void
arm(struct heartbeat *h)
{
	struct qo_mono at;

	at = qo_mono_add_ms(h->written_at, h->changed ? h->min_ms : h->max_ms);
	loop_timer_set(h->q->loop, &h->timer, at, on_timer, h);
}

static void
on_written(struct qo_s3_req *r)
{
	struct heartbeat *h = r->arg;
	bool ok = r->res.outcome == QO_S3_OK;

	if (h->removed != NULL) {
		send_delete(h);
		return;
	}
	if (!ok && !h->failing)
		log_event(LOG_LVL_WARN, "the heartbeat was not written",
		    "error", r->res.err.msg, NULL);
	h->failing = !ok;
	h->changed |= !ok;
	arm(h);
}

static void
write_record(struct heartbeat *h)
{
	struct qo_err err;

	h->changed = false;
	h->written_at = qo_mono_now();
	h->fill(&h->record, h->arg);
	h->record.last_heartbeat = qo_queue_now(h->q);
	buf_reset(&h->text);
	if (qo_worker_record_encode(&h->record, &h->text, &err) == -1) {
		log_event(LOG_LVL_WARN, "the heartbeat can not be written",
		    "error", err.msg, NULL);
		arm(h);
		return;
	}
	qo_s3_req_fini(&h->req);
	qo_s3_req_init(&h->req, QO_S3_PUT, h->q->index_bucket, h->key);
	h->req.content_type = "application/json";
	h->req.body = h->text.data;
	h->req.body_len = h->text.len;
	h->req.done = on_written;
	h->req.arg = h;
	qo_s3_send(h->q->s3, &h->req);
}

static void
on_timer(struct loop_timer *t)
{
	struct heartbeat *h = t->arg;

	if (h->removed != NULL) {
		log_warnx("the heartbeat may come back: its last write takes "
			  "too long");
		send_delete(h);
	} else if (h->req.flight == NULL) {
		write_record(h);
	}
}

void
heartbeat_init(struct heartbeat *h, struct qo_queue *q, const char *worker_id,
    int64_t min_ms, int64_t stale_ms)
{
	memset(h, 0, sizeof(*h));
	h->q = q;
	h->min_ms = min_ms;
	h->max_ms = stale_ms / 2 < MAX_MS ? stale_ms / 2 : MAX_MS;
	if (h->min_ms > h->max_ms)
		h->min_ms = h->max_ms;
	qo_worker_record_init(&h->record);
	h->record.worker_id = worker_id;
	qo_key_worker(&q->layout, worker_id, h->key);
	buf_init(&h->text, QO_WORKER_LEN_MAX);
	qo_s3_req_init(&h->req, QO_S3_PUT, NULL, NULL);
}

void
heartbeat_fini(struct heartbeat *h)
{
	loop_timer_del(h->q->loop, &h->timer);
	qo_s3_req_fini(&h->req);
	qo_worker_record_fini(&h->record);
	buf_fini(&h->text);
}

void
heartbeat_start(struct heartbeat *h)
{
	h->on = true;
	write_record(h);
}

void
heartbeat_changed(struct heartbeat *h)
{
	if (!h->on || h->changed)
		return;
	h->changed = true;
	if (h->req.flight == NULL)
		arm(h);
}

static void
on_deleted(struct qo_s3_req *r)
{
	struct heartbeat *h = r->arg;

	/* The monitor removes what is dead. */
	if (r->res.outcome != QO_S3_OK && r->res.outcome != QO_S3_NOT_FOUND)
		log_event(LOG_LVL_WARN, "the heartbeat was not removed",
		    "error", r->res.err.msg, NULL);
	h->removed(h->removed_arg);
}

static void
send_delete(struct heartbeat *h)
{
	loop_timer_del(h->q->loop, &h->timer);
	qo_s3_req_fini(&h->req);
	qo_s3_req_init(&h->req, QO_S3_DELETE, h->q->index_bucket, h->key);
	h->req.deadline_ms = REMOVE_MS;
	h->req.done = on_deleted;
	h->req.arg = h;
	qo_s3_send(h->q->s3, &h->req);
}

void
heartbeat_remove(struct heartbeat *h, void (*removed)(void *arg), void *arg)
{
	h->on = false;
	h->removed = removed;
	h->removed_arg = arg;
	/* A write that is cut off might come after the delete. */
	if (h->req.flight != NULL)
		loop_timer_set_ms(h->q->loop, &h->timer, LAST_WRITE_MS,
		    on_timer, h);
	else
		send_delete(h);
}
