#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "board_rows.h"
#include "log.h"
#include "run_int.h"
#include "utf8.h"
#include "xalloc.h"

#define MESSAGE_MAX 4096

void
run_init(struct run *r)
{
	memset(r, 0, sizeof(*r));
	r->deadline = QO_WALL_NONE;
	r->result.delay_ms = -1;
	buf_init(&r->log, 0);
}

void
run_fini(struct run *r)
{
	struct run_state *st = r->state;

	if (st != NULL) {
		if (!st->over)
			run_signal(r, SIGKILL);
		loop_timer_del(r->handlers->loop, &st->timer);
		loop_defer_del(r->handlers->loop, &st->later);
		if (st->inst != NULL)
			serve_abandon(st->inst);
		exec_free(st->exec);
		tail_fini(&st->log);
		buf_fini(&st->message);
		buf_fini(&st->output);
		buf_fini(&st->progress);
		free(st);
	}
	buf_fini(&r->log);
	r->state = NULL;
}

/* Stopping */

static pid_t
running_pid(const struct run *r)
{
	if (r->state->inst != NULL)
		return serve_pid(r->state->inst);
	return r->state->exec != NULL ? exec_pid(r->state->exec) : 0;
}

void
run_signal(struct run *r, int signo)
{
	pid_t pid = running_pid(r);

	if (pid <= 0)
		return;
	proc_signal_group(pid, signo);
	if (signo == SIGKILL)
		r->state->killed = true;
	else
		proc_signal_group(pid, SIGCONT); /* it may be stopped */
}

static void
grace_over(struct loop_timer *t)
{
	run_signal(t->arg, SIGKILL);
}

static void
timed_out(struct loop_timer *t)
{
	run_stop(t->arg, RUN_TIMEOUT);
}

/* Does the new reason take the place of the old one? */
static bool
outranks(enum run_stop why, enum run_stop old)
{
	if (old == RUN_NOT_STOPPED || why == RUN_FENCE)
		return true;
	if (old == RUN_FENCE || old == RUN_CANCEL)
		return false;
	return why == RUN_CANCEL;
}

void
run_stop(struct run *r, enum run_stop why)
{
	struct run_state *st = r->state;
	bool first = r->stopped == RUN_NOT_STOPPED;
	int64_t grace = r->handler->grace_ms;

	if (st == NULL || why == RUN_NOT_STOPPED)
		return;
	if (outranks(why, r->stopped))
		r->stopped = why;
	if (st->over)
		return;
	if (st->inst != NULL)
		serve_stopped(st->inst);
	if (why == RUN_FENCE || why == RUN_NOW || grace == 0) {
		loop_timer_del(r->handlers->loop, &st->timer);
		run_signal(r, SIGKILL);
	} else if (first) {
		run_signal(r, SIGTERM);
		loop_timer_set_ms(r->handlers->loop, &st->timer, grace,
		    grace_over, r);
	}
}

/* How it ended */

static void
set_outcome(struct run *r, enum qo_outcome outcome, const char *kind)
{
	r->outcome = outcome;
	r->result.why.kind = kind;
	r->result.why.message = r->state->message.data;
}

void
run_result(struct run *r, enum qo_outcome outcome, const char *kind,
    const char *fmt, ...)
{
	struct buf *m = &r->state->message;
	va_list ap;

	buf_reset(m);
	va_start(ap, fmt);
	buf_vaddf(m, fmt, ap);
	va_end(ap);
	set_outcome(r, outcome, kind);
}

/* A handler's text as a message: whole characters, no NUL, not too long. */
static void
set_message(struct run *r, const char *text, size_t len)
{
	struct buf *m = &r->state->message;
	size_t i;

	if (len > MESSAGE_MAX - 1) {
		len = MESSAGE_MAX - 1;
		while (len > 0 && !utf8_valid(text, len))
			len--;
	}
	buf_reset(m);
	buf_add(m, text, len);
	for (i = 0; i < m->len; i++)
		if (m->data[i] == '\0')
			m->data[i] = ' ';
}

void
run_exited(struct run *r, enum qo_outcome outcome, int status)
{
	char how[128], line[256];

	proc_describe(status, how, sizeof(how));
	tail_last_line(&r->state->log, line, sizeof(line));
	run_result(r, outcome, WIFSIGNALED(status) ? "signal" : "exit",
	    "%s%s%s", how, line[0] != '\0' ? ": " : "", line);
}

static void
refuse_wait(struct run *r, const struct reply *rep)
{
	if (r->task->workflow_id == NULL)
		run_result(r, QO_OUTCOME_RETRY, "verdict",
		    "the verdict %s is for steps of a workflow",
		    reply_name(rep->kind));
	else
		run_result(r, QO_OUTCOME_RETRY, "verdict",
		    "the verdict %s is not known to this version",
		    reply_name(rep->kind));
}

void
run_verdict(struct run *r, const struct reply *rep)
{
	r->result.delay_ms = rep->delay_ms;
	switch (rep->kind) {
	case REPLY_COMPLETED:
		r->result.output = rep->value;
		r->outcome = QO_OUTCOME_COMPLETED;
		return;
	case REPLY_RESCHEDULE:
		/* Not at once, unless it says so: it would spin. */
		if (rep->delay_ms == -1)
			r->result.delay_ms = 1000;
		r->outcome = QO_OUTCOME_RESCHEDULE;
		return;
	case REPLY_CANCELLED:
		/* It obeyed SIGTERM, and can not know what that was for. */
		if (!run_was_stopped(r))
			r->outcome = QO_OUTCOME_CANCELLED;
		return;
	case REPLY_RETRY:
	case REPLY_FAILED:
		if (rep->text != NULL)
			set_message(r, rep->text, rep->text_len);
		else
			run_result(r, QO_OUTCOME_RETRY, "",
			    "the handler's verdict was %s, without an error",
			    reply_name(rep->kind));
		set_outcome(r,
		    rep->kind == REPLY_RETRY ? QO_OUTCOME_RETRY
					     : QO_OUTCOME_FAILED,
		    "handler");
		return;
	default:
		refuse_wait(r, rep);
	}
}

bool
run_was_stopped(struct run *r)
{
	switch (r->stopped) {
	case RUN_NOT_STOPPED:
		return false;
	case RUN_TIMEOUT:
		run_result(r, QO_OUTCOME_RETRY, "timeout",
		    "ran longer than %g s%s", (double)r->timeout_ms / 1000,
		    r->state->killed ? ", and had to be killed" : "");
		return true;
	default:
		r->outcome = QO_OUTCOME_REQUEUE;
		return true;
	}
}

void
run_over(struct run *r)
{
	struct run_state *st = r->state;
	struct handlers *h = r->handlers;

	loop_timer_del(h->loop, &st->timer);
	loop_defer_del(h->loop, &st->later);
	st->over = true;
	st->inst = NULL;
	if (r->stopped == RUN_CANCEL)
		r->outcome = QO_OUTCOME_CANCELLED;
	else if (r->stopped == RUN_FENCE)
		r->outcome = QO_OUTCOME_REQUEUE;
	if (r->outcome != QO_OUTCOME_COMPLETED)
		r->result.output = (struct qo_json){ NULL, 0 };
	r->ran_ms = qo_mono_diff_us(st->began, qo_mono_now()) / QO_US_PER_MS;
	tail_finish(&st->log);
	r->log = st->log.b;
	buf_init(&st->log.b, 0);
	if (h->area != NULL)
		board_handler_ran(h->area, board_row(h->conf, r->handler),
		    r->ran_ms);
	handlers_unreserve(h, r->handler);
	if (!st->told)
		r->started(r);
	r->done(r);
}

/* Starting */

static void
later(struct loop_task *t)
{
	struct run *r = t->arg;

	if (r->state->over) {
		run_over(r);
	} else {
		r->state->told = true;
		r->started(r);
	}
}

void
run_over_later(struct run *r)
{
	r->state->over = true;
	loop_defer(r->handlers->loop, &r->state->later, later, r);
}

void
run_start(struct run *r)
{
	struct handlers *h = r->handlers;
	struct run_state *st;

	st = xcalloc(1, sizeof(*st));
	r->state = st;
	st->sec = section_of(h, r->handler);
	st->began = qo_mono_now();
	tail_init(&st->log, (size_t)h->conf->worker.log_max);
	buf_init(&st->message, MESSAGE_MAX);
	buf_init(&st->output, SIZE_MAX / 2);
	buf_init(&st->progress, REPLY_PROGRESS_MAX);
	st->told = true;
	if (r->handler->mode == CONF_MODE_SERVE)
		serve_start(r);
	else
		exec_start(r);
	if (st->over)
		return;
	if (r->timeout_ms > 0)
		loop_timer_set_ms(h->loop, &st->timer, r->timeout_ms, timed_out,
		    r);
	if (r->started != NULL) {
		st->told = false;
		loop_defer(h->loop, &st->later, later, r);
	}
}
