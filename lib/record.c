#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json_doc.h"
#include "record.h"
#include "rfc3339.h"
#include "xalloc.h"

/* What is at hand while a record is being read. */
struct reader {
	const struct qo_record_type *type;
	void *rec;
	struct qo_record *base;
	size_t len;
	uint64_t seen;
	size_t cursor; /* where the next member is looked for first */
	struct qo_err *err;
};

static void *
field(const void *rec, const struct qo_member *m)
{
	return (char *)(uintptr_t)rec + m->offset;
}

static void
set_default(void *rec, const struct qo_member *m)
{
	switch (m->kind) {
	case QO_MEMBER_STR:
		*(const char **)field(rec, m) = NULL;
		break;
	case QO_MEMBER_INT:
		*(int64_t *)field(rec, m) = m->def;
		break;
	case QO_MEMBER_BOOL:
		*(bool *)field(rec, m) = m->def != 0;
		break;
	case QO_MEMBER_TIME:
		*(struct qo_wall *)field(rec, m) = QO_WALL_NONE;
		break;
	case QO_MEMBER_ENUM:
		*(int *)field(rec, m) = (int)m->def;
		break;
	case QO_MEMBER_JSON:
		*(struct qo_json *)field(rec, m) = (struct qo_json){ NULL, 0 };
		break;
	case QO_MEMBER_CUSTOM:
		break;
	}
}

void
qo_record_init(const struct qo_record_type *type, void *rec)
{
	size_t i;

	memset(rec, 0, sizeof(struct qo_record));
	for (i = 0; i < type->nmembers; i++)
		set_default(rec, &type->members[i]);
}

void
qo_record_fini(struct qo_record *r)
{
	size_t i;

	for (i = 0; i < r->nowned; i++)
		free(r->owned[i]);
	free(r->owned);
	free(r->unknown);
	yyjson_doc_free(r->doc);
	free(r->text);
	memset(r, 0, sizeof(*r));
}

struct qo_json
qo_record_dup_json(struct qo_record *r, const char *text, size_t len)
{
	char *copy = xmemdup0(text, len);

	/* Room is made in powers of two, so the count tells when it is full */
	if ((r->nowned & (r->nowned - 1)) == 0)
		r->owned = xreallocarray(r->owned,
		    r->nowned == 0 ? 1 : r->nowned * 2, sizeof(*r->owned));
	r->owned[r->nowned++] = copy;
	return (struct qo_json){ copy, len };
}

const char *
qo_record_dup(struct qo_record *r, const char *s)
{
	return s == NULL ? NULL : qo_record_dup_json(r, s, strlen(s)).p;
}

/* Reading */

static int
refuse(struct reader *rd, const struct qo_member *m, const char *what)
{
	qo_err_set(rd->err, "%s: %s: %s", rd->type->noun, m->name, what);
	return -1;
}

static struct qo_json
member_text(const struct reader *rd, const yyjson_val *key,
    const yyjson_val *next)
{
	return qo_json_doc_member(rd->base->doc, rd->base->text, rd->len, key,
	    next);
}

static int
read_str(struct reader *rd, const struct qo_member *m, const yyjson_val *v)
{
	size_t len = unsafe_yyjson_get_len((void *)v);

	if (!unsafe_yyjson_is_str((void *)v))
		return refuse(rd, m, "not a string");
	if (memchr(v->uni.str, '\0', len) != NULL)
		return refuse(rd, m, "holds a NUL");
	if (m->max > 0 && len > (size_t)m->max)
		return refuse(rd, m, "too long");
	if (m->check != NULL && !m->check(v->uni.str, len))
		return refuse(rd, m, "not a valid value");
	*(const char **)field(rd->rec, m) = v->uni.str;
	return 0;
}

static int
read_enum(struct reader *rd, const struct qo_member *m, const yyjson_val *v)
{
	int i;

	if (!unsafe_yyjson_is_str((void *)v))
		return refuse(rd, m, "not a string");
	for (i = 0; m->names[i] != NULL; i++) {
		if (m->names[i][0] != '\0' &&
		    unsafe_yyjson_equals_str((void *)v, m->names[i])) {
			*(int *)field(rd->rec, m) = i;
			return 0;
		}
	}
	qo_err_set(rd->err, "%s: %s: unknown value \"%.40s\"", rd->type->noun,
	    m->name, v->uni.str);
	return -1;
}

static int
read_int(struct reader *rd, const struct qo_member *m, const yyjson_val *v)
{
	if (qo_json_get_int(v, m->min, m->max, field(rd->rec, m)) == 0)
		return 0;
	qo_err_set(rd->err, "%s: %s: not an integer from %lld to %lld",
	    rd->type->noun, m->name, (long long)m->min, (long long)m->max);
	return -1;
}

static int
read_custom(struct reader *rd, const struct qo_member *m, const yyjson_val *v,
    const struct qo_json *text)
{
	struct qo_err why;

	if (m->read(rd->rec, v, text, &why) == 0)
		return 0;
	return refuse(rd, m, why.msg);
}

static int
read_member(struct reader *rd, const struct qo_member *m, const yyjson_val *key,
    const yyjson_val *next)
{
	const yyjson_val *v = key + 1;
	struct qo_json text;

	if (unsafe_yyjson_is_null((void *)v))
		return m->rule == QO_MEMBER_REQUIRED ? refuse(rd, m, "is null")
						     : 0;
	switch (m->kind) {
	case QO_MEMBER_STR:
		return read_str(rd, m, v);
	case QO_MEMBER_INT:
		return read_int(rd, m, v);
	case QO_MEMBER_BOOL:
		if (!unsafe_yyjson_is_bool((void *)v))
			return refuse(rd, m, "neither true nor false");
		*(bool *)field(rd->rec, m) = unsafe_yyjson_get_bool((void *)v);
		return 0;
	case QO_MEMBER_TIME:
		if (!unsafe_yyjson_is_str((void *)v) ||
		    qo_rfc3339_parse(v->uni.str,
			unsafe_yyjson_get_len((void *)v),
			field(rd->rec, m)) == -1)
			return refuse(rd, m, "not a UTC time of RFC 3339");
		return 0;
	case QO_MEMBER_ENUM:
		return read_enum(rd, m, v);
	case QO_MEMBER_JSON:
		text = member_text(rd, key, next);
		if (m->check != NULL && !m->check(text.p, text.len))
			return refuse(rd, m, "a value of the wrong type");
		*(struct qo_json *)field(rd->rec, m) = text;
		return 0;
	case QO_MEMBER_CUSTOM:
		text = member_text(rd, key, next);
		return read_custom(rd, m, v, &text);
	}
	return -1;
}

static void
keep_unknown(struct reader *rd, const yyjson_val *key, const yyjson_val *next)
{
	struct qo_record *r = rd->base;
	struct qo_json v;
	const char *start;

	v = member_text(rd, key, next);
	start = qo_json_doc_key(r->doc, r->text, key);
	if (r->unknown == NULL)
		r->unknown = xreallocarray(NULL,
		    unsafe_yyjson_get_len(r->doc->root), sizeof(*r->unknown));
	r->unknown[r->nunknown++] = (struct qo_json){ start,
		(size_t)(v.p + v.len - start) };
}

/* Records are mostly read as they were written, in the table's order: the
 * search begins behind the last hit. */
static const struct qo_member *
find_member(struct reader *rd, const yyjson_val *key)
{
	const struct qo_member *m;
	size_t i, at = rd->cursor;
	size_t len = unsafe_yyjson_get_len((void *)key);

	for (i = 0; i < rd->type->nmembers; i++) {
		m = &rd->type->members[at];
		if (++at == rd->type->nmembers)
			at = 0;
		if (m->name_len == len &&
		    memcmp(m->name, key->uni.str, len) == 0) {
			rd->cursor = at;
			return m;
		}
	}
	return NULL;
}

static int
read_members(struct reader *rd)
{
	yyjson_val *root = rd->base->doc->root, *key = root + 1, *next;
	const struct qo_member *m;
	size_t i, n = unsafe_yyjson_get_len(root);
	uint64_t bit;

	for (i = 0; i < n; i++, key = next) {
		next = i + 1 < n ? unsafe_yyjson_get_next(key + 1) : NULL;
		m = find_member(rd, key);
		if (m == NULL) {
			keep_unknown(rd, key, next);
			continue;
		}
		bit = UINT64_C(1) << (m - rd->type->members);
		if ((rd->seen & bit) != 0)
			return refuse(rd, m, "is there twice");
		rd->seen |= bit;
		if (read_member(rd, m, key, next) == -1)
			return -1;
	}
	for (i = 0; i < rd->type->nmembers; i++)
		if (rd->type->members[i].rule == QO_MEMBER_REQUIRED &&
		    (rd->seen & (UINT64_C(1) << i)) == 0)
			return refuse(rd, &rd->type->members[i], "is missing");
	/* Those that are known were told apart above. */
	if (rd->base->nunknown > 1 && qo_json_doc_double(root) != NULL) {
		qo_err_set(rd->err, "%s: an unknown member is there twice",
		    rd->type->noun);
		return -1;
	}
	return 0;
}

int
qo_record_decode(const struct qo_record_type *type, void *rec, const char *text,
    size_t len, struct qo_err *err)
{
	struct qo_json_limits limits = { type->max_len, type->max_depth, true };
	struct reader rd = { type, rec, rec, len, 0, 0, err };
	struct qo_err why;

	qo_record_init(type, rec);
	rd.base->doc = qo_json_doc_read(text, len, &limits,
	    QO_JSON_DOC_NOT_ROOT, &why);
	if (rd.base->doc == NULL) {
		qo_err_set(err, "%s: %s", type->noun, why.msg);
		return -1;
	}
	rd.base->text = xmemdup0(text, len);
	if (!unsafe_yyjson_is_obj(rd.base->doc->root))
		qo_err_set(err, "%s: not a JSON object", type->noun);
	else if (read_members(&rd) == 0)
		return 0;
	qo_record_fini(rd.base);
	qo_record_init(type, rec);
	return -1;
}

/* Writing */

static void
write_name(struct buf *out, const struct qo_member *m, bool first)
{
	size_t len = m->name_len;
	char *p;

	p = buf_reserve(out, len + 4);
	if (p == NULL)
		return;
	*p = first ? '{' : ',';
	p[1] = '"';
	memcpy(p + 2, m->name, len);
	p[len + 2] = '"';
	p[len + 3] = ':';
	buf_advance(out, len + 4);
}

static void
write_time(struct buf *out, struct qo_wall t)
{
	char *p;

	p = buf_reserve(out, QO_RFC3339_SIZE + 1);
	if (p == NULL)
		return;
	*p = '"';
	qo_rfc3339_print(t, p + 1);
	p[QO_RFC3339_SIZE] = '"';
	buf_advance(out, QO_RFC3339_SIZE + 1);
}

/* Adds the value; false when it is absent. */
static bool
write_value(const void *rec, const struct qo_member *m, struct buf *out)
{
	const struct qo_json *json;
	const char *s;
	struct qo_wall t;

	switch (m->kind) {
	case QO_MEMBER_STR:
		s = *(const char **)field(rec, m);
		if (s == NULL)
			return false;
		qo_json_add_string(out, s, strlen(s));
		return true;
	case QO_MEMBER_INT:
		qo_json_add_int(out, *(int64_t *)field(rec, m));
		return true;
	case QO_MEMBER_BOOL:
		buf_adds(out, *(bool *)field(rec, m) ? "true" : "false");
		return true;
	case QO_MEMBER_TIME:
		t = *(struct qo_wall *)field(rec, m);
		if (!qo_wall_is_set(t))
			return false;
		write_time(out, t);
		return true;
	case QO_MEMBER_ENUM:
		s = m->names[*(int *)field(rec, m)];
		if (s[0] == '\0')
			return false;
		qo_json_add_string(out, s, strlen(s));
		return true;
	case QO_MEMBER_JSON:
		json = field(rec, m);
		if (json->p == NULL)
			return false;
		buf_add(out, json->p, json->len);
		return true;
	case QO_MEMBER_CUSTOM:
		return m->write(rec, out);
	}
	return false;
}

static bool
is_default(const void *rec, const struct qo_member *m)
{
	switch (m->kind) {
	case QO_MEMBER_INT:
		return *(int64_t *)field(rec, m) == m->def;
	case QO_MEMBER_BOOL:
		return *(bool *)field(rec, m) == (m->def != 0);
	case QO_MEMBER_ENUM:
		return *(int *)field(rec, m) == (int)m->def;
	case QO_MEMBER_STR:
	case QO_MEMBER_TIME:
	case QO_MEMBER_JSON:
	case QO_MEMBER_CUSTOM:
		break;
	}
	return false;
}

static int
write_member(const struct qo_record_type *type, const void *rec,
    const struct qo_member *m, struct buf *out, size_t start,
    struct qo_err *err)
{
	size_t before = out->len;

	if (m->rule == QO_MEMBER_OMIT && is_default(rec, m))
		return 0;
	write_name(out, m, before == start);
	if (write_value(rec, m, out))
		return 0;
	switch (m->rule) {
	case QO_MEMBER_NULL:
		buf_add(out, "null", 4);
		return 0;
	case QO_MEMBER_OMIT:
		buf_truncate(out, before);
		return 0;
	case QO_MEMBER_REQUIRED:
		break;
	}
	qo_err_set(err, "%s: %s: is missing", type->noun, m->name);
	return -1;
}

int
qo_record_encode(const struct qo_record_type *type, const void *rec,
    struct buf *out, struct qo_err *err)
{
	const struct qo_record *base = rec;
	size_t i, start = out->len;

	for (i = 0; i < type->nmembers; i++)
		if (write_member(type, rec, &type->members[i], out, start,
			err) == -1)
			return -1;
	for (i = 0; i < base->nunknown; i++) {
		buf_addc(out, out->len == start ? '{' : ',');
		buf_add(out, base->unknown[i].p, base->unknown[i].len);
	}
	if (out->len == start)
		buf_addc(out, '{');
	if (buf_addc(out, '}') == -1) {
		qo_err_set(err, "%s: more than %zu bytes", type->noun,
		    out->max);
		return -1;
	}
	return 0;
}
