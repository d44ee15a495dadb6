#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"
#include "jtext.h"
#include "utf8.h"

/* What the worker takes. */
#define OUTPUT_DEPTH   512
#define PROGRESS_DEPTH 64
#define PROGRESS_MAX   ((size_t)64 << 10)
#define SECONDS_MAX    315360000.0 /* ten years */

struct qo_job_memory {
	struct qo_job_memory *next;
	char text[];
};

/* Text */

char *
qo_text_room(struct qo_text *t, size_t len)
{
	size_t cap = t->cap == 0 ? 256 : t->cap;
	char *p;

	if (t->p != NULL && t->cap - t->len > len)
		return t->p + t->len;
	while (cap - t->len <= len) {
		if (cap > SIZE_MAX / 2)
			abort();
		cap *= 2;
	}
	p = realloc(t->p, cap);
	if (p == NULL)
		abort();
	t->p = p;
	t->cap = cap;
	return p + t->len;
}

void
qo_text_add(struct qo_text *t, const char *p, size_t len)
{
	memcpy(qo_text_room(t, len), p, len);
	t->len += len;
	t->p[t->len] = '\0';
}

static void
add(struct qo_text *t, const char *s)
{
	qo_text_add(t, s, strlen(s));
}

static void __attribute__((format(printf, 2, 0)))
vaddf(struct qo_text *t, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0) {
		add(t, "(a text that can not be printed)");
		return;
	}
	vsnprintf(qo_text_room(t, (size_t)n), (size_t)n + 1, fmt, ap);
	t->len += (size_t)n;
}

static void __attribute__((format(printf, 2, 3)))
addf(struct qo_text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vaddf(t, fmt, ap);
	va_end(ap);
}

/* The character at p as it stands in a JSON string; its length in s. */
static size_t
add_char(struct qo_text *t, const unsigned char *p)
{
	static const char named[] = "\"\\\n\r\t", names[] = "\"\\nrt";
	const char *name;
	size_t n;

	if (*p >= 0x80) {
		n = utf8_char_len(p);
		if (n > 0)
			qo_text_add(t, (const char *)p, n);
		else
			add(t, "\xef\xbf\xbd");
		return n > 0 ? n : 1;
	}
	name = strchr(named, *p);
	if (name != NULL)
		addf(t, "\\%c", names[name - named]);
	else
		addf(t, "\\u%04x", *p);
	return 1;
}

static void
add_string(struct qo_text *t, const char *s)
{
	const unsigned char *p = (const unsigned char *)s, *start;

	add(t, "\"");
	while (*p != '\0') {
		for (start = p;
		     *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\';)
			p++;
		qo_text_add(t, (const char *)start, (size_t)(p - start));
		if (*p != '\0')
			p += add_char(t, p);
	}
	add(t, "\"");
}

/* A line break in JSON is white space, but would end the line. */
static void
one_line(struct qo_text *t, size_t from)
{
	char *p = t->p + from;

	while ((p = memchr(p, '\n', (size_t)(t->p + t->len - p))) != NULL)
		*p = ' ';
}

/* Whole milliseconds, because a locale may have another decimal point. */
static void
add_seconds(struct qo_text *t, double seconds)
{
	long long ms;

	/* Not a number, or below 0 */
	if (!(seconds > 0))
		seconds = 0;
	if (seconds > SECONDS_MAX)
		seconds = SECONDS_MAX;
	ms = (long long)(seconds * 1000 + 0.5);
	addf(t, "%lld", ms / 1000);
	if (ms % 1000 != 0)
		addf(t, ".%03lld", ms % 1000);
}

/* Lines */

int
qo_job_write(int fd, const char *p, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = write(fd, p, len);
		if (n == -1 && errno != EINTR)
			return -1;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static void
send_line(struct qo_job_state *s, struct qo_text *t)
{
	add(t, "\n");
	if (s->error == 0 && qo_job_write(s->fd, t->p, t->len) == -1)
		s->error = errno;
}

static struct qo_text *
new_line(struct qo_job_state *s, const char *head)
{
	s->line.len = 0;
	add(&s->line, head);
	return &s->line;
}

int
qo_progress(struct qo_job *job, const char *fmt, ...)
{
	struct qo_job_state *s = job->state;
	struct qo_text *t;
	size_t start, len, at;
	va_list ap;

	t = new_line(s, "{\"progress\":");
	start = t->len;
	va_start(ap, fmt);
	vaddf(t, fmt, ap);
	va_end(ap);
	len = t->len - start;
	if (len > PROGRESS_MAX ||
	    qo_jtext_check(t->p + start, len, PROGRESS_DEPTH, &at) != NULL)
		return -1;
	one_line(t, start);
	add(t, "}");
	if (s->framed)
		send_line(s, t);
	return 0;
}

void
qo_log(struct qo_job *job, const char *fmt, ...)
{
	struct qo_job_state *s = job->state;
	struct qo_text plain = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vaddf(&plain, fmt, ap);
	va_end(ap);
	if (s->framed) {
		add_string(new_line(s, "{\"log\":"), plain.p);
		add(&s->line, "}");
		send_line(s, &s->line);
	} else {
		add(&plain, "\n");
		qo_job_write(STDERR_FILENO, plain.p, plain.len);
	}
	free(plain.p);
}

int
qo_cancelled(const struct qo_job *job)
{
	return atomic_load(job->state->cancelled);
}

/* Verdicts */

static struct qo_text *
verdict(struct qo_job *job, enum qo_job_status status, const char *name)
{
	struct qo_job_state *s = job->state;

	s->status = status;
	s->output = 0;
	s->verdict.len = 0;
	addf(&s->verdict, "{\"status\":\"%s\"", name);
	return &s->verdict;
}

static void __attribute__((format(printf, 2, 0)))
add_error(struct qo_text *t, const char *fmt, va_list ap)
{
	struct qo_text plain = { 0 };

	vaddf(&plain, fmt, ap);
	add(t, ",\"error\":");
	add_string(t, plain.p);
	free(plain.p);
}

void
qo_complete_json(struct qo_job *job, const char *json, size_t len)
{
	struct qo_text *t;
	const char *why;
	size_t at;

	why = qo_jtext_check(json, len, OUTPUT_DEPTH, &at);
	if (why != NULL) {
		qo_retry(job, -1,
		    "the handler's output is no JSON: %s, byte %zu", why, at);
		return;
	}
	t = verdict(job, QO_JOB_COMPLETED, "completed");
	add(t, ",\"output\":");
	job->state->output = t->len;
	qo_text_add(t, json, len);
	one_line(t, job->state->output);
	add(t, "}");
}

void
qo_complete(struct qo_job *job, const char *fmt, ...)
{
	struct qo_text text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vaddf(&text, fmt, ap);
	va_end(ap);
	qo_complete_json(job, text.p, text.len);
	free(text.p);
}

void
qo_fail(struct qo_job *job, const char *fmt, ...)
{
	struct qo_text *t;
	va_list ap;

	t = verdict(job, QO_JOB_FAILED, "failed");
	va_start(ap, fmt);
	add_error(t, fmt, ap);
	va_end(ap);
	add(t, "}");
}

void
qo_retry(struct qo_job *job, double delay_seconds, const char *fmt, ...)
{
	struct qo_text *t;
	va_list ap;

	t = verdict(job, QO_JOB_RETRY, "retry");
	va_start(ap, fmt);
	add_error(t, fmt, ap);
	va_end(ap);
	if (delay_seconds >= 0) {
		add(t, ",\"delay_seconds\":");
		add_seconds(t, delay_seconds);
	}
	add(t, "}");
}

void
qo_reschedule(struct qo_job *job, double delay_seconds)
{
	struct qo_text *t;

	t = verdict(job, QO_JOB_RESCHEDULE, "reschedule");
	add(t, ",\"delay_seconds\":");
	add_seconds(t, delay_seconds);
	add(t, "}");
}

void
qo_cancel(struct qo_job *job)
{
	add(verdict(job, QO_JOB_CANCELLED, "cancelled"), "}");
}

void
qo_wait_signal(struct qo_job *job, const char *name, double timeout_seconds)
{
	struct qo_text *t;

	t = verdict(job, QO_JOB_WAIT, "wait_signal");
	add(t, ",\"signal\":");
	add_string(t, name);
	if (timeout_seconds > 0) {
		add(t, ",\"timeout_seconds\":");
		add_seconds(t, timeout_seconds);
	}
	add(t, "}");
}

void
qo_wait_tasks(struct qo_job *job, const char *const *ids, size_t n)
{
	struct qo_text *t;
	size_t i;

	t = verdict(job, QO_JOB_WAIT, "wait_tasks");
	add(t, ",\"ids\":[");
	for (i = 0; i < n; i++) {
		add(t, i == 0 ? "" : ",");
		add_string(t, ids[i]);
	}
	add(t, "]}");
}

/* Input */

/* Memory that lasts as long as the job. */
static char *
job_alloc(struct qo_job *job, size_t size)
{
	struct qo_job_memory *m;

	m = malloc(sizeof(*m) + size);
	if (m == NULL)
		abort();
	m->next = job->state->memory;
	job->state->memory = m;
	return m->text;
}

const char *
qo_quote(struct qo_job *job, const char *text)
{
	struct qo_text t = { 0 };
	char *p;

	add_string(&t, text);
	p = job_alloc(job, t.len + 1);
	memcpy(p, t.p, t.len + 1);
	free(t.p);
	return p;
}

const char *
qo_input(const struct qo_job *job, const char *pointer, size_t *len)
{
	return qo_jtext_find(job->input, job->input_len, pointer, len);
}

const char *
qo_input_string(struct qo_job *job, const char *pointer)
{
	const char *text;
	size_t len, n;
	char *p;

	text = qo_input(job, pointer, &len);
	if (text == NULL || *text != '"')
		return NULL;
	p = job_alloc(job, len);
	n = qo_jtext_unquote(p, text, len);
	if (memchr(p, '\0', n) != NULL)
		return NULL;
	p[n] = '\0';
	return p;
}

int
qo_input_int(const struct qo_job *job, const char *pointer, int64_t *out)
{
	const char *text;
	char copy[24], *end;
	long long v;
	size_t len;

	text = qo_input(job, pointer, &len);
	/* Digits alone: strtoll would take more than JSON has. */
	if (text == NULL || len >= sizeof(copy) ||
	    strspn(text, "-0123456789") < len)
		return -1;
	memcpy(copy, text, len);
	copy[len] = '\0';
	errno = 0;
	v = strtoll(copy, &end, 10);
	if (errno != 0 || *end != '\0')
		return -1;
	*out = v;
	return 0;
}

/* What serve.c calls */

void
qo_job_begin(struct qo_job_state *s)
{
	s->status = QO_JOB_NONE;
}

void
qo_job_end(struct qo_job *job)
{
	struct qo_job_memory *m, *next;

	if (job->state->status == QO_JOB_NONE && qo_cancelled(job))
		qo_cancel(job);
	else if (job->state->status == QO_JOB_NONE)
		qo_complete_json(job, "null", 4);
	for (m = job->state->memory; m != NULL; m = next) {
		next = m->next;
		free(m);
	}
	job->state->memory = NULL;
}

void
qo_job_send(struct qo_job_state *s)
{
	send_line(s, &s->verdict);
}

void
qo_job_fini(struct qo_job_state *s)
{
	free(s->verdict.p);
	free(s->line.p);
}
