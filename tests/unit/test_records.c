/*
 * Every object under a prefix, on the real store.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "live_store.h"
#include "records.h"
#include "run_suite.h"

#define MANY 1100 /* more than a page */

static struct live_store st;
static char said[256]; /* by the callbacks, in their order */
static size_t given;

static void
setup(void)
{
	live_store_start(&st);
	said[0] = '\0';
	given = 0;
}

static void
teardown(void)
{
	live_store_stop(&st);
}

static void
put(const char *key, const char *text)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_PUT, st.q->bucket, key);
	r.body = text;
	r.body_len = strlen(text);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
}

static void
on_record(struct qo_records *r, const char *key, const char *text, size_t len)
{
	char line[64];

	ck_assert_ptr_eq(r->arg, &st);
	given++;
	(void)snprintf(line, sizeof(line), "%s=%.*s;", key, (int)len, text);
	(void)strlcat(said, line, sizeof(said));
}

static void
on_corrupt(struct qo_records *r, const char *key, const char *why)
{
	char line[64];

	ck_assert_ptr_eq(r->arg, &st);
	(void)snprintf(line, sizeof(line), "%s: %s;", key, why);
	(void)strlcat(said, line, sizeof(said));
}

static struct qo_records
things(void)
{
	return (struct qo_records){
		.q = st.q,
		.bucket = st.q->bucket,
		.dir = "things/",
		.what = "a thing",
		.len_max = 5,
		.record = on_record,
		.corrupt = on_corrupt,
		.arg = &st,
	};
}

START_TEST(none)
{
	struct qo_records r = things();

	put("thing", "x");
	ck_assert_int_eq(qo_records_read(&r), QO_OK);
	ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(in_order_and_past_what_is_too_large)
{
	struct qo_records r = things();

	put("things/c", "three");
	put("things/a", "one");
	put("things/b", "larger");
	put("thingz/d", "four");
	ck_assert_int_eq(qo_records_read(&r), QO_OK);
	ck_assert_str_eq(said,
	    "things/a=one;things/b: too large for a thing;things/c=three;");
}
END_TEST

START_TEST(more_than_a_page)
{
	struct qo_records r = things();
	char key[32];
	size_t i;

	for (i = 0; i < MANY; i++) {
		(void)snprintf(key, sizeof(key), "things/%zu", i);
		put(key, "x");
	}
	ck_assert_int_eq(qo_records_read(&r), QO_OK);
	ck_assert_uint_eq(given, MANY);
}
END_TEST

START_TEST(stopped)
{
	struct qo_records r = things();
	const bool stop = true;

	put("things/a", "one");
	r.stop = &stop;
	ck_assert_int_eq(qo_records_read(&r), QO_OK);
	ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(no_bucket)
{
	struct qo_records r = things();

	r.bucket = "none-of-that-name";
	ck_assert_int_ne(qo_records_read(&r), QO_OK);
	ck_assert_str_ne(r.err.msg, "");
	ck_assert_str_eq(said, "");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("records");
	TCase *tc = tcase_create("records");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, none);
	tcase_add_test(tc, in_order_and_past_what_is_too_large);
	tcase_add_test(tc, more_than_a_page);
	tcase_add_test(tc, stopped);
	tcase_add_test(tc, no_bucket);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
