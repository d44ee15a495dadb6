/*
 * The control record: its text, and changes by many at once.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "fake_s3.h"
#include "live_store.h"
#include "run_suite.h"
#include "sig.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static const char text[] =
    "{\"format\":1,\"shard_width\":2,\"paused\":true,"
    "\"paused_types\":[\"a.b\",\"c/d\"],\"probe\":{\"x\":1.0},\"rev\":7,"
    "\"updated_by\":\"me\",\"later\":[1e400]}";

START_TEST(test_text)
{
	struct qo_control c;
	struct qo_err err = { 0 };
	struct buf b;

	ck_assert_msg(qo_control_decode(&c, text, strlen(text), &err) == 0,
	    "%s", err.msg);
	ck_assert_int_eq(c.shard_width, 2);
	ck_assert(c.paused);
	ck_assert_uint_eq(c.npaused_types, 2);
	ck_assert_str_eq(c.paused_types[1], "c/d");
	ck_assert_int_eq(c.rev, 7);
	buf_init(&b, 4096);
	ck_assert_int_eq(qo_control_encode(&c, &b, &err), 0);
	ck_assert_str_eq(b.data, text); /* the unknown member too */
	buf_fini(&b);
	qo_control_fini(&c);
}
END_TEST

static const struct {
	const char *text, *msg;
} bad[] = {
	{ "", "" },
	{ "[]", "" },
	{ "{\"format\":1,\"rev\":1}", "shard_width" },
	{ "{\"format\":1,\"shard_width\":3,\"rev\":1}", "shard_width" },
	{ "{\"format\":1,\"shard_width\":1,\"rev\":1,\"paused\":1}", "paused" },
	{ "{\"format\":1,\"shard_width\":1,\"rev\":1,\"paused_types\":{}}",
	    "paused_types" },
	{ "{\"format\":1,\"shard_width\":1,\"rev\":1,\"paused_types\":[\"a "
	  "b\"]}",
	    "paused_types" },
	{ "{\"format\":1,\"shard_width\":1,\"rev\":1,\"probe\":[]}", "probe" },
};

START_TEST(test_bad)
{
	struct qo_control c;
	struct qo_err err = { 0 };

	ck_assert_int_eq(qo_control_decode(&c, bad[_i].text,
			     strlen(bad[_i].text), &err),
	    -1);
	ck_assert_msg(strstr(err.msg, bad[_i].msg) != NULL, "%s", err.msg);
}
END_TEST

START_TEST(test_pauses)
{
	struct qo_control c;
	char type[32];
	bool full;
	int i;

	qo_control_init(&c, 1);
	ck_assert(!qo_control_paused(&c, NULL));
	ck_assert(qo_control_set_paused(&c, "a", true, &full));
	ck_assert(!qo_control_set_paused(&c, "a", true, &full));
	ck_assert(qo_control_set_paused(&c, "b", true, &full));
	ck_assert(qo_control_paused(&c, "a"));
	ck_assert(!qo_control_paused(&c, "ab"));
	ck_assert(!qo_control_paused(&c, NULL));
	ck_assert(qo_control_set_paused(&c, "a", false, &full));
	ck_assert(!qo_control_set_paused(&c, "a", false, &full));
	ck_assert(!qo_control_paused(&c, "a"));
	ck_assert(qo_control_paused(&c, "b"));
	ck_assert(qo_control_set_paused(&c, NULL, true, &full));
	ck_assert(!qo_control_set_paused(&c, NULL, true, &full));
	ck_assert(qo_control_paused(&c, "a") && qo_control_paused(&c, NULL));
	ck_assert(qo_control_set_paused(&c, NULL, false, &full));
	for (i = 1; i < QO_CONTROL_TYPES_MAX; i++) {
		snprintf(type, sizeof(type), "t%d", i);
		ck_assert(qo_control_set_paused(&c, type, true, &full));
	}
	ck_assert(!qo_control_set_paused(&c, "one.more", true, &full));
	ck_assert(full);
	qo_control_fini(&c);
}
END_TEST

struct step {
	struct live_store *st;
	unsigned calls;
};

/* Adds its own type, and lets another be faster the first two times. */
static bool
change(struct qo_control *c, void *arg)
{
	struct step *s = arg;
	struct qo_control other;
	struct qo_err err = { 0 };
	struct step inner = { NULL, 0 };
	bool full;

	if (s->calls++ < 2 && s->st != NULL)
		ck_assert_int_eq(qo_control_update(s->st->s3, "qo", "p/",
				     change, &inner, &other, &err),
		    QO_OK);
	if (s->calls <= 2 && s->st != NULL)
		qo_control_fini(&other);
	if (s->st != NULL)
		return qo_control_set_paused(c, "mine", true, &full);
	c->paused = !c->paused;
	return true;
}

START_TEST(test_store)
{
	struct live_store st;
	struct qo_control c, d;
	struct qo_err err = { 0 };
	struct step s = { &st, 0 };

	live_store_start(&st);
	ck_assert_int_eq(qo_control_read(st.s3, "qo", "p/", &c, &err),
	    QO_NOENT);
	ck_assert_str_eq(err.s3_code, "NoSuchKey");
	ck_assert_int_eq(qo_control_update(st.s3, "qo", "p/", change, &s, &c,
			     &err),
	    QO_NOENT);
	qo_control_init(&c, 2);
	ck_assert_int_eq(qo_control_create(st.s3, "qo", "p/", &c, &err), QO_OK);
	qo_control_init(&d, 1);
	ck_assert_int_eq(qo_control_create(st.s3, "qo", "p/", &d, &err),
	    QO_LOST);
	qo_control_fini(&c);
	qo_control_fini(&d);
	ck_assert_int_eq(qo_control_update(st.s3, "qo", "p/", change, &s, &c,
			     &err),
	    QO_OK);
	ck_assert_uint_eq(s.calls, 3);
	ck_assert_int_eq(c.rev, 4); /* nobody's write is lost */
	ck_assert_int_eq(c.shard_width, 2);
	ck_assert(!c.paused && qo_control_paused(&c, "mine"));
	qo_control_fini(&c);
	live_store_stop(&st);
}
END_TEST

static bool
toggle(struct qo_control *c, void *arg)
{
	(*(unsigned *)arg)++;
	c->paused = !c->paused;
	return true;
}

/* R5: every write is made, and none is answered with success. */
START_TEST(test_lost_answers)
{
	struct live_store st = { .access_key = "AK", .secret_key = "SK" };
	struct qo_control c, d;
	struct qo_err err = { 0 };
	struct fake_s3 *f;
	struct qo_s3 *s3;
	struct loop *l;
	unsigned calls = 0;

	sig_init();
	l = loop_new();
	f = fake_s3_new(l, FAKE_S3_LIES);
	s3 = live_store_client(&st, l, fake_s3_url(f));
	qo_control_init(&c, 1);
	ck_assert_int_eq(qo_control_create(s3, "qo", "", &c, &err), QO_OK);
	qo_control_fini(&c);
	ck_assert_int_eq(qo_control_update(s3, "qo", "", toggle, &calls, &d,
			     &err),
	    QO_OK);
	ck_assert_uint_eq(calls, 1);
	ck_assert(d.paused);
	ck_assert_int_eq(d.rev, 2);
	qo_control_fini(&d);
	qo_s3_free(s3);
	fake_s3_free(f);
	loop_free(l);
}
END_TEST

static const char higher[] = "{\"format\":2,\"shard_width\":1,\"rev\":1}";

START_TEST(test_foreign)
{
	struct live_store st;
	struct qo_control c;
	struct qo_err err = { 0 };
	struct qo_s3_req r;

	live_store_start(&st);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "control/queue.json");
	r.body = _i == 0 ? higher : "<html>";
	r.body_len = strlen(r.body);
	ck_assert_int_eq(qo_s3_wait(st.s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
	ck_assert_int_eq(qo_control_read(st.s3, "qo", NULL, &c, &err), QO_ERR);
	ck_assert_msg(strncmp(err.msg, "qo/control/queue.json: ", 23) == 0,
	    "%s", err.msg);
	live_store_stop(&st);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("control");
	TCase *tc = tcase_create("control");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_text);
	tcase_add_loop_test(tc, test_bad, 0, (int)nitems(bad));
	tcase_add_test(tc, test_pauses);
	tcase_add_test(tc, test_store);
	tcase_add_test(tc, test_lost_answers);
	tcase_add_loop_test(tc, test_foreign, 0, 2);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
