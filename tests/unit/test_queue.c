/*
 * The operations on tasks, on the real store: what each leaves in the bucket.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin.h"
#include "commit.h"
#include "queue_fixture.h"
#include "run_suite.h"
#include "xalloc.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

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

START_TEST(test_submit)
{
	struct qo_submission sub = queue_plain();
	struct qo_entry e;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	queue_submit(&st, &sub, id);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_PENDING);
	ck_assert_str_eq(t.task_type, "mail.send");
	ck_assert_uint_eq(t.input.len, 10);
	ck_assert_int_eq(memcmp(t.input.p, "{\"n\":1.50}", 10), 0);
	ck_assert_int_eq(t.rev, 1);
	ck_assert_int_eq(t.generation, 1);
	ck_assert_int_eq(t.attempt, 0);
	ck_assert_int_eq(t.max_retries, 3);
	e = queue_entry(&st, "ready/");
	ck_assert_str_eq(e.id, id);
	ck_assert_str_eq(e.nonce, "");
	ck_assert_int_eq(e.minute, qo_minute(t.available_at));
	qo_task_fini(&t);
}
END_TEST

START_TEST(test_submit_with_key)
{
	static const char other[] = "{\"n\":2}";
	struct qo_submission sub = queue_plain();
	struct qo_submit s;
	char id[QO_UUID_SIZE], again[QO_UUID_SIZE];

	sub.idempotency_key = "order 17";
	queue_submit(&st, &sub, id);
	queue_submit(&st, &sub, again);
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
	struct qo_submission sub = queue_plain();
	struct qo_s3_req r;
	struct qo_task t;
	char id[QO_UUID_SIZE];
	char *big;

	big = xmalloc(10002);
	memset(big, 'x', 10002);
	big[0] = big[10001] = '"';
	sub.input = (struct qo_json){ big, 10002 };
	queue_submit(&st, &sub, id);
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
	struct qo_submission sub = queue_plain();
	char id[QO_UUID_SIZE];

	sub.priority = QO_PRIORITY_HIGH;
	queue_submit(&st, &sub, id);
	ck_assert_uint_eq(live_store_count(&st, "ready-high/", NULL), 1);
	sub.priority = QO_PRIORITY_LOW;
	queue_submit(&st, &sub, id);
	ck_assert_uint_eq(live_store_count(&st, "ready_low/", NULL), 1);
}
END_TEST

START_TEST(test_submit_bad)
{
	struct qo_submission sub = queue_plain();
	struct qo_submit s;
	struct qo_err err;

	sub.task_type = "no spaces";
	ck_assert_int_eq(qo_submission_check(&sub, &err), -1);
	sub.task_type = "workflow.step:x";
	ck_assert_int_eq(qo_submission_check(&sub, &err), -1);
	sub = queue_plain();
	sub.timeout_seconds = 0;
	ck_assert_int_eq(qo_submission_check(&sub, &err), -1);
	sub = queue_plain();
	sub.max_retries = -1;
	ck_assert_int_eq(qo_submission_check(&sub, &err), -1);
	sub = queue_plain();
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
	struct qo_submission sub = queue_plain();
	struct qo_claim cl, late;
	struct qo_entry ready, lease;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	queue_submit(&st, &sub, id);
	ready = queue_entry(&st, "ready/");
	ck_assert_int_eq(queue_take(&st, &cl, "w1"), QO_OK);
	ck_assert(cl.held);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_RUNNING);
	ck_assert_str_eq(t.lease_id, cl.lease_id);
	ck_assert_str_eq(t.worker_id, "w1");
	ck_assert_int_eq(t.attempt, 1);
	ck_assert_int_eq(t.rev, 2);
	ck_assert_int_eq(t.generation, 1);
	lease = queue_entry(&st, "leases/");
	ck_assert_int_eq(lease.minute, qo_minute(t.lease_expires_at));
	ck_assert_int_eq(lease.generation, 1);
	ck_assert_str_ne(lease.nonce, "");
	qo_task_fini(&t);
	/* The fence lies before the end of the lease, by our own clock. */
	ck_assert_int_lt(qo_mono_diff_us(qo_mono_now(), cl.fence),
	    (QUEUE_LEASE_MS - QO_FENCE_MARGIN_MS) * QO_US_PER_MS);
	ck_assert_int_gt(qo_mono_diff_us(qo_mono_now(), cl.fence),
	    (QUEUE_LEASE_MS / 2) * QO_US_PER_MS);
	/* Another who still sees the entry comes too late. */
	qo_claim_init(&late, st.q, &ready, "w2");
	ck_assert_int_eq(qo_claim_take_wait(&late, QUEUE_LEASE_MS), QO_LOST);
	ck_assert(!late.held);
	qo_claim_fini(&late);
	qo_queue_flush(st.q);
	ck_assert_uint_eq(live_store_count(&st, "ready/", NULL), 0);
	qo_claim_fini(&cl);
}
END_TEST

START_TEST(test_claim_not_due)
{
	struct qo_submission sub = queue_plain();
	struct qo_claim cl;
	char id[QO_UUID_SIZE];

	sub.delay_ms = 3600000;
	queue_submit(&st, &sub, id);
	ck_assert_int_eq(queue_take(&st, &cl, "w1"), QO_AGAIN);
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
	struct qo_submission sub = queue_plain();
	struct qo_entry e;
	struct qo_claim cl;
	char id[QO_UUID_SIZE];

	queue_submit(&st, &sub, id);
	e = queue_entry(&st, "ready/");
	qo_claim_init(&cl, st.q, &e, "w1");
	cl.serves = serves_nothing;
	ck_assert_int_eq(qo_claim_take_wait(&cl, QUEUE_LEASE_MS), QO_DENIED);
	qo_claim_fini(&cl);
	qo_queue_flush(st.q);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_PENDING);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 1);
}
END_TEST

START_TEST(test_claim_expired)
{
	struct qo_submission sub = queue_plain();
	struct qo_claim cl;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	sub.expires_ms = 1;
	queue_submit(&st, &sub, id);
	live_store_task(&st, id, &t);
	/* The store's time may stand for a while, but never goes back. */
	while (qo_queue_now(st.q).us < t.expires_at.us)
		loop_once(st.loop, 20);
	qo_task_fini(&t);
	ck_assert_int_eq(queue_take(&st, &cl, "w1"), QO_OK);
	ck_assert(!cl.held);
	qo_claim_fini(&cl);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_EXPIRED);
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

	queue_held(&st, &cl, id);
	cl.progress = (struct qo_json){ half, strlen(half) };
	ck_assert_int_eq(qo_claim_renew_wait(&cl, 300000), QO_OK);
	ck_assert(cl.held);
	qo_queue_flush(st.q);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.rev, 3);
	ck_assert_uint_eq(t.progress.len, strlen(half));
	ck_assert_int_eq(queue_entry(&st, "leases/").minute,
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

	queue_held(&st, &cl, id);
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
		e = queue_entry(&st, ends[_i].index);
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
	struct qo_submission sub = queue_plain();
	struct qo_result res = result;
	struct qo_claim cl;
	char id[QO_UUID_SIZE];
	int i;

	res.delay_ms = -1; /* by the policy */
	sub.max_retries = 2;
	sub.retry_policy.initial_interval_ms = 0;
	queue_submit(&st, &sub, id);
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(queue_take(&st, &cl, "w1"), QO_OK);
		ck_assert_int_eq(qo_commit_wait(&cl, QO_OUTCOME_RETRY, &res),
		    QO_OK);
		qo_claim_fini(&cl);
		qo_queue_flush(st.q);
	}
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_FAILED);
	ck_assert_uint_eq(live_store_count(&st, "ready", NULL), 0);
	ck_assert_int_eq(queue_entry(&st, "failed/").generation, 3);
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
	queue_held(&st, &cl, id);
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
	struct qo_submission sub = queue_plain();
	struct qo_claim cl;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	queue_submit(&st, &sub, id);
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
	queue_put_entry(&st, QO_INDEX_READY, id, 1);
	ck_assert_int_eq(queue_take(&st, &cl, "w1"), QO_LOST);
	qo_claim_fini(&cl);
	qo_queue_flush(st.q);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 0);
}
END_TEST

START_TEST(test_cancel_running)
{
	struct qo_claim cl;
	char id[QO_UUID_SIZE];

	queue_held(&st, &cl, id);
	ck_assert_int_eq(admin(QO_ADMIN_CANCEL, id), QO_OK);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_RUNNING);
	ck_assert_uint_eq(live_store_count(&st, "bell/w1/", NULL), 1);
	ck_assert_int_eq(qo_claim_renew_wait(&cl, QUEUE_LEASE_MS), QO_OK);
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

	queue_held(&st, &cl, id);
	ck_assert_int_eq(admin(QO_ADMIN_REPLAY, id), QO_LOST);
	ck_assert_int_eq(admin(QO_ADMIN_ARCHIVE, id), QO_LOST);
	ck_assert_int_eq(qo_commit_wait(&cl, QO_OUTCOME_FAILED, &result),
	    QO_OK);
	qo_claim_fini(&cl);
	qo_queue_flush(st.q);
	queue_entry(&st, "failed/");
	ck_assert_int_eq(admin(QO_ADMIN_ARCHIVE, id), QO_OK);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_ARCHIVED);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 0);
	ck_assert_int_eq(admin(QO_ADMIN_REPLAY, id), QO_LOST);
	ck_assert_int_eq(admin(QO_ADMIN_UNARCHIVE, id), QO_OK);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_FAILED);
	queue_entry(&st, "failed/");
	ck_assert_int_eq(admin(QO_ADMIN_REPLAY, id), QO_OK);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_PENDING);
	ck_assert_int_eq(t.generation, 2);
	ck_assert_int_eq(t.retry_count, 0);
	ck_assert(!qo_wall_is_set(t.completed_at));
	qo_task_fini(&t);
	ck_assert_uint_eq(live_store_count(&st, "failed/", NULL), 0);
	ck_assert_int_eq(queue_entry(&st, "ready/").generation, 2);
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
		qo_claim_take(cl, QUEUE_LEASE_MS);
	else
		(*(size_t *)cl->arg)--;
}

/* Eight who know the same entries and all go for all of them at once. */
START_TEST(test_race)
{
	static struct claimer who[CLAIMERS];
	static struct qo_entry entries[TASKS];
	struct qo_submission sub = queue_plain();
	char id[QO_UUID_SIZE], worker[16];
	size_t i, k, won, left;

	for (i = 0; i < TASKS; i++) {
		queue_submit(&st, &sub, id);
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
			qo_claim_take(&who[k].claims[i], QUEUE_LEASE_MS);
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
	tcase_add_test(tc, test_renew);
	tcase_add_loop_test(tc, test_commit, 0, (int)nitems(ends));
	tcase_add_test(tc, test_retries_used_up);
	tcase_add_test(tc, test_large_output);
	tcase_add_test(tc, test_cancel_pending);
	tcase_add_test(tc, test_cancel_running);
	tcase_add_test(tc, test_replay_archive);
	tcase_add_test(tc, test_flush_nothing);
	tcase_add_test(tc, test_race);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
