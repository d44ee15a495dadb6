#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "scan.h"
#include "select.h"
#include "xalloc.h"

struct reading {
	struct select *sel;
	struct progress progress;
};

static void
say_statuses(const char *command, unsigned allowed, enum qo_status got)
{
	struct buf b;
	int i;

	buf_init(&b, 256);
	for (i = QO_STATUS_PENDING; i <= QO_STATUS_ARCHIVED; i++)
		if (allowed & SELECT_STATUS(i))
			buf_addf(&b, "%s%s", b.len > 0 ? ", " : "",
			    qo_status_name(i));
	exit_say("--where: status=%s: %s works on tasks that are: %s",
	    qo_status_name(got), command, b.data);
	buf_fini(&b);
}

enum exit_code
select_parse(struct select *sel, const char *text, const char *command,
    unsigned allowed, unsigned usual)
{
	struct qo_err err = { 0 };
	enum qo_status status;

	memset(sel, 0, sizeof(*sel));
	if (qo_where_parse(&sel->where, text, &err) == -1)
		return exit_usage("--where: %s", err.msg);
	status = sel->where.status;
	sel->statuses = status == QO_STATUS_NONE ? usual
						 : SELECT_STATUS(status);
	if ((sel->statuses & allowed) == sel->statuses)
		return EXIT_OK;
	say_statuses(command, allowed, status);
	select_fini(sel);
	return EXIT_USAGE;
}

void
select_fini(struct select *sel)
{
	qo_where_fini(&sel->where);
	free(sel->ids);
	sel->ids = NULL;
}

bool
select_match(const struct select *sel, const struct qo_task *t)
{
	return (sel->statuses & SELECT_STATUS(t->status)) != 0 &&
	    qo_where_match(&sel->where, t, sel->now);
}

/* What has to be read to see all tasks of these statuses. */
static unsigned
sources_of(unsigned statuses)
{
	unsigned sources = 0;

	if (statuses & SELECT_STATUS(QO_STATUS_PENDING))
		sources |= QO_SCAN_READY;
	if (statuses & SELECT_STATUS(QO_STATUS_RUNNING))
		sources |= QO_SCAN_LEASES;
	if (statuses & SELECT_STATUS(QO_STATUS_FAILED))
		sources |= QO_SCAN_FAILED;
	statuses &= ~(SELECT_STATUS(QO_STATUS_PENDING) |
	    SELECT_STATUS(QO_STATUS_RUNNING) | SELECT_STATUS(QO_STATUS_FAILED));
	return statuses == 0 ? sources : QO_SCAN_TASKS;
}

static bool
on_task(struct qo_scan *s, const struct qo_task *t, const char *text,
    size_t len)
{
	struct reading *r = s->arg;
	struct select *sel = r->sel;

	progress_set(&r->progress, (int64_t)s->read);
	if (!select_match(sel, t))
		return true;
	if (sel->n == sel->cap) {
		sel->cap = sel->cap == 0 ? 64 : sel->cap * 2;
		sel->ids = xreallocarray(sel->ids, sel->cap, sizeof(*sel->ids));
	}
	memcpy(sel->ids[sel->n++], t->id, QO_UUID_SIZE);
	if (sel->found != NULL)
		sel->found(sel->arg, t, text, len);
	return true;
}

static void
on_corrupt(struct qo_scan *s, const char *key, const char *why)
{
	struct reading *r = s->arg;

	progress_clear(&r->progress);
	exit_say("%s: %s: passed over", key, why);
}

enum exit_code
select_run(struct select *sel, struct session *s)
{
	struct reading r = { .sel = sel };
	struct qo_scan scan;
	enum exit_code code = EXIT_OK;

	sel->now = qo_queue_now(s->q);
	progress_start(&r.progress, "reading tasks", -1);
	qo_scan_init(&scan, s->q, sources_of(sel->statuses));
	scan.task = on_task;
	scan.corrupt = on_corrupt;
	scan.arg = &r;
	if (qo_scan_wait(&scan) != QO_OK)
		code = session_fail(s, scan.rc, &scan.err);
	progress_clear(&r.progress);
	if (scan.dropped > 0)
		exit_say("there are more tasks than can be held at once: %zu "
			 "of the oldest were not looked at, run it again",
		    scan.dropped);
	qo_scan_fini(&scan);
	return code;
}
