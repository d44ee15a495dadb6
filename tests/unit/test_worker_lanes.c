/*
 * What the poll lists: all at once, or lane by lane.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../../qo-worker/lanes.h"
#include "run_suite.h"

#define LANES 16
#define PAGE  1000

static const struct qo_layout layout = { "", 1 };
static const struct qo_mono start = { 1000 * QO_US_PER_SEC };
static struct shards shards;
static struct entries *entries;
static struct lanes *lanes;

static void
setup(void)
{
	struct qo_err err;

	ck_assert_int_eq(shards_init(&shards, "all", 1, 0, 1, &err), 0);
	entries = entries_new(1 << 20, start);
	lanes = lanes_new(&layout, &shards);
}

static void
teardown(void)
{
	lanes_free(lanes);
	entries_free(entries);
}

/* Answers a question with n new entries. */
static void
answer(const struct lanes_ask *ask, size_t n, bool truncated, struct qo_mono at)
{
	static char keys[PAGE][QO_KEY_SIZE];
	static struct qo_s3_entry rows[PAGE];
	const struct qo_s3_list list = {
		.entries = rows, .n = n, .truncated = truncated
	};
	const struct lanes_offer offer = {
		.entries = entries, .minute = 100, .now = at
	};
	struct lanes_found found;
	char id[QO_UUID_SIZE];
	struct qo_entry e;
	size_t i;

	for (i = 0; i < n; i++) {
		qo_uuid_v4(id);
		qo_entry_make(&e, QO_INDEX_READY, (struct qo_wall){ 0 }, id, 1);
		ck_assert_int_eq(qo_key_entry(&layout, &e, keys[i]), 0);
		rows[i].key = keys[i];
	}
	lanes_page(lanes, ask, &list, &offer, &found);
}

/* More than a page can hold. */
static void
grow(void)
{
	struct lanes_ask ask;

	ck_assert(lanes_small(lanes));
	lanes_next(lanes, -1, false, start, &ask);
	ck_assert_str_eq(ask.prefix, "ready");
	answer(&ask, PAGE, true, start);
	ck_assert(!lanes_small(lanes));
}

/* A round over all lanes, each with so many. */
static void
go_round(size_t each, struct qo_mono at)
{
	struct lanes_ask ask;
	size_t i;

	for (i = 0; i < LANES; i++) {
		ck_assert(!lanes_small(lanes));
		lanes_next(lanes, QO_INDEX_READY, false, at, &ask);
		ck_assert_int_ge(ask.lane, 0);
		answer(&ask, each, false, at);
	}
}

START_TEST(one_list_again_when_the_load_is_over)
{
	grow();
	go_round(100, start);
	ck_assert(!lanes_small(lanes));
	go_round(2, qo_mono_add_ms(start, 10));
	ck_assert(lanes_small(lanes));
	/* And by lanes again with the next load. */
	grow();
}
END_TEST

/* What would just fit in a page now will not do so for long. */
START_TEST(not_to_and_fro_under_load)
{
	grow();
	go_round(20, start);
	ck_assert(!lanes_small(lanes));
	go_round(20, qo_mono_add_ms(start, 9000));
	ck_assert(!lanes_small(lanes));
	go_round(20, qo_mono_add_ms(start, 10000));
	ck_assert(lanes_small(lanes));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("worker: lanes");
	TCase *tc = tcase_create("lanes");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, one_list_again_when_the_load_is_over);
	tcase_add_test(tc, not_to_and_fro_under_load);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
