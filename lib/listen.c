#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "listen.h"

#define BACKLOG 4096

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
listen_tcp(const char *addr, int *port, struct qo_err *err)
{
	struct addrinfo hints, *ai = NULL;
	const char *service;
	char host[INET6_ADDRSTRLEN];
	const char *wrong = NULL;
	int fd = -1;

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
	if (fd == -1)
		qo_err_sys(err, errno, "can not listen on %s", addr);
	else if (port != NULL)
		*port = bound_port(fd);
out:
	if (ai != NULL)
		freeaddrinfo(ai);
	return fd;
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
listen_unix(const char *path, struct qo_err *err)
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
	return fd;
}
