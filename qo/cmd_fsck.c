#include <string.h>

#include "cmd.h"
#include "fsck.h"
#include "progress.h"

struct state {
	bool json;
	struct progress progress;
	struct buf list; /* JSON of the problems */
};

static void
on_problem(struct qo_fsck *f, const struct qo_fsck_problem *p)
{
	struct state *st = f->arg;

	if (!st->json) {
		progress_clear(&st->progress);
		out_text(p->repaired ? OUT_WARN : OUT_BAD, "%-13s ",
		    qo_fsck_kind_name(p->kind));
		out_line("%s%s%s%s", p->key, p->detail[0] != '\0' ? ": " : "",
		    p->detail, p->repaired ? " (repaired)" : "");
		return;
	}
	out_json_open(&st->list, NULL, '{');
	out_json_str(&st->list, "problem", qo_fsck_kind_name(p->kind));
	out_json_str(&st->list, "key", p->key);
	out_json_str(&st->list, "detail", p->detail);
	out_json_bool(&st->list, "repaired", p->repaired);
	out_json_close(&st->list, '}');
}

static void
on_progress(struct qo_fsck *f)
{
	struct state *st = f->arg;

	progress_set(&st->progress, (int64_t)f->tasks);
}

static void
print_summary(const struct qo_fsck *f, struct state *st)
{
	struct qo_json list = { st->list.data, st->list.len };
	struct buf b;

	if (!st->json) {
		out_line("%zu tasks, %zu index entries (%zu too young to "
			 "judge), %zu schedules, %zu problems, %zu of them "
			 "repaired",
		    f->tasks, f->entries, f->young, f->schedules,
		    f->broken + f->repaired, f->repaired);
		return;
	}
	buf_init(&b, st->list.len + 4096);
	out_json_close(&st->list, ']');
	list.p = st->list.data;
	list.len = st->list.len;
	out_json_open(&b, NULL, '{');
	out_json_int(&b, "tasks", (int64_t)f->tasks);
	out_json_int(&b, "entries", (int64_t)f->entries);
	out_json_int(&b, "young", (int64_t)f->young);
	out_json_int(&b, "schedules", (int64_t)f->schedules);
	out_json_int(&b, "repaired", (int64_t)f->repaired);
	out_json_int(&b, "broken", (int64_t)f->broken);
	out_json_raw(&b, "problems", &list);
	out_json_close(&b, '}');
	out_json(b.data, b.len);
	buf_fini(&b);
}

static enum exit_code
run(struct session *s, const struct opts *o)
{
	struct state st;
	struct qo_fsck f;
	struct qo_err err = { 0 };
	enum exit_code code;
	enum qo_rc rc;

	if ((code = session_open(s)) != EXIT_OK)
		return code;
	memset(&st, 0, sizeof(st));
	st.json = opts_has(o, "json");
	buf_init(&st.list, (size_t)256 << 20);
	out_json_open(&st.list, NULL, '[');
	memset(&f, 0, sizeof(f));
	f.q = s->q;
	f.repair = opts_has(o, "repair");
	f.grace_ms = opts_has(o, "offline") ? QO_FSCK_OFFLINE_MS
					    : s->conf->monitor.orphan_grace_ms;
	f.submit = &s->conf->submit;
	f.problem = on_problem;
	f.progress = on_progress;
	f.arg = &st;
	progress_start(&st.progress, "checking", -1);
	rc = qo_fsck_run(&f, &err);
	progress_clear(&st.progress);
	if (rc == QO_OK)
		print_summary(&f, &st);
	buf_fini(&st.list);
	if (rc != QO_OK)
		return session_fail(s, rc, &err);
	return f.broken > 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct opt opts[] = {
	{ "repair", 0, NULL,
	    "Write missing index entries, remove dead ones, and submit runs of "
	    "schedules that were decided.",
	    false },
	{ "offline", 0, NULL,
	    "Nothing else uses the queue now: judge entries of any age.",
	    false },
	CMD_OPT_JSON,
	CMD_OPT_END,
};

const struct cmd cmd_fsck = {
	.name = "fsck",
	.run = run,
	.opts = opts,
	.summary = "check every task, index entry and schedule",
	.help =
	    "Reads all tasks, all index entries and all schedules, and prints "
	    "a line for each that breaks a rule.  It may run beside workers: "
	    "what is younger than [monitor] orphan_grace may belong to a write "
	    "under way and is left alone.  Objects that are neither task nor "
	    "schedule are reported and never changed, nor is the next time of "
	    "a schedule: pausing and resuming it finds a new one.",
};
