#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "board_sum.h"
#include "endpoint.h"
#include "httpd.h"
#include "log.h"
#include "metrics.h"
#include "xalloc.h"

#define TEXT_MAX   ((size_t)16 << 20)
#define AGAIN_MS   100
#define TOLD_AFTER 100 /* tries: the old one needs its time */
#define READY_MS   60000

struct endpoint {
	struct monitor *m;
	struct board *board;
	struct httpd *httpd;
	struct loop_timer again;
	unsigned tries;
};

static void
answer(struct httpd_req *r, int status, const char *text)
{
	httpd_header_add(r, "Content-Type", "text/plain; charset=utf-8");
	httpd_header_add(r, "Cache-Control", "no-store");
	httpd_send(r, status, text, strlen(text));
}

static void
answer_metrics(struct endpoint *e, struct httpd_req *r)
{
	struct metrics m;
	struct board_info self;
	struct board_sum sum;
	struct buf b;

	board_read(e->m->area, &self);
	board_sum(e->board, e->m->area, &sum);
	m.sum = &sum;
	m.self = &self;
	m.store_up = e->m->health->open && !e->m->health->failing;
	buf_init(&b, TEXT_MAX);
	metrics_add(&b, &m);
	board_sum_fini(&sum);
	httpd_header_add(r, "Content-Type",
	    "text/plain; version=0.0.4; charset=utf-8");
	httpd_header_add(r, "Cache-Control", "no-store");
	if (b.failed)
		httpd_send(r, 500, "too much to tell\n", 17);
	else
		httpd_send(r, 200, b.data, b.len);
	buf_fini(&b);
}

static void
answer_ready(struct endpoint *e, struct httpd_req *r)
{
	int64_t within_ms = 2 * e->m->conf->check_interval_ms;
	const char *why;
	struct buf b;

	why = health_why_not(e->m->health,
	    within_ms > READY_MS ? within_ms : READY_MS, qo_mono_now());
	if (why == NULL) {
		answer(r, 200, "ready\n");
		return;
	}
	buf_init(&b, 4096);
	buf_addf(&b, "%s\n", why);
	answer(r, 503, b.data);
	buf_fini(&b);
}

static void
on_head(struct httpd_req *r, void *arg)
{
	struct endpoint *e = arg;

	if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0) {
		httpd_header_add(r, "Allow", "GET, HEAD");
		answer(r, 405, "only GET and HEAD\n");
	} else if (strcmp(r->path, "/metrics") == 0) {
		answer_metrics(e, r);
	} else if (strcmp(r->path, "/healthz") == 0) {
		answer(r, 200, "ok\n");
	} else if (strcmp(r->path, "/readyz") == 0) {
		answer_ready(e, r);
	} else {
		answer(r, 404, "/metrics, /healthz and /readyz are here\n");
	}
}

static void
on_gone(struct httpd_req *r, void *arg)
{
	(void)r;
	(void)arg;
}

/* Every request is answered from its head: there are no others. */
static const struct httpd_ops ops = { .head = on_head, .gone = on_gone };

static void on_again(struct loop_timer *t);

/* 0; -1 with *err. */
static int
try_listen(struct endpoint *e, bool patient, struct qo_err *err)
{
	const char *addr = e->m->conf->listen;
	int port;

	if (httpd_listen_tcp(e->httpd, addr, &port, err) == 0) {
		log_info("metrics on port %d of %s", port, addr);
		return 0;
	}
	if (!patient || err->errnum != EADDRINUSE)
		return -1;
	if (++e->tries == TOLD_AFTER)
		log_warnx("%s: no metrics until it is free", err->msg);
	loop_timer_set_ms(e->m->loop, &e->again, AGAIN_MS, on_again, e);
	return 0;
}

static void
on_again(struct loop_timer *t)
{
	struct endpoint *e = t->arg;
	struct qo_err err;

	if (try_listen(e, true, &err) == -1)
		log_errorx("%s: no metrics", err.msg);
}

struct endpoint *
endpoint_new(struct monitor *m, struct board *board, bool patient,
    struct qo_err *err)
{
	struct endpoint *e = xcalloc(1, sizeof(*e));
	struct httpd_conf conf;

	e->m = m;
	e->board = board;
	httpd_conf_defaults(&conf);
	conf.head_max = 8192;
	conf.uri_max = 1024;
	conf.connections = 64;
	conf.idle_ms = 120000; /* longer than a usual scrape interval */
	e->httpd = httpd_new(m->loop, &conf, &ops, e);
	if (try_listen(e, patient, err) == 0)
		return e;
	endpoint_free(e);
	return NULL;
}

void
endpoint_free(struct endpoint *e)
{
	if (e == NULL)
		return;
	loop_timer_del(e->m->loop, &e->again);
	httpd_free(e->httpd);
	free(e);
}

void
endpoint_drain(struct endpoint *e)
{
	loop_timer_del(e->m->loop, &e->again);
	httpd_drain(e->httpd, NULL, NULL);
}
