#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "log.h"
#include "lost.h"
#include "proc.h"
#include "xalloc.h"

/*
 * Ours are orphans by now, and children of a subreaper.  A group whose number
 * somebody else got, because its handler ended before the worker did, has no
 * child of ours in it.
 */
static bool
is_our_group(pid_t group)
{
	siginfo_t info;

	/* The roles are children as well, and in our own group. */
	if (group <= 1 || group == getpgrp())
		return false;
	return waitid(P_PGID, (id_t)group, &info,
		   WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* It comes from a process that may have run wild, and goes into a message. */
static bool
is_id(const char *id)
{
	return strlen(id) == BOARD_ID - 1 &&
	    strspn(id, "0123456789abcdef-") == BOARD_ID - 1;
}

void
lost_add(struct qod *q, const char *task, int64_t generation, const char *lease)
{
	struct lost *l;

	l = xcalloc(1, sizeof(*l));
	strlcpy(l->task, task, sizeof(l->task));
	strlcpy(l->lease, lease, sizeof(l->lease));
	l->generation = generation;
	TAILQ_INSERT_TAIL(&q->lost, l, entry);
	q->nlost++;
	qod_changed(q);
}

void
lost_collect(struct qod *q, const struct child *c)
{
	struct board_area *area = board_at(q->board, c->area);
	struct board_info info;
	struct board_task t;
	char name[CHILD_NAME];
	size_t i, n = 0;

	if (area == NULL)
		return;
	board_read(area, &info);
	for (i = 0; i < info.nslots; i++) {
		memset(&t, 0, sizeof(t));
		if (!board_slot_read(area, i, &t))
			continue;
		if (is_our_group(t.handler))
			proc_signal_group(t.handler, SIGKILL);
		if (!is_id(t.task_id) || !is_id(t.lease_id))
			continue;
		lost_add(q, t.task_id, t.generation, t.lease_id);
		n++;
	}
	if (n > 0)
		log_event(LOG_LVL_WARN, "gone with its tasks", "child",
		    child_name(c, name), "tasks", LOG_NUM(n), NULL);
}

/* The newest that works. */
static struct child *
find_monitor(struct qod *q)
{
	struct child *c, *found = NULL;

	TAILQ_FOREACH (c, &q->children, entry)
		if (c->role->kind == BOARD_MONITOR && c->state == CHILD_READY &&
		    (found == NULL || c->generation > found->generation))
			found = c;
	return found;
}

static void
tell(struct qod *q, struct child *monitor)
{
	struct lost *l;

	TAILQ_FOREACH (l, &q->lost, entry) {
		if (l->told != 0)
			continue;
		if (child_tell(monitor, "lost %s %" PRId64 " %s", l->task,
			l->generation, l->lease) == -1)
			return; /* when it reads on, or to the next one */
		l->told = monitor->pid;
	}
}

void
lost_send(struct qod *q)
{
	struct child *monitor;

	if (q->nlost == 0)
		return;
	monitor = find_monitor(q);
	if (monitor != NULL) {
		tell(q, monitor);
	} else if (!q->gen->conf->monitor.enabled) {
		log_event(LOG_LVL_WARN,
		    "no monitor runs here: tasks wait until their leases end",
		    "tasks", LOG_NUM(q->nlost), NULL);
		lost_clear(q);
	}
}

static void
drop(struct qod *q, struct lost *l)
{
	TAILQ_REMOVE(&q->lost, l, entry);
	free(l);
	q->nlost--;
}

void
lost_settled(struct qod *q, const char *lease)
{
	struct lost *l;

	TAILQ_FOREACH (l, &q->lost, entry)
		if (strcmp(l->lease, lease) == 0)
			break;
	if (l == NULL)
		return;
	drop(q, l);
	if (q->nlost == 0)
		log_info("all tasks of dead processes are settled");
	qod_changed(q);
}

void
lost_monitor_gone(struct qod *q, pid_t pid)
{
	struct lost *l;

	TAILQ_FOREACH (l, &q->lost, entry)
		if (l->told == pid)
			l->told = 0;
}

void
lost_clear(struct qod *q)
{
	struct lost *l;

	while ((l = TAILQ_FIRST(&q->lost)) != NULL)
		drop(q, l);
}
