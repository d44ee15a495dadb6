#include <string.h>

#include "json_doc.h"
#include "reply.h"
#include "utf8.h"

/* Room for what is around the output in a verdict. */
#define AROUND ((size_t)64 << 10)

/* In the order of the enum. */
static const char *const names[] = { "completed", "retry", "failed",
	"reschedule", "cancelled", "wait_signal", "wait_tasks", "progress",
	"log" };
#define NSTATUSES 7

const char *
reply_name(enum reply_kind kind)
{
	return names[kind];
}

/* The members, as they are met. */
enum member {
	M_STATUS = 0,
	M_PROGRESS,
	M_LOG,
	M_OUTPUT,
	M_ERROR,
	M_DELAY,
	M_SIGNAL,
	M_TIMEOUT,
	M_IDS,
	M_COUNT
};

static const struct {
	const char *name;
	size_t len;
} members[M_COUNT] = {
#define MEMBER(s)                \
	{                        \
		s, sizeof(s) - 1 \
	}
	MEMBER("status"),
	MEMBER("progress"),
	MEMBER("log"),
	MEMBER("output"),
	MEMBER("error"),
	MEMBER("delay_seconds"),
	MEMBER("signal"),
	MEMBER("timeout_seconds"),
	MEMBER("ids"),
};

struct found {
	yyjson_val *value;      /* NULL: not there, or null */
	const yyjson_val *key;  /* both also when the value is null */
	const yyjson_val *next; /* the key behind it */
};

static enum member
member_of(const yyjson_val *key)
{
	size_t len = unsafe_yyjson_get_len((void *)(uintptr_t)key);
	int m;

	for (m = 0; m < M_COUNT; m++)
		if (len == members[m].len &&
		    memcmp(key->uni.str, members[m].name, len) == 0)
			break;
	return (enum member)m;
}

static void
find_members(yyjson_val *root, struct found f[M_COUNT])
{
	const yyjson_val *key = root + 1, *next;
	yyjson_val *value;
	size_t i, n = unsafe_yyjson_get_len(root);
	enum member m;

	memset(f, 0, M_COUNT * sizeof(f[0]));
	for (i = 0; i < n; i++, key = next) {
		value = (yyjson_val *)(uintptr_t)key + 1;
		next = i + 1 < n ? unsafe_yyjson_get_next(value) : NULL;
		m = member_of(key);
		if (m == M_COUNT)
			continue;
		f[m].key = key;
		f[m].next = next;
		if (!yyjson_is_null(value))
			f[m].value = value;
	}
}

static int
read_status(struct reply *r, const yyjson_val *v, struct qo_err *err)
{
	size_t i, len = yyjson_get_len((yyjson_val *)(uintptr_t)v);

	if (!yyjson_is_str((yyjson_val *)(uintptr_t)v)) {
		qo_err_set(err, "status is not a string");
		return -1;
	}
	for (i = 0; i < NSTATUSES; i++) {
		if (strlen(names[i]) != len ||
		    memcmp(names[i], v->uni.str, len) != 0)
			continue;
		r->kind = (enum reply_kind)i;
		return 0;
	}
	qo_err_set(err,
	    "status \"%.40s\" is none of completed, retry, failed, "
	    "reschedule, cancelled, wait_signal and wait_tasks",
	    v->uni.str);
	return -1;
}

/* What kind of thing it is: exactly one of the three tells. */
static int
read_kind(struct reply *r, const struct found f[M_COUNT], struct qo_err *err)
{
	int n = (f[M_STATUS].value != NULL) + (f[M_PROGRESS].key != NULL) +
	    (f[M_LOG].value != NULL);

	if (n == 0) {
		qo_err_set(err, "no status");
		return -1;
	}
	if (n > 1) {
		qo_err_set(err, "more than one of status, progress and log");
		return -1;
	}
	if (f[M_STATUS].value != NULL)
		return read_status(r, f[M_STATUS].value, err);
	r->kind = f[M_LOG].value != NULL ? REPLY_LOG : REPLY_PROGRESS;
	return 0;
}

static int
read_text(struct reply *r, const struct found *f, const char *name,
    struct qo_err *err)
{
	if (f->value == NULL)
		return 0;
	if (!yyjson_is_str(f->value)) {
		qo_err_set(err, "%s is not a string", name);
		return -1;
	}
	r->text = yyjson_get_str(f->value);
	r->text_len = yyjson_get_len(f->value);
	return 0;
}

static int
read_seconds(const struct found *f, const char *name, int64_t *ms,
    struct qo_err *err)
{
	double d;

	*ms = -1;
	if (f->value == NULL)
		return 0;
	if (qo_json_get_double(f->value, &d) == -1 || d < 0 ||
	    d > REPLY_DELAY_MAX_S) {
		qo_err_set(err, "%s is not a number from 0 to %d", name,
		    REPLY_DELAY_MAX_S);
		return -1;
	}
	*ms = (int64_t)(d * 1000 + 0.5);
	return 0;
}

/* What the wait verdicts carry. */
static int
check_waits(const struct found f[M_COUNT], struct qo_err *err)
{
	yyjson_val *item;
	size_t i, n;
	int64_t ms;

	if (read_seconds(&f[M_TIMEOUT], "timeout_seconds", &ms, err) == -1)
		return -1;
	if (f[M_SIGNAL].value != NULL && !yyjson_is_str(f[M_SIGNAL].value)) {
		qo_err_set(err, "signal is not a string");
		return -1;
	}
	if (f[M_IDS].value == NULL)
		return 0;
	n = yyjson_arr_size(f[M_IDS].value);
	item = yyjson_arr_get_first(f[M_IDS].value);
	for (i = 0; i < n && yyjson_is_str(item); i++)
		item = unsafe_yyjson_get_next(item);
	if (i < n || !yyjson_is_arr(f[M_IDS].value)) {
		qo_err_set(err, "ids is not an array of strings");
		return -1;
	}
	return 0;
}

static int
read_value(struct reply *r, const struct found *f, const char *text, size_t len,
    struct qo_err *err)
{
	const struct qo_json_limits limits = { REPLY_PROGRESS_MAX,
		QO_JSON_DEPTH, true };
	struct qo_err why;

	if (f->key == NULL)
		return 0;
	r->value = qo_json_doc_member(r->doc, text, len, f->key, f->next);
	if (r->kind == REPLY_PROGRESS &&
	    qo_json_check(r->value.p, r->value.len, &limits, &why) == -1) {
		qo_err_set(err, "progress: %s", why.msg);
		return -1;
	}
	return 0;
}

static int
read_members(struct reply *r, const char *text, size_t len, size_t max,
    struct qo_err *err)
{
	yyjson_val *root = yyjson_doc_get_root(r->doc);
	struct found f[M_COUNT];

	if (!yyjson_is_obj(root)) {
		qo_err_set(err, "not a JSON object");
		return -1;
	}
	find_members(root, f);
	if (read_kind(r, f, err) == -1)
		return -1;
	if (r->kind == REPLY_LOG)
		return read_text(r, &f[M_LOG], "log", err);
	if (r->kind == REPLY_PROGRESS)
		return read_value(r, &f[M_PROGRESS], text, len, err);
	if (read_text(r, &f[M_ERROR], "error", err) == -1 ||
	    read_seconds(&f[M_DELAY], "delay_seconds", &r->delay_ms, err) ==
		-1 ||
	    check_waits(f, err) == -1 ||
	    read_value(r, &f[M_OUTPUT], text, len, err) == -1)
		return -1;
	if (r->value.len > max) {
		qo_err_set(err, "an output of %zu bytes: more than %zu",
		    r->value.len, max);
		return -1;
	}
	return 0;
}

int
reply_parse(struct reply *r, const char *text, size_t len, size_t max,
    struct qo_err *err)
{
	/* The output is one level inside. */
	const struct qo_json_limits limits = { max + AROUND,
		QO_JSON_DEPTH_OUTPUT + 1, true };

	memset(r, 0, sizeof(*r));
	r->delay_ms = -1;
	r->doc = qo_json_doc_read(text, len, &limits, QO_JSON_DOC_ALL, err);
	if (r->doc == NULL)
		return -1;
	if (read_members(r, text, len, max, err) == -1) {
		reply_fini(r);
		return -1;
	}
	return 0;
}

void
reply_fini(struct reply *r)
{
	yyjson_doc_free(r->doc);
	r->doc = NULL;
}

/* Plain output */

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_json(const char *text, size_t len)
{
	yyjson_doc *doc;

	/* The text is not written to without YYJSON_READ_INSITU. */
	doc = yyjson_read_opts((char *)(uintptr_t)text, len,
	    YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
	yyjson_doc_free(doc);
	return doc != NULL;
}

int
reply_output(const char *text, size_t len, struct buf *b, struct qo_json *out,
    struct qo_err *err)
{
	const struct qo_json_limits limits = { len, QO_JSON_DEPTH_OUTPUT,
		true };
	struct qo_err why;

	*out = (struct qo_json){ NULL, 0 };
	if (!utf8_valid(text, len)) {
		qo_err_set(err, "the output is not UTF-8");
		return -1;
	}
	if (is_json(text, len)) {
		if (qo_json_check(text, len, &limits, &why) == -1) {
			qo_err_set(err, "the output: %s", why.msg);
			return -1;
		}
		while (is_space(text[len - 1]))
			len--;
		for (; is_space(*text); len--)
			text++;
		*out = (struct qo_json){ text, len };
		return 0;
	}
	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (len == 0)
		return 0;
	qo_json_add_string(b, text, len);
	if (buf_failed(b)) {
		qo_err_set(err, "the output is too large as a JSON string");
		return -1;
	}
	*out = (struct qo_json){ b->data, b->len };
	return 0;
}
