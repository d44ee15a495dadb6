/*
 * Every conditional PUT of every operation with a bad answer: lost, wrong,
 * doubled.  Whatever the network says, the bucket must look as if nothing had
 * happened, and the operation must tell the truth (R4, R5).
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin.h"
#include "commit.h"
#include "faultproxy.h"
#include "live_store.h"
#include "repair.h"
#include "rules.h"
#include "run_suite.h"
#include "scenario.h"
#include "submit.h"

#define nitems(a)  (sizeof(a) / sizeof((a)[0]))
#define LEASE_MS   60000
#define SUBMIT     "submit"
#define SUBMIT_KEY "submit with a key"

static struct live_store st;
static struct faultproxy *proxy;
static struct qo_s3 *s3; /* through the proxy */
static struct qo_queue *q;

static void
setup(void)
{
	live_store_start(&st);
	proxy = faultproxy_start(st.url, 0, NULL);
	ck_assert_ptr_nonnull(proxy);
	s3 = live_store_client(&st, st.loop, faultproxy_url(proxy));
	q = live_store_queue(&st, st.loop, s3);
}

static void
teardown(void)
{
	qo_queue_free(q);
	qo_s3_free(s3);
	faultproxy_stop(proxy);
	live_store_stop(&st);
}

/* From the nth request on that it matches. */
static void
rule_at(const char *fault, unsigned nth)
{
	char text[128];

	snprintf(text, sizeof(text), "%s nth=%u", fault, nth);
	ck_assert_msg(faultproxy_rule(proxy, text) == 0, "%s", text);
}

static void
rule(const char *fault)
{
	rule_at(fault, 1);
}

static const struct scenario *
scenario(const char *name)
{
	size_t i;

	for (i = 0; i < nscenarios; i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	ck_abort_msg("no scenario %s", name);
}

/* The world behind a scene: nothing bad happens there. */
static void
begin(const struct scenario *s, struct scene *sc)
{
	memset(sc, 0, sizeof(*sc));
	sc->q = q;
	faultproxy_clear(proxy);
	if (s->prepare != NULL)
		s->prepare(sc);
}

/* What the operation left, as far as two runs can be compared. */
struct left {
	bool exists;
	enum qo_status status;
	int64_t rev, generation, attempt, retries, reschedules;
	size_t entries[QO_INDEX_FAILED + 1];
};

static struct left
left_of(const struct scene *sc)
{
	struct rules_view v;
	struct left l;
	int i;

	memset(&l, 0, sizeof(l));
	rules_look(&st, sc->id, &v);
	for (i = 0; i <= QO_INDEX_FAILED; i++)
		l.entries[i] = rules_count(&v, (enum qo_index)i);
	l.exists = v.exists;
	if (v.exists) {
		l.status = v.task.status;
		l.rev = v.task.rev;
		l.generation = v.task.generation;
		l.attempt = v.task.attempt;
		l.retries = v.task.retry_count;
		l.reschedules = v.task.reschedule_count;
	}
	rules_view_fini(&v);
	return l;
}

/* One run under these rules must end as the undisturbed one did. */
static void
play(const struct scenario *s, const char *fault, unsigned nth,
    const struct left *want)
{
	char what[160];
	struct scene sc;
	struct left got;

	snprintf(what, sizeof(what), "%s under %s, nth %u", s->name, fault,
	    nth);
	begin(s, &sc);
	rule_at(fault, nth);
	scenario_run(s, &sc);
	ck_assert_msg(faultproxy_hits(proxy) > 0, "%s: nothing hit", what);
	ck_assert_msg(sc.rc == QO_OK, "%s: rc %d", what, (int)sc.rc);
	rules_check(&st, sc.id, what);
	got = left_of(&sc);
	ck_assert_msg(memcmp(&got, want, sizeof(got)) == 0,
	    "%s: %s rev %lld, undisturbed %s rev %lld", what,
	    qo_status_name(got.status), (long long)got.rev,
	    qo_status_name(want->status), (long long)want->rev);
	scene_fini(&sc);
}

/* How many requests of a run a rule would hit, and what the run leaves. */
static unsigned
undisturbed(const struct scenario *s, const char *count, struct left *want)
{
	struct scene sc;
	unsigned n;

	begin(s, &sc);
	rule(count);
	scenario_run(s, &sc);
	ck_assert_msg(sc.rc == QO_OK, "%s: rc %d", s->name, (int)sc.rc);
	n = faultproxy_hits(proxy);
	rules_check(&st, sc.id, s->name);
	*want = left_of(&sc);
	scene_fini(&sc);
	return n;
}

START_TEST(test_each_write)
{
	static const char *const conditional[] = {
		"drop PUT cond count=1",
		"after PUT cond count=1 status=500",
		"twice PUT cond count=1",
		"refuse PUT cond count=1 status=409",
	};
	const struct scenario *s = &scenarios[_i];
	struct left want;
	unsigned n, nth;
	size_t k;

	n = undisturbed(s, "pass PUT cond", &want);
	for (nth = 1; nth <= n; nth++)
		for (k = 0; k < nitems(conditional); k++)
			play(s, conditional[k], nth, &want);
	n = undisturbed(s, "pass PUT key=/(ready|leases|failed)/", &want);
	for (nth = 1; nth <= n; nth++)
		play(s, "drop PUT key=/(ready|leases|failed)/ count=1", nth,
		    &want);
}
END_TEST

/* No answer at all to any attempt: only reading tells.  libcurl sends again by
 * itself when a kept connection ends without an answer, so there are more of
 * them on the wire than the five of ours. */
START_TEST(test_all_answers_lost)
{
	static const char *const names[] = { SUBMIT, SUBMIT_KEY, "claim",
		"complete", "retry" };
	const struct scenario *s = scenario(names[_i]);
	struct left want;

	undisturbed(s, "pass PUT cond", &want);
	play(s, "drop PUT cond count=10", 1, &want);
}
END_TEST

/* Five attempts refused, so that the same bytes are sent again after a look;
 * and that write's answer is lost too: it must be known by its write id. */
START_TEST(test_sent_again_and_lost)
{
	static const char *const names[] = { SUBMIT_KEY, "claim", "complete",
		"retry" };
	const struct scenario *s = scenario(names[_i]);
	struct left want, got;
	struct scene sc;

	undisturbed(s, "pass PUT cond", &want);
	begin(s, &sc);
	rule("refuse PUT cond count=5 status=500");
	rule("drop PUT cond count=1");
	scenario_run(s, &sc);
	ck_assert_uint_eq(faultproxy_hits(proxy), 6);
	ck_assert_int_eq(sc.rc, QO_OK);
	rules_check(&st, sc.id, s->name);
	got = left_of(&sc);
	ck_assert_int_eq(memcmp(&got, &want, sizeof(got)), 0);
	scene_fini(&sc);
}
END_TEST

/* 409 to all that is sent: not known is not lost. */
START_TEST(test_conflict_for_ever)
{
	static const char *const names[] = { SUBMIT_KEY, "claim", "complete",
		"complete with a large output" };
	const struct scenario *s = scenario(names[_i]);
	struct scene sc;

	begin(s, &sc);
	rule("refuse PUT cond status=409");
	scenario_run(s, &sc);
	ck_assert_int_eq(sc.rc, QO_AGAIN);
	rules_check(&st, sc.id, s->name);
	scene_fini(&sc);
}
END_TEST

/* Others who act at the worst moment */

struct other {
	const char *id;
	void (*act)(struct qo_queue *oq, const char *id);
};

static bool
other_reads(struct qo_queue *oq, const char *id, struct qo_task *t)
{
	char key[QO_KEY_SIZE];
	struct qo_s3_req r;
	struct qo_err err;
	bool ok;

	qo_key_task(&oq->layout, id, key);
	qo_s3_req_init(&r, QO_S3_GET, oq->bucket, key);
	ok = qo_s3_wait(oq->s3, &r) == QO_S3_OK &&
	    qo_task_decode(t, id, r.res.body.data, r.res.body.len, &err) == 0;
	qo_s3_req_fini(&r);
	return ok;
}

/* With an entry of its own making: the name is only what leads to the task. */
static void
claims(struct qo_queue *oq, const char *id)
{
	struct qo_claim cl;
	struct qo_entry e;

	qo_entry_make(&e, QO_INDEX_READY, qo_queue_now(oq), id, 1);
	qo_claim_init(&cl, oq, &e, "other");
	/* Two clocks differ by up to a second about what is due. */
	while (qo_claim_take_wait(&cl, LEASE_MS) == QO_AGAIN)
		loop_once(oq->loop, 20);
	qo_claim_fini(&cl);
}

static void
admin(struct qo_queue *oq, const char *id, enum qo_admin_op op)
{
	struct qo_admin a;

	qo_admin_init(&a, oq, op, id);
	qo_admin_wait(&a);
	qo_admin_fini(&a);
}

static void
cancels(struct qo_queue *oq, const char *id)
{
	admin(oq, id, QO_ADMIN_CANCEL);
}

static void
replays(struct qo_queue *oq, const char *id)
{
	admin(oq, id, QO_ADMIN_REPLAY);
}

static void
archives(struct qo_queue *oq, const char *id)
{
	admin(oq, id, QO_ADMIN_ARCHIVE);
}

/* The monitor has heard that the worker is dead. */
static void
reclaims(struct qo_queue *oq, const char *id)
{
	struct qo_repair r;
	struct qo_entry e;
	struct qo_task t;

	if (!other_reads(oq, id, &t))
		return;
	qo_entry_make(&e, QO_INDEX_LEASES, t.lease_expires_at, id,
	    t.generation);
	qo_repair_init(&r, oq, &e, qo_queue_now(oq), 0);
	r.dead_lease = t.lease_id;
	qo_repair_wait(&r);
	qo_repair_fini(&r);
	qo_task_fini(&t);
}

static void
reclaims_and_claims(struct qo_queue *oq, const char *id)
{
	reclaims(oq, id);
	claims(oq, id);
}

/* The holder itself, in another life of this test. */
static void
completes(struct qo_queue *oq, const char *id)
{
	struct qo_claim cl;
	struct qo_entry e;
	struct qo_task t;

	if (!other_reads(oq, id, &t))
		return;
	qo_entry_make(&e, QO_INDEX_READY, qo_queue_now(oq), id, 1);
	qo_claim_init(&cl, oq, &e, "w1");
	snprintf(cl.lease_id, sizeof(cl.lease_id), "%s", t.lease_id);
	qo_commit_wait(&cl, QO_OUTCOME_COMPLETED, &scene_result);
	qo_claim_fini(&cl);
	qo_task_fini(&t);
}

/* In a thread of the proxy's: a process of its own, as good as that. */
static void
on_hook(void *arg)
{
	const struct other *o = arg;
	struct loop *l = loop_new();
	struct qo_s3 *direct = live_store_client(&st, l, NULL);
	struct qo_queue *oq = live_store_queue(&st, l, direct);

	o->act(oq, o->id);
	qo_queue_flush(oq);
	qo_queue_free(oq);
	qo_s3_free(direct);
	loop_free(l);
}

#define BURIED "drop PUT cond key=/tasks/ count=1 hook"
#define BEFORE "pass PUT cond key=/tasks/ count=1 hook"

/* The other acts on top of our write whose answer is lost, or before it. */
static const struct {
	const char *scenario;
	const char *when;
	void (*act)(struct qo_queue *oq, const char *id);
	enum qo_rc rc;
	enum qo_status status;
	int64_t rev, generation;
	bool held, cancel_seen; /* what the scene's claim knows */
} slips[] = {
	{ SUBMIT, BURIED, claims, QO_OK, QO_STATUS_RUNNING, 2, 1, false,
	    false },
	{ SUBMIT_KEY, BURIED, claims, QO_OK, QO_STATUS_RUNNING, 2, 1, false,
	    false },
	{ SUBMIT, BURIED, cancels, QO_OK, QO_STATUS_CANCELLED, 2, 1, false,
	    false },
	{ "claim", BURIED, cancels, QO_OK, QO_STATUS_RUNNING, 3, 1, true,
	    true },
	{ "claim", BURIED, reclaims, QO_OK, QO_STATUS_PENDING, 3, 2, false,
	    false },
	{ "claim", BURIED, reclaims_and_claims, QO_OK, QO_STATUS_RUNNING, 4, 2,
	    false, false },
	{ "renew into another minute", BURIED, cancels, QO_OK,
	    QO_STATUS_RUNNING, 4, 1, true, true },
	{ "renew into another minute", BURIED, reclaims, QO_LOST,
	    QO_STATUS_PENDING, 4, 2, false, false },
	{ "complete", BURIED, archives, QO_OK, QO_STATUS_ARCHIVED, 4, 1, false,
	    false },
	{ "retry", BURIED, claims, QO_OK, QO_STATUS_RUNNING, 4, 2, false,
	    false },
	{ "requeue", BURIED, claims, QO_OK, QO_STATUS_RUNNING, 4, 2, false,
	    false },
	{ "fail", BURIED, replays, QO_OK, QO_STATUS_PENDING, 4, 2, false,
	    false },
	{ "fail", BURIED, archives, QO_OK, QO_STATUS_ARCHIVED, 4, 1, false,
	    false },
	{ "replay", BURIED, claims, QO_OK, QO_STATUS_RUNNING, 5, 2, false,
	    false },
	{ "cancel what waits", BURIED, archives, QO_OK, QO_STATUS_ARCHIVED, 3,
	    1, false, false },
	{ "cancel what runs", BURIED, completes, QO_OK, QO_STATUS_COMPLETED, 4,
	    1, true, false },
	{ "reclaim", BURIED, claims, QO_OK, QO_STATUS_RUNNING, 4, 2, true,
	    false },

	{ "claim", BEFORE, claims, QO_LOST, QO_STATUS_RUNNING, 2, 1, false,
	    false },
	{ "claim", BEFORE, cancels, QO_LOST, QO_STATUS_CANCELLED, 2, 1, false,
	    false },
	{ "renew into another minute", BEFORE, cancels, QO_OK,
	    QO_STATUS_RUNNING, 4, 1, true, true },
	{ "renew into another minute", BEFORE, reclaims, QO_LOST,
	    QO_STATUS_PENDING, 3, 2, false, false },
	{ "complete", BEFORE, cancels, QO_OK, QO_STATUS_COMPLETED, 4, 1, false,
	    true },
	{ "requeue", BEFORE, cancels, QO_OK, QO_STATUS_CANCELLED, 4, 1, false,
	    true },
	{ "complete", BEFORE, reclaims, QO_LOST, QO_STATUS_PENDING, 3, 2, false,
	    false },
	{ "retry", BEFORE, reclaims, QO_LOST, QO_STATUS_PENDING, 3, 2, false,
	    false },
	{ "retry", BEFORE, reclaims_and_claims, QO_LOST, QO_STATUS_RUNNING, 4,
	    2, false, false },
	{ "fail", BEFORE, reclaims, QO_LOST, QO_STATUS_PENDING, 3, 2, false,
	    false },
	{ "fail", BEFORE, reclaims_and_claims, QO_LOST, QO_STATUS_RUNNING, 4, 2,
	    false, false },
	{ "requeue", BEFORE, reclaims_and_claims, QO_LOST, QO_STATUS_RUNNING, 4,
	    2, false, false },
	{ "replay", BEFORE, archives, QO_LOST, QO_STATUS_ARCHIVED, 4, 1, false,
	    false },
	{ "cancel what runs", BEFORE, completes, QO_LOST, QO_STATUS_COMPLETED,
	    3, 1, true, false },
	{ "reclaim", BEFORE, completes, QO_OK, QO_STATUS_COMPLETED, 3, 1, true,
	    false },
	{ "bump after a dead claim", BEFORE, claims, QO_OK, QO_STATUS_RUNNING,
	    2, 1, false, false },
};

START_TEST(test_slipped_in)
{
	const struct scenario *s = scenario(slips[_i].scenario);
	struct other o = { NULL, slips[_i].act };
	struct scene sc;
	struct left got;
	char what[160];

	snprintf(what, sizeof(what), "slip %d: %s, %.4s", _i, s->name,
	    slips[_i].when);
	begin(s, &sc);
	o.id = sc.id;
	faultproxy_hook(proxy, on_hook, &o);
	rule(slips[_i].when);
	scenario_run(s, &sc);
	ck_assert_msg(faultproxy_hits(proxy) == 1, "%s: hits", what);
	rules_check(&st, sc.id, what);
	got = left_of(&sc);
	ck_assert_msg(sc.rc == slips[_i].rc, "%s: rc %d", what, (int)sc.rc);
	ck_assert_msg(got.status == slips[_i].status, "%s: it is %s", what,
	    qo_status_name(got.status));
	ck_assert_msg(got.rev == slips[_i].rev, "%s: rev %lld", what,
	    (long long)got.rev);
	ck_assert_msg(got.generation == slips[_i].generation,
	    "%s: generation %lld", what, (long long)got.generation);
	if (sc.claimed) {
		ck_assert_msg(sc.claim.held == slips[_i].held, "%s: held",
		    what);
		ck_assert_msg(sc.claim.cancel_seen == slips[_i].cancel_seen,
		    "%s: cancel seen", what);
	}
	/* Ours may lie beneath: the entry is left to others (R3). */
	if (strcmp(s->name, "reclaim") == 0 &&
	    strcmp(slips[_i].when, BURIED) == 0)
		ck_assert_uint_eq(got.entries[QO_INDEX_READY], 1);
	faultproxy_clear(proxy);
	scene_fini(&sc);
}
END_TEST

/* The store refuses the entry until the operation gives up for now.  Started
 * again, it must not take the entry for written (R1). */
START_TEST(test_entry_refused)
{
	struct qo_submission sub;
	struct qo_submit s;
	struct scene sc;

	begin(scenario("retry"), &sc);
	rule("refuse PUT key=/(ready|leases|failed)/ status=500");
	ck_assert_int_eq(qo_commit_wait(&sc.claim, QO_OUTCOME_RETRY,
			     &scene_result),
	    QO_AGAIN);
	faultproxy_clear(proxy);
	ck_assert_int_eq(qo_commit_wait(&sc.claim, QO_OUTCOME_RETRY,
			     &scene_result),
	    QO_OK);
	rules_check(&st, sc.id, "retry after an entry was refused");
	scene_fini(&sc);

	qo_submission_init(&sub);
	sub.task_type = "mail.send";
	sub.idempotency_key = "k";
	qo_submit_init(&s, q, &sub);
	rule("refuse PUT key=/(ready|leases|failed)/ status=500");
	ck_assert_int_eq(qo_submit_wait(&s), QO_AGAIN);
	faultproxy_clear(proxy);
	ck_assert_int_eq(qo_submit_wait(&s), QO_OK);
	rules_check(&st, s.change.id, "submit after an entry was refused");
	qo_submit_fini(&s);
}
END_TEST

static void
check_output(const char *id, const char *text, size_t len)
{
	struct qo_s3_req r;
	struct qo_task t;

	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.status, QO_STATUS_COMPLETED);
	ck_assert_ptr_nonnull(t.output_ref);
	qo_s3_req_init(&r, QO_S3_GET, st.q->bucket, t.output_ref);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	ck_assert_uint_eq(r.res.body.len, len);
	ck_assert_int_eq(memcmp(r.res.body.data, text, len), 0);
	qo_s3_req_fini(&r);
	qo_task_fini(&t);
}

/* A worker writes its large output and is lost before its commit; the next
 * attempt has another output, and that one counts. */
START_TEST(test_output_of_a_stale_attempt)
{
	static char one[10000], two[10000];
	struct qo_result res = scene_result;
	struct qo_claim next;
	struct qo_entry e;
	struct scene sc;

	memset(one, '1', sizeof(one));
	memset(two, '2', sizeof(two));
	begin(scenario("complete"), &sc);
	rule("refuse PUT key=/tasks/ status=500");
	rule("refuse GET key=/tasks/ status=500");
	res.output = (struct qo_json){ one, sizeof(one) };
	ck_assert_int_eq(qo_commit_wait(&sc.claim, QO_OUTCOME_COMPLETED, &res),
	    QO_AGAIN);
	faultproxy_clear(proxy);
	reclaims(st.q, sc.id);
	qo_entry_make(&e, QO_INDEX_READY, qo_queue_now(q), sc.id, 2);
	qo_claim_init(&next, q, &e, "w2");
	while (qo_claim_take_wait(&next, LEASE_MS) == QO_AGAIN)
		loop_once(st.loop, 20);
	ck_assert(next.held);
	res.output = (struct qo_json){ two, sizeof(two) };
	ck_assert_int_eq(qo_commit_wait(&next, QO_OUTCOME_COMPLETED, &res),
	    QO_OK);
	qo_claim_fini(&next);
	check_output(sc.id, two, sizeof(two));
	/* The lost one comes back and tries again. */
	res.output = (struct qo_json){ one, sizeof(one) };
	ck_assert_int_eq(qo_commit_wait(&sc.claim, QO_OUTCOME_COMPLETED, &res),
	    QO_LOST);
	check_output(sc.id, two, sizeof(two));
	scene_fini(&sc);
}
END_TEST

/* The race */

#define TASKS    500
#define CLAIMERS 8

static struct {
	struct qo_s3 *s3;
	struct qo_queue *q;
	struct qo_claim claims[TASKS];
} who[CLAIMERS];

static char ids[TASKS][QO_UUID_SIZE];

static void
on_taken(struct qo_claim *cl)
{
	(*(size_t *)cl->arg)--;
}

static void
submit_all(void)
{
	struct scene sc;
	size_t i;

	for (i = 0; i < TASKS; i++) {
		memset(&sc, 0, sizeof(sc));
		sc.q = st.q;
		scene_pending(&sc);
		memcpy(ids[i], sc.id, QO_UUID_SIZE);
	}
}

static void
start_claimer(size_t k, size_t *left)
{
	struct qo_entry e;
	char worker[16];
	size_t i;

	who[k].s3 = live_store_client(&st, st.loop, faultproxy_url(proxy));
	who[k].q = live_store_queue(&st, st.loop, who[k].s3);
	snprintf(worker, sizeof(worker), "w%zu", k);
	for (i = 0; i < TASKS; i++) {
		qo_entry_make(&e, QO_INDEX_READY, qo_queue_now(st.q), ids[i],
		    1);
		qo_claim_init(&who[k].claims[i], who[k].q, &e, worker);
		who[k].claims[i].done = on_taken;
		who[k].claims[i].arg = left;
		++*left;
		qo_claim_take(&who[k].claims[i], LEASE_MS);
	}
}

/* Where a store that stood still has not answered: is it ours? */
static void
ask_again(struct qo_claim *cl)
{
	while (cl->change.rc == QO_AGAIN)
		(void)qo_claim_take_wait(cl, LEASE_MS);
}

/* Exactly one of them holds it, and the task says so too. */
static void
check_holder(size_t i)
{
	const struct qo_claim *cl, *holder = NULL;
	struct qo_task t;
	size_t k;

	live_store_task(&st, ids[i], &t);
	for (k = 0; k < CLAIMERS; k++) {
		cl = &who[k].claims[i];
		ck_assert_msg(cl->held || cl->change.rc == QO_LOST, "%d: %s",
		    (int)cl->change.rc, cl->change.err.msg);
		if (!cl->held)
			continue;
		ck_assert_msg(holder == NULL, "%s is held twice", ids[i]);
		holder = cl;
	}
	ck_assert_msg(holder != NULL, "%s is held by nobody", ids[i]);
	ck_assert_str_eq(t.lease_id, holder->lease_id);
	ck_assert_int_eq(t.rev, 2);
	ck_assert_int_eq(t.attempt, 1);
	ck_assert_int_eq(t.generation, 1);
	qo_task_fini(&t);
}

START_TEST(test_race)
{
	size_t i, k, left = 0;

	submit_all();
	rule("drop PUT cond p=0.1");
	for (k = 0; k < CLAIMERS; k++)
		start_claimer(k, &left);
	while (left > 0)
		loop_once(st.loop, -1);
	/* Some writes were lost, or nothing was tested. */
	ck_assert_uint_gt(faultproxy_hits(proxy), 0);
	for (k = 0; k < CLAIMERS; k++)
		for (i = 0; i < TASKS; i++)
			ask_again(&who[k].claims[i]);
	for (i = 0; i < TASKS; i++)
		check_holder(i);
	for (i = 0; i < TASKS; i += 50)
		rules_check(&st, ids[i], "after the race");
	for (k = 0; k < CLAIMERS; k++) {
		for (i = 0; i < TASKS; i++)
			qo_claim_fini(&who[k].claims[i]);
		qo_queue_free(who[k].q);
		qo_s3_free(who[k].s3);
	}
}
END_TEST

/* A case of its own for each: CK_RUN_CASE picks one. */
static TCase *
add_case(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	suite_add_tcase(s, tc);
	return tc;
}

int
main(void)
{
	Suite *s = suite_create("lost_answers");

	tcase_add_loop_test(add_case(s, "writes"), test_each_write, 0,
	    (int)nscenarios);
	tcase_add_loop_test(add_case(s, "all_lost"), test_all_answers_lost, 0,
	    5);
	tcase_add_loop_test(add_case(s, "again"), test_sent_again_and_lost, 0,
	    4);
	tcase_add_loop_test(add_case(s, "conflict"), test_conflict_for_ever, 0,
	    4);
	tcase_add_loop_test(add_case(s, "slips"), test_slipped_in, 0,
	    (int)nitems(slips));
	tcase_add_test(add_case(s, "entry"), test_entry_refused);
	tcase_add_test(add_case(s, "output"), test_output_of_a_stale_attempt);
	tcase_add_test(add_case(s, "race"), test_race);
	return run_suite(s);
}
