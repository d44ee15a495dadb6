#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "xalloc.h"

#define READ_STEP 16384

int
io_write_all(int fd, const void *p, size_t len)
{
	const char *s = p;
	ssize_t n;

	while (len > 0) {
		n = write(fd, s, len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		s += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t
io_read_full(int fd, void *p, size_t len)
{
	char *s = p;
	size_t got = 0;
	ssize_t n;

	while (got < len) {
		n = read(fd, s + got, len - got);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int
io_read_all(int fd, struct buf *b)
{
	size_t room;
	ssize_t n;
	char *p, c;

	/* Straight into the buf: a secret leaves no copy on the stack. */
	for (;;) {
		room = b->max - b->len;
		if (room == 0 || buf_failed(b)) {
			/* Full: is there more? */
			n = io_read_full(fd, &c, 1);
			if (n <= 0)
				return (int)n;
			errno = EFBIG;
			return -1;
		}
		room = room < READ_STEP ? room : READ_STEP;
		p = buf_reserve(b, room);
		n = io_read_full(fd, p, room);
		if (n == -1)
			return -1;
		buf_advance(b, (size_t)n);
		if ((size_t)n < room)
			return 0;
	}
}

static int
read_opened(int fd, const char *path, struct buf *b, struct qo_err *err)
{
	if (io_read_all(fd, b) == 0)
		return 0;
	if (errno == EFBIG)
		qo_err_set(err, "%s: larger than %zu bytes", path, b->max);
	else
		qo_err_sys(err, errno, "%s", path);
	return -1;
}

int
io_read_file(const char *path, struct buf *b, struct qo_err *err)
{
	struct stat st;
	int fd, rv = -1;

	/* O_NONBLOCK: a FIFO must not hang us before fstat tells. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1) {
		qo_err_sys(err, errno, "%s", path);
		return -1;
	}
	if (fstat(fd, &st) == -1)
		qo_err_sys(err, errno, "%s", path);
	else if (!S_ISREG(st.st_mode))
		qo_err_set(err, "%s: not a regular file", path);
	else
		rv = read_opened(fd, path, b, err);
	close(fd);
	return rv;
}

static int
check_secret(int fd, const char *path, uid_t keeper, struct qo_err *err)
{
	struct stat st;

	if (fstat(fd, &st) == -1) {
		qo_err_sys(err, errno, "%s", path);
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		qo_err_set(err, "%s: not a regular file", path);
		return -1;
	}
	if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != keeper) {
		qo_err_set(err,
		    "%s: holds secrets but belongs to uid %u: chown it to "
		    "root or to the user that runs this",
		    path, (unsigned)st.st_uid);
		return -1;
	}
	if ((st.st_mode & (S_IWGRP | S_IRWXO)) != 0) {
		qo_err_set(err,
		    "%s: holds secrets but has mode %04o: chmod 0600 it", path,
		    (unsigned)(st.st_mode & 07777));
		return -1;
	}
	return 0;
}

int
io_check_secret(int fd, const char *path, struct qo_err *err)
{
	return check_secret(fd, path, 0, err);
}

int
io_read_secret(const char *path, struct buf *b, struct qo_err *err)
{
	return io_read_secret_of(path, 0, b, err);
}

int
io_read_secret_of(const char *path, uid_t keeper, struct buf *b,
    struct qo_err *err)
{
	int fd, rv;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd == -1) {
		if (errno == ELOOP)
			qo_err_set(err, "%s: holds secrets but is a symlink",
			    path);
		else
			qo_err_sys(err, errno, "%s", path);
		return -1;
	}
	rv = check_secret(fd, path, keeper, err);
	if (rv == 0)
		rv = read_opened(fd, path, b, err);
	close(fd);
	return rv;
}

static int
sync_parent(const char *path)
{
	char *copy = xstrdup(path);
	int fd, rv;

	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	if (fd == -1)
		return -1;
	rv = fsync(fd);
	close(fd);
	return rv;
}

int
io_write_file(const char *path, const void *p, size_t len, mode_t mode,
    struct qo_err *err)
{
	char tmp[PATH_MAX];
	int fd, rv = -1;

	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= sizeof(tmp)) {
		qo_err_sys(err, ENAMETOOLONG, "%s", path);
		return -1;
	}
	if (unlink(tmp) == -1 && errno != ENOENT) {
		qo_err_sys(err, errno, "%s", tmp);
		return -1;
	}
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd == -1) {
		qo_err_sys(err, errno, "%s", tmp);
		return -1;
	}
	if (io_write_all(fd, p, len) == -1 || fsync(fd) == -1)
		qo_err_sys(err, errno, "%s", tmp);
	else if (rename(tmp, path) == -1 || sync_parent(path) == -1)
		qo_err_sys(err, errno, "%s", path);
	else
		rv = 0;
	close(fd);
	if (rv == -1)
		unlink(tmp);
	return rv;
}

int
io_nonblock(int fd)
{
	int flags;

	flags = fcntl(fd, F_GETFL);
	if (flags == -1)
		return -1;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int
io_sanitize_stdio(void)
{
	int fd;

	/* open gives the lowest free number, so this fills 0 to 2 in turn. */
	do {
		fd = open("/dev/null", O_RDWR);
		if (fd == -1)
			return -1;
	} while (fd <= STDERR_FILENO);
	return close(fd);
}
