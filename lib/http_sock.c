#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_sock.h"
#include "log.h"
#include "xalloc.h"

/* A connection stays in the loop while it is idle, until it is closed: else
 * every request would cost the kernel one registration more.  One that never
 * came about is closed by libcurl without close_conn; its number may be back
 * at once. */
struct http_sock {
	struct loop_io io;
	struct http_socks *all;
	bool is_conn; /* made by open_conn, ends by close_conn */
	bool is_up;   /* libcurl has waited for input */
	bool idle;    /* libcurl waits for nothing here */
};

static struct http_sock *
sock_get(struct http_socks *all, int fd)
{
	struct http_sock *s;
	size_t i = (size_t)fd, n;

	if (i >= all->n) {
		n = i + 64;
		all->v = xreallocarray(all->v, n, sizeof(*all->v));
		memset(all->v + all->n, 0, (n - all->n) * sizeof(*all->v));
		all->n = n;
	}
	s = all->v[i];
	if (s == NULL) {
		s = all->v[i] = xcalloc(1, sizeof(*s));
		s->all = all;
	}
	return s;
}

static void
sock_drop(struct http_socks *all, int fd)
{
	struct http_sock *s = sock_get(all, fd);

	loop_io_del(all->loop, &s->io);
	all->v[fd] = NULL;
	free(s);
}

/* What happens */

static void
on_event(struct loop_io *io, uint32_t events)
{
	struct http_sock *s = io->arg;
	struct http_socks *all = s->all;
	int bits = 0, running;

	/* Closed by the server, most likely: libcurl will see it when it wants
	 * the connection, and the loop must not see it all the time. */
	if (s->idle) {
		loop_io_del(all->loop, io);
		return;
	}
	if (events & EPOLLIN)
		bits |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		bits |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		bits |= CURL_CSELECT_ERR | CURL_CSELECT_IN;
	curl_multi_socket_action(all->multi, io->fd, bits, &running);
	all->worked(all->arg);
}

void
http_socks_act(struct http_socks *all)
{
	int running;

	curl_multi_socket_action(all->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	all->worked(all->arg);
}

static void
on_timer(struct loop_timer *t)
{
	http_socks_act(t->arg);
}

static void
on_soon(struct loop_task *t)
{
	http_socks_act(t->arg);
}

/* What libcurl wants */

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

static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *sockp)
{
	struct http_socks *all = arg;
	struct http_sock *s = sock_get(all, fd);
	uint32_t events = 0;

	(void)easy;
	(void)sockp;
	s->idle = what == CURL_POLL_REMOVE;
	if (s->idle) {
		if (!s->is_conn || !s->is_up)
			sock_drop(all, fd);
		return 0;
	}
	if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) {
		s->is_up = true;
		events |= EPOLLIN;
	}
	if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
		events |= EPOLLOUT;
	if (s->io.events != 0)
		loop_io_set(all->loop, &s->io, events);
	else if (loop_io_add(all->loop, &s->io, fd, events, on_event, s) == -1)
		fatal("epoll_ctl fd %d", fd);
	return 0;
}

static int
on_timeout(CURLM *multi, long ms, void *arg)
{
	struct http_socks *all = arg;

	(void)multi;
	loop_defer_del(all->loop, &all->soon);
	if (ms <= 0)
		loop_timer_del(all->loop, &all->timer);
	if (ms == 0)
		/* Still in this turn of the loop. */
		loop_defer(all->loop, &all->soon, on_soon, all);
	else if (ms > 0)
		loop_timer_set_ms(all->loop, &all->timer, ms, on_timer, all);
	return 0;
}

void
http_socks_serve(struct http_socks *all, CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_conn);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, all);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_conn);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, all);
}

void
http_socks_init(struct http_socks *all, struct loop *l, CURLM *multi,
    void (*worked)(void *arg), void *arg)
{
	memset(all, 0, sizeof(*all));
	all->loop = l;
	all->multi = multi;
	all->worked = worked;
	all->arg = arg;
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, all);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	curl_multi_setopt(multi, CURLMOPT_TIMERDATA, all);
}

void
http_socks_fini(struct http_socks *all)
{
	loop_timer_del(all->loop, &all->timer);
	loop_defer_del(all->loop, &all->soon);
	free(all->v);
}
