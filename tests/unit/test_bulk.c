/*
 * Many operations at a time: the pump by itself, and on the real store.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk_admin.h"
#include "bulk_submit.h"
#include "live_store.h"
#include "run_suite.h"

/* The pump with operations that are timers */

#define SLOTS 4

struct pump {
	struct qo_bulk bulk; /* first */
	struct loop *loop;
	struct loop_timer ops[SLOTS];
	bool busy[SLOTS];
	size_t left, under_way, most, done;
	bool dry; /* answer LATER once */
};

static struct pump pump;

static void
on_op(struct loop_timer *t)
{
	size_t slot = (size_t)(t - pump.ops);

	ck_assert(pump.busy[slot]);
	pump.busy[slot] = false;
	pump.under_way--;
	qo_bulk_ended(&pump.bulk, slot);
}

static enum qo_bulk_next
pump_next(struct qo_bulk *b, size_t slot)
{
	ck_assert_ptr_eq(b, &pump.bulk);
	ck_assert_uint_lt(slot, SLOTS);
	ck_assert(!pump.busy[slot]);
	if (pump.dry) {
		pump.dry = false;
		return QO_BULK_LATER;
	}
	if (pump.left == 0)
		return QO_BULK_END;
	if (pump.left-- % 5 == 0)
		return QO_BULK_SKIPPED;
	pump.busy[slot] = true;
	if (++pump.under_way > pump.most)
		pump.most = pump.under_way;
	loop_timer_set_ms(pump.loop, &pump.ops[slot], 1, on_op, NULL);
	return QO_BULK_STARTED;
}

static void
pump_done(struct qo_bulk *b)
{
	(void)b;
	ck_assert_uint_eq(pump.under_way, 0);
	pump.done++;
}

static void
pump_setup(size_t n)
{
	memset(&pump, 0, sizeof(pump));
	pump.loop = loop_new();
	pump.left = n;
	qo_bulk_init(&pump.bulk, pump.loop, SLOTS);
	pump.bulk.next = pump_next;
	pump.bulk.done = pump_done;
}

static void
pump_teardown(void)
{
	qo_bulk_fini(&pump.bulk);
	loop_free(pump.loop);
}

START_TEST(test_pump)
{
	pump_setup(50);
	qo_bulk_wait(&pump.bulk);
	ck_assert_uint_eq(pump.bulk.started, 40);
	ck_assert_uint_eq(pump.bulk.ended, 40);
	ck_assert_uint_eq(pump.most, SLOTS);
	ck_assert_uint_eq(pump.done, 1);
	pump_teardown();
}
END_TEST

START_TEST(test_pump_empty)
{
	pump_setup(0);
	qo_bulk_wait(&pump.bulk);
	ck_assert_uint_eq(pump.bulk.started, 0);
	ck_assert_uint_eq(pump.done, 1);
	pump_teardown();
}
END_TEST

START_TEST(test_pump_later)
{
	pump_setup(4);
	pump.dry = true;
	qo_bulk_start(&pump.bulk);
	loop_once(pump.loop, 0);
	loop_once(pump.loop, 0);
	ck_assert(!pump.dry);
	ck_assert_uint_eq(pump.bulk.started, 0);
	ck_assert_uint_eq(pump.done, 0);
	qo_bulk_kick(&pump.bulk);
	while (pump.done == 0)
		loop_once(pump.loop, -1);
	ck_assert_uint_eq(pump.bulk.ended, 4);
	pump_teardown();
}
END_TEST

START_TEST(test_pump_stop)
{
	pump_setup(1000);
	qo_bulk_start(&pump.bulk);
	while (pump.bulk.ended == 0)
		loop_once(pump.loop, -1);
	qo_bulk_stop(&pump.bulk);
	while (pump.done == 0)
		loop_once(pump.loop, -1);
	ck_assert_uint_eq(pump.bulk.started, pump.bulk.ended);
	ck_assert_uint_gt(pump.left, 900);
	pump_teardown();
}
END_TEST

/* Never faster than the rate; how much slower is the machine's business. */
START_TEST(test_pump_rate)
{
	struct qo_mono start = qo_mono_now();

	pump_setup(26);
	pump.bulk.rate = 100;
	qo_bulk_wait(&pump.bulk);
	ck_assert_uint_eq(pump.bulk.ended, 21);
	ck_assert_int_ge(qo_mono_diff_us(start, qo_mono_now()), 200000);
	pump_teardown();
}
END_TEST

/* On the store */

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

#define TASKS 60

struct batch {
	struct qo_submission sub;
	char ids[TASKS][QO_UUID_SIZE];
	size_t next, ok, failed;
};

static enum qo_bulk_next
next_task(struct qo_bulk_submit *bs, const struct qo_submission **sub,
    void **item)
{
	struct batch *b = bs->arg;

	if (b->next == TASKS)
		return QO_BULK_END;
	*sub = &b->sub;
	*item = b->ids[b->next++];
	return QO_BULK_STARTED;
}

static void
on_submitted(struct qo_bulk_submit *bs, const struct qo_submit *s, void *item)
{
	struct batch *b = bs->arg;

	if (s->change.rc == QO_OK)
		b->ok++;
	else
		b->failed++;
	memcpy(item, s->change.id, QO_UUID_SIZE);
}

static void
submit_all(struct batch *b, int64_t patience_ms)
{
	struct qo_bulk_submit bs;

	memset(b, 0, sizeof(*b));
	qo_submission_init(&b->sub);
	b->sub.task_type = "bulk";
	qo_bulk_submit_init(&bs, st.q, 16);
	bs.next = next_task;
	bs.ended = on_submitted;
	bs.arg = b;
	bs.patience_ms = patience_ms;
	qo_bulk_submit_wait(&bs);
	qo_bulk_submit_fini(&bs);
}

static void
assert_status(const struct batch *b, enum qo_status status)
{
	struct qo_task t;
	size_t i;

	for (i = 0; i < TASKS; i++) {
		live_store_task(&st, b->ids[i], &t);
		ck_assert_int_eq(t.status, status);
		qo_task_fini(&t);
	}
}

START_TEST(test_submit)
{
	struct batch b;

	submit_all(&b, 0);
	ck_assert_uint_eq(b.ok, TASKS);
	ck_assert_uint_eq(live_store_count(&st, "ready/", NULL), TASKS);
	assert_status(&b, QO_STATUS_PENDING);
}
END_TEST

static enum qo_bulk_next
next_id(struct qo_bulk_admin *ba, char id[QO_UUID_SIZE])
{
	struct batch *b = ba->arg;

	if (b->next == TASKS)
		return QO_BULK_END;
	memcpy(id, b->ids[b->next++], QO_UUID_SIZE);
	return QO_BULK_STARTED;
}

static void
on_changed(struct qo_bulk_admin *ba, const struct qo_admin *a)
{
	struct batch *b = ba->arg;

	if (a->change.rc == QO_OK)
		b->ok++;
	else if (a->change.rc == QO_LOST)
		b->failed++;
}

static bool
only_completed(struct qo_bulk_admin *ba, const struct qo_task *t)
{
	(void)ba;
	return t->status == QO_STATUS_COMPLETED;
}

static void
change_all(struct batch *b, enum qo_admin_op op,
    bool (*wanted)(struct qo_bulk_admin *ba, const struct qo_task *t))
{
	struct qo_bulk_admin ba;

	b->next = b->ok = b->failed = 0;
	qo_bulk_admin_init(&ba, st.q, op, 16);
	ba.next = next_id;
	ba.ended = on_changed;
	ba.wanted = wanted;
	ba.arg = b;
	qo_bulk_admin_wait(&ba);
	qo_bulk_admin_fini(&ba);
}

START_TEST(test_admin)
{
	struct batch b;

	submit_all(&b, 0);
	change_all(&b, QO_ADMIN_CANCEL, only_completed);
	ck_assert_uint_eq(b.failed, TASKS);
	assert_status(&b, QO_STATUS_PENDING);
	change_all(&b, QO_ADMIN_CANCEL, NULL);
	ck_assert_uint_eq(b.ok, TASKS);
	assert_status(&b, QO_STATUS_CANCELLED);
	change_all(&b, QO_ADMIN_REPLAY, NULL);
	ck_assert_uint_eq(b.ok, TASKS);
	assert_status(&b, QO_STATUS_PENDING);
	change_all(&b, QO_ADMIN_ARCHIVE, NULL);
	ck_assert_uint_eq(b.failed, TASKS);
}
END_TEST

/* Left in the middle: nothing calls back any more, nothing leaks. */
START_TEST(test_left)
{
	struct qo_bulk_submit bs;
	struct batch b;

	memset(&b, 0, sizeof(b));
	qo_submission_init(&b.sub);
	b.sub.task_type = "bulk";
	qo_bulk_submit_init(&bs, st.q, 16);
	bs.next = next_task;
	bs.ended = on_submitted;
	bs.arg = &b;
	qo_bulk_start(&bs.bulk);
	while (bs.bulk.ended == 0)
		loop_once(st.loop, -1);
	ck_assert_uint_lt(bs.bulk.ended, TASKS);
	qo_bulk_submit_fini(&bs);
	loop_once(st.loop, 0);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("bulk");
	TCase *tc;

	tc = tcase_create("pump");
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, test_pump);
	tcase_add_test(tc, test_pump_empty);
	tcase_add_test(tc, test_pump_later);
	tcase_add_test(tc, test_pump_stop);
	tcase_add_test(tc, test_pump_rate);
	suite_add_tcase(s, tc);

	tc = tcase_create("store");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_submit);
	tcase_add_test(tc, test_admin);
	tcase_add_test(tc, test_left);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
