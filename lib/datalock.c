#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "datalock.h"
#include "xalloc.h"

#define ORPHAN "orphan"

/* Always of one length and in one write: it is changed in place, which a full
 * disk allows, and a reader sees the old or the new text. */
static int
write_holder(int fd, const char *what)
{
	char text[32];
	int n;

	n = snprintf(text, sizeof(text), "%-10ld %-6s\n", (long)getpid(), what);
	if (pwrite(fd, text, (size_t)n, 0) != n)
		return -1;
	return ftruncate(fd, n);
}

static void
read_holder(int fd, struct datalock_holder *who)
{
	char text[32], what[8] = "";
	ssize_t n;

	memset(who, 0, sizeof(*who));
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "%10ld %7s", &who->pid, what) < 1 || who->pid < 0)
		who->pid = 0;
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
	(void)write_holder(fd, "");
	return fd;
}

int
datalock_set_orphan(int fd)
{
	return write_holder(fd, ORPHAN);
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
