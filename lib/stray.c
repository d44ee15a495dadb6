#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "proc.h"
#include "stray.h"

#define TEXT_MAX ((size_t)1 << 20)
/* A process between two programs shows whose it is a moment later; one that
 * never does is left alone. */
#define LOOKS_MAX 6
#define LOOK_MS   5

/* A file below /proc; false when it can not be read. */
static bool
slurp(const char *path, struct buf *b)
{
	int fd, rv;

	buf_reset(b);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	rv = io_read_all(fd, b);
	close(fd);
	return rv == 0;
}

/* Whose it is by its environment; NULL when that does not tell. */
static const char *
owner_of(const struct buf *environment)
{
	static const char *const names[] = { "QO_LEASE_ID=", "QO_INSTANCE=" };
	const char *p = environment->data, *end = p + environment->len;
	size_t i;

	for (; p < end; p += strlen(p) + 1)
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strncmp(p, names[i], strlen(names[i])) == 0)
				return p + strlen(names[i]);
	return NULL;
}

/* True: it could not be seen whose it is. */
static bool
look_at(const struct stray *s, pid_t pid, struct buf *b)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	if (!slurp(path, b)) /* of another account */
		buf_reset(b);
	if (s->running(s->arg, owner_of(b)))
		return b->len == 0;
	if (getpgid(pid) == pid)
		proc_signal_group(pid, SIGKILL);
	proc_signal(pid, SIGKILL);
	return false;
}

static bool
look_at_all(const struct stray *s)
{
	struct buf children, environment;
	bool unclear = false;
	char *p, *end;
	long pid;

	buf_init(&children, TEXT_MAX);
	buf_init(&environment, TEXT_MAX);
	if (slurp("/proc/thread-self/children", &children)) {
		for (p = children.data; (pid = strtol(p, &end, 10)) > 0;
		     p = end)
			if (!s->known(s->arg, (pid_t)pid) &&
			    look_at(s, (pid_t)pid, &environment))
				unclear = true;
	}
	buf_fini(&children);
	buf_fini(&environment);
	return unclear;
}

static void
look(struct loop_timer *t)
{
	struct stray *s = t->arg;

	if (look_at_all(s) && s->looks++ < LOOKS_MAX)
		loop_timer_set_ms(s->loop, t, LOOK_MS << s->looks, look, s);
}

void
stray_sweep(struct stray *s)
{
	s->looks = 0;
	s->again.arg = s;
	look(&s->again);
}

void
stray_fini(struct stray *s)
{
	if (s->loop != NULL)
		loop_timer_del(s->loop, &s->again);
}
