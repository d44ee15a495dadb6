#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../qo-worker/poll.h"
#include "live_store.h"
#include "run_suite.h"

#define INFLIGHT    64
#define PATIENCE_MS 120000 /* on a busy machine */

static struct live_store store;

/* Somebody who takes what the poll finds. */
struct taker {
	struct entries *entries;
	struct shards shards;
	struct poll *poll;
	enum poll_hunger hunger;
	size_t taken,
	    good; /* good: generation 7, the others can not be served */
	struct qo_mono since; /* when it began */
};

static enum poll_hunger
on_hungry(void *arg)
{
	return ((struct taker *)arg)->hunger;
}

static void
on_found(void *arg)
{
	struct taker *t = arg;
	struct qo_mono now = loop_now(store.loop);
	struct qo_entry e;
	unsigned tries;

	while (entries_take(t->entries, now, &e, &tries)) {
		t->taken++;
		if (e.generation == 7) {
			t->good++;
			entries_done(t->entries, &e, now);
		} else {
			entries_later(t->entries, &e, SEEN_UNKNOWN_TYPE, now);
		}
	}
}

static void
taker_start(struct taker *t, int index, int of, int64_t grace_ms)
{
	struct poll_conf c = { store.loop, store.q, NULL, &t->shards, 64, 50,
		5000, grace_ms, on_hungry, on_found, t };
	struct qo_err err;

	memset(t, 0, sizeof(*t));
	ck_assert_int_eq(shards_init(&t->shards, "all", 1, index, of, &err), 0);
	t->entries = entries_new(64 + 1000, qo_mono_now());
	c.entries = t->entries;
	t->hunger = POLL_HUNGRY;
	t->since = qo_mono_now();
	t->poll = poll_new(&c);
	poll_start(t->poll);
}

static void
taker_stop(struct taker *t)
{
	poll_free(t->poll);
	entries_free(t->entries);
}

/* Runs the loop until n good ones were taken, or the time is up. */
static void
run_until(struct taker *t, size_t n, int64_t ms)
{
	struct qo_mono end = qo_mono_add_ms(qo_mono_now(), ms);

	while (t->good < n && qo_mono_now().us < end.us)
		loop_once(store.loop, 20);
}

static uint64_t
lists(void)
{
	return qo_s3_stats(store.s3)->requests[QO_S3_LIST];
}

/* Until the store holds the list of one that has found nothing: the first of
 * all was answered, the second is under way. */
static void
run_until_held(struct taker *t, uint64_t before)
{
	struct qo_mono end = qo_mono_add_ms(qo_mono_now(), PATIENCE_MS);

	while (!poll_is_held(t->poll) || lists() < before + 2) {
		ck_assert_int_lt(qo_mono_now().us, end.us);
		loop_once(store.loop, 20);
	}
}

static uint64_t
passed_ms(struct qo_mono since)
{
	return (uint64_t)(qo_mono_diff_us(since, qo_mono_now()) / QO_US_PER_MS);
}

/* Writing entries, many at a time. */
struct writer {
	struct qo_s3_req req;
	char key[QO_KEY_SIZE];
	size_t *left;
	enum qo_index index;
	int64_t minute, generation;
	const char *shard; /* NULL: any */
};

static void send_entry(struct writer *w);

static void
on_put(struct qo_s3_req *r)
{
	ck_assert_msg(r->res.outcome == QO_S3_OK, "%s", r->res.err.msg);
	send_entry(r->arg);
}

static void
send_entry(struct writer *w)
{
	char id[QO_UUID_SIZE];
	struct qo_entry e;

	if (*w->left == 0)
		return;
	(*w->left)--;
	do
		qo_uuid_v4(id);
	while (w->shard != NULL && id[0] != w->shard[0]);
	qo_entry_make(&e, w->index,
	    (struct qo_wall){ w->minute * 60 * QO_US_PER_SEC }, id,
	    w->generation);
	ck_assert_int_eq(qo_key_entry(&store.q->layout, &e, w->key), 0);
	qo_s3_req_fini(&w->req);
	qo_s3_req_init(&w->req, QO_S3_PUT, store.q->index_bucket, w->key);
	w->req.done = on_put;
	w->req.arg = w;
	qo_s3_send(store.s3, &w->req);
}

static void
put_entries(size_t n, enum qo_index index, int64_t minute, int64_t generation,
    const char *shard)
{
	static struct writer writers[INFLIGHT];
	size_t i, left = n;
	bool busy = true;

	for (i = 0; i < INFLIGHT; i++) {
		memset(&writers[i], 0, sizeof(writers[i]));
		qo_s3_req_init(&writers[i].req, QO_S3_PUT, NULL, NULL);
		writers[i].left = &left;
		writers[i].index = index;
		writers[i].minute = minute;
		writers[i].generation = generation;
		writers[i].shard = shard;
		send_entry(&writers[i]);
	}
	while (busy) {
		loop_once(store.loop, -1);
		busy = false;
		for (i = 0; i < INFLIGHT; i++)
			busy |= writers[i].req.flight != NULL;
	}
	for (i = 0; i < INFLIGHT; i++)
		qo_s3_req_fini(&writers[i].req);
}

static int64_t
minute_now(void)
{
	return qo_minute(qo_queue_now(store.q));
}

static void
setup(void)
{
	live_store_start(&store);
}

static void
teardown(void)
{
	live_store_stop(&store);
}

START_TEST(few_entries_are_one_list)
{
	struct taker t;
	uint64_t before;

	put_entries(5, QO_INDEX_READY, minute_now(), 7, NULL);
	put_entries(5, QO_INDEX_READY_HIGH, minute_now() - 3, 7, NULL);
	put_entries(5, QO_INDEX_READY_LOW, minute_now() - 3, 7, NULL);
	put_entries(5, QO_INDEX_READY, minute_now() + 600, 7, NULL);
	before = lists();
	taker_start(&t, 0, 1, 0);
	run_until(&t, 15, PATIENCE_MS);
	ck_assert_uint_eq(t.good, 15);
	/* And perhaps the next already, which is held. */
	ck_assert_uint_le(lists() - before, 2);
	taker_stop(&t);
}
END_TEST

START_TEST(an_idle_poll_is_woken)
{
	struct taker t;
	uint64_t before;
	size_t i;

	before = lists();
	taker_start(&t, 0, 1, 0);
	run_until_held(&t, before);
	before = lists();
	for (i = 1; i <= 10; i++) {
		put_entries(1, QO_INDEX_READY, minute_now(), 7, NULL);
		run_until(&t, i, PATIENCE_MS);
		ck_assert_uint_eq(t.good, i);
	}
	/* Each time one that is answered, and the next that is held. */
	ck_assert_uint_le(lists() - before, 22);
	taker_stop(&t);
}
END_TEST

/* What nobody here can serve does not stand before those behind it. */
START_TEST(ten_thousand_in_front_starve_nobody)
{
	struct taker t;
	size_t i, before;

	put_entries(10000, QO_INDEX_READY, minute_now() - 100, 1, NULL);
	put_entries(3000, QO_INDEX_READY_HIGH, minute_now() - 100, 1, NULL);
	put_entries(40, QO_INDEX_READY, minute_now() - 1, 7, NULL);
	put_entries(40, QO_INDEX_READY_LOW, minute_now() - 1, 7, NULL);
	taker_start(&t, 0, 1, 0);
	run_until(&t, 80, PATIENCE_MS);
	ck_assert_uint_ge(t.good, 80);
	/* And those that come now are found, among the many.  (One whose row
	 * in the memory is full may be taken twice: its entry stays here.) */
	for (i = 0; i < 3; i++) {
		before = t.good;
		put_entries(1, QO_INDEX_READY, minute_now(), 7, NULL);
		run_until(&t, before + 1, PATIENCE_MS);
		ck_assert_uint_gt(t.good, before);
	}
	/* Nothing was looked at over and over: what can not be served comes
	 * back after ten seconds, if all this took so long, and before that
	 * in every round the few for which there was no room. */
	ck_assert_uint_le(t.taken, 13500 + 13500 * passed_ms(t.since) / 10000);
	taker_stop(&t);
}
END_TEST

/* More to do than fits, and what comes later in the order gets its turn. */
START_TEST(a_full_queue_takes_its_time)
{
	struct taker t;
	uint64_t before;

	put_entries(3000, QO_INDEX_READY, minute_now() - 5, 7, NULL);
	before = lists();
	taker_start(&t, 0, 1, 0);
	run_until(&t, 3000, PATIENCE_MS);
	ck_assert_uint_eq(t.good, 3000);
	/* One wide, then about two rounds of sixteen lanes and the looks at
	 * the other priorities, which come as time goes by. */
	ck_assert_uint_le(lists() - before, 120 + passed_ms(t.since) / 20);
	taker_stop(&t);
}
END_TEST

/* Entries of the future are not walked through. */
START_TEST(the_future_is_skipped)
{
	struct taker t;
	struct qo_mono since;
	uint64_t before;

	put_entries(4000, QO_INDEX_READY, minute_now() + 1000, 7, NULL);
	put_entries(16, QO_INDEX_READY, minute_now() - 1, 7, "f");
	taker_start(&t, 0, 1, 0);
	run_until(&t, 16, PATIENCE_MS);
	ck_assert_uint_eq(t.good, 16);
	run_until(&t, 17, 500);
	before = lists();
	since = qo_mono_now();
	put_entries(1, QO_INDEX_READY, minute_now(), 7, "f");
	run_until(&t, 17, PATIENCE_MS);
	ck_assert_uint_eq(t.good, 17);
	ck_assert_uint_le(lists() - before, 60 + passed_ms(since) / 20);
	taker_stop(&t);
}
END_TEST

START_TEST(others_are_helped_after_the_grace)
{
	struct taker t;

	taker_start(&t, 0, 2, 200);
	put_entries(3, QO_INDEX_READY, minute_now(), 7, "f");
	run_until(&t, 1, 1500);
	ck_assert_uint_eq(t.good, 0); /* it does not help */
	put_entries(3, QO_INDEX_READY, minute_now(), 7, "0");
	run_until(&t, 3, PATIENCE_MS);
	ck_assert_uint_eq(t.good, 3);
	t.hunger = POLL_HELPS;
	poll_now(t.poll);
	run_until(&t, 6, PATIENCE_MS);
	ck_assert_uint_eq(t.good, 6);
	taker_stop(&t);
}
END_TEST

/* Nobody asks when nobody could take. */
START_TEST(the_sated_ask_nothing)
{
	struct taker t;
	uint64_t before;

	before = lists();
	taker_start(&t, 0, 1, 0);
	run_until_held(&t, before);
	t.hunger = POLL_SATED;
	put_entries(1, QO_INDEX_READY, minute_now(), 7, NULL);
	run_until(&t, 1, PATIENCE_MS);
	ck_assert_uint_eq(t.good, 1); /* the list that was held */
	before = lists();
	put_entries(1, QO_INDEX_READY, minute_now(), 7, NULL);
	run_until(&t, 2, 500);
	ck_assert_uint_eq(lists(), before);
	t.hunger = POLL_HUNGRY;
	poll_kick(t.poll);
	run_until(&t, 2, PATIENCE_MS);
	ck_assert_uint_eq(t.good, 2);
	taker_stop(&t);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("worker: poll");
	TCase *tc = tcase_create("live");

	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, few_entries_are_one_list);
	tcase_add_test(tc, an_idle_poll_is_woken);
	tcase_add_test(tc, ten_thousand_in_front_starve_nobody);
	tcase_add_test(tc, a_full_queue_takes_its_time);
	tcase_add_test(tc, the_future_is_skipped);
	tcase_add_test(tc, others_are_helped_after_the_grace);
	tcase_add_test(tc, the_sated_ask_nothing);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
