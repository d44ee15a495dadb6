#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "command.h"
#include "envkeys.h"
#include "io.h"
#include "log.h"
#include "lost.h"
#include "notify.h"
#include "proc.h"
#include "reload.h"
#include "roles.h"
#include "sig.h"
#include "spawn.h"
#include "upgrade.h"
#include "xalloc.h"

#define VARIABLE  "QO_UPGRADE"
#define STATE_MAX (16 << 20)

/* Writing */

static void
write_child(const struct child *c, struct buf *b)
{
	buf_addf(b,
	    "child %s %d %d %d %d %ld %d %" PRId64 " %" PRId64 " %" PRId64
	    " %d\n",
	    c->role->name, c->index, c->generation, (int)c->state,
	    c->retired ? 1 : 0, (long)c->pid, c->ctl.fd, c->area, c->started.us,
	    c->delay_ms, c->restarts);
}

void
upgrade_write(const struct qod *q, struct buf *b)
{
	const struct child *c;
	const struct lost *l;

	buf_addf(b, "qod 1\n");
	buf_addf(b, "pidfile %d\n", q->pidfile);
	buf_addf(b, "store %d %d\n", q->store_tcp, q->store_unix);
	buf_addf(b, "control %d\n", q->control_fd);
	buf_addf(b, "board %d\n", board_fd(q->board));
	buf_addf(b, "conf %d %d\n", q->gen->fd, q->gen->number);
	buf_addf(b, "last %d\n", q->last_generation);
	buf_addf(b, "extra %d\n", q->extra);
	buf_addf(b, "announced %d\n", q->announced ? 1 : 0);
	buf_addf(b, "started %" PRId64 "\n", q->started.us);
	TAILQ_FOREACH (c, &q->children, entry)
		if (child_is_live(c))
			write_child(c, b);
	TAILQ_FOREACH (l, &q->lost, entry)
		buf_addf(b, "lost %s %" PRId64 " %s\n", l->task, l->generation,
		    l->lease);
	buf_adds(b, "end\n");
}

/* All that is left open for the next image, or closed again if it is not. */
static void
set_inherited(const struct qod *q, bool on)
{
	const int fds[] = { q->pidfile, q->store_tcp, q->store_unix,
		q->control_fd, board_fd(q->board), q->gen->fd };
	const struct child *c;
	int flags = on ? 0 : FD_CLOEXEC;
	size_t i;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] != -1)
			fcntl(fds[i], F_SETFD, flags);
	TAILQ_FOREACH (c, &q->children, entry)
		if (c->ctl.fd != -1)
			fcntl(c->ctl.fd, F_SETFD, flags);
}

/* A memfd at its beginning, which is inherited; -1 with errno. */
static int
write_state(const struct qod *q)
{
	struct buf b;
	int fd;

	buf_init(&b, STATE_MAX);
	upgrade_write(q, &b);
	fd = memfd_create("qod.state", MFD_CLOEXEC);
	if (fd != -1 &&
	    (buf_failed(&b) || io_write_all(fd, b.data, b.len) == -1 ||
		lseek(fd, 0, SEEK_SET) == -1 || fcntl(fd, F_SETFD, 0) == -1)) {
		close(fd);
		fd = -1;
	}
	buf_fini(&b);
	return fd;
}

static void
run_next(struct qod *q)
{
	char text[16], **env;
	int fd;

	fd = write_state(q);
	if (fd == -1) {
		log_error("upgrade: can not hand over");
		return;
	}
	snprintf(text, sizeof(text), "%d", fd);
	if (setenv(VARIABLE, text, 1) == -1)
		fatal("setenv");
	log_info("upgrade: running %s", q->program);
	command_upgraded(q, true, q->program);
	/* What arrives from here on, or was not looked at yet, waits for the
	 * handlers of the next. */
	sig_hand_over();
	set_inherited(q, true);
	env = envkeys_environ();
	execve(q->program, q->argv, env);
	log_error("upgrade: can not run %s, this one goes on", q->program);
	free(env);
	set_inherited(q, false);
	unsetenv(VARIABLE);
	close(fd);
	sig_hold(false);
}

void
qod_upgrade(struct qod *q)
{
	struct qo_err err = { 0 };

	if (q->stopping || q->checker != 0)
		return;
	q->checker = spawn_checker(q, &err);
	if (q->checker == -1) {
		q->checker = 0;
		log_errorx("upgrade: %s", err.msg);
		return;
	}
	log_info("upgrade: %s checks the configuration", q->program);
}

void
upgrade_checked(struct qod *q, int status)
{
	char how[128];

	q->checker = 0;
	q->upgrade_after = false;
	proc_describe(status, how, sizeof(how));
	if (status != 0) {
		log_errorx("upgrade: %s -n %s, this one goes on", q->program,
		    how);
		command_upgraded(q, false, how);
	} else if (q->phase != RELOAD_IDLE)
		q->upgrade_after = true; /* the reload first */
	else if (!q->stopping)
		run_next(q);
}

void
upgrade_abandon(struct qod *q)
{
	if (q->checker != 0)
		proc_signal(q->checker, SIGKILL);
	q->checker = 0;
	q->upgrade_after = false;
}

/* Reading */

int
upgrade_inherited(void)
{
	const char *text = getenv(VARIABLE), *wrong;
	int fd;

	if (text == NULL)
		return -1;
	fd = (int)strtonum(text, 3, INT32_MAX, &wrong);
	unsetenv(VARIABLE);
	if (wrong != NULL || fcntl(fd, F_SETFD, FD_CLOEXEC) == -1)
		return -1;
	return fd;
}

/* Ours, and no longer for those that we start. */
static int
own(int fd)
{
	if (fd != -1 && fcntl(fd, F_SETFD, FD_CLOEXEC) == -1)
		return -1;
	return fd;
}

static void
read_lost(struct qod *q, const char *line)
{
	char task[BOARD_ID], lease[BOARD_ID];
	int64_t generation;

	if (sscanf(line, "lost %36s %" SCNd64 " %36s", task, &generation,
		lease) == 3)
		lost_add(q, task, generation, lease);
}

static void
read_line(struct qod *q, const char *line, struct upgrade_state *s)
{
	int n;

	if (sscanf(line, "store %d %d", &q->store_tcp, &q->store_unix) == 2) {
		q->store_tcp = own(q->store_tcp);
		q->store_unix = own(q->store_unix);
	} else if (sscanf(line, "conf %d %d", &s->conf, &s->generation) == 2) {
		s->conf = own(s->conf);
	} else if (sscanf(line, "pidfile %d", &q->pidfile) == 1) {
		q->pidfile = own(q->pidfile);
	} else if (sscanf(line, "control %d", &q->control_fd) == 1) {
		q->control_fd = own(q->control_fd);
	} else if (sscanf(line, "board %d", &s->board) == 1) {
		s->board = own(s->board);
	} else if (sscanf(line, "announced %d", &n) == 1) {
		q->announced = n != 0;
	} else if (sscanf(line, "last %d", &q->last_generation) == 1 ||
	    sscanf(line, "extra %d", &q->extra) == 1 ||
	    sscanf(line, "started %" SCNd64, &q->started.us) == 1) {
		return;
	} else {
		read_lost(q, line);
	}
}

int
upgrade_read(struct qod *q, int fd, struct upgrade_state *s, struct buf *text,
    struct qo_err *err)
{
	char *copy, *rest, *line;

	s->board = s->conf = -1;
	s->generation = 0;
	if (io_read_all(fd, text) == -1) {
		qo_err_sys(err, errno, "state of the old qod");
		return -1;
	}
	rest = copy = xstrdup(text->data);
	while ((line = strsep(&rest, "\n")) != NULL)
		read_line(q, line, s);
	free(copy);
	if (text->len < 4 || strcmp(text->data + text->len - 4, "end\n") != 0 ||
	    strncmp(text->data, "qod ", 4) != 0) {
		qo_err_set(err, "the state of the old qod is not whole");
		return -1;
	}
	return 0;
}

static void
read_child(struct qod *q, const char *line, struct generation *gen)
{
	char role[16];
	struct child got, *c;
	int state, retired;
	long pid;

	memset(&got, 0, sizeof(got));
	if (sscanf(line,
		"child %15s %d %d %d %d %ld %d %" SCNd64 " %" SCNd64 " %" SCNd64
		" %d",
		role, &got.index, &got.generation, &state, &retired, &pid,
		&got.ctl.fd, &got.area, &got.started.us, &got.delay_ms,
		&got.restarts) != 11 ||
	    roles_find(role) == NULL || pid <= 1 || state < CHILD_DOWN ||
	    state > CHILD_FAILED)
		return;
	c = child_new(q, roles_find(role), got.index, gen);
	c->generation = got.generation;
	c->state = (enum child_state)state;
	c->retired = retired != 0;
	c->pid = (pid_t)pid;
	c->ctl.fd = own(got.ctl.fd);
	c->area = got.area;
	c->started = got.started;
	c->delay_ms = got.delay_ms;
	c->restarts = got.restarts;
	child_watch(c);
}

void
upgrade_children(struct qod *q, const char *text, struct generation *gen)
{
	char *copy, *rest, *line;

	rest = copy = xstrdup(text);
	while ((line = strsep(&rest, "\n")) != NULL)
		read_child(q, line, gen);
	free(copy);
}
