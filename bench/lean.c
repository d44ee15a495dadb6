#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "lean.h"
#include "log.h"
#include "sigv4.h"
#include "xalloc.h"

#define CONNS_MAX 256
#define ANSWER    (2 << 20)
#define HEADS_MAX ((size_t)2 << 30)

struct lean {
	int port;
	struct qo_sigv4_cred cred;
	struct qo_sigv4_signer *signer;
	char host[32];
	const void *body;
	size_t body_len;
	char sha_body[2 * SHA256_LEN + 1], sha_none[2 * SHA256_LEN + 1];
	struct buf heads; /* all requests, one behind the other */
	struct request {
		size_t off, len;
		bool has_body;
	} * requests;
	size_t n, room;
	size_t last_len;
};

struct conn {
	int fd;
	char *in;
	size_t len, need; /* need 0: the head is not whole yet */
	struct qo_mono start;
};

struct lean *
lean_new(int port, const char *access_key, const char *secret_key)
{
	struct lean *l = xcalloc(1, sizeof(*l));

	l->port = port;
	l->cred.access_key = access_key;
	l->cred.secret_key = secret_key;
	l->signer = qo_sigv4_new();
	snprintf(l->host, sizeof(l->host), "127.0.0.1:%d", port);
	sha256_hex("", 0, l->sha_none);
	buf_init(&l->heads, HEADS_MAX);
	return l;
}

void
lean_free(struct lean *l)
{
	qo_sigv4_free(l->signer);
	buf_fini(&l->heads);
	free(l->requests);
	free(l);
}

void
lean_body(struct lean *l, const void *body, size_t len)
{
	l->body = body;
	l->body_len = len;
	sha256_hex(body, len, l->sha_body);
}

void
lean_reset(struct lean *l)
{
	buf_reset(&l->heads);
	l->n = 0;
}

size_t
lean_count(const struct lean *l)
{
	return l->n;
}

size_t
lean_last_len(const struct lean *l)
{
	return l->last_len;
}

void
lean_add(struct lean *l, const char *method, const char *path,
    const char *query)
{
	bool put = strcmp(method, "PUT") == 0;
	struct qo_kv kv[3];
	struct qo_sigv4_req s;
	struct request *r;
	char date[QO_AMZDATE_SIZE];

	memset(&s, 0, sizeof(s));
	s.method = method;
	s.path = path;
	s.query = query;
	s.payload_hash = put ? l->sha_body : l->sha_none;
	s.region = "us-east-1";
	s.service = "s3";
	s.time = qo_wall_local();
	qo_amzdate_print(s.time, date);
	kv[0] = (struct qo_kv){ "host", l->host };
	kv[1] = (struct qo_kv){ "x-amz-content-sha256", s.payload_hash };
	kv[2] = (struct qo_kv){ "x-amz-date", date };
	s.headers = kv;
	s.nheaders = 3;
	if (l->n == l->room) {
		l->room = l->room * 2 + 1024;
		l->requests = xreallocarray(l->requests, l->room,
		    sizeof(*l->requests));
	}
	r = &l->requests[l->n++];
	r->off = l->heads.len;
	r->has_body = put;
	buf_addf(&l->heads,
	    "%s %s%s%s HTTP/1.1\r\nHost: %s\r\nX-Amz-Date: %s\r\n"
	    "X-Amz-Content-SHA256: %s\r\n",
	    method, path, query[0] != '\0' ? "?" : "", query, l->host, date,
	    s.payload_hash);
	if (put)
		buf_addf(&l->heads, "Content-Length: %zu\r\n", l->body_len);
	buf_adds(&l->heads, "Authorization: ");
	if (qo_sigv4_authorization(l->signer, &s, &l->cred, &l->heads, NULL) ==
	    -1)
		fatalx("can not sign %s", path);
	buf_adds(&l->heads, "\r\n\r\n");
	if (buf_failed(&l->heads))
		fatalx("too many requests for the memory");
	r->len = l->heads.len - r->off;
}

static void
conn_open(struct conn *c, int port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int on = 1;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sin.sin_port = htons((uint16_t)port);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd == -1 ||
	    connect(c->fd, (struct sockaddr *)&sin, sizeof(sin)) == -1)
		fatal("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	c->in = xmalloc(ANSWER);
}

static void
conn_send(const struct lean *l, struct conn *c, const struct request *r)
{
	struct iovec iov[2];
	ssize_t all;

	iov[0].iov_base = l->heads.data + r->off;
	iov[0].iov_len = r->len;
	iov[1].iov_base = (void *)l->body;
	iov[1].iov_len = r->has_body ? l->body_len : 0;
	all = (ssize_t)(iov[0].iov_len + iov[1].iov_len);
	c->len = c->need = 0;
	c->start = qo_mono_now();
	/* Far smaller than the socket's buffer. */
	if (writev(c->fd, iov, r->has_body ? 2 : 1) != all)
		fatal("write");
}

/* How long is the answer?  0 while its head is not whole. */
static size_t
answer_len(struct conn *c)
{
	const char *end, *p;

	c->in[c->len] = '\0';
	end = strstr(c->in, "\r\n\r\n");
	if (end == NULL)
		return 0;
	if (strncmp(c->in, "HTTP/1.1 200", 12) != 0)
		fatalx("an answer: %.300s", c->in);
	p = strcasestr(c->in, "\r\ncontent-length:");
	if (p == NULL || p > end)
		fatalx("no length: %.300s", c->in);
	return (size_t)(end + 4 - c->in) + strtoul(p + 17, NULL, 10);
}

/* True when the answer is whole. */
static bool
conn_read(struct conn *c)
{
	ssize_t n;

	n = read(c->fd, c->in + c->len, ANSWER - 1 - c->len);
	if (n <= 0)
		fatal("read");
	c->len += (size_t)n;
	if (c->need == 0)
		c->need = answer_len(c);
	return c->need > 0 && c->len >= c->need;
}

double
lean_run(struct lean *l, int connections, double *times)
{
	struct epoll_event ev[CONNS_MAX], add = { .events = EPOLLIN };
	struct conn *conns = xcalloc((size_t)connections, sizeof(*conns)), *c;
	struct qo_mono start, now;
	size_t sent = 0, done = 0;
	int ep, i, n;

	ep = epoll_create1(EPOLL_CLOEXEC);
	for (i = 0; i < connections; i++) {
		conn_open(&conns[i], l->port);
		add.data.ptr = &conns[i];
		epoll_ctl(ep, EPOLL_CTL_ADD, conns[i].fd, &add);
	}
	start = qo_mono_now();
	for (i = 0; i < connections && sent < l->n; i++)
		conn_send(l, &conns[i], &l->requests[sent++]);
	while (done < l->n) {
		n = epoll_wait(ep, ev, CONNS_MAX, 30000);
		if (n <= 0)
			fatalx("no answer within 30 s");
		for (i = 0; i < n; i++) {
			c = ev[i].data.ptr;
			if (!conn_read(c))
				continue;
			if (times != NULL) {
				now = qo_mono_now();
				times[done] = (double)qo_mono_diff_us(c->start,
				    now);
			}
			done++;
			l->last_len = c->len;
			if (sent < l->n)
				conn_send(l, c, &l->requests[sent++]);
		}
	}
	now = qo_mono_now();
	for (i = 0; i < connections; i++) {
		close(conns[i].fd);
		free(conns[i].in);
	}
	close(ep);
	free(conns);
	return (double)qo_mono_diff_us(start, now) / 1e6;
}
