#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http.h"
#include "http_sock.h"
#include "http_xfer.h"
#include "log.h"
#include "xalloc.h"

#define HTTP_HEAD_OUT_MAX 65536

struct http {
	struct loop *loop;
	CURLM *multi;
	struct http_conf conf;
	struct http_socks socks;
	struct loop_task go; /* requests are to be started */
	SLIST_HEAD(, http_xfer) spare;
	TAILQ_HEAD(, http_req) waiting; /* for room among the active */
	size_t nactive;
};

/* One timer of ours a request, until the answer begins and then for all of
 * it: libcurl's own would cost it several. */

static void on_limit(struct loop_timer *t);

static void
set_limit(struct http_req *r, int64_t ms)
{
	r->limit_ms = ms;
	loop_timer_set(r->http->loop, &r->limit, qo_mono_add_ms(r->sent_at, ms),
	    on_limit, r);
}

void
http_answer_begins(struct http_req *r)
{
	r->head_at = qo_mono_now();
	set_limit(r, r->total_ms);
}

/* Transfers */

static struct http_xfer *
xfer_get(struct http *h)
{
	struct http_xfer *x = SLIST_FIRST(&h->spare);

	if (x != NULL) {
		SLIST_REMOVE_HEAD(&h->spare, spare);
		return x;
	}
	x = http_xfer_new(&h->conf);
	http_socks_serve(&h->socks, x->easy);
	return x;
}

static void
finish(struct http_req *r)
{
	struct http *h = r->http;

	loop_timer_del(h->loop, &r->limit);
	r->http = NULL;
	r->done(r); /* r may be gone now */
}

static void on_go(struct loop_task *t);

/* Takes the request off libcurl and names what happened. */
static void
settle(struct http_req *r, CURLcode code)
{
	struct http *h = r->http;
	struct http_xfer *x = r->xfer;

	http_xfer_judge(x, code);
	curl_multi_remove_handle(h->multi, x->easy);
	h->nactive--;
	x->req = NULL;
	r->xfer = NULL;
	SLIST_INSERT_HEAD(&h->spare, x, spare);
	if (!TAILQ_EMPTY(&h->waiting)) /* there is room for it now */
		loop_defer(h->loop, &h->go, on_go, h);
}

static void
reap(void *arg)
{
	struct http *h = arg;
	struct http_xfer *x;
	struct http_req *r;
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(h->multi, &left)) != NULL) {
		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &x);
		r = x->req;
		settle(r, msg->data.result);
		finish(r);
	}
}

static void
on_limit(struct loop_timer *t)
{
	struct http_req *r = t->arg;

	settle(r, CURLE_OPERATION_TIMEDOUT);
	snprintf(r->message, sizeof(r->message), "no %sanswer within %lld ms",
	    r->head_in.len > 0 ? "whole " : "", (long long)r->limit_ms);
	finish(r);
}

static void
start_failed(struct loop_task *t)
{
	finish(t->arg);
}

static void
start(struct http *h, struct http_req *r)
{
	CURLMcode rc;

	r->xfer = xfer_get(h);
	h->nactive++;
	http_xfer_load(r->xfer, r);
	r->sent_at = qo_mono_now();
	set_limit(r, r->first_byte_ms);
	rc = curl_multi_add_handle(h->multi, r->xfer->easy);
	if (rc != CURLM_OK) {
		settle(r, CURLE_FAILED_INIT);
		r->result = HTTP_UNSENT;
		snprintf(r->message, sizeof(r->message), "libcurl: %s",
		    curl_multi_strerror(rc));
		loop_timer_del(h->loop, &r->limit);
		loop_defer(h->loop, &r->late, start_failed, r);
	}
}

/* All that were sent in this turn of the loop, one after the other and after
 * all that was ready: taking answers and sending requests by turns costs half
 * as much again, by what falls out of the CPU's caches and by a server that
 * sleeps between two requests and has to be woken for each. */
static void
on_go(struct loop_task *t)
{
	struct http *h = t->arg;
	struct http_req *r;

	while ((r = TAILQ_FIRST(&h->waiting)) != NULL &&
	    h->nactive < h->conf.max_connections) {
		TAILQ_REMOVE(&h->waiting, r, link);
		start(h, r);
	}
	http_socks_act(&h->socks);
}

void
http_send(struct http *h, struct http_req *r)
{
	r->http = h;
	r->xfer = NULL;
	if (r->body_in.data == NULL) {
		buf_init(&r->body_in, r->response_max);
		buf_init(&r->head_in, HTTP_HEAD_MAX);
		buf_init_secret(&r->head_out, HTTP_HEAD_OUT_MAX);
	}
	buf_reset(&r->body_in);
	buf_reset(&r->head_in);
	r->body_in.max = r->response_max;
	http_xfer_keep_headers(r);
	TAILQ_INSERT_TAIL(&h->waiting, r, link);
	loop_defer(h->loop, &h->go, on_go, h);
}

void
http_cancel(struct http_req *r)
{
	struct http *h = r->http;

	if (h == NULL)
		return;
	loop_timer_del(h->loop, &r->limit);
	if (r->late.queued)
		loop_defer_del(h->loop, &r->late);
	else if (r->xfer != NULL)
		settle(r, CURLE_ABORTED_BY_CALLBACK);
	else
		TAILQ_REMOVE(&h->waiting, r, link);
	r->http = NULL;
}

void
http_fini(struct http_req *r)
{
	http_cancel(r);
	if (r->body_in.data == NULL)
		return;
	buf_fini(&r->body_in);
	buf_fini(&r->head_in);
	buf_fini(&r->head_out);
	r->body_in.data = NULL;
}

struct http *
http_new(struct loop *l, const struct http_conf *conf)
{
	static bool once;
	struct http *h;

	if (!once && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		fatalx("libcurl can not start");
	once = true;
	h = xcalloc(1, sizeof(*h));
	h->loop = l;
	h->conf = *conf;
	h->conf.ca_file = xstrdup_null(conf->ca_file);
	h->conf.unix_socket = xstrdup_null(conf->unix_socket);
	h->multi = curl_multi_init();
	if (h->multi == NULL)
		fatalx("libcurl: no multi handle");
	TAILQ_INIT(&h->waiting);
	SLIST_INIT(&h->spare);
	http_socks_init(&h->socks, l, h->multi, reap, h);
	curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS,
	    (long)conf->max_connections);
	return h;
}

void
http_free(struct http *h)
{
	struct http_xfer *x;

	if (h == NULL)
		return;
	if (h->nactive > 0 || !TAILQ_EMPTY(&h->waiting))
		qo_bug("http_free with requests under way");
	while ((x = SLIST_FIRST(&h->spare)) != NULL) {
		SLIST_REMOVE_HEAD(&h->spare, spare);
		http_xfer_free(x);
	}
	curl_multi_cleanup(h->multi); /* closes the connections */
	http_socks_fini(&h->socks);
	loop_defer_del(h->loop, &h->go);
	free((char *)h->conf.ca_file);
	free((char *)h->conf.unix_socket);
	free(h);
}

const char *
http_header(const struct http_req *r, const char *name, size_t *len)
{
	const char *p = r->head_in.data, *end = p + r->head_in.len;
	const char *eol, *found = NULL, *v;
	size_t nlen = strlen(name);

	for (; p < end; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (eol == NULL)
			break;
		if ((size_t)(eol - p) <= nlen || p[nlen] != ':' ||
		    strncasecmp(p, name, nlen) != 0)
			continue;
		v = p + nlen + 1;
		while (v < eol && (*v == ' ' || *v == '\t'))
			v++;
		found = v;
		*len = (size_t)(eol - v);
		while (*len > 0 && strchr(" \t\r", v[*len - 1]) != NULL)
			(*len)--;
	}
	return found;
}

int
http_header_copy(const struct http_req *r, const char *name, char *out,
    size_t size)
{
	const char *v;
	size_t len;

	out[0] = '\0';
	v = http_header(r, name, &len);
	if (v == NULL || len >= size || memchr(v, '\0', len) != NULL)
		return -1;
	memcpy(out, v, len);
	out[len] = '\0';
	return 0;
}
