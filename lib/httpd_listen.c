#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "httpd_int.h"
#include "io.h"
#include "listen.h"
#include "log.h"
#include "xalloc.h"

#define ACCEPT_BATCH 64
/* Over the limit some connections are still taken, only to be told so. */
#define OVER_MAX 64
#define PAUSE_MS 1000

struct httpd_listener {
	struct httpd_listener *next;
	struct httpd *h;
	struct loop_io io;
	bool local;
	char *path; /* of a Unix socket that we made, else NULL */
	dev_t dev;
	ino_t ino;
};

/* Accepting */

static void
peer_name(const struct sockaddr_storage *ss, char *out, size_t size)
{
	const struct sockaddr_in *in = (const void *)ss;
	const struct sockaddr_in6 *in6 = (const void *)ss;
	char a[INET6_ADDRSTRLEN];

	if (ss->ss_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, a, sizeof(a));
		snprintf(out, size, "%s:%u", a, ntohs(in->sin_port));
	} else if (ss->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, a, sizeof(a));
		snprintf(out, size, "[%s]:%u", a, ntohs(in6->sin6_port));
	} else
		strlcpy(out, "unix", size);
}

static void
pause_over(struct loop_timer *t)
{
	httpd_listeners_resume(t->arg);
}

/* Level-triggered, a listener that can not be served would spin. */
static void
listeners_pause(struct httpd *h)
{
	struct httpd_listener *li;

	if (!h->starved)
		log_warn("accept: resting until a connection is closed");
	h->starved = h->paused = true;
	for (li = h->listeners; li != NULL; li = li->next)
		loop_io_set(h->loop, &li->io, 0);
	loop_timer_set_ms(h->loop, &h->pause_timer, PAUSE_MS, pause_over, h);
}

void
httpd_listeners_resume(struct httpd *h)
{
	struct httpd_listener *li;

	h->paused = false;
	loop_timer_del(h->loop, &h->pause_timer);
	for (li = h->listeners; li != NULL; li = li->next)
		loop_io_set(h->loop, &li->io, EPOLLIN);
}

static bool
out_of_descriptors(void)
{
	return errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
	    errno == ENOMEM;
}

static void
accept_one(struct httpd_listener *li, int fd, const struct sockaddr_storage *ss)
{
	struct httpd *h = li->h;
	char peer[sizeof(((struct httpd_req *)0)->peer)];
	int on = 1;

	if (h->nconns >= h->conf.connections)
		httpd_evict(h);
	if (h->nconns >= h->conf.connections + OVER_MAX) {
		close(fd);
		return;
	}
	if (!li->local)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	peer_name(ss, peer, sizeof(peer));
	conn_new(h, fd, peer, li->local, h->nconns >= h->conf.connections);
}

static int
accept_next(struct httpd_listener *li)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int fd;

	memset(&ss, 0, sizeof(ss));
	fd = accept4(li->io.fd, (struct sockaddr *)&ss, &len,
	    SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd == -1)
		return -1;
	li->h->starved = false;
	accept_one(li, fd, &ss);
	return 0;
}

static void
listener_io(struct loop_io *io, uint32_t events)
{
	struct httpd_listener *li = io->arg;
	struct httpd *h = li->h;
	int i;

	(void)events;
	for (i = 0; i < ACCEPT_BATCH; i++) {
		if (accept_next(li) == 0)
			continue;
		if (errno == EAGAIN)
			return;
		if (out_of_descriptors())
			break;
		/* Else an error of that one connection: see accept(2). */
	}
	/* Only the first call was sure to have somebody waiting: the kernel
	 * says "no descriptors" before it looks. */
	if (i == 0 && (!httpd_evict(h) || accept_next(li) == -1) &&
	    out_of_descriptors())
		listeners_pause(h);
}

/* Making */

static int
listener_add(struct httpd *h, int fd, bool local, const char *path,
    struct qo_err *err)
{
	struct httpd_listener *li;
	struct stat st;

	li = xcalloc(1, sizeof(*li));
	if (loop_io_add(h->loop, &li->io, fd, EPOLLIN, listener_io, li) == -1) {
		qo_err_sys(err, errno, "can not watch the listening socket");
		free(li);
		return -1;
	}
	li->h = h;
	li->local = local;
	if (path != NULL && lstat(path, &st) == 0) {
		li->path = xstrdup(path);
		li->dev = st.st_dev;
		li->ino = st.st_ino;
	}
	li->next = h->listeners;
	h->listeners = li;
	return 0;
}

int
httpd_listen_tcp(struct httpd *h, const char *addr, int *port,
    struct qo_err *err)
{
	int fd;

	fd = listen_tcp(addr, port, err);
	if (fd == -1)
		return -1;
	if (listener_add(h, fd, false, NULL, err) == -1) {
		close(fd);
		return -1;
	}
	return 0;
}

int
httpd_listen_unix(struct httpd *h, const char *path, struct qo_err *err)
{
	int fd;

	fd = listen_unix(path, err);
	if (fd == -1)
		return -1;
	if (listener_add(h, fd, true, path, err) == -1) {
		close(fd);
		return -1;
	}
	return 0;
}

int
httpd_listen_fd(struct httpd *h, int fd, struct qo_err *err)
{
	socklen_t len = sizeof(int);
	int listening = 0, domain = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) == -1 ||
	    listening == 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == -1) {
		qo_err_set(err, "descriptor %d is not a listening socket", fd);
		return -1;
	}
	if (io_nonblock(fd) == -1 || fcntl(fd, F_SETFD, FD_CLOEXEC) == -1) {
		qo_err_sys(err, errno, "descriptor %d", fd);
		return -1;
	}
	return listener_add(h, fd, domain == AF_UNIX, NULL, err);
}

void
httpd_listeners_close(struct httpd *h)
{
	struct httpd_listener *li;
	struct stat st;

	while ((li = h->listeners) != NULL) {
		h->listeners = li->next;
		/* Only our own file: a successor may have the name by now. */
		if (li->path != NULL && lstat(li->path, &st) == 0 &&
		    st.st_dev == li->dev && st.st_ino == li->ino)
			unlink(li->path);
		loop_io_del(h->loop, &li->io);
		close(li->io.fd);
		free(li->path);
		free(li);
	}
}
