/* fsck.h: the schedules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fsck_int.h"
#include "rfc3339.h"
#include "schedule_fire.h"
#include "schedule_list.h"
#include "schedule_ops.h"
#include "xalloc.h"

/* Between two clocks that both follow the store's. */
#define SKEW_US (INT64_C(120) * QO_US_PER_SEC)

struct name {
	char id[QO_NAME_MAX + 1];
};

struct schedules {
	struct qo_fsck *f;
	struct name *firing; /* that may have been left behind */
	size_t nfiring;
};

/* When it is due */

/* What is wrong with its next time, in detail; false: nothing. */
static bool
judge_next(const struct qo_schedule *s, const struct qo_schedule_clock *c,
    struct qo_wall now, char *detail, size_t size)
{
	char next[QO_RFC3339_SIZE], other[QO_RFC3339_SIZE];
	struct qo_wall due;

	if (s->paused || !qo_wall_is_set(s->next_due))
		return false; /* the monitor finds it */
	qo_rfc3339_print(s->next_due, next);
	if (qo_wall_is_set(s->last_due) && s->next_due.us <= s->last_due.us) {
		qo_rfc3339_print(s->last_due, other);
		snprintf(detail, size, "next_due %s, but %s was decided", next,
		    other);
		return true;
	}
	/* It was made of a time that is past by now. */
	now.us += SKEW_US;
	due = qo_schedule_next(c, now);
	if (!qo_wall_is_set(due) || s->next_due.us <= due.us)
		return false;
	qo_rfc3339_print(due, other);
	snprintf(detail, size, "next_due %s, but %s is due before", next,
	    other);
	return true;
}

static void
check_times(struct qo_fsck *f, const char *key, const struct qo_schedule *s)
{
	struct qo_schedule_clock c;
	struct qo_err err = { 0 };
	char detail[128];

	if (qo_schedule_clock_open(&c, s, &err) == -1)
		qo_fsck_report(f, QO_FSCK_SCHEDULE_TIME, key, err.msg, false);
	else if (judge_next(s, &c, qo_queue_now(f->q), detail, sizeof(detail)))
		qo_fsck_report(f, QO_FSCK_SCHEDULE_TIME, key, detail, false);
	qo_schedule_clock_close(&c);
}

/* What was decided and not done */

/* For longer than anybody is at it; one written by hand has no time. */
static bool
is_left(const struct qo_fsck *f, const struct qo_schedule *s)
{
	return s->nfiring > 0 &&
	    (!qo_wall_is_set(s->updated_at) ||
		!qo_fsck_is_young(f, s->updated_at));
}

/* How many of the runs in firing have no task. */
static enum qo_rc
count_missing(struct qo_queue *q, const struct qo_schedule *s, size_t *n,
    struct qo_err *err)
{
	char id[QO_UUID_SIZE], key[QO_KEY_SIZE];
	enum qo_rc rc = QO_OK;
	struct qo_s3_req r;
	size_t i;

	*n = 0;
	for (i = 0; i < s->nfiring && rc == QO_OK; i++) {
		qo_schedule_task_id(q->prefix, s->id, s->firing[i], id);
		(void)qo_key_task(&q->layout, id, key);
		qo_s3_req_init(&r, QO_S3_HEAD, q->bucket, key);
		rc = qo_s3_outcome_rc(qo_s3_wait(q->s3, &r));
		if (rc == QO_NOENT) {
			rc = QO_OK;
			++*n;
		} else if (rc != QO_OK) {
			*err = r.res.err;
		}
		qo_s3_req_fini(&r);
	}
	return rc;
}

/* As a monitor does, and no more than that. */
static bool
finish_runs(struct qo_fsck *f, const char *id)
{
	struct qo_fire *fire;
	enum qo_rc rc;

	if (!f->repair)
		return false;
	fire = xcalloc(1, sizeof(*fire));
	qo_fire_init(fire, f->q, f->submit, id);
	fire->only_decided = true;
	rc = qo_fire_wait(fire);
	qo_fire_fini(fire);
	free(fire);
	return rc == QO_OK;
}

/* Reads it again: a monitor may have been there since. */
static enum qo_rc
check_runs(struct qo_fsck *f, const char *id, struct qo_err *err)
{
	char key[QO_KEY_SIZE], due[QO_RFC3339_SIZE], detail[128];
	struct qo_schedule s;
	size_t missing = 0;
	enum qo_rc rc;

	rc = qo_schedule_read(f->q, id, &s, err);
	if (rc != QO_OK) /* gone or unreadable by now is not this problem */
		return rc == QO_NOENT || rc == QO_ERR ? QO_OK : rc;
	if (is_left(f, &s) &&
	    (rc = count_missing(f->q, &s, &missing, err)) == QO_OK) {
		(void)qo_key_schedule(&f->q->layout, id, key);
		qo_rfc3339_print(s.firing[0], due);
		snprintf(detail, sizeof(detail),
		    "%zu of %zu runs from %s on have no task", missing,
		    s.nfiring, due);
		qo_fsck_report(f, QO_FSCK_SCHEDULE_RUN, key, detail,
		    finish_runs(f, id));
	}
	qo_schedule_fini(&s);
	return rc;
}

/* All of them */

static void
on_record(struct qo_schedule_list *l, const struct qo_schedule *s,
    const char *text, size_t len)
{
	struct schedules *all = l->arg;
	char key[QO_KEY_SIZE];

	(void)text;
	(void)len;
	all->f->schedules++;
	(void)qo_key_schedule(&l->q->layout, s->id, key);
	check_times(all->f, key, s);
	if (!is_left(all->f, s))
		return;
	all->firing = xreallocarray(all->firing, all->nfiring + 1,
	    sizeof(*all->firing));
	strlcpy(all->firing[all->nfiring++].id, s->id, sizeof(struct name));
}

static void
on_corrupt(struct qo_schedule_list *l, const char *key, const char *why)
{
	struct schedules *all = l->arg;

	qo_fsck_report(all->f, QO_FSCK_CORRUPT, key, why, false);
}

enum qo_rc
qo_fsck_schedules(struct qo_fsck *f, struct qo_err *err)
{
	struct schedules all = { .f = f };
	struct qo_schedule_list l = { .q = f->q,
		.record = on_record,
		.corrupt = on_corrupt,
		.arg = &all };
	enum qo_rc rc;
	size_t i;

	rc = qo_schedule_list_read(&l);
	if (rc != QO_OK)
		*err = l.err;
	for (i = 0; i < all.nfiring && rc == QO_OK; i++)
		rc = check_runs(f, all.firing[i].id, err);
	free(all.firing);
	return rc;
}
