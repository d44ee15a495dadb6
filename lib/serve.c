#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "job.h"
#include "jtext.h"

#define READ_SIZE   ((size_t)64 << 10)
#define INPUT_MAX   ((size_t)1 << 30)
#define INPUT_DEPTH QO_JTEXT_DEPTH

/* Signals.  This is a guest in a program that is not ours, so it has a
 * handler of its own instead of lib/sig.c, which would bring our logging and
 * ignore SIGPIPE for the children of the program. */

static atomic_int terminated;
static int wake[2] = { -1, -1 };

static void
on_term(int signo)
{
	int save = errno;
	ssize_t n;

	(void)signo;
	atomic_store(&terminated, 1);
	n = write(wake[1], "", 1); /* a full pipe wakes as well */
	(void)n;
	errno = save;
}

static int
catch_term(void)
{
	struct sigaction sa;

	if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) == -1)
		return -1;
	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_term;
	/* No SA_RESTART: what blocks in the user's function is to end. */
	return sigaction(SIGTERM, &sa, NULL);
}

/* SIGTERM came before the answer is given, so it was for this task. */
static void
forget_term(void)
{
	char drop[16];

	if (atomic_exchange(&terminated, 0) == 0)
		return;
	while (read(wake[0], drop, sizeof(drop)) > 0)
		continue;
}

/* Descriptors */

/* The descriptor as a private one above 2, and something harmless in its
 * place: children and printf can not get between us and the worker. */
static int
take_fd(int fd, int instead)
{
	int own;

	own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (own == -1 || dup2(instead, fd) == -1)
		return -1;
	return own;
}

static int
take_stdin(void)
{
	int null, own;

	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null == -1)
		return -1;
	own = take_fd(STDIN_FILENO, null);
	close(null);
	return own;
}

/* Reading */

struct input {
	int fd;
	struct qo_text text; /* the line, and perhaps part of the next */
	size_t line_len;     /* with its newline; 0: not there yet */
};

/* Bytes read, 0 at the end, -1 with errno. */
static ssize_t
read_more(struct input *in)
{
	ssize_t n;
	char *room;

	if (in->text.len >= INPUT_MAX) {
		errno = EFBIG;
		return -1;
	}
	room = qo_text_room(&in->text, READ_SIZE);
	do
		n = read(in->fd, room, in->text.cap - in->text.len - 1);
	while (n == -1 && errno == EINTR);
	if (n > 0) {
		in->text.len += (size_t)n;
		in->text.p[in->text.len] = '\0';
	}
	return n;
}

/* 1: something can be read; 0: SIGTERM came instead; -1 with errno. */
static int
wait_input(const struct input *in)
{
	struct pollfd p[2] = { { in->fd, POLLIN, 0 }, { wake[0], POLLIN, 0 } };

	while (poll(p, 2, -1) == -1)
		if (errno != EINTR)
			return -1;
	/* The worker sends a task only after the answer to the last, so a
	 * SIGTERM that was for that one is seen here before the task is. */
	return atomic_load(&terminated) ? 0 : 1;
}

/* 1: a line is there; 0: no more are wanted; -1 with errno. */
static int
next_line(struct input *in)
{
	size_t seen = 0;
	char *end;
	ssize_t n;
	int rv;

	in->text.len -= in->line_len;
	if (in->line_len > 0 && in->text.len > 0)
		memmove(in->text.p, in->text.p + in->line_len, in->text.len);
	for (in->line_len = 0;;) {
		end = in->text.len == seen
		    ? NULL
		    : memchr(in->text.p + seen, '\n', in->text.len - seen);
		if (end != NULL)
			break;
		seen = in->text.len;
		/* Once it has begun, the rest of the line follows. */
		if (seen == 0 && (rv = wait_input(in)) != 1)
			return rv;
		n = read_more(in);
		if (n <= 0)
			return (int)n;
	}
	in->line_len = (size_t)(end + 1 - in->text.p);
	return 1;
}

/* Tasks */

static const struct {
	const char *name; /* in the line */
	const char *env;  /* in exec mode */
	size_t at;
} strings[] = {
	{ "task_id", "QO_TASK_ID", offsetof(struct qo_job, task_id) },
	{ "task_type", "QO_TASK_TYPE", offsetof(struct qo_job, task_type) },
	{ "lease_id", "QO_LEASE_ID", offsetof(struct qo_job, lease_id) },
	{ "idempotency_key", "QO_IDEMPOTENCY_KEY",
	    offsetof(struct qo_job, idempotency_key) },
	{ "workflow_id", "QO_WORKFLOW_ID",
	    offsetof(struct qo_job, workflow_id) },
	{ "step", "QO_STEP", offsetof(struct qo_job, step) },
	{ "deadline", "QO_DEADLINE", offsetof(struct qo_job, deadline) },
	{ "traceparent", "TRACEPARENT", offsetof(struct qo_job, traceparent) },
};
#define NSTRINGS (sizeof(strings) / sizeof(strings[0]))

static void
set_string(struct qo_job *job, size_t i, const char *s)
{
	memcpy((char *)job + strings[i].at, &s, sizeof(s));
}

static bool
key_is(const struct qo_jtext_member *m, const char *name)
{
	size_t n = strlen(name);

	return m->key_len == n + 2 && memcmp(m->key + 1, name, n) == 0;
}

/* A member of the line; strings are decoded in their own place. */
static void
set_member(struct qo_job *job, char *value, const struct qo_jtext_member *m)
{
	size_t i;

	if (key_is(m, "input")) {
		job->input = value;
		job->input_len = m->value_len;
		return;
	}
	if (key_is(m, "attempt"))
		job->attempt = strtoll(value, NULL, 10);
	for (i = 0; i < NSTRINGS && *value == '"'; i++)
		if (key_is(m, strings[i].name)) {
			value[qo_jtext_unquote(value, value, m->value_len)] =
			    '\0';
			set_string(job, i, value);
		}
}

static int
parse_line(struct qo_job *job, char *line, size_t len)
{
	struct qo_jtext_member m;
	const char *p;
	size_t at;

	line[len] = '\0';
	if (line[0] != '{' ||
	    qo_jtext_check(line, len, INPUT_DEPTH + 1, &at) != NULL)
		return -1;
	for (p = line; qo_jtext_next(&p, &m);)
		set_member(job, line + (m.value - line), &m);
	if (job->task_id == NULL || job->input == NULL)
		return -1;
	/* Only now: behind the input another member may have stood. */
	line[job->input - line + (ptrdiff_t)job->input_len] = '\0';
	return 0;
}

static void
run_job(struct qo_job *job, void (*run)(struct qo_job *, void *), void *arg)
{
	qo_job_begin(job->state);
	run(job, arg);
	fflush(stdout); /* it belongs to the log of this task */
	qo_job_end(job);
}

static int
serve_lines(struct qo_job_state *s, struct input *in,
    void (*run)(struct qo_job *, void *), void *arg)
{
	struct qo_job job;
	int rv;

	while ((rv = next_line(in)) == 1) {
		memset(&job, 0, sizeof(job));
		job.state = s;
		if (parse_line(&job, in->text.p, in->line_len - 1) == -1)
			return EX_PROTOCOL;
		run_job(&job, run, arg);
		forget_term();
		qo_job_send(s);
		if (s->error != 0) {
			errno = s->error;
			return EX_IOERR;
		}
	}
	return rv == 0 ? 0 : EX_IOERR;
}

/* One task whose input is all there is to read. */

static int
read_input(struct input *in, struct qo_job *job)
{
	const char *why;
	size_t at;
	ssize_t n;

	while ((n = read_more(in)) > 0)
		continue;
	if (n == -1)
		return -1;
	/* At a terminal nothing at all is good enough. */
	if (in->text.len == 0)
		qo_text_add(&in->text, "null", 4);
	job->input = in->text.p;
	job->input_len = in->text.len;
	why = qo_jtext_check(job->input, job->input_len, INPUT_DEPTH, &at);
	if (why != NULL)
		qo_fail(job, "the input is no JSON: %s, byte %zu", why, at);
	return 0;
}

static void
read_environment(struct qo_job *job)
{
	const char *s;
	size_t i;

	for (i = 0; i < NSTRINGS; i++) {
		s = getenv(strings[i].env);
		set_string(job, i, s != NULL && *s != '\0' ? s : NULL);
	}
	s = getenv("QO_ATTEMPT");
	job->attempt = s == NULL ? 1 : strtoll(s, NULL, 10);
	if (job->task_id == NULL)
		job->task_id = "";
	if (job->task_type == NULL)
		job->task_type = "";
}

/* Without a worker: the output, or what the verdict was, and a status that
 * says the same. */
static int
tell(struct qo_job_state *s, int out)
{
	bool good = s->status == QO_JOB_COMPLETED;
	const char *p = s->verdict.p + (good ? s->output : 0);
	size_t len = s->verdict.len - (good ? s->output + 1 : 0);
	int fd = good ? out : STDERR_FILENO;

	if (qo_job_write(fd, p, len) == -1 || qo_job_write(fd, "\n", 1) == -1)
		return EX_IOERR;
	if (good)
		return 0;
	return s->status == QO_JOB_FAILED ? EX_DATAERR : EX_TEMPFAIL;
}

static int
serve_one(struct qo_job_state *s, struct input *in, int out,
    void (*run)(struct qo_job *, void *), void *arg)
{
	struct qo_job job;

	memset(&job, 0, sizeof(job));
	job.state = s;
	read_environment(&job);
	if (read_input(in, &job) == -1)
		return EX_IOERR;
	if (s->status == QO_JOB_NONE)
		run_job(&job, run, arg);
	if (s->fd == -1)
		return tell(s, out);
	qo_job_send(s);
	errno = s->error;
	return s->error == 0 ? 0 : EX_IOERR;
}

static bool
env_is(const char *name, const char *value)
{
	const char *s = getenv(name);

	return s != NULL && strcmp(s, value) == 0;
}

/* The descriptor of exec mode's verdict, -1: there is none. */
static int
result_fd(void)
{
	const char *s = getenv("QO_RESULT_FD");
	char *end;
	long fd;

	if (s == NULL || *s == '\0')
		return -1;
	fd = strtol(s, &end, 10);
	if (*end != '\0' || fd < 3 || fd > 1 << 20 ||
	    fcntl((int)fd, F_SETFD, FD_CLOEXEC) == -1)
		return -1;
	return (int)fd;
}

int
qo_serve(void (*run)(struct qo_job *job, void *arg), void *arg)
{
	struct qo_job_state s = { .fd = -1, .cancelled = &terminated };
	struct input in = { .fd = -1 };
	int out, rv;

	s.framed = env_is("QO_MODE", "serve");
	if (!s.framed)
		s.fd = result_fd();
	if (catch_term() == -1 || (in.fd = take_stdin()) == -1 ||
	    (out = take_fd(STDOUT_FILENO, STDERR_FILENO)) == -1)
		return EX_OSERR;
	if (s.framed) {
		s.fd = out;
		rv = serve_lines(&s, &in, run, arg);
	} else
		rv = serve_one(&s, &in, out, run, arg);
	free(in.text.p);
	qo_job_fini(&s);
	return rv;
}
