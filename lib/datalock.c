#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "datalock.h"
#include "io.h"
#include "xalloc.h"

#define CHILD  "child"
#define ORPHAN "orphan"

/* Always of one length and in one write: it is changed in place, which a full
 * disk allows, and a reader sees the old or the new text. */
static int
write_holder(int fd, const char *what, long master)
{
	char text[32], number[12] = "";
	int n;

	if (master != 0)
		snprintf(number, sizeof(number), "%ld", master);
	n = snprintf(text, sizeof(text), "%-10ld %-6s %-10s\n", (long)getpid(),
	    what, number);
	if (pwrite(fd, text, (size_t)n, 0) != n)
		return -1;
	return ftruncate(fd, n);
}

/* -1: not known. */
static long
parent_of(long pid)
{
	char path[32], text[512];
	const char *rest;
	long parent;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	n = io_read_full(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* Behind the name, which may have anything in it. */
	rest = strrchr(text, ')');
	if (rest == NULL || sscanf(rest, ") %*c %ld", &parent) != 1)
		return -1;
	return parent;
}

/* Its qod is gone, whether it has had the time to notice or not. */
static bool
is_left(long pid, long master)
{
	long parent;

	if (pid == 0 || master <= 0)
		return false;
	parent = parent_of(pid);
	return parent != -1 && parent != master;
}

static void
read_holder(int fd, struct datalock_holder *who)
{
	char text[32], what[8] = "";
	long master = 0;
	ssize_t n;

	memset(who, 0, sizeof(*who));
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "%10ld %7s %10ld", &who->pid, what, &master) < 1 ||
	    who->pid < 0)
		who->pid = 0;
	if (strcmp(what, CHILD) == 0)
		who->orphan = is_left(who->pid, master);
	else
		who->orphan = who->pid != 0 && strcmp(what, ORPHAN) == 0;
}

int
datalock_take(int dir_fd, const char *dir, struct qo_err *err)
{
	struct datalock_holder who;
	int fd;

	fd = openat(dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
	    0600);
	if (fd == -1) {
		qo_err_sys(err, errno, "%s/lock", dir);
		return -1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		read_holder(fd, &who);
		close(fd);
		qo_err_set(err,
		    "%s is in use by process %ld: stop that one, or give this "
		    "one another directory",
		    dir, who.pid);
		return -1;
	}
	/* The lock counts: a text that can not be written is no reason. */
	(void)write_holder(fd, "", 0);
	return fd;
}

int
datalock_set_child(int fd)
{
	return write_holder(fd, CHILD, getppid());
}

int
datalock_set_orphan(int fd)
{
	return write_holder(fd, ORPHAN, 0);
}

bool
datalock_is_held(const char *dir, struct datalock_holder *who)
{
	char *path;
	bool held;
	int fd;

	memset(who, 0, sizeof(*who));
	path = xasprintf("%s/lock", dir);
	/* The directory may be another account's: nothing that lies there
	 * under this name leads elsewhere or makes us wait. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	free(path);
	if (fd == -1)
		return false;
	held = flock(fd, LOCK_SH | LOCK_NB) == -1 && errno == EWOULDBLOCK;
	if (held)
		read_holder(fd, who);
	close(fd);
	return held;
}
