#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "commit.h"
#include "repair.h"
#include "rules.h"
#include "scenario.h"
#include "xalloc.h"

#define LEASE_MS   60000
#define RECOVER_MS 30000
#define KEYS_MAX   20000

/* What is there */

struct keys {
	char **key;
	size_t n;
};

static void
keys_free(struct keys *k)
{
	size_t i;

	for (i = 0; i < k->n; i++)
		free(k->key[i]);
	free(k->key);
}

/* Every key of the index bucket but those of bells. */
static void
keys_list(struct live_store *s, struct keys *k)
{
	char *last = NULL;
	struct qo_s3_req r;
	bool more = true;
	size_t i;

	k->key = xcalloc(KEYS_MAX, sizeof(*k->key));
	k->n = 0;
	while (more) {
		qo_s3_req_init(&r, QO_S3_LIST, s->q->index_bucket, NULL);
		r.start_after = last;
		ck_assert_msg(qo_s3_wait(s->s3, &r) == QO_S3_OK, "%s",
		    r.res.err.msg);
		more = r.res.list->truncated;
		for (i = 0; i < r.res.list->n; i++) {
			free(last);
			last = xstrdup(r.res.list->entries[i].key);
			if (strncmp(last, "bell/", 5) == 0)
				continue;
			ck_assert_uint_lt(k->n, KEYS_MAX);
			k->key[k->n++] = xstrdup(last);
		}
		qo_s3_req_fini(&r);
	}
	free(last);
}

static bool
read_version(struct live_store *s, const char *id, const char *version,
    struct qo_task *t)
{
	char key[QO_KEY_SIZE];
	struct qo_s3_req r;
	struct qo_err err;
	bool found;

	ck_assert_int_eq(qo_key_task(&s->q->layout, id, key), 0);
	qo_s3_req_init(&r, QO_S3_GET, s->q->bucket, key);
	r.version_id = version;
	qo_s3_wait(s->s3, &r);
	found = r.res.outcome == QO_S3_OK;
	ck_assert_msg(found || r.res.outcome == QO_S3_NOT_FOUND, "%s",
	    r.res.err.msg);
	if (found)
		ck_assert_msg(qo_task_decode(t, id, r.res.body.data,
				  r.res.body.len, &err) == 0,
		    "%s", err.msg);
	qo_s3_req_fini(&r);
	return found;
}

void
rules_look(struct live_store *s, const char *id, struct rules_view *v)
{
	struct qo_entry e;
	struct keys k;
	size_t i;

	memset(v, 0, sizeof(*v));
	keys_list(s, &k);
	for (i = 0; i < k.n; i++) {
		ck_assert_msg(qo_entry_parse(&s->q->layout, k.key[i],
				  strlen(k.key[i]), &e) == 0,
		    "%s is no entry", k.key[i]);
		if (strcmp(e.id, id) != 0)
			continue;
		ck_assert_uint_lt(v->n, RULES_ENTRIES);
		v->entries[v->n++] = e;
	}
	keys_free(&k);
	v->exists = read_version(s, id, NULL, &v->task);
}

void
rules_view_fini(struct rules_view *v)
{
	if (v->exists)
		qo_task_fini(&v->task);
}

size_t
rules_count(const struct rules_view *v, enum qo_index index)
{
	size_t i, n = 0;

	for (i = 0; i < v->n; i++)
		n += v->entries[i].index == index;
	return n;
}

/* Is it as it must be? */

static bool
has_entry(const struct rules_view *v, enum qo_index index, struct qo_wall t)
{
	size_t i;

	for (i = 0; i < v->n; i++)
		if (v->entries[i].index == index &&
		    v->entries[i].generation == v->task.generation &&
		    v->entries[i].minute == qo_minute(t))
			return true;
	return false;
}

static void
check_index(const struct rules_view *v, const char *what)
{
	const struct qo_task *t = &v->task;
	bool ok = true;

	switch (t->status) {
	case QO_STATUS_PENDING:
		ok = has_entry(v, qo_change_ready_index(t->priority),
		    t->available_at);
		break;
	case QO_STATUS_RUNNING:
		ok = has_entry(v, QO_INDEX_LEASES, t->lease_expires_at);
		break;
	case QO_STATUS_FAILED:
		ok = has_entry(v, QO_INDEX_FAILED, t->completed_at);
		break;
	case QO_STATUS_NONE:
	case QO_STATUS_COMPLETED:
	case QO_STATUS_CANCELLED:
	case QO_STATUS_EXPIRED:
	case QO_STATUS_ARCHIVED:
		break;
	}
	ck_assert_msg(ok, "%s: task %s is %s without its entry (R1)", what,
	    t->id, qo_status_name(t->status));
}

/* What the task points to is there. */
static void
check_payload(struct live_store *s, const char *ref, const char *what)
{
	struct qo_s3_req r;

	if (ref == NULL)
		return;
	qo_s3_req_init(&r, QO_S3_HEAD, s->q->bucket, ref);
	ck_assert_msg(qo_s3_wait(s->s3, &r) == QO_S3_OK, "%s: %s", what,
	    r.res.err.msg);
	qo_s3_req_fini(&r);
}

static bool
allowed(enum qo_status from, enum qo_status to)
{
	switch (from) {
	case QO_STATUS_PENDING:
		return to == QO_STATUS_RUNNING || to == QO_STATUS_CANCELLED ||
		    to == QO_STATUS_EXPIRED || to == QO_STATUS_PENDING;
	case QO_STATUS_RUNNING:
		return to != QO_STATUS_ARCHIVED;
	case QO_STATUS_COMPLETED:
	case QO_STATUS_FAILED:
	case QO_STATUS_CANCELLED:
	case QO_STATUS_EXPIRED:
		return to == QO_STATUS_PENDING || to == QO_STATUS_ARCHIVED ||
		    to == from;
	case QO_STATUS_ARCHIVED:
		return qo_status_terminal(to);
	case QO_STATUS_NONE:
		break;
	}
	return false;
}

static bool
same(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* b was made from a. */
static void
check_step(const struct qo_task *a, const struct qo_task *b, const char *what)
{
	bool stays = a->status == QO_STATUS_RUNNING &&
	    b->status == QO_STATUS_RUNNING;
	bool claimed = b->status == QO_STATUS_RUNNING && !stays;

	ck_assert_msg(b->rev == a->rev + 1, "%s: rev %lld after %lld", what,
	    (long long)b->rev, (long long)a->rev);
	ck_assert_msg(allowed(a->status, b->status), "%s: from %s to %s", what,
	    qo_status_name(a->status), qo_status_name(b->status));
	ck_assert_msg(!same(a->updated_by, b->updated_by),
	    "%s: one write id for two writes", what);
	ck_assert_msg(b->attempt == a->attempt + (claimed ? 1 : 0),
	    "%s: attempt %lld after %lld", what, (long long)b->attempt,
	    (long long)a->attempt);
	/* Every change to pending raises it, and nothing lowers it (R2). */
	ck_assert_msg(b->generation >=
		a->generation + (b->status == QO_STATUS_PENDING ? 1 : 0),
	    "%s: generation %lld after %lld", what, (long long)b->generation,
	    (long long)a->generation);
	if (stays) {
		ck_assert_msg(same(a->lease_id, b->lease_id),
		    "%s: a lease was taken from its holder", what);
		ck_assert_msg(b->lease_expires_at.us >= a->lease_expires_at.us,
		    "%s: a lease became shorter (R2)", what);
	}
	ck_assert_msg(!claimed || !a->cancel_requested ||
		a->give_up != QO_STATUS_NONE,
	    "%s: a cancelled task was claimed (R4)", what);
}

static void
check_history(struct live_store *s, const char *id, const char *what)
{
	struct qo_task task[2]; /* the newer one, the older one */
	char key[QO_KEY_SIZE];
	struct qo_s3_req r;
	size_t i, n;

	ck_assert_int_eq(qo_key_task(&s->q->layout, id, key), 0);
	qo_s3_req_init(&r, QO_S3_LIST_VERSIONS, s->q->bucket, NULL);
	r.prefix = key;
	ck_assert_msg(qo_s3_wait(s->s3, &r) == QO_S3_OK, "%s", r.res.err.msg);
	n = r.res.list->n;
	for (i = 0; i < n; i++) {
		ck_assert(read_version(s, id, r.res.list->entries[i].version_id,
		    &task[1]));
		if (i > 0) {
			check_step(&task[1], &task[0], what);
			qo_task_fini(&task[0]);
		}
		task[0] = task[1];
	}
	ck_assert_msg(n == 0 || task[0].rev == 1, "%s: the first rev is %lld",
	    what, n == 0 ? 0 : (long long)task[0].rev);
	if (n > 0)
		qo_task_fini(&task[0]);
	qo_s3_req_fini(&r);
}

void
rules_check(struct live_store *s, const char *id, const char *what)
{
	struct rules_view v;

	rules_look(s, id, &v);
	if (v.exists) {
		check_index(&v, what);
		check_payload(s, v.task.input_ref, what);
		check_payload(s, v.task.output_ref, what);
	}
	rules_view_fini(&v);
	check_history(s, id, what);
}

/* Recovery */

/* The lease under which it runs is that of a dead process. */
static void
repair(struct live_store *s, const struct qo_entry *e)
{
	struct qo_repair r;
	struct qo_task t;
	bool found;

	found = read_version(s, e->id, NULL, &t);
	qo_repair_init(&r, s->q, e, (struct qo_wall){ 0 }, 0);
	r.dead_lease = found ? t.lease_id : NULL;
	qo_repair_wait(&r);
	ck_assert_msg(r.change.rc == QO_OK || r.change.rc == QO_NOENT, "%s",
	    r.change.err.msg);
	qo_repair_fini(&r);
	if (found)
		qo_task_fini(&t);
}

static void
work(struct live_store *s, const struct qo_entry *e)
{
	struct qo_claim cl;

	qo_claim_init(&cl, s->q, e, "recovery");
	qo_claim_take_wait(&cl, LEASE_MS);
	if (cl.held)
		ck_assert_int_eq(qo_commit_wait(&cl, QO_OUTCOME_COMPLETED,
				     &scene_result),
		    QO_OK);
	qo_claim_fini(&cl);
}

/* Looks at every entry once; how many are left to be looked at again? */
static size_t
recover_once(struct live_store *s)
{
	struct qo_entry e;
	struct keys k;
	size_t i, n = 0;

	keys_list(s, &k);
	for (i = 0; i < k.n; i++) {
		ck_assert_int_eq(qo_entry_parse(&s->q->layout, k.key[i],
				     strlen(k.key[i]), &e),
		    0);
		repair(s, &e);
		if (e.index == QO_INDEX_FAILED)
			continue;
		n++;
		if (e.index != QO_INDEX_LEASES)
			work(s, &e);
	}
	qo_queue_flush(s->q);
	keys_free(&k);
	return n;
}

void
rules_recover(struct live_store *s)
{
	struct qo_mono end = qo_mono_add_ms(qo_mono_now(), RECOVER_MS);
	size_t n;

	while ((n = recover_once(s)) > 0) {
		ck_assert_msg(qo_mono_diff_us(qo_mono_now(), end) > 0,
		    "%zu entries stay for ever", n);
		loop_once(s->loop, 20);
	}
}
