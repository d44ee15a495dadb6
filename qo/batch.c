#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "bulk_submit.h"
#include "lines.h"
#include "progress.h"
#include "xalloc.h"

struct batch {
	struct session *session;
	const struct qo_draft *base;
	const char *path, *traceparent;
	struct lines lines;
	struct qo_bulk_submit bulk;
	struct progress progress;
	uint64_t ok, failed;
	enum exit_code first; /* failure's */
	bool stopped;
	bool dry; /* the input has nothing now: somebody may be waiting */
};

struct item {
	size_t line;
	struct qo_draft draft;
	struct qo_submission sub;
};

static void
item_free(struct item *it)
{
	qo_draft_fini(&it->draft);
	free(it);
}

static void
fail(struct batch *b, size_t line, enum exit_code code, const char *msg)
{
	progress_clear(&b->progress);
	exit_say("%s line %zu: %s", b->path, line, msg);
	if (b->failed++ == 0)
		b->first = code;
}

void
batch_print(const struct qo_submit *sub, size_t line)
{
	const struct qo_task *t = &sub->change.task;
	struct buf b;

	buf_init(&b, 8192);
	out_json_open(&b, NULL, '{');
	if (line > 0)
		out_json_int(&b, "line", (int64_t)line);
	out_json_str(&b, "id", sub->change.id);
	out_json_str(&b, "task_type", t->task_type);
	out_json_str(&b, "status", qo_status_name(t->status));
	out_json_time(&b, "available_at", t->available_at);
	out_json_bool(&b, "existed", sub->change.existed);
	out_json_close(&b, '}');
	buf_addc(&b, '\n');
	out_raw(b.data, b.len);
	buf_fini(&b);
}

/* A task of this line, or NULL when there is none in it. */
static struct item *
make_item(struct batch *b, const char *line, size_t len)
{
	struct qo_queue *q = b->session->q;
	struct item *it = xcalloc(1, sizeof(*it));
	struct qo_err err = { 0 };

	it->line = b->lines.number;
	if (qo_draft_decode(&it->draft, line, len, &err) == -1) {
		fail(b, it->line, EXIT_USAGE, err.msg);
		free(it);
		return NULL;
	}
	qo_draft_default(&it->draft, b->base);
	if (qo_draft_submission(&it->draft, &b->session->conf->submit,
		qo_queue_now(q), &it->sub, &err) == -1) {
		fail(b, it->line, EXIT_USAGE, err.msg);
		item_free(it);
		return NULL;
	}
	it->sub.submitted_by = session_who();
	it->sub.traceparent = b->traceparent;
	return it;
}

static bool
is_blank(const char *line, size_t len)
{
	return len == 0 || (len == 1 && line[0] == '\r');
}

static enum qo_bulk_next
next(struct qo_bulk_submit *bs, const struct qo_submission **sub, void **item)
{
	struct batch *b = bs->arg;
	struct qo_err err = { 0 };
	const char *line;
	struct item *it;
	size_t len;

	if (out_broken())
		return QO_BULK_END;
	b->dry = false;
	switch (lines_next(&b->lines, &line, &len, &err)) {
	case LINES_OK:
		break;
	case LINES_LONG:
		fail(b, b->lines.number, EXIT_USAGE,
		    "longer than the largest input, 64MiB");
		return QO_BULK_SKIPPED;
	case LINES_WAIT:
		b->dry = true;
		fflush(stdout);
		return QO_BULK_LATER;
	case LINES_END:
		return QO_BULK_END;
	case LINES_FAILED:
		fail(b, b->lines.number + 1, EXIT_FAILED, err.msg);
		return QO_BULK_END;
	}
	if (is_blank(line, len) || (it = make_item(b, line, len)) == NULL)
		return QO_BULK_SKIPPED;
	*sub = &it->sub;
	*item = it;
	return QO_BULK_STARTED;
}

/* Without a store every line would fail, one after the other. */
static void
stop(struct batch *b)
{
	if (b->stopped)
		return;
	b->stopped = true;
	exit_say("stopped: lines after %zu were not submitted",
	    b->lines.number);
	qo_bulk_stop(&b->bulk.bulk);
}

static void
ended(struct qo_bulk_submit *bs, const struct qo_submit *s, void *item)
{
	struct batch *b = bs->arg;
	struct item *it = item;
	enum qo_rc rc = s->change.rc;

	if (rc == QO_OK) {
		b->ok++;
		/* A line must not end up inside the bar. */
		if (out_is_terminal())
			progress_clear(&b->progress);
		batch_print(s, it->line);
		if (b->dry)
			fflush(stdout);
	} else {
		fail(b, it->line, exit_code_of(rc), s->change.err.msg);
		if (rc == QO_AGAIN || rc == QO_DENIED)
			stop(b);
	}
	progress_set(&b->progress, (int64_t)(b->ok + b->failed));
	item_free(it);
}

static void
on_lines(void *arg)
{
	struct batch *b = arg;

	qo_bulk_kick(&b->bulk.bulk);
}

static enum exit_code
verdict(const struct batch *b)
{
	if (b->failed == 0)
		return EXIT_OK;
	exit_say("%llu submitted, %llu failed", (unsigned long long)b->ok,
	    (unsigned long long)b->failed);
	return b->ok > 0 ? EXIT_PARTLY : b->first;
}

enum exit_code
batch_submit(struct session *s, const char *path, const struct qo_draft *base,
    const char *traceparent)
{
	struct batch b = { .session = s,
		.base = base,
		.path = strcmp(path, "-") == 0 ? "standard input" : path,
		.traceparent = traceparent };
	struct qo_err err = { 0 };

	if (lines_open(&b.lines, s->loop, path, QO_DRAFT_LINE_MAX, &err) == -1)
		return exit_usage("--batch: %s", err.msg);
	b.lines.ready = on_lines;
	b.lines.arg = &b;
	qo_bulk_submit_init(&b.bulk, s->q,
	    (size_t)s->conf->submit.max_inflight);
	b.bulk.next = next;
	b.bulk.ended = ended;
	b.bulk.arg = &b;
	progress_start(&b.progress, "submitting",
	    isatty(STDERR_FILENO) == 1 ? lines_count(path) : -1);
	qo_bulk_submit_wait(&b.bulk);
	progress_clear(&b.progress);
	qo_bulk_submit_fini(&b.bulk);
	lines_close(&b.lines);
	return verdict(&b);
}
