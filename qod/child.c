#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "generation.h"
#include "io.h"
#include "log.h"
#include "lost.h"
#include "proc.h"
#include "role.h"
#include "spawn.h"
#include "xalloc.h"

#define KILL_MS 10000 /* beyond the limit of a drain */

struct child *
child_new(struct qod *q, const struct qod_role *role, int index,
    struct generation *gen)
{
	struct child *c;

	c = xcalloc(1, sizeof(*c));
	c->q = q;
	c->role = role;
	c->index = index;
	c->gen = generation_ref(gen);
	c->ctl.fd = -1;
	c->area = -1;
	TAILQ_INSERT_TAIL(&q->children, c, entry);
	qod_changed(q);
	return c;
}

static void
close_ctl(struct child *c)
{
	if (c->ctl.fd == -1)
		return;
	loop_io_del(c->q->loop, &c->ctl);
	close(c->ctl.fd);
	c->ctl.fd = -1;
}

void
child_free(struct child *c)
{
	struct qod *q = c->q;

	if (c->pid != 0)
		qo_bug("a child is freed that runs, pid %ld", (long)c->pid);
	close_ctl(c);
	loop_timer_del(q->loop, &c->timer);
	generation_unref(c->gen);
	TAILQ_REMOVE(&q->children, c, entry);
	free(c);
	qod_changed(q);
}

void
child_set_generation(struct child *c, struct generation *gen)
{
	generation_ref(gen);
	generation_unref(c->gen);
	c->gen = gen;
}

const char *
child_name(const struct child *c, char out[CHILD_NAME])
{
	snprintf(out, CHILD_NAME, "%s.%d", c->role->name, c->index);
	return out;
}

const char *
child_state_name(enum child_state state)
{
	static const char *const names[] = { "down", "starting", "ready",
		"draining", "failed" };

	return names[state];
}

struct child *
child_by_pid(struct qod *q, pid_t pid)
{
	struct child *c;

	TAILQ_FOREACH (c, &q->children, entry)
		if (c->pid == pid)
			return c;
	return NULL;
}

/* Messages */

static void
on_ready(struct child *c)
{
	char name[CHILD_NAME];

	if (c->state != CHILD_STARTING)
		return;
	c->state = CHILD_READY;
	log_event(LOG_LVL_INFO, "ready", "child", child_name(c, name),
	    "child_pid", LOG_NUM(c->pid), "generation", LOG_NUM(c->gen->number),
	    "ms",
	    LOG_NUM(qo_mono_diff_us(c->started, qo_mono_now()) / QO_US_PER_MS),
	    NULL);
	if (c->q->quiet && c->gen == c->q->gen)
		child_tell(c, "quiet");
	qod_changed(c->q);
}

static void
on_note(struct child *c, const char *text)
{
	char name[CHILD_NAME];

	if (strcmp(c->note, text) == 0)
		return;
	strlcpy(c->note, text, sizeof(c->note));
	log_event(LOG_LVL_INFO, "note", "child", child_name(c, name), "text",
	    text, NULL);
}

static void
on_message(struct child *c, char *line)
{
	char name[CHILD_NAME];
	char *rest = line;
	const char *verb;

	verb = strsep(&rest, " ");
	if (strcmp(verb, "ready") == 0)
		on_ready(c);
	else if (strcmp(verb, "settled") == 0 && rest != NULL)
		lost_settled(c->q, rest);
	else if (strcmp(verb, "note") == 0)
		on_note(c, rest != NULL ? rest : "");
	else
		log_event(LOG_LVL_DEBUG, "unknown message", "child",
		    child_name(c, name), "verb", verb, NULL);
}

static void
on_ctl(struct loop_io *io, uint32_t events)
{
	struct child *c = io->arg;
	char line[ROLE_MSG_MAX + 1];
	ssize_t n;

	if ((events & EPOLLOUT) != 0) {
		loop_io_set(c->q->loop, io, EPOLLIN);
		qod_changed(c->q); /* what could not be sent goes now */
	}
	for (;;) {
		n = recv(io->fd, line, sizeof(line) - 1, 0);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return;
		if (n <= 0) {
			/* It is about to be gone; SIGCHLD tells how. */
			close_ctl(c);
			return;
		}
		line[n] = '\0';
		line[strcspn(line, "\n")] = '\0';
		on_message(c, line);
	}
}

void
child_watch(struct child *c)
{
	if (c->ctl.fd == -1)
		return;
	if (io_nonblock(c->ctl.fd) == -1 ||
	    loop_io_add(c->q->loop, &c->ctl, c->ctl.fd, EPOLLIN, on_ctl, c) ==
		-1)
		fatal("control socket of a child");
}

int
child_tell(struct child *c, const char *fmt, ...)
{
	char line[ROLE_MSG_MAX], name[CHILD_NAME];
	va_list ap;
	int n;

	if (c->ctl.fd == -1)
		return -1;
	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		qo_bug("a message is too long: %s", fmt);
	if (send(c->ctl.fd, line, (size_t)n, MSG_NOSIGNAL) != -1)
		return 0;
	if (errno == EAGAIN)
		loop_io_set(c->q->loop, &c->ctl, EPOLLIN | EPOLLOUT);
	else if (errno != EPIPE && errno != ECONNRESET)
		log_warn("can not talk to %s", child_name(c, name));
	return -1;
}

/* Start */

static void
on_due(struct loop_timer *t)
{
	child_start(t->arg);
}

static void
wait_to_start(struct child *c, int64_t delay_ms)
{
	c->state = CHILD_DOWN;
	c->delay_ms = delay_ms;
	loop_timer_set_ms(c->q->loop, &c->timer, delay_ms, on_due, c);
	qod_changed(c->q);
}

static void
start_failed(struct child *c, const struct qo_err *err)
{
	char name[CHILD_NAME];

	if (strncmp(c->why, err->msg, sizeof(c->why) - 1) != 0)
		log_event(LOG_LVL_ERROR, "can not start", "child",
		    child_name(c, name), "error", err->msg, NULL);
	strlcpy(c->why, err->msg, sizeof(c->why));
	wait_to_start(c, proc_backoff(c->delay_ms, 0));
}

void
child_start(struct child *c)
{
	struct qo_err err = { 0 };
	char name[CHILD_NAME];

	loop_timer_del(c->q->loop, &c->timer);
	c->note[0] = '\0';
	c->started = qo_mono_now();
	c->beat = (struct rules_beat){ 0, 0 };
	if (spawn_child(c, &err) == -1) {
		start_failed(c, &err);
		return;
	}
	child_watch(c);
	c->state = CHILD_STARTING;
	c->generation = c->gen->number;
	log_event(LOG_LVL_DEBUG, "started", "child", child_name(c, name),
	    "child_pid", LOG_NUM(c->pid), "generation", LOG_NUM(c->gen->number),
	    NULL);
	qod_changed(c->q);
}

/* End */

static void
on_overdue(struct loop_timer *t)
{
	struct child *c = t->arg;
	char name[CHILD_NAME];

	log_event(LOG_LVL_WARN, "does not end: SIGKILL", "child",
	    child_name(c, name), "child_pid", LOG_NUM(c->pid), NULL);
	proc_signal(c->pid, SIGKILL);
}

static void
end_within(struct child *c, int64_t ms)
{
	c->state = CHILD_DRAINING;
	if (ms >= 0)
		loop_timer_set_ms(c->q->loop, &c->timer, ms, on_overdue, c);
	else
		loop_timer_del(c->q->loop, &c->timer);
	qod_changed(c->q);
}

void
child_drain(struct child *c, int64_t limit_ms)
{
	child_tell(c, "drain %" PRId64, limit_ms);
	end_within(c, limit_ms >= 0 ? limit_ms + KILL_MS : -1);
}

void
child_now(struct child *c)
{
	child_tell(c, "now");
	end_within(c, KILL_MS);
}

void
child_retire(struct child *c)
{
	c->retired = true;
	if (child_is_live(c))
		child_drain(c, -1);
	else
		child_free(c);
}

/* What of it others must know of, before it is forgotten. */
static void
bury(struct child *c)
{
	lost_monitor_gone(c->q, c->pid);
	if (c->area != -1) {
		lost_collect(c->q, c);
		board_release(c->q->board, c->area);
	}
	c->area = -1;
	close_ctl(c);
	loop_timer_del(c->q->loop, &c->timer);
	c->pid = 0;
}

/* As asked: gone for good, or to begin again with another configuration. */
static void
ended(struct child *c, int status)
{
	char name[CHILD_NAME];

	log_event(status == 0 ? LOG_LVL_INFO : LOG_LVL_WARN, "ended", "child",
	    child_name(c, name), "how", c->why, NULL);
	if (c->retired || c->told_end)
		child_free(c);
	else
		wait_to_start(c, 0);
}

void
child_exited(struct child *c, int status)
{
	struct rules_death d = { .status = status, .delay_ms = c->delay_ms };
	char name[CHILD_NAME];
	int64_t delay_ms;
	pid_t pid = c->pid;

	d.uptime_ms = qo_mono_diff_us(c->started, qo_mono_now()) / QO_US_PER_MS;
	d.wanted = !c->retired && c->state != CHILD_DRAINING;
	proc_describe(status, c->why, sizeof(c->why));
	bury(c);
	switch (rules_after_death(&d, &delay_ms)) {
	case RULES_GONE:
		ended(c, status);
		break;
	case RULES_FAILED:
		c->state = CHILD_FAILED;
		log_event(LOG_LVL_ERROR,
		    "its configuration is wrong, it is not started again",
		    "child", child_name(c, name), "child_pid", LOG_NUM(pid),
		    "how", c->why, NULL);
		qod_changed(c->q);
		break;
	case RULES_RESTART:
		c->restarts++;
		board_restarted(c->q->board);
		log_event(LOG_LVL_WARN, "died, is started again", "child",
		    child_name(c, name), "child_pid", LOG_NUM(pid), "how",
		    c->why, "restart_ms", LOG_NUM(delay_ms), NULL);
		wait_to_start(c, delay_ms);
		break;
	}
}
