#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board_rows.h"
#include "roles.h"
#include "xalloc.h"

#define WORKERS_MAX 256

static int
count_store(const struct qod *q, const struct conf *c)
{
	(void)q;
	return c->store.enabled ? 1 : 0;
}

static int
count_monitor(const struct qod *q, const struct conf *c)
{
	(void)q;
	return c->monitor.enabled ? 1 : 0;
}

static int
count_workers(const struct qod *q, const struct conf *c)
{
	return rules_workers(c->worker.processes, q->extra, WORKERS_MAX);
}

const struct qod_role qod_roles[] = {
	{ BOARD_STORE, "store", "qo-store", QO_SBINDIR, RULES_STAGE_STORE,
	    false, count_store },
	{ BOARD_MONITOR, "monitor", "qo-monitor", QO_LIBEXECDIR,
	    RULES_STAGE_REPAIR, true, count_monitor },
	{ BOARD_WORKER, "worker", "qo-worker", QO_LIBEXECDIR, RULES_STAGE_WORK,
	    true, count_workers },
};
const size_t qod_nroles = sizeof(qod_roles) / sizeof(qod_roles[0]);

const struct qod_role *
roles_find(const char *name)
{
	size_t i;

	for (i = 0; i < qod_nroles; i++)
		if (strcmp(qod_roles[i].name, name) == 0)
			return &qod_roles[i];
	return NULL;
}

/* The directory of this binary, or "". */
static const char *
own_directory(void)
{
	static char path[PATH_MAX];
	char *slash;
	ssize_t n;

	if (path[0] != '\0')
		return path;
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n <= 0)
		return "";
	path[n] = '\0';
	slash = strrchr(path, '/');
	*slash = '\0';
	return path;
}

static char *
try(const char *dir, const char *program)
{
	char *path;

	path = xasprintf("%s/%s", dir, program);
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* Of an installed tree that stands elsewhere than it was built for. */
static char *
try_beside(const char *own, const char *program)
{
	char *dir, *path;

	dir = xasprintf("%s/../libexec/qo", own);
	path = try(dir, program);
	free(dir);
	return path;
}

char *
roles_program(const struct qod_role *r, const struct conf *c,
    struct qo_err *err)
{
	const char *own = own_directory();
	char *path;

	if (c->qod.libexec != NULL) {
		path = try(c->qod.libexec, r->program);
		if (path == NULL)
			qo_err_set(err, "[qod] libexec: no program %s in %s",
			    r->program, c->qod.libexec);
		return path;
	}
	if ((path = try(own, r->program)) != NULL ||
	    (path = try_beside(own, r->program)) != NULL ||
	    (path = try(r->installed, r->program)) != NULL)
		return path;
	qo_err_set(err,
	    "no program %s in %s or %s: name its directory with [qod] libexec",
	    r->program, own, r->installed);
	return NULL;
}

size_t
roles_slots(const struct qod_role *r, const struct conf *c)
{
	return r->kind == BOARD_WORKER ? (size_t)c->worker.slots : 0;
}

size_t
roles_handlers(const struct qod_role *r, const struct conf *c)
{
	return r->kind == BOARD_WORKER || r->kind == BOARD_MONITOR
	    ? board_rows(c)
	    : 0;
}
