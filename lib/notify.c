#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "notify.h"

#define MESSAGE_MAX 4096

/* The length of the address, or 0 with errno. */
static socklen_t
address(const char *path, struct sockaddr_un *un)
{
	size_t len = strlen(path);

	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	if ((path[0] != '/' && path[0] != '@') || len < 2) {
		errno = EAFNOSUPPORT;
		return 0;
	}
	if (len >= sizeof(un->sun_path)) {
		errno = ENAMETOOLONG;
		return 0;
	}
	memcpy(un->sun_path, path, len);
	/* An abstract name begins with a NUL and ends where it ends: a NUL
	 * more would be part of it. */
	if (path[0] == '@')
		un->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static int
send_to(const char *path, const char *text)
{
	const struct timeval patience = { 1, 0 };
	struct sockaddr_un un;
	socklen_t len;
	ssize_t n = -1;
	int fd, save;

	if ((len = address(path, &un)) == 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
		sizeof(patience)) == 0)
		n = sendto(fd, text, strlen(text), MSG_NOSIGNAL,
		    (struct sockaddr *)&un, len);
	save = errno;
	close(fd);
	errno = save;
	return n == -1 ? -1 : 0;
}

void
notify_send(const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	const char *path;
	va_list ap;

	path = getenv("NOTIFY_SOCKET");
	if (path == NULL || *path == '\0')
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (send_to(path, text) == -1)
		log_warn("NOTIFY_SOCKET %s", path);
}

void
notify_reloading(void)
{
	struct timespec ts;

	/* systemd compares with its own CLOCK_MONOTONIC. */
	clock_gettime(CLOCK_MONOTONIC, &ts);
	notify_send("RELOADING=1\nMONOTONIC_USEC=%" PRId64,
	    (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
}

int64_t
notify_watchdog_ms(void)
{
	const char *usec, *pid, *why;
	int64_t n;

	usec = getenv("WATCHDOG_USEC");
	pid = getenv("WATCHDOG_PID");
	if (usec == NULL)
		return 0;
	if (pid != NULL && strtonum(pid, 1, INT32_MAX, &why) != getpid())
		return 0; /* another process's */
	n = strtonum(usec, 1, INT64_MAX, &why);
	if (why != NULL)
		return 0;
	return n / 2000 > 0 ? n / 2000 : 1;
}
