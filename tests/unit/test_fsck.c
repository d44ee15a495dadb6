/*
 * fsck: finds nothing where nothing is wrong, finds each kind of damage, and
 * repairs what can be repaired.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commit.h"
#include "fsck.h"
#include "live_store.h"
#include "rfc3339.h"
#include "run_suite.h"
#include "schedule_ops.h"
#include "submit.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))
#define AT_ONCE   QO_FSCK_OFFLINE_MS

static struct live_store st;
static const struct conf_submit defaults = { .timeout_ms = 60000,
	.retry_initial_interval_ms = 1000,
	.retry_max_interval_ms = 60000,
	.retry_multiplier = 2.0 };
static char pending[QO_UUID_SIZE], running[QO_UUID_SIZE], failed[QO_UUID_SIZE];
static char seen[4096]; /* the problems of the last run */

static void
on_problem(struct qo_fsck *f, const struct qo_fsck_problem *p)
{
	(void)f;
	strlcat(seen, qo_fsck_kind_name(p->kind), sizeof(seen));
	strlcat(seen, p->repaired ? "+ " : " ", sizeof(seen));
}

static struct qo_fsck
check(bool repair, int64_t grace_ms)
{
	struct qo_fsck f;
	struct qo_err err = { 0 };

	memset(&f, 0, sizeof(f));
	f.q = st.q;
	f.repair = repair;
	f.grace_ms = grace_ms;
	f.submit = &defaults;
	f.problem = on_problem;
	seen[0] = '\0';
	ck_assert_msg(qo_fsck_run(&f, &err) == QO_OK, "%s", err.msg);
	return f;
}

/* Submits, and takes and ends the task as far as asked. */
static void
make_task(char id[QO_UUID_SIZE], bool claim, const enum qo_outcome *end)
{
	static char big[8000];
	struct qo_submission sub;
	struct qo_submit s;
	struct qo_entry e;
	struct qo_claim cl;
	struct qo_result res;
	char key[QO_KEY_SIZE];

	if (big[0] == '\0')
		memset(big, '1', sizeof(big));
	qo_submission_init(&sub);
	sub.task_type = "t";
	if (claim && end == NULL) /* one has a payload of its own */
		sub.input = (struct qo_json){ big, sizeof(big) };
	qo_submit_init(&s, st.q, &sub);
	ck_assert_int_eq(qo_submit_wait(&s), QO_OK);
	snprintf(id, QO_UUID_SIZE, "%s", s.change.id);
	e = s.change.entry;
	qo_submit_fini(&s);
	if (!claim)
		return;
	ck_assert_int_eq(qo_key_entry(&st.q->layout, &e, key), 0);
	qo_claim_init(&cl, st.q, &e, "w1");
	ck_assert_int_eq(qo_claim_take_wait(&cl, 60000), QO_OK);
	memset(&res, 0, sizeof(res));
	res.why.kind = "exit";
	res.why.message = "no";
	if (end != NULL)
		ck_assert_int_eq(qo_commit_wait(&cl, *end, &res), QO_OK);
	qo_claim_fini(&cl);
}

static void
make_schedule(const char *id, bool paused)
{
	struct qo_schedule want, got;
	struct qo_err err = { 0 };

	qo_schedule_init(&want);
	want.id = id;
	want.cron = "* * * * *";
	want.task_type = "t";
	want.paused = paused;
	ck_assert_msg(qo_schedule_put(st.q, &want, false, &got, &err) == QO_OK,
	    "%s", err.msg);
	qo_schedule_fini(&got);
}

static void
setup(void)
{
	static const enum qo_outcome fails = QO_OUTCOME_FAILED,
				     completes = QO_OUTCOME_COMPLETED;
	char done[QO_UUID_SIZE];

	live_store_start(&st);
	make_task(pending, false, NULL);
	make_task(running, true, NULL);
	make_task(failed, true, &fails);
	make_task(done, true, &completes);
	make_schedule("good", false);
	make_schedule("paused", true);
	qo_queue_flush(st.q);
}

static void
teardown(void)
{
	live_store_stop(&st);
}

static void
put(const char *bucket, const char *key, const char *text)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_PUT, bucket, key);
	r.body = text;
	r.body_len = strlen(text);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
}

static void
delete_all(const char *bucket, const char *prefix)
{
	struct qo_s3_req l, r;
	size_t i;

	qo_s3_req_init(&l, QO_S3_LIST, bucket, NULL);
	l.prefix = prefix;
	ck_assert_int_eq(qo_s3_wait(st.s3, &l), QO_S3_OK);
	ck_assert_uint_gt(l.res.list->n, 0);
	for (i = 0; i < l.res.list->n; i++) {
		qo_s3_req_init(&r, QO_S3_DELETE, bucket,
		    l.res.list->entries[i].key);
		ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
		qo_s3_req_fini(&r);
	}
	qo_s3_req_fini(&l);
}

/* An entry as a writer would have made it. */
static void
put_entry(enum qo_index index, const char *id, int64_t generation, int64_t us)
{
	struct qo_entry e;
	char key[QO_KEY_SIZE];

	qo_entry_make(&e, index, (struct qo_wall){ us }, id, generation);
	ck_assert_int_eq(qo_key_entry(&st.q->layout, &e, key), 0);
	put("qo-index", key, "");
}

/* Writes the task's text again with one word changed. */
static void
edit(const char *id, const char *old, const char *new)
{
	char key[QO_KEY_SIZE], text[16384];
	struct qo_s3_req r;
	char *at;

	ck_assert_int_eq(qo_key_task(&st.q->layout, id, key), 0);
	qo_s3_req_init(&r, QO_S3_GET, "qo", key);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	at = strstr(r.res.body.data, old);
	ck_assert_ptr_nonnull(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - r.res.body.data),
	    r.res.body.data, new, at + strlen(old));
	qo_s3_req_fini(&r);
	put("qo", key, text);
}

static void
no_ready_entry(void)
{
	delete_all("qo-index", "ready/");
}

static void
no_lease_entry(void)
{
	delete_all("qo-index", "leases/");
}

static void
no_failed_entry(void)
{
	delete_all("qo-index", "failed/");
}

static void
no_payload(void)
{
	delete_all("qo", "payloads/");
}

static void
corrupt(void)
{
	edit(pending, "{", "[");
}

static void
alien(void)
{
	put("qo", "tasks/0/notes.txt", "hello");
}

static void
wrong_shard(void)
{
	char old[32], new[32];

	/* Of the other width. */
	snprintf(old, sizeof(old), "\"shard\":\"%.1s\"", pending);
	snprintf(new, sizeof(new), "\"shard\":\"%.2s\"", pending);
	edit(pending, old, new);
}

static void
no_lease_id(void)
{
	edit(running, "\"lease_id\":\"", "\"lease_id\":null,\"was\":\"");
}

static void
bad_key(void)
{
	put("qo-index", "leases/7/hello", "");
}

static void
orphan(void)
{
	put_entry(QO_INDEX_READY, "00000000-0000-4000-8000-000000000000", 1, 0);
}

static void
dead(void)
{
	put_entry(QO_INDEX_READY, failed, 1, 0);
}

static void
ahead(void)
{
	put_entry(QO_INDEX_READY, failed, 2, 0);
}

static void
claim_left(void)
{
	put_entry(QO_INDEX_LEASES, pending, 1, 0);
}

/* One of every minute, with these members. */
static void
put_schedule(const char *members)
{
	char text[1024];

	snprintf(text, sizeof(text),
	    "{\"id\":\"a\",\"cron\":\"* * * * *\",\"task_type\":\"t\",%s}",
	    members);
	put("qo", "schedules/a.json", text);
}

static void
corrupt_schedule(void)
{
	put("qo", "schedules/a.json", "{\"id\":\"a\"}");
}

static void
other_schedule(void)
{
	put("qo", "schedules/b.json",
	    "{\"id\":\"a\",\"cron\":\"* * * * *\",\"task_type\":\"t\"}");
}

static void
newer_schedule(void)
{
	put_schedule("\"format\":2");
}

static void
alien_schedule(void)
{
	put("qo", "schedules/notes.txt", "hello");
}

static void
no_zone(void)
{
	put_schedule("\"timezone\":\"Mars/Olympus\"");
}

static void
due_late(void)
{
	put_schedule("\"next_due\":\"2099-01-01T00:00:00Z\"");
}

static void
due_again(void)
{
	put_schedule("\"last_due\":\"2026-01-01T00:01:00Z\","
		     "\"next_due\":\"2026-01-01T00:01:00Z\"");
}

/* Its task was never submitted. */
static void
not_run(void)
{
	put_schedule("\"last_due\":\"2026-01-01T00:01:00Z\","
		     "\"next_due\":\"2026-01-01T00:02:00Z\","
		     "\"updated_at\":\"2026-01-01T00:01:01Z\","
		     "\"firing\":[\"2026-01-01T00:01:00Z\"]");
}

/* By hand: the time of writing is missing. */
static void
not_run_by_hand(void)
{
	put_schedule("\"firing\":[\"2026-01-01T00:01:00Z\"]");
}

static void
can_not_run(void)
{
	put("qo", "schedules/a.json",
	    "{\"id\":\"a\",\"cron\":\"* * * * *\",\"workflow\":\"w\","
	    "\"firing\":[\"2026-01-01T00:01:00Z\"]}");
}

static const struct {
	void (*damage)(void);
	const char *found, *repaired, *after;
} cases[] = {
	{ no_ready_entry, "no-entry ", "no-entry+ ", "" },
	{ no_lease_entry, "no-entry ", "no-entry+ ", "" },
	{ no_failed_entry, "no-entry ", "no-entry+ ", "" },
	{ no_payload, "no-payload ", "no-payload ", "no-payload " },
	{ corrupt, "corrupt ", "corrupt ", "corrupt " },
	{ alien, "corrupt ", "corrupt ", "corrupt " },
	{ wrong_shard, "wrong-shard ", "wrong-shard ", "wrong-shard " },
	{ no_lease_id, "incomplete ", "incomplete ", "incomplete " },
	{ bad_key, "bad-key ", "bad-key ", "bad-key " },
	{ orphan, "entry-no-task ", "entry-no-task+ ", "" },
	{ dead, "entry-dead ", "entry-dead+ ", "" },
	{ ahead, "entry-ahead ", "entry-ahead+ ", "" },
	{ claim_left, "entry-ahead ", "entry-ahead+ ", "" },
	{ corrupt_schedule, "corrupt ", "corrupt ", "corrupt " },
	{ other_schedule, "corrupt ", "corrupt ", "corrupt " },
	{ newer_schedule, "corrupt ", "corrupt ", "corrupt " },
	{ alien_schedule, "corrupt ", "corrupt ", "corrupt " },
	{ no_zone, "schedule-time ", "schedule-time ", "schedule-time " },
	{ due_late, "schedule-time ", "schedule-time ", "schedule-time " },
	{ due_again, "schedule-time ", "schedule-time ", "schedule-time " },
	{ not_run, "schedule-run ", "schedule-run+ ", "" },
	{ not_run_by_hand, "schedule-run ", "schedule-run+ ", "" },
	{ can_not_run, "schedule-run ", "schedule-run ", "schedule-run " },
};

START_TEST(test_damage)
{
	struct qo_fsck f;

	cases[_i].damage();
	f = check(false, AT_ONCE);
	ck_assert_str_eq(seen, cases[_i].found);
	ck_assert_uint_eq(f.broken, 1);
	f = check(true, AT_ONCE);
	ck_assert_str_eq(seen, cases[_i].repaired);
	ck_assert_uint_eq(f.broken + f.repaired, 1);
	/* A bump leaves the entry of the generation before, now dead. */
	check(true, AT_ONCE);
	f = check(false, AT_ONCE);
	ck_assert_str_eq(seen, cases[_i].after);
}
END_TEST

START_TEST(test_sound)
{
	struct qo_fsck f = check(true, AT_ONCE);

	ck_assert_str_eq(seen, "");
	ck_assert_uint_eq(f.tasks, 4);
	ck_assert_uint_eq(f.entries, 3);
	ck_assert_uint_eq(f.schedules, 2);
	ck_assert_uint_eq(f.broken + f.repaired + f.young, 0);
}
END_TEST

/* What may be a write under way is left alone. */
START_TEST(test_young)
{
	struct qo_fsck f;

	orphan();
	ahead();
	claim_left();
	f = check(true, 17 * 60 * 1000);
	ck_assert_str_eq(seen, "");
	ck_assert_uint_eq(f.young, 3);
	ck_assert_uint_eq(live_store_count(&st, "", NULL), 6);
}
END_TEST

/* What was decided is done, once, and nothing more is decided. */
START_TEST(test_run)
{
	static const char when[] = "2026-01-01T00:01:00Z";
	char id[QO_UUID_SIZE];
	struct qo_err err = { 0 };
	struct qo_schedule s;
	struct qo_wall due;
	struct qo_task t;
	struct qo_fsck f;

	not_run();
	check(true, AT_ONCE);
	f = check(false, AT_ONCE);
	ck_assert_uint_eq(f.tasks, 5);
	ck_assert_int_eq(qo_rfc3339_parse(when, strlen(when), &due), 0);
	qo_schedule_task_id(st.q->prefix, "a", due, id);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(t.available_at.us, due.us);
	ck_assert_str_eq(t.submitted_by, "schedule:a");
	qo_task_fini(&t);
	ck_assert_int_eq(qo_schedule_read(st.q, "a", &s, &err), QO_OK);
	ck_assert_uint_eq(s.nfiring, 0);
	ck_assert_int_eq(s.next_due.us, due.us + 60 * QO_US_PER_SEC);
	qo_schedule_fini(&s);
}
END_TEST

/* A monitor may be at it. */
START_TEST(test_run_young)
{
	char now[QO_RFC3339_SIZE], text[256];
	struct qo_fsck f;

	qo_rfc3339_print(qo_queue_now(st.q), now);
	snprintf(text, sizeof(text),
	    "\"firing\":[\"2026-01-01T00:01:00Z\"],\"updated_at\":\"%s\"", now);
	put_schedule(text);
	f = check(true, 17 * 60 * 1000);
	ck_assert_str_eq(seen, "");
	ck_assert_uint_eq(f.tasks, 4);
	check(false, AT_ONCE);
	ck_assert_str_eq(seen, "schedule-run ");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("fsck");
	TCase *tc = tcase_create("fsck");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_sound);
	tcase_add_loop_test(tc, test_damage, 0, (int)nitems(cases));
	tcase_add_test(tc, test_young);
	tcase_add_test(tc, test_run);
	tcase_add_test(tc, test_run_young);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
