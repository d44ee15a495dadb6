#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "log.h"
#include "rfc3339.h"
#include "serve_int.h"

/* What may be around the output in a line. */
#define LINE_AROUND ((size_t)64 << 10)
/* Buffers above this are not kept from task to task. */
#define KEEP_MAX ((size_t)256 << 10)
/* Lines that idle processes may write to our log in a minute. */
#define SAID_MAX 20

void
talk_init(struct instance *in)
{
	buf_init(&in->send, SIZE_MAX / 2);
	buf_init(&in->got,
	    (size_t)in->sec->all->conf->worker.output_max + LINE_AROUND +
		2 * READ_MAX);
}

void
talk_fini(struct instance *in)
{
	buf_fini(&in->send);
	buf_fini(&in->got);
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

void
talk_send(struct instance *in)
{
	in->sent = 0;
	write_task(&in->send, in->run);
	send_rest(in);
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
		serve_close(in, &in->err);
}

static void
on_err(struct loop_io *io, uint32_t events)
{
	(void)events;
	take_err(io->arg);
}

/* Answers */

static void
bad_answer(struct instance *in, const char *why)
{
	struct run *r = in->run;

	/* Its first word: the next one would say the same. */
	if (in->served == 0 && !in->ours)
		serve_back_off(in->sec, 0, why);
	serve_kill(in);
	if (r == NULL) {
		log_warnx("handler %s: pid %d was idle: %s; it is replaced",
		    in->sec->conf->name, (int)in->child.pid, why);
		return;
	}
	take_err(in);
	if (!run_was_stopped(r))
		run_result(r, QO_OUTCOME_RETRY, "verdict", "bad answer: %s",
		    why);
	serve_finish(in);
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
	serve_went_well(in);
	serve_finish(in);
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
	serve_close(in, &in->out);
	return false;
}

static void
on_out(struct loop_io *io, uint32_t events)
{
	struct instance *in = io->arg;

	(void)events;
	if (in->run == NULL && in->ours) {
		/* Whatever it still has to say, nobody listens. */
		serve_close(in, &in->out);
		return;
	}
	take_out(in, in->run != NULL && in->got.len > 4096 ? READ_MAX : 16384);
	/* An end of file alone is no end: the process may just have died, and
	 * how is more worth knowing.  It can do nothing more for us. */
	if (io->fd == -1 && !in->dead && in->list != &in->sec->ending)
		proc_signal_group(in->child.pid, SIGKILL);
}

/* What is in the pipes, and no more: somebody else may hold them. */
void
talk_rest(struct instance *in)
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

int
talk_watch(struct instance *in)
{
	struct loop *l = loop_of(in);

	if (loop_io_add(l, &in->out, in->out.fd, EPOLLIN, on_out, in) == -1)
		return -1;
	return loop_io_add(l, &in->err, in->err.fd, EPOLLIN, on_err, in);
}
