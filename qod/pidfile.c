#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "pidfile.h"

/* Somebody else's: says whose. */
static void
say_taken(const char *path, int fd, struct qo_err *err)
{
	char text[16] = "";
	ssize_t n;

	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	qo_err_set(err, "%s: another qod runs%s%s", path,
	    text[0] != '\0' ? ", process " : "", text);
}

/* The one that has just ended may have removed the file that we opened. */
static bool
is_named(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int
pidfile_take(const char *path, struct qo_err *err)
{
	char text[16];
	int fd, n;

	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		    0644);
		if (fd == -1) {
			qo_err_sys(err, errno, "[qod] pidfile: %s", path);
			return -1;
		}
		if (flock(fd, LOCK_EX | LOCK_NB) == -1) {
			say_taken(path, fd, err);
			break;
		}
		if (!is_named(fd, path)) {
			close(fd);
			continue;
		}
		n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
		if (ftruncate(fd, 0) == 0 &&
		    io_write_all(fd, text, (size_t)n) == 0 &&
		    fchmod(fd, 0644) == 0)
			return fd;
		qo_err_sys(err, errno, "[qod] pidfile: %s", path);
		break;
	}
	close(fd);
	return -1;
}

void
pidfile_drop(const char *path, int fd)
{
	if (fd == -1)
		return;
	if (path != NULL && is_named(fd, path))
		unlink(path);
	close(fd);
}
