/*
 * The status of qod as its readers see it, whole and with parts missing.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "qodstatus.h"
#include "rfc3339.h"
#include "run_suite.h"

static const char whole[] =
    "{\"ok\":true,\"version\":\"0.1.0\",\"pid\":12,\"uptime_ms\":3000,"
    "\"state\":\"running\",\"config\":\"/etc/qo/qod.conf\","
    "\"generation\":2,\"last_reload\":{\"at\":"
    "\"2026-01-28T12:00:00.000000Z\",\"ok\":false,\"message\":\"x:1: no\"},"
    "\"children\":[{\"role\":\"worker\",\"index\":1,\"pid\":14,"
    "\"state\":\"ready\",\"generation\":2,\"uptime_ms\":2000,"
    "\"restarts\":3,\"last_exit\":\"killed by signal 9 (Killed)\","
    "\"next_restart_ms\":null,\"name\":\"h-1\",\"note\":null,\"slots\":16,"
    "\"counters\":{\"completed\":7,\"failed\":1,\"retried\":2,"
    "\"s3_retries\":4},\"s3_requests\":{\"GET\":10,\"PUT\":50},"
    "\"gauges\":{\"running\":2,\"ready_tasks\":-1},"
    "\"tasks\":[{\"id\":\"a\",\"type\":\"t\",\"attempt\":2,"
    "\"since\":\"2026-01-28T12:00:00.000000Z\",\"handler_pid\":99},"
    "{\"id\":\"b\",\"type\":\"t\",\"attempt\":1,\"since\":null,"
    "\"handler_pid\":0}]},"
    "{\"role\":\"monitor\",\"state\":\"down\",\"uptime_ms\":null,"
    "\"next_restart_ms\":400,\"gauges\":{\"ready_tasks\":5,"
    "\"oldest_ready_ms\":1500,\"leases\":2,\"failed_tasks\":3}}],"
    "\"tasks_omitted\":1,\"later\":[1]}";

START_TEST(all_is_read)
{
	const struct qodstatus_child *c;
	struct qodstatus st;
	struct qo_err err;
	char at[QO_RFC3339_SIZE];

	ck_assert_int_eq(qodstatus_read(&st, whole, strlen(whole), &err), 0);
	ck_assert_str_eq(st.version, "0.1.0");
	ck_assert_str_eq(st.state, "running");
	ck_assert_str_eq(st.config, "/etc/qo/qod.conf");
	ck_assert_int_eq(st.pid, 12);
	ck_assert_int_eq(st.generation, 2);
	ck_assert_int_eq(st.uptime_ms, 3000);
	ck_assert_int_eq(st.tasks_omitted, 1);
	qo_rfc3339_print(st.reload_at, at);
	ck_assert_str_eq(at, "2026-01-28T12:00:00.000000Z");
	ck_assert(!st.reload_ok);
	ck_assert_str_eq(st.reload_message, "x:1: no");
	ck_assert_uint_eq(st.nchildren, 2);
	c = &st.children[0];
	ck_assert_str_eq(c->role, "worker");
	ck_assert_str_eq(c->name, "h-1");
	ck_assert_ptr_null(c->note);
	ck_assert_str_eq(c->last_exit, "killed by signal 9 (Killed)");
	ck_assert_int_eq(c->index, 1);
	ck_assert_int_eq(c->restarts, 3);
	ck_assert_int_eq(c->next_restart_ms, -1);
	ck_assert_int_eq(c->running, 2);
	ck_assert_int_eq(c->slots, 16);
	ck_assert_int_eq(c->completed, 7);
	ck_assert_int_eq(c->s3_requests, 60);
	ck_assert_int_eq(c->s3_retries, 4);
	ck_assert_int_eq(c->ready, -1);
	ck_assert_uint_eq(c->ntasks, 2);
	ck_assert_str_eq(c->tasks[0].id, "a");
	ck_assert_int_eq(c->tasks[0].attempt, 2);
	ck_assert_int_eq(c->tasks[0].handler_pid, 99);
	ck_assert(qo_wall_is_set(c->tasks[0].since));
	ck_assert(!qo_wall_is_set(c->tasks[1].since));
	c = &st.children[1];
	ck_assert_int_eq(c->uptime_ms, -1);
	ck_assert_int_eq(c->next_restart_ms, 400);
	ck_assert_int_eq(c->ready, 5);
	ck_assert_int_eq(c->oldest_ready_ms, 1500);
	ck_assert_int_eq(c->failed_tasks, 3);
	qodstatus_fini(&st);
	qodstatus_fini(&st);
}
END_TEST

/* Whatever is cut away or turned into something else, what is left is read
 * or refused as a whole. */
START_TEST(half_of_it)
{
	static const char *const texts[] = { "{}", "{\"children\":null}",
		"{\"children\":[1,\"x\",null,{},{\"role\":\"worker\"}]}",
		"{\"children\":[{\"role\":\"w\",\"state\":\"s\","
		"\"tasks\":[1,{\"id\":2},{}],\"counters\":[],\"gauges\":3}]}",
		"{\"pid\":\"x\",\"version\":4,\"last_reload\":[]}" };
	struct qodstatus st;
	struct qo_err err;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ck_assert_int_eq(qodstatus_read(&st, texts[i], strlen(texts[i]),
				     &err),
		    0);
		ck_assert_uint_eq(st.nchildren, i == 3 ? 1 : 0);
		if (st.nchildren > 0)
			ck_assert_uint_eq(st.children[0].ntasks, 0);
		ck_assert_int_eq(st.pid, 0);
		ck_assert(!qo_wall_is_set(st.reload_at));
		qodstatus_fini(&st);
	}
	for (i = 0; i < strlen(whole); i++) {
		ck_assert_int_eq(qodstatus_read(&st, whole, i, &err), -1);
		qodstatus_fini(&st);
	}
	ck_assert_int_eq(qodstatus_read(&st, "[]", 2, &err), -1);
	ck_assert_str_eq(err.msg, "the answer is not a JSON object");
}
END_TEST

static int
result(const char *text, bool *ok, char *message, size_t size)
{
	struct qo_err err;

	return qodstatus_result(text, strlen(text), ok, message, size, &err);
}

START_TEST(results)
{
	char message[8];
	bool ok;

	ck_assert_int_eq(result("{\"ok\":true}", &ok, message, 8), 0);
	ck_assert(ok);
	ck_assert_str_eq(message, "");
	ck_assert_int_eq(result("{\"ok\":false,\"message\":\"a\\nbcdefghi\"}",
			     &ok, message, 8),
	    0);
	ck_assert(!ok);
	ck_assert_str_eq(message, "a\nbcdef");
	ck_assert_int_eq(result("true", &ok, message, 8), -1);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("qodstatus");
	TCase *tc = tcase_create("qodstatus");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, all_is_read);
	tcase_add_test(tc, half_of_it);
	tcase_add_test(tc, results);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
