#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "rfc3339.h"
#include "run_int.h"
#include "xalloc.h"

/* What may be around the output in a line. */
#define LINE_AROUND ((size_t)64 << 10)
/* Buffers above this are not kept from task to task. */
#define KEEP_MAX ((size_t)256 << 10)
/* Lines that idle processes may write to our log in a minute. */
#define SAID_MAX 20

/* A long-lived process.  It is idle, busy with a run, or ending: then its
 * stdin is closed, it gets no other task, and a timer sees to its end. */
struct instance {
	TAILQ_ENTRY(instance) link;
	struct instances *list;
	struct section *sec;
	struct reap child;
	struct loop_io in, out, err; /* fd -1: closed */
	struct buf send, got;
	size_t sent;
	size_t scanned; /* of got: has no newline */
	struct run *run;
	int served;
	bool ours; /* it ends because we want it to */
	bool deaf; /* it closed its stdin */
	bool dead;
	struct loop_timer end;
	struct qo_mono started;
	char *dir;
};

pid_t
serve_pid(const struct instance *in)
{
	return in->child.pid;
}

static struct loop *
loop_of(const struct instance *in)
{
	return in->sec->all->loop;
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

static void
close_io(struct instance *in, struct loop_io *io)
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
	close_io(in, &in->in);
	close_io(in, &in->out);
	close_io(in, &in->err);
	loop_timer_del(loop_of(in), &in->end);
	reap_del(&in->child);
	buf_fini(&in->send);
	buf_fini(&in->got);
	section_drop(in->sec, in->dir);
	free(in);
}

/* Ending */

static void
end_now(struct instance *in)
{
	in->ours = true;
	if (!in->dead)
		proc_signal_group(in->child.pid, SIGKILL);
	close_io(in, &in->in);
	if (in->list != &in->sec->ending)
		move(in, &in->sec->ending);
}

static void
end_kill(struct loop_timer *t)
{
	end_now(t->arg);
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
	close_io(in, &in->in);
	move(in, &in->sec->ending);
	if (!in->dead)
		loop_timer_set_ms(loop_of(in), &in->end,
		    in->sec->conf->grace_ms / 2, end_term, in);
}

/* Back-off */

static void
pause_over(struct loop_timer *t)
{
	section_freed(t->arg);
}

/* A process that ended before it had answered anything, or did not even
 * start: the next one will hardly do better, so it waits. */
static void
back_off(struct section *sec, int64_t uptime_ms, const char *why)
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
static void
went_well(const struct instance *in)
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

/* The log */

static void
say_line(struct section *sec, const char *line, size_t len)
{
	if (qo_mono_diff_us(sec->said_since, loop_now(sec->all->loop)) >
	    60 * QO_US_PER_SEC) {
		sec->said_since = loop_now(sec->all->loop);
		sec->said = 0;
	}
	if (len == 0 || sec->said >= SAID_MAX)
		return;
	log_info("handler %s: %.*s%s", sec->conf->name,
	    (int)(len < 1024 ? len : 1024), line,
	    ++sec->said == SAID_MAX ? " (no more of these for a while)" : "");
}

/* Of the task that it runs, or of nobody. */
static void
log_piece(struct instance *in, const char *p, size_t len)
{
	const char *end = p + len, *nl;

	if (in->run != NULL) {
		tail_add(&in->run->state->log, p, len);
		return;
	}
	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			nl = end;
		say_line(in->sec, p, (size_t)(nl - p));
	}
}

static void
take_err(struct instance *in)
{
	char *piece = in->sec->all->piece;
	ssize_t n;

	if (in->err.fd == -1)
		return;
	do
		n = read(in->err.fd, piece, READ_MAX);
	while (n == -1 && errno == EINTR);
	if (n > 0)
		log_piece(in, piece, (size_t)n);
	else if (n == 0 || errno != EAGAIN)
		close_io(in, &in->err);
}

static void
on_err(struct loop_io *io, uint32_t events)
{
	(void)events;
	take_err(io->arg);
}

/* Answers */

/* The run is over; what it was busy with is free for the next one, unless it
 * has to go. */
static void
finish_run(struct instance *in)
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

static void
bad_answer(struct instance *in, const char *why)
{
	struct run *r = in->run;

	/* Its first word: the next one would say the same. */
	if (in->served == 0 && !in->ours)
		back_off(in->sec, 0, why);
	end_now(in);
	if (r == NULL) {
		log_warnx("handler %s: pid %d was idle: %s; it is replaced",
		    in->sec->conf->name, (int)in->child.pid, why);
		return;
	}
	take_err(in);
	if (!run_was_stopped(r))
		run_result(r, QO_OUTCOME_RETRY, "verdict", "bad answer: %s",
		    why);
	finish_run(in);
}

static void
take_progress(struct run *r, const struct reply *rep)
{
	struct buf *b = &r->state->progress;

	buf_reset(b);
	buf_add(b, rep->value.p, rep->value.len);
	r->progress = (struct qo_json){ b->data, b->len };
	if (r->progressed != NULL)
		r->progressed(r);
}

static void
take_verdict(struct instance *in, struct reply *rep, size_t line_len)
{
	struct run *r = in->run;
	struct buf *out = &r->state->output;

	take_err(in);
	if (rep->kind == REPLY_COMPLETED && rep->value.p != NULL) {
		buf_add(out, rep->value.p, rep->value.len);
		rep->value = (struct qo_json){ out->data, out->len };
	}
	run_verdict(r, rep);
	reply_fini(rep);
	buf_consume(&in->got, line_len);
	in->scanned = 0;
	if (in->got.len > 0) {
		bad_answer(in, "more than one verdict, or something behind it");
		return;
	}
	if (in->got.cap > KEEP_MAX) {
		buf_fini(&in->got);
		buf_init(&in->got, in->got.max);
	}
	in->served++;
	went_well(in);
	finish_run(in);
}

/* One line with its newline.  False: no further ones are to be looked at. */
static bool
take_line(struct instance *in, size_t len)
{
	struct qo_err err;
	struct reply rep;

	if (in->run == NULL) {
		bad_answer(in, "it wrote to stdout without a task");
		return false;
	}
	if (reply_parse(&rep, in->got.data, len - 1,
		(size_t)in->sec->all->conf->worker.output_max, &err) == -1) {
		bad_answer(in, err.msg);
		return false;
	}
	if (rep.kind != REPLY_PROGRESS && rep.kind != REPLY_LOG) {
		take_verdict(in, &rep, len);
		return false;
	}
	if (rep.kind == REPLY_PROGRESS) {
		take_progress(in->run, &rep);
	} else {
		tail_add(&in->run->state->log, rep.text, rep.text_len);
		tail_add(&in->run->state->log, "\n", 1);
	}
	reply_fini(&rep);
	buf_consume(&in->got, len);
	in->scanned = 0;
	return true;
}

static void
take_lines(struct instance *in)
{
	const char *nl;

	for (;;) {
		nl = memchr(in->got.data + in->scanned, '\n',
		    in->got.len - in->scanned);
		if (nl == NULL)
			break;
		if (!take_line(in, (size_t)(nl + 1 - in->got.data)))
			return;
	}
	in->scanned = in->got.len;
	if (in->got.len > in->got.max - READ_MAX)
		bad_answer(in, "a line is longer than output_max");
}

/* False: there is nothing, or it is not wanted any more. */
static bool
take_out(struct instance *in, size_t max)
{
	ssize_t n;
	char *p;

	if (in->out.fd == -1 || (in->run == NULL && in->ours))
		return false;
	p = buf_reserve(&in->got, max);
	do
		n = read(in->out.fd, p, max);
	while (n == -1 && errno == EINTR);
	if (n > 0) {
		buf_advance(&in->got, (size_t)n);
		take_lines(in);
		return true;
	}
	if (n == -1 && errno == EAGAIN)
		return false;
	close_io(in, &in->out);
	return false;
}

static void
on_out(struct loop_io *io, uint32_t events)
{
	struct instance *in = io->arg;

	(void)events;
	if (in->run == NULL && in->ours) {
		/* Whatever it still has to say, nobody listens. */
		close_io(in, &in->out);
		return;
	}
	take_out(in, in->run != NULL && in->got.len > 4096 ? READ_MAX : 16384);
	/* An end of file alone is no end: the process may just have died, and
	 * how is more worth knowing.  It can do nothing more for us. */
	if (io->fd == -1 && !in->dead && in->list != &in->sec->ending)
		proc_signal_group(in->child.pid, SIGKILL);
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
	finish_run(in);
}

/* What is in the pipes, and no more: somebody else may hold them. */
static void
take_rest(struct instance *in)
{
	const int piece = 16384;
	int left = 0;

	if (in->out.fd != -1)
		ioctl(in->out.fd, FIONREAD, &left);
	for (; left > 0; left -= piece)
		if (!take_out(in, (size_t)(left < piece ? left : piece)))
			break;
	take_err(in);
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
		back_off(sec, qo_mono_diff_us(in->started, now) / QO_US_PER_MS,
		    why);
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
	take_rest(in);
	note_death(in, how);
	end_of_run(in, status, how);
	instance_free(in);
	handlers_ended(h);
}

/* Tasks */

static void
add_member(struct buf *b, const char *name, const char *value)
{
	if (value == NULL)
		return;
	buf_adds(b, name);
	qo_json_add_string(b, value, strlen(value));
}

/* A newline in JSON can only be white space between values. */
static void
add_input(struct buf *b, const char *p, size_t len)
{
	size_t i, start = b->len;

	buf_add(b, p, len);
	if (memchr(p, '\n', len) == NULL)
		return;
	for (i = start; i < b->len; i++)
		if (b->data[i] == '\n')
			b->data[i] = ' ';
}

static void
write_task(struct buf *b, const struct run *r)
{
	const struct qo_task *t = r->task;
	char deadline[QO_RFC3339_SIZE];

	buf_reset(b);
	add_member(b, "{\"task_id\":", t->id);
	add_member(b, ",\"task_type\":", t->task_type);
	buf_adds(b, ",\"attempt\":");
	qo_json_add_int(b, t->attempt);
	add_member(b, ",\"lease_id\":", t->lease_id);
	add_member(b, ",\"idempotency_key\":",
	    t->idempotency_key != NULL ? t->idempotency_key : t->id);
	add_member(b, ",\"workflow_id\":", t->workflow_id);
	add_member(b, ",\"step\":", t->step);
	if (qo_wall_is_set(r->deadline)) {
		qo_rfc3339_print(r->deadline, deadline);
		add_member(b, ",\"deadline\":", deadline);
	}
	add_member(b, ",\"traceparent\":", t->traceparent);
	buf_adds(b, ",\"input\":");
	add_input(b, r->input, r->input_len);
	buf_adds(b, "}\n");
}

static void on_in(struct loop_io *io, uint32_t events);

static void
send_rest(struct instance *in)
{
	ssize_t n;

	while (in->sent < in->send.len) {
		n = write(in->in.fd, in->send.data + in->sent,
		    in->send.len - in->sent);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN) {
			if (in->in.events == 0 &&
			    loop_io_add(loop_of(in), &in->in, in->in.fd,
				EPOLLOUT, on_in, in) == -1)
				log_warn("handler %s", in->sec->conf->name);
			return;
		}
		if (n == -1) {
			/* It is dead, or useless: its end tells. */
			in->deaf = true;
			proc_signal_group(in->child.pid, SIGKILL);
			break;
		}
		in->sent += (size_t)n;
	}
	loop_io_del(loop_of(in), &in->in);
	if (in->send.cap > KEEP_MAX) {
		buf_fini(&in->send);
		buf_init(&in->send, in->send.max);
	}
}

static void
on_in(struct loop_io *io, uint32_t events)
{
	(void)events;
	send_rest(io->arg);
}

/* Processes */

static int
watch(struct instance *in)
{
	struct loop *l = loop_of(in);

	if (loop_io_add(l, &in->out, in->out.fd, EPOLLIN, on_out, in) == -1)
		return -1;
	return loop_io_add(l, &in->err, in->err.fd, EPOLLIN, on_err, in);
}

static pid_t
spawn(struct instance *in, struct qo_err *err)
{
	struct section *sec = in->sec;
	struct proc_spec spec;
	pid_t pid = -1;
	int i;

	proc_spec_init(&spec);
	if (pipe_in(&in->in.fd, &spec.fds[0]) == -1 ||
	    pipe_out(&in->out.fd, &spec.fds[1]) == -1 ||
	    pipe_out(&in->err.fd, &spec.fds[2]) == -1 || watch(in) == -1)
		qo_err_sys(err, errno, "pipes for the handler");
	else
		pid = section_spawn(sec, &spec, sec->env.v, &in->dir, err);
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
	buf_init(&in->send, SIZE_MAX / 2);
	buf_init(&in->got,
	    (size_t)sec->all->conf->worker.output_max + LINE_AROUND +
		2 * READ_MAX);
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
		back_off(sec, 0, err.msg);
		run_result(r, QO_OUTCOME_RETRY, "start", "%s", err.msg);
		run_over_later(r);
		return;
	}
	move(in, &sec->busy);
	in->run = r;
	in->sent = 0;
	r->state->inst = in;
	r->pid = in->child.pid;
	write_task(&in->send, r);
	send_rest(in);
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
	end_now(in);
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
