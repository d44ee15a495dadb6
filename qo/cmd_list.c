/* list: many tasks. */
#include <string.h>

#include "confval.h"
#include "progress.h"
#include "scan.h"
#include "tags.h"
#include "taskview.h"

#define LIMIT      100
#define LIMIT_MAX  1000000
#define STATE_LEN  4096
#define TAGS_ASKED 16

struct list {
	struct session *s;
	/* what is wanted */
	enum qo_status status; /* QO_STATUS_NONE: active and failed */
	const char *type;
	struct {
		char name[QO_TAGS_NAME_MAX + 1];
		const char *value;
	} tags[TAGS_ASKED];
	size_t ntags;
	size_t limit;
	/* output */
	enum out_format format;
	struct out_table *table;
	struct out_list out;
	size_t shown;
	struct progress progress;
};

/* What was asked for */

static enum exit_code
parse_status(struct list *l, const char *text)
{
	char shown[CONFVAL_SHOWN];

	if (text == NULL || qo_status_parse(text, &l->status) == 0)
		return EXIT_OK;
	return exit_usage("--status: %s: pending, running, completed, failed, "
			  "cancelled, expired or archived",
	    confval_shown(text, shown, sizeof(shown)));
}

static enum exit_code
parse_tags(struct list *l, const struct opts *o)
{
	struct qo_err err;
	const char *text;

	for (; (text = opts_nth(o, "tag", l->ntags)) != NULL; l->ntags++) {
		if (l->ntags == TAGS_ASKED)
			return exit_usage("--tag: at most %d of them",
			    TAGS_ASKED);
		if (qo_tags_split(text, l->tags[l->ntags].name,
			&l->tags[l->ntags].value, &err) == -1)
			return exit_usage("--tag: %s", err.msg);
	}
	return EXIT_OK;
}

static enum exit_code
parse_limit(struct list *l, const char *text)
{
	struct qo_err err;
	int64_t n = LIMIT;

	if (text != NULL && confval_int(text, 1, LIMIT_MAX, &n, &err) == -1)
		return exit_usage("--limit: %s", err.msg);
	l->limit = (size_t)n;
	return EXIT_OK;
}

static enum exit_code
parse(struct list *l, const struct opts *o)
{
	enum exit_code code;

	l->type = opts_get(o, "type");
	if ((code = cmd_format(o, &l->format)) != EXIT_OK ||
	    (code = parse_status(l, opts_get(o, "status"))) != EXIT_OK ||
	    (code = taskview_check_type(o)) != EXIT_OK ||
	    (code = parse_tags(l, o)) != EXIT_OK)
		return code;
	return parse_limit(l, opts_get(o, "limit"));
}

/* Active tasks and failed ones have entries; the rest is looked for. */
static unsigned
sources_of(enum qo_status status)
{
	switch (status) {
	case QO_STATUS_NONE:
		return QO_SCAN_ACTIVE;
	case QO_STATUS_PENDING:
		return QO_SCAN_READY;
	case QO_STATUS_RUNNING:
		return QO_SCAN_LEASES;
	case QO_STATUS_FAILED:
		return QO_SCAN_FAILED;
	case QO_STATUS_COMPLETED:
	case QO_STATUS_CANCELLED:
	case QO_STATUS_EXPIRED:
	case QO_STATUS_ARCHIVED:
		break;
	}
	return QO_SCAN_TASKS;
}

static bool
wanted(const struct list *l, const struct qo_task *t)
{
	size_t i;

	if (l->status == QO_STATUS_NONE
		? qo_status_terminal(t->status) && t->status != QO_STATUS_FAILED
		: t->status != l->status)
		return false;
	if (l->type != NULL && strcmp(l->type, t->task_type) != 0)
		return false;
	for (i = 0; i < l->ntags; i++)
		if (!qo_tags_match(&t->tags, l->tags[i].name, l->tags[i].value))
			return false;
	return true;
}

/* Output */

static const struct out_col cols[] = {
	{ "ID", false },
	{ "TYPE", false },
	{ "STATUS", false },
	{ "ATTEMPT", true },
	{ "AGE", true },
	{ "STATE", false },
};

static void
add_row(struct list *l, const struct qo_task *t)
{
	struct qo_wall now = taskview_now(l->s, t);
	char age[OUT_DURATION_SIZE];
	struct buf b;

	buf_init(&b, STATE_LEN);
	taskview_add_state(&b, t, now);
	out_cell(l->table, OUT_PLAIN, "%s", t->id);
	out_cell(l->table, OUT_PLAIN, "%s", t->task_type);
	out_cell(l->table, taskview_style(t->status), "%s",
	    qo_status_name(t->status));
	out_cell(l->table, OUT_PLAIN, "%lld", (long long)t->attempt);
	out_cell(l->table, OUT_PLAIN, "%s",
	    out_duration_text((now.us - t->created_at.us) / QO_US_PER_MS, age));
	out_cell(l->table, OUT_PLAIN, "%s", b.data);
	buf_fini(&b);
}

static bool
on_task(struct qo_scan *s, const struct qo_task *t, const char *text,
    size_t len)
{
	struct list *l = s->arg;
	size_t left;

	if (!wanted(l, t))
		return true;
	progress_clear(&l->progress);
	if (l->format == OUT_TEXT)
		add_row(l, t);
	else
		taskview_add_line(&l->out, text, len);
	l->shown++;
	left = l->limit - l->shown;
	/* Nothing is read that will not be shown. */
	if (left > 0 && left < s->fetch.window)
		s->fetch.window = left;
	return left > 0 && !out_broken();
}

static void
on_corrupt(struct qo_scan *s, const char *key, const char *why)
{
	struct list *l = s->arg;

	progress_clear(&l->progress);
	exit_say("%s: %s", key, why);
}

static void
on_progress(struct qo_scan *s)
{
	struct list *l = s->arg;

	progress_set(&l->progress, (int64_t)(s->listed + s->read));
}

static void
say_end(const struct list *l, const struct qo_scan *scan)
{
	if (scan->sources == QO_SCAN_TASKS)
		exit_say("listed %zu objects, read %zu", scan->listed,
		    scan->read);
	if (scan->dropped > 0)
		exit_say("only the newest %zu were looked at: use --shard",
		    scan->nnames);
	if (l->shown == l->limit && scan->read < scan->nnames &&
	    l->format == OUT_TEXT)
		exit_say("the newest %zu, there may be more: --limit",
		    l->limit);
}

static enum exit_code
show(struct list *l, const char *shard)
{
	static struct qo_scan scan; /* large */
	enum exit_code code = EXIT_OK;
	enum qo_rc rc;

	qo_scan_init(&scan, l->s->q, sources_of(l->status));
	scan.shard = shard;
	scan.task = on_task;
	scan.corrupt = on_corrupt;
	scan.progress = on_progress;
	scan.arg = l;
	if (l->limit < scan.fetch.window)
		scan.fetch.window = l->limit;
	if (l->format == OUT_TEXT)
		l->table = out_table_new(cols, sizeof(cols) / sizeof(cols[0]));
	else
		out_list_begin(&l->out, l->format);
	progress_start(&l->progress, "reading", -1);
	rc = qo_scan_wait(&scan);
	progress_clear(&l->progress);
	if (l->format == OUT_TEXT)
		out_table_print(l->table);
	else
		out_list_end(&l->out);
	if (rc != QO_OK)
		code = session_fail(l->s, rc, &scan.err);
	else
		say_end(l, &scan);
	qo_scan_fini(&scan);
	return code;
}

static enum exit_code
run_list(struct session *s, const struct opts *o)
{
	const char *shard = opts_get(o, "shard");
	struct list l;
	enum exit_code code;

	memset(&l, 0, sizeof(l));
	l.s = s;
	if ((code = parse(&l, o)) != EXIT_OK)
		return code;
	if (shard != NULL &&
	    (strlen(shard) < 1 || strlen(shard) > 2 ||
		strspn(shard, "0123456789abcdef") != strlen(shard)))
		return exit_usage("--shard: a shard is 0 to f (00 to ff when "
				  "the queue has two digits)");
	if ((code = session_open(s)) != EXIT_OK)
		return code;
	if (shard != NULL && !qo_scan_shard_valid(s->q, shard))
		return exit_usage("--shard: the shards of this queue have %d "
				  "digits",
		    s->q->layout.shard_width);
	return show(&l, shard);
}

static const struct opt list_opts[] = {
	{ "status", 's', "STATUS",
	    "Only tasks that are pending, running, completed, failed, "
	    "cancelled, expired or archived.",
	    false },
	{ "type", 0, "TYPE", "Only tasks of this type.", false },
	{ "tag", 0, "NAME=VALUE", "Only tasks with this tag; repeatable.",
	    true },
	{ "shard", 0, "H",
	    "Only tasks whose id begins with this hexadecimal digit.", false },
	{ "limit", 'n', "N", "Show at most N tasks (100).", false },
	CMD_OPT_JSON,
	CMD_OPT_JSONL,
	CMD_OPT_END,
};

const struct cmd cmd_list = {
	.name = "list",
	.run = run_list,
	.opts = list_opts,
	.summary = "list tasks",
	.help = "Without --status: tasks that are pending or running, and "
		"failed ones.  What was changed last comes first.\n\n"
		"Pending, running and failed tasks are found through their "
		"indexes.  For the other statuses the names of all tasks (or "
		"those of --shard) are listed and tasks are read, newest "
		"first, until there are enough; how many is said on standard "
		"error.  An object that can not be read is reported with its "
		"key and passed over.",
};
