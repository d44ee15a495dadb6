/*
 * The probe: passes the real store, and catches each way in which a store
 * can be unfit.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_s3.h"
#include "faultproxy.h"
#include "live_store.h"
#include "probe.h"
#include "run_suite.h"
#include "sig.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static struct qo_probe probe;

static void
run(struct loop *l, struct qo_s3 *s3, const char *index)
{
	struct qo_probe_conf conf = { "qo", index, "team/", true, true };
	struct qo_err err = { 0 };

	ck_assert_msg(qo_probe_run(&probe, l, s3, &conf, &err) == QO_OK, "%s",
	    err.msg);
}

/* All checks, for the message of a test that failed. */
static const char *
report(void)
{
	static char text[8192];
	size_t i, n = 0;

	for (i = 0; i < probe.n && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %s: %s\n",
		    qo_probe_level_name(probe.checks[i].level),
		    probe.checks[i].name, probe.checks[i].detail);
	return text;
}

/* How fast it is on a busy machine is not the store's doing. */
static bool
passed(void)
{
	size_t i;

	for (i = 0; i < probe.n; i++)
		if (probe.checks[i].level != QO_PROBE_PASS &&
		    strcmp(probe.checks[i].name, "latency") != 0)
			return false;
	return true;
}

static size_t
count_objects(struct live_store *st, const char *bucket)
{
	struct qo_s3_req r;
	size_t n;

	qo_s3_req_init(&r, QO_S3_LIST_VERSIONS, bucket, NULL);
	ck_assert_int_eq(qo_s3_wait(st->s3, &r), QO_S3_OK);
	n = r.res.list->n;
	qo_s3_req_fini(&r);
	return n;
}

START_TEST(test_real_store)
{
	struct live_store st;

	live_store_start(&st);
	run(st.loop, st.s3, _i == 0 ? "qo-index" : NULL);
	ck_assert_msg(passed(), "%s", report());
	ck_assert(!probe.etag_bare);
	ck_assert_uint_ge(probe.n, 15);
	/* Nothing stays behind, no version either. */
	ck_assert_uint_eq(count_objects(&st, "qo"), 0);
	ck_assert_uint_eq(count_objects(&st, "qo-index"), 0);
	live_store_stop(&st);
}
END_TEST

/* Answers that do not come: a store that was slow for a moment has not
 * failed, and one that is gone neither. */
static const struct {
	const char *rule;
	enum qo_rc rc;
} lost[] = {
	{ "drop PUT cond count=1 nth=1", QO_OK },
	{ "drop PUT cond count=1 nth=2", QO_OK },
	{ "drop PUT cond count=1 nth=3", QO_OK },
	{ "drop PUT cond count=1 nth=4", QO_OK },
	{ "drop PUT cond count=1 nth=5", QO_OK },
	{ "drop PUT cond count=1 nth=6", QO_OK },
	{ "drop PUT cond key=/race count=130", QO_OK },
	{ "drop PUT cond", QO_AGAIN },
	{ "drop PUT key=/permissions", QO_AGAIN },
	{ "drop PUT key=/old", QO_AGAIN },
	{ "drop GET key=/race", QO_AGAIN },
};

START_TEST(test_lost_answers)
{
	struct qo_probe_conf conf = { "qo", "qo-index", "", true, true };
	struct faultproxy *proxy;
	struct live_store st;
	struct qo_err err = { 0 };
	struct qo_s3 *s3;
	enum qo_rc rc;

	live_store_start(&st);
	proxy = faultproxy_start(st.url, 0, NULL);
	ck_assert_ptr_nonnull(proxy);
	s3 = live_store_client(&st, st.loop, faultproxy_url(proxy));
	ck_assert_int_eq(faultproxy_rule(proxy, lost[_i].rule), 0);
	rc = qo_probe_run(&probe, st.loop, s3, &conf, &err);
	ck_assert_uint_gt(faultproxy_hits(proxy), 0);
	ck_assert_msg(rc == lost[_i].rc, "%d, %s\n%s", (int)rc, err.msg,
	    report());
	ck_assert_msg(rc != QO_OK || passed(), "%s", report());
	ck_assert(!probe.etag_bare);
	qo_s3_free(s3);
	faultproxy_stop(proxy);
	live_store_stop(&st);
}
END_TEST

START_TEST(test_not_there)
{
	struct qo_probe_conf conf = { "qo-nothing", NULL, "", true, true };
	struct live_store st;
	struct qo_err err = { 0 };

	live_store_start(&st);
	ck_assert_int_eq(qo_probe_run(&probe, st.loop, st.s3, &conf, &err),
	    QO_NOENT);
	ck_assert_str_eq(err.s3_code, "NoSuchBucket");
	live_store_stop(&st);
}
END_TEST

static const struct {
	unsigned faults;
	const char *failed; /* the checks that must fail, and no other */
} cases[] = {
	{ FAKE_S3_GOOD, "" },
	{ FAKE_S3_IGNORE_INM, " if-none-match race-if-none-match" },
	{ FAKE_S3_IGNORE_IM, " stale-if-match absent-if-match race-if-match" },
	{ FAKE_S3_NOT_ATOMIC, " race-if-none-match race-if-match" },
	{ FAKE_S3_OLD_OK, " old-signature" },
	{ FAKE_S3_UNORDERED, " list start-after" },
	{ FAKE_S3_STALE_LIST, " delete-objects" },
	{ FAKE_S3_NO_BULK, " delete-objects" },
	{ FAKE_S3_BARE_ETAG, "" },
	{ FAKE_S3_LOSERS_500, "" },
	{ FAKE_S3_LOSERS_500 | FAKE_S3_NOT_ATOMIC,
	    " race-if-none-match race-if-match" },
	{ FAKE_S3_READ_ONLY, " permissions" },
	{ FAKE_S3_UNVERSIONED, " versioning" },
};

START_TEST(test_fault)
{
	struct live_store st = { .access_key = "AK", .secret_key = "SK" };
	struct loop *l;
	struct fake_s3 *f;
	struct qo_s3 *s3;
	struct buf failed;
	size_t i;

	sig_init();
	l = loop_new();
	f = fake_s3_new(l, cases[_i].faults);
	s3 = live_store_client(&st, l, fake_s3_url(f));
	run(l, s3, "qo-index");
	buf_init(&failed, 1024);
	for (i = 0; i < probe.n; i++)
		if (probe.checks[i].level == QO_PROBE_FAIL) {
			buf_addf(&failed, " %s", probe.checks[i].name);
			ck_assert_ptr_nonnull(probe.checks[i].fix);
		}
	ck_assert_msg(strcmp(failed.data, cases[_i].failed) == 0,
	    "failed:%s\n%s", failed.data, report());
	ck_assert(probe.etag_bare ==
	    ((cases[_i].faults & FAKE_S3_BARE_ETAG) != 0));
	if (!(cases[_i].faults & FAKE_S3_NO_BULK))
		ck_assert_uint_eq(fake_s3_count(f), 0);
	buf_fini(&failed);
	qo_s3_free(s3);
	fake_s3_free(f);
	loop_free(l);
}
END_TEST

static void
judge(const char *json, int want, bool want_bare, const char *msg)
{
	struct qo_control c;
	struct qo_err err = { 0 };
	bool bare;

	qo_control_init(&c, 1);
	if (json != NULL)
		c.probe = (struct qo_json){ json, strlen(json) };
	ck_assert_int_eq(qo_probe_judge(&c, &bare, &err), want);
	ck_assert(bare == want_bare);
	if (msg != NULL)
		ck_assert_msg(strstr(err.msg, msg) != NULL, "message: %s",
		    err.msg);
	qo_control_fini(&c);
}

START_TEST(test_verdict)
{
	struct buf b;

	memset(&probe, 0, sizeof(probe));
	judge(NULL, 0, false, NULL);
	judge("{\"verdict\":1,\"failed\":3}", 0, false, NULL);
	judge("{\"verdict\":\"fail\",\"failed\":3}", -1, false, "qo doctor");
	buf_init(&b, 4096);
	probe.n = 2;
	probe.checks[0].name = "list";
	probe.checks[0].level = QO_PROBE_WARN;
	probe.checks[1].name = "clock";
	probe.etag_bare = true;
	qo_probe_encode(&probe, (struct qo_wall){ 0 }, &b);
	ck_assert_str_eq(b.data,
	    "{\"verdict\":\"warn\",\"at\":\"1970-01-01T00:00:00.000000Z\","
	    "\"version\":\"" QO_VERSION "\",\"etag\":\"bare\","
	    "\"failed\":[]}");
	judge(b.data, 0, true, NULL);
	buf_reset(&b);
	probe.checks[0].level = probe.checks[1].level = QO_PROBE_FAIL;
	qo_probe_encode(&probe, (struct qo_wall){ 0 }, &b);
	judge(b.data, -1, true, "(list, clock)");
	buf_fini(&b);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("probe");
	TCase *tc = tcase_create("probe");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test_real_store, 0, 2);
	tcase_add_loop_test(tc, test_lost_answers, 0, (int)nitems(lost));
	tcase_add_test(tc, test_not_there);
	tcase_add_loop_test(tc, test_fault, 0, (int)nitems(cases));
	tcase_add_test(tc, test_verdict);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
