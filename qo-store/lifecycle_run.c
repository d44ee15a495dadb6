#include "clock.h"
#include "lifecycle.h"
#include "lifecycle_run.h"
#include "log.h"
#include "xalloc.h"

#define STEP_ROWS 500

/* A rule that is to be carried out in this pass. */
struct job {
	struct job *next;
	int64_t bucket_id;
	char bucket[64];
	char *prefix;
	struct db_lifecycle what;
};

struct lifecycle_run {
	struct loop *loop;
	struct db *db;
	int64_t interval_ms, day_ms;
	struct loop_timer timer;
	struct job *jobs; /* the first is under way */
	struct job **last;
	struct db_op op;
	char *after;
	int64_t removed;
	bool busy, stopped;
};

static void step(struct lifecycle_run *lr);

static void
job_free(struct job *j)
{
	free(j->prefix);
	free(j);
}

/* Cut-off time for an age in days. */
static int64_t
before(const struct lifecycle_run *lr, int64_t days)
{
	return days == 0
	    ? 0
	    : qo_wall_local().us - days * lr->day_ms * QO_US_PER_MS;
}

static void
add_job(struct lifecycle_run *lr, const struct db_bucket *b,
    const struct lifecycle_rule *r)
{
	struct job *j;

	j = xcalloc(1, sizeof(*j));
	j->bucket_id = b->id;
	strlcpy(j->bucket, b->name, sizeof(j->bucket));
	j->prefix = xstrdup(r->prefix);
	j->what.prefix = j->prefix;
	j->what.noncurrent_before_us = before(lr, r->noncurrent_days);
	j->what.current_before_us = before(lr, r->days);
	/* Past its date, every object is old enough. */
	if (r->date_us > 0 && qo_wall_local().us >= r->date_us)
		j->what.current_before_us = qo_wall_local().us;
	j->what.expired_markers = r->expired_markers;
	j->what.uploads_before_us = before(lr, r->upload_days);
	j->what.max = STEP_ROWS;
	*lr->last = j;
	lr->last = &j->next;
}

/* What a walk over the buckets is for. */
struct walk {
	struct lifecycle_run *lr;
	bool any;
	bool collect;
};

static bool
on_bucket(const struct db_bucket *b, void *arg)
{
	struct walk *w = arg;
	struct lifecycle *lc;
	size_t i;

	if (b->lifecycle == NULL)
		return true;
	w->any = true;
	if (!w->collect)
		return false;
	lc = lifecycle_parse(b->lifecycle, strlen(b->lifecycle), NULL);
	if (lc == NULL) {
		log_event(LOG_LVL_WARN, "lifecycle rules can not be read",
		    "bucket", b->name, NULL);
		return true;
	}
	for (i = 0; i < lc->n; i++)
		if (lc->rules[i].enabled)
			add_job(w->lr, b, &lc->rules[i]);
	lifecycle_free(lc);
	return true;
}

static bool
walk_buckets(struct lifecycle_run *lr, bool collect)
{
	struct walk w = { lr, false, collect };

	if (db_bucket_each(lr->db, on_bucket, &w) != DB_OK)
		return true; /* not known: ask again later */
	return w.any;
}

static void
next_job(struct lifecycle_run *lr)
{
	struct job *j = lr->jobs;

	if (lr->removed > 0)
		log_event(LOG_LVL_INFO, "lifecycle", "bucket", j->bucket,
		    "prefix", j->prefix, "removed", LOG_NUM(lr->removed), NULL);
	lr->removed = 0;
	lr->jobs = j->next;
	if (lr->jobs == NULL)
		lr->last = &lr->jobs;
	job_free(j);
}

static void
on_done(struct db_op *op)
{
	struct lifecycle_run *lr = op->arg;

	lr->busy = false;
	lr->removed += op->lc.removed;
	free(lr->after);
	lr->after = op->lc.next;
	if (op->rc != DB_OK) {
		log_event(LOG_LVL_WARN, "lifecycle step failed", "bucket",
		    lr->jobs->bucket, NULL);
		free(lr->after);
		lr->after = NULL;
	}
	if (lr->after == NULL)
		next_job(lr);
	step(lr);
}

static void
step(struct lifecycle_run *lr)
{
	if (lr->stopped || lr->jobs == NULL)
		return;
	memset(&lr->op, 0, sizeof(lr->op));
	lr->op.kind = DB_OP_LIFECYCLE;
	lr->op.done = on_done;
	lr->op.arg = lr;
	lr->op.bucket_id = lr->jobs->bucket_id;
	lr->op.copy_fd = -1;
	lr->op.lc = lr->jobs->what;
	lr->op.lc.after = lr->after;
	lr->busy = true;
	db_submit(lr->db, &lr->op);
}

static void
on_timer(struct loop_timer *t)
{
	struct lifecycle_run *lr = t->arg;

	/* A pass that is still going on is not started twice. */
	if (lr->jobs != NULL || walk_buckets(lr, true))
		loop_timer_set_ms(lr->loop, &lr->timer, lr->interval_ms,
		    on_timer, lr);
	if (!lr->busy)
		step(lr);
}

struct lifecycle_run *
lifecycle_run_new(struct loop *l, struct db *db, int64_t interval_ms,
    int64_t day_ms)
{
	struct lifecycle_run *lr;

	lr = xcalloc(1, sizeof(*lr));
	lr->loop = l;
	lr->db = db;
	lr->interval_ms = interval_ms;
	lr->day_ms = day_ms;
	lr->last = &lr->jobs;
	if (walk_buckets(lr, false))
		lifecycle_run_wake(lr);
	return lr;
}

void
lifecycle_run_wake(struct lifecycle_run *lr)
{
	if (!lr->stopped && !loop_timer_is_set(&lr->timer))
		loop_timer_set_ms(lr->loop, &lr->timer, lr->interval_ms,
		    on_timer, lr);
}

void
lifecycle_run_stop(struct lifecycle_run *lr)
{
	lr->stopped = true;
	loop_timer_del(lr->loop, &lr->timer);
}

void
lifecycle_run_free(struct lifecycle_run *lr)
{
	struct job *j;

	if (lr == NULL)
		return;
	while ((j = lr->jobs) != NULL) {
		lr->jobs = j->next;
		job_free(j);
	}
	free(lr->after);
	free(lr);
}
