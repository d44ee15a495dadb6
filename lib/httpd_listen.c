#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "httpd_int.h"
#include "io.h"
#include "log.h"
#include "xalloc.h"

#define BACKLOG      4096
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

/* Splits "host:port" and "[host]:port". */
static int
split_address(const char *addr, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(addr, ':');
	size_t len;

	if (colon == NULL || colon == addr)
		return -1;
	*port = colon + 1;
	/* strtonum would let a sign and white space pass. */
	if ((*port)[strspn(*port, "0123456789")] != '\0')
		return -1;
	len = (size_t)(colon - addr);
	if (addr[0] == '[' && colon[-1] == ']') {
		addr++;
		len -= 2;
	} else if (memchr(addr, ':', len) != NULL)
		return -1;
	if (len == 0 || len >= size)
		return -1;
	memcpy(host, addr, len);
	host[len] = '\0';
	return 0;
}

static int
bound_port(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	memset(&ss, 0, sizeof(ss));
	if (getsockname(fd, (struct sockaddr *)&ss, &len) == -1)
		return -1;
	if (ss.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)(void *)&ss)->sin6_port);
	return ntohs(((struct sockaddr_in *)(void *)&ss)->sin_port);
}

static int
tcp_bind(const struct addrinfo *ai)
{
	int fd, on = 1;

	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	if (fd == -1)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1 ||
	    (ai->ai_family == AF_INET6 &&
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) ==
		    -1) ||
	    bind(fd, ai->ai_addr, ai->ai_addrlen) == -1 ||
	    listen(fd, BACKLOG) == -1) {
		close(fd);
		return -1;
	}
	return fd;
}

int
httpd_listen_tcp(struct httpd *h, const char *addr, int *port,
    struct qo_err *err)
{
	struct addrinfo hints, *ai = NULL;
	const char *service;
	char host[INET6_ADDRSTRLEN];
	const char *wrong = NULL;
	int fd = -1, rv = -1;

	memset(&hints, 0, sizeof(hints));
	hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
	hints.ai_socktype = SOCK_STREAM;
	if (split_address(addr, host, sizeof(host), &service) == -1 ||
	    (strtonum(service, 0, 65535, &wrong), wrong != NULL) ||
	    getaddrinfo(host, service, &hints, &ai) != 0) {
		qo_err_set(err,
		    "%s: not an address (as in 127.0.0.1:9710, [::1]:9710)",
		    addr);
		goto out;
	}
	fd = tcp_bind(ai);
	if (fd == -1) {
		qo_err_sys(err, errno, "can not listen on %s", addr);
		goto out;
	}
	if (port != NULL)
		*port = bound_port(fd);
	rv = listener_add(h, fd, false, NULL, err);
out:
	if (rv == -1 && fd != -1)
		close(fd);
	if (ai != NULL)
		freeaddrinfo(ai);
	return rv;
}

/* 0: nobody has the path now; -1 with *err: somebody has. */
static int
unix_clear(const char *path, const struct sockaddr_un *un, struct qo_err *err)
{
	struct stat st;
	int fd, rc, save;

	if (lstat(path, &st) == -1) {
		if (errno == ENOENT)
			return 0;
		qo_err_sys(err, errno, "%s", path);
		return -1;
	}
	if (!S_ISSOCK(st.st_mode)) {
		qo_err_set(err, "%s: exists and is not a socket", path);
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1) {
		qo_err_sys(err, errno, "socket");
		return -1;
	}
	rc = connect(fd, (const struct sockaddr *)un, sizeof(*un));
	save = errno;
	close(fd);
	if (rc == 0 || save != ECONNREFUSED) {
		qo_err_set(err, "%s: another process listens there", path);
		return -1;
	}
	if (unlink(path) == -1 && errno != ENOENT) {
		qo_err_sys(err, errno, "unlink %s", path);
		return -1;
	}
	return 0;
}

int
httpd_listen_unix(struct httpd *h, const char *path, struct qo_err *err)
{
	struct sockaddr_un un;
	int fd;

	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	if (strlcpy(un.sun_path, path, sizeof(un.sun_path)) >=
	    sizeof(un.sun_path)) {
		qo_err_set(err, "%s: too long for a socket", path);
		return -1;
	}
	if (unix_clear(path, &un, err) == -1)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Nobody can connect before listen, so the mode is set in time. */
	if (fd == -1 ||
	    bind(fd, (const struct sockaddr *)&un, sizeof(un)) == -1 ||
	    chmod(path, 0660) == -1 || listen(fd, BACKLOG) == -1) {
		qo_err_sys(err, errno, "can not listen on %s", path);
		if (fd != -1)
			close(fd);
		return -1;
	}
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
