#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http.h"
#include "log.h"
#include "xalloc.h"

/* 16 KiB instead of libcurl's 64: with 256 connections that is 12 MiB. */
#define CURL_BUFFER 16384L
/* Servers close idle connections after 60 s or later: we are first, so that
 * a request rarely meets a dead one (libcurl then sends it again). */
#define CONN_MAX_AGE_S    45L
#define HTTP_HEAD_OUT_MAX 65536
#define EXPECT_BEYOND     65536 /* libcurl waits for 100 from 1 MiB on */

struct http_xfer {
	struct http_xfer *next_free;
	CURL *easy;
	struct http_req *req;
	/* libcurl only reads its header list, so the nodes are ours and no
	 * request allocates any.  Room for two more than the caller's. */
	struct curl_slist nodes[HTTP_HEADERS_MAX + 3];
	char error[CURL_ERROR_SIZE];
	const char *method; /* set in easy; NULL: none yet */
	char *url;          /* the same */
	bool has_target;
	bool too_big;
	bool garbled;
};

/* A socket of libcurl's in our loop.  A connection stays there while it is
 * idle, until it is closed: else every request would cost the kernel one
 * registration more.  One that never came about is closed by libcurl without
 * close_conn; its number may be back at once. */
struct http_sock {
	struct loop_io io;
	struct http *http;
	bool is_conn; /* made by open_conn, ends by close_conn */
	bool is_up;   /* libcurl has waited for input */
	bool idle;    /* libcurl waits for nothing here */
};

struct http {
	struct loop *loop;
	CURLM *multi;
	struct http_conf conf;
	struct loop_timer timer;
	struct loop_task soon; /* libcurl wants to be called */
	struct loop_task go;   /* requests are to be started */
	struct http_xfer *free_xfers;
	struct http_req *waiting, *waiting_last;
	struct http_req *active;
	size_t nactive;
	struct http_sock **socks; /* by descriptor; NULL: none */
	size_t nsocks;
};

/* Lists */

static void
waiting_add(struct http *h, struct http_req *r)
{
	r->prev = h->waiting_last;
	r->next = NULL;
	if (h->waiting_last != NULL)
		h->waiting_last->next = r;
	else
		h->waiting = r;
	h->waiting_last = r;
}

static void
waiting_del(struct http *h, struct http_req *r)
{
	if (r->prev != NULL)
		r->prev->next = r->next;
	else
		h->waiting = r->next;
	if (r->next != NULL)
		r->next->prev = r->prev;
	else
		h->waiting_last = r->prev;
}

static void
active_add(struct http *h, struct http_req *r)
{
	r->prev = NULL;
	r->next = h->active;
	if (h->active != NULL)
		h->active->prev = r;
	h->active = r;
	h->nactive++;
}

static void
active_del(struct http *h, struct http_req *r)
{
	if (r->prev != NULL)
		r->prev->next = r->next;
	else
		h->active = r->next;
	if (r->next != NULL)
		r->next->prev = r->prev;
	h->nactive--;
}

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

/* What libcurl calls while it works */

static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
	struct http_xfer *x = arg;

	(void)size; /* always 1 */
	if (buf_add(&x->req->body_in, p, n) == -1) {
		x->too_big = true;
		return 0;
	}
	return n;
}

static size_t
on_header(char *p, size_t size, size_t n, void *arg)
{
	struct http_xfer *x = arg;
	struct http_req *r = x->req;

	(void)size;
	/* A status line: an interim answer (100) may have come before. */
	if (n > 5 && memcmp(p, "HTTP/", 5) == 0) {
		buf_reset(&r->head_in);
		r->head_at = qo_mono_now();
		set_limit(r, r->total_ms);
	}
	if (buf_add(&r->head_in, p, n) == -1) {
		x->garbled = true;
		return 0;
	}
	return n;
}

static struct http_sock *
sock_get(struct http *h, int fd)
{
	struct http_sock *s;
	size_t i = (size_t)fd, n;

	if (i >= h->nsocks) {
		n = i + 64;
		h->socks = xreallocarray(h->socks, n, sizeof(*h->socks));
		memset(h->socks + h->nsocks, 0,
		    (n - h->nsocks) * sizeof(*h->socks));
		h->nsocks = n;
	}
	s = h->socks[i];
	if (s == NULL) {
		s = h->socks[i] = xcalloc(1, sizeof(*s));
		s->http = h;
	}
	return s;
}

static void
sock_drop(struct http *h, int fd)
{
	struct http_sock *s = sock_get(h, fd);

	loop_io_del(h->loop, &s->io);
	h->socks[fd] = NULL;
	free(s);
}

static curl_socket_t
open_conn(void *arg, curlsocktype what, struct curl_sockaddr *to)
{
	int fd;

	(void)what;
	fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
	if (fd == -1)
		return CURL_SOCKET_BAD;
	sock_drop(arg, fd); /* what is left of one that never came about */
	sock_get(arg, fd)->is_conn = true;
	return fd;
}

static int
close_conn(void *arg, curl_socket_t fd)
{
	sock_drop(arg, fd);
	return close(fd);
}

static void on_sock_event(struct loop_io *io, uint32_t events);

static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *sockp)
{
	struct http *h = arg;
	struct http_sock *s = sock_get(h, fd);
	uint32_t events = 0;

	(void)easy;
	(void)sockp;
	s->idle = what == CURL_POLL_REMOVE;
	if (s->idle) {
		if (!s->is_conn || !s->is_up)
			sock_drop(h, fd);
		return 0;
	}
	if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) {
		s->is_up = true;
		events |= EPOLLIN;
	}
	if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
		events |= EPOLLOUT;
	if (s->io.events != 0)
		loop_io_set(h->loop, &s->io, events);
	else if (loop_io_add(h->loop, &s->io, fd, events, on_sock_event, s) ==
	    -1)
		fatal("epoll_ctl fd %d", fd);
	return 0;
}

static void on_timer(struct loop_timer *t);
static void on_soon(struct loop_task *t);

static int
on_timeout(CURLM *multi, long ms, void *arg)
{
	struct http *h = arg;

	(void)multi;
	loop_defer_del(h->loop, &h->soon);
	if (ms <= 0)
		loop_timer_del(h->loop, &h->timer);
	if (ms == 0)
		/* Still in this turn of the loop. */
		loop_defer(h->loop, &h->soon, on_soon, h);
	else if (ms > 0)
		loop_timer_set_ms(h->loop, &h->timer, ms, on_timer, h);
	return 0;
}

/* Transfers */

static CURL *
easy_new(struct http *h, struct http_xfer *x)
{
	CURL *e;

	e = curl_easy_init();
	if (e == NULL)
		fatalx("libcurl: no handle");
	curl_easy_setopt(e, CURLOPT_PRIVATE, x);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, x->error);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, x);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, open_conn);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, h);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, close_conn);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, h);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
	/* No proxy from the environment, no redirect, no path clean-up: a
	 * request goes where it was signed for or nowhere. */
	curl_easy_setopt(e, CURLOPT_PROXY, "");
	curl_easy_setopt(e, CURLOPT_NOPROXY, "");
	curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, CURL_BUFFER);
	curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, CURL_BUFFER);
	curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, CONN_MAX_AGE_S);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
	    (long)h->conf.connect_ms);
	/* Instead of what the system trusts, not besides it. */
	if (h->conf.ca_file != NULL) {
		curl_easy_setopt(e, CURLOPT_CAINFO, h->conf.ca_file);
		curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	}
	if (h->conf.unix_socket != NULL)
		curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH,
		    h->conf.unix_socket);
	return e;
}

static struct http_xfer *
xfer_get(struct http *h)
{
	struct http_xfer *x;

	x = h->free_xfers;
	if (x != NULL) {
		h->free_xfers = x->next_free;
		return x;
	}
	x = xcalloc(1, sizeof(*x));
	x->easy = easy_new(h, x);
	return x;
}

static void
xfer_put(struct http *h, struct http_xfer *x)
{
	x->req = NULL;
	x->next_free = h->free_xfers;
	h->free_xfers = x;
}

/* As POSTFIELDS the body leaves with the head in one write, and a re-send on
 * a dead connection needs no callback. */
static bool
has_body(const struct http_req *r)
{
	return r->body != NULL || r->method[0] == 'P';
}

static void
set_method(struct http_xfer *x, const struct http_req *r)
{
	CURL *e = x->easy;

	if (has_body(r)) {
		curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)r->body_len);
		curl_easy_setopt(e, CURLOPT_POSTFIELDS,
		    r->body == NULL ? "" : r->body);
	}
	/* The same as last time, as most are. */
	if (x->method != NULL && strcmp(x->method, r->method) == 0)
		return;
	x->method = r->method;
	/* In this order: each of these also changes the method. */
	curl_easy_setopt(e, CURLOPT_NOBODY, 0L);
	if (has_body(r))
		curl_easy_setopt(e, CURLOPT_POST, 1L);
	else
		curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
	if (strcmp(r->method, "HEAD") == 0) {
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, NULL);
		curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
	} else {
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, r->method);
	}
}

/* libcurl takes a URL apart and puts it together again letter by letter: it
 * gets a short one, which stays the same. */
static void
set_url(struct http_xfer *x, const struct http_req *r)
{
	if (x->url == NULL || strcmp(x->url, r->url) != 0) {
		free(x->url);
		x->url = xstrdup(r->url);
		curl_easy_setopt(x->easy, CURLOPT_URL, r->url);
	}
	if (r->target != NULL || x->has_target)
		curl_easy_setopt(x->easy, CURLOPT_REQUEST_TARGET, r->target);
	x->has_target = r->target != NULL;
}

/* The headers as strings one behind the other, for as long as the request
 * may have to wait or to be sent again. */
static void
keep_headers(struct http_req *r)
{
	struct buf *b = &r->head_out;
	bool typed = false;
	size_t i;

	if (r->nheaders > HTTP_HEADERS_MAX)
		qo_bug("http: %zu headers", r->nheaders);
	buf_reset(b);
	for (i = 0; i < r->nheaders; i++) {
		/* libcurl writes Host itself, from the URL. */
		if (strcmp(r->headers[i].name, "host") == 0)
			continue;
		typed |= strcmp(r->headers[i].name, "content-type") == 0;
		buf_adds(b, r->headers[i].name);
		/* "name:" alone would remove it, "name;" sends it empty. */
		buf_adds(b, r->headers[i].value[0] == '\0' ? ";" : ": ");
		buf_add(b, r->headers[i].value,
		    strlen(r->headers[i].value) + 1);
	}
	/* Without these libcurl would add what was not asked for. */
	if (r->body_len > EXPECT_BEYOND)
		buf_add(b, "Expect:", 8);
	if (!typed && has_body(r))
		buf_add(b, "Content-Type:", 14);
	if (buf_failed(b))
		qo_bug("http: headers too large");
}

static void
set_headers(struct http_xfer *x, struct http_req *r)
{
	char *p = r->head_out.data, *end = p + r->head_out.len;
	size_t n = 0;

	for (; p < end; p += strlen(p) + 1) {
		x->nodes[n].data = p;
		x->nodes[n].next = &x->nodes[n + 1];
		n++;
	}
	if (n > 0)
		x->nodes[n - 1].next = NULL;
	curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, n > 0 ? x->nodes : NULL);
}

static void
finish(struct http_req *r)
{
	struct http *h = r->http;

	loop_timer_del(h->loop, &r->limit);
	r->http = NULL;
	r->done(r); /* r may be gone now */
}

static bool
head_is_whole(const struct buf *head)
{
	return head->len >= 4 &&
	    memcmp(head->data + head->len - 4, "\r\n\r\n", 4) == 0;
}

static void on_go(struct loop_task *t);

/* Takes the request off libcurl and names what happened. */
static void
settle(struct http_req *r, CURLcode code)
{
	struct http *h = r->http;
	struct http_xfer *x = r->xfer;
	long status = 0, sent = 0;

	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(x->easy, CURLINFO_REQUEST_SIZE, &sent);
	r->status = (int)status;
	r->timed_out = code == CURLE_OPERATION_TIMEDOUT;
	/* libcurl takes a head that breaks off for a whole one. */
	if (code == CURLE_OK && !head_is_whole(&r->head_in))
		code = CURLE_GOT_NOTHING;
	if (code == CURLE_OK)
		r->result = HTTP_DONE;
	else if (x->too_big || code == CURLE_FILESIZE_EXCEEDED)
		r->result = HTTP_TOO_BIG;
	else if (sent == 0)
		r->result = HTTP_UNSENT;
	else if (x->garbled || code == CURLE_WEIRD_SERVER_REPLY ||
	    code == CURLE_UNSUPPORTED_PROTOCOL)
		r->result = HTTP_GARBLED;
	else
		r->result = HTTP_CUT;
	r->message[0] = '\0';
	if (r->result == HTTP_TOO_BIG)
		snprintf(r->message, sizeof(r->message),
		    "the answer is larger than %zu bytes", r->response_max);
	else if (x->garbled)
		snprintf(r->message, sizeof(r->message),
		    "the answer's headers are larger than %d bytes",
		    HTTP_HEAD_MAX);
	else if (code != CURLE_OK)
		snprintf(r->message, sizeof(r->message), "%s",
		    x->error[0] != '\0' ? x->error : curl_easy_strerror(code));
	curl_multi_remove_handle(h->multi, x->easy);
	active_del(h, r);
	xfer_put(h, x);
	r->xfer = NULL;
	if (h->waiting != NULL) /* there is room for it now */
		loop_defer(h->loop, &h->go, on_go, h);
}

static void
reap(struct http *h)
{
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
on_sock_event(struct loop_io *io, uint32_t events)
{
	struct http_sock *s = io->arg;
	struct http *h = s->http;
	int bits = 0, running;

	/* Closed by the server, most likely: libcurl will see it when it wants
	 * the connection, and the loop must not see it all the time. */
	if (s->idle) {
		loop_io_del(h->loop, io);
		return;
	}
	if (events & EPOLLIN)
		bits |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		bits |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		bits |= CURL_CSELECT_ERR | CURL_CSELECT_IN;
	curl_multi_socket_action(h->multi, io->fd, bits, &running);
	reap(h);
}

static void
act_on_time(struct http *h)
{
	int running;

	curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	reap(h);
}

static void
on_timer(struct loop_timer *t)
{
	act_on_time(t->arg);
}

static void
on_soon(struct loop_task *t)
{
	act_on_time(t->arg);
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
	struct http_xfer *x;
	CURLMcode rc;

	x = xfer_get(h);
	x->req = r;
	x->too_big = x->garbled = false;
	x->error[0] = '\0';
	r->xfer = x;
	active_add(h, r);
	set_method(x, r);
	set_url(x, r);
	set_headers(x, r);
	/* HEAD names a length that never comes. */
	curl_easy_setopt(x->easy, CURLOPT_MAXFILESIZE_LARGE,
	    strcmp(r->method, "HEAD") == 0 ? (curl_off_t)0
					   : (curl_off_t)r->response_max);
	r->sent_at = qo_mono_now();
	set_limit(r, r->first_byte_ms);
	rc = curl_multi_add_handle(h->multi, x->easy);
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

	while ((r = h->waiting) != NULL &&
	    h->nactive < h->conf.max_connections) {
		waiting_del(h, r);
		start(h, r);
	}
	act_on_time(h);
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
	keep_headers(r);
	waiting_add(h, r);
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
		waiting_del(h, r);
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
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
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
	if (h->active != NULL || h->waiting != NULL)
		qo_bug("http_free with requests under way");
	while ((x = h->free_xfers) != NULL) {
		h->free_xfers = x->next_free;
		curl_easy_cleanup(x->easy);
		free(x->url);
		free(x);
	}
	curl_multi_cleanup(h->multi); /* closes the connections */
	loop_timer_del(h->loop, &h->timer);
	loop_defer_del(h->loop, &h->soon);
	loop_defer_del(h->loop, &h->go);
	free(h->socks);
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
