/*
 * The ring of new keys and the requests that wait for one.
 */
#include <check.h>
#include <stdlib.h>

#include "../../qo-store/wait.h"
#include "run_suite.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *text;
	int rc;
	int64_t ms, since;
} texts[] = {
	{ "30; since=5", 0, 30000, 5 },
	{ "0;since=0", 0, 0, 0 },
	{ "1 ; since=9", 0, 1000, 9 },
	{ "100000; since=1", 0, WAIT_SECONDS * 1000, 1 },
	{ "", -1, 0, 0 },
	{ "5", -1, 0, 0 },
	{ "5; since=", -1, 0, 0 },
	{ "5; since=1x", -1, 0, 0 },
	{ "-5; since=1", -1, 0, 0 },
	{ "5, since=1", -1, 0, 0 },
	{ "5; since=9999999999999999999", -1, 0, 0 },
};

START_TEST(test_parse)
{
	int64_t ms = -1, since = -1;

	ck_assert_int_eq(wait_parse(texts[_i].text, &ms, &since), texts[_i].rc);
	if (texts[_i].rc == 0) {
		ck_assert_int_eq(ms, texts[_i].ms);
		ck_assert_int_eq(since, texts[_i].since);
	}
}
END_TEST

static int woken;

static void
on_wake(struct waiter *wt)
{
	(void)wt;
	woken++;
}

static enum wait_rc
hold(struct wait *w, struct waiter *wt, const char *prefix, int64_t since,
    int64_t ms)
{
	memset(wt, 0, sizeof(*wt));
	wt->bucket = 1;
	wt->prefix = prefix;
	wt->wake = on_wake;
	return wait_hold(w, wt, since, ms);
}

START_TEST(test_wake)
{
	struct loop *l = loop_new();
	struct wait *w = wait_new(l, 100);
	struct waiter a, b;

	woken = 0;
	ck_assert_int_eq(wait_seq(w), 100);
	ck_assert_int_eq(hold(w, &a, "in/", 100, 60000), WAIT_HELD);
	ck_assert_int_eq(hold(w, &b, "", 100, 60000), WAIT_HELD);
	wait_created(w, 101, 2, "in/x");
	loop_once(l, 0);
	ck_assert_int_eq(woken, 0);
	wait_created(w, 102, 1, "in");
	loop_once(l, 0);
	ck_assert_int_eq(woken, 1);
	ck_assert_uint_eq(wait_count(w), 1);
	/* Two keys in one turn are one answer. */
	wait_created(w, 103, 1, "in/x");
	wait_created(w, 104, 1, "in/y");
	loop_once(l, 0);
	ck_assert_int_eq(woken, 2);
	ck_assert_uint_eq(wait_count(w), 0);
	ck_assert_int_eq(wait_seq(w), 104);
	wait_free(w);
	loop_free(l);
}
END_TEST

START_TEST(test_at_once)
{
	struct loop *l = loop_new();
	struct wait *w = wait_new(l, 100);
	struct waiter a;

	wait_created(w, 101, 1, "in/x");
	wait_created(w, 102, 1, "out/x");
	ck_assert_int_eq(hold(w, &a, "in/", 100, 60000), WAIT_NOW);
	ck_assert_int_eq(hold(w, &a, "out/", 101, 60000), WAIT_NOW);
	/* Older than what is remembered, newer than what was given out. */
	ck_assert_int_eq(hold(w, &a, "in/", 99, 60000), WAIT_NOW);
	ck_assert_int_eq(hold(w, &a, "in/", 103, 60000), WAIT_NOW);
	ck_assert_int_eq(hold(w, &a, "in/", 102, 0), WAIT_NOW);
	ck_assert_int_eq(hold(w, &a, "in/", 101, 60000), WAIT_HELD);
	wait_cancel(&a);
	wait_cancel(&a);
	wait_free(w);
	loop_free(l);
}
END_TEST

START_TEST(test_timer_cancel_drain)
{
	struct loop *l = loop_new();
	struct wait *w = wait_new(l, 0);
	struct waiter a, b;

	woken = 0;
	ck_assert_int_eq(hold(w, &a, "", 0, 1), WAIT_HELD);
	while (woken == 0)
		loop_once(l, 1000);
	/* Released, but it leaves before its call comes. */
	ck_assert_int_eq(hold(w, &a, "", 0, 60000), WAIT_HELD);
	ck_assert_int_eq(hold(w, &b, "", 0, 60000), WAIT_HELD);
	wait_drain(w);
	wait_cancel(&a);
	loop_once(l, 0);
	ck_assert_int_eq(woken, 2);
	ck_assert_int_eq(hold(w, &a, "", 0, 60000), WAIT_NOW);
	wait_free(w);
	loop_free(l);
}
END_TEST

START_TEST(test_limit)
{
	static struct waiter ws[WAIT_LIMIT + 1];
	struct loop *l = loop_new();
	struct wait *w = wait_new(l, 0);
	size_t i;

	for (i = 0; i < WAIT_LIMIT; i++)
		ck_assert_int_eq(hold(w, &ws[i], "", 0, 60000), WAIT_HELD);
	ck_assert_int_eq(hold(w, &ws[i], "", 0, 60000), WAIT_FULL);
	wait_cancel(&ws[7]);
	ck_assert_int_eq(hold(w, &ws[i], "", 0, 60000), WAIT_HELD);
	wait_drain(w);
	loop_once(l, 0);
	wait_free(w);
	loop_free(l);
}
END_TEST

/* Against a plain model: what is still remembered is found, what is not is
 * answered at once, and nothing else is. */
START_TEST(test_ring)
{
	struct loop *l = loop_new();
	struct wait *w = wait_new(l, 0);
	struct waiter a;
	char key[1025], prefix[32];
	int64_t n, since, oldest = 0;
	size_t len;

	/* Keys of all lengths, more than both limits of the ring. */
	for (n = 1; n <= 3 * WAIT_RING; n++) {
		len = n % 5 == 0 ? 1024 : (size_t)(n % 90) + 10;
		memset(key, 'k', len);
		key[len] = '\0';
		(void)snprintf(prefix, sizeof(prefix), "%lld/", (long long)n);
		memcpy(key, prefix, strlen(prefix));
		wait_created(w, n, 1, key);
	}
	n--;
	for (since = n - 1; since >= 0; since -= 97) {
		(void)snprintf(prefix, sizeof(prefix), "%lld/",
		    (long long)since + 1);
		/* The key right behind `since' is found, or forgotten. */
		ck_assert_int_eq(hold(w, &a, prefix, since, 1000), WAIT_NOW);
		/* A prefix that never came tells which of the two. */
		if (hold(w, &a, "none", since, 1000) != WAIT_HELD) {
			oldest = since + 1;
			break;
		}
		wait_cancel(&a);
		/* One that came before does not count. */
		(void)snprintf(prefix, sizeof(prefix), "%lld/",
		    (long long)since);
		ck_assert_int_eq(hold(w, &a, prefix, since, 1000), WAIT_HELD);
		wait_cancel(&a);
	}
	/* 4 MiB of keys that are 256 bytes on average. */
	ck_assert_int_lt(oldest, n - 14000);
	wait_free(w);
	loop_free(l);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wait");
	TCase *tc = tcase_create("wait");

	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, test_parse, 0, (int)nitems(texts));
	tcase_add_test(tc, test_wake);
	tcase_add_test(tc, test_at_once);
	tcase_add_test(tc, test_timer_cancel_drain);
	tcase_add_test(tc, test_limit);
	tcase_add_test(tc, test_ring);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
