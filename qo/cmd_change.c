/* cancel, replay, archive and unarchive: of tasks by id or by --where. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bulk_admin.h"
#include "cmd.h"
#include "confval.h"
#include "progress.h"
#include "select.h"
#include "xalloc.h"

#define PENDING  SELECT_STATUS(QO_STATUS_PENDING)
#define RUNNING  SELECT_STATUS(QO_STATUS_RUNNING)
#define FAILED   SELECT_STATUS(QO_STATUS_FAILED)
#define ARCHIVED SELECT_STATUS(QO_STATUS_ARCHIVED)
#define FINISHED                                       \
	(FAILED | SELECT_STATUS(QO_STATUS_COMPLETED) | \
	    SELECT_STATUS(QO_STATUS_CANCELLED) |       \
	    SELECT_STATUS(QO_STATUS_EXPIRED))

/* What one of these commands is. */
struct verb {
	enum qo_admin_op op;
	unsigned allowed; /* statuses of tasks that it works on */
	unsigned usual;   /* those that --where means when it names none */
	const char *done; /* "replayed" */
};

struct change {
	const struct verb *verb;
	struct session *session;
	const struct select *sel; /* NULL: by id */
	const char (*ids)[QO_UUID_SIZE];
	size_t n, next;
	struct qo_bulk_admin bulk;
	enum out_format format;
	struct out_list list;
	struct progress progress;
	size_t ok, failed;
	enum exit_code first; /* failure's */
	bool stopped;
};

/* The changes */

static enum qo_bulk_next
next(struct qo_bulk_admin *ba, char id[QO_UUID_SIZE])
{
	struct change *c = ba->arg;

	if (c->next == c->n || out_broken())
		return QO_BULK_END;
	memcpy(id, c->ids[c->next++], QO_UUID_SIZE);
	return QO_BULK_STARTED;
}

static bool
wanted(struct qo_bulk_admin *ba, const struct qo_task *t)
{
	const struct change *c = ba->arg;

	return select_match(c->sel, t);
}

static void
print_json(struct change *c, const struct qo_admin *a)
{
	const struct qo_change *ch = &a->change;
	struct buf b;

	buf_init(&b, 8192);
	out_json_open(&b, NULL, '{');
	out_json_str(&b, "id", ch->id);
	out_json_bool(&b, "ok", ch->rc == QO_OK);
	out_json_str(&b, "status",
	    ch->task.status != QO_STATUS_NONE ? qo_status_name(ch->task.status)
					      : NULL);
	if (ch->rc == QO_OK && a->op == QO_ADMIN_CANCEL)
		out_json_bool(&b, "cancel_requested",
		    ch->task.cancel_requested);
	if (ch->rc != QO_OK)
		out_json_str(&b, "error", ch->err.msg);
	out_json_close(&b, '}');
	out_list_add(&c->list, b.data, b.len);
	buf_fini(&b);
}

static void
print_line(struct change *c, const struct qo_admin *a)
{
	const struct qo_change *ch = &a->change;

	if (ch->rc == QO_NOENT)
		exit_say("there is no task %s", ch->id);
	else if (ch->rc != QO_OK)
		exit_say("%s%s%s", strstr(ch->err.msg, ch->id) ? "" : ch->id,
		    strstr(ch->err.msg, ch->id) ? "" : ": ", ch->err.msg);
	else if (a->op == QO_ADMIN_CANCEL &&
	    ch->task.status != QO_STATUS_CANCELLED)
		out_line("%s asked to cancel", ch->id);
	else
		out_line("%s %s", ch->id, c->verb->done);
}

static void
ended(struct qo_bulk_admin *ba, const struct qo_admin *a)
{
	struct change *c = ba->arg;
	enum qo_rc rc = a->change.rc;

	progress_clear(&c->progress);
	if (c->format == OUT_TEXT)
		print_line(c, a);
	else
		print_json(c, a);
	if (rc == QO_OK)
		c->ok++;
	else if (c->failed++ == 0)
		c->first = exit_code_of(rc);
	/* Without a store all the others would fail the same way. */
	if ((rc == QO_AGAIN || rc == QO_DENIED) && !c->stopped) {
		c->stopped = true;
		qo_bulk_stop(&ba->bulk);
	}
	progress_set(&c->progress, (int64_t)(c->ok + c->failed));
}

static enum exit_code
verdict(const struct change *c)
{
	size_t left = c->n - c->ok - c->failed;

	if (c->n > 1 && c->failed + left > 0)
		exit_say("%zu %s, %zu failed, %zu not tried", c->ok,
		    c->verb->done, c->failed, left);
	if (c->failed == 0)
		return left == 0 ? EXIT_OK : EXIT_PARTLY;
	return c->ok > 0 ? EXIT_PARTLY : c->first;
}

static enum exit_code
change_all(struct change *c, const struct opts *o, int64_t rate)
{
	struct session *s = c->session;
	size_t inflight = (size_t)s->conf->submit.max_inflight;

	qo_bulk_admin_init(&c->bulk, s->q, c->verb->op, inflight);
	c->bulk.bulk.rate = rate;
	c->bulk.who = session_who();
	c->bulk.reason = c->verb->op == QO_ADMIN_CANCEL ? opts_get(o, "reason")
							: NULL;
	c->bulk.next = next;
	c->bulk.wanted = c->sel != NULL ? wanted : NULL;
	c->bulk.ended = ended;
	c->bulk.arg = c;
	if (c->format != OUT_TEXT)
		out_list_begin(&c->list, c->format);
	progress_start(&c->progress, qo_admin_op_name(c->verb->op),
	    (int64_t)c->n);
	c->progress.on = c->progress.on && c->n > 1;
	qo_bulk_admin_wait(&c->bulk);
	progress_clear(&c->progress);
	if (c->format != OUT_TEXT)
		out_list_end(&c->list);
	qo_bulk_admin_fini(&c->bulk);
	return verdict(c);
}

/* By id */

static int
compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static enum exit_code
by_id(struct change *c, const struct opts *o, int64_t rate)
{
	char(*ids)[QO_UUID_SIZE];
	enum exit_code code;
	size_t i, n = (size_t)o->nargs;

	for (i = 0; i < n; i++)
		if (!qo_uuid_valid(o->args[i], strlen(o->args[i])))
			return exit_usage(
			    "%s is no task id: an id is a UUID in lower case, "
			    "as qo submit prints it",
			    o->args[i]);
	if ((code = session_open(c->session)) != EXIT_OK)
		return code;
	ids = xcalloc(n, sizeof(*ids));
	for (i = 0; i < n; i++)
		memcpy(ids[i], o->args[i], QO_UUID_SIZE);
	/* One given twice is meant once. */
	qsort(ids, n, sizeof(*ids), compare);
	for (i = 0; i < n; i++)
		if (i == 0 || strcmp(ids[i], ids[c->n - 1]) != 0)
			memmove(ids[c->n++], ids[i], QO_UUID_SIZE);
	c->ids = (const char(*)[QO_UUID_SIZE])ids;
	code = change_all(c, o, rate);
	free(ids);
	return code;
}

/* By --where */

struct listing {
	enum out_format format;
	struct out_table *table;
	struct out_list list;
};

static void
on_found(void *arg, const struct qo_task *t, const char *text, size_t len)
{
	struct listing *l = arg;
	char age[OUT_DURATION_SIZE];
	struct qo_wall now = qo_wall_local();
	int64_t ms = (now.us - t->updated_at.us) / QO_US_PER_MS;

	if (l->format != OUT_TEXT) {
		out_list_add(&l->list, text, len);
		return;
	}
	out_cell(l->table, OUT_PLAIN, "%s", t->id);
	out_cell(l->table, OUT_PLAIN, "%s", qo_status_name(t->status));
	out_cell(l->table, OUT_PLAIN, "%s",
	    out_duration_text(ms > 0 ? ms : 0, age));
	out_cell(l->table, OUT_PLAIN, "%s", t->task_type);
	out_cell(l->table, OUT_PLAIN, "%s",
	    t->last_error != NULL ? t->last_error : "");
}

static enum exit_code
list_them(struct change *c, struct select *sel)
{
	static const struct out_col cols[] = { { "ID", false },
		{ "STATUS", false }, { "CHANGED", true }, { "TYPE", false },
		{ "ERROR", false } };
	struct listing l = { .format = c->format };
	enum exit_code code;

	sel->found = on_found;
	sel->arg = &l;
	l.table = out_table_new(cols, sizeof(cols) / sizeof(cols[0]));
	if (c->format != OUT_TEXT)
		out_list_begin(&l.list, c->format);
	code = select_run(sel, c->session);
	if (c->format != OUT_TEXT)
		out_list_end(&l.list);
	out_table_print(l.table);
	if (code == EXIT_OK)
		exit_say("%zu would be %s", sel->n, c->verb->done);
	return code;
}

/* More than one: a person is asked, a script says so before. */
static enum exit_code
confirm(const struct change *c, const struct opts *o)
{
	const char *name = qo_admin_op_name(c->verb->op);
	char answer[16];

	if (c->n < 2 || opts_has(o, "yes"))
		return EXIT_OK;
	if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)
		return exit_usage("%zu tasks match: --yes to %s them, "
				  "--dry-run to see them",
		    c->n, name);
	fprintf(stderr, "%s %zu tasks? [y/N] ", name, c->n);
	if (fgets(answer, sizeof(answer), stdin) != NULL &&
	    (answer[0] == 'y' || answer[0] == 'Y'))
		return EXIT_OK;
	exit_say("nothing was done");
	return EXIT_FAILED;
}

static enum exit_code
by_where(struct change *c, const struct opts *o, int64_t rate)
{
	struct select sel;
	enum exit_code code;

	code = select_parse(&sel, opts_get(o, "where"),
	    qo_admin_op_name(c->verb->op), c->verb->allowed, c->verb->usual);
	if (code != EXIT_OK)
		return code;
	if ((code = session_open(c->session)) != EXIT_OK)
		goto out;
	if (opts_has(o, "dry-run")) {
		code = list_them(c, &sel);
		goto out;
	}
	if ((code = select_run(&sel, c->session)) != EXIT_OK)
		goto out;
	c->sel = &sel;
	c->ids = (const char(*)[QO_UUID_SIZE])sel.ids;
	c->n = sel.n;
	if (c->n == 0)
		exit_say("no task matches");
	if ((code = confirm(c, o)) == EXIT_OK)
		code = change_all(c, o, rate);
out:
	select_fini(&sel);
	return code;
}

/* The commands */

static enum exit_code
change_tasks(struct session *s, const struct opts *o, const struct verb *verb)
{
	struct change c = { .verb = verb, .session = s };
	const char *rate_text = opts_get(o, "rate");
	struct qo_err err = { 0 };
	enum exit_code code;
	int64_t rate = 0;
	bool where = opts_has(o, "where");

	if ((code = cmd_format(o, &c.format)) != EXIT_OK)
		return code;
	if (where == (o->nargs > 0))
		return exit_usage("%s: ids of tasks or --where, one of them",
		    where ? "both are given" : "nothing is given");
	if (!where && opts_has(o, "dry-run"))
		return exit_usage("--dry-run: only with --where");
	if (rate_text != NULL &&
	    confval_int(rate_text, 1, QO_BULK_RATE_MAX, &rate, &err) == -1)
		return exit_usage("--rate: %s", err.msg);
	return where ? by_where(&c, o, rate) : by_id(&c, o, rate);
}

#define COMMON_OPTS                                                           \
	{ "where", 'w', "CLAUSES",                                            \
		"All tasks that match, instead of ids: clauses status=WORD, " \
		"type=TYPE (perhaps with * at its end), error~=TEXT, "        \
		"older=DURATION, newer=DURATION, worker=ID and "              \
		"tag.NAME=VALUE, "                                            \
		"with commas between; all must hold.",                        \
		false },                                                      \
	    { "dry-run", 'n', NULL, "List what matches and change nothing.",  \
		    false },                                                  \
	    { "rate", 0, "N", "At most so many tasks a second.", false },     \
	    { "yes", 'y', NULL, "Do not ask when more than one matches.",     \
		    false },                                                  \
	    CMD_OPT_JSON, CMD_OPT_JSONL, CMD_OPT_END

static const struct opt cancel_opts[] = {
	{ "reason", 0, "TEXT", "Why; it is kept in the task.", false },
	COMMON_OPTS,
};
static const struct opt change_opts[] = { COMMON_OPTS };

static enum exit_code
run_cancel(struct session *s, const struct opts *o)
{
	static const struct verb verb = { QO_ADMIN_CANCEL, PENDING | RUNNING,
		PENDING | RUNNING, "cancelled" };

	return change_tasks(s, o, &verb);
}

static enum exit_code
run_replay(struct session *s, const struct opts *o)
{
	static const struct verb verb = { QO_ADMIN_REPLAY, FINISHED, FAILED,
		"replayed" };

	return change_tasks(s, o, &verb);
}

static enum exit_code
run_archive(struct session *s, const struct opts *o)
{
	static const struct verb verb = { QO_ADMIN_ARCHIVE, FINISHED, FINISHED,
		"archived" };

	return change_tasks(s, o, &verb);
}

static enum exit_code
run_unarchive(struct session *s, const struct opts *o)
{
	static const struct verb verb = { QO_ADMIN_UNARCHIVE, ARCHIVED,
		ARCHIVED, "unarchived" };

	return change_tasks(s, o, &verb);
}

#define COMMON_HELP                                                         \
	"\n\nOne line is printed for each task.  Exit status 3: there is "  \
	"no such task, 5: its state does not allow it, 8: some were done "  \
	"and others not.\n\n"                                               \
	"With --where and more than one match a terminal is asked first; "  \
	"elsewhere --yes is needed.  A task that no longer matches when "   \
	"its turn comes is left alone.  Pending, running and failed tasks " \
	"are found through the indexes; for other states every task of "    \
	"the queue is read."

const struct cmd cmd_cancel = {
	.name = "cancel",
	.run = run_cancel,
	.opts = cancel_opts,
	.args = "[ID...]",
	.max_args = CMD_ANY,
	.summary = "cancel pending and running tasks",
	.help = "A pending task is cancelled at once.  The worker of a running "
		"one is asked to end it." COMMON_HELP,
};

const struct cmd cmd_replay = {
	.name = "replay",
	.run = run_replay,
	.opts = change_opts,
	.args = "[ID...]",
	.max_args = CMD_ANY,
	.summary = "run finished tasks again",
	.help = "The task becomes pending with all its retries.  Without "
		"status= in --where failed tasks are meant." COMMON_HELP,
};

const struct cmd cmd_archive = {
	.name = "archive",
	.run = run_archive,
	.opts = change_opts,
	.args = "[ID...]",
	.max_args = CMD_ANY,
	.summary = "put finished tasks out of sight",
	.help = "An archived task is kept, and is no longer listed or "
		"counted." COMMON_HELP,
};

const struct cmd cmd_unarchive = {
	.name = "unarchive",
	.run = run_unarchive,
	.opts = change_opts,
	.args = "[ID...]",
	.max_args = CMD_ANY,
	.summary = "bring archived tasks back",
	.help = "The task has the status again that it had before "
		"it was archived." COMMON_HELP,
};
