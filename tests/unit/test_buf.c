#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "run_suite.h"

START_TEST(test_empty)
{
	struct buf b;
	size_t len = 7;
	char *s;

	buf_init(&b, 10);
	ck_assert_str_eq(b.data, "");
	ck_assert_uint_eq(b.len, 0);
	buf_reset(&b);
	buf_truncate(&b, 0);
	buf_consume(&b, 0);
	s = buf_take(&b, &len);
	ck_assert_str_eq(s, "");
	ck_assert_uint_eq(len, 0);
	free(s);
	buf_fini(&b);
	buf_fini(&b);
}
END_TEST

START_TEST(test_adds)
{
	struct buf b;

	buf_init(&b, 1000);
	ck_assert_int_eq(buf_adds(&b, "abc"), 0);
	ck_assert_int_eq(buf_addc(&b, '-'), 0);
	ck_assert_int_eq(buf_addf(&b, "%d:%s", 42, "x"), 0);
	ck_assert_int_eq(buf_addf(&b, "%s", ""), 0);
	ck_assert_int_eq(buf_add(&b, "\0z", 2), 0);
	ck_assert_int_eq(buf_add(&b, NULL, 0), 0);
	ck_assert_uint_eq(b.len, 10);
	ck_assert_int_eq(memcmp(b.data, "abc-42:x\0z", 11), 0);
	buf_consume(&b, 4);
	ck_assert_str_eq(b.data, "42:x");
	buf_truncate(&b, 2);
	ck_assert_str_eq(b.data, "42");
	buf_reset(&b);
	ck_assert_str_eq(b.data, "");
	buf_fini(&b);
}
END_TEST

/* Of the linker: what is wiped is counted, and wiped. */
void __real_explicit_bzero(void *p, size_t len);
void __wrap_explicit_bzero(void *p, size_t len);
static size_t wiped;

void
__wrap_explicit_bzero(void *p, size_t len)
{
	wiped += len;
	__real_explicit_bzero(p, len);
}

/* No block that held a part of it is given back as it is. */
START_TEST(test_secret)
{
	size_t given = 0, cap = 0;
	struct buf b;
	int i;

	buf_init_secret(&b, 5000);
	for (i = 0; i < 4000; i++) {
		ck_assert_int_eq(buf_addc(&b, (char)('a' + i % 26)), 0);
		if (b.cap == cap)
			continue;
		given += cap;
		cap = b.cap;
		ck_assert_uint_eq(wiped, given);
	}
	for (i = 0; i < 4000; i++)
		ck_assert_int_eq(b.data[i], 'a' + i % 26);
	ck_assert_uint_gt(given, 64);
	buf_reset(&b);
	buf_fini(&b);
	ck_assert_uint_eq(wiped, given + cap);
	/* It still is one; others are not wiped. */
	buf_adds(&b, "x");
	buf_fini(&b);
	ck_assert_uint_eq(wiped, given + cap + 64);
	buf_init(&b, 5000);
	buf_adds(&b, "x");
	buf_fini(&b);
	ck_assert_uint_eq(wiped, given + cap + 64);
}
END_TEST

/* The limit is exact, and being over it sticks. */
START_TEST(test_limit)
{
	struct buf b;

	buf_init(&b, 5);
	ck_assert_int_eq(buf_adds(&b, "12345"), 0);
	ck_assert(!buf_failed(&b));
	ck_assert_int_eq(buf_addc(&b, '6'), -1);
	ck_assert(buf_failed(&b));
	ck_assert_str_eq(b.data, "12345");
	buf_truncate(&b, 0);
	ck_assert_int_eq(buf_addc(&b, '6'), -1);
	ck_assert_int_eq(buf_add(&b, "", 0), -1);
	ck_assert_int_eq(buf_addf(&b, "%s", ""), -1);
	ck_assert_ptr_null(buf_reserve(&b, 1));
	buf_reset(&b);
	ck_assert_int_eq(buf_addf(&b, "%06d", 1), -1);
	ck_assert_uint_eq(b.len, 0);
	buf_reset(&b);
	ck_assert_int_eq(buf_addf(&b, "%05d", 1), 0);
	ck_assert_str_eq(b.data, "00001");
	buf_fini(&b);
	buf_init(&b, 0);
	ck_assert_int_eq(buf_add(&b, "", 0), 0);
	ck_assert_int_eq(buf_addc(&b, 'x'), -1);
	buf_fini(&b);
}
END_TEST

START_TEST(test_no_overflow)
{
	struct buf b;

	buf_init(&b, SIZE_MAX - 1);
	ck_assert_int_eq(buf_adds(&b, "abc"), 0);
	ck_assert_ptr_null(buf_reserve(&b, SIZE_MAX));
	buf_fini(&b);
}
END_TEST

START_TEST(test_reserve)
{
	struct buf b;
	char *p;

	buf_init(&b, 100000);
	buf_adds(&b, "head ");
	p = buf_reserve(&b, 50000);
	ck_assert_ptr_nonnull(p);
	memcpy(p, "tail", 4);
	buf_advance(&b, 4);
	ck_assert_str_eq(b.data, "head tail");
	ck_assert_ptr_eq(buf_reserve(&b, 0), b.data + 9);
	buf_fini(&b);
}
END_TEST

START_TEST(test_grows)
{
	struct buf b;
	size_t i, len;
	char *s;

	buf_init(&b, 100000);
	for (i = 0; i < 100000; i++)
		ck_assert_int_eq(buf_addc(&b, (char)('a' + i % 26)), 0);
	ck_assert_int_eq(buf_addc(&b, 'x'), -1);
	s = buf_take(&b, &len);
	ck_assert_uint_eq(len, 100000);
	ck_assert_uint_eq(strlen(s), 100000);
	for (i = 0; i < 100000; i++)
		if (s[i] != (char)('a' + i % 26))
			ck_abort_msg("byte %zu", i);
	free(s);
	/* The buf is as new. */
	ck_assert_int_eq(buf_adds(&b, "again"), 0);
	ck_assert_str_eq(b.data, "again");
	buf_fini(&b);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("buf");
	TCase *tc = tcase_create("buf");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, test_secret);
	tcase_add_test(tc, test_empty);
	tcase_add_test(tc, test_adds);
	tcase_add_test(tc, test_limit);
	tcase_add_test(tc, test_no_overflow);
	tcase_add_test(tc, test_reserve);
	tcase_add_test(tc, test_grows);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
