#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ends.h"
#include "fsck_int.h"
#include "need.h"
#include "repair.h"
#include "scan.h"
#include "xalloc.h"

/* An entry that a task needs (R1), and what the task was when it was read. */
struct need {
	struct qo_entry entry; /* without nonce */
	int64_t rev;
};

struct found {
	struct qo_entry entry;
	struct qo_wall modified;
};

struct payload {
	char key[QO_KEY_SIZE];
};

/* One shard. */
struct shard {
	struct qo_fsck *f;
	char name[QO_SHARD_SIZE];
	struct need *needs;
	size_t nneeds, needs_cap;
	struct found *entries;
	size_t nentries, entries_cap;
	struct payload *payloads;
	size_t npayloads;
	struct found *suspects; /* entries that no task was seen to need */
	size_t nsuspects;
	bool done;
};

static const char *const kind_names[] = { "corrupt", "bad-key", "wrong-shard",
	"incomplete", "no-entry", "no-payload", "entry-no-task", "entry-dead",
	"entry-ahead", "schedule-time", "schedule-run" };

static const enum qo_index all_indexes[] = { QO_INDEX_READY_HIGH,
	QO_INDEX_READY, QO_INDEX_READY_LOW, QO_INDEX_LEASES, QO_INDEX_FAILED };

const char *
qo_fsck_kind_name(enum qo_fsck_kind kind)
{
	return kind_names[kind];
}

void
qo_fsck_report(struct qo_fsck *f, enum qo_fsck_kind kind, const char *key,
    const char *detail, bool repaired)
{
	struct qo_fsck_problem p = { kind, key, detail, repaired };

	f->found[kind]++;
	if (repaired)
		f->repaired++;
	else
		f->broken++;
	f->problem(f, &p);
}

/* The tasks */

/* A member that the status asks for and that is not there, or NULL. */
static const char *
missing_member(const struct qo_task *t)
{
	if (t->status == QO_STATUS_PENDING && !qo_wall_is_set(t->available_at))
		return "pending without available_at";
	if (t->status == QO_STATUS_RUNNING && t->lease_id == NULL)
		return "running without lease_id";
	if (t->status == QO_STATUS_RUNNING &&
	    !qo_wall_is_set(t->lease_expires_at))
		return "running without lease_expires_at";
	if (t->status == QO_STATUS_FAILED && !qo_wall_is_set(t->completed_at))
		return "failed without completed_at";
	if (t->status == QO_STATUS_ARCHIVED &&
	    t->archived_from == QO_STATUS_NONE)
		return "archived without archived_from";
	return NULL;
}

static void
add_payload(struct shard *s, const char *ref)
{
	if (ref == NULL)
		return;
	s->payloads = xreallocarray(s->payloads, s->npayloads + 1,
	    sizeof(*s->payloads));
	snprintf(s->payloads[s->npayloads++].key, QO_KEY_SIZE, "%s", ref);
}

static void
add_need(struct shard *s, const struct qo_entry *e, int64_t rev)
{
	if (s->nneeds == s->needs_cap) {
		s->needs_cap = s->needs_cap == 0 ? 256 : s->needs_cap * 2;
		s->needs = xreallocarray(s->needs, s->needs_cap,
		    sizeof(*s->needs));
	}
	s->needs[s->nneeds].entry = *e;
	s->needs[s->nneeds++].rev = rev;
}

static bool
on_task(struct qo_scan *sc, const struct qo_task *t, const char *text,
    size_t len)
{
	struct shard *s = sc->arg;
	char key[QO_KEY_SIZE], shard[QO_SHARD_SIZE];
	const char *why;
	struct qo_entry e;

	(void)text;
	(void)len;
	s->f->tasks++;
	if (s->f->progress != NULL)
		s->f->progress(s->f);
	(void)qo_key_task(&s->f->q->layout, t->id, key);
	qo_uuid_shard(t->id, s->f->q->layout.shard_width, shard);
	if (t->shard == NULL || strcmp(t->shard, shard) != 0)
		qo_fsck_report(s->f, QO_FSCK_WRONG_SHARD, key,
		    t->shard != NULL ? t->shard : "no shard", false);
	if ((why = missing_member(t)) != NULL)
		qo_fsck_report(s->f, QO_FSCK_INCOMPLETE, key, why, false);
	if (qo_need_of(t, &e))
		add_need(s, &e, t->rev);
	/* Of one that is being removed they go first. */
	if (!qo_wall_is_set(t->retired_at)) {
		add_payload(s, t->input_ref);
		add_payload(s, t->output_ref);
	}
	return true;
}

static void
on_corrupt(struct qo_scan *sc, const char *key, const char *why)
{
	struct shard *s = sc->arg;

	qo_fsck_report(s->f, QO_FSCK_CORRUPT, key, why, false);
}

static enum qo_rc
scan_tasks(struct shard *s, struct qo_err *err)
{
	struct qo_scan *sc = xcalloc(1, sizeof(*sc));
	enum qo_rc rc;

	qo_scan_init(sc, s->f->q, QO_SCAN_TASKS);
	sc->shard = s->name;
	sc->task = on_task;
	sc->corrupt = on_corrupt;
	sc->arg = s;
	rc = qo_scan_wait(sc);
	if (rc == QO_OK && sc->dropped > 0) {
		qo_err_set(err,
		    "shard %s has more tasks than can be looked at: %zu were "
		    "left out",
		    s->name, sc->dropped);
		rc = QO_ERR;
	} else if (rc != QO_OK) {
		*err = sc->err;
	}
	qo_scan_fini(sc);
	free(sc);
	return rc;
}

static enum qo_rc
check_payloads(struct shard *s, struct qo_err *err)
{
	struct qo_queue *q = s->f->q;
	struct qo_s3_req r;
	enum qo_rc rc;
	size_t i;

	for (i = 0; i < s->npayloads; i++) {
		qo_s3_req_init(&r, QO_S3_HEAD, q->bucket, s->payloads[i].key);
		rc = qo_s3_outcome_rc(qo_s3_wait(q->s3, &r));
		if (rc == QO_NOENT)
			qo_fsck_report(s->f, QO_FSCK_NO_PAYLOAD,
			    s->payloads[i].key, "", false);
		else if (rc != QO_OK)
			*err = r.res.err;
		qo_s3_req_fini(&r);
		if (rc != QO_OK && rc != QO_NOENT)
			return rc;
	}
	return QO_OK;
}

/* The entries */

static bool
on_entry(struct qo_walk *w, const struct qo_s3_entry *e)
{
	struct shard *s = w->arg;
	struct found *n;

	if (s->nentries == s->entries_cap) {
		s->entries_cap = s->entries_cap == 0 ? 256 : s->entries_cap * 2;
		s->entries = xreallocarray(s->entries, s->entries_cap,
		    sizeof(*s->entries));
	}
	n = &s->entries[s->nentries];
	s->f->entries++;
	if (qo_entry_parse(&s->f->q->layout, e->key, strlen(e->key),
		&n->entry) == -1) {
		qo_fsck_report(s->f, QO_FSCK_BAD_KEY, e->key, "", false);
		return true;
	}
	n->modified = e->last_modified;
	s->nentries++;
	return true;
}

static void
on_walked(struct qo_walk *w)
{
	struct shard *s = w->arg;

	s->done = true;
}

static enum qo_rc
walk_index(struct shard *s, enum qo_index index, struct qo_err *err)
{
	struct qo_queue *q = s->f->q;
	struct qo_walk *w = xcalloc(1, sizeof(*w));
	enum qo_rc rc;

	qo_walk_init(w, q->s3, q->index_bucket);
	(void)qo_key_index(&q->layout, index, s->name, w->prefix);
	w->entry = on_entry;
	w->done = on_walked;
	w->arg = s;
	s->done = false;
	qo_walk_start(w);
	while (!s->done)
		loop_once(q->loop, -1);
	rc = w->rc;
	if (rc != QO_OK)
		*err = w->err;
	qo_walk_fini(w);
	free(w);
	return rc;
}

/* By what an entry says, but for its nonce. */
static int
compare(const struct qo_entry *a, const struct qo_entry *b)
{
	int c = strcmp(a->id, b->id);

	if (c != 0)
		return c;
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	if (a->minute != b->minute)
		return a->minute < b->minute ? -1 : 1;
	if (a->generation != b->generation)
		return a->generation < b->generation ? -1 : 1;
	return 0;
}

static int
by_entry(const void *a, const void *b)
{
	return compare(&((const struct found *)a)->entry,
	    &((const struct found *)b)->entry);
}

static int
by_need(const void *a, const void *b)
{
	return compare(&((const struct need *)a)->entry,
	    &((const struct need *)b)->entry);
}

/* Needs without an entry */

/* The task as it is now; QO_ERR: not to be read. */
static enum qo_rc
read_task(struct qo_queue *q, const char *id, struct qo_task *t,
    struct qo_err *err)
{
	char key[QO_KEY_SIZE];
	struct qo_s3_req r;
	enum qo_rc rc;

	(void)qo_key_task(&q->layout, id, key);
	qo_s3_req_init(&r, QO_S3_GET, q->bucket, key);
	r.response_max = QO_TASK_LEN_MAX;
	rc = qo_s3_outcome_rc(qo_s3_wait(q->s3, &r));
	if (rc != QO_OK)
		*err = r.res.err;
	else if (qo_scan_decode(t, id, &r, err) == -1)
		rc = QO_ERR;
	qo_s3_req_fini(&r);
	return rc;
}

static enum qo_rc
miss(struct shard *s, const struct need *n, struct qo_err *err)
{
	char key[QO_KEY_SIZE], detail[QO_KEY_SIZE];
	struct qo_queue *q = s->f->q;
	struct qo_need need;
	struct qo_task t;
	enum qo_rc rc;

	rc = read_task(q, n->entry.id, &t, err);
	if (rc != QO_OK) /* gone or unreadable by now is not this problem */
		return rc == QO_NOENT || rc == QO_ERR ? QO_OK : rc;
	if (t.rev == n->rev && qo_need_init(&need, q, &t)) {
		need.repair = s->f->repair;
		rc = qo_need_wait(&need);
		*err = need.err;
		(void)qo_key_task(&q->layout, t.id, key);
		(void)qo_key_entry(&q->layout, &n->entry, detail);
		if (need.missing)
			qo_fsck_report(s->f, QO_FSCK_NO_ENTRY, key, detail,
			    need.repaired);
		qo_need_fini(&need);
	}
	qo_task_fini(&t);
	return rc;
}

static enum qo_rc
check_needs(struct shard *s, struct qo_err *err)
{
	struct found want;
	enum qo_rc rc = QO_OK;
	size_t i;

	memset(&want, 0, sizeof(want));
	for (i = 0; rc == QO_OK && i < s->nneeds; i++) {
		want.entry = s->needs[i].entry;
		if (s->nentries == 0 ||
		    bsearch(&want, s->entries, s->nentries, sizeof(want),
			by_entry) == NULL)
			rc = miss(s, &s->needs[i], err);
	}
	return rc;
}

/* Entries without a need */

bool
qo_fsck_is_young(const struct qo_fsck *f, struct qo_wall modified)
{
	struct qo_wall lo;

	return !qo_s3_now(f->q->s3, &lo, NULL, NULL) ||
	    lo.us - modified.us <= f->grace_ms * QO_US_PER_MS;
}

static void
pick_suspects(struct shard *s)
{
	struct need want;
	size_t i;

	memset(&want, 0, sizeof(want));
	s->suspects = xcalloc(s->nentries + 1, sizeof(*s->suspects));
	for (i = 0; i < s->nentries; i++) {
		want.entry = s->entries[i].entry;
		if (s->nneeds > 0 &&
		    bsearch(&want, s->needs, s->nneeds, sizeof(want),
			by_need) != NULL)
			continue;
		if (qo_fsck_is_young(s->f, s->entries[i].modified))
			s->f->young++;
		else
			s->suspects[s->nsuspects++] = s->entries[i];
	}
}

/* Does the monitor's rule do away with it? */
static bool
repair_entry(struct shard *s, const struct found *e)
{
	struct qo_repair *r;
	bool done = false;
	enum qo_rc rc;

	if (!s->f->repair)
		return false;
	r = xcalloc(1, sizeof(*r));
	qo_repair_init(r, s->f->q, &e->entry, e->modified, s->f->grace_ms);
	rc = qo_repair_wait(r);
	done = (rc == QO_OK || rc == QO_NOENT) && r->did != QO_REPAIR_NOTHING;
	qo_repair_fini(r);
	free(r);
	return done;
}

/* What is wrong with an old entry, its task being as read; false: nothing
 * (the task has moved on since it was scanned). */
static bool
judge_entry(struct shard *s, const struct found *e, const char *key,
    const struct qo_task *t, enum qo_fsck_kind *kind)
{
	*kind = QO_FSCK_ENTRY_DEAD;
	if (qo_ends_entry_dead(s->f->q, key, t))
		return true;
	*kind = QO_FSCK_ENTRY_AHEAD;
	return e->entry.generation > t->generation ||
	    (e->entry.index == QO_INDEX_LEASES &&
		t->status == QO_STATUS_PENDING);
}

static enum qo_rc
check_suspect(struct shard *s, const struct found *e, struct qo_err *err)
{
	char key[QO_KEY_SIZE], detail[128] = "";
	enum qo_fsck_kind kind = QO_FSCK_ENTRY_NO_TASK;
	struct qo_task t;
	enum qo_rc rc;
	bool bad = true;

	(void)qo_key_entry(&s->f->q->layout, &e->entry, key);
	rc = read_task(s->f->q, e->entry.id, &t, err);
	if (rc == QO_OK) {
		bad = judge_entry(s, e, key, &t, &kind);
		snprintf(detail, sizeof(detail), "task is %s, generation %lld",
		    qo_status_name(t.status), (long long)t.generation);
		qo_task_fini(&t);
	}
	if (rc == QO_ERR)
		return QO_OK; /* the object was reported by itself */
	if (rc != QO_OK && rc != QO_NOENT)
		return rc;
	if (bad)
		qo_fsck_report(s->f, kind, key, detail, repair_entry(s, e));
	return QO_OK;
}

/* All of it */

static enum qo_rc
check_shard(struct shard *s, struct qo_err *err)
{
	enum qo_rc rc;
	size_t i;

	/* Tasks first: what is pending has its entry since before that. */
	if ((rc = scan_tasks(s, err)) != QO_OK ||
	    (rc = check_payloads(s, err)) != QO_OK)
		return rc;
	for (i = 0; i < sizeof(all_indexes) / sizeof(all_indexes[0]); i++)
		if ((rc = walk_index(s, all_indexes[i], err)) != QO_OK)
			return rc;
	if (s->nentries > 0)
		qsort(s->entries, s->nentries, sizeof(*s->entries), by_entry);
	if (s->nneeds > 0)
		qsort(s->needs, s->nneeds, sizeof(*s->needs), by_need);
	if ((rc = check_needs(s, err)) != QO_OK)
		return rc;
	pick_suspects(s);
	for (i = 0; rc == QO_OK && i < s->nsuspects; i++)
		rc = check_suspect(s, &s->suspects[i], err);
	return rc;
}

enum qo_rc
qo_fsck_run(struct qo_fsck *f, struct qo_err *err)
{
	int width = f->q->layout.shard_width;
	unsigned i, n = width == 1 ? 16 : 256;
	enum qo_rc rc = QO_OK;
	struct shard s;

	for (i = 0; rc == QO_OK && i < n; i++) {
		memset(&s, 0, sizeof(s));
		s.f = f;
		snprintf(s.name, sizeof(s.name), "%0*x", width, i & 0xff);
		rc = check_shard(&s, err);
		free(s.needs);
		free(s.entries);
		free(s.payloads);
		free(s.suspects);
	}
	if (rc == QO_OK)
		rc = qo_fsck_schedules(f, err);
	qo_queue_flush(f->q);
	return rc;
}
