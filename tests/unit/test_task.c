#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "json_doc.h"
#include "layout.h"
#include "run_suite.h"
#include "task.h"

#define ID "f47ac10b-58cc-4372-a567-0e02b2c3d479"

/* The least that a task must say. */
#define LEAST                                                    \
	"\"id\":\"" ID "\",\"shard\":\"f\",\"task_type\":\"t\"," \
	"\"status\":\"pending\","                                \
	"\"available_at\":\"2026-01-28T12:00:00Z\","             \
	"\"created_at\":\"2026-01-28T12:00:00Z\","               \
	"\"updated_at\":\"2026-01-28T12:00:00Z\""

/* The same as it is written, up to the members with a default. */
#define HEAD                                                                 \
	"{\"id\":\"" ID "\",\"shard\":\"f\",\"task_type\":\"t\",\"status\":" \
	"\"pending\",\"input\":null,\"output\":null"
#define POLICY                                                    \
	"{\"kind\":\"exponential\",\"initial_interval_ms\":1000," \
	"\"max_interval_ms\":60000,\"multiplier\":2.0,"           \
	"\"jitter_percent\":0.25}"
#define T0 "\"2026-01-28T12:00:00.000000Z\""

static int
decode(struct qo_task *t, const char *text, struct qo_err *err)
{
	qo_err_reset(err);
	return qo_task_decode(t, ID, text, strlen(text), err);
}

/* Decodes, encodes, compares. */
static void
ck_round(const char *text, const char *want)
{
	struct qo_task t;
	struct qo_err err;
	struct buf b;

	buf_init(&b, QO_TASK_LEN_MAX);
	ck_assert_msg(decode(&t, text, &err) == 0, "%s: %s", err.msg, text);
	ck_assert_msg(qo_task_encode(&t, &b, &err) == 0, "%s", err.msg);
	ck_assert_str_eq(b.data, want);
	qo_task_fini(&t);
	/* And what was written is stable. */
	ck_assert_msg(decode(&t, b.data, &err) == 0, "%s", err.msg);
	buf_reset(&b);
	ck_assert_int_eq(qo_task_encode(&t, &b, &err), 0);
	ck_assert_str_eq(b.data, want);
	qo_task_fini(&t);
	buf_fini(&b);
}

START_TEST(test_defaults)
{
	ck_round("{" LEAST "}",
	    HEAD ",\"timeout_seconds\":300,\"max_retries\":3,\"retry_count\":0,"
		 "\"retry_policy\":" POLICY ",\"available_at\":" T0 ","
		 "\"lease_expires_at\":null,\"lease_id\":null,\"worker_id\":"
		 "null,\"attempt\":0,\"generation\":0,\"rev\":0,\"updated_by\":"
		 "null,\"created_at\":" T0 ",\"updated_at\":" T0 ","
		 "\"completed_at\":null,\"last_error\":null,\"errors\":[],"
		 "\"cancel_requested\":false,\"reschedule_count\":0,"
		 "\"format\":1}");
}
END_TEST

/* Every member, in the order of the design, comes back byte for byte. */
START_TEST(test_all_members)
{
	static const char text[] =
	    "{\"id\":\"" ID "\",\"shard\":\"f4\",\"task_type\":\"email.send\","
	    "\"status\":\"archived\",\"input\":{\"n\":1.00,\"big\":1e400},"
	    "\"output\":[1,\"\\u00e9\"],\"input_ref\":\"payloads/x\","
	    "\"input_sha256\":\"00\",\"output_ref\":\"payloads/y\","
	    "\"timeout_seconds\":7,\"max_retries\":0,\"retry_count\":2,"
	    "\"retry_policy\":{\"kind\":\"linear\",\"initial_interval_ms\":5,"
	    "\"max_interval_ms\":50,\"multiplier\":1.50,\"jitter_percent\":0,"
	    "\"more\":1},"
	    "\"available_at\":" T0 ",\"lease_expires_at\":" T0 ","
	    "\"lease_id\":\"lease-1\",\"worker_id\":\"host.1\",\"attempt\":3,"
	    "\"generation\":9007199254740991,\"rev\":12,\"updated_by\":\"w\","
	    "\"created_at\":" T0 ",\"updated_at\":" T0 ",\"completed_at\":" T0
	    ",\"last_error\":\"it \\\"broke\\\"\\n\",\"errors\":[{\"attempt\":"
	    "1,\"at\":" T0 ",\"kind\":\"exit\",\"message\":\"m\",\"lease_id\":"
	    "\"l\",\"more\":[ 1 ]}],\"idempotency_key\":\"k\",\"priority\":"
	    "\"high\",\"tags\":{\"a\":\"b\"},\"expires_at\":" T0 ","
	    "\"cancel_requested\":true,\"cancelled_by\":\"me\","
	    "\"cancel_reason\":\"why\",\"give_up\":\"expired\","
	    "\"archived_from\":\"failed\",\"reschedule_count\":4,"
	    "\"max_reschedules\":0,\"progress\":0.50,\"waiting_for\":[\"" ID
	    "\"],\"workflow_id\":\"wf-1\",\"step\":\"charge\",\"parent_id\":"
	    "\"" ID "\",\"submitted_by\":\"shop\",\"traceparent\":\"00-1\","
	    "\"format\":1,\"new_member\":{\"x\":1E5},\"\\u0061nother\":0.0}";
	struct qo_task t;
	struct qo_err err;

	ck_round(text, text);
	ck_assert_int_eq(decode(&t, text, &err), 0);
	ck_assert_str_eq(t.shard, "f4");
	ck_assert_int_eq(t.status, QO_STATUS_ARCHIVED);
	ck_assert_int_eq(t.archived_from, QO_STATUS_FAILED);
	ck_assert_int_eq(t.give_up, QO_STATUS_EXPIRED);
	ck_assert_int_eq(t.priority, QO_PRIORITY_HIGH);
	ck_assert_int_eq(t.retry_policy.kind, QO_RETRY_LINEAR);
	ck_assert(t.retry_policy.multiplier == 1.5);
	ck_assert_int_eq(t.retry_policy.max_interval_ms, 50);
	ck_assert_int_eq(t.generation, QO_COUNT_MAX);
	ck_assert_int_eq(t.max_reschedules, 0);
	ck_assert_int_eq(t.available_at.us, INT64_C(1769601600000000));
	ck_assert_str_eq(t.last_error, "it \"broke\"\n");
	ck_assert_uint_eq(t.nerrors, 1);
	ck_assert_int_eq(t.errors[0].attempt, 1);
	ck_assert_str_eq(t.errors[0].lease_id, "l");
	ck_assert_uint_eq(t.rec.nunknown, 2);
	ck_assert_int_eq(strncmp(t.input.p, "{\"n\":1.00,\"big\":1e400}",
			     t.input.len),
	    0);
	qo_task_fini(&t);
	qo_task_fini(&t);
}
END_TEST

/* White space and another order are read; the order is put right. */
START_TEST(test_any_order)
{
	struct qo_task t;
	struct qo_err err;
	struct buf a, b;

	buf_init(&a, 1 << 16);
	buf_init(&b, 1 << 16);
	ck_assert_int_eq(decode(&t, "{" LEAST ",\"input\":[1, 2]}", &err), 0);
	ck_assert_int_eq(qo_task_encode(&t, &a, &err), 0);
	qo_task_fini(&t);
	ck_assert_int_eq(
	    decode(&t,
		" {\n\t\"input\" : [1, 2] ,\r\n \"format\" :1 , " LEAST " }\n ",
		&err),
	    0);
	ck_assert_int_eq(qo_task_encode(&t, &b, &err), 0);
	qo_task_fini(&t);
	ck_assert_str_eq(a.data, b.data);
	ck_assert_ptr_nonnull(strstr(a.data, "\"input\":[1, 2],"));
	buf_fini(&a);
	buf_fini(&b);
}
END_TEST

/* null is absent, wherever absent is allowed. */
START_TEST(test_null_is_absent)
{
	struct qo_task t;
	struct qo_err err;

	ck_assert_int_eq(
	    decode(&t,
		"{" LEAST ",\"input\":null,\"tags\":null,\"priority\":null,"
		"\"max_reschedules\":null,\"errors\":null,\"format\":null,"
		"\"retry_policy\":null,\"timeout_seconds\":null,\"step\":null,"
		"\"cancel_requested\":null,\"expires_at\":null}",
		&err),
	    0);
	ck_assert_ptr_null(t.input.p);
	ck_assert_ptr_null(t.tags.p);
	ck_assert_int_eq(t.max_reschedules, -1);
	ck_assert_int_eq(t.timeout_seconds, 300);
	ck_assert_int_eq(t.format, 1);
	ck_assert(!qo_wall_is_set(t.expires_at));
	qo_task_fini(&t);
}
END_TEST

static const struct {
	const char *text;
	const char *want; /* in the message */
} bad[] = {
	{ "", "invalid JSON" },
	{ "[]", "not a JSON object" },
	{ "{}", "id: is missing" },
	{ "{" LEAST "", "invalid JSON" },
	{ "{" LEAST ",\"id\":\"" ID "\"}", "id: is there twice" },
	{ "{" LEAST ",\"x\":1,\"y\":2,\"x\":3}", "unknown member" },
	{ "{" LEAST ",\"input\":{\"a\":1,\"a\":2}}", "same key twice" },
	{ "{" LEAST ",\"output\":\"\\udc00\"}", "invalid JSON" },
	{ "{" LEAST ",\"timeout_seconds\":0}", "timeout_seconds" },
	{ "{" LEAST ",\"timeout_seconds\":1.5}", "timeout_seconds" },
	{ "{" LEAST ",\"timeout_seconds\":\"5\"}", "timeout_seconds" },
	{ "{" LEAST ",\"max_retries\":-1}", "max_retries" },
	{ "{" LEAST ",\"rev\":9007199254740992}", "rev" },
	{ "{" LEAST ",\"rev\":99999999999999999999}", "rev" },
	{ "{" LEAST ",\"worker_id\":\"../x\"}", "worker_id" },
	{ "{" LEAST ",\"worker_id\":7}", "worker_id" },
	{ "{" LEAST ",\"lease_id\":\"a\\u0000b\"}", "lease_id" },
	{ "{" LEAST ",\"workflow_id\":\"a/b\"}", "workflow_id" },
	{ "{" LEAST ",\"parent_id\":\"x\"}", "parent_id" },
	{ "{" LEAST ",\"tags\":[]}", "tags" },
	{ "{" LEAST ",\"waiting_for\":{}}", "waiting_for" },
	{ "{" LEAST ",\"priority\":\"urgent\"}", "priority" },
	{ "{" LEAST ",\"give_up\":\"\"}", "give_up" },
	{ "{" LEAST ",\"cancel_requested\":1}", "cancel_requested" },
	{ "{" LEAST ",\"expires_at\":\"tomorrow\"}", "expires_at" },
	{ "{" LEAST ",\"expires_at\":1769601600}", "expires_at" },
	{ "{" LEAST ",\"errors\":{}}", "errors" },
	{ "{" LEAST ",\"errors\":[1]}", "errors" },
	{ "{" LEAST ",\"errors\":[{\"attempt\":-1}]}", "errors: attempt" },
	{ "{" LEAST ",\"errors\":[{\"at\":\"x\"}]}", "errors: at" },
	{ "{" LEAST ",\"errors\":[{\"kind\":1}]}", "errors: kind" },
	{ "{" LEAST ",\"retry_policy\":[]}", "retry_policy" },
	{ "{" LEAST ",\"retry_policy\":{\"kind\":\"x\"}}", "kind" },
	{ "{" LEAST ",\"retry_policy\":{\"multiplier\":0}}", "multiplier" },
	{ "{" LEAST ",\"retry_policy\":{\"multiplier\":1e999}}", "multiplier" },
	{ "{" LEAST ",\"retry_policy\":{\"max_interval_ms\":1}}",
	    "max_interval_ms" },
	{ "{" LEAST ",\"format\":0}", "format" },
	{ "{\"id\":null}", "id: is null" },
	{ "{\"id\":\"" ID "\",\"shard\":\"x\"}", "shard" },
	{ "{\"id\":\"f\"}", "id: not a valid" },
	{ "{\"task_type\":\"a b\"}", "task_type" },
	{ "{\"status\":\"done\"}", "status: unknown value \"done\"" },
	{ "{\"status\":1}", "status" },
};

START_TEST(test_bad)
{
	struct qo_task t;
	struct qo_err err;

	ck_assert_msg(decode(&t, bad[_i].text, &err) == -1, "%s", bad[_i].text);
	ck_assert_msg(strstr(err.msg, bad[_i].want) != NULL,
	    "\"%s\" does not name \"%s\"", err.msg, bad[_i].want);
	ck_assert_msg(strncmp(err.msg, "task: ", 6) == 0, "%s", err.msg);
}
END_TEST

START_TEST(test_wrong_id)
{
	const char *other = "047ac10b-58cc-4372-a567-0e02b2c3d479";
	const char *text = "{" LEAST "}";
	char copy[1024];
	struct qo_task t;
	struct qo_err err;

	ck_assert_int_eq(qo_task_decode(&t, other, text, strlen(text), &err),
	    -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "id: is " ID));
	ck_assert_int_eq(qo_task_decode(&t, NULL, text, strlen(text), &err), 0);
	qo_task_fini(&t);
	/* A shard that is not the id's own. */
	snprintf(copy, sizeof(copy), "%s", text);
	*(strstr(copy, "\"shard\":\"") + 9) = 'e';
	ck_assert_int_eq(decode(&t, copy, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "shard"));
}
END_TEST

START_TEST(test_higher_format)
{
	struct qo_task t;
	struct qo_err err;
	struct buf b;

	buf_init(&b, 4096);
	ck_assert_int_eq(decode(&t, "{" LEAST ",\"format\":2}", &err), 0);
	ck_assert(qo_task_read_only(&t));
	ck_assert_int_eq(qo_task_encode(&t, &b, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "format"));
	ck_assert_uint_eq(b.len, 0);
	qo_task_fini(&t);
	buf_fini(&b);
}
END_TEST

START_TEST(test_built_by_hand)
{
	struct qo_retry_policy p = { QO_RETRY_CONSTANT, 10, 10, 1.0, 0.1 };
	struct qo_task t;
	struct qo_err err;
	struct buf b;

	qo_task_init(&t);
	buf_init(&b, 1 << 16);
	ck_assert_int_eq(qo_task_encode(&t, &b, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "id: is missing"));
	buf_reset(&b);
	t.id = ID;
	t.shard = "f";
	t.task_type = "t";
	t.status = QO_STATUS_PENDING;
	t.available_at = t.created_at = t.updated_at =
	    (struct qo_wall){ INT64_C(1769601600000000) };
	t.last_error = qo_task_dup(&t, "bad byte \xff");
	qo_task_set_retry(&t, &p);
	ck_assert_msg(qo_task_encode(&t, &b, &err) == 0, "%s", err.msg);
	qo_task_fini(&t);
	ck_assert_msg(decode(&t, b.data, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(t.retry_policy.kind, QO_RETRY_CONSTANT);
	ck_assert(t.retry_policy.jitter_percent == 0.1);
	ck_assert_str_eq(t.last_error, "bad byte \xef\xbf\xbd");
	qo_task_fini(&t);
	buf_fini(&b);
	/* No room. */
	ck_assert_int_eq(decode(&t, "{" LEAST "}", &err), 0);
	buf_init(&b, 100);
	ck_assert_int_eq(qo_task_encode(&t, &b, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "100"));
	qo_task_fini(&t);
	buf_fini(&b);
}
END_TEST

START_TEST(test_errors_keep_ten)
{
	struct qo_task_error e = { 0 };
	struct qo_task t;
	struct qo_err err;
	struct buf b;
	char msg[32];
	int i;

	buf_init(&b, 1 << 16);
	ck_assert_int_eq(decode(&t, "{" LEAST "}", &err), 0);
	for (i = 1; i <= 13; i++) {
		snprintf(msg, sizeof(msg), "error %d", i);
		e.attempt = i;
		e.at = i == 13 ? QO_WALL_NONE : t.created_at;
		e.kind = "exit";
		e.message = msg;
		qo_task_add_error(&t, &e);
	}
	ck_assert_uint_eq(t.nerrors, 10);
	ck_assert_str_eq(t.errors[0].message, "error 4");
	ck_assert_str_eq(t.errors[9].message, "error 13");
	ck_assert_int_eq(qo_task_encode(&t, &b, &err), 0);
	qo_task_fini(&t);
	ck_assert_msg(decode(&t, b.data, &err) == 0, "%s", err.msg);
	ck_assert_uint_eq(t.nerrors, 10);
	ck_assert_int_eq(t.errors[0].attempt, 4);
	ck_assert(!qo_wall_is_set(t.errors[9].at));
	qo_task_fini(&t);
	/* Of more than ten in a text the last ten are kept. */
	buf_reset(&b);
	buf_adds(&b, "{" LEAST ",\"errors\":[ ");
	for (i = 1; i <= 12; i++)
		buf_addf(&b, "%s{\"attempt\":%d, \"x\":\"]}\"}",
		    i > 1 ? " , " : "", i);
	buf_adds(&b, " ]}");
	ck_assert_msg(decode(&t, b.data, &err) == 0, "%s", err.msg);
	ck_assert_uint_eq(t.nerrors, 10);
	ck_assert_int_eq(t.errors[0].attempt, 3);
	ck_assert_int_eq(strncmp(t.errors[9].text.p,
			     "{\"attempt\":12, \"x\":\"]}\"}",
			     t.errors[9].text.len),
	    0);
	qo_task_fini(&t);
	buf_fini(&b);
}
END_TEST

/* Output of a handler may be 512 deep, and the task around it is read. */
START_TEST(test_deep_output)
{
	struct qo_task t;
	struct qo_err err;
	struct buf b;
	int i, depth = QO_JSON_DEPTH_OUTPUT + _i;

	buf_init(&b, 1 << 16);
	buf_adds(&b, "{" LEAST ",\"output\":");
	for (i = 0; i < depth; i++)
		buf_addc(&b, '[');
	for (i = 0; i < depth; i++)
		buf_addc(&b, ']');
	buf_addc(&b, '}');
	ck_assert_int_eq(decode(&t, b.data, &err), _i == 0 ? 0 : -1);
	if (_i == 0) {
		ck_assert_uint_eq(t.output.len, 1024);
		qo_task_fini(&t);
	}
	buf_fini(&b);
}
END_TEST

/* Who may become what: rows are statuses, columns operations. */
START_TEST(test_transitions)
{
	static const enum qo_status n = QO_STATUS_NONE, p = QO_STATUS_PENDING,
				    r = QO_STATUS_RUNNING,
				    c = QO_STATUS_COMPLETED,
				    f = QO_STATUS_FAILED,
				    x = QO_STATUS_CANCELLED,
				    e = QO_STATUS_EXPIRED,
				    a = QO_STATUS_ARCHIVED;
	const enum qo_status want[8][11] = {
		/* claim renew complete fail retry cancel expire bump replay
		 * archive unarchive */
		[QO_STATUS_PENDING] = { r, n, n, n, n, x, e, p, n, n, n },
		[QO_STATUS_RUNNING] = { n, r, c, f, p, x, n, n, n, n, n },
		[QO_STATUS_COMPLETED] = { n, n, n, n, n, n, n, c, p, a, n },
		[QO_STATUS_FAILED] = { n, n, n, n, n, n, n, f, p, a, n },
		[QO_STATUS_CANCELLED] = { n, n, n, n, n, n, n, x, p, a, n },
		[QO_STATUS_EXPIRED] = { n, n, n, n, n, n, n, e, p, a, n },
		[QO_STATUS_ARCHIVED] = { n, n, n, n, n, n, n, a, n, n, f },
	};
	struct qo_task t;
	struct qo_err err;
	enum qo_status to;
	int s, op, rc;

	qo_task_init(&t);
	for (s = QO_STATUS_PENDING; s <= QO_STATUS_ARCHIVED; s++) {
		for (op = QO_OP_CLAIM; op <= QO_OP_UNARCHIVE; op++) {
			t.status = (enum qo_status)s;
			t.archived_from = f;
			to = n;
			rc = qo_task_next(&t, (enum qo_op)op, &to, &err);
			ck_assert_msg(to == want[s][op], "%s op %d: %s",
			    qo_status_name(t.status), op, qo_status_name(to));
			ck_assert_int_eq(rc, to == n ? -1 : 0);
		}
	}
	ck_assert_str_eq(err.msg,
	    "a task that is archived can not be archived");
	/* A workflow's task that expired ends so after its claim. */
	t.status = r;
	t.give_up = e;
	ck_assert_int_eq(qo_task_next(&t, QO_OP_EXPIRE, &to, &err), 0);
	ck_assert_int_eq(to, e);
	/* What was archived from nowhere can not go back. */
	t.status = a;
	t.archived_from = n;
	ck_assert_int_eq(qo_task_next(&t, QO_OP_UNARCHIVE, &to, &err), -1);
	qo_task_fini(&t);
}
END_TEST

START_TEST(test_status_names)
{
	enum qo_status s;
	int i;

	for (i = QO_STATUS_PENDING; i <= QO_STATUS_ARCHIVED; i++) {
		ck_assert_int_eq(qo_status_parse(qo_status_name((enum qo_status)
							 i),
				     &s),
		    0);
		ck_assert_int_eq(s, i);
		ck_assert_int_eq(qo_status_terminal(s), i > QO_STATUS_RUNNING);
	}
	ck_assert_int_eq(qo_status_parse("", &s), -1);
	ck_assert_int_eq(qo_status_parse("Pending", &s), -1);
}
END_TEST

/* Hostile strings as every kind of text: refused, or back byte for byte. */
static void
one_string(const char *s, size_t len, int *names)
{
	struct qo_layout l = { "", 1 };
	char key[QO_KEY_SIZE];
	struct qo_task t, back;
	struct qo_err err;
	struct buf b;

	ck_assert(!qo_uuid_valid(s, len));
	if (strlen(s) == len) {
		ck_assert_int_eq(qo_key_task(&l, s, key), -1);
		ck_assert_int_eq(qo_key_worker(&l, s, key),
		    qo_name_valid(s, len) ? 0 : -1);
	}
	*names += qo_name_valid(s, len) || qo_type_valid(s, len);
	ck_assert_int_eq(decode(&t, "{" LEAST "}", &err), 0);
	if (qo_type_valid(s, len))
		t.task_type = qo_task_dup(&t, s);
	if (qo_name_valid(s, len))
		t.worker_id = qo_task_dup(&t, s);
	t.idempotency_key = t.last_error = t.submitted_by = s;
	buf_init(&b, 1 << 16);
	ck_assert_int_eq(qo_task_encode(&t, &b, &err), 0);
	ck_assert_msg(decode(&back, b.data, &err) == 0, "%s", err.msg);
	ck_assert_str_eq(back.idempotency_key, s);
	ck_assert_str_eq(back.last_error, s);
	ck_assert_str_eq(back.task_type, t.task_type);
	if (t.worker_id != NULL)
		ck_assert_str_eq(back.worker_id, s);
	qo_task_fini(&back);
	qo_task_fini(&t);
	buf_fini(&b);
}

START_TEST(test_naughty_strings)
{
	const char *shared = getenv("QO_SHARED");
	struct qo_json_limits limits = { 1 << 20, QO_JSON_DEPTH, true };
	char path[512];
	struct qo_err err;
	yyjson_doc *doc;
	yyjson_val *v;
	struct buf b;
	size_t i, max;
	int names = 0;

	snprintf(path, sizeof(path), "%s/strings/blns.json",
	    shared != NULL ? shared : "../shared");
	buf_init(&b, 1 << 20);
	if (io_read_file(path, &b, &err) == -1) {
		printf("task: suite %s could not be read\n", path);
		return;
	}
	doc = qo_json_doc_read(b.data, b.len, &limits, QO_JSON_DOC_ALL, &err);
	ck_assert_msg(doc != NULL, "%s", err.msg);
	yyjson_arr_foreach(doc->root, i, max, v)
	{
		one_string(yyjson_get_str(v), yyjson_get_len(v), &names);
	}
	printf("task: %zu strings of blns, %d of them valid names or types\n",
	    max, names);
	ck_assert_uint_gt(max, 400);
	yyjson_doc_free(doc);
	buf_fini(&b);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("task");
	TCase *tc = tcase_create("task");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_defaults);
	tcase_add_test(tc, test_all_members);
	tcase_add_test(tc, test_any_order);
	tcase_add_test(tc, test_null_is_absent);
	tcase_add_loop_test(tc, test_bad, 0,
	    (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(tc, test_wrong_id);
	tcase_add_test(tc, test_higher_format);
	tcase_add_test(tc, test_built_by_hand);
	tcase_add_test(tc, test_errors_keep_ten);
	tcase_add_loop_test(tc, test_deep_output, 0, 2);
	tcase_add_test(tc, test_transitions);
	tcase_add_test(tc, test_status_names);
	tcase_add_test(tc, test_naughty_strings);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
