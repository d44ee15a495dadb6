#include <check.h>
#include <stdio.h>
#include <string.h>

#include "admin.h"
#include "commit.h"
#include "repair.h"
#include "scenario.h"
#include "submit.h"

#define LEASE_MS 60000
#define LONG_AGO (INT64_C(-180000)) /* ms; minutes ago, and not this one */
#define LARGE    8192               /* above inline_max of live_store */

static char large[LARGE];

const struct qo_result scene_result = {
	{ "[1, 2]", 6 },
	{ "exit", "exit status 1" },
	0,
};

/* Parts */

static struct qo_wall
ago(const struct scene *sc, int64_t ms)
{
	struct qo_wall t = qo_queue_now(sc->q);

	t.us += ms * QO_US_PER_MS;
	return t;
}

/* Due already, by everybody's reading of the clock. */
static struct qo_submission
plain(const struct scene *sc)
{
	struct qo_submission sub;

	qo_submission_init(&sub);
	sub.task_type = "mail.send";
	sub.input = (struct qo_json){ "{\"n\":1.50}", 10 };
	sub.available_at = ago(sc, LONG_AGO);
	sub.retry_policy.initial_interval_ms = 0;
	return sub;
}

static enum qo_rc
submit(struct scene *sc, const struct qo_submission *sub)
{
	struct qo_submit s;
	enum qo_rc rc;

	qo_submit_init(&s, sc->q, sub);
	memcpy(sc->id, s.change.id, sizeof(sc->id));
	rc = qo_submit_wait(&s);
	sc->entry = s.change.entry;
	qo_submit_fini(&s);
	return rc;
}

static void
put_entry(struct scene *sc, enum qo_index index, int64_t generation)
{
	char key[QO_KEY_SIZE];
	struct qo_s3_req r;

	qo_entry_make(&sc->entry, index, ago(sc, 0), sc->id, generation);
	ck_assert_int_eq(qo_key_entry(&sc->q->layout, &sc->entry, key), 0);
	qo_s3_req_init(&r, QO_S3_PUT, sc->q->index_bucket, key);
	ck_assert_int_eq(qo_s3_wait(sc->q->s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
}

static enum qo_rc
claim(struct scene *sc, int64_t lease_ms)
{
	qo_claim_init(&sc->claim, sc->q, &sc->entry, "w1");
	sc->claimed = true;
	return qo_claim_take_wait(&sc->claim, lease_ms);
}

static enum qo_rc
admin(struct scene *sc, enum qo_admin_op op)
{
	struct qo_admin a;
	enum qo_rc rc;

	qo_admin_init(&a, sc->q, op, sc->id);
	rc = qo_admin_wait(&a);
	qo_admin_fini(&a);
	return rc;
}

static enum qo_rc
repair(struct scene *sc)
{
	struct qo_repair r;
	enum qo_rc rc;

	qo_repair_init(&r, sc->q, &sc->entry, (struct qo_wall){ 0 }, 0);
	rc = qo_repair_wait(&r);
	if (rc == QO_NOENT && r.did == QO_REPAIR_DELETED)
		rc = QO_OK;
	qo_repair_fini(&r);
	return rc;
}

static void
pend(struct scene *sc, const struct qo_submission *sub)
{
	ck_assert_int_eq(submit(sc, sub), QO_OK);
}

static void
hold(struct scene *sc, int64_t lease_ms)
{
	ck_assert_int_eq(claim(sc, lease_ms), QO_OK);
	ck_assert(sc->claim.held);
	qo_queue_flush(sc->q);
}

/* What has to be there */

void
scene_pending(struct scene *sc)
{
	struct qo_submission sub = plain(sc);

	pend(sc, &sub);
}

void
scene_held(struct scene *sc)
{
	scene_pending(sc);
	hold(sc, LEASE_MS);
}

void
scene_failed(struct scene *sc)
{
	scene_held(sc);
	ck_assert_int_eq(qo_commit_wait(&sc->claim, QO_OUTCOME_FAILED,
			     &scene_result),
	    QO_OK);
	qo_queue_flush(sc->q);
}

static void
prepare_expired(struct scene *sc)
{
	struct qo_submission sub = plain(sc);

	sub.expires_at = ago(sc, LONG_AGO / 2);
	pend(sc, &sub);
}

static void
prepare_lease_over(struct scene *sc)
{
	scene_pending(sc);
	hold(sc, LONG_AGO);
	ck_assert_int_eq(qo_entry_parse(&sc->q->layout, sc->claim.lease_key,
			     strlen(sc->claim.lease_key), &sc->entry),
	    0);
}

static void
prepare_no_retry_left(struct scene *sc)
{
	struct qo_submission sub = plain(sc);

	sub.max_retries = 0;
	pend(sc, &sub);
	hold(sc, LONG_AGO);
	ck_assert_int_eq(qo_entry_parse(&sc->q->layout, sc->claim.lease_key,
			     strlen(sc->claim.lease_key), &sc->entry),
	    0);
}

static void
prepare_archived(struct scene *sc)
{
	scene_failed(sc);
	ck_assert_int_eq(admin(sc, QO_ADMIN_ARCHIVE), QO_OK);
	qo_queue_flush(sc->q);
}

static void
prepare_dead_claim(struct scene *sc)
{
	scene_pending(sc);
	put_entry(sc, QO_INDEX_LEASES, QO_GENERATION_FIRST);
}

static void
prepare_dead_replay(struct scene *sc)
{
	scene_failed(sc);
	put_entry(sc, QO_INDEX_READY, QO_GENERATION_FIRST + 1);
}

static void
prepare_dead_submit(struct scene *sc)
{
	qo_uuid_v4(sc->id);
	put_entry(sc, QO_INDEX_READY, QO_GENERATION_FIRST);
}

/* The operations */

static enum qo_rc
run_submit(struct scene *sc)
{
	struct qo_submission sub = plain(sc);

	return submit(sc, &sub);
}

static enum qo_rc
run_submit_key(struct scene *sc)
{
	struct qo_submission sub = plain(sc);
	char key[QO_UUID_SIZE];

	qo_uuid_v4(key);
	sub.idempotency_key = key;
	return submit(sc, &sub);
}

static enum qo_rc
run_submit_large(struct scene *sc)
{
	struct qo_submission sub = plain(sc);

	memset(large, '1', sizeof(large));
	sub.input = (struct qo_json){ large, sizeof(large) };
	return submit(sc, &sub);
}

static enum qo_rc
run_claim(struct scene *sc)
{
	return claim(sc, LEASE_MS);
}

static enum qo_rc
run_renew(struct scene *sc)
{
	return qo_claim_renew_wait(&sc->claim, LEASE_MS);
}

static enum qo_rc
run_complete(struct scene *sc)
{
	return qo_commit_wait(&sc->claim, QO_OUTCOME_COMPLETED, &scene_result);
}

static enum qo_rc
run_complete_large(struct scene *sc)
{
	struct qo_result res = scene_result;

	memset(large, '1', sizeof(large));
	res.output = (struct qo_json){ large, sizeof(large) };
	return qo_commit_wait(&sc->claim, QO_OUTCOME_COMPLETED, &res);
}

static enum qo_rc
run_retry(struct scene *sc)
{
	return qo_commit_wait(&sc->claim, QO_OUTCOME_RETRY, &scene_result);
}

static enum qo_rc
run_fail(struct scene *sc)
{
	return qo_commit_wait(&sc->claim, QO_OUTCOME_FAILED, &scene_result);
}

static enum qo_rc
run_reschedule(struct scene *sc)
{
	return qo_commit_wait(&sc->claim, QO_OUTCOME_RESCHEDULE, &scene_result);
}

static enum qo_rc
run_requeue(struct scene *sc)
{
	return qo_commit_wait(&sc->claim, QO_OUTCOME_REQUEUE, &scene_result);
}

static enum qo_rc
run_cancelled(struct scene *sc)
{
	return qo_commit_wait(&sc->claim, QO_OUTCOME_CANCELLED, &scene_result);
}

static enum qo_rc
run_cancel(struct scene *sc)
{
	return admin(sc, QO_ADMIN_CANCEL);
}

static enum qo_rc
run_expire(struct scene *sc)
{
	return admin(sc, QO_ADMIN_EXPIRE);
}

static enum qo_rc
run_replay(struct scene *sc)
{
	return admin(sc, QO_ADMIN_REPLAY);
}

static enum qo_rc
run_archive(struct scene *sc)
{
	return admin(sc, QO_ADMIN_ARCHIVE);
}

static enum qo_rc
run_unarchive(struct scene *sc)
{
	return admin(sc, QO_ADMIN_UNARCHIVE);
}

const struct scenario scenarios[] = {
	{ "submit", NULL, run_submit, true },
	{ "submit with a key", NULL, run_submit_key, true },
	{ "submit a large input", NULL, run_submit_large, true },
	{ "claim", scene_pending, run_claim, false },
	{ "claim what has expired", prepare_expired, run_claim, false },
	{ "renew into another minute", prepare_lease_over, run_renew, false },
	{ "complete", scene_held, run_complete, false },
	{ "complete with a large output", scene_held, run_complete_large,
	    false },
	{ "retry", scene_held, run_retry, false },
	{ "fail", scene_held, run_fail, false },
	{ "reschedule", scene_held, run_reschedule, false },
	{ "requeue", scene_held, run_requeue, false },
	{ "end as cancelled", scene_held, run_cancelled, false },
	{ "cancel what waits", scene_pending, run_cancel, false },
	{ "cancel what runs", scene_held, run_cancel, false },
	{ "expire", prepare_expired, run_expire, false },
	{ "replay", scene_failed, run_replay, false },
	{ "archive", scene_failed, run_archive, false },
	{ "unarchive", prepare_archived, run_unarchive, false },
	{ "reclaim", prepare_lease_over, repair, false },
	{ "reclaim without a retry left", prepare_no_retry_left, repair,
	    false },
	{ "repair what has expired", prepare_expired, repair, false },
	{ "bump after a dead claim", prepare_dead_claim, repair, false },
	{ "bump after a dead replay", prepare_dead_replay, repair, false },
	{ "clean up after a dead submit", prepare_dead_submit, repair, true },
};

const size_t nscenarios = sizeof(scenarios) / sizeof(scenarios[0]);

void
scenario_run(const struct scenario *s, struct scene *sc)
{
	enum qo_rc rc;

	rc = s->run(sc);
	qo_queue_flush(sc->q);
	sc->rc = rc;
}

void
scene_fini(struct scene *sc)
{
	if (sc->claimed)
		qo_claim_fini(&sc->claim);
	sc->claimed = false;
}
