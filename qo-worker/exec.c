#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "run_int.h"
#include "xalloc.h"

/* What may be around the output in a verdict. */
#define VERDICT_AROUND ((size_t)64 << 10)

/* The pipes of a process, by its descriptor. */
enum {
	IN = 0,
	OUT,
	LOG,
	VERDICT,
	PIPES
};

struct exec {
	LIST_ENTRY(exec) link;
	struct run *run;
	struct reap child;        /* in the list while it has a pid */
	struct loop_io io[PIPES]; /* fd -1: closed */
	size_t sent;              /* of the input */
	struct buf out, verdict;
	const char *too_much; /* what there was too much of; NULL: nothing */
	char *dir;
};

pid_t
exec_pid(const struct exec *x)
{
	return x->child.pid;
}

bool
exec_has(const struct execs *all, const char *lease)
{
	const struct exec *x;

	LIST_FOREACH(x, all, link)
	if (lease == NULL || strcmp(x->run->task->lease_id, lease) == 0)
		return true;
	return false;
}

static void
close_pipe(struct exec *x, int i)
{
	if (x->io[i].fd == -1)
		return;
	loop_io_del(x->run->handlers->loop, &x->io[i]);
	close(x->io[i].fd);
	x->io[i].fd = -1;
}

static void
close_pipes(struct exec *x)
{
	int i;

	for (i = 0; i < PIPES; i++)
		close_pipe(x, i);
}

void
exec_free(struct exec *x)
{
	if (x == NULL)
		return;
	close_pipes(x);
	if (x->child.pid != 0)
		LIST_REMOVE(x, link);
	reap_del(&x->child);
	buf_fini(&x->out);
	buf_fini(&x->verdict);
	section_drop(x->run->state->sec, x->dir);
	free(x);
}

/* The input */

static void
feed(struct exec *x)
{
	const struct run *r = x->run;
	ssize_t n;

	while (x->sent < r->input_len) {
		n = write(x->io[IN].fd, r->input + x->sent,
		    r->input_len - x->sent);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return;
		/* Nobody reads it: that is the handler's affair. */
		if (n == -1)
			break;
		x->sent += (size_t)n;
	}
	close_pipe(x, IN);
}

static void
on_in(struct loop_io *io, uint32_t events)
{
	(void)events;
	feed(io->arg);
}

/* The output */

static void
keep(struct exec *x, int i, const char *p, size_t len)
{
	if (i == LOG) {
		tail_add(&x->run->state->log, p, len);
	} else if (buf_add(i == OUT ? &x->out : &x->verdict, p, len) == -1 &&
	    x->too_much == NULL) {
		x->too_much = i == OUT ? "output" : "verdict";
		run_signal(x->run, SIGKILL);
	}
}

/* At most max bytes; the number, 0 when there are none (now). */
static size_t
take(struct exec *x, int i, size_t max)
{
	char *piece = x->run->handlers->piece;
	ssize_t n;

	if (max > READ_MAX)
		max = READ_MAX;
	do
		n = read(x->io[i].fd, piece, max);
	while (n == -1 && errno == EINTR);
	if (n == 0 || (n == -1 && errno != EAGAIN))
		close_pipe(x, i);
	if (n <= 0)
		return 0;
	keep(x, i, piece, (size_t)n);
	return (size_t)n;
}

static void
on_out(struct loop_io *io, uint32_t events)
{
	struct exec *x = io->arg;

	(void)events;
	take(x, (int)(io - x->io), READ_MAX);
}

/* What was written before the end, and no more: somebody who left the
 * process group may hold the other end and go on. */
static void
take_rest(struct exec *x, int i)
{
	size_t n;
	int left;

	if (x->io[i].fd == -1 || ioctl(x->io[i].fd, FIONREAD, &left) == -1)
		return;
	while (left > 0 && (n = take(x, i, (size_t)left)) > 0)
		left -= (int)n;
}

/* The end */

/* 0 when there is none, 1 when it says what happened, -1 when it is bad. */
static int
judge_verdict(struct exec *x, int status)
{
	struct run *r = x->run;
	struct qo_err err;
	struct reply rep;
	char how[128], line[160];

	if (x->verdict.len == 0)
		return 0;
	if (reply_parse(&rep, x->verdict.data, x->verdict.len, output_max(r),
		&err) == -1) {
		run_result(r, QO_OUTCOME_RETRY, "verdict", "bad verdict: %s",
		    err.msg);
		return -1;
	}
	if (rep.kind == REPLY_PROGRESS || rep.kind == REPLY_LOG) {
		run_result(r, QO_OUTCOME_RETRY, "verdict",
		    "bad verdict: %s is for mode = serve",
		    reply_name(rep.kind));
		reply_fini(&rep);
		return -1;
	}
	run_verdict(r, &rep);
	if (status != 0) {
		proc_describe(status, how, sizeof(how));
		snprintf(line, sizeof(line), "qo: %s after its verdict\n", how);
		tail_add(&r->state->log, line, strlen(line));
	}
	reply_fini(&rep);
	return 1;
}

static void
take_output(struct exec *x)
{
	struct run *r = x->run;
	struct qo_err err;

	if (reply_output(x->out.data, x->out.len, &r->state->output,
		&r->result.output, &err) == 0)
		r->outcome = QO_OUTCOME_COMPLETED;
	else
		run_result(r, QO_OUTCOME_RETRY, "output", "%s", err.msg);
}

static void
judge_exit(struct exec *x, int status)
{
	struct run *r = x->run;
	const struct conf_handler *c = r->handler;

	if (!WIFEXITED(status))
		run_exited(r, QO_OUTCOME_RETRY, status);
	else if (WEXITSTATUS(status) == 0)
		take_output(x);
	else if (conflist_set_has(&c->fail_exit, (unsigned)WEXITSTATUS(status)))
		run_exited(r, QO_OUTCOME_FAILED, status);
	else
		run_exited(r, QO_OUTCOME_RETRY, status);
}

static void
judge(struct exec *x, int status)
{
	struct run *r = x->run;
	int said;

	if (x->too_much != NULL) {
		run_result(r, QO_OUTCOME_RETRY, "output",
		    "the %s is larger than output_max (%zu bytes)", x->too_much,
		    output_max(r));
		return;
	}
	said = judge_verdict(x, status);
	if (said == 1) {
		if (r->outcome == QO_OUTCOME_COMPLETED &&
		    r->result.output.p == NULL)
			take_output(x);
		return;
	}
	/* One that was cut short by the stop is no fault of its own. */
	if (run_was_stopped(r) || said == -1)
		return;
	judge_exit(x, status);
}

static void
exited(struct reap *child, int status)
{
	struct exec *x = child->arg;
	int i;

	LIST_REMOVE(x, link);
	for (i = OUT; i < PIPES; i++)
		take_rest(x, i);
	close_pipes(x);
	section_drop(x->run->state->sec, x->dir);
	x->dir = NULL;
	stray_sweep(&x->run->handlers->strays);
	judge(x, status);
	run_over(x->run);
}

/* The start */

static int
open_pipes(struct exec *x, int theirs[PIPES])
{
	int i, rv;

	for (i = 0; i < PIPES; i++)
		theirs[i] = -1;
	for (i = 0; i < PIPES; i++) {
		if (i == IN)
			rv = pipe_in(&x->io[i].fd, &theirs[i]);
		else
			rv = pipe_out(&x->io[i].fd, &theirs[i]);
		if (rv == -1)
			return -1;
	}
	return 0;
}

static int
watch_pipes(struct exec *x)
{
	struct loop *l = x->run->handlers->loop;
	int i;

	for (i = OUT; i < PIPES; i++)
		if (loop_io_add(l, &x->io[i], x->io[i].fd, EPOLLIN, on_out,
			x) == -1)
			return -1;
	/* What the pipe takes at once needs no watching. */
	feed(x);
	if (x->io[IN].fd == -1)
		return 0;
	return loop_io_add(l, &x->io[IN], x->io[IN].fd, EPOLLOUT, on_in, x);
}

static int
spawn(struct exec *x, struct qo_err *err)
{
	struct run *r = x->run;
	struct section *sec = r->state->sec;
	struct proc_spec spec;
	int theirs[PIPES], i;
	pid_t pid = -1;

	proc_spec_init(&spec);
	if (open_pipes(x, theirs) == -1 || watch_pipes(x) == -1) {
		qo_err_sys(err, errno, "pipes for the handler");
	} else {
		for (i = 0; i < PIPES; i++)
			spec.fds[i] = theirs[i];
		spec.nfds = PIPES;
		pid = section_spawn(sec, &spec,
		    env_task_fill(&sec->all->env, &sec->env, r), &x->dir, err);
	}
	for (i = 0; i < PIPES; i++)
		if (theirs[i] != -1)
			close(theirs[i]);
	if (pid == -1)
		return -1;
	LIST_INSERT_HEAD(&sec->all->execs, x, link);
	reap_add(&x->child, pid, exited, x);
	r->pid = pid;
	return 0;
}

void
exec_start(struct run *r)
{
	struct qo_err err;
	struct exec *x;
	int i;

	x = xcalloc(1, sizeof(*x));
	x->run = r;
	r->state->exec = x;
	for (i = 0; i < PIPES; i++)
		x->io[i].fd = -1;
	buf_init(&x->out, output_max(r));
	buf_init(&x->verdict, output_max(r) + VERDICT_AROUND);
	if (spawn(x, &err) == -1) {
		close_pipes(x);
		run_result(r, QO_OUTCOME_RETRY, "start", "%s", err.msg);
		run_over_later(r);
	}
}
