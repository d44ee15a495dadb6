#include <stdio.h>
#include <string.h>

#include "gate.h"
#include "log.h"

#define LOOK_MS 30000

static void
on_timer(struct loop_timer *t)
{
	gate_look(t->arg);
}

static void
adopt(struct gate *g, const struct qo_s3_res *res)
{
	struct qo_control c;
	struct qo_err err;
	bool was = g->control.paused;
	size_t types = g->control.npaused_types;

	qo_err_reset(&err);
	if (qo_control_decode(&c, res->body.data, res->body.len, &err) == -1) {
		log_event(LOG_LVL_WARN, "the control record can not be read",
		    "error", err.msg, NULL);
		return;
	}
	qo_control_fini(&g->control);
	g->control = c;
	snprintf(g->etag, sizeof(g->etag), "%s", res->etag);
	if (c.paused != was)
		log_info("the queue is %s", c.paused ? "paused" : "resumed");
	if (c.npaused_types != types)
		log_info("paused types of tasks: %zu", c.npaused_types);
	g->changed(g->arg);
}

static void
on_record(struct qo_s3_req *r)
{
	struct gate *g = r->arg;

	if (r->res.outcome == QO_S3_OK)
		adopt(g, &r->res);
	else if (r->res.outcome != QO_S3_NOT_MODIFIED)
		log_event(LOG_LVL_DEBUG, "the control record was not read",
		    "error", r->res.err.msg, NULL);
	if (g->again)
		gate_look(g);
}

void
gate_look(struct gate *g)
{
	loop_timer_set_ms(g->q->loop, &g->timer, LOOK_MS, on_timer, g);
	g->again = g->req.flight != NULL;
	if (g->again)
		return;
	qo_s3_req_fini(&g->req);
	qo_s3_req_init(&g->req, QO_S3_GET, g->q->bucket, g->key);
	if (g->etag[0] != '\0')
		g->req.if_none_match = g->etag;
	g->req.response_max = QO_CONTROL_LEN_MAX;
	g->req.done = on_record;
	g->req.arg = g;
	qo_s3_send(g->q->s3, &g->req);
}

void
gate_init(struct gate *g, struct qo_queue *q, struct qo_control *control,
    void (*changed)(void *arg), void *arg)
{
	memset(g, 0, sizeof(*g));
	g->q = q;
	g->control = *control;
	memset(control, 0, sizeof(*control));
	g->changed = changed;
	g->arg = arg;
	snprintf(g->etag, sizeof(g->etag), "%s", g->control.etag);
	qo_key_control(&q->layout, g->key);
	qo_s3_req_init(&g->req, QO_S3_GET, NULL, NULL);
	loop_timer_set_ms(q->loop, &g->timer, LOOK_MS, on_timer, g);
}

void
gate_fini(struct gate *g)
{
	loop_timer_del(g->q->loop, &g->timer);
	qo_s3_req_fini(&g->req);
	qo_control_fini(&g->control);
}

bool
gate_paused(const struct gate *g, const char *task_type)
{
	return qo_control_paused(&g->control, task_type);
}
