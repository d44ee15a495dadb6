#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctlcall.h"
#include "qodstatus.h"

#define CHUNK    65536
#define AGAIN_MS 50 /* between tries when qod has no place for a client */

static void on_io(struct loop_io *io, uint32_t events);

void
ctlcall_init(struct ctlcall *c, struct loop *l)
{
	memset(c, 0, sizeof(*c));
	c->loop = l;
	c->io.fd = -1;
	buf_init(&c->answer, QODSTATUS_LEN_MAX);
}

static void
hang_up(struct ctlcall *c)
{
	loop_timer_del(c->loop, &c->timer);
	loop_timer_del(c->loop, &c->again);
	loop_io_del(c->loop, &c->io);
	if (c->io.fd != -1)
		close(c->io.fd);
	c->io.fd = -1;
	c->busy = false;
}

void
ctlcall_fini(struct ctlcall *c)
{
	hang_up(c);
	buf_fini(&c->answer);
}

static void
finish(struct ctlcall *c, enum exit_code code)
{
	c->code = code;
	hang_up(c);
	if (c->done != NULL)
		c->done(c);
}

static void
fail(struct ctlcall *c, int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ECONNREFUSED:
		qo_err_set(&c->err, "qod is not running: nobody listens at %s",
		    c->path);
		c->err.errnum = errnum;
		finish(c, EXIT_UNREACHABLE);
		return;
	case EACCES:
	case EPERM:
		qo_err_sys(&c->err, errnum, "control socket %s", c->path);
		finish(c, EXIT_DENIED);
		return;
	default:
		qo_err_sys(&c->err, errnum, "control socket %s", c->path);
		finish(c, EXIT_UNREACHABLE);
	}
}

static void
on_timeout(struct loop_timer *t)
{
	struct ctlcall *c = t->arg;

	qo_err_set(&c->err, "qod did not answer in time");
	c->err.errnum = ETIMEDOUT;
	finish(c, EXIT_TIMEOUT);
}

static void
on_io(struct loop_io *io, uint32_t events)
{
	struct ctlcall *c = io->arg;
	ssize_t n;
	char *p;

	(void)events;
	if ((p = buf_reserve(&c->answer, CHUNK)) == NULL) {
		fail(c, EMSGSIZE);
		return;
	}
	n = recv(io->fd, p, CHUNK, 0);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == -1) {
		fail(c, errno);
	} else if (n > 0) {
		buf_advance(&c->answer, (size_t)n);
	} else if (c->answer.len == 0) {
		qo_err_set(&c->err, "qod ended without an answer");
		finish(c, EXIT_UNREACHABLE);
	} else {
		if (c->answer.data[c->answer.len - 1] == '\n')
			buf_truncate(&c->answer, c->answer.len - 1);
		finish(c, EXIT_OK);
	}
}

static void
send_line(struct ctlcall *c)
{
	struct iovec iov[2] = {
		{ (void *)(uintptr_t)c->line, strlen(c->line) },
		{ (void *)(uintptr_t) "\n", 1 },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	/* It fits into the buffer of any socket. */
	if (sendmsg(c->io.fd, &msg, MSG_NOSIGNAL) == -1 ||
	    loop_io_add(c->loop, &c->io, c->io.fd, EPOLLIN, on_io, c) == -1)
		fail(c, errno);
}

static void
try_connect(struct loop_timer *t)
{
	struct ctlcall *c = t->arg;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd;

	if (strlcpy(sa.sun_path, c->path, sizeof(sa.sun_path)) >=
	    sizeof(sa.sun_path)) {
		fail(c, ENAMETOOLONG);
		return;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1) {
		fail(c, errno);
		return;
	}
	c->io.fd = fd;
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0) {
		send_line(c);
	} else if (errno == EAGAIN) {
		close(fd);
		c->io.fd = -1;
		loop_timer_set_ms(c->loop, &c->again, AGAIN_MS, try_connect, c);
	} else {
		fail(c, errno);
	}
}

void
ctlcall_start(struct ctlcall *c, const char *path, const char *line,
    int64_t limit_ms, void (*done)(struct ctlcall *c), void *arg)
{
	buf_reset(&c->answer);
	qo_err_reset(&c->err);
	c->path = path;
	c->line = line;
	c->done = done;
	c->arg = arg;
	c->busy = true;
	if (limit_ms >= 0)
		loop_timer_set_ms(c->loop, &c->timer, limit_ms, on_timeout, c);
	loop_timer_set_ms(c->loop, &c->again, 0, try_connect, c);
}

enum exit_code
ctlcall_wait(struct ctlcall *c, const char *path, const char *line,
    int64_t limit_ms)
{
	ctlcall_start(c, path, line, limit_ms, NULL, NULL);
	while (c->busy)
		loop_once(c->loop, -1);
	return c->code;
}
