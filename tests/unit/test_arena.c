#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "arena.h"
#include "run_suite.h"

#define ROUNDS 3
#define TEXTS  5000

START_TEST(test_texts_stay)
{
	static const char *texts[TEXTS];
	struct arena a;
	char want[32];
	int i, n, round;

	arena_init(&a);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < TEXTS; i++) {
			n = snprintf(want, sizeof(want), "%d/%d", round, i);
			texts[i] = arena_dup(&a, want, (size_t)n);
		}
		for (i = 0; i < TEXTS; i++) {
			snprintf(want, sizeof(want), "%d/%d", round, i);
			ck_assert_str_eq(texts[i], want);
		}
		arena_reset(&a);
	}
	arena_fini(&a);
}
END_TEST

START_TEST(test_sizes)
{
	struct arena a;
	char *big, *small;

	arena_init(&a);
	arena_reset(&a);
	ck_assert_str_eq(arena_dup(&a, NULL, 0), "");
	big = arena_alloc(&a, 1 << 20);
	memset(big, 'x', 1 << 20);
	small = arena_dup(&a, "a\0b", 3);
	ck_assert_mem_eq(small, "a\0b", 4);
	ck_assert_int_eq(big[(1 << 20) - 1], 'x');
	arena_fini(&a);
	arena_fini(&a);
}
END_TEST

int
main(void)
{
	Suite *s;
	TCase *tc;

	s = suite_create("arena");
	tc = tcase_create("arena");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_texts_stay);
	tcase_add_test(tc, test_sizes);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
