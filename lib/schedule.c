#include <stdio.h>
#include <string.h>

#include "json_doc.h"
#include "layout.h"
#include "rfc3339.h"
#include "schedule.h"

const char *const qo_catch_up_names[] = { "skip", "last", "all", NULL };
const char *const qo_overlap_names[] = { "allow", "skip", "cancel", NULL };
static const char *const decision_names[] = { "", "run", "skipped", "missed",
	NULL };

const char *
qo_decision_name(enum qo_decision d)
{
	return d == QO_DECISION_NONE ? NULL : decision_names[d];
}

/* The text */

static bool
is_object(const char *s, size_t len)
{
	return len > 0 && s[0] == '{';
}

void
qo_schedule_set_firing(struct qo_schedule *s, const struct qo_wall *due,
    size_t n)
{
	struct qo_json copy;

	s->firing = NULL;
	s->nfiring = n;
	if (n == 0)
		return;
	/* The record owns copies of bytes; what they are is our business. */
	copy = qo_record_dup_json(&s->rec, (const char *)due, n * sizeof(*due));
	s->firing = (const void *)copy.p;
}

static int
read_firing(void *rec, const struct yyjson_val *v, const struct qo_json *text,
    struct qo_err *err)
{
	struct qo_wall due[QO_SCHEDULE_RUNS_MAX];
	yyjson_val *item;
	size_t i, max;

	(void)text;
	if (!unsafe_yyjson_is_arr((void *)(uintptr_t)v)) {
		qo_err_set(err, "not an array");
		return -1;
	}
	yyjson_arr_foreach((yyjson_val *)(uintptr_t)v, i, max, item)
	{
		if (i == QO_SCHEDULE_RUNS_MAX) {
			qo_err_set(err, "more than %d", QO_SCHEDULE_RUNS_MAX);
			return -1;
		}
		if (!unsafe_yyjson_is_str(item) ||
		    qo_rfc3339_parse(item->uni.str, unsafe_yyjson_get_len(item),
			&due[i]) == -1 ||
		    (i > 0 && due[i].us <= due[i - 1].us)) {
			qo_err_set(err, "not rising times of RFC 3339");
			return -1;
		}
	}
	qo_schedule_set_firing(rec, due, max);
	return 0;
}

static bool
write_firing(const void *rec, struct buf *out)
{
	const struct qo_schedule *s = rec;
	char text[QO_RFC3339_SIZE];
	size_t i;

	if (s->nfiring == 0)
		return false;
	for (i = 0; i < s->nfiring; i++) {
		qo_rfc3339_print(s->firing[i], text);
		buf_addf(out, "%c\"%s\"", i == 0 ? '[' : ',', text);
	}
	buf_addc(out, ']');
	return true;
}

#define MEMBER(m, k)                                                   \
	.name = #m, .name_len = sizeof(#m) - 1, .kind = QO_MEMBER_##k, \
	.offset = offsetof(struct qo_schedule, m)

static const struct qo_member members[] = {
	{ MEMBER(id, STR), .rule = QO_MEMBER_REQUIRED, .check = qo_name_valid },
	{ MEMBER(cron, STR), .rule = QO_MEMBER_REQUIRED, .max = QO_CRON_MAX },
	{ MEMBER(timezone, STR), .check = qo_tz_name_valid },
	{ MEMBER(task_type, STR), .rule = QO_MEMBER_OMIT,
	    .check = qo_type_valid_user },
	{ MEMBER(workflow, STR), .rule = QO_MEMBER_OMIT,
	    .check = qo_name_valid },
	{ MEMBER(input, JSON) },
	{ MEMBER(options, JSON), .check = is_object },
	{ MEMBER(catch_up, ENUM), .names = qo_catch_up_names },
	{ MEMBER(overlap, ENUM), .names = qo_overlap_names },
	{ MEMBER(paused, BOOL) },
	{ MEMBER(last_due, TIME) },
	{ MEMBER(last_decision, ENUM), .names = decision_names },
	{ MEMBER(last_task_id, STR), .check = qo_uuid_valid },
	{ MEMBER(next_due, TIME) },
	{ MEMBER(rev, INT), .min = 0, .max = QO_COUNT_MAX },
	{ MEMBER(updated_by, STR), .max = 64 },
	{ MEMBER(created_at, TIME) },
	{ MEMBER(updated_at, TIME) },
	{ MEMBER(firing, CUSTOM), .rule = QO_MEMBER_OMIT, .read = read_firing,
	    .write = write_firing },
	{ MEMBER(cancelling, STR), .rule = QO_MEMBER_OMIT,
	    .check = qo_uuid_valid },
	{ MEMBER(format, INT), .min = 1, .max = QO_COUNT_MAX,
	    .def = QO_SCHEDULE_FORMAT },
};

static const struct qo_record_type schedule_type = { "schedule", members,
	sizeof(members) / sizeof(members[0]), QO_SCHEDULE_LEN_MAX,
	QO_JSON_DEPTH + 1 };

void
qo_schedule_init(struct qo_schedule *s)
{
	memset(s, 0, sizeof(*s));
	qo_record_init(&schedule_type, s);
	s->timezone = "UTC";
	s->options = (struct qo_json){ "{}", 2 };
}

void
qo_schedule_fini(struct qo_schedule *s)
{
	qo_record_fini(&s->rec);
}

int
qo_schedule_decode(struct qo_schedule *s, const char *id, const char *text,
    size_t len, struct qo_err *err)
{
	struct qo_err why = { 0 };

	memset(s, 0, sizeof(*s));
	if (qo_record_decode(&schedule_type, s, text, len, err) == -1)
		return -1;
	if (s->timezone == NULL)
		s->timezone = "UTC";
	if (s->format > QO_SCHEDULE_FORMAT)
		qo_err_set(err,
		    "schedule: format %lld is newer than this program",
		    (long long)s->format);
	else if (id != NULL && strcmp(s->id, id) != 0)
		qo_err_set(err, "schedule: id: is %s in the object %.128s",
		    s->id, id);
	else if (qo_schedule_check(s, &why) == -1)
		qo_err_set(err, "schedule: %.300s", why.msg);
	else
		return 0;
	qo_schedule_fini(s);
	return -1;
}

int
qo_schedule_encode(const struct qo_schedule *s, struct buf *out,
    struct qo_err *err)
{
	return qo_record_encode(&schedule_type, s, out, err);
}

/* What it submits */

/* The options as a draft; initialised here, and to be freed when 0. */
static int
read_options(const struct qo_schedule *s, struct qo_draft *d,
    struct qo_err *err)
{
	struct qo_err why = { 0 };
	const char *p = s->options.p != NULL ? s->options.p : "{}";
	size_t len = s->options.p != NULL ? s->options.len : 2;

	if (qo_draft_decode(d, p, len, &why) == -1) {
		qo_err_set(err, "options: %.280s", why.msg);
		return -1;
	}
	if (d->type == NULL && d->input.p == NULL && d->key == NULL &&
	    d->delay_ms == -1 && !qo_wall_is_set(d->at))
		return 0;
	qo_err_set(err,
	    "options: only timeout, retries, expires, tags and priority");
	qo_draft_fini(d);
	return -1;
}

int
qo_schedule_check(const struct qo_schedule *s, struct qo_err *err)
{
	struct qo_err why = { 0 };
	struct qo_cron cron;
	struct qo_draft d;

	if (qo_cron_parse(&cron, s->cron, &why) == -1) {
		qo_err_set(err, "cron: %.300s", why.msg);
		return -1;
	}
	if ((s->task_type == NULL) == (s->workflow == NULL)) {
		qo_err_set(err, "task_type, workflow: one of them");
		return -1;
	}
	if (s->input.len > QO_SCHEDULE_INPUT_MAX) {
		qo_err_set(err, "input: %zu bytes, at most %zu are allowed",
		    s->input.len, QO_SCHEDULE_INPUT_MAX);
		return -1;
	}
	if (read_options(s, &d, err) == -1)
		return -1;
	qo_draft_fini(&d);
	return 0;
}

int
qo_schedule_submission(const struct qo_schedule *s,
    const struct conf_submit *conf, struct qo_wall now, struct qo_draft *d,
    struct qo_submission *sub, struct qo_err *err)
{
	if (read_options(s, d, err) == -1)
		return -1;
	d->type = s->task_type;
	d->input = s->input;
	if (qo_draft_submission(d, conf, now, sub, err) == 0)
		return 0;
	qo_draft_fini(d);
	return -1;
}

void
qo_schedule_task_id(const char *prefix, const char *id, struct qo_wall due,
    char out[QO_UUID_SIZE])
{
	char text[QO_NAME_MAX + 1 + QO_RFC3339_SIZE], time[QO_RFC3339_SIZE];
	int len;

	qo_rfc3339_print(due, time);
	len = snprintf(text, sizeof(text), "%s:%s", id, time);
	qo_uuid_derive(prefix, QO_DERIVE_SCHED, text, (size_t)len, out);
}

void
qo_schedule_who(const char *id, char out[QO_SCHEDULE_WHO_SIZE])
{
	snprintf(out, QO_SCHEDULE_WHO_SIZE, "%s%s", QO_SCHEDULE_WHO, id);
}
