#include <stdlib.h>
#include <string.h>

#include "httpd_int.h"
#include "xalloc.h"

#define IN_FIRST    16384
#define SPARE_MAX   16
#define FIELDS_MAX  (1024 * 1024)
#define KEEP_FIELDS 4096

void
httpd_conf_defaults(struct httpd_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->head_max = 32 * 1024;
	conf->uri_max = 8 * 1024;
	conf->connections = 1024;
	conf->head_ms = 10000;
	conf->idle_ms = 60000;
	conf->body_ms = 30000;
	conf->body_ms_bytes = 30 * 1024;
	conf->send_ms = 30000;
}

struct httpd *
httpd_new(struct loop *l, const struct httpd_conf *conf,
    const struct httpd_ops *ops, void *arg)
{
	struct httpd *h;

	h = xcalloc(1, sizeof(*h));
	h->loop = l;
	h->conf = *conf;
	h->ops = ops;
	h->arg = arg;
	h->date_sec = -1;
	LIST_INIT(&h->all);
	TAILQ_INIT(&h->idle);
	return h;
}

static void
work_free(struct httpd_work *w)
{
	free(w->in);
	buf_fini(&w->fields);
	buf_fini(&w->head);
	free(w);
}

void
httpd_free(struct httpd *h)
{
	struct httpd_conn *c;
	struct httpd_work *w;

	if (h == NULL)
		return;
	httpd_listeners_close(h);
	while ((c = LIST_FIRST(&h->all)) != NULL)
		conn_close(c);
	while ((w = h->spare) != NULL) {
		h->spare = w->next;
		work_free(w);
	}
	loop_timer_del(h->loop, &h->pause_timer);
	loop_defer_del(h->loop, &h->done_task);
	free(h);
}

struct httpd_work *
httpd_work_get(struct httpd *h)
{
	struct httpd_work *w = h->spare;

	if (w != NULL) {
		h->spare = w->next;
		h->nspare--;
	} else {
		w = xcalloc(1, sizeof(*w));
		w->in_cap = IN_FIRST;
		w->in = xmalloc(w->in_cap);
		w->file = -1;
		buf_init(&w->fields, FIELDS_MAX);
		buf_init(&w->head, 2 * FIELDS_MAX);
	}
	w->in_len = w->in_pos = 0;
	httpparse_init(&w->parse, h->conf.head_max, h->conf.uri_max);
	return w;
}

void
httpd_work_put(struct httpd *h, struct httpd_work *w)
{
	conn_output_reset(w);
	/* One that had to grow is not kept: the pool stays small. */
	if (h->nspare >= SPARE_MAX || w->in_cap > IN_FIRST ||
	    w->fields.cap > KEEP_FIELDS) {
		work_free(w);
		return;
	}
	w->next = h->spare;
	h->spare = w;
	h->nspare++;
}

bool
httpd_evict(struct httpd *h)
{
	struct httpd_conn *c = TAILQ_FIRST(&h->idle);

	if (c == NULL)
		return false;
	conn_close(c);
	return true;
}

static void
drained(struct loop_task *t)
{
	struct httpd *h = t->arg;

	/* Last thing: done may free the httpd. */
	h->done(h->done_arg);
}

void
httpd_freed(struct httpd *h)
{
	h->nconns--;
	if (h->paused)
		httpd_listeners_resume(h);
	if (h->draining && h->nconns == 0 && h->done != NULL)
		loop_defer(h->loop, &h->done_task, drained, h);
}

void
httpd_drain(struct httpd *h, void (*done)(void *arg), void *arg)
{
	struct httpd_conn *c, *next;

	h->draining = true;
	h->done = done;
	h->done_arg = arg;
	httpd_listeners_close(h);
	for (c = TAILQ_FIRST(&h->idle); c != NULL; c = next) {
		next = TAILQ_NEXT(c, idle);
		/* One that lingers has its answer but not read it yet. */
		if (c->state == CONN_IDLE)
			conn_close(c);
	}
	if (h->nconns == 0 && done != NULL)
		loop_defer(h->loop, &h->done_task, drained, h);
}

size_t
httpd_connections(const struct httpd *h)
{
	return h->nconns;
}

const char *
httpd_header_get(const struct httpd_req *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->nheaders; i++)
		if (r->headers[i].name[0] == name[0] &&
		    strcmp(r->headers[i].name, name) == 0)
			return r->headers[i].value;
	return NULL;
}

size_t
httpd_header_count(const struct httpd_req *r, const char *name)
{
	size_t i, n = 0;

	for (i = 0; i < r->nheaders; i++)
		if (strcmp(r->headers[i].name, name) == 0)
			n++;
	return n;
}
