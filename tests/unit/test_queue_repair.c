/*
 * Tasks that somebody left behind, on the real store: leases of the dead,
 * entries without a task, a cancel that was asked for.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue_fixture.h"
#include "repair.h"
#include "run_suite.h"
#include "scenario.h"

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

static enum qo_repair_did
repair(const char *prefix, int64_t grace_ms, const char *dead_lease)
{
	struct qo_entry e = queue_entry(&st, prefix);
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

	queue_held(&st, &cl, id);
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
	ck_assert_int_eq(qo_commit_wait(&cl, QO_OUTCOME_COMPLETED,
			     &scene_result),
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
	struct qo_submission sub = queue_plain();
	struct qo_claim cl;
	struct qo_task t;
	char id[QO_UUID_SIZE];

	queue_submit(&st, &sub, id);
	/* Its claim may be on its way; not one of an earlier generation. */
	ck_assert_int_eq(bury(id, 1, "lease", QO_OK), QO_REPAIR_UNDECIDED);
	ck_assert_int_eq(bury(id, 0, "lease", QO_OK), QO_REPAIR_NOTHING);
	ck_assert_int_eq(queue_take(&st, &cl, "w1"), QO_OK);
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
	struct qo_submission sub = queue_plain();
	struct qo_entry e;
	struct qo_claim cl;
	char id[QO_UUID_SIZE];

	queue_submit(&st, &sub, id);
	e = queue_entry(&st, "ready/");
	qo_claim_init(&cl, st.q, &e, "w1");
	ck_assert_int_eq(qo_claim_take_wait(&cl, 1), QO_OK);
	qo_queue_flush(st.q);
	/* Only when the store's clock is certainly past it. */
	while (repair("leases/", 0, NULL) == QO_REPAIR_NOTHING)
		loop_once(st.loop, 50);
	ck_assert_int_eq(live_store_status(&st, id), QO_STATUS_PENDING);
	ck_assert_int_eq(qo_claim_renew_wait(&cl, QUEUE_LEASE_MS), QO_LOST);
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

	queue_put_entry(&st, qo_change_ready_index(t->priority), t->id,
	    t->generation);
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
	ck_assert_int_eq(queue_take(&st, &cl, "w1"), QO_OK);
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
	ck_assert_int_eq(queue_take(&st, &cl, "w1"), QO_OK);
	ck_assert(cl.held);
	ck_assert_int_eq(cl.change.task.give_up, QO_STATUS_CANCELLED);
	qo_claim_fini(&cl);
}
END_TEST

START_TEST(test_orphan_without_task)
{
	char id[QO_UUID_SIZE];

	qo_uuid_v4(id);
	queue_put_entry(&st, QO_INDEX_READY, id, 1);
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
	struct qo_submission sub = queue_plain();
	struct qo_task t;
	char id[QO_UUID_SIZE];

	queue_submit(&st, &sub, id);
	queue_put_entry(&st, QO_INDEX_LEASES, id, 1);
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

	queue_held(&st, &cl, id);
	ck_assert_int_eq(qo_commit_wait(&cl, QO_OUTCOME_FAILED, &scene_result),
	    QO_OK);
	qo_claim_fini(&cl);
	qo_queue_flush(st.q);
	queue_put_entry(&st, QO_INDEX_READY, id, 2);
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

int
main(void)
{
	Suite *s = suite_create("queue_repair");
	TCase *tc = tcase_create("queue_repair");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_claim_cancelled);
	tcase_add_test(tc, test_claim_given_up);
	tcase_add_test(tc, test_reclaim);
	tcase_add_test(tc, test_dead_lease);
	tcase_add_test(tc, test_lease_runs_out);
	tcase_add_test(tc, test_orphan_without_task);
	tcase_add_test(tc, test_orphan_lease);
	tcase_add_test(tc, test_orphan_of_higher_generation);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
