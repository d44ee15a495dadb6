#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "buf.h"
#include "scripted.h"
#include "xalloc.h"

#define CONNS    64
#define REQUESTS 4096

struct conn {
	int fd; /* -1: free */
	struct buf in;
};

struct scripted {
	const struct script_step *steps;
	size_t nsteps, next;
	int listen_fd;
	int stop[2]; /* closing the write end ends the thread */
	char url[64];
	pthread_t thread;
	pthread_mutex_t lock;
	char *requests[REQUESTS];
	size_t nrequests, nclosed;
	struct conn conns[CONNS];
};

/* Length of the first whole request in b, or 0. */
static size_t
request_len(const struct buf *b)
{
	const char *end, *cl;
	size_t body = 0;

	end = strstr(b->data, "\r\n\r\n");
	if (end == NULL)
		return 0;
	cl = strcasestr(b->data, "\r\ncontent-length:");
	if (cl != NULL && cl < end)
		body = strtoul(cl + 17, NULL, 10);
	body += (size_t)(end + 4 - b->data);
	return b->len >= body ? body : 0;
}

static void
conn_close(struct conn *c, bool reset)
{
	struct linger hard = { 1, 0 };

	if (reset)
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(c->fd);
	c->fd = -1;
	buf_fini(&c->in);
}

static void
send_all(int fd, const char *p, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = send(fd, p, len, MSG_NOSIGNAL);
		if (n <= 0)
			return;
		p += n;
		len -= (size_t)n;
	}
}

static void
keep(struct scripted *s, const char *p, size_t len)
{
	pthread_mutex_lock(&s->lock);
	if (s->nrequests < REQUESTS)
		s->requests[s->nrequests++] = xmemdup0(p, len);
	pthread_mutex_unlock(&s->lock);
}

/* Answers what is complete; a stalled connection stays open and silent. */
static void
serve(struct scripted *s, struct conn *c)
{
	const struct script_step *step;
	size_t len;

	while (c->fd != -1 && (len = request_len(&c->in)) > 0) {
		keep(s, c->in.data, len);
		buf_consume(&c->in, len);
		if (s->next == s->nsteps) {
			conn_close(c, false);
			return;
		}
		step = &s->steps[s->next++];
		if (step->flags & SCRIPT_STALL)
			return;
		if (step->answer != NULL)
			send_all(c->fd, step->answer,
			    step->len > 0 ? step->len : strlen(step->answer));
		if (step->flags & (SCRIPT_CLOSE | SCRIPT_RESET)) {
			conn_close(c, (step->flags & SCRIPT_RESET) != 0);
			pthread_mutex_lock(&s->lock);
			s->nclosed++;
			pthread_mutex_unlock(&s->lock);
		}
	}
}

static void
accept_one(struct scripted *s)
{
	size_t i;
	int fd;

	fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd == -1)
		return;
	for (i = 0; i < CONNS && s->conns[i].fd != -1; i++)
		continue;
	if (i == CONNS) {
		close(fd);
		return;
	}
	s->conns[i].fd = fd;
	buf_init(&s->conns[i].in, 32 * 1024 * 1024);
}

static void
receive(struct scripted *s, struct conn *c)
{
	char tmp[65536];
	ssize_t n;

	n = recv(c->fd, tmp, sizeof(tmp), 0);
	if (n <= 0) {
		conn_close(c, false);
		return;
	}
	buf_add(&c->in, tmp, (size_t)n);
	serve(s, c);
}

static void *
run(void *arg)
{
	struct scripted *s = arg;
	struct pollfd pfd[CONNS + 2];
	size_t i;

	for (;;) {
		pfd[0] = (struct pollfd){ s->stop[0], POLLIN, 0 };
		pfd[1] = (struct pollfd){ s->listen_fd, POLLIN, 0 };
		for (i = 0; i < CONNS; i++)
			pfd[i + 2] = (struct pollfd){ s->conns[i].fd, POLLIN,
				0 };
		if (poll(pfd, CONNS + 2, -1) == -1 && errno != EINTR)
			break;
		if (pfd[0].revents != 0)
			break;
		for (i = 0; i < CONNS; i++)
			if (s->conns[i].fd != -1 && pfd[i + 2].revents != 0)
				receive(s, &s->conns[i]);
		if (pfd[1].revents != 0)
			accept_one(s);
	}
	for (i = 0; i < CONNS; i++)
		if (s->conns[i].fd != -1)
			conn_close(&s->conns[i], false);
	return NULL;
}

static int
listen_tcp(struct scripted *s)
{
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);
	int fd;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sin, len), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d",
	    ntohs(sin.sin_port));
	return fd;
}

static int
listen_unix(struct scripted *s, const char *path)
{
	struct sockaddr_un sun;
	int fd;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	snprintf(s->url, sizeof(s->url), "http://localhost");
	return fd;
}

struct scripted *
scripted_start(const struct script_step *steps, size_t n, const char *path)
{
	struct scripted *s;
	size_t i;

	s = xcalloc(1, sizeof(*s));
	s->steps = steps;
	s->nsteps = n;
	for (i = 0; i < CONNS; i++)
		s->conns[i].fd = -1;
	s->listen_fd = path != NULL ? listen_unix(s, path) : listen_tcp(s);
	ck_assert_int_eq(listen(s->listen_fd, 64), 0);
	ck_assert_int_eq(pipe(s->stop), 0);
	pthread_mutex_init(&s->lock, NULL);
	ck_assert_int_eq(pthread_create(&s->thread, NULL, run, s), 0);
	return s;
}

const char *
scripted_url(const struct scripted *s)
{
	return s->url;
}

size_t
scripted_count(struct scripted *s)
{
	size_t n;

	pthread_mutex_lock(&s->lock);
	n = s->nrequests;
	pthread_mutex_unlock(&s->lock);
	return n;
}

size_t
scripted_closed(struct scripted *s)
{
	size_t n;

	pthread_mutex_lock(&s->lock);
	n = s->nclosed;
	pthread_mutex_unlock(&s->lock);
	return n;
}

const char *
scripted_request(struct scripted *s, size_t i)
{
	const char *text;

	pthread_mutex_lock(&s->lock);
	ck_assert_uint_lt(i, s->nrequests);
	text = s->requests[i];
	pthread_mutex_unlock(&s->lock);
	return text;
}

void
scripted_stop(struct scripted *s)
{
	size_t i;

	close(s->stop[1]);
	pthread_join(s->thread, NULL);
	close(s->stop[0]);
	close(s->listen_fd);
	for (i = 0; i < s->nrequests; i++)
		free(s->requests[i]);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
