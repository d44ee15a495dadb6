/*
 * From a configuration to the queue: what a daemon waits for, what it makes
 * and what it refuses.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"
#include "live_store.h"
#include "log.h"
#include "probe.h"
#include "queue_init.h"
#include "run_suite.h"
#include "sig.h"

#define PATIENCE_MS 240000 /* for a slow disk */

static struct live_store store;
static bool stop;
static struct loop_timer timer;

static void
on_report(void *arg, enum conf_level level, const struct conf_place *place,
    const char *msg)
{
	(void)arg;
	(void)place;
	if (level == CONF_ERROR)
		ck_abort_msg("%s", msg);
}

static struct conf *
conf_of(const char *text)
{
	struct conf_opts opts = { .how = CONF_TRUSTED, .report = on_report };
	struct conf *c;

	c = conf_parse_text(text, strlen(text), "test", &opts);
	ck_assert_ptr_nonnull(c);
	return c;
}

/* As qod's children have it: the store is embedded. */
static struct conf *
embedded(const char *bucket)
{
	char text[512];

	snprintf(text, sizeof(text),
	    "[store]\nlisten = %s\ndata = %s/data\n"
	    "[s3]\nbucket = %s\nindex_bucket = %s-index\n",
	    store.url + strlen("http://"), store.dir, bucket, bucket);
	return conf_of(text);
}

static void
on_stop(struct loop_timer *t)
{
	(void)t;
	stop = true;
}

struct daemon {
	struct qo_s3 *s3;
	struct qo_control control;
	struct qo_queue *q;
	struct qo_err err;
};

static enum qo_rc
attach(struct daemon *d, const struct conf *c, bool make, int64_t stop_ms)
{
	enum qo_rc rc;

	memset(d, 0, sizeof(*d));
	stop = false;
	loop_timer_set_ms(store.loop, &timer, stop_ms, on_stop, NULL);
	rc = qo_attach_wait(store.loop, c, make, &stop, &d->s3, &d->control,
	    &d->q, &d->err);
	loop_timer_del(store.loop, &timer);
	return rc;
}

static void
detach(struct daemon *d)
{
	qo_control_fini(&d->control);
	qo_queue_free(d->q);
	qo_s3_free(d->s3);
}

static bool
says(const struct qo_control *c, const char *text)
{
	return memmem(c->probe.p, c->probe.len, text, strlen(text)) != NULL;
}

/* A directory where nothing is but the store. */
START_TEST(test_makes)
{
	struct conf *c = embedded("fresh");
	struct daemon d;
	bool bare;

	ck_assert_msg(attach(&d, c, true, PATIENCE_MS) == QO_OK, "%s",
	    d.err.msg);
	ck_assert_int_eq(d.control.shard_width, 1);
	ck_assert_str_eq(d.q->index_bucket, "fresh-index");
	ck_assert(qo_queue_time_known(d.q));
	/* Probed, too; slow is only worth a warning. */
	ck_assert_msg(says(&d.control, "{\"verdict\":\"pass\"") ||
		says(&d.control, "{\"verdict\":\"warn\""),
	    "%.*s", (int)d.control.probe.len, d.control.probe.p);
	ck_assert_int_eq(qo_probe_judge(&d.control, &bare, &d.err), 0);
	detach(&d);
	/* Now it is there, for those too that make nothing. */
	ck_assert_int_eq(attach(&d, c, false, PATIENCE_MS), QO_OK);
	detach(&d);
	conf_free(c);
}
END_TEST

/* A worker is there before the monitor has made the queue. */
START_TEST(test_waits_for_maker)
{
	struct conf *c = embedded("later");
	struct daemon d;
	pid_t pid;
	int status;

	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		store.loop = loop_new();
		usleep(300000);
		_exit(attach(&d, c, true, PATIENCE_MS) == QO_OK ? 0 : 1);
	}
	ck_assert_msg(attach(&d, c, false, PATIENCE_MS) == QO_OK, "%s",
	    d.err.msg);
	detach(&d);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	conf_free(c);
}
END_TEST

static const char *const absent[] = {
	/* nobody listens there */
	"[s3]\nendpoint = http://127.0.0.1:1\nbucket = nowhere\naccess_key = "
	"a\n"
	"secret_key = b\n",
	/* the store has not been started: no keys */
	"[store]\nlisten = 127.0.0.1:1\ndata = /nonexistent/data\n",
};

START_TEST(test_stops)
{
	struct conf *c = conf_of(absent[_i]);
	struct daemon d;

	ck_assert_int_eq(attach(&d, c, true, 700), QO_AGAIN);
	ck_assert_ptr_null(d.s3);
	conf_free(c);
}
END_TEST

/* Another's store is never made into a queue. */
START_TEST(test_not_ours)
{
	struct daemon d;
	struct conf *c;
	char text[512];

	snprintf(text, sizeof(text),
	    "[s3]\nendpoint = %s\nbucket = qo-index\nprefix = p/\naccess_key = "
	    "%s\n"
	    "secret_key = %s\n",
	    store.url, store.access_key, store.secret_key);
	c = conf_of(text);
	ck_assert_int_eq(attach(&d, c, true, PATIENCE_MS), QO_NOENT);
	ck_assert_str_eq(d.err.msg,
	    "bucket qo-index, prefix p/ holds no queue: run qo init first");
	conf_free(c);
}
END_TEST

START_TEST(test_wrong_key)
{
	struct daemon d;
	struct conf *c;
	char text[512];

	snprintf(text, sizeof(text),
	    "[s3]\nendpoint = %s\nbucket = qo-index\naccess_key = "
	    "%s\nsecret_key = wrong\n",
	    store.url, store.access_key);
	c = conf_of(text);
	ck_assert_int_eq(attach(&d, c, true, PATIENCE_MS), QO_DENIED);
	conf_free(c);
}
END_TEST

static bool
fail_it(struct qo_control *c, void *arg)
{
	static const char verdict[] =
	    "{\"verdict\":\"fail\",\"failed\":[\"race-if-match\"]}";

	(void)arg;
	c->probe = qo_record_dup_json(&c->rec, verdict, strlen(verdict));
	return true;
}

START_TEST(test_failed_probe)
{
	struct conf *c = embedded("bad");
	struct daemon d;
	struct qo_control ctl;

	ck_assert_int_eq(attach(&d, c, true, PATIENCE_MS), QO_OK);
	ck_assert_int_eq(qo_control_update(d.s3, "bad", "", fail_it, NULL, &ctl,
			     &d.err),
	    QO_OK);
	qo_control_fini(&ctl);
	detach(&d);
	ck_assert_int_eq(attach(&d, c, true, PATIENCE_MS), QO_ERR);
	ck_assert_msg(strstr(d.err.msg, "race-if-match") != NULL, "%s",
	    d.err.msg);
	conf_free(c);
}
END_TEST

static void
setup(void)
{
	log_set_level(LOG_LVL_ERROR);
	sig_init();
	unsetenv("AWS_ACCESS_KEY_ID");
	live_store_start(&store);
}

static void
teardown(void)
{
	live_store_stop(&store);
}

int
main(void)
{
	Suite *s = suite_create("attach");
	TCase *tc = tcase_create("daemon");

	tcase_set_timeout(tc, 2 * PATIENCE_MS / 1000);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_makes);
	tcase_add_test(tc, test_waits_for_maker);
	tcase_add_loop_test(tc, test_stops, 0,
	    sizeof(absent) / sizeof(absent[0]));
	tcase_add_test(tc, test_not_ours);
	tcase_add_test(tc, test_wrong_key);
	tcase_add_test(tc, test_failed_probe);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
