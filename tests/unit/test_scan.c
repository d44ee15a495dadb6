/*
 * Walking and scanning: on the real store, and on a server whose lists go
 * round in circles.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin.h"
#include "commit.h"
#include "live_store.h"
#include "run_suite.h"
#include "s3_fixture.h"
#include "scan.h"
#include "submit.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))
#define MANY      1100 /* more than a page */
#define INFLIGHT  64

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

/* Submitting many */

struct crowd {
	struct qo_submission sub;
	struct qo_submit ops[INFLIGHT];
	size_t sent, done, want;
};

static void
on_submitted(struct qo_submit *s)
{
	struct crowd *c = s->arg;

	ck_assert_msg(s->change.rc == QO_OK, "%s", s->change.err.msg);
	c->done++;
	if (c->sent == c->want)
		return;
	c->sent++;
	qo_submit_fini(s);
	qo_submit_init(s, st.q, &c->sub);
	s->done = on_submitted;
	s->arg = c;
	qo_submit_start(s);
}

static void
submit_many(size_t n)
{
	static struct crowd c;
	size_t i, first = n < INFLIGHT ? n : INFLIGHT;

	memset(&c, 0, sizeof(c));
	qo_submission_init(&c.sub);
	c.sub.task_type = "t";
	c.want = n;
	c.sent = first;
	for (i = 0; i < first; i++) {
		qo_submit_init(&c.ops[i], st.q, &c.sub);
		c.ops[i].done = on_submitted;
		c.ops[i].arg = &c;
		qo_submit_start(&c.ops[i]);
	}
	while (c.done < n)
		loop_once(st.loop, -1);
	for (i = 0; i < first; i++)
		qo_submit_fini(&c.ops[i]);
}

static void
submit_one(const char *type, char id[QO_UUID_SIZE])
{
	struct qo_submission sub;
	struct qo_submit s;

	qo_submission_init(&sub);
	sub.task_type = type;
	qo_submit_init(&s, st.q, &sub);
	ck_assert_msg(qo_submit_wait(&s) == QO_OK, "%s", s.change.err.msg);
	memcpy(id, s.change.id, QO_UUID_SIZE);
	qo_submit_fini(&s);
}

static void
put(const char *bucket, const char *key, const char *text)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_PUT, bucket, key);
	r.body = text;
	r.body_len = strlen(text);
	ck_assert_msg(qo_s3_wait(st.s3, &r) == QO_S3_OK, "%s", r.res.err.msg);
	qo_s3_req_fini(&r);
}

/* What a scan has seen */

struct seen {
	size_t tasks, limit, ncorrupt;
	char last_id[QO_UUID_SIZE];
	enum qo_status last_status;
	char keys[16][QO_KEY_SIZE];
	char whys[16][128];
};

static bool
on_task(struct qo_scan *s, const struct qo_task *t, const char *text,
    size_t len)
{
	struct seen *seen = s->arg;

	ck_assert_uint_gt(len, 2);
	ck_assert_int_eq(text[0], '{');
	memcpy(seen->last_id, t->id, QO_UUID_SIZE);
	seen->last_status = t->status;
	return ++seen->tasks != seen->limit;
}

static void
on_corrupt(struct qo_scan *s, const char *key, const char *why)
{
	struct seen *seen = s->arg;

	ck_assert_uint_lt(seen->ncorrupt, nitems(seen->keys));
	snprintf(seen->keys[seen->ncorrupt], QO_KEY_SIZE, "%s", key);
	snprintf(seen->whys[seen->ncorrupt++], 128, "%s", why);
}

static struct qo_scan scan; /* large */

static void
run(unsigned sources, const char *shard, size_t limit, struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	seen->limit = limit;
	qo_scan_init(&scan, st.q, sources);
	scan.shard = shard;
	scan.task = on_task;
	scan.corrupt = on_corrupt;
	scan.arg = seen;
	ck_assert_msg(qo_scan_wait(&scan) == QO_OK, "%s", scan.err.msg);
	qo_scan_fini(&scan);
}

START_TEST(test_empty)
{
	struct seen seen;

	run(QO_SCAN_ACTIVE, NULL, 0, &seen);
	ck_assert_uint_eq(seen.tasks, 0);
	run(QO_SCAN_TASKS, NULL, 0, &seen);
	ck_assert_uint_eq(seen.tasks, 0);
	run(QO_SCAN_TASKS, "a", 0, &seen);
	ck_assert_uint_eq(seen.tasks, 0);
}
END_TEST

START_TEST(test_many)
{
	struct seen seen;
	char id[QO_UUID_SIZE], shard[2] = "0";
	size_t sum = 0;
	int i;

	submit_many(MANY);
	submit_one("last", id);
	run(QO_SCAN_READY, NULL, 0, &seen);
	ck_assert_uint_eq(seen.tasks, MANY + 1);
	ck_assert_uint_eq(scan.listed, MANY + 1);
	ck_assert_uint_eq(scan.read, MANY + 1);
	run(QO_SCAN_TASKS, NULL, 0, &seen);
	ck_assert_uint_eq(seen.tasks, MANY + 1);
	for (i = 0; i < 16; i++) {
		shard[0] = "0123456789abcdef"[i];
		run(QO_SCAN_READY, shard, 0, &seen);
		sum += seen.tasks;
		if (seen.tasks > 0)
			ck_assert_int_eq(seen.last_id[0], shard[0]);
	}
	ck_assert_uint_eq(sum, MANY + 1);
	run(QO_SCAN_LEASES | QO_SCAN_FAILED, NULL, 0, &seen);
	ck_assert_uint_eq(seen.tasks, 0);
	/* Enough is enough. */
	run(QO_SCAN_READY, NULL, 7, &seen);
	ck_assert_uint_eq(seen.tasks, 7);
	ck_assert_uint_le(scan.read, 7);
}
END_TEST

/* LastModified has a grain of a millisecond. */
static void
let_time_pass(void)
{
	struct qo_mono until = qo_mono_add_ms(qo_mono_now(), 3);

	while (qo_mono_now().us < until.us)
		loop_once(st.loop, 1);
}

START_TEST(test_newest_first)
{
	struct seen seen;
	char ids[20][QO_UUID_SIZE];
	size_t i;

	for (i = 0; i < nitems(ids); i++) {
		submit_one("t", ids[i]);
		let_time_pass();
	}
	for (i = 1; i <= nitems(ids); i++) {
		run(i % 2 == 0 ? QO_SCAN_READY : QO_SCAN_TASKS, NULL, i, &seen);
		ck_assert_str_eq(seen.last_id, ids[nitems(ids) - i]);
	}
}
END_TEST

START_TEST(test_each_once)
{
	struct seen seen;
	struct qo_claim cl;
	struct qo_entry e;
	char id[QO_UUID_SIZE], key[QO_KEY_SIZE], ready[QO_KEY_SIZE];

	submit_one("t", id);
	ck_assert_uint_eq(live_store_count(&st, "ready/", ready), 1);
	ck_assert_int_eq(qo_entry_parse(&st.q->layout, ready, strlen(ready),
			     &e),
	    0);
	qo_claim_init(&cl, st.q, &e, "w1");
	ck_assert_int_eq(qo_claim_take_wait(&cl, 60000), QO_OK);
	qo_queue_flush(st.q);
	/* As if the old entries were still there. */
	put(st.q->index_bucket, ready, "");
	qo_entry_make(&e, QO_INDEX_READY, (struct qo_wall){ 0 }, id, 1);
	ck_assert_int_eq(qo_key_entry(&st.q->layout, &e, key), 0);
	put(st.q->index_bucket, key, "");
	run(QO_SCAN_ACTIVE, NULL, 0, &seen);
	ck_assert_uint_eq(seen.tasks, 1);
	ck_assert_int_eq(seen.last_status, QO_STATUS_RUNNING);
	/* Named by the entry that is furthest. */
	qo_scan_init(&scan, st.q, QO_SCAN_ACTIVE);
	ck_assert_int_eq(qo_scan_wait(&scan), QO_OK);
	ck_assert_uint_eq(scan.nnames, 1);
	ck_assert_uint_eq(scan.listed, 3);
	ck_assert_uint_eq(scan.read, 0);
	ck_assert_int_eq(scan.names[0].entry.index, QO_INDEX_LEASES);
	qo_scan_fini(&scan);
	qo_claim_fini(&cl);
}
END_TEST

#define U(n) "00000000-0000-4000-8000-00000000000" n

static const struct {
	const char *id;
	const char *text;
	const char *why;
} bad[] = {
	{ U("1"), "not json", "invalid JSON" },
	{ U("2"), "", "" },
	{ U("3"), "[]", "" },
	{ U("4"), "{\"id\":4}", "id" },
	{ U("5"),
	    "{\"id\":\"" U("6") "\",\"shard\":\"0\",\"task_type\":\"t\","
				"\"status\":\"pending\","
				"\"available_at\":\"2026-01-28T12:00:00Z\","
				"\"created_at\":\"2026-01-28T12:00:00Z\","
				"\"updated_at\":\"2026-01-28T12:00:00Z\"}",
	    "id" },
	{ U("7"),
	    "{\"id\":\"" U(
		"7") "\",\"shard\":\"0\",\"task_type\":\"t\","
		     "\"status\":\"pending\","
		     "\"available_at\":\"2026-01-28T12:00:00Z\","
		     "\"created_at\":\"2026-01-28T12:00:00Z\","
		     "\"updated_at\":\"2026-01-28T12:00:00Z\",\"format\":99}",
	    "format" },
};

START_TEST(test_corrupt)
{
	struct seen seen;
	struct qo_entry e;
	char id[QO_UUID_SIZE], key[QO_KEY_SIZE];
	size_t i, j;

	submit_one("t", id);
	for (i = 0; i < nitems(bad); i++) {
		qo_entry_make(&e, QO_INDEX_READY, (struct qo_wall){ 0 },
		    bad[i].id, 1);
		ck_assert_int_eq(qo_key_entry(&st.q->layout, &e, key), 0);
		put(st.q->index_bucket, key, "");
		ck_assert_int_eq(qo_key_task(&st.q->layout, bad[i].id, key), 0);
		put(st.q->bucket, key, bad[i].text);
	}
	put(st.q->index_bucket, "ready/0/foreign", "");
	put(st.q->bucket, "tasks/0/foreign.json", "{}");
	/* An entry without a task is nobody's fault. */
	put(st.q->index_bucket, "ready/0/0000000001/" U("9"), "");
	for (j = 0; j < 2; j++) {
		run(j == 0 ? QO_SCAN_ACTIVE : QO_SCAN_TASKS, NULL, 0, &seen);
		ck_assert_uint_eq(seen.tasks, 1);
		ck_assert_str_eq(seen.last_id, id);
		ck_assert_uint_eq(seen.ncorrupt, nitems(bad) + 1);
		ck_assert_ptr_nonnull(strstr(seen.keys[0], "foreign"));
	}
	for (i = 0; i < nitems(bad); i++) {
		ck_assert_int_eq(qo_key_task(&st.q->layout, bad[i].id, key), 0);
		for (j = 0; j < seen.ncorrupt; j++)
			if (strcmp(seen.keys[j], key) == 0)
				break;
		ck_assert_msg(j < seen.ncorrupt, "%s was not reported", key);
		ck_assert_ptr_nonnull(strstr(seen.whys[j], bad[i].why));
	}
}
END_TEST

START_TEST(test_unreachable)
{
	struct seen seen;
	struct loop *l = loop_new();
	struct qo_s3 *s3 = live_store_client(&st, l, "http://127.0.0.1:1");
	struct qo_queue *q = live_store_queue(&st, l, s3);

	memset(&seen, 0, sizeof(seen));
	qo_scan_init(&scan, q, QO_SCAN_ACTIVE);
	scan.task = on_task;
	scan.arg = &seen;
	ck_assert_int_eq(qo_scan_wait(&scan), QO_AGAIN);
	ck_assert_uint_gt(strlen(scan.err.msg), 0);
	qo_scan_fini(&scan);
	qo_queue_free(q);
	qo_s3_free(s3);
	loop_free(l);
}
END_TEST

/* Lists that go round in circles */

#define PAGE(keys, more, token)                                  \
	"<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/" \
	"2006-03-01/\"><Name>b</Name><Prefix>p</Prefix>"         \
	"<IsTruncated>" more "</IsTruncated>" keys token "</ListBucketResult>"
#define KEY(k)                                                  \
	"<Contents><Key>" k "</Key>"                            \
	"<LastModified>2026-01-28T12:00:00.000Z</LastModified>" \
	"<ETag>&quot;x&quot;</ETag><Size>0</Size></Contents>"
#define TOKEN(t) "<NextContinuationToken>" t "</NextContinuationToken>"

static const struct {
	const char *pages[3];
	enum qo_rc rc;
	const char *why;
	size_t keys;
} circles[] = {
	{ { PAGE(KEY("p1"), "true", TOKEN("a")),
	      PAGE(KEY("p2"), "true", TOKEN("b")),
	      PAGE(KEY("p3"), "false", "") },
	    QO_OK, "", 3 },
	{ { PAGE(KEY("p1"), "true", TOKEN("a")),
	      PAGE(KEY("p2"), "true", TOKEN("a")),
	      PAGE(KEY("p3"), "false", "") },
	    QO_ERR, "the same continuation token again", 2 },
	{ { PAGE(KEY("p1"), "true", TOKEN("a")),
	      PAGE(KEY("p2"), "true", TOKEN("b")),
	      PAGE(KEY("p2"), "true", TOKEN("c")) },
	    QO_ERR, "out of order", 2 },
	{ { PAGE(KEY("p1"), "true", TOKEN("a")), PAGE("", "true", TOKEN("b")),
	      PAGE(KEY("p2"), "false", "") },
	    QO_OK, "", 2 },
};

static struct fixture fx;

static bool
on_key(struct qo_walk *w, const struct qo_s3_entry *e)
{
	(void)w;
	(void)e;
	return true;
}

static void
on_walked(struct qo_walk *w)
{
	*(bool *)w->arg = true;
}

START_TEST(test_circles)
{
	struct script_step steps[3];
	struct qo_walk w;
	bool done = false;
	size_t i;

	for (i = 0; i < 3; i++)
		steps[i] = answer("200 OK", NOW, circles[_i].pages[i]);
	fixture_start(&fx, steps, 3, NULL);
	qo_walk_init(&w, fx.s3, "b");
	snprintf(w.prefix, sizeof(w.prefix), "p");
	w.entry = on_key;
	w.done = on_walked;
	w.arg = &done;
	qo_walk_start(&w);
	while (!done)
		loop_once(fx.loop, -1);
	ck_assert_int_eq(w.rc, circles[_i].rc);
	ck_assert_uint_eq(w.keys, circles[_i].keys);
	ck_assert_ptr_nonnull(strstr(w.err.msg, circles[_i].why));
	qo_walk_fini(&w);
	fixture_stop(&fx);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("scan");
	TCase *tc = tcase_create("scan");
	TCase *pure = tcase_create("walk");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_empty);
	tcase_add_test(tc, test_many);
	tcase_add_test(tc, test_newest_first);
	tcase_add_test(tc, test_each_once);
	tcase_add_test(tc, test_corrupt);
	tcase_add_test(tc, test_unreachable);
	suite_add_tcase(s, tc);
	tcase_set_timeout(pure, 60);
	tcase_add_loop_test(pure, test_circles, 0, (int)nitems(circles));
	suite_add_tcase(s, pure);
	return run_suite(s);
}
