#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../qo-worker/entries.h"
#include "../../qo-worker/shards.h"
#include "run_suite.h"

static struct qo_mono now = { 1000 * QO_US_PER_SEC };

static struct qo_entry
entry(enum qo_index index)
{
	struct qo_entry e;
	char id[QO_UUID_SIZE];

	qo_uuid_v4(id);
	qo_entry_make(&e, index, (struct qo_wall){ 0 }, id, 1);
	return e;
}

static bool
same(const struct qo_entry *a, const struct qo_entry *b)
{
	return strcmp(a->id, b->id) == 0 && strcmp(a->nonce, b->nonce) == 0;
}

static struct qo_mono
after(int64_t ms)
{
	return qo_mono_add_ms(now, ms);
}

/* Entries */

START_TEST(one_entry_is_one_candidate)
{
	struct entries *e = entries_new(100, now);
	struct qo_entry a = entry(QO_INDEX_READY), out;
	unsigned tries;

	ck_assert_int_eq(entries_add(e, &a, false, -1, now), ENTRIES_TAKEN);
	ck_assert_int_eq(entries_add(e, &a, false, -1, now), ENTRIES_KNOWN);
	entries_page_end(e);
	ck_assert(entries_has(e, &a));
	ck_assert(entries_take(e, now, &out, &tries));
	ck_assert(same(&a, &out));
	ck_assert(!entries_take(e, now, &out, &tries));
	ck_assert(entries_has(e, &a));
	/* While it is worked on, and when it is done. */
	ck_assert_int_eq(entries_add(e, &a, false, -1, now), ENTRIES_KNOWN);
	entries_done(e, &a, now);
	ck_assert(!entries_has(e, &a));
	ck_assert_int_eq(entries_add(e, &a, false, -1, after(3600000)),
	    ENTRIES_KNOWN);
	entries_free(e);
}
END_TEST

START_TEST(another_entry_of_the_same_task_is_another)
{
	struct entries *e = entries_new(100, now);
	struct qo_entry a = entry(QO_INDEX_READY), b = a;

	b.generation++;
	qo_nonce(b.nonce);
	ck_assert_int_eq(entries_add(e, &a, false, -1, now), ENTRIES_TAKEN);
	ck_assert_int_eq(entries_add(e, &b, false, -1, now), ENTRIES_TAKEN);
	entries_free(e);
}
END_TEST

START_TEST(what_can_not_be_served_comes_back_later_and_later)
{
	struct entries *e = entries_new(100, now);
	struct qo_entry a = entry(QO_INDEX_READY), out;
	unsigned tries, round;
	struct qo_mono t = now;
	int64_t last = 0, waited;

	for (round = 0; round < 12; round++) {
		ck_assert_int_eq(entries_add(e, &a, false, -1, t),
		    ENTRIES_TAKEN);
		entries_page_end(e);
		ck_assert(entries_take(e, t, &out, &tries));
		entries_later(e, &a, SEEN_UNKNOWN_TYPE, t);
		for (waited = 0;
		     entries_add(e, &a, false, -1, t) == ENTRIES_KNOWN;
		     waited += 1000)
			t = qo_mono_add_ms(t, 1000);
		ck_assert_int_ge(waited, last);
		ck_assert_int_ge(waited, 10000);
		ck_assert_int_le(waited, 601000);
		last = waited;
		/* Taken by the loop above: away with it. */
		ck_assert(entries_take(e, t, &out, &tries));
		entries_later(e, &a, SEEN_UNKNOWN_TYPE, t);
		t = qo_mono_add_ms(t, 700000);
	}
	ck_assert_int_ge(last, 600000);
	entries_free(e);
}
END_TEST

/* A look at an entry without a task; when is the next?  -1: when a list brings
 * it again. */
static int64_t
look_in_vain(struct entries *e, struct qo_mono t)
{
	struct qo_entry out;
	struct qo_mono at;
	unsigned tries;

	ck_assert(entries_take(e, t, &out, &tries));
	entries_absent(e, &out, tries, t);
	if (!entries_next(e, &at))
		return -1;
	ck_assert(!entries_take(e, (struct qo_mono){ at.us - 1 }, &out,
	    &tries));
	return qo_mono_diff_us(t, at);
}

START_TEST(a_slow_writer_is_waited_for)
{
	struct entries *e = entries_new(100, now);
	struct qo_entry a = entry(QO_INDEX_READY);
	int64_t us, waited = 0, last = 0;
	unsigned looks = 1;

	entries_add(e, &a, false, -1, now);
	for (; (us = look_in_vain(e, after(waited / 1000))) != -1; looks++) {
		/* Soon after the writer, however slow: at most as long after
		 * as it took, and a moment. */
		ck_assert_int_le(us, waited + 2000);
		ck_assert_int_ge(us, last);
		waited += us;
		last = us;
	}
	ck_assert_int_ge(waited, 8 * QO_US_PER_SEC);
	ck_assert_uint_le(looks, 14);
	entries_free(e);
}
END_TEST

/* Lists twice a second, for an hour. */
START_TEST(an_orphan_costs_little)
{
	struct entries *e = entries_new(100, now);
	struct qo_entry a = entry(QO_INDEX_READY), out;
	unsigned looks[60] = { 0 }, tries;
	int64_t ms;

	for (ms = 0; ms < 3600000; ms++) {
		if (ms % 500 == 0)
			entries_add(e, &a, false, -1, after(ms));
		if (entries_take(e, after(ms), &out, &tries)) {
			looks[ms / 60000]++;
			entries_absent(e, &out, tries, after(ms));
		}
	}
	ck_assert_uint_le(looks[0], 16);
	ck_assert_uint_gt(looks[0], 13);
	for (ms = 1; ms < 60; ms++)
		ck_assert_uint_le(looks[ms], 1);
	entries_free(e);
}
END_TEST

START_TEST(a_resume_ends_the_wait_of_the_paused_ones_alone)
{
	struct entries *e = entries_new(100, now);
	struct qo_entry a = entry(QO_INDEX_READY), b = entry(QO_INDEX_READY);

	entries_later(e, &a, SEEN_PAUSED, now);
	entries_later(e, &b, SEEN_UNKNOWN_TYPE, now);
	ck_assert_int_eq(entries_add(e, &a, false, -1, now), ENTRIES_KNOWN);
	entries_resume(e);
	ck_assert_int_eq(entries_add(e, &a, false, -1, now), ENTRIES_TAKEN);
	ck_assert_int_eq(entries_add(e, &b, false, -1, now), ENTRIES_KNOWN);
	entries_free(e);
}
END_TEST

START_TEST(they_wait_for_their_time_in_order)
{
	struct entries *e = entries_new(100, now);
	struct qo_entry v[50], out;
	unsigned tries;
	struct qo_mono at;
	size_t i, k;

	ck_assert(!entries_next(e, &at));
	for (i = 0; i < 50; i++) {
		v[i] = entry(QO_INDEX_READY);
		k = i * 17 % 50; /* not in order */
		entries_wait(e, &v[i], (unsigned)k, after((int64_t)k * 10));
	}
	for (i = 0; i < 50; i++) {
		ck_assert(entries_next(e, &at));
		ck_assert_int_eq(at.us, after((int64_t)i * 10).us);
		ck_assert(i == 0 ||
		    !entries_take(e, after((int64_t)i * 10 - 1), &out, &tries));
		ck_assert(entries_take(e, after((int64_t)i * 10), &out,
		    &tries));
		ck_assert_uint_eq(tries, i);
	}
	ck_assert(!entries_take(e, after(1000000), &out, &tries));
	entries_free(e);
}
END_TEST

START_TEST(what_waits_is_bounded_and_not_lost)
{
	struct entries *e = entries_new(100000, now);
	struct qo_entry a, out;
	unsigned tries;
	size_t i, n = 0;

	for (i = 0; i < 5000; i++) {
		a = entry(QO_INDEX_READY);
		entries_wait(e, &a, 0, after(10));
	}
	/* The last one is not kept, but comes back with a list. */
	ck_assert_int_eq(entries_add(e, &a, false, -1, now), ENTRIES_KNOWN);
	ck_assert_int_eq(entries_add(e, &a, false, -1, after(20)),
	    ENTRIES_TAKEN);
	while (entries_take(e, after(20), &out, &tries))
		n++;
	ck_assert_uint_eq(n, 4096 + 1);
	entries_free(e);
}
END_TEST

START_TEST(the_parked_come_back_one_by_one_for_their_handler)
{
	struct entries *e = entries_new(100, now);
	struct qo_entry a = entry(QO_INDEX_READY), b = entry(QO_INDEX_READY),
			c = entry(QO_INDEX_READY), out;
	int x, y;
	unsigned tries;

	entries_park(e, &a, &x, now);
	entries_park(e, &b, &y, now);
	entries_park(e, &c, &x, now);
	ck_assert(!entries_take(e, now, &out, &tries));
	ck_assert(entries_unpark(e, &x));
	ck_assert(entries_take(e, now, &out, &tries));
	ck_assert(same(&out, &a));
	ck_assert(!entries_take(e, now, &out, &tries));
	ck_assert(entries_unpark(e, &x));
	ck_assert(!entries_unpark(e, &x));
	ck_assert(entries_take(e, now, &out, &tries));
	ck_assert(same(&out, &c));
	ck_assert(entries_unpark(e, &y));
	entries_free(e);
}
END_TEST

/* Others' entries are left alone at first. */
START_TEST(help_waits_for_the_owner)
{
	struct entries *e = entries_new(100, now);
	struct qo_entry a = entry(QO_INDEX_READY), b = entry(QO_INDEX_READY);

	ck_assert_int_eq(entries_add(e, &a, true, 50, now), ENTRIES_WAITS);
	ck_assert_int_eq(entries_add(e, &a, true, 50, after(20)),
	    ENTRIES_WAITS);
	ck_assert_int_eq(entries_add(e, &a, true, -1, after(100)),
	    ENTRIES_KNOWN);
	ck_assert_int_eq(entries_add(e, &a, true, 50, after(100)),
	    ENTRIES_TAKEN);
	ck_assert_int_eq(entries_add(e, &b, true, -1, now), ENTRIES_KNOWN);
	ck_assert_int_eq(entries_add(e, &b, true, 50, after(100)),
	    ENTRIES_TAKEN);
	entries_free(e);
}
END_TEST

static void
add_many(struct entries *e, enum qo_index index, size_t n)
{
	struct qo_entry a;

	while (n-- > 0) {
		a = entry(index);
		ck_assert_int_eq(entries_add(e, &a, false, -1, now),
		    ENTRIES_TAKEN);
	}
	entries_page_end(e);
}

START_TEST(high_priority_is_first_and_low_is_not_starved)
{
	struct entries *e = entries_new(1000, now);
	size_t taken[ENTRIES_CLASSES] = { 0 };
	struct qo_entry out;
	unsigned tries;
	size_t i;

	add_many(e, QO_INDEX_READY_LOW, 1000);
	add_many(e, QO_INDEX_READY, 1000);
	add_many(e, QO_INDEX_READY_HIGH, 1000);
	for (i = 0; i < 640; i++) {
		ck_assert(entries_take(e, now, &out, &tries));
		taken[out.index]++;
	}
	ck_assert_uint_eq(taken[QO_INDEX_READY_HIGH], 560);
	ck_assert_uint_eq(taken[QO_INDEX_READY], 70);
	ck_assert_uint_eq(taken[QO_INDEX_READY_LOW], 10);
	entries_free(e);
}
END_TEST

START_TEST(a_page_is_shuffled_and_whole)
{
	struct entries *e = entries_new(1000, now);
	struct qo_entry v[200], out;
	bool got[200] = { false };
	size_t i, k, moved = 0;
	unsigned tries;

	for (i = 0; i < 200; i++) {
		v[i] = entry(QO_INDEX_READY);
		entries_add(e, &v[i], false, -1, now);
	}
	entries_page_end(e);
	for (i = 0; i < 200; i++) {
		ck_assert(entries_take(e, now, &out, &tries));
		for (k = 0; !same(&v[k], &out); k++)
			ck_assert_uint_lt(k, 199);
		ck_assert(!got[k]);
		got[k] = true;
		moved += k != i;
	}
	ck_assert_uint_gt(moved, 100);
	entries_free(e);
}
END_TEST

START_TEST(the_queue_has_a_limit)
{
	struct entries *e = entries_new(10, now);
	struct qo_entry a = entry(QO_INDEX_READY), out;
	unsigned tries;

	add_many(e, QO_INDEX_READY, 10);
	ck_assert_int_eq(entries_add(e, &a, false, -1, now), ENTRIES_FULL);
	ck_assert_uint_eq(entries_total(e), 10);
	/* Refused is not seen. */
	ck_assert(entries_take(e, now, &out, &tries));
	ck_assert_int_eq(entries_add(e, &a, false, -1, now), ENTRIES_TAKEN);
	entries_free(e);
}
END_TEST

/* Ten thousand that can not be served are remembered all at once. */
START_TEST(the_memory_holds_ten_thousand)
{
	struct seen *s = seen_new(now);
	struct qo_entry *v = calloc(10000, sizeof(*v));
	size_t i, forgotten = 0;

	for (i = 0; i < 10000; i++) {
		v[i] = entry(QO_INDEX_READY);
		seen_later(s, &v[i], SEEN_UNKNOWN_TYPE, now);
	}
	for (i = 0; i < 10000; i++)
		forgotten += seen_get(s, &v[i], NULL) != SEEN_LATER;
	ck_assert_uint_lt(forgotten, 100);
	free(v);
	seen_free(s);
}
END_TEST

/* What is being worked on outlives a flood of what is done with. */
START_TEST(the_memory_forgets_the_finished_first)
{
	struct seen *s = seen_new(now);
	struct qo_entry held[64], e;
	size_t i;

	for (i = 0; i < 64; i++) {
		held[i] = entry(QO_INDEX_READY);
		seen_set(s, &held[i], SEEN_HELD, now);
	}
	for (i = 0; i < 200000; i++) {
		e = entry(QO_INDEX_READY);
		seen_set(s, &e, SEEN_DONE, after((int64_t)i));
	}
	for (i = 0; i < 64; i++)
		ck_assert_int_eq(seen_get(s, &held[i], NULL), SEEN_HELD);
	ck_assert_int_eq(seen_get(s, &e, NULL), SEEN_DONE);
	seen_free(s);
}
END_TEST

/* Shards */

static size_t
count_own(const char *conf, int width, int index, int of)
{
	struct shards s;
	struct qo_err err;

	ck_assert_int_eq(shards_init(&s, conf, width, index, of, &err), 0);
	return s.nown;
}

START_TEST(processes_divide_the_shards)
{
	static const int counts[] = { 1, 2, 3, 5, 16 };
	size_t i, shard, owners;
	struct shards s;
	struct qo_err err;
	char id[QO_UUID_SIZE];
	int k;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (shard = 0; shard < 16; shard++) {
			do
				qo_uuid_v4(id);
			while (strchr("0123456789abcdef", id[0]) -
				"0123456789abcdef" !=
			    (ptrdiff_t)shard);
			owners = 0;
			for (k = 0; k < counts[i]; k++) {
				ck_assert_int_eq(shards_init(&s, "all", 1, k,
						     counts[i], &err),
				    0);
				ck_assert_uint_eq(s.nown + s.ntheirs, 16);
				owners += shards_of(&s, id) == SHARDS_OWN;
			}
			ck_assert_uint_eq(owners, 1);
		}
	}
	/* Nobody goes empty. */
	ck_assert_uint_eq(count_own("all", 1, 19, 20), 1);
	ck_assert_uint_eq(count_own("all", 2, 0, 4), 64);
	ck_assert_uint_eq(count_own("0-3", 1, 1, 2), 2);
	ck_assert_uint_eq(count_own("0-3,c7", 2, 0, 1), 65);
}
END_TEST

START_TEST(shards_that_are_not_configured_are_nobodys)
{
	struct shards s;
	struct qo_err err = { 0 };
	struct buf b;

	ck_assert_int_eq(shards_init(&s, "0-2,f", 1, 1, 2, &err), 0);
	ck_assert_int_eq(shards_of(&s, "0b"), SHARDS_THEIRS);
	ck_assert_int_eq(shards_of(&s, "2b"), SHARDS_OWN);
	ck_assert_int_eq(shards_of(&s, "fb"), SHARDS_OWN);
	ck_assert_int_eq(shards_of(&s, "7b"), SHARDS_NOBODYS);
	buf_init(&b, 100);
	shards_add_json(&s, &b);
	ck_assert_str_eq(b.data, "[\"2\",\"f\"]");
	buf_fini(&b);
	/* A part of a shard is none where they have one digit. */
	ck_assert_int_eq(shards_init(&s, "c7", 1, 0, 1, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "c7"));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("worker: entries, shards");
	TCase *tc = tcase_create("entries");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, one_entry_is_one_candidate);
	tcase_add_test(tc, another_entry_of_the_same_task_is_another);
	tcase_add_test(tc, what_can_not_be_served_comes_back_later_and_later);
	tcase_add_test(tc, a_slow_writer_is_waited_for);
	tcase_add_test(tc, an_orphan_costs_little);
	tcase_add_test(tc, a_resume_ends_the_wait_of_the_paused_ones_alone);
	tcase_add_test(tc, they_wait_for_their_time_in_order);
	tcase_add_test(tc, what_waits_is_bounded_and_not_lost);
	tcase_add_test(tc, the_parked_come_back_one_by_one_for_their_handler);
	tcase_add_test(tc, help_waits_for_the_owner);
	tcase_add_test(tc, high_priority_is_first_and_low_is_not_starved);
	tcase_add_test(tc, a_page_is_shuffled_and_whole);
	tcase_add_test(tc, the_queue_has_a_limit);
	tcase_add_test(tc, the_memory_holds_ten_thousand);
	tcase_add_test(tc, the_memory_forgets_the_finished_first);
	tcase_add_test(tc, processes_divide_the_shards);
	tcase_add_test(tc, shards_that_are_not_configured_are_nobodys);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
