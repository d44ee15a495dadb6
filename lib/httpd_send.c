#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "httpd_int.h"
#include "log.h"
#include "xalloc.h"

/* What is left of a body after an early answer is read and dropped up to
 * here; beyond, a new connection is cheaper for both. */
#define DRAIN_MAX 65536
/* One file may be sent so far before others get their turn. */
#define FILE_TURN (4 * 1024 * 1024)

static const struct {
	int status;
	const char *text;
} reasons[] = {
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 206, "Partial Content" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 304, "Not Modified" },
	{ 307, "Temporary Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 411, "Length Required" },
	{ 412, "Precondition Failed" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 416, "Range Not Satisfiable" },
	{ 417, "Expectation Failed" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 503, "Service Unavailable" },
	{ 505, "HTTP Version Not Supported" },
	{ 507, "Insufficient Storage" },
};

static const char *
reason_phrase(int status)
{
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "";
}

static const char *
date(struct httpd *h)
{
	struct qo_wall now = qo_wall_local();
	int64_t sec = now.us / QO_US_PER_SEC;

	if (sec != h->date_sec) {
		h->date_sec = sec;
		qo_httpdate_print(now, h->date);
	}
	return h->date;
}

/* Writing */

void
conn_output_reset(struct httpd_work *w)
{
	if (w->body_owned)
		free(w->body);
	w->body = NULL;
	w->body_owned = false;
	w->body_len = w->body_pos = 0;
	if (w->file != -1)
		close(w->file);
	w->file = -1;
	w->file_left = 0;
	buf_reset(&w->head);
	buf_reset(&w->fields);
	w->head_pos = 0;
}

static enum send_rc
write_failed(void)
{
	return errno == EAGAIN || errno == EINTR ? SEND_BLOCKED : SEND_BROKEN;
}

static enum send_rc
write_memory(struct httpd_conn *c)
{
	struct httpd_work *w = c->work;
	struct iovec iov[2];
	struct msghdr msg;
	size_t head, body;
	ssize_t n;

	while ((head = w->head.len - w->head_pos) +
		(body = w->body_len - w->body_pos) >
	    0) {
		iov[0].iov_base = w->head.data + w->head_pos;
		iov[0].iov_len = head;
		iov[1].iov_base = w->body + w->body_pos;
		iov[1].iov_len = body;
		memset(&msg, 0, sizeof(msg));
		msg.msg_iov = head > 0 ? iov : iov + 1;
		msg.msg_iovlen = head > 0 && body > 0 ? 2 : 1;
		n = sendmsg(c->io.fd, &msg,
		    MSG_NOSIGNAL | (w->file_left > 0 ? MSG_MORE : 0));
		if (n == -1)
			return write_failed();
		c->progress = true;
		if ((size_t)n < head) {
			w->head_pos += (size_t)n;
			continue;
		}
		w->head_pos += head;
		w->body_pos += (size_t)n - head;
	}
	return SEND_DONE;
}

static enum send_rc
write_file(struct httpd_conn *c)
{
	struct httpd_work *w = c->work;
	int64_t turn = FILE_TURN;
	ssize_t n;

	while (w->file_left > 0) {
		if (turn <= 0)
			return SEND_BLOCKED;
		n = sendfile(c->io.fd, w->file, &w->file_off,
		    (size_t)(w->file_left < turn ? w->file_left : turn));
		if (n == -1)
			return write_failed();
		if (n == 0) /* too short: the length was promised */
			return SEND_BROKEN;
		c->progress = true;
		w->file_left -= n;
		turn -= n;
	}
	return SEND_DONE;
}

enum send_rc
conn_write(struct httpd_conn *c)
{
	enum send_rc rc;

	rc = write_memory(c);
	return rc == SEND_DONE ? write_file(c) : rc;
}

void
conn_send_continue(struct httpd_conn *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	ssize_t n;

	n = send(c->io.fd, text, sizeof(text) - 1, MSG_NOSIGNAL);
	/* With a full socket it is left out: no client may wait for it
	 * forever.  A part of it is nothing that can be repaired. */
	if (n != (ssize_t)sizeof(text) - 1 && !(n == -1 && errno == EAGAIN))
		c->broken = true;
}

/* Answers */

/* The request whose answer begins now. */
static struct httpd_conn *
conn_of(struct httpd_req *r)
{
	struct httpd_conn *c = (struct httpd_conn *)r;

	if (!c->open)
		qo_bug("a request is answered twice");
	return c;
}

/* A body that is not wholly read when the answer goes out is dropped when it
 * is small and sure to come, else the connection can not be used again. */
static bool
must_close(const struct httpd_conn *c)
{
	if (c->http10 || c->work->parse.close || c->h->draining)
		return true;
	if (c->body_left == 0)
		return false;
	return c->body_left == -1 || c->body_left > DRAIN_MAX ||
	    (c->req.expect_continue && !c->taken);
}

static bool
bodyless(const struct httpd_conn *c, int status)
{
	return c->head_only || status == 204 || status == 304;
}

/* printf would be a tenth of what an answer costs us. */
static void
add_number(struct buf *b, int64_t n)
{
	char text[20], *p = text + sizeof(text);

	do
		*--p = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	buf_add(b, p, (size_t)(text + sizeof(text) - p));
}

static void
answer_head(struct httpd_conn *c, int status, int64_t length)
{
	struct httpd_work *w = c->work;
	struct buf *b = &w->head;

	c->close = c->close || must_close(c);
	buf_reset(b);
	w->head_pos = 0;
	buf_adds(b, "HTTP/1.1 ");
	add_number(b, status);
	buf_addc(b, ' ');
	buf_adds(b, reason_phrase(status));
	buf_adds(b, "\r\nDate: ");
	buf_adds(b, date(c->h));
	if (status != 204 && status != 304) {
		buf_adds(b, "\r\nContent-Length: ");
		add_number(b, length);
	}
	buf_adds(b, c->close ? "\r\nConnection: close\r\n" : "\r\n");
	buf_add(&w->head, w->fields.data, w->fields.len);
	buf_add(&w->head, "\r\n", 2);
	if (buf_failed(&w->fields) || buf_failed(&w->head))
		qo_bug("the headers of an answer are too long");
}

/* The request is the application's no more; what can be written at once is
 * written at once. */
static void
answer_begin(struct httpd_conn *c)
{
	struct httpd_work *w = c->work;
	size_t left;

	c->open = false;
	c->progress = false;
	c->state = CONN_SEND;
	if (conn_write(c) == SEND_BROKEN)
		c->broken = true;
	left = w->body_len - w->body_pos;
	if (!w->body_owned && left > 0 && !c->broken) {
		w->body = xmemdup0(w->body + w->body_pos, left);
		w->body_owned = true;
		w->body_len = left;
		w->body_pos = 0;
	}
	conn_kick(c);
}

void
httpd_send(struct httpd_req *r, int status, const void *body, size_t len)
{
	struct httpd_conn *c = conn_of(r);
	union {
		const void *in;
		void *out;
	} unconst = { .in = body };

	answer_head(c, status, (int64_t)len);
	if (!bodyless(c, status)) {
		c->work->body = unconst.out; /* only read */
		c->work->body_len = len;
	}
	answer_begin(c);
}

void
httpd_send_buf(struct httpd_req *r, int status, struct buf *body)
{
	struct httpd_conn *c = conn_of(r);
	struct httpd_work *w = c->work;

	answer_head(c, status, (int64_t)body->len);
	if (bodyless(c, status) || body->len == 0)
		buf_fini(body);
	else {
		w->body = buf_take(body, &w->body_len);
		w->body_owned = true;
	}
	answer_begin(c);
}

void
httpd_send_file(struct httpd_req *r, int status, int fd, int64_t off,
    int64_t len)
{
	struct httpd_conn *c = conn_of(r);

	answer_head(c, status, len);
	c->work->file = fd;
	if (!bodyless(c, status)) {
		c->work->file_off = (off_t)off;
		c->work->file_left = len;
	}
	answer_begin(c);
}

void
httpd_send_head(struct httpd_req *r, int status, int64_t length)
{
	struct httpd_conn *c = conn_of(r);

	if (!bodyless(c, status) && length != 0)
		qo_bug("a length without a body for %s", r->method);
	answer_head(c, status, length);
	answer_begin(c);
}

void
httpd_close_after(struct httpd_req *r)
{
	conn_of(r)->close = true;
}

static void
check_field(const char *name, const char *line)
{
	if (strpbrk(line, "\r\n") != NULL)
		qo_bug("line break in the header %s of an answer", name);
}

void
httpd_header_add(struct httpd_req *r, const char *name, const char *value)
{
	struct buf *b = &conn_of(r)->work->fields;

	check_field(name, value);
	buf_adds(b, name);
	buf_add(b, ": ", 2);
	buf_adds(b, value);
	buf_add(b, "\r\n", 2);
}

void
httpd_header_addf(struct httpd_req *r, const char *name, const char *fmt, ...)
{
	struct buf *b = &conn_of(r)->work->fields;
	va_list ap;
	size_t start;

	buf_adds(b, name);
	buf_add(b, ": ", 2);
	start = b->len;
	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
	check_field(name, b->data + start);
	buf_add(b, "\r\n", 2);
}

void
conn_error(struct httpd_conn *c, int status, const char *reason)
{
	struct httpd *h = c->h;
	struct buf *b, body;
	const char *type = "text/plain";

	if (c->open) {
		c->open = false;
		h->ops->gone(&c->req, h->arg);
	}
	if (c->work == NULL)
		c->work = httpd_work_get(h);
	c->close = true;
	b = &c->work->fields;
	buf_reset(b);
	buf_init(&body, 65536);
	if (h->ops->error != NULL)
		h->ops->error(status, reason, &body, &type, b, h->arg);
	else
		buf_addf(&body, "%s\n", reason);
	buf_addf(b, "Content-Type: %s\r\n", type);
	c->open = true; /* for httpd_send_buf; it has no owner now */
	httpd_send_buf(&c->req, status, &body);
}
