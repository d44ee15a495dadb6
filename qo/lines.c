#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lines.h"

#define CHUNK 65536

static void
on_readable(struct loop_io *io, uint32_t events)
{
	struct lines *l = io->arg;

	(void)events;
	/* Deaf until lines_next has read: the loop must not spin. */
	loop_io_del(l->loop, &l->io);
	l->waiting = false;
	l->may_read = true;
	l->ready(l->arg);
}

static enum lines_rc
wait_for_more(struct lines *l)
{
	if (!l->waiting &&
	    loop_io_add(l->loop, &l->io, l->fd, EPOLLIN, on_readable, l) == 0)
		l->waiting = true;
	return LINES_WAIT;
}

int
lines_open(struct lines *l, struct loop *loop, const char *path, size_t max,
    struct qo_err *err)
{
	struct stat st;

	memset(l, 0, sizeof(*l));
	l->loop = loop;
	l->max = max;
	l->own_fd = strcmp(path, "-") != 0;
	l->fd = l->own_fd ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (l->fd == -1 || fstat(l->fd, &st) == -1) {
		qo_err_sys(err, errno, "%s", path);
		if (l->fd != -1 && l->own_fd)
			close(l->fd);
		return -1;
	}
	if (S_ISDIR(st.st_mode)) {
		qo_err_set(err, "%s is a directory", path);
		close(l->fd);
		return -1;
	}
	l->polled = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
	    isatty(l->fd) == 1;
	buf_init(&l->buf, max + CHUNK);
	return 0;
}

void
lines_close(struct lines *l)
{
	if (l->loop == NULL)
		return;
	loop_io_del(l->loop, &l->io);
	if (l->own_fd)
		close(l->fd);
	buf_fini(&l->buf);
	l->loop = NULL;
}

/* Room for a chunk: what was given out goes first, and a line that is too
 * long is forgotten as it comes. */
static char *
make_room(struct lines *l)
{
	if (l->pos > 0) {
		buf_consume(&l->buf, l->pos);
		l->seen -= l->pos;
		l->pos = 0;
	}
	if (l->buf.len > l->max) {
		l->skipping = true;
		buf_reset(&l->buf);
		l->seen = 0;
	}
	return buf_reserve(&l->buf, CHUNK);
}

/* LINES_OK: there is more to search, or the end was reached. */
static enum lines_rc
fill(struct lines *l, struct qo_err *err)
{
	char *p;
	ssize_t n;

	if (l->polled && !l->may_read)
		return wait_for_more(l);
	l->may_read = false;
	p = make_room(l);
	do
		n = read(l->fd, p, CHUNK);
	while (n == -1 && errno == EINTR);
	if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK) && l->polled)
		return wait_for_more(l);
	if (n == -1) {
		qo_err_sys(err, errno, "reading");
		return LINES_FAILED;
	}
	buf_advance(&l->buf, (size_t)n);
	l->eof = n == 0;
	return LINES_OK;
}

/* The line from pos to end, which is cut off. */
static enum lines_rc
give(struct lines *l, size_t end, const char **line, size_t *len)
{
	bool skipped = l->skipping;

	*line = l->buf.data + l->pos;
	*len = end - l->pos;
	l->pos = l->seen = end < l->buf.len ? end + 1 : end;
	l->number++;
	l->skipping = false;
	return skipped || *len > l->max ? LINES_LONG : LINES_OK;
}

enum lines_rc
lines_next(struct lines *l, const char **line, size_t *len, struct qo_err *err)
{
	enum lines_rc rc;
	const char *nl;

	for (;;) {
		nl = memchr(l->buf.data + l->seen, '\n', l->buf.len - l->seen);
		if (nl != NULL)
			return give(l, (size_t)(nl - l->buf.data), line, len);
		l->seen = l->buf.len;
		if (l->eof && (l->pos < l->buf.len || l->skipping))
			return give(l, l->buf.len, line, len);
		if (l->eof)
			return LINES_END;
		if ((rc = fill(l, err)) != LINES_OK)
			return rc;
	}
}

int64_t
lines_count(const char *path)
{
	char chunk[CHUNK];
	const char *p;
	struct stat st;
	int64_t lines = 0;
	ssize_t n = -1;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		while ((n = read(fd, chunk, sizeof(chunk))) > 0)
			for (p = chunk; (p = memchr(p, '\n',
					     (size_t)(chunk + n - p))) != NULL;
			     p++)
				lines++;
	close(fd);
	return n == 0 ? lines : -1;
}
