#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "httpd_int.h"
#include "xalloc.h"

/* Room for a piece of a body behind the head. */
#define BODY_ROOM (64 * 1024)
/* After the last answer the client gets this long to read it and close: with
 * its unread bytes here, an early close would reset the connection and
 * destroy the answer on its way. */
#define LINGER_MS   5000
#define LINGER_STEP 16384
#define LINGER_TURN 16

static void conn_run(struct httpd_conn *c);
static void conn_timer(struct loop_timer *t);

/* Waiting */

static void
set_timer(struct httpd_conn *c, int64_t ms)
{
	struct loop *l = c->h->loop;

	c->timed = c->state;
	loop_timer_set(l, &c->timer, qo_mono_add_ms(loop_now(l), ms),
	    conn_timer, c);
}

static void
idle_remove(struct httpd_conn *c)
{
	if (!c->in_idle)
		return;
	TAILQ_REMOVE(&c->h->idle, c, idle);
	c->in_idle = false;
}

/* Idle or lingering: one that may be closed when room is needed. */
static void
park_idle(struct httpd_conn *c, int64_t ms)
{
	idle_remove(c);
	TAILQ_INSERT_TAIL(&c->h->idle, c, idle);
	c->in_idle = true;
	if (c->work != NULL) {
		httpd_work_put(c->h, c->work);
		c->work = NULL;
	}
	set_timer(c, ms);
}

static uint32_t
wait_events(const struct httpd_conn *c)
{
	if (c->eof)
		return 0;
	if (c->work->in_len < c->work->in_cap)
		return EPOLLIN;
	/* Read ahead enough; only a client that leaves is of interest. */
	return c->hold ? EPOLLRDHUP : 0;
}

/* Nothing more to do until something happens: says what, and for how long
 * it may take. */
static void
conn_park(struct httpd_conn *c)
{
	const struct httpd_conf *conf = &c->h->conf;
	uint32_t events = EPOLLIN;
	bool entered = c->timed != c->state || !loop_timer_is_set(&c->timer);

	switch (c->state) {
	case CONN_IDLE:
		park_idle(c, conf->idle_ms);
		break;
	case CONN_HEAD:
		/* For the whole head: not prolonged by a byte now and then. */
		if (entered)
			set_timer(c, conf->head_ms);
		break;
	case CONN_BODY:
	case CONN_DRAIN:
		if (entered) {
			c->received = 0;
			set_timer(c, conf->body_ms);
		}
		break;
	case CONN_WAIT:
		loop_timer_del(c->h->loop, &c->timer);
		events = wait_events(c);
		break;
	case CONN_SEND:
		if (entered || c->progress)
			set_timer(c, conf->send_ms);
		c->progress = false;
		events = EPOLLOUT;
		break;
	case CONN_LINGER:
		park_idle(c,
		    conf->send_ms < LINGER_MS ? conf->send_ms : LINGER_MS);
		break;
	}
	loop_io_set(c->h->loop, &c->io, events);
}

static void
conn_timer(struct loop_timer *t)
{
	struct httpd_conn *c = t->arg;

	/* An answer was given in this turn: conn_run is about to follow. */
	if (c->timed != c->state)
		return;
	switch (c->state) {
	case CONN_HEAD:
		conn_error(c, 408, "the head took too long");
		break;
	case CONN_BODY:
		if (c->received >= c->h->conf.body_ms_bytes) {
			c->received = 0;
			set_timer(c, c->h->conf.body_ms);
		} else
			conn_error(c, 408, "the body comes too slowly");
		break;
	case CONN_IDLE:
	case CONN_WAIT:
	case CONN_SEND:
	case CONN_DRAIN:
	case CONN_LINGER:
		conn_close(c);
		break;
	}
}

/* Input */

/* Grows the input; only while nobody has pointers into it. */
static void
input_room(struct httpd_work *w, size_t cap)
{
	if (w->in_cap >= cap)
		return;
	w->in = xreallocarray(w->in, cap, 1);
	w->in_cap = cap;
}

/* One read.  False: nothing came, or the connection is closed now. */
static bool
conn_fill(struct httpd_conn *c)
{
	struct httpd_work *w;
	ssize_t n;

	if (c->work == NULL)
		c->work = httpd_work_get(c->h);
	w = c->work;
	if (w->in_len == w->in_cap) {
		/* Deaf but for EPOLLRDHUP. */
		c->eof = true;
		return true;
	}
	n = recv(c->io.fd, w->in + w->in_len, w->in_cap - w->in_len, 0);
	if (n == -1) {
		if (errno == EAGAIN || errno == EINTR)
			return false;
		conn_close(c);
		return false;
	}
	c->eof = n == 0;
	w->in_len += (size_t)n;
	c->received += (size_t)n;
	return true;
}

static void
linger_read(struct httpd_conn *c)
{
	char scratch[LINGER_STEP];
	ssize_t n;
	int i;

	for (i = 0; i < LINGER_TURN; i++) {
		n = recv(c->io.fd, scratch, sizeof(scratch), 0);
		if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
			conn_close(c);
			return;
		}
		if (n < (ssize_t)sizeof(scratch))
			return;
	}
}

static void
conn_io(struct loop_io *io, uint32_t events)
{
	struct httpd_conn *c = io->arg;

	if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
		conn_close(c);
		return;
	}
	if (c->state == CONN_LINGER) {
		linger_read(c);
		return;
	}
	if (c->state != CONN_SEND && !conn_fill(c))
		return;
	conn_run(c);
}

/* States.  Each returns true when the next state can be tried at once and
 * false when the connection waits, or is no more. */

static bool
next_input(struct httpd_conn *c)
{
	if (c->eof) {
		conn_close(c);
		return false;
	}
	conn_park(c);
	return false;
}

static void
fill_request(struct httpd_conn *c)
{
	struct httpd_work *w = c->work;
	struct httpparse *p = &w->parse;
	struct httpd_req *r = &c->req;
	size_t i;

	r->method = w->in + p->method;
	r->path = w->in + p->path;
	r->query = w->in + p->query;
	for (i = 0; i < p->nfields; i++) {
		w->headers[i].name = w->in + p->fields[i].name;
		w->headers[i].value = w->in + p->fields[i].value;
	}
	r->headers = w->headers;
	r->nheaders = p->nfields;
	r->content_length = p->content_length;
	r->expect_continue = p->expect_continue;
	r->user = NULL;
}

static void
conn_begin(struct httpd_conn *c)
{
	struct httpd_work *w = c->work;
	struct httpparse *p = &w->parse;
	size_t room = BODY_ROOM;

	if (p->content_length >= 0 && p->content_length < BODY_ROOM)
		room = (size_t)p->content_length;
	input_room(w, p->head_len + room);
	w->in_pos = p->head_len;
	fill_request(c);
	c->http10 = p->http10;
	c->head_only = strcmp(c->req.method, "HEAD") == 0;
	c->body_left = p->content_length;
	if (c->body_left == -1)
		httpchunk_init(&w->chunk);
	c->open = true;
	c->state = CONN_WAIT;
	/* No body to ask for, but botocore misreads the next answer on a
	 * connection where a final one came in place of the 100. */
	if (p->expect_continue && p->content_length == 0)
		conn_send_continue(c);
	c->h->ops->head(&c->req, c->h->arg);
	if (c->state != CONN_WAIT)
		return;
	if (c->too_large)
		conn_error(c, 413, "the body is too large");
	else if (c->taken)
		c->state = CONN_BODY;
}

static bool
state_head(struct httpd_conn *c)
{
	struct httpd_work *w = c->work;

	if (w == NULL || w->in_len == 0) {
		c->state = CONN_IDLE;
		return next_input(c);
	}
	c->state = CONN_HEAD;
	switch (httpparse_head(&w->parse, w->in, w->in_len)) {
	case HTTPPARSE_DONE:
		conn_begin(c);
		return true;
	case HTTPPARSE_BAD:
		conn_error(c, w->parse.status, w->parse.reason);
		return true;
	case HTTPPARSE_MORE:
	case HTTPPARSE_DATA:
		break;
	}
	/* The parser complains at head_max, so this is bounded. */
	if (w->in_len == w->in_cap)
		input_room(w, w->in_cap * 2);
	return next_input(c);
}

static void
body_complete(struct httpd_conn *c)
{
	c->body_left = 0;
	c->state = CONN_WAIT;
	c->h->ops->end(&c->req, c->h->arg);
}

/* All used: the room behind the head is free again. */
static bool
body_more(struct httpd_conn *c)
{
	struct httpd_work *w = c->work;

	w->in_pos = w->in_len = w->parse.head_len;
	return next_input(c);
}

static bool
body_chunked(struct httpd_conn *c)
{
	struct httpd_work *w = c->work;
	const char *data;
	size_t used, len;

	switch (httpchunk_next(&w->chunk, w->in + w->in_pos,
	    w->in_len - w->in_pos, &used, &data, &len)) {
	case HTTPPARSE_DATA:
		w->in_pos += used;
		c->body_seen += (int64_t)len;
		if (c->body_seen > c->body_max)
			conn_error(c, 413, "the body is too large");
		else
			c->h->ops->body(&c->req, data, len, c->h->arg);
		return true;
	case HTTPPARSE_DONE:
		w->in_pos += used;
		body_complete(c);
		return true;
	case HTTPPARSE_BAD:
		conn_error(c, 400, w->chunk.reason);
		return true;
	case HTTPPARSE_MORE:
		break;
	}
	return body_more(c);
}

/* How much of the body is here; it is taken off body_left. */
static size_t
body_piece(struct httpd_conn *c)
{
	struct httpd_work *w = c->work;
	size_t n = w->in_len - w->in_pos;

	if ((int64_t)n > c->body_left)
		n = (size_t)c->body_left;
	w->in_pos += n;
	c->body_left -= (int64_t)n;
	return n;
}

static bool
state_body(struct httpd_conn *c)
{
	struct httpd_work *w = c->work;
	size_t n;

	if (c->broken) {
		conn_close(c);
		return false;
	}
	if (c->body_left == -1)
		return body_chunked(c);
	n = body_piece(c);
	if (n > 0)
		c->h->ops->body(&c->req, w->in + w->in_pos - n, n, c->h->arg);
	if (c->state != CONN_BODY)
		return true;
	if (c->body_left > 0)
		return body_more(c);
	body_complete(c);
	return true;
}

static bool
state_wait(struct httpd_conn *c)
{
	if (c->eof && c->hold)
		conn_close(c);
	else
		conn_park(c);
	return false;
}

/* The answer is out and the next request, if any, is at in_pos. */
static void
conn_next(struct httpd_conn *c)
{
	struct httpd_work *w = c->work;

	w->in_len -= w->in_pos;
	memmove(w->in, w->in + w->in_pos, w->in_len);
	w->in_pos = 0;
	httpparse_init(&w->parse, c->h->conf.head_max, c->h->conf.uri_max);
	c->taken = c->too_large = c->hold = c->head_only = false;
	c->body_seen = c->body_max = 0;
	/* A new head has its own time, also when it is begun already. */
	c->state = c->timed = CONN_IDLE;
}

static bool
state_send(struct httpd_conn *c)
{
	enum send_rc rc = SEND_BROKEN;

	if (!c->broken)
		rc = conn_write(c);
	if (rc == SEND_BROKEN || (rc == SEND_DONE && c->close && c->eof)) {
		conn_close(c);
		return false;
	}
	if (rc == SEND_BLOCKED) {
		conn_park(c);
		return false;
	}
	conn_output_reset(c->work);
	if (c->close) {
		shutdown(c->io.fd, SHUT_WR);
		c->state = CONN_LINGER;
		conn_park(c);
		return false;
	}
	c->state = CONN_DRAIN;
	return true;
}

static bool
state_drain(struct httpd_conn *c)
{
	body_piece(c);
	if (c->body_left > 0)
		return body_more(c);
	conn_next(c);
	return true;
}

static bool
conn_step(struct httpd_conn *c)
{
	switch (c->state) {
	case CONN_IDLE:
	case CONN_HEAD:
		return state_head(c);
	case CONN_BODY:
		return state_body(c);
	case CONN_WAIT:
		return state_wait(c);
	case CONN_SEND:
		return state_send(c);
	case CONN_DRAIN:
		return state_drain(c);
	case CONN_LINGER:
		break;
	}
	return false;
}

static void
conn_run(struct httpd_conn *c)
{
	struct httpd *h = c->h;

	/* A lingering one has nothing to do, and its place in the list. */
	if (c->state == CONN_LINGER)
		return;
	idle_remove(c);
	h->running = c;
	while (conn_step(c))
		continue;
	h->running = NULL;
}

static void
conn_task(struct loop_task *t)
{
	conn_run(t->arg);
}

void
conn_kick(struct httpd_conn *c)
{
	/* Never from here: the caller may be in the middle of something, and
	 * the next request would call it again. */
	if (c->h->running != c)
		loop_defer(c->h->loop, &c->task, conn_task, c);
}

void
conn_new(struct httpd *h, int fd, const char *peer, bool local, bool over)
{
	struct httpd_conn *c;

	c = xcalloc(1, sizeof(*c));
	if (loop_io_add(h->loop, &c->io, fd, EPOLLIN, conn_io, c) == -1) {
		close(fd);
		free(c);
		return;
	}
	c->h = h;
	c->req.local = local;
	strlcpy(c->req.peer, peer, sizeof(c->req.peer));
	LIST_INSERT_HEAD(&h->all, c, all);
	h->nconns++;
	if (over)
		conn_error(c, 503, "too many connections");
	else
		conn_park(c);
}

void
conn_close(struct httpd_conn *c)
{
	struct httpd *h = c->h;

	idle_remove(c);
	LIST_REMOVE(c, all);
	loop_timer_del(h->loop, &c->timer);
	loop_defer_del(h->loop, &c->task);
	loop_io_del(h->loop, &c->io);
	close(c->io.fd);
	if (c->open) {
		c->open = false;
		h->ops->gone(&c->req, h->arg);
	}
	if (c->work != NULL)
		httpd_work_put(h, c->work);
	free(c);
	httpd_freed(h);
}

void
httpd_body_take(struct httpd_req *r, int64_t max)
{
	struct httpd_conn *c = (struct httpd_conn *)r;

	c->taken = true;
	c->body_max = max;
	c->too_large = r->content_length > max;
	if (r->expect_continue && r->content_length != 0 && !c->too_large)
		conn_send_continue(c);
}

void
httpd_hold(struct httpd_req *r)
{
	struct httpd_conn *c = (struct httpd_conn *)r;

	c->hold = true;
	if (c->eof)
		conn_kick(c);
}
