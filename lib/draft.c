#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "confval.h"
#include "draft.h"
#include "json_doc.h"
#include "rfc3339.h"
#include "tags.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static const char *const priority_names[] = { "normal", "high", "low", NULL };

/* Values */

int
qo_draft_timeout(const char *s, int64_t *ms, struct qo_err *err)
{
	int64_t v;

	if (confval_duration(s, CONFVAL_SEC, QO_TIMEOUT_MAX_S * CONFVAL_SEC, &v,
		err) == -1)
		return -1;
	if (v % CONFVAL_SEC != 0) {
		qo_err_set(err, "%.40s: whole seconds only, 1s to 30d", s);
		return -1;
	}
	*ms = v;
	return 0;
}

int
qo_draft_delay(const char *s, int64_t *ms, struct qo_err *err)
{
	return confval_duration(s, 0, QO_DRAFT_DELAY_MAX_MS, ms, err);
}

int
qo_draft_time(const char *s, struct qo_wall *t, struct qo_err *err)
{
	char shown[CONFVAL_SHOWN];

	if (qo_rfc3339_parse(s, strlen(s), t) == 0)
		return 0;
	qo_err_set(err,
	    "%s: a time is UTC in the form of RFC 3339, "
	    "2026-01-28T12:00:00Z",
	    confval_shown(s, shown, sizeof(shown)));
	return -1;
}

int
qo_draft_priority(const char *s, int *priority, struct qo_err *err)
{
	char shown[CONFVAL_SHOWN];
	int i;

	for (i = 0; priority_names[i] != NULL; i++) {
		if (strcmp(s, priority_names[i]) == 0) {
			*priority = i;
			return 0;
		}
	}
	qo_err_set(err, "%s: one of high, normal, low",
	    confval_shown(s, shown, sizeof(shown)));
	return -1;
}

/* A line */

/* "30s", or a number of seconds. */
static int
read_duration(const struct yyjson_val *v,
    int (*parse)(const char *s, int64_t *ms, struct qo_err *err), int64_t *ms,
    struct qo_err *err)
{
	char text[32];
	int64_t n;

	if (yyjson_is_str((void *)(uintptr_t)v))
		return parse(v->uni.str, ms, err);
	if (qo_json_get_int(v, INT64_MIN / CONFVAL_SEC, INT64_MAX / CONFVAL_SEC,
		&n) == -1) {
		qo_err_set(err,
		    "a duration is \"30s\" or a whole number of seconds");
		return -1;
	}
	snprintf(text, sizeof(text), "%llds", (long long)n);
	return parse(text, ms, err);
}

static int
read_timeout(void *rec, const struct yyjson_val *v, const struct qo_json *text,
    struct qo_err *err)
{
	struct qo_draft *d = rec;

	(void)text;
	return read_duration(v, qo_draft_timeout, &d->timeout_ms, err);
}

static int
read_delay(void *rec, const struct yyjson_val *v, const struct qo_json *text,
    struct qo_err *err)
{
	struct qo_draft *d = rec;

	(void)text;
	return read_duration(v, qo_draft_delay, &d->delay_ms, err);
}

static int
read_expires(void *rec, const struct yyjson_val *v, const struct qo_json *text,
    struct qo_err *err)
{
	struct qo_draft *d = rec;

	(void)text;
	return read_duration(v, qo_draft_delay, &d->expires_ms, err);
}

static int
read_priority(void *rec, const struct yyjson_val *v, const struct qo_json *text,
    struct qo_err *err)
{
	struct qo_draft *d = rec;

	(void)text;
	return qo_draft_priority(yyjson_is_str((void *)(uintptr_t)v)
		? v->uni.str
		: "",
	    &d->priority, err);
}

static int
read_tags(void *rec, const struct yyjson_val *v, const struct qo_json *text,
    struct qo_err *err)
{
	struct qo_draft *d = rec;

	(void)v;
	if (qo_tags_check(text, err) == -1)
		return -1;
	d->tags = *text;
	return 0;
}

#define MEMBER(n, k)                                                   \
	.name = #n, .name_len = sizeof(#n) - 1, .kind = QO_MEMBER_##k, \
	.rule = QO_MEMBER_OMIT

static const struct qo_member members[] = {
	{ MEMBER(type, STR), .offset = offsetof(struct qo_draft, type) },
	{ MEMBER(input, JSON), .offset = offsetof(struct qo_draft, input) },
	{ MEMBER(timeout, CUSTOM), .read = read_timeout },
	{ MEMBER(retries, INT), .offset = offsetof(struct qo_draft, retries),
	    .min = 0, .max = QO_RETRIES_MAX, .def = -1 },
	{ MEMBER(at, TIME), .offset = offsetof(struct qo_draft, at) },
	{ MEMBER(delay, CUSTOM), .read = read_delay },
	{ MEMBER(expires, CUSTOM), .read = read_expires },
	{ MEMBER(key, STR), .offset = offsetof(struct qo_draft, key) },
	{ MEMBER(tags, CUSTOM), .read = read_tags },
	{ MEMBER(priority, CUSTOM), .read = read_priority },
};

static const struct qo_record_type draft_type = { "line", members,
	nitems(members), QO_DRAFT_LINE_MAX, QO_JSON_DEPTH + 1 };

static void
init_custom(struct qo_draft *d)
{
	d->timeout_ms = d->delay_ms = d->expires_ms = -1;
	d->priority = -1;
	d->tags = (struct qo_json){ NULL, 0 };
}

void
qo_draft_init(struct qo_draft *d)
{
	qo_record_init(&draft_type, d);
	init_custom(d);
}

void
qo_draft_fini(struct qo_draft *d)
{
	qo_record_fini(&d->rec);
}

static int
refuse_unknown(const struct qo_draft *d, struct qo_err *err)
{
	const struct qo_json *u = &d->rec.unknown[0];
	const char *end = memchr(u->p, ':', u->len);
	int len = end != NULL ? (int)(end - u->p) : 0;

	qo_err_set(err,
	    "%.*s: no such member, only type, input, timeout, retries, at, "
	    "delay, expires, key, tags, priority",
	    len < 60 ? len : 60, u->p);
	return -1;
}

int
qo_draft_decode(struct qo_draft *d, const char *line, size_t len,
    struct qo_err *err)
{
	static const struct qo_json_limits limits = { QO_DRAFT_LINE_MAX,
		QO_JSON_DEPTH + 1, true };
	struct buf compact;
	int rv = -1;

	init_custom(d);
	buf_init(&compact, QO_DRAFT_LINE_MAX);
	/* So that the input inside is compact too. */
	if (qo_json_compact(line, len, &limits, &compact, err) == -1)
		goto out;
	if (qo_record_decode(&draft_type, d, compact.data, compact.len, err) ==
	    -1)
		goto out;
	if (d->rec.nunknown > 0)
		rv = refuse_unknown(d, err);
	else
		rv = 0;
	if (rv == -1)
		qo_draft_fini(d);
out:
	buf_fini(&compact);
	return rv;
}

/* The submission */

void
qo_draft_default(struct qo_draft *d, const struct qo_draft *base)
{
	if (d->type == NULL)
		d->type = base->type;
	if (d->input.p == NULL)
		d->input = base->input;
	if (d->timeout_ms == -1)
		d->timeout_ms = base->timeout_ms;
	if (d->retries == -1)
		d->retries = base->retries;
	if (d->delay_ms == -1 && !qo_wall_is_set(d->at)) {
		d->delay_ms = base->delay_ms;
		d->at = base->at;
	}
	if (d->expires_ms == -1)
		d->expires_ms = base->expires_ms;
	if (d->key == NULL)
		d->key = base->key;
	if (d->tags.p == NULL)
		d->tags = base->tags;
	if (d->priority == -1)
		d->priority = base->priority;
}

static void
fill_retry(struct qo_retry_policy *p, const struct conf_submit *conf)
{
	switch ((enum conf_retry_kind)conf->retry_kind) {
	case CONF_RETRY_EXPONENTIAL:
		p->kind = QO_RETRY_EXPONENTIAL;
		break;
	case CONF_RETRY_LINEAR:
		p->kind = QO_RETRY_LINEAR;
		break;
	case CONF_RETRY_CONSTANT:
		p->kind = QO_RETRY_CONSTANT;
		break;
	}
	p->initial_interval_ms = conf->retry_initial_interval_ms;
	p->max_interval_ms = conf->retry_max_interval_ms;
	p->multiplier = conf->retry_multiplier;
	p->jitter_percent = conf->retry_jitter;
}

static int
check_times(const struct qo_draft *d, struct qo_wall now, struct qo_err *err)
{
	char at[QO_RFC3339_SIZE], is[QO_RFC3339_SIZE];
	int64_t due_us = now.us;

	if (qo_wall_is_set(d->at) && d->delay_ms != -1) {
		qo_err_set(err, "at and delay: only one of them");
		return -1;
	}
	if (qo_wall_is_set(d->at)) {
		due_us = d->at.us;
		if (due_us < now.us) {
			qo_rfc3339_print(d->at, at);
			qo_rfc3339_print(now, is);
			qo_err_set(err,
			    "at: %s is in the past (it is %s): a time to come",
			    at, is);
			return -1;
		}
	} else if (d->delay_ms != -1)
		due_us += d->delay_ms * QO_US_PER_MS;
	if (d->expires_ms != -1 &&
	    now.us + d->expires_ms * QO_US_PER_MS <= due_us) {
		qo_err_set(err,
		    "expires: counted from now, it must be after the time at "
		    "which the task is due");
		return -1;
	}
	return 0;
}

int
qo_draft_submission(const struct qo_draft *d, const struct conf_submit *conf,
    struct qo_wall now, struct qo_submission *out, struct qo_err *err)
{
	qo_submission_init(out);
	out->task_type = d->type;
	out->input = d->input;
	out->timeout_seconds = (d->timeout_ms != -1 ? d->timeout_ms
						    : conf->timeout_ms) /
	    CONFVAL_SEC;
	out->max_retries = d->retries != -1 ? d->retries : conf->retries;
	fill_retry(&out->retry_policy, conf);
	out->available_at = d->at;
	out->delay_ms = d->delay_ms != -1 ? d->delay_ms : 0;
	out->expires_ms = d->expires_ms != -1 ? d->expires_ms : 0;
	out->idempotency_key = d->key;
	out->tags = d->tags;
	if (d->priority != -1)
		out->priority = (enum qo_priority)d->priority;
	if (d->type == NULL) {
		qo_err_set(err, "type: is missing");
		return -1;
	}
	if (check_times(d, now, err) == -1)
		return -1;
	return qo_submission_check(out, err);
}

bool
qo_draft_traceparent_valid(const char *s)
{
	static const char form[] = "00-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-"
				   "xxxxxxxxxxxxxxxx-xx";
	size_t i;

	if (strlen(s) != sizeof(form) - 1)
		return false;
	for (i = 0; form[i] != '\0'; i++)
		if (form[i] == 'x' ? strchr("0123456789abcdef", s[i]) == NULL
				   : form[i] != s[i])
			return false;
	/* All zeros: no trace at all. */
	return strspn(s + 3, "0") < 32 && strspn(s + 36, "0") < 16;
}
