/*
 * Which tasks a --where means.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "run_suite.h"
#include "where.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static const struct qo_wall now = { INT64_C(1769601600000000) };

static struct qo_task
sample(void)
{
	static const char tags[] = "{\"team\":\"a,b\"}";
	struct qo_task t;

	qo_task_init(&t);
	t.task_type = "mail.send";
	t.status = QO_STATUS_FAILED;
	t.last_error = "timeout: after 30s, killed";
	t.worker_id = "w-1";
	t.updated_at = (struct qo_wall){ now.us - 3600 * QO_US_PER_SEC };
	t.tags = (struct qo_json){ tags, sizeof(tags) - 1 };
	return t;
}

static const struct {
	const char *where;
	bool match;
} cases[] = {
	{ "status=failed", true },
	{ "status=pending", false },
	{ "type=mail.send", true },
	{ "type=mail.sen", false },
	{ "type=mail.*", true },
	{ "type=*", true },
	{ "type=fax.*", false },
	{ "error~=timeout", true },
	{ "error~=30s\\, killed", true },
	{ "error~=back\\\\slash", false },
	{ "error~=Timeout", false },
	{ "older=1h", true },
	{ "older=61m", false },
	{ "newer=61m", true },
	{ "newer=1h", false },
	{ "worker=w-1", true },
	{ "worker=w-2", false },
	{ "tag.team=a\\,b", true },
	{ "tag.team=a", false },
	{ "tag.x=", false },
	{ "status=failed,type=mail.send,error~=timeout,older=1h", true },
	{ "status=failed,type=mail.send,error~=timeout,older=2h", false },
};

START_TEST(test_match)
{
	struct qo_task t = sample();
	struct qo_where w;
	struct qo_err err = { 0 };

	ck_assert_msg(qo_where_parse(&w, cases[_i].where, &err) == 0, "%s",
	    err.msg);
	ck_assert_msg(qo_where_match(&w, &t, now) == cases[_i].match, "%s",
	    cases[_i].where);
	qo_where_fini(&w);
	qo_task_fini(&t);
}
END_TEST

/* Nothing is there: nothing matches, nothing crashes. */
START_TEST(test_match_bare)
{
	struct qo_task t;
	struct qo_where w;
	struct qo_err err;

	qo_task_init(&t);
	t.task_type = "a";
	ck_assert_int_eq(qo_where_parse(&w, "error~=x", &err), 0);
	ck_assert(!qo_where_match(&w, &t, now));
	qo_where_fini(&w);
	ck_assert_int_eq(qo_where_parse(&w, "worker=x,tag.a=b", &err), 0);
	ck_assert(!qo_where_match(&w, &t, now));
	qo_where_fini(&w);
	qo_task_fini(&t);
}
END_TEST

static const struct {
	const char *where, *says;
} bad[] = {
	{ "", "status=" },
	{ "failed", "failed" },
	{ "status=failed,", "status=" },
	{ ",status=failed", "status=" },
	{ "status=", "pending" },
	{ "status=done", "pending, running" },
	{ "status=failed,status=pending", "twice" },
	{ "state=failed", "state" },
	{ "type=", "type" },
	{ "type=a b", "type" },
	{ "type=**", "type" },
	{ "error=timeout", "error~=" },
	{ "error~=", "error~=" },
	{ "older=1", "older=" },
	{ "older=-1h", "older=" },
	{ "older=99999d", "older=" },
	{ "tag.=x", "name" },
};

START_TEST(test_bad)
{
	struct qo_where w;
	struct qo_err err = { 0 };

	ck_assert_msg(qo_where_parse(&w, bad[_i].where, &err) == -1, "%s",
	    bad[_i].where);
	ck_assert_msg(strstr(err.msg, bad[_i].says) != NULL,
	    "%s: %s does not say %s", bad[_i].where, err.msg, bad[_i].says);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("where");
	TCase *tc = tcase_create("where");

	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, test_match, 0, nitems(cases));
	tcase_add_test(tc, test_match_bare);
	tcase_add_loop_test(tc, test_bad, 0, nitems(bad));
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
