/*
 * The operations on tasks, on the real store: what each leaves in the bucket.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin.h"
#include "commit.h"
#include "live_store.h"
#include "repair.h"
#include "submit.h"
#include "xalloc.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))
#define LEASE_MS  60000

static struct live_store st;

static void
setup(void)
{
	live_store_start(&st);
}

static void
teardown(void)
{
	live_store_stop(&st);
}

/* Submits and gives the id. */
static void
submit(const struct qo_submission *sub, char id[QO_UUID_SIZE])
{
	struct qo_submit s;
	struct qo_err err;

	ck_assert_msg(qo_submission_check(sub, &err) == 0, "%s", err.msg);
	qo_submit_init(&s, st.q, sub);
	ck_assert_msg(qo_submit_wait(&s) == QO_OK, "%s", s.change.err.msg);
	memcpy(id, s.change.id, QO_UUID_SIZE);
	qo_submit_fini(&s);
}

static struct qo_submission
plain(void)
{
	static const char input[] = "{\"n\":1.50}";
	struct qo_submission sub;

	qo_submission_init(&sub);
	sub.task_type = "mail.send";
	sub.input = (struct qo_json){ input, strlen(input) };
	return sub;
}

/* The one entry of the index under this prefix. */
static struct qo_entry
only_entry(const char *prefix)
{
	char key[QO_KEY_SIZE];
	struct qo_entry e;

	ck_assert_uint_eq(live_store_count(&st, prefix, key), 1);
	ck_assert_int_eq(qo_entry_parse(&st.q->layout, key, strlen(key), &e),
	    0);
	return e;
}

static enum qo_rc
take(struct qo_claim *cl, const char *worker)
{
	struct qo_entry e = only_entry("ready/");

	qo_claim_init(cl, st.q, &e, worker);
	return qo_claim_take_wait(cl, LEASE_MS);
}

/* A task that is held, ready for an end. */
static void
held(struct qo_claim *cl, char id[QO_UUID_SIZE])
{
	struct qo_submission sub = plain();

	submit(&sub, id);
	ck_assert_int_eq(take(cl, "w1"), QO_OK);
	ck_assert(cl->held);
	qo_queue_flush(st.q);
}

/* An entry as a crashed writer leaves it. */
static void
put_entry(enum qo_index index, const char *id, int64_t generation)
{
	char key[QO_KEY_SIZE];
	struct qo_s3_req r;
	struct qo_entry e;

	qo_entry_make(&e, index, qo_queue_now(st.q), id, generation);
	ck_assert_int_eq(qo_key_entry(&st.q->layout, &e, key), 0);
	qo_s3_req_init(&r, QO_S3_PUT, "qo-index", key);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
}

START_TEST(test_submit)
{
	struct qo_submission sub = plain();
	struct qo_entry e;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	submit(&sub, id);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_PENDING);
	ck_assert_str_eq(t.task_type, "mail.send");
	ck_assert_uint_eq(t.input.len, 10);
	ck_assert_int_eq(memcmp(t.input.p, "{\"n\":1.50}", 10), 0);
	ck_assert_int_eq(t.rev, 1);
	ck_assert_int_eq(t.generation, 1);
	ck_assert_int_eq(t.attempt, 0);
	ck_assert_int_eq(t.max_retries, 3);
	e = only_entry("ready/");
	ck_assert_str_eq(e.id, id);
	ck_assert_str_eq(e.nonce, "");
	ck_assert_int_eq(e.minute, qo_minute(t.available_at));
	qo_task_fini(&t);
}
END_TEST

START_TEST(test_submit_with_key)
{
	static const char other[] = "{\"n\":2}";
	struct qo_submission sub = plain();
	struct qo_submit s;
	char id[QO_UUID_SIZE], again[QO_UUID_SIZE];

	sub.idempotency_key = "order 17";
	submit(&sub, id);
	submit(&sub, again);
	ck_assert_str_eq(id, again);
	ck_assert_uint_eq(live_store_count(&st, "ready/", NULL), 1);
	sub.input = (struct qo_json){ other, strlen(other) };
	qo_submit_init(&s, st.q, &sub);
	ck_assert_int_eq(qo_submit_wait(&s), QO_LOST);
	ck_assert_ptr_nonnull(strstr(s.change.err.msg, "conflict"));
	ck_assert_ptr_nonnull(strstr(s.change.err.msg, id));
	qo_submit_fini(&s);
	/* Nothing was left behind by the one that was refused. */
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 1);
}
END_TEST

START_TEST(test_submit_large)
{
	struct qo_submission sub = plain();
	struct qo_s3_req r;
	struct qo_task t;
	char id[QO_UUID_SIZE];
	char *big;

	big = xmalloc(10002);
	memset(big, 'x', 10002);
	big[0] = big[10001] = '"';
	sub.input = (struct qo_json){ big, 10002 };
	submit(&sub, id);
	live_store_task(&st, id, &t);
	ck_assert_ptr_null(t.input.p);
	ck_assert_ptr_nonnull(t.input_ref);
	ck_assert_ptr_nonnull(t.input_sha256);
	qo_s3_req_init(&r, QO_S3_GET, "qo", t.input_ref);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	ck_assert_uint_eq(r.res.body.len, 10002);
	ck_assert_int_eq(memcmp(r.res.body.data, big, 10002), 0);
	qo_s3_req_fini(&r);
	qo_task_fini(&t);
	free(big);
}
END_TEST

START_TEST(test_submit_priority)
{
	struct qo_submission sub = plain();
	char id[QO_UUID_SIZE];

	sub.priority = QO_PRIORITY_HIGH;
	submit(&sub, id);
	ck_assert_uint_eq(live_store_count(&st, "ready-high/", NULL), 1);
	sub.priority = QO_PRIORITY_LOW;
	submit(&sub, id);
	ck_assert_uint_eq(live_store_count(&st, "ready_low/", NULL), 1);
}
END_TEST

START_TEST(test_submit_bad)
{
	struct qo_submission sub = plain();
	struct qo_submit s;
	struct qo_err err;

	sub.task_type = "no spaces";
	ck_assert_int_eq(qo_submission_check(&sub, &err), -1);
	sub.task_type = "workflow.step:x";
	ck_assert_int_eq(qo_submission_check(&sub, &err), -1);
	sub = plain();
	sub.timeout_seconds = 0;
	ck_assert_int_eq(qo_submission_check(&sub, &err), -1);
	sub = plain();
	sub.max_retries = -1;
	ck_assert_int_eq(qo_submission_check(&sub, &err), -1);
	sub = plain();
	sub.delay_ms = 60000;
	sub.expires_ms = 1000;
	qo_submit_init(&s, st.q, &sub);
	ck_assert_int_eq(qo_submit_wait(&s), QO_ERR);
	qo_submit_fini(&s);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 0);
}
END_TEST

START_TEST(test_claim)
{
	struct qo_submission sub = plain();
	struct qo_claim cl, late;
	struct qo_entry ready, lease;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	submit(&sub, id);
	ready = only_entry("ready/");
	ck_assert_int_eq(take(&cl, "w1"), QO_OK);
	ck_assert(cl.held);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_RUNNING);
	ck_assert_str_eq(t.lease_id, cl.lease_id);
	ck_assert_str_eq(t.worker_id, "w1");
	ck_assert_int_eq(t.attempt, 1);
	ck_assert_int_eq(t.rev, 2);
	ck_assert_int_eq(t.generation, 1);
	lease = only_entry("leases/");
	ck_assert_int_eq(lease.minute, qo_minute(t.lease_expires_at));
	ck_assert_int_eq(lease.generation, 1);
	ck_assert_str_ne(lease.nonce, "");
	qo_task_fini(&t);
	/* The fence lies before the end of the lease, by our own clock. */
	ck_assert_int_lt(qo_mono_diff_us(qo_mono_now(), cl.fence),
	    (LEASE_MS - QO_FENCE_MARGIN_MS) * QO_US_PER_MS);
	ck_assert_int_gt(qo_mono_diff_us(qo_mono_now(), cl.fence),
	    (LEASE_MS / 2) * QO_US_PER_MS);
	/* Another who still sees the entry comes too late. */
	qo_claim_init(&late, st.q, &ready, "w2");
	ck_assert_int_eq(qo_claim_take_wait(&late, LEASE_MS), QO_LOST);
	ck_assert(!late.held);
	qo_claim_fini(&late);
	qo_queue_flush(st.q);
	ck_assert_uint_eq(live_store_count(&st, "ready/", NULL), 0);
	qo_claim_fini(&cl);
}
END_TEST

START_TEST(test_claim_not_due)
{
	struct qo_submission sub = plain();
	struct qo_claim cl;
	char id[QO_UUID_SIZE];

	sub.delay_ms = 3600000;
	submit(&sub, id);
	ck_assert_int_eq(take(&cl, "w1"), QO_AGAIN);
	ck_assert(!cl.held);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_PENDING);
	qo_claim_fini(&cl);
	qo_queue_flush(st.q);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 1);
}
END_TEST

static bool
serves_nothing(const char *type, void *arg)
{
	(void)type;
	(void)arg;
	return false;
}

START_TEST(test_claim_unknown_type)
{
	struct qo_submission sub = plain();
	struct qo_entry e;
	struct qo_claim cl;
	char id[QO_UUID_SIZE];

	submit(&sub, id);
	e = only_entry("ready/");
	qo_claim_init(&cl, st.q, &e, "w1");
	cl.serves = serves_nothing;
	ck_assert_int_eq(qo_claim_take_wait(&cl, LEASE_MS), QO_DENIED);
	qo_claim_fini(&cl);
	qo_queue_flush(st.q);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_PENDING);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 1);
}
END_TEST

START_TEST(test_claim_expired)
{
	struct qo_submission sub = plain();
	struct qo_claim cl;
	char id[QO_UUID_SIZE];

	sub.expires_ms = 1;
	submit(&sub, id);
	/* Server time has a grain of a second. */
	do {
		loop_once(st.loop, 20);
		ck_assert_int_eq(take(&cl, "w1"), QO_OK);
		qo_claim_fini(&cl);
	} while (live_store_status(&st, id) == QO_STATUS_RUNNING);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_EXPIRED);
	ck_assert(!cl.held);
	qo_queue_flush(st.q);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 0);
}
END_TEST

START_TEST(test_renew)
{
	static const char half[] = "{\"percent\":50}";
	struct qo_claim cl;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	held(&cl, id);
	cl.progress = (struct qo_json){ half, strlen(half) };
	ck_assert_int_eq(qo_claim_renew_wait(&cl, 300000), QO_OK);
	ck_assert(cl.held);
	qo_queue_flush(st.q);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.rev, 3);
	ck_assert_uint_eq(t.progress.len, strlen(half));
	ck_assert_int_eq(only_entry("leases/").minute,
	    qo_minute(t.lease_expires_at));
	qo_task_fini(&t);
	/* A shorter one never takes anything away (R2). */
	ck_assert_int_eq(qo_claim_renew_wait(&cl, 1000), QO_OK);
	ck_assert_int_gt(qo_mono_diff_us(qo_mono_now(), cl.fence),
	    250000 * QO_US_PER_MS);
	qo_claim_fini(&cl);
}
END_TEST

static const struct {
	const char *name;
	enum qo_outcome outcome;
	enum qo_status status;
	int64_t generation, retries, reschedules;
	const char *index; /* where its entry is; NULL: none */
} ends[] = {
	{ "complete", QO_OUTCOME_COMPLETED, QO_STATUS_COMPLETED, 1, 0, 0,
	    NULL },
	{ "retry", QO_OUTCOME_RETRY, QO_STATUS_PENDING, 2, 1, 0, "ready/" },
	{ "fail", QO_OUTCOME_FAILED, QO_STATUS_FAILED, 1, 0, 0, "failed/" },
	{ "reschedule", QO_OUTCOME_RESCHEDULE, QO_STATUS_PENDING, 2, 0, 1,
	    "ready/" },
	{ "requeue", QO_OUTCOME_REQUEUE, QO_STATUS_PENDING, 2, 0, 0, "ready/" },
	{ "cancelled", QO_OUTCOME_CANCELLED, QO_STATUS_CANCELLED, 1, 0, 0,
	    NULL },
};

static const struct qo_result result = {
	{ "[1, 2]", 6 },
	{ "exit", "exit status 1" },
	90000,
};

START_TEST(test_commit)
{
	struct qo_claim cl;
	struct qo_entry e;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	held(&cl, id);
	ck_assert_int_eq(qo_commit_wait(&cl, ends[_i].outcome, &result), QO_OK);
	ck_assert(!cl.held);
	qo_queue_flush(st.q);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, ends[_i].status);
	ck_assert_int_eq(t.rev, 3);
	ck_assert_int_eq(t.generation, ends[_i].generation);
	ck_assert_int_eq(t.retry_count, ends[_i].retries);
	ck_assert_int_eq(t.reschedule_count, ends[_i].reschedules);
	ck_assert_int_eq(qo_wall_is_set(t.completed_at),
	    qo_status_terminal(t.status));
	ck_assert(!qo_wall_is_set(t.lease_expires_at));
	ck_assert_uint_eq(live_store_count(&st, "", NULL),
	    ends[_i].index != NULL ? 1 : 0);
	if (ends[_i].index != NULL) {
		e = only_entry(ends[_i].index);
		ck_assert_int_eq(e.generation, t.generation);
		ck_assert_int_eq(e.minute,
		    qo_minute(t.status == QO_STATUS_FAILED ? t.completed_at
							   : t.available_at));
	}
	if (ends[_i].outcome == QO_OUTCOME_COMPLETED)
		ck_assert_int_eq(memcmp(t.output.p, "[1, 2]", 6), 0);
	/* Both are told when, and go by that. */
	if (ends[_i].outcome == QO_OUTCOME_RETRY ||
	    ends[_i].outcome == QO_OUTCOME_RESCHEDULE)
		ck_assert_int_eq((t.available_at.us - t.updated_at.us +
				     QO_US_PER_SEC / 2) /
			QO_US_PER_SEC,
		    90);
	if (ends[_i].outcome == QO_OUTCOME_RETRY ||
	    ends[_i].outcome == QO_OUTCOME_FAILED) {
		ck_assert_str_eq(t.last_error, "exit status 1");
		ck_assert_uint_eq(t.nerrors, 1);
		ck_assert_str_eq(t.errors[0].lease_id, cl.lease_id);
	}
	qo_task_fini(&t);
	qo_claim_fini(&cl);
}
END_TEST

START_TEST(test_retries_used_up)
{
	struct qo_submission sub = plain();
	struct qo_result res = result;
	struct qo_claim cl;
	char id[QO_UUID_SIZE];
	int i;

	res.delay_ms = -1; /* by the policy */
	sub.max_retries = 2;
	sub.retry_policy.initial_interval_ms = 0;
	submit(&sub, id);
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(take(&cl, "w1"), QO_OK);
		ck_assert_int_eq(qo_commit_wait(&cl, QO_OUTCOME_RETRY, &res),
		    QO_OK);
		qo_claim_fini(&cl);
		qo_queue_flush(st.q);
	}
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_FAILED);
	ck_assert_uint_eq(live_store_count(&st, "ready", NULL), 0);
	ck_assert_int_eq(only_entry("failed/").generation, 3);
}
END_TEST

START_TEST(test_large_output)
{
	struct qo_claim cl;
	struct qo_result res = result;
	struct qo_task t;
	char id[QO_UUID_SIZE];
	char *big;

	big = xmalloc(10000);
	memset(big, '1', 10000);
	held(&cl, id);
	res.output = (struct qo_json){ big, 10000 };
	ck_assert_int_eq(qo_commit_wait(&cl, QO_OUTCOME_COMPLETED, &res),
	    QO_OK);
	live_store_task(&st, id, &t);
	ck_assert_ptr_null(t.output.p);
	/* The attempt is in the name: no stale attempt can overwrite it. */
	ck_assert_ptr_nonnull(strstr(t.output_ref, "/1.output.json"));
	qo_task_fini(&t);
	qo_claim_fini(&cl);
	free(big);
}
END_TEST

static enum qo_rc
admin(enum qo_admin_op op, const char *id)
{
	struct qo_admin a;
	enum qo_rc rc;

	qo_admin_init(&a, st.q, op, id);
	a.who = "me";
	a.reason = "why not";
	rc = qo_admin_wait(&a);
	if (rc != QO_OK)
		ck_assert_ptr_nonnull(strstr(a.change.err.msg, id));
	qo_admin_fini(&a);
	qo_queue_flush(st.q);
	return rc;
}

START_TEST(test_cancel_pending)
{
	struct qo_submission sub = plain();
	struct qo_claim cl;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	submit(&sub, id);
	ck_assert_int_eq(admin(QO_ADMIN_CANCEL, id), QO_OK);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_CANCELLED);
	ck_assert_str_eq(t.cancelled_by, "me");
	ck_assert_str_eq(t.cancel_reason, "why not");
	qo_task_fini(&t);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 0);
	/* Twice is fine. */
	ck_assert_int_eq(admin(QO_ADMIN_CANCEL, id), QO_OK);
	/* Whoever meets an entry of it removes it. */
	put_entry(QO_INDEX_READY, id, 1);
	ck_assert_int_eq(take(&cl, "w1"), QO_LOST);
	qo_claim_fini(&cl);
	qo_queue_flush(st.q);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 0);
}
END_TEST

START_TEST(test_cancel_running)
{
	struct qo_claim cl;
	char id[QO_UUID_SIZE];

	held(&cl, id);
	ck_assert_int_eq(admin(QO_ADMIN_CANCEL, id), QO_OK);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_RUNNING);
	ck_assert_uint_eq(live_store_count(&st, "bell/w1/", NULL), 1);
	ck_assert_int_eq(qo_claim_renew_wait(&cl, LEASE_MS), QO_OK);
	ck_assert(cl.held);
	ck_assert(cl.cancel_seen);
	/* Asked to give it back, it is cancelled and not pending (R6). */
	ck_assert_int_eq(qo_commit_wait(&cl, QO_OUTCOME_REQUEUE, &result),
	    QO_OK);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_CANCELLED);
	ck_assert_uint_eq(live_store_count(&st, "ready", NULL), 0);
	qo_claim_fini(&cl);
}
END_TEST

START_TEST(test_replay_archive)
{
	struct qo_claim cl;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	held(&cl, id);
	ck_assert_int_eq(admin(QO_ADMIN_REPLAY, id), QO_LOST);
	ck_assert_int_eq(admin(QO_ADMIN_ARCHIVE, id), QO_LOST);
	ck_assert_int_eq(qo_commit_wait(&cl, QO_OUTCOME_FAILED, &result),
	    QO_OK);
	qo_claim_fini(&cl);
	qo_queue_flush(st.q);
	only_entry("failed/");
	ck_assert_int_eq(admin(QO_ADMIN_ARCHIVE, id), QO_OK);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_ARCHIVED);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 0);
	ck_assert_int_eq(admin(QO_ADMIN_REPLAY, id), QO_LOST);
	ck_assert_int_eq(admin(QO_ADMIN_UNARCHIVE, id), QO_OK);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_FAILED);
	only_entry("failed/");
	ck_assert_int_eq(admin(QO_ADMIN_REPLAY, id), QO_OK);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_PENDING);
	ck_assert_int_eq(t.generation, 2);
	ck_assert_int_eq(t.retry_count, 0);
	ck_assert(!qo_wall_is_set(t.completed_at));
	qo_task_fini(&t);
	ck_assert_uint_eq(live_store_count(&st, "failed/", NULL), 0);
	ck_assert_int_eq(only_entry("ready/").generation, 2);
}
END_TEST

/* Repairs */

static enum qo_repair_did
repair(const char *prefix, int64_t grace_ms, const char *dead_lease)
{
	struct qo_entry e = only_entry(prefix);
	struct qo_repair r;
	enum qo_repair_did did;
	struct qo_wall old = { 0 };

	qo_repair_init(&r, st.q, &e, old, grace_ms);
	if (grace_ms > 0)
		r.entry_modified = qo_queue_now(st.q);
	r.dead_lease = dead_lease;
	qo_repair_wait(&r);
	did = r.did;
	qo_repair_fini(&r);
	qo_queue_flush(st.q);
	return did;
}

START_TEST(test_reclaim)
{
	struct qo_claim cl;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	held(&cl, id);
	ck_assert_int_eq(repair("leases/", 0, NULL), QO_REPAIR_NOTHING);
	ck_assert_int_eq(repair("leases/", 0, "another lease"),
	    QO_REPAIR_NOTHING);
	ck_assert_int_eq(repair("leases/", 0, cl.lease_id),
	    QO_REPAIR_RECLAIMED);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_PENDING);
	ck_assert_int_eq(t.retry_count, 1);
	ck_assert_str_eq(t.errors[0].kind, "worker_died");
	qo_task_fini(&t);
	ck_assert_uint_eq(live_store_count(&st, "leases/", NULL), 0);
	/* The one that was taken for dead wakes up: nothing of it counts. */
	ck_assert_int_eq(qo_commit_wait(&cl, QO_OUTCOME_COMPLETED, &result),
	    QO_LOST);
	ck_assert_ptr_nonnull(strstr(cl.change.err.msg, "dropped"));
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_PENDING);
	qo_claim_fini(&cl);
}
END_TEST

static enum qo_repair_did
bury(const char *id, int64_t generation, const char *lease_id, enum qo_rc want)
{
	struct qo_repair r;
	enum qo_repair_did did;

	qo_repair_init_lease(&r, st.q, id, generation, lease_id);
	ck_assert_int_eq(qo_repair_wait(&r), want);
	did = r.did;
	qo_repair_fini(&r);
	return did;
}

/* What the scoreboard knows of a dead process: a task and a lease. */
START_TEST(test_dead_lease)
{
	struct qo_submission sub = plain();
	struct qo_claim cl;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	submit(&sub, id);
	/* Its claim may be on its way; not one of an earlier generation. */
	ck_assert_int_eq(bury(id, 1, "lease", QO_OK), QO_REPAIR_UNDECIDED);
	ck_assert_int_eq(bury(id, 0, "lease", QO_OK), QO_REPAIR_NOTHING);
	ck_assert_int_eq(take(&cl, "w1"), QO_OK);
	ck_assert_int_eq(bury(id, 1, "another", QO_OK), QO_REPAIR_NOTHING);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_RUNNING);
	ck_assert_int_eq(bury(id, 1, cl.lease_id, QO_OK), QO_REPAIR_RECLAIMED);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_PENDING);
	ck_assert_int_eq(t.retry_count, 1);
	ck_assert_str_eq(t.errors[0].kind, "worker_died");
	ck_assert_str_eq(t.errors[0].lease_id, cl.lease_id);
	qo_task_fini(&t);
	ck_assert_int_eq(bury(id, 1, cl.lease_id, QO_OK), QO_REPAIR_NOTHING);
	qo_claim_fini(&cl);
	/* A task that is gone: no index entry is thought of. */
	ck_assert_int_eq(bury("0badcafe-0000-4000-8000-000000000000", 1, "l",
			     QO_NOENT),
	    QO_REPAIR_NOTHING);
	qo_queue_flush(st.q);
}
END_TEST

START_TEST(test_lease_runs_out)
{
	struct qo_submission sub = plain();
	struct qo_entry e;
	struct qo_claim cl;
	char id[QO_UUID_SIZE];

	submit(&sub, id);
	e = only_entry("ready/");
	qo_claim_init(&cl, st.q, &e, "w1");
	ck_assert_int_eq(qo_claim_take_wait(&cl, 1), QO_OK);
	qo_queue_flush(st.q);
	/* Only when the store's clock is certainly past it. */
	while (repair("leases/", 0, NULL) == QO_REPAIR_NOTHING)
		loop_once(st.loop, 50);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_PENDING);
	ck_assert_int_eq(qo_claim_renew_wait(&cl, LEASE_MS), QO_LOST);
	ck_assert(!cl.held);
	qo_claim_fini(&cl);
}
END_TEST

/* A task as another program may have written it, with its ready entry. */
static void
put_task(const struct qo_task *t)
{
	char key[QO_KEY_SIZE];
	struct qo_s3_req r;
	struct qo_err err;
	struct buf b;

	put_entry(qo_change_ready_index(t->priority), t->id, t->generation);
	buf_init(&b, QO_TASK_LEN_MAX);
	ck_assert_msg(qo_task_encode(t, &b, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(qo_key_task(&st.q->layout, t->id, key), 0);
	qo_s3_req_init(&r, QO_S3_PUT, st.q->bucket, key);
	r.body = b.data;
	r.body_len = b.len;
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
	buf_fini(&b);
}

/* A pending task for put_task; its cancel has been asked for. */
static struct qo_task
cancelled_task(const char *id)
{
	struct qo_task t;

	qo_task_init(&t);
	t.id = id;
	t.shard = qo_task_dup(&t, (char[]){ id[0], '\0' });
	t.task_type = "mail.send";
	t.status = QO_STATUS_PENDING;
	t.generation = t.rev = 1;
	t.available_at = t.created_at = t.updated_at = qo_queue_now(st.q);
	t.updated_by = "somebody";
	t.cancel_requested = true;
	return t;
}

/* It is never claimed: it becomes cancelled (R4). */
START_TEST(test_claim_cancelled)
{
	char id[QO_UUID_SIZE];
	struct qo_claim cl;
	struct qo_task t;

	qo_uuid_v4(id);
	t = cancelled_task(id);
	put_task(&t);
	qo_task_fini(&t);
	ck_assert_int_eq(take(&cl, "w1"), QO_OK);
	ck_assert(!cl.held);
	qo_claim_fini(&cl);
	qo_queue_flush(st.q);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_CANCELLED);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 0);
}
END_TEST

/* A workflow's task that has been given up waits for somebody who advances
 * the workflow: it can be claimed, and nobody deletes its entry (R7). */
START_TEST(test_claim_given_up)
{
	struct qo_wall long_ago = { 1 };
	char id[QO_UUID_SIZE];
	struct qo_claim cl;
	struct qo_task t;

	qo_uuid_v4(id);
	t = cancelled_task(id);
	t.workflow_id = "w";
	t.give_up = QO_STATUS_CANCELLED;
	t.available_at = long_ago;
	t.expires_at = (struct qo_wall){ 2 };
	put_task(&t);
	qo_task_fini(&t);
	ck_assert_int_eq(repair("ready/", 0, NULL), QO_REPAIR_NOTHING);
	ck_assert_uint_eq(live_store_count(&st, "ready/", NULL), 1);
	ck_assert_int_eq(take(&cl, "w1"), QO_OK);
	ck_assert(cl.held);
	ck_assert_int_eq(cl.change.task.give_up, QO_STATUS_CANCELLED);
	qo_claim_fini(&cl);
}
END_TEST

START_TEST(test_orphan_without_task)
{
	char id[QO_UUID_SIZE];

	qo_uuid_v4(id);
	put_entry(QO_INDEX_READY, id, 1);
	ck_assert_int_eq(repair("ready/", QO_ORPHAN_GRACE_MIN_MS, NULL),
	    QO_REPAIR_NOTHING);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 1);
	ck_assert_int_eq(repair("ready/", 0, NULL), QO_REPAIR_DELETED);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 0);
}
END_TEST

/* A claim that died between its entry and its write: young, it is left
 * alone; old, the task is bumped first. */
START_TEST(test_orphan_lease)
{
	struct qo_submission sub = plain();
	struct qo_task t;
	char id[QO_UUID_SIZE];

	submit(&sub, id);
	put_entry(QO_INDEX_LEASES, id, 1);
	ck_assert_int_eq(repair("leases/", QO_ORPHAN_GRACE_MIN_MS, NULL),
	    QO_REPAIR_NOTHING);
	ck_assert_int_eq(repair("leases/", 0, NULL), QO_REPAIR_BUMPED);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_PENDING);
	ck_assert_int_eq(t.generation, 2);
	qo_task_fini(&t);
	ck_assert_uint_eq(live_store_count(&st, "leases/", NULL), 0);
	/* The old ready entry is dead now, the new one is there. */
	ck_assert_uint_eq(live_store_count(&st, "ready/", NULL), 2);
}
END_TEST

/* A replay that died: the entry is of a higher generation than the task. */
START_TEST(test_orphan_of_higher_generation)
{
	struct qo_claim cl;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	held(&cl, id);
	ck_assert_int_eq(qo_commit_wait(&cl, QO_OUTCOME_FAILED, &result),
	    QO_OK);
	qo_claim_fini(&cl);
	qo_queue_flush(st.q);
	put_entry(QO_INDEX_READY, id, 2);
	ck_assert_int_eq(repair("ready/", QO_ORPHAN_GRACE_MIN_MS, NULL),
	    QO_REPAIR_NOTHING);
	ck_assert_int_eq(repair("ready/", 0, NULL), QO_REPAIR_BUMPED);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_FAILED);
	ck_assert_int_eq(t.generation, 2);
	qo_task_fini(&t);
	ck_assert_uint_eq(live_store_count(&st, "ready/", NULL), 0);
	/* Its failed entry of the new generation was written first. */
	ck_assert_uint_eq(live_store_count(&st, "failed/", NULL), 2);
}
END_TEST

static void
on_flushed(void *arg)
{
	*(bool *)arg = true;
}

/* With nothing to delete it is done as well. */
START_TEST(test_flush_nothing)
{
	bool done = false;

	qo_deleter_flush(st.q->deleter, on_flushed, &done);
	ck_assert(!done);
	while (!done)
		loop_once(st.loop, -1);
}
END_TEST

/* Races */

#define TASKS    500
#define CLAIMERS 8

struct claimer {
	struct loop *loop;
	struct qo_s3 *s3;
	struct qo_queue *q;
	struct qo_claim claims[TASKS];
	size_t left;
};

/* On a busy machine an answer may come too late: then it is not known, and
 * the same claim goes on. */
static void
on_taken(struct qo_claim *cl)
{
	if (cl->change.rc == QO_AGAIN)
		qo_claim_take(cl, LEASE_MS);
	else
		(*(size_t *)cl->arg)--;
}

/* Eight who know the same entries and all go for all of them at once. */
START_TEST(test_race)
{
	static struct claimer who[CLAIMERS];
	static struct qo_entry entries[TASKS];
	struct qo_submission sub = plain();
	char id[QO_UUID_SIZE], worker[16];
	size_t i, k, won, left;

	for (i = 0; i < TASKS; i++) {
		submit(&sub, id);
		qo_entry_make(&entries[i], QO_INDEX_READY, qo_queue_now(st.q),
		    id, 1);
	}
	left = 0;
	for (k = 0; k < CLAIMERS; k++) {
		who[k].s3 = live_store_client(&st, st.loop, NULL);
		who[k].q = live_store_queue(&st, st.loop, who[k].s3);
		snprintf(worker, sizeof(worker), "w%zu", k);
		for (i = 0; i < TASKS; i++) {
			qo_claim_init(&who[k].claims[i], who[k].q,
			    &entries[(i + k * TASKS / CLAIMERS) % TASKS],
			    worker);
			who[k].claims[i].done = on_taken;
			who[k].claims[i].arg = &left;
			left++;
			qo_claim_take(&who[k].claims[i], LEASE_MS);
		}
	}
	while (left > 0)
		loop_once(st.loop, -1);
	won = 0;
	for (k = 0; k < CLAIMERS; k++)
		for (i = 0; i < TASKS; i++) {
			won += who[k].claims[i].held;
			if (!who[k].claims[i].held)
				ck_assert_int_eq(who[k].claims[i].change.rc,
				    QO_LOST);
			qo_claim_fini(&who[k].claims[i]);
		}
	ck_assert_uint_eq(won, TASKS);
	for (k = 0; k < CLAIMERS; k++) {
		qo_queue_free(who[k].q);
		qo_s3_free(who[k].s3);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("queue");
	TCase *tc = tcase_create("queue");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_submit);
	tcase_add_test(tc, test_submit_with_key);
	tcase_add_test(tc, test_submit_large);
	tcase_add_test(tc, test_submit_priority);
	tcase_add_test(tc, test_submit_bad);
	tcase_add_test(tc, test_claim);
	tcase_add_test(tc, test_claim_not_due);
	tcase_add_test(tc, test_claim_unknown_type);
	tcase_add_test(tc, test_claim_expired);
	tcase_add_test(tc, test_claim_cancelled);
	tcase_add_test(tc, test_claim_given_up);
	tcase_add_test(tc, test_renew);
	tcase_add_loop_test(tc, test_commit, 0, (int)nitems(ends));
	tcase_add_test(tc, test_retries_used_up);
	tcase_add_test(tc, test_large_output);
	tcase_add_test(tc, test_cancel_pending);
	tcase_add_test(tc, test_cancel_running);
	tcase_add_test(tc, test_replay_archive);
	tcase_add_test(tc, test_reclaim);
	tcase_add_test(tc, test_dead_lease);
	tcase_add_test(tc, test_lease_runs_out);
	tcase_add_test(tc, test_orphan_without_task);
	tcase_add_test(tc, test_orphan_lease);
	tcase_add_test(tc, test_orphan_of_higher_generation);
	tcase_add_test(tc, test_flush_nothing);
	tcase_add_test(tc, test_race);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
