#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "proc.h"
#include "reap.h"
#include "scratch.h"
#include "xalloc.h"

/* Others may pass through it to their own, and see nothing. */
#define BASE_MODE 0711
#define BASE_NAME "qo-worker."
/* A base that nobody has locked for so long was left by a worker that was
 * killed. */
#define STALE_SECONDS 60

struct removal {
	LIST_ENTRY(removal) link;
	struct scratch *s;
	struct reap child;
	char *dir;
};

void
scratch_init(struct scratch *s, void (*emptied)(void *arg), void *arg)
{
	memset(s, 0, sizeof(*s));
	LIST_INIT(&s->removals);
	s->lock = -1;
	s->emptied = emptied;
	s->arg = arg;
}

static const char *
tmp_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp != NULL && tmp[0] == '/' ? tmp : "/tmp";
}

static int
make_base(struct scratch *s, struct qo_err *err)
{
	char *path;

	path = xasprintf("%s/" BASE_NAME "XXXXXX", tmp_dir());
	if (mkdtemp(path) == NULL || chmod(path, BASE_MODE) == -1) {
		qo_err_sys(err, errno, "directory for the handler: %s", path);
		free(path);
		return -1;
	}
	free(s->base);
	s->base = path;
	if (s->lock != -1)
		close(s->lock);
	s->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->lock != -1)
		flock(s->lock, LOCK_EX | LOCK_NB);
	return 0;
}

static char *
make_dir(struct scratch *s, struct qo_err *err)
{
	char *dir;

	if (s->base == NULL && make_base(s, err) == -1)
		return NULL;
	dir = xasprintf("%s/%ju", s->base, (uintmax_t)s->next++);
	if (mkdir(dir, 0700) == 0)
		return dir;
	qo_err_sys(err, errno, "directory for the handler: %s", dir);
	free(dir);
	return NULL;
}

/* The base may be gone: somebody tidied up. */
static bool
base_is_gone(const struct scratch *s)
{
	return s->base != NULL && access(s->base, F_OK) == -1;
}

char *
scratch_make(struct scratch *s, struct scratch_pool *p,
    const struct handler_account *a, struct qo_err *err)
{
	char *dir;

	while (p->n > 0) {
		dir = p->dirs[--p->n];
		if (access(dir, F_OK) == 0)
			return dir;
		free(dir);
	}
	dir = make_dir(s, err);
	if (dir == NULL && base_is_gone(s) && make_base(s, err) == 0)
		dir = make_dir(s, err);
	if (dir != NULL && a->change && chown(dir, a->uid, a->gid) == -1) {
		qo_err_sys(err, errno, "directory for the handler: %s", dir);
		rmdir(dir);
		free(dir);
		return NULL;
	}
	return dir;
}

/* As it was made, and nothing in it; false also when we may not look. */
static bool
is_clean(const char *dir, const struct handler_account *a)
{
	const struct dirent *e;
	bool clean = false;
	struct stat st;
	DIR *d;
	int fd;

	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return false;
	if (fstat(fd, &st) == -1 || (st.st_mode & 07777) != 0700 ||
	    st.st_uid != a->uid || (d = fdopendir(fd)) == NULL) {
		close(fd);
		return false;
	}
	do {
		errno = 0;
		e = readdir(d);
		if (e == NULL)
			clean = errno == 0;
	} while (e != NULL &&
	    (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
	closedir(d);
	return clean;
}

/* Removing */

static void
removal_free(struct removal *rm)
{
	LIST_REMOVE(rm, link);
	reap_del(&rm->child);
	free(rm->dir);
	free(rm);
}

static void
removed(struct reap *child, int status)
{
	struct removal *rm = child->arg;
	struct scratch *s = rm->s;

	(void)status;
	/* The account has emptied it, and can not remove it from ours. */
	rmdir(rm->dir);
	removal_free(rm);
	if (!scratch_busy(s) && s->emptied != NULL)
		s->emptied(s->arg);
}

/* As the account: what is in there is not ours to touch with any other
 * power. */
static pid_t
spawn_rm(const struct handler_account *a, char *dir)
{
	static char rm[] = "rm", rf[] = "-rf", end[] = "--";
	char *argv[] = { rm, rf, end, dir, NULL };
	char *envp[] = { NULL };
	struct proc_spec spec;

	proc_spec_init(&spec);
	spec.path = "/bin/rm";
	spec.argv = argv;
	spec.envp = envp;
	spec.new_session = true;
	spec.no_new_privs = true;
	spec.set_ids = a->change;
	spec.uid = a->uid;
	spec.gid = a->gid;
	spec.groups = a->groups;
	spec.ngroups = a->ngroups;
	return proc_spawn(&spec, NULL);
}

void
scratch_pool_fini(struct scratch_pool *p)
{
	while (p->n > 0) {
		rmdir(p->dirs[--p->n]);
		free(p->dirs[p->n]);
	}
}

/* A tree may be large: not for the event loop. */
static void
start_removal(struct scratch *s, const struct handler_account *a, char *dir)
{
	struct removal *rm;
	pid_t pid;

	pid = spawn_rm(a, dir);
	if (pid == -1) {
		free(dir);
		return;
	}
	rm = xcalloc(1, sizeof(*rm));
	rm->s = s;
	rm->dir = dir;
	LIST_INSERT_HEAD(&s->removals, rm, link);
	reap_add(&rm->child, pid, removed, rm);
}

void
scratch_drop(struct scratch *s, struct scratch_pool *p,
    const struct handler_account *a, char *dir)
{
	if (dir == NULL)
		return;
	if (p->n < SCRATCH_KEEP && is_clean(dir, a))
		p->dirs[p->n++] = dir;
	else if (rmdir(dir) == 0 || errno == ENOENT)
		free(dir);
	else
		start_removal(s, a, dir);
}

/* Ours by owner, old enough, and nobody's by its lock? */
static bool
is_stale(int tmp, const char *name)
{
	struct stat st;
	bool stale;
	int fd;

	fd = openat(tmp, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return false;
	stale = fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    qo_wall_local().us / QO_US_PER_SEC - st.st_mtim.tv_sec >
		STALE_SECONDS &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0;
	close(fd);
	return stale;
}

void
scratch_tidy(struct scratch *s)
{
	const struct handler_account us = { .uid = geteuid() };
	const struct dirent *e;
	DIR *d;

	d = opendir(tmp_dir());
	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL)
		if (strncmp(e->d_name, BASE_NAME, sizeof(BASE_NAME) - 1) == 0 &&
		    is_stale(dirfd(d), e->d_name))
			start_removal(s, &us,
			    xasprintf("%s/%s", tmp_dir(), e->d_name));
	closedir(d);
}

void
scratch_fini(struct scratch *s)
{
	struct removal *rm;

	while ((rm = LIST_FIRST(&s->removals)) != NULL)
		removal_free(rm);
	if (s->base != NULL)
		rmdir(s->base);
	if (s->lock != -1)
		close(s->lock);
	free(s->base);
	s->base = NULL;
}
