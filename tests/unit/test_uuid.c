#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_suite.h"
#include "uuid.h"

static const char *const good[] = {
	"00000000-0000-4000-8000-000000000000",
	"f47ac10b-58cc-4372-a567-0e02b2c3d479",
	"f47ac10b-58cc-8372-bfff-ffffffffffff",
};

static const char *const bad[] = {
	"",
	"f47ac10b-58cc-4372-a567-0e02b2c3d47",
	"f47ac10b-58cc-4372-a567-0e02b2c3d4799",
	"F47ac10b-58cc-4372-a567-0e02b2c3d479",
	"f47ac10b-58cc-1372-a567-0e02b2c3d479",
	"f47ac10b-58cc-7372-a567-0e02b2c3d479",
	"f47ac10b-58cc-4372-c567-0e02b2c3d479",
	"f47ac10b-58cc-4372-0567-0e02b2c3d479",
	"f47ac10b058cc-4372-a567-0e02b2c3d479",
	"f47ac10b-58cc-4372-a567-0e02b2c3d47g",
	"{f47ac10b-58cc-4372-a567-0e02b2c3d4}",
	"../../../../../../../../../../../../",
};

START_TEST(test_good)
{
	ck_assert_msg(qo_uuid_valid(good[_i], strlen(good[_i])), "%s",
	    good[_i]);
}
END_TEST

START_TEST(test_bad)
{
	ck_assert_msg(!qo_uuid_valid(bad[_i], strlen(bad[_i])), "%s", bad[_i]);
}
END_TEST

static int
compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

START_TEST(test_v4_valid_and_distinct)
{
	static char ids[10000][QO_UUID_SIZE];
	size_t i;

	for (i = 0; i < 10000; i++) {
		qo_uuid_v4(ids[i]);
		ck_assert(qo_uuid_valid(ids[i], strlen(ids[i])));
		ck_assert_int_eq(ids[i][14], '4');
	}
	qsort(ids, 10000, sizeof(ids[0]), compare);
	for (i = 1; i < 10000; i++)
		ck_assert_str_ne(ids[i - 1], ids[i]);
}
END_TEST

/* Two children of one parent must not draw the same ids. */
START_TEST(test_fork_safe)
{
	char ids[2][QO_UUID_SIZE], own[QO_UUID_SIZE];
	int fds[2], i, status;
	pid_t pid;

	qo_uuid_v4(own);
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(pipe(fds), 0);
		pid = fork();
		ck_assert_int_ne(pid, -1);
		if (pid == 0) {
			qo_uuid_v4(own);
			_exit(write(fds[1], own, sizeof(own)) ==
				    (ssize_t)sizeof(own)
				? 0
				: 1);
		}
		ck_assert_int_eq(read(fds[0], ids[i], QO_UUID_SIZE),
		    QO_UUID_SIZE);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, 0);
		close(fds[0]);
		close(fds[1]);
	}
	ck_assert_str_ne(ids[0], ids[1]);
	qo_uuid_v4(own);
	ck_assert_str_ne(ids[0], own);
}
END_TEST

START_TEST(test_print)
{
	unsigned char b[16];
	char out[QO_UUID_SIZE];
	size_t i;

	for (i = 0; i < 16; i++)
		b[i] = (unsigned char)(i * 0x11);
	qo_uuid_print(b, 4, out);
	ck_assert_str_eq(out, "00112233-4455-4677-8899-aabbccddeeff");
	memset(b, 0xff, sizeof(b));
	qo_uuid_print(b, 8, out);
	ck_assert_str_eq(out, "ffffffff-ffff-8fff-bfff-ffffffffffff");
}
END_TEST

START_TEST(test_nonce_and_shard)
{
	char a[QO_NONCE_SIZE], b[QO_NONCE_SIZE], shard[QO_SHARD_SIZE];

	qo_nonce(a);
	qo_nonce(b);
	ck_assert_uint_eq(strlen(a), 8);
	ck_assert_uint_eq(strspn(a, "0123456789abcdef"), 8);
	ck_assert_str_ne(a, b); /* one in four thousand million */
	qo_uuid_shard(good[1], 1, shard);
	ck_assert_str_eq(shard, "f");
	qo_uuid_shard(good[1], 2, shard);
	ck_assert_str_eq(shard, "f4");
}
END_TEST

/* Computed with another implementation of SHA-256. */
static const struct {
	const char *prefix;
	enum qo_derive kind;
	const char *text;
	const char *id;
} derived[] = {
	{ "", QO_DERIVE_KEY, "order-1",
	    "e31bf586-0202-8853-b12e-69bf93dd0f8e" },
	{ "", QO_DERIVE_STEP, "order-1",
	    "2791ad94-cbab-83c0-8704-386401c15439" },
	{ "", QO_DERIVE_RUN, "order-1",
	    "b856e28a-38d5-8e00-be17-901de29588dc" },
	{ "", QO_DERIVE_SCHED, "order-1",
	    "74b297a1-93a8-81eb-8ee4-cf4f6e63f439" },
	{ "team/", QO_DERIVE_KEY, "order-1",
	    "812af503-5442-82bb-9e61-09e10b9c1d6f" },
	{ "", QO_DERIVE_KEY, "", "efd76d4f-97eb-8264-9edb-10e65d6e0ebd" },
};

START_TEST(test_derive)
{
	char out[QO_UUID_SIZE];

	qo_uuid_derive(derived[_i].prefix, derived[_i].kind, derived[_i].text,
	    strlen(derived[_i].text), out);
	ck_assert_str_eq(out, derived[_i].id);
	ck_assert(qo_uuid_valid(out, strlen(out)));
}
END_TEST

/* A NUL inside the text can not make it another triple's. */
START_TEST(test_derive_unambiguous)
{
	char a[QO_UUID_SIZE], b[QO_UUID_SIZE];

	qo_uuid_derive("", QO_DERIVE_KEY, "a\0b", 3, a);
	qo_uuid_derive("", QO_DERIVE_KEY, "a", 1, b);
	ck_assert_str_ne(a, b);
	qo_uuid_derive("key", QO_DERIVE_KEY, "x", 1, a);
	qo_uuid_derive("", QO_DERIVE_KEY, "key\0x", 5, b);
	ck_assert_str_ne(a, b);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("uuid");
	TCase *tc = tcase_create("uuid");

	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, test_good, 0,
	    (int)(sizeof(good) / sizeof(good[0])));
	tcase_add_loop_test(tc, test_bad, 0,
	    (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(tc, test_v4_valid_and_distinct);
	tcase_add_test(tc, test_fork_safe);
	tcase_add_test(tc, test_print);
	tcase_add_test(tc, test_nonce_and_shard);
	tcase_add_loop_test(tc, test_derive, 0,
	    (int)(sizeof(derived) / sizeof(derived[0])));
	tcase_add_test(tc, test_derive_unambiguous);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
