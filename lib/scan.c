#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"
#include "xalloc.h"

#define PROGRESS_EVERY 1000

static const char hex[] = "0123456789abcdef";

static void
report(struct qo_scan *s, const char *key, const char *why)
{
	s->ncorrupt++;
	if (s->corrupt != NULL)
		s->corrupt(s, key, why);
}

static void
finish(struct qo_scan *s, enum qo_rc rc, const struct qo_err *err)
{
	size_t i;

	for (i = 0; i < s->nwalks; i++)
		qo_walk_fini(&s->walks[i]);
	s->nwalks = 0;
	s->rc = rc;
	if (err != NULL)
		s->err = *err;
	s->done(s);
}

/* Orders */

static int
cmp_time(struct qo_wall a, struct qo_wall b)
{
	return a.us < b.us ? 1 : a.us > b.us ? -1 : 0;
}

static int
furthest_first(const struct qo_entry *a, const struct qo_entry *b)
{
	bool a_ready = a->index < QO_INDEX_LEASES;
	bool b_ready = b->index < QO_INDEX_LEASES;

	if (a->generation != b->generation)
		return a->generation > b->generation ? -1 : 1;
	if (a_ready && b_ready)
		return 0;
	return (int)b->index - (int)a->index;
}

static int
by_id(const void *pa, const void *pb)
{
	const struct qo_scan_name *a = pa, *b = pb;
	int c = strcmp(a->entry.id, b->entry.id);

	if (c == 0)
		c = furthest_first(&a->entry, &b->entry);
	return c != 0 ? c : cmp_time(a->modified, b->modified);
}

static int
newest_first(const void *pa, const void *pb)
{
	const struct qo_scan_name *a = pa, *b = pb;
	int c = cmp_time(a->modified, b->modified);

	return c != 0 ? c : strcmp(a->entry.id, b->entry.id);
}

/* Each task once. */
static void
sort_names(struct qo_scan *s)
{
	size_t i, n = 0;

	if (s->nnames == 0)
		return;
	qsort(s->names, s->nnames, sizeof(s->names[0]), by_id);
	for (i = 0; i < s->nnames; i++)
		if (n == 0 ||
		    strcmp(s->names[n - 1].entry.id, s->names[i].entry.id) != 0)
			s->names[n++] = s->names[i];
	s->nnames = n;
	qsort(s->names, s->nnames, sizeof(s->names[0]), newest_first);
}

/* Collecting names */

static void
add_name(struct qo_scan *s, const struct qo_scan_name *name)
{
	/* Twice as many as are kept, so that sorting is seldom. */
	if (s->nnames == 2 * QO_SCAN_NAMES_MAX) {
		sort_names(s);
		if (s->nnames > QO_SCAN_NAMES_MAX) {
			s->dropped += s->nnames - QO_SCAN_NAMES_MAX;
			s->nnames = QO_SCAN_NAMES_MAX;
		}
	}
	if (s->nnames == s->cap) {
		s->cap = s->cap == 0 ? 1024 : 2 * s->cap;
		s->names = xreallocarray(s->names, s->cap, sizeof(s->names[0]));
	}
	s->names[s->nnames++] = *name;
}

/* Is this exactly the key of a task? */
static int
parse_task_key(const struct qo_queue *q, const char *key, char id[QO_UUID_SIZE])
{
	char again[QO_KEY_SIZE];
	const char *slash = strrchr(key, '/');

	if (slash == NULL || strlen(slash + 1) != QO_UUID_SIZE - 1 + 5)
		return -1;
	memcpy(id, slash + 1, QO_UUID_SIZE - 1);
	id[QO_UUID_SIZE - 1] = '\0';
	if (qo_key_task(&q->layout, id, again) == -1)
		return -1;
	return strcmp(key, again) == 0 ? 0 : -1;
}

static bool
on_entry(struct qo_walk *w, const struct qo_s3_entry *e)
{
	struct qo_scan *s = w->arg;
	struct qo_scan_name name;

	memset(&name, 0, sizeof(name));
	s->listed++;
	if (s->progress != NULL && s->listed % PROGRESS_EVERY == 0)
		s->progress(s);
	name.modified = e->last_modified;
	if (s->sources & QO_SCAN_TASKS) {
		if (parse_task_key(s->q, e->key, name.entry.id) == -1) {
			report(s, e->key, "this is no key of a task");
			return true;
		}
	} else if (qo_entry_parse(&s->q->layout, e->key, strlen(e->key),
		       &name.entry) == -1) {
		report(s, e->key, "this is no key of an index entry");
		return true;
	}
	add_name(s, &name);
	return true;
}

/* Reading tasks */

static int
on_name(struct qo_fetch *f, size_t i, char key[QO_KEY_SIZE],
    const char **version)
{
	struct qo_scan *s = f->arg;

	(void)version;
	return qo_key_task(&s->q->layout, s->names[i].entry.id, key);
}

int
qo_scan_decode(struct qo_task *t, const char *id, const struct qo_s3_req *r,
    struct qo_err *err)
{
	if (qo_task_decode(t, id, r->res.body.data, r->res.body.len, err) == -1)
		return -1;
	if (!qo_task_read_only(t))
		return 0;
	qo_err_set(err, "task: format: is %lld, this program knows up to %d",
	    (long long)t->format, QO_TASK_FORMAT);
	qo_task_fini(t);
	return -1;
}

static bool
give_task(struct qo_scan *s, size_t i, struct qo_s3_req *r)
{
	struct qo_task t;
	struct qo_err err;
	bool more;

	if (qo_scan_decode(&t, s->names[i].entry.id, r, &err) == -1) {
		report(s, r->key, err.msg);
		return true;
	}
	more = s->task(s, &t, r->res.body.data, r->res.body.len);
	qo_task_fini(&t);
	return more;
}

static bool
on_got(struct qo_fetch *f, size_t i, struct qo_s3_req *r)
{
	struct qo_scan *s = f->arg;

	switch (r->res.outcome) {
	case QO_S3_OK:
		s->read++;
		if (s->progress != NULL && s->read % PROGRESS_EVERY == 0)
			s->progress(s);
		return give_task(s, i, r);
	case QO_S3_NOT_FOUND:
		return true;
	case QO_S3_TOO_LARGE:
		report(s, r->key, "the object is too large for a task");
		return true;
	case QO_S3_NOT_MODIFIED:
	case QO_S3_PRECONDITION:
	case QO_S3_CONFLICT:
	case QO_S3_SLOW_DOWN:
	case QO_S3_DENIED:
	case QO_S3_AMBIGUOUS:
	case QO_S3_UNREACHABLE:
	case QO_S3_BAD_RESPONSE:
	case QO_S3_UNSUPPORTED:
	case QO_S3_WRONG_REGION:
	case QO_S3_REJECTED:
	case QO_S3_OUTCOMES:
		break;
	}
	s->rc = qo_s3_outcome_rc(r->res.outcome);
	s->err = r->res.err;
	return false;
}

static void
on_fetched(struct qo_fetch *f)
{
	struct qo_scan *s = f->arg;

	finish(s, s->rc, NULL);
}

static void
read_tasks(struct qo_scan *s)
{
	s->fetch.n = s->task != NULL ? s->nnames : 0;
	s->fetch.response_max = QO_TASK_LEN_MAX;
	s->fetch.name = on_name;
	s->fetch.got = on_got;
	s->fetch.done = on_fetched;
	s->fetch.arg = s;
	qo_fetch_start(&s->fetch);
}

/* Walking */

static void
on_walked(struct qo_walk *w)
{
	struct qo_scan *s = w->arg;
	char why[64];

	s->walking--;
	if (w->rc != QO_OK) {
		finish(s, w->rc, &w->err);
		return;
	}
	if (s->seq > w->seq)
		s->seq = w->seq;
	if (w->skipped > 0) {
		snprintf(why, sizeof(why), "%zu keys here are not UTF-8",
		    w->skipped);
		report(s, w->prefix, why);
	}
	if (s->walking > 0)
		return;
	sort_names(s);
	read_tasks(s);
}

static struct qo_walk *
add_walk(struct qo_scan *s, const char *bucket)
{
	struct qo_walk *w = &s->walks[s->nwalks++];

	qo_walk_init(w, s->q->s3, bucket);
	w->entry = on_entry;
	w->done = on_walked;
	w->arg = s;
	return w;
}

static void
add_index_walk(struct qo_scan *s, enum qo_index index)
{
	struct qo_walk *w = add_walk(s, s->q->index_bucket);

	qo_key_index(&s->q->layout, index, s->shard, w->prefix);
}

static void
add_ready_walks(struct qo_scan *s)
{
	struct qo_walk *w;

	if (s->shard != NULL) {
		add_index_walk(s, QO_INDEX_READY_HIGH);
		add_index_walk(s, QO_INDEX_READY);
		add_index_walk(s, QO_INDEX_READY_LOW);
		return;
	}
	/* One list sees all three. */
	w = add_walk(s, s->q->index_bucket);
	snprintf(w->prefix, sizeof(w->prefix), "%sready", s->q->prefix);
}

/* One walk per first digit: they go on side by side, and the prefix is right
 * for either width. */
static void
add_task_walks(struct qo_scan *s)
{
	struct qo_walk *w;
	size_t i;

	if (s->shard != NULL) {
		w = add_walk(s, s->q->bucket);
		snprintf(w->prefix, sizeof(w->prefix), "%stasks/%s/",
		    s->q->prefix, s->shard);
		return;
	}
	for (i = 0; i < 16; i++) {
		w = add_walk(s, s->q->bucket);
		snprintf(w->prefix, sizeof(w->prefix), "%stasks/%c",
		    s->q->prefix, hex[i]);
	}
}

void
qo_scan_init(struct qo_scan *s, struct qo_queue *q, unsigned sources)
{
	memset(s, 0, sizeof(*s));
	s->q = q;
	s->sources = sources;
	qo_fetch_init(&s->fetch, q->loop, q->s3, q->bucket);
}

void
qo_scan_fini(struct qo_scan *s)
{
	size_t i;

	for (i = 0; i < s->nwalks; i++)
		qo_walk_fini(&s->walks[i]);
	s->nwalks = 0;
	qo_fetch_fini(&s->fetch);
	free(s->names);
	s->names = NULL;
}

bool
qo_scan_shard_valid(const struct qo_queue *q, const char *shard)
{
	char key[QO_KEY_SIZE];

	return qo_key_index(&q->layout, QO_INDEX_READY, shard, key) == 0;
}

void
qo_scan_start(struct qo_scan *s)
{
	size_t i;

	s->nnames = s->listed = s->dropped = s->read = s->ncorrupt = 0;
	s->rc = QO_OK;
	s->seq = INT64_MAX;
	qo_err_reset(&s->err);
	if (s->sources & QO_SCAN_TASKS)
		add_task_walks(s);
	if (s->sources & QO_SCAN_READY)
		add_ready_walks(s);
	if (s->sources & QO_SCAN_LEASES)
		add_index_walk(s, QO_INDEX_LEASES);
	if (s->sources & QO_SCAN_FAILED)
		add_index_walk(s, QO_INDEX_FAILED);
	s->walking = s->nwalks;
	for (i = 0; i < s->nwalks; i++)
		qo_walk_start(&s->walks[i]);
}

static void
on_waited(struct qo_scan *s)
{
	s->ended = true;
}

enum qo_rc
qo_scan_wait(struct qo_scan *s)
{
	s->ended = false;
	s->done = on_waited;
	qo_scan_start(s);
	while (!s->ended)
		loop_once(s->q->loop, -1);
	return s->rc;
}
