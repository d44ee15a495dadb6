#include <string.h>

#include "json_doc.h"
#include "layout.h"
#include "rfc3339.h"
#include "task.h"

#define YEAR_SEC    INT64_C(31536000)
#define RETRIES_MAX INT64_C(1000000)

static const char *const status_names[] = { "", "pending", "running",
	"completed", "failed", "cancelled", "expired", "archived", NULL };
static const char *const priority_names[] = { "normal", "high", "low", NULL };

static bool
is_object(const char *s, size_t len)
{
	return len > 0 && s[0] == '{';
}

static bool
is_array(const char *s, size_t len)
{
	return len > 0 && s[0] == '[';
}

static bool
is_shard(const char *s, size_t len)
{
	return (len == 1 || len == 2) && strspn(s, "0123456789abcdef") == len;
}

/* The retry policy */

/* What a task without a policy of its own has, as we write it. */
static const char usual_policy[] =
    "{\"kind\":\"exponential\",\"initial_interval_ms\":1000,"
    "\"max_interval_ms\":60000,\"multiplier\":2.0,\"jitter_percent\":0.25}";

static int
read_policy_member(struct qo_retry_policy *p, const yyjson_val *key,
    const yyjson_val *v, struct qo_err *err)
{
	const int64_t max = QO_RETRY_INTERVAL_MAX_MS;
	int rc = 0;

	if (unsafe_yyjson_equals_str((void *)key, "kind"))
		rc = unsafe_yyjson_is_str((void *)v)
		    ? qo_retry_kind_parse(v->uni.str, &p->kind)
		    : -1;
	else if (unsafe_yyjson_equals_str((void *)key, "initial_interval_ms"))
		rc = qo_json_get_int(v, 0, max, &p->initial_interval_ms);
	else if (unsafe_yyjson_equals_str((void *)key, "max_interval_ms"))
		rc = qo_json_get_int(v, 0, max, &p->max_interval_ms);
	else if (unsafe_yyjson_equals_str((void *)key, "multiplier"))
		rc = qo_json_get_double(v, &p->multiplier);
	else if (unsafe_yyjson_equals_str((void *)key, "jitter_percent"))
		rc = qo_json_get_double(v, &p->jitter_percent);
	if (rc == -1)
		qo_err_set(err, "%s: not a valid value", key->uni.str);
	return rc;
}

static int
read_policy(void *rec, const struct yyjson_val *v, const struct qo_json *text,
    struct qo_err *err)
{
	struct qo_task *t = rec;
	yyjson_val *key, *val;
	size_t i, max;

	if (text->len == sizeof(usual_policy) - 1 &&
	    memcmp(text->p, usual_policy, text->len) == 0)
		return 0;
	if (!unsafe_yyjson_is_obj((void *)v)) {
		qo_err_set(err, "not an object");
		return -1;
	}
	yyjson_obj_foreach((yyjson_val *)(uintptr_t)v, i, max, key, val)
	{
		if (!unsafe_yyjson_is_null(val) &&
		    read_policy_member(&t->retry_policy, key, val, err) == -1)
			return -1;
	}
	if (qo_retry_check(&t->retry_policy, err) == -1)
		return -1;
	t->retry_policy_text = *text;
	return 0;
}

static bool
is_usual(const struct qo_retry_policy *p)
{
	return p->kind == QO_RETRY_EXPONENTIAL &&
	    p->initial_interval_ms == 1000 && p->max_interval_ms == 60000 &&
	    p->multiplier == 2.0 && p->jitter_percent == 0.25;
}

static bool
write_policy(const void *rec, struct buf *out)
{
	const struct qo_task *t = rec;
	const struct qo_retry_policy *p = &t->retry_policy;

	if (t->retry_policy_text.p != NULL) {
		buf_add(out, t->retry_policy_text.p, t->retry_policy_text.len);
		return true;
	}
	if (is_usual(p)) {
		buf_add(out, usual_policy, sizeof(usual_policy) - 1);
		return true;
	}
	buf_addf(out,
	    "{\"kind\":\"%s\",\"initial_interval_ms\":%lld,"
	    "\"max_interval_ms\":%lld,\"multiplier\":",
	    qo_retry_kind_name(p->kind), (long long)p->initial_interval_ms,
	    (long long)p->max_interval_ms);
	qo_json_add_double(out, p->multiplier);
	buf_adds(out, ",\"jitter_percent\":");
	qo_json_add_double(out, p->jitter_percent);
	buf_addc(out, '}');
	return true;
}

/* The errors */

static int
read_error_member(struct qo_task_error *e, const yyjson_val *key,
    const yyjson_val *v, struct qo_err *err)
{
	const char **str = NULL;
	int rc = 0;

	if (unsafe_yyjson_equals_str((void *)key, "attempt"))
		rc = qo_json_get_int(v, 0, QO_COUNT_MAX, &e->attempt);
	else if (unsafe_yyjson_equals_str((void *)key, "at"))
		rc = unsafe_yyjson_is_str((void *)v)
		    ? qo_rfc3339_parse(v->uni.str,
			  unsafe_yyjson_get_len((void *)v), &e->at)
		    : -1;
	else if (unsafe_yyjson_equals_str((void *)key, "kind"))
		str = &e->kind;
	else if (unsafe_yyjson_equals_str((void *)key, "message"))
		str = &e->message;
	else if (unsafe_yyjson_equals_str((void *)key, "lease_id"))
		str = &e->lease_id;
	if (str != NULL) {
		*str = v->uni.str;
		/* A NUL inside would cut the C string. */
		rc = unsafe_yyjson_is_str((void *)v) &&
			strlen(v->uni.str) == unsafe_yyjson_get_len((void *)v)
		    ? 0
		    : -1;
	}
	if (rc == -1)
		qo_err_set(err, "%s: not a valid value", key->uni.str);
	return rc;
}

static int
read_error(struct qo_task_error *e, yyjson_val *v, struct qo_err *err)
{
	yyjson_val *key, *val;
	size_t i, max;

	memset(e, 0, sizeof(*e));
	e->at = QO_WALL_NONE;
	if (!unsafe_yyjson_is_obj(v)) {
		qo_err_set(err, "holds what is not an object");
		return -1;
	}
	yyjson_obj_foreach(v, i, max, key, val)
	{
		if (!unsafe_yyjson_is_null(val) &&
		    read_error_member(e, key, val, err) == -1)
			return -1;
	}
	return 0;
}

static int
read_errors(void *rec, const struct yyjson_val *v, const struct qo_json *text,
    struct qo_err *err)
{
	struct qo_task *t = rec;
	struct qo_task_error *e;
	yyjson_val *item;
	const char *p = text->p, *end;
	size_t i, max;

	if (!unsafe_yyjson_is_arr((void *)v)) {
		qo_err_set(err, "not an array");
		return -1;
	}
	yyjson_arr_foreach((yyjson_val *)(uintptr_t)v, i, max, item)
	{
		/* Behind the bracket or comma that the last one ended at. */
		p += 1 + strspn(p + 1, " \t\r\n");
		end = qo_json_skip(p);
		if (max - i <= QO_TASK_ERRORS_MAX) {
			e = &t->errors[t->nerrors++];
			if (read_error(e, item, err) == -1)
				return -1;
			e->text = (struct qo_json){ p, (size_t)(end - p) };
		}
		p = end + strspn(end, " \t\r\n");
	}
	return 0;
}

static void
write_error_string(struct buf *out, const char *name, const char *s)
{
	buf_adds(out, name);
	if (s == NULL)
		buf_adds(out, "null");
	else
		qo_json_add_string(out, s, strlen(s));
}

static void
write_error(struct buf *out, const struct qo_task_error *e)
{
	char at[QO_RFC3339_SIZE];

	if (e->text.p != NULL) {
		buf_add(out, e->text.p, e->text.len);
		return;
	}
	buf_adds(out, "{\"attempt\":");
	qo_json_add_int(out, e->attempt);
	if (qo_wall_is_set(e->at)) {
		qo_rfc3339_print(e->at, at);
		write_error_string(out, ",\"at\":", at);
	} else {
		buf_adds(out, ",\"at\":null");
	}
	write_error_string(out, ",\"kind\":", e->kind);
	write_error_string(out, ",\"message\":", e->message);
	write_error_string(out, ",\"lease_id\":", e->lease_id);
	buf_addc(out, '}');
}

static bool
write_errors(const void *rec, struct buf *out)
{
	const struct qo_task *t = rec;
	size_t i;

	buf_addc(out, '[');
	for (i = 0; i < t->nerrors; i++) {
		if (i > 0)
			buf_addc(out, ',');
		write_error(out, &t->errors[i]);
	}
	buf_addc(out, ']');
	return true;
}

/* The table, in the order in which the members are written. */

#define MEMBER(member, k)                                 \
	.name = #member, .name_len = sizeof(#member) - 1, \
	.kind = QO_MEMBER_##k, .offset = offsetof(struct qo_task, member)
#define STR(member, ...)                         \
	{                                        \
		MEMBER(member, STR), __VA_ARGS__ \
	}
#define JSON(member, ...)                         \
	{                                         \
		MEMBER(member, JSON), __VA_ARGS__ \
	}
#define TIME(member, ...)                         \
	{                                         \
		MEMBER(member, TIME), __VA_ARGS__ \
	}
#define ENUM(member, n, ...)                                    \
	{                                                       \
		MEMBER(member, ENUM), .names = (n), __VA_ARGS__ \
	}
#define INT(member, lo, hi, ...)                                           \
	{                                                                  \
		MEMBER(member, INT), .min = (lo), .max = (hi), __VA_ARGS__ \
	}
#define COUNT(member) INT(member, 0, QO_COUNT_MAX, .def = 0)
#define OMIT          .rule = QO_MEMBER_OMIT
#define REQUIRED      .rule = QO_MEMBER_REQUIRED
#define NULLABLE      .rule = QO_MEMBER_NULL

static const struct qo_member members[] = {
	STR(id, REQUIRED, .check = qo_uuid_valid),
	STR(shard, REQUIRED, .check = is_shard),
	STR(task_type, REQUIRED, .check = qo_type_valid),
	ENUM(status, status_names, REQUIRED),
	JSON(input, NULLABLE),
	JSON(output, NULLABLE),
	STR(input_ref, OMIT, .max = 1024),
	STR(input_sha256, OMIT, .max = 64),
	STR(output_ref, OMIT, .max = 1024),
	INT(timeout_seconds, 1, YEAR_SEC, .def = 300),
	INT(max_retries, 0, RETRIES_MAX, .def = 3),
	COUNT(retry_count),
	{ MEMBER(retry_policy, CUSTOM), .read = read_policy,
	    .write = write_policy },
	TIME(available_at, REQUIRED),
	TIME(lease_expires_at, NULLABLE),
	STR(lease_id, NULLABLE, .max = QO_NAME_MAX),
	STR(worker_id, NULLABLE, .check = qo_name_valid),
	COUNT(attempt),
	COUNT(generation),
	COUNT(rev),
	STR(updated_by, NULLABLE, .max = QO_NAME_MAX),
	TIME(created_at, REQUIRED),
	TIME(updated_at, REQUIRED),
	TIME(completed_at, NULLABLE),
	STR(last_error, NULLABLE),
	{ MEMBER(errors, CUSTOM), .read = read_errors, .write = write_errors },
	STR(idempotency_key, OMIT),
	ENUM(priority, priority_names, OMIT),
	JSON(tags, OMIT, .check = is_object),
	TIME(expires_at, OMIT),
	{ MEMBER(cancel_requested, BOOL) },
	STR(cancelled_by, OMIT),
	STR(cancel_reason, OMIT),
	ENUM(give_up, status_names, OMIT),
	ENUM(archived_from, status_names, OMIT),
	TIME(retired_at, OMIT),
	COUNT(reschedule_count),
	INT(max_reschedules, 0, QO_COUNT_MAX, .def = -1, OMIT),
	JSON(progress, OMIT),
	JSON(waiting_for, OMIT, .check = is_array),
	STR(workflow_id, OMIT, .check = qo_name_valid),
	STR(step, OMIT, .check = qo_name_valid),
	STR(parent_id, OMIT, .check = qo_uuid_valid),
	STR(submitted_by, OMIT),
	STR(traceparent, OMIT),
	INT(format, 1, QO_COUNT_MAX, .def = QO_TASK_FORMAT),
};

static const struct qo_record_type task_type = { "task", members,
	sizeof(members) / sizeof(members[0]), QO_TASK_LEN_MAX,
	QO_JSON_DEPTH_OUTPUT + 1 };

_Static_assert(sizeof(members) / sizeof(members[0]) <= 64,
    "a record has at most 64 members");

const char *
qo_status_name(enum qo_status status)
{
	return status_names[status];
}

int
qo_status_parse(const char *word, enum qo_status *status)
{
	int i;

	for (i = QO_STATUS_PENDING; status_names[i] != NULL; i++) {
		if (strcmp(word, status_names[i]) == 0) {
			*status = (enum qo_status)i;
			return 0;
		}
	}
	return -1;
}

/* What the table does not reach. */
static void
init_custom(struct qo_task *t)
{
	qo_retry_defaults(&t->retry_policy);
	t->retry_policy_text = (struct qo_json){ NULL, 0 };
	t->nerrors = 0;
}

void
qo_task_init(struct qo_task *t)
{
	qo_record_init(&task_type, t);
	init_custom(t);
}

void
qo_task_fini(struct qo_task *t)
{
	qo_record_fini(&t->rec);
}

int
qo_task_decode(struct qo_task *t, const char *id, const char *text, size_t len,
    struct qo_err *err)
{
	init_custom(t);
	if (qo_record_decode(&task_type, t, text, len, err) == -1)
		return -1;
	if (id != NULL && strcmp(t->id, id) != 0)
		qo_err_set(err, "task: id: is %s in the object %.64s", t->id,
		    id);
	else if (strncmp(t->id, t->shard, strlen(t->shard)) != 0)
		qo_err_set(err, "task: shard: %s is not that of %s", t->shard,
		    t->id);
	else
		return 0;
	qo_task_fini(t);
	return -1;
}

bool
qo_task_read_only(const struct qo_task *t)
{
	return t->format > QO_TASK_FORMAT;
}

int
qo_task_encode(const struct qo_task *t, struct buf *out, struct qo_err *err)
{
	if (qo_task_read_only(t)) {
		qo_err_set(err,
		    "task: format: is %lld, this program writes up to %d",
		    (long long)t->format, QO_TASK_FORMAT);
		return -1;
	}
	return qo_record_encode(&task_type, t, out, err);
}
