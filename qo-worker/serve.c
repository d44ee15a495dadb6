#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "serve_int.h"
#include "xalloc.h"

pid_t
serve_pid(const struct instance *in)
{
	return in->child.pid;
}

static void
move(struct instance *in, struct instances *to)
{
	struct section *sec = in->sec;

	if (in->list != NULL) {
		TAILQ_REMOVE(in->list, in, link);
		sec->live -= in->list != &sec->ending;
	}
	in->list = to;
	if (to == NULL)
		return;
	/* The one that was last busy is warm. */
	TAILQ_INSERT_HEAD(to, in, link);
	sec->live += to != &sec->ending;
}

void
serve_close(struct instance *in, struct loop_io *io)
{
	if (io->fd == -1)
		return;
	loop_io_del(loop_of(in), io);
	close(io->fd);
	io->fd = -1;
}

static void
instance_free(struct instance *in)
{
	move(in, NULL);
	serve_close(in, &in->in);
	serve_close(in, &in->out);
	serve_close(in, &in->err);
	loop_timer_del(loop_of(in), &in->end);
	reap_del(&in->child);
	talk_fini(in);
	section_drop(in->sec, in->dir);
	free(in);
}

/* Ending */

void
serve_kill(struct instance *in)
{
	in->ours = true;
	if (!in->dead)
		proc_signal_group(in->child.pid, SIGKILL);
	serve_close(in, &in->in);
	if (in->list != &in->sec->ending)
		move(in, &in->sec->ending);
}

static void
end_kill(struct loop_timer *t)
{
	serve_kill(t->arg);
}

static void
end_term(struct loop_timer *t)
{
	struct instance *in = t->arg;

	proc_signal_group(in->child.pid, SIGTERM);
	loop_timer_set_ms(loop_of(in), t, in->sec->conf->grace_ms / 2, end_kill,
	    in);
}

/* Its stdin has ended, and so should it. */
static void
retire(struct instance *in)
{
	in->ours = true;
	serve_close(in, &in->in);
	move(in, &in->sec->ending);
	if (!in->dead)
		loop_timer_set_ms(loop_of(in), &in->end,
		    in->sec->conf->grace_ms / 2, end_term, in);
}

/* The run is over; what it was busy with is free for the next one, unless it
 * has to go. */
void
serve_finish(struct instance *in)
{
	struct run *r = in->run;
	int max_tasks = in->sec->conf->max_tasks;

	in->run = NULL;
	if (in->list == &in->sec->busy) {
		if (in->ours || in->dead ||
		    (max_tasks > 0 && in->served >= max_tasks))
			retire(in);
		else
			move(in, &in->sec->idle);
	}
	run_over(r);
}

/* Back-off */

static void
pause_over(struct loop_timer *t)
{
	section_freed(t->arg);
}

/* A process that ended before it had answered anything, or did not even
 * start: the next one will hardly do better, so it waits. */
void
serve_back_off(struct section *sec, int64_t uptime_ms, const char *why)
{
	bool first = sec->delay_ms == 0;

	sec->delay_ms = proc_backoff(sec->delay_ms, uptime_ms);
	sec->failed = loop_now(sec->all->loop);
	loop_timer_set_ms(sec->all->loop, &sec->pause, sec->delay_ms,
	    pause_over, sec);
	if (first)
		log_warnx("handler %s: %s; its tasks are left to others "
			  "between tries",
		    sec->conf->name, why);
}

/* An answer of a process that was started since: those that were there before
 * prove nothing. */
void
serve_went_well(const struct instance *in)
{
	struct section *sec = in->sec;

	if (sec->delay_ms == 0 || in->started.us <= sec->failed.us)
		return;
	log_info("handler %s: answers again", sec->conf->name);
	sec->delay_ms = 0;
	loop_timer_del(sec->all->loop, &sec->pause);
	section_freed(sec);
}

size_t
serve_room(const struct section *sec)
{
	if (sec->all->stopping)
		return 0;
	/* While the next process waits, those that live do their work. */
	if (loop_timer_is_set(&sec->pause))
		return sec->live;
	return (size_t)sec->conf->instances;
}

/* Death */

/* How it ended, with our own kill for a closed descriptor taken into
 * account. */
static void
describe(const struct instance *in, int status, char *out, size_t size)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && in->deaf)
		snprintf(out, size, "closed its stdin");
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
	    in->out.fd == -1 && !in->ours)
		snprintf(out, size, "closed its stdout");
	else
		proc_describe(status, out, size);
}

static void
end_of_run(struct instance *in, int status, const char *how)
{
	struct run *r = in->run;
	char line[256];

	if (r == NULL)
		return;
	if (!run_was_stopped(r)) {
		tail_last_line(&r->state->log, line, sizeof(line));
		run_result(r, QO_OUTCOME_RETRY,
		    WIFSIGNALED(status) ? "signal" : "exit",
		    "the serving process %s before it answered%s%s", how,
		    line[0] != '\0' ? ": " : "", line);
	}
	serve_finish(in);
}

static void
note_death(struct instance *in, const char *how)
{
	struct section *sec = in->sec;
	struct qo_mono now = loop_now(sec->all->loop);
	char why[192];

	if (in->ours)
		return;
	if (in->served == 0) {
		snprintf(why, sizeof(why), "%s before it answered anything",
		    how);
		serve_back_off(sec,
		    qo_mono_diff_us(in->started, now) / QO_US_PER_MS, why);
	} else if (in->run == NULL) {
		log_warnx("handler %s: an idle process %s", sec->conf->name,
		    how);
	}
}

static void
exited(struct reap *child, int status)
{
	struct instance *in = child->arg;
	struct handlers *h = in->sec->all;
	char how[128];

	in->dead = true;
	describe(in, status, how, sizeof(how));
	talk_rest(in);
	note_death(in, how);
	end_of_run(in, status, how);
	instance_free(in);
	stray_sweep(&h->strays);
	handlers_ended(h);
}

/* Processes */

/* What it leaves behind is known by its name. */
static pid_t
spawn_named(struct instance *in, struct proc_spec *spec, struct qo_err *err)
{
	const struct env *base = &in->sec->env;
	char *name, **env;
	pid_t pid;

	snprintf(in->name, sizeof(in->name), "%d.%ju", (int)getpid(),
	    (uintmax_t)++in->sec->all->instances);
	name = xasprintf("QO_INSTANCE=%s", in->name);
	env = xcalloc(base->n + 2, sizeof(*env));
	memcpy(env, base->v, base->n * sizeof(*env));
	env[base->n] = name;
	pid = section_spawn(in->sec, spec, env, &in->dir, err);
	free(env);
	free(name);
	return pid;
}

static pid_t
spawn(struct instance *in, struct qo_err *err)
{
	struct proc_spec spec;
	pid_t pid = -1;
	int i;

	proc_spec_init(&spec);
	if (pipe_in(&in->in.fd, &spec.fds[0]) == -1 ||
	    pipe_out(&in->out.fd, &spec.fds[1]) == -1 ||
	    pipe_out(&in->err.fd, &spec.fds[2]) == -1 || talk_watch(in) == -1)
		qo_err_sys(err, errno, "pipes for the handler");
	else
		pid = spawn_named(in, &spec, err);
	for (i = 0; i < 3; i++)
		if (spec.fds[i] != -1)
			close(spec.fds[i]);
	return pid;
}

static struct instance *
instance_new(struct section *sec, struct qo_err *err)
{
	struct instance *in;
	pid_t pid;

	in = xcalloc(1, sizeof(*in));
	in->sec = sec;
	in->in.fd = in->out.fd = in->err.fd = -1;
	talk_init(in);
	in->started = loop_now(sec->all->loop);
	pid = spawn(in, err);
	if (pid == -1) {
		instance_free(in);
		return NULL;
	}
	reap_add(&in->child, pid, exited, in);
	move(in, &sec->idle);
	return in;
}

void
serve_start(struct run *r)
{
	struct section *sec = r->state->sec;
	struct instance *in = TAILQ_FIRST(&sec->idle);
	struct qo_err err;

	if (in == NULL)
		in = instance_new(sec, &err);
	if (in == NULL) {
		serve_back_off(sec, 0, err.msg);
		run_result(r, QO_OUTCOME_RETRY, "start", "%s", err.msg);
		run_over_later(r);
		return;
	}
	move(in, &sec->busy);
	in->run = r;
	r->state->inst = in;
	r->pid = in->child.pid;
	talk_send(in);
}

void
serve_stopped(struct instance *in)
{
	in->ours = true;
}

void
serve_abandon(struct instance *in)
{
	in->run = NULL;
	serve_kill(in);
}

void
serve_init(struct section *sec)
{
	TAILQ_INIT(&sec->idle);
	TAILQ_INIT(&sec->busy);
	TAILQ_INIT(&sec->ending);
}

bool
serve_any(const struct section *sec)
{
	return sec->live > 0 || !TAILQ_EMPTY(&sec->ending);
}

bool
serve_has(const struct section *sec, const char *name)
{
	const struct instances *lists[] = { &sec->idle, &sec->busy,
		&sec->ending };
	const struct instance *in;
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		TAILQ_FOREACH (in, lists[i], link)
			if (name == NULL || strcmp(in->name, name) == 0)
				return true;
	return false;
}

void
serve_stop(struct section *sec)
{
	struct instance *in;

	while ((in = TAILQ_FIRST(&sec->idle)) != NULL)
		retire(in);
}

static void
kill_list(struct instances *list)
{
	struct instance *in;

	while ((in = TAILQ_FIRST(list)) != NULL) {
		if (in->run != NULL)
			in->run->state->inst = NULL;
		proc_signal_group(in->child.pid, SIGKILL);
		instance_free(in);
	}
}

void
serve_fini(struct section *sec)
{
	kill_list(&sec->idle);
	kill_list(&sec->busy);
	kill_list(&sec->ending);
	loop_timer_del(sec->all->loop, &sec->pause);
}
