#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_bind.h"
#include "xalloc.h"

#define BACKLOG 64

static int
fill_address(struct sockaddr_un *sa, const char *path, struct qo_err *err)
{
	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	if (strlcpy(sa->sun_path, path, sizeof(sa->sun_path)) <
	    sizeof(sa->sun_path))
		return 0;
	qo_err_sys(err, ENAMETOOLONG, "control socket %s", path);
	return -1;
}

/* Does somebody listen there? */
static bool
is_alive(const struct sockaddr_un *sa)
{
	bool alive;
	int fd;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return true; /* not known: it is left alone */
	/* EAGAIN: alive, with more clients than it takes. */
	alive = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 ||
	    errno == EAGAIN || errno == EACCES || errno == EPERM;
	close(fd);
	return alive;
}

/* Only a socket that nobody listens to is removed. */
static int
clear_path(const struct sockaddr_un *sa, struct qo_err *err)
{
	struct stat st;

	if (lstat(sa->sun_path, &st) == -1) {
		if (errno == ENOENT)
			return 0;
		qo_err_sys(err, errno, "control socket %s", sa->sun_path);
		return -1;
	}
	if (!S_ISSOCK(st.st_mode)) {
		qo_err_set(err,
		    "control socket %s: something else has that name",
		    sa->sun_path);
		err->errnum = EEXIST;
		return -1;
	}
	if (is_alive(sa)) {
		qo_err_set(err, "control socket %s: another qod is using it",
		    sa->sun_path);
		err->errnum = EADDRINUSE;
		return -1;
	}
	if (unlink(sa->sun_path) == 0 || errno == ENOENT)
		return 0;
	qo_err_sys(err, errno, "control socket %s", sa->sun_path);
	return -1;
}

static int
set_owner(const struct control_at *at, struct qo_err *err)
{
	if ((at->uid != (uid_t)-1 || at->gid != (gid_t)-1) &&
	    lchown(at->path, at->uid, at->gid) == -1) {
		qo_err_sys(err, errno, "control socket %s", at->path);
		return -1;
	}
	if (!at->group || chmod(at->path, 0660) == 0)
		return 0;
	qo_err_sys(err, errno, "control socket %s", at->path);
	return -1;
}

static int
bind_socket(const struct control_at *at, const struct sockaddr_un *sa,
    struct qo_err *err)
{
	mode_t old;
	int fd, rc;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1) {
		qo_err_sys(err, errno, "control socket");
		return -1;
	}
	/* At no moment may others connect. */
	old = umask(0177);
	rc = bind(fd, (const struct sockaddr *)sa, sizeof(*sa));
	umask(old);
	if (rc == -1) {
		qo_err_sys(err, errno, "control socket %s", at->path);
	} else if (set_owner(at, err) == 0) {
		if (listen(fd, BACKLOG) == 0)
			return fd;
		qo_err_sys(err, errno, "control socket %s", at->path);
	}
	close(fd);
	return -1;
}

/* Two that start at once must not remove each other's file: who holds this
 * lock looks and binds.  It ends with the descriptor. */
static int
lock_path(const char *path, struct qo_err *err)
{
	char *name;
	int fd;

	name = xasprintf("%s.lock", path);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd != -1 && flock(fd, LOCK_EX) == -1) {
		close(fd);
		fd = -1;
	}
	if (fd == -1)
		qo_err_sys(err, errno, "control socket %s", path);
	free(name);
	return fd;
}

/* As open as the socket in it. */
static int
set_directory(const struct control_at *at, const char *dir)
{
	if ((at->uid != (uid_t)-1 || at->gid != (gid_t)-1) &&
	    lchown(dir, at->uid, at->gid) == -1)
		return -1;
	return at->group ? chmod(dir, 0750) : 0;
}

/* /run/qo is not there after each start of the machine. */
static void
make_directory(const struct control_at *at)
{
	char *dir = xstrdup(at->path), *slash = strrchr(dir, '/');

	if (slash != NULL && slash != dir) {
		*slash = '\0';
		if (mkdir(dir, 0700) == 0 && set_directory(at, dir) == -1)
			rmdir(dir);
	}
	free(dir);
}

int
control_bind(const struct control_at *at, struct qo_err *err)
{
	struct sockaddr_un sa;
	int fd = -1, lock;

	if (fill_address(&sa, at->path, err) == -1)
		return -1;
	make_directory(at);
	if ((lock = lock_path(at->path, err)) == -1)
		return -1;
	if (clear_path(&sa, err) == 0)
		fd = bind_socket(at, &sa, err);
	close(lock);
	return fd;
}
