/*
 * The history of a task on the real store, the difference of two versions,
 * and the record of a worker.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin.h"
#include "commit.h"
#include "history.h"
#include "live_store.h"
#include "run_suite.h"
#include "submit.h"
#include "worker_record.h"

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

static void
submit(char id[QO_UUID_SIZE])
{
	struct qo_submission sub;
	struct qo_submit s;

	qo_submission_init(&sub);
	sub.task_type = "t";
	qo_submit_init(&s, st.q, &sub);
	ck_assert_msg(qo_submit_wait(&s) == QO_OK, "%s", s.change.err.msg);
	memcpy(id, s.change.id, QO_UUID_SIZE);
	qo_submit_fini(&s);
}

struct seen {
	size_t n, markers, ncorrupt;
	int64_t revs[2048];
	enum qo_status last;
};

static bool
on_version(struct qo_history *h, const struct qo_version *v,
    const struct qo_task *t, const char *text, size_t len)
{
	struct seen *seen = h->arg;

	if (t == NULL) {
		ck_assert(v->is_marker);
		seen->markers++;
		return true;
	}
	ck_assert_ptr_nonnull(memchr(text, '{', len));
	ck_assert_uint_lt(seen->n, nitems(seen->revs));
	seen->revs[seen->n++] = t->rev;
	seen->last = t->status;
	return true;
}

static void
on_corrupt(struct qo_history *h, const struct qo_version *v, const char *why)
{
	struct seen *seen = h->arg;

	ck_assert_uint_gt(strlen(v->id), 0);
	ck_assert_uint_gt(strlen(why), 0);
	seen->ncorrupt++;
}

static struct qo_history hist; /* large */

static enum qo_rc
look(struct qo_queue *q, const char *id, struct seen *seen)
{
	enum qo_rc rc;

	memset(seen, 0, sizeof(*seen));
	qo_history_init(&hist, q, id);
	hist.version = on_version;
	hist.corrupt = on_corrupt;
	hist.arg = seen;
	rc = qo_history_wait(&hist);
	qo_history_fini(&hist);
	return rc;
}

static void
put(const char *bucket, const char *key, const char *text, size_t len)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, text != NULL ? QO_S3_PUT : QO_S3_DELETE, bucket,
	    key);
	r.body = text;
	r.body_len = len;
	ck_assert_msg(qo_s3_wait(st.s3, &r) == QO_S3_OK, "%s", r.res.err.msg);
	qo_s3_req_fini(&r);
}

static void
run_to_end(void)
{
	struct qo_claim cl;
	struct qo_entry e;
	char key[QO_KEY_SIZE];
	struct qo_result res;

	memset(&res, 0, sizeof(res));
	ck_assert_uint_eq(live_store_count(&st, "ready/", key), 1);
	ck_assert_int_eq(qo_entry_parse(&st.q->layout, key, strlen(key), &e),
	    0);
	qo_claim_init(&cl, st.q, &e, "w1");
	ck_assert_int_eq(qo_claim_take_wait(&cl, 60000), QO_OK);
	ck_assert_int_eq(qo_claim_renew_wait(&cl, 120000), QO_OK);
	ck_assert_int_eq(qo_commit_wait(&cl, QO_OUTCOME_COMPLETED, &res),
	    QO_OK);
	qo_claim_fini(&cl);
	qo_queue_flush(st.q);
}

START_TEST(test_versions)
{
	struct seen seen;
	char id[QO_UUID_SIZE], key[QO_KEY_SIZE], longer[QO_KEY_SIZE + 8];
	size_t i;

	submit(id);
	run_to_end();
	/* A key that begins with the task's own. */
	ck_assert_int_eq(qo_key_task(&st.q->layout, id, key), 0);
	snprintf(longer, sizeof(longer), "%s.bak", key);
	put(st.q->bucket, longer, "{}", 2);
	ck_assert_int_eq(look(st.q, id, &seen), QO_OK);
	ck_assert(!hist.unversioned);
	ck_assert_uint_eq(hist.nversions, 4);
	ck_assert_uint_eq(seen.n, 4);
	for (i = 0; i < seen.n; i++)
		ck_assert_int_eq(seen.revs[i], (int64_t)i + 1);
	ck_assert_int_eq(seen.last, QO_STATUS_COMPLETED);
	/* What somebody else has done to the object. */
	put(st.q->bucket, key, "garbage", 7);
	put(st.q->bucket, key, NULL, 0);
	ck_assert_int_eq(look(st.q, id, &seen), QO_OK);
	ck_assert_uint_eq(seen.n, 4);
	ck_assert_uint_eq(seen.ncorrupt, 1);
	ck_assert_uint_eq(seen.markers, 1);
}
END_TEST

START_TEST(test_absent)
{
	struct seen seen;

	ck_assert_int_eq(look(st.q, "00000000-0000-4000-8000-000000000001",
			     &seen),
	    QO_NOENT);
	ck_assert_uint_eq(seen.n, 0);
	ck_assert_ptr_nonnull(strstr(hist.err.msg, "00000000-0000-4000"));
}
END_TEST

/* More versions than a page holds. */
START_TEST(test_pages)
{
	struct seen seen;
	struct qo_task t;
	struct buf b;
	char id[QO_UUID_SIZE], key[QO_KEY_SIZE];
	int i;

	submit(id);
	live_store_task(&st, id, &t);
	ck_assert_int_eq(qo_key_task(&st.q->layout, id, key), 0);
	buf_init(&b, QO_TASK_LEN_MAX);
	for (i = 2; i <= 1300; i++) {
		t.rev = i;
		buf_reset(&b);
		ck_assert_int_eq(qo_task_encode(&t, &b, NULL), 0);
		put(st.q->bucket, key, b.data, b.len);
	}
	ck_assert_int_eq(look(st.q, id, &seen), QO_OK);
	ck_assert_uint_eq(seen.n, 1300);
	for (i = 0; i < 1300; i++)
		ck_assert_int_eq(seen.revs[i], i + 1);
	buf_fini(&b);
	qo_task_fini(&t);
}
END_TEST

START_TEST(test_unversioned)
{
	struct qo_queue_conf conf;
	struct qo_queue *q;
	struct seen seen;
	struct qo_task t;
	struct buf b;
	char id[QO_UUID_SIZE], key[QO_KEY_SIZE];

	submit(id);
	live_store_task(&st, id, &t);
	buf_init(&b, QO_TASK_LEN_MAX);
	ck_assert_int_eq(qo_task_encode(&t, &b, NULL), 0);
	ck_assert_int_eq(qo_key_task(&st.q->layout, id, key), 0);
	put(st.q->index_bucket, key, b.data, b.len);
	memset(&conf, 0, sizeof(conf));
	conf.bucket = st.q->index_bucket;
	conf.shard_width = 1;
	q = qo_queue_new(st.loop, st.s3, &conf);
	ck_assert_int_eq(look(q, id, &seen), QO_OK);
	ck_assert(hist.unversioned);
	ck_assert_uint_eq(seen.n, 1);
	ck_assert_int_eq(look(q, "00000000-0000-4000-8000-000000000001", &seen),
	    QO_NOENT);
	qo_queue_free(q);
	buf_fini(&b);
	qo_task_fini(&t);
}
END_TEST

/* The difference */

static void
add_change(const char *member, const struct qo_json *was,
    const struct qo_json *is, void *arg)
{
	struct buf *b = arg;

	buf_addf(b, "%s:%.*s>%.*s;", member, was->p != NULL ? (int)was->len : 1,
	    was->p != NULL ? was->p : "-", is->p != NULL ? (int)is->len : 1,
	    is->p != NULL ? is->p : "-");
}

static const struct {
	const char *was, *is, *want; /* want NULL: not objects */
} diffs[] = {
	{ "{}", "{}", "" },
	{ "{\"a\":1}", "{\"a\":1}", "" },
	{ "{\"a\":1}", "{\"a\":2}", "a:1>2;" },
	{ "{\"a\":1}", "{\"a\":1.0}", "a:1>1.0;" },
	{ "{\"a\":1}", "{\"b\":1}", "b:->1;a:1>-;" },
	{ "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", "" },
	{ "{\"a\":1,\"b\":{\"c\":[1]},\"d\":\"x\"}",
	    "{\"a\":null,\"b\":{\"c\":[2]},\"d\":\"x\"}",
	    "a:1>null;b:{\"c\":[1]}>{\"c\":[2]};" },
	{ "{\"a\" : 1 , \"b\" : 2 }", "{\"b\":2,\"a\":3}", "a:1>3;" },
	{ "[]", "{}", NULL },
	{ "{}", "nonsense", NULL },
};

START_TEST(test_diff)
{
	struct buf b;
	int rc;

	buf_init(&b, 4096);
	rc = qo_history_diff(diffs[_i].was, strlen(diffs[_i].was), diffs[_i].is,
	    strlen(diffs[_i].is), add_change, &b);
	ck_assert_int_eq(rc, diffs[_i].want != NULL ? 0 : -1);
	if (diffs[_i].want != NULL)
		ck_assert_str_eq(b.data, diffs[_i].want);
	buf_fini(&b);
}
END_TEST

START_TEST(test_renewal)
{
	struct qo_task a, b;

	qo_task_init(&a);
	qo_task_init(&b);
	a.status = b.status = QO_STATUS_RUNNING;
	a.lease_id = "l1";
	b.lease_id = "l1";
	b.rev = 2;
	ck_assert(qo_history_is_renewal(&a, &b));
	b.cancel_requested = true;
	ck_assert(!qo_history_is_renewal(&a, &b));
	b.cancel_requested = false;
	b.lease_id = "l2";
	ck_assert(!qo_history_is_renewal(&a, &b));
	b.lease_id = "l1";
	b.status = QO_STATUS_COMPLETED;
	ck_assert(!qo_history_is_renewal(&a, &b));
	a.status = QO_STATUS_COMPLETED;
	ck_assert(!qo_history_is_renewal(&a, &b));
}
END_TEST

/* The worker's record */

#define WORKER                                                              \
	"{\"worker_id\":\"w1\",\"host\":\"h\",\"pid\":7,\"version\":\"1\"," \
	"\"started_at\":\"2026-01-28T12:00:00.000000Z\","                   \
	"\"last_heartbeat\":\"2026-01-28T12:00:10.000000Z\","               \
	"\"shards\":[\"0\",\"1\"],\"current_task\":null,"                   \
	"\"current_tasks\":[\"a\",\"b\"],\"slots\":16,"                     \
	"\"tasks_completed\":3,\"tasks_failed\":1,\"mine\":{\"x\":1e9}}"

START_TEST(test_worker)
{
	struct qo_worker_record w;
	struct qo_err err;
	struct buf b;

	ck_assert_msg(qo_worker_record_decode(&w, "w1", WORKER, strlen(WORKER),
			  &err) == 0,
	    "%s", err.msg);
	ck_assert_int_eq(w.pid, 7);
	ck_assert_int_eq(w.slots, 16);
	ck_assert_uint_eq(qo_worker_record_busy(&w), 2);
	buf_init(&b, 4096);
	ck_assert_int_eq(qo_worker_record_encode(&w, &b, &err), 0);
	ck_assert_str_eq(b.data, WORKER);
	buf_fini(&b);
	qo_worker_record_fini(&w);
	ck_assert_int_eq(qo_worker_record_decode(&w, "w2", WORKER,
			     strlen(WORKER), &err),
	    -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "worker_id"));
	ck_assert_int_eq(qo_worker_record_decode(&w, NULL,
			     "{\"worker_id\":\"../x\"}", 20, &err),
	    -1);
	ck_assert_int_eq(qo_worker_record_decode(&w, NULL, "[]", 2, &err), -1);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("history");
	TCase *tc = tcase_create("history");
	TCase *pure = tcase_create("diff");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_versions);
	tcase_add_test(tc, test_absent);
	tcase_add_test(tc, test_pages);
	tcase_add_test(tc, test_unversioned);
	suite_add_tcase(s, tc);
	tcase_set_timeout(pure, 60);
	tcase_add_loop_test(pure, test_diff, 0, (int)nitems(diffs));
	tcase_add_test(pure, test_renewal);
	tcase_add_test(pure, test_worker);
	suite_add_tcase(s, pure);
	return run_suite(s);
}
