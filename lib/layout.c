#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "layout.h"

#define MINUTE_DIGITS 10
#define MINUTE_MAX    INT64_C(9999999999)

static const char *const indexes[] = { "ready-high/", "ready/", "ready_low/",
	"leases/", "failed/" };

/* Names */

static bool
is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool
qo_name_valid(const char *s, size_t len)
{
	size_t i;

	if (len == 0 || len > QO_NAME_MAX)
		return false;
	for (i = 0; i < len; i++)
		if (!is_name_char(s[i]))
			return false;
	return !(s[0] == '.' && (len == 1 || (len == 2 && s[1] == '.')));
}

static bool
is_ours(const char *s, size_t len)
{
	return len >= 9 && memcmp(s, "workflow.", 9) == 0;
}

bool
qo_type_valid(const char *s, size_t len)
{
	size_t i;

	if (len == 0 ||
	    len > (is_ours(s, len) ? QO_TASK_TYPE_MAX : QO_NAME_MAX))
		return false;
	for (i = 0; i < len; i++)
		if (!is_name_char(s[i]) && s[i] != ':' && s[i] != '/')
			return false;
	return true;
}

bool
qo_type_valid_user(const char *s, size_t len)
{
	return qo_type_valid(s, len) && !is_ours(s, len);
}

int64_t
qo_minute(struct qo_wall t)
{
	int64_t m = t.us < 0 ? 0 : t.us / (60 * QO_US_PER_SEC);

	return m > MINUTE_MAX ? MINUTE_MAX : m;
}

/* Making keys */

static int key_print(const struct qo_layout *l, char out[QO_KEY_SIZE],
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int
key_print(const struct qo_layout *l, char out[QO_KEY_SIZE], const char *fmt,
    ...)
{
	va_list ap;
	size_t len = strlen(l->prefix);
	int n;

	if (len < QO_KEY_SIZE) {
		memcpy(out, l->prefix, len);
		va_start(ap, fmt);
		n = vsnprintf(out + len, QO_KEY_SIZE - len, fmt, ap);
		va_end(ap);
		if (n >= 0 && (size_t)n < QO_KEY_SIZE - len)
			return 0;
	}
	out[0] = '\0';
	return -1;
}

static int
refuse(char out[QO_KEY_SIZE])
{
	out[0] = '\0';
	return -1;
}

static bool
id_ok(const char *id)
{
	return qo_uuid_valid(id, strlen(id));
}

static bool
name_ok(const char *name)
{
	return qo_name_valid(name, strlen(name));
}

int
qo_key_task(const struct qo_layout *l, const char *id, char out[QO_KEY_SIZE])
{
	if (!id_ok(id))
		return refuse(out);
	return key_print(l, out, "tasks/%.*s/%s.json", l->shard_width, id, id);
}

int
qo_key_worker(const struct qo_layout *l, const char *worker_id,
    char out[QO_KEY_SIZE])
{
	if (!name_ok(worker_id))
		return refuse(out);
	return key_print(l, out, "workers/%s.json", worker_id);
}

int
qo_key_bell(const struct qo_layout *l, const char *worker_id, const char *id,
    char out[QO_KEY_SIZE])
{
	if (!name_ok(worker_id) || !id_ok(id))
		return refuse(out);
	return key_print(l, out, "bell/%s/%s", worker_id, id);
}

int
qo_key_schedule(const struct qo_layout *l, const char *id,
    char out[QO_KEY_SIZE])
{
	if (!name_ok(id))
		return refuse(out);
	return key_print(l, out, "schedules/%s.json", id);
}

int
qo_key_control(const struct qo_layout *l, char out[QO_KEY_SIZE])
{
	return key_print(l, out, "control/queue.json");
}

int
qo_key_input(const struct qo_layout *l, const char *id, const char *sha256,
    char out[QO_KEY_SIZE])
{
	if (!id_ok(id) || strspn(sha256, "0123456789abcdef") < 16)
		return refuse(out);
	return key_print(l, out, "payloads/%s/input.%.16s.json", id, sha256);
}

int
qo_key_output(const struct qo_layout *l, const char *id, int64_t attempt,
    char out[QO_KEY_SIZE])
{
	if (!id_ok(id) || attempt < 0)
		return refuse(out);
	return key_print(l, out, "payloads/%s/%lld.output.json", id,
	    (long long)attempt);
}

int
qo_key_log(const struct qo_layout *l, const char *id, int64_t attempt,
    char out[QO_KEY_SIZE])
{
	if (!id_ok(id) || attempt < 0)
		return refuse(out);
	return key_print(l, out, "logs/%.*s/%s/%lld.log", l->shard_width, id,
	    id, (long long)attempt);
}

/* Index entries */

void
qo_entry_make(struct qo_entry *e, enum qo_index index, struct qo_wall t,
    const char *id, int64_t generation)
{
	memset(e, 0, sizeof(*e));
	e->index = index;
	e->minute = qo_minute(t);
	memccpy(e->id, id, '\0', sizeof(e->id) - 1);
	e->generation = generation;
	qo_nonce(e->nonce);
}

int
qo_key_entry(const struct qo_layout *l, const struct qo_entry *e,
    char out[QO_KEY_SIZE])
{
	if (!id_ok(e->id) || e->minute < 0 || e->minute > MINUTE_MAX ||
	    e->generation < 0 || e->generation > QO_COUNT_MAX)
		return refuse(out);
	if (e->nonce[0] == '\0') {
		if (e->generation != QO_GENERATION_FIRST)
			return refuse(out);
		return key_print(l, out, "%s%.*s/%010lld/%s", indexes[e->index],
		    l->shard_width, e->id, (long long)e->minute, e->id);
	}
	return key_print(l, out, "%s%.*s/%010lld/%s.%lld.%s", indexes[e->index],
	    l->shard_width, e->id, (long long)e->minute, e->id,
	    (long long)e->generation, e->nonce);
}

int
qo_key_index(const struct qo_layout *l, enum qo_index index, const char *shard,
    char out[QO_KEY_SIZE])
{
	if (shard == NULL)
		return key_print(l, out, "%s", indexes[index]);
	if (strlen(shard) != (size_t)l->shard_width ||
	    strspn(shard, "0123456789abcdef") != (size_t)l->shard_width)
		return refuse(out);
	return key_print(l, out, "%s%s/", indexes[index], shard);
}

/* Reading keys.  Each step takes its part off the front of what is left. */
struct rest {
	const char *p;
	size_t len;
};

static bool
take(struct rest *r, const char *s, size_t len)
{
	if (r->len < len || memcmp(r->p, s, len) != 0)
		return false;
	r->p += len;
	r->len -= len;
	return true;
}

/* 1 to 16 digits, as few as the number needs unless fixed says how many. */
static bool
take_number(struct rest *r, size_t fixed, int64_t *out)
{
	int64_t v = 0;
	size_t n = 0;

	while (n < r->len && n < 16 && r->p[n] >= '0' && r->p[n] <= '9')
		v = v * 10 + (r->p[n++] - '0');
	if (n == 0 || v > QO_COUNT_MAX ||
	    (fixed != 0 ? n != fixed : n > 1 && r->p[0] == '0'))
		return false;
	*out = v;
	r->p += n;
	r->len -= n;
	return true;
}

static bool
take_index(struct rest *r, enum qo_index *index)
{
	size_t i;

	for (i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
		if (take(r, indexes[i], strlen(indexes[i]))) {
			*index = (enum qo_index)i;
			return true;
		}
	}
	return false;
}

/* {task_id} or {task_id}.{generation}.{nonce} */
static bool
take_name(struct rest *r, struct qo_entry *e)
{
	size_t i;

	if (r->len < QO_UUID_SIZE - 1 || !qo_uuid_valid(r->p, QO_UUID_SIZE - 1))
		return false;
	memcpy(e->id, r->p, QO_UUID_SIZE - 1);
	e->id[QO_UUID_SIZE - 1] = '\0';
	take(r, e->id, QO_UUID_SIZE - 1);
	e->generation = QO_GENERATION_FIRST;
	e->nonce[0] = '\0';
	if (r->len == 0)
		return true;
	if (!take(r, ".", 1) || !take_number(r, 0, &e->generation) ||
	    !take(r, ".", 1) || r->len != QO_NONCE_SIZE - 1)
		return false;
	for (i = 0; i < r->len; i++)
		if (!((r->p[i] >= '0' && r->p[i] <= '9') ||
			(r->p[i] >= 'a' && r->p[i] <= 'f')))
			return false;
	memcpy(e->nonce, r->p, r->len);
	e->nonce[r->len] = '\0';
	return true;
}

int
qo_entry_parse(const struct qo_layout *l, const char *key, size_t len,
    struct qo_entry *e)
{
	struct rest r = { key, len };
	size_t width = (size_t)l->shard_width;
	const char *shard;

	if (!take(&r, l->prefix, strlen(l->prefix)) ||
	    !take_index(&r, &e->index) || r.len < width)
		return -1;
	shard = r.p;
	r.p += width;
	r.len -= width;
	if (!take(&r, "/", 1) || !take_number(&r, MINUTE_DIGITS, &e->minute) ||
	    !take(&r, "/", 1) || !take_name(&r, e))
		return -1;
	return memcmp(e->id, shard, width) == 0 ? 0 : -1;
}
