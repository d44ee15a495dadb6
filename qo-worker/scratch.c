#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc.h"
#include "reap.h"
#include "scratch.h"
#include "xalloc.h"

/* Others may pass through it to their own, and see nothing. */
#define BASE_MODE 0711

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
	s->emptied = emptied;
	s->arg = arg;
}

static int
make_base(struct scratch *s, struct qo_err *err)
{
	const char *tmp = getenv("TMPDIR");
	char *path;

	if (tmp == NULL || tmp[0] != '/')
		tmp = "/tmp";
	path = xasprintf("%s/qo-worker.XXXXXX", tmp);
	if (mkdtemp(path) == NULL || chmod(path, BASE_MODE) == -1) {
		qo_err_sys(err, errno, "directory for the handler: %s", path);
		free(path);
		return -1;
	}
	free(s->base);
	s->base = path;
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

char *
scratch_make(struct scratch *s, const struct handler_account *a,
    struct qo_err *err)
{
	char *dir;

	dir = make_dir(s, err);
	/* Somebody who tidies up may have removed the base. */
	if (dir == NULL && s->base != NULL && access(s->base, F_OK) == -1 &&
	    make_base(s, err) == 0)
		dir = make_dir(s, err);
	if (dir != NULL && a->change && chown(dir, a->uid, a->gid) == -1) {
		qo_err_sys(err, errno, "directory for the handler: %s", dir);
		scratch_drop(s, a, dir);
		return NULL;
	}
	return dir;
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
scratch_drop(struct scratch *s, const struct handler_account *a, char *dir)
{
	struct removal *rm;
	pid_t pid;

	if (dir == NULL)
		return;
	/* A tree may be large: not for the event loop. */
	if (rmdir(dir) == 0 || errno == ENOENT ||
	    (pid = spawn_rm(a, dir)) == -1) {
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
scratch_fini(struct scratch *s)
{
	struct removal *rm;

	while ((rm = LIST_FIRST(&s->removals)) != NULL)
		removal_free(rm);
	if (s->base != NULL)
		rmdir(s->base);
	free(s->base);
	s->base = NULL;
}
