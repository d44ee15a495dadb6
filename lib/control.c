#include <stdio.h>
#include <string.h>

#include "cas.h"
#include "control.h"
#include "json_doc.h"
#include "layout.h"

#define ROUNDS_MAX 20

/* The text */

static bool
is_object(const char *s, size_t len)
{
	return len > 0 && s[0] == '{';
}

static int
read_types(void *rec, const struct yyjson_val *v, const struct qo_json *text,
    struct qo_err *err)
{
	struct qo_control *c = rec;
	yyjson_val *item;
	size_t i, max;

	(void)text;
	if (!unsafe_yyjson_is_arr((void *)v)) {
		qo_err_set(err, "not an array");
		return -1;
	}
	yyjson_arr_foreach((yyjson_val *)(uintptr_t)v, i, max, item)
	{
		if (i == QO_CONTROL_TYPES_MAX) {
			qo_err_set(err, "more than %d", QO_CONTROL_TYPES_MAX);
			return -1;
		}
		if (!unsafe_yyjson_is_str(item) ||
		    !qo_type_valid(item->uni.str,
			unsafe_yyjson_get_len(item))) {
			qo_err_set(err, "holds what is not a task type");
			return -1;
		}
		c->paused_types[c->npaused_types++] = item->uni.str;
	}
	return 0;
}

static bool
write_types(const void *rec, struct buf *out)
{
	const struct qo_control *c = rec;
	size_t i;

	buf_addc(out, '[');
	for (i = 0; i < c->npaused_types; i++) {
		if (i > 0)
			buf_addc(out, ',');
		qo_json_add_string(out, c->paused_types[i],
		    strlen(c->paused_types[i]));
	}
	buf_addc(out, ']');
	return true;
}

#define MEMBER(m, k)                                                   \
	.name = #m, .name_len = sizeof(#m) - 1, .kind = QO_MEMBER_##k, \
	.offset = offsetof(struct qo_control, m)

static const struct qo_member members[] = {
	{ MEMBER(format, INT), .rule = QO_MEMBER_REQUIRED, .min = 1,
	    .max = QO_COUNT_MAX, .def = QO_CONTROL_FORMAT },
	{ MEMBER(shard_width, INT), .rule = QO_MEMBER_REQUIRED, .min = 1,
	    .max = 2, .def = 1 },
	{ MEMBER(paused, BOOL) },
	{ MEMBER(paused_types, CUSTOM), .read = read_types,
	    .write = write_types },
	{ MEMBER(probe, JSON), .check = is_object },
	{ MEMBER(rev, INT), .rule = QO_MEMBER_REQUIRED, .min = 0,
	    .max = QO_COUNT_MAX },
	{ MEMBER(updated_by, STR), .max = 64 },
};

static const struct qo_record_type type = { "control record", members,
	sizeof(members) / sizeof(members[0]), QO_CONTROL_LEN_MAX,
	QO_JSON_DEPTH };

void
qo_control_init(struct qo_control *c, int shard_width)
{
	memset(c, 0, sizeof(*c));
	qo_record_init(&type, c);
	c->shard_width = shard_width;
}

void
qo_control_fini(struct qo_control *c)
{
	qo_record_fini(&c->rec);
}

int
qo_control_decode(struct qo_control *c, const char *text, size_t len,
    struct qo_err *err)
{
	memset(c, 0, sizeof(*c));
	return qo_record_decode(&type, c, text, len, err);
}

int
qo_control_encode(const struct qo_control *c, struct buf *out,
    struct qo_err *err)
{
	return qo_record_encode(&type, c, out, err);
}

/* In the bucket */

static int
control_key(const char *prefix, char key[QO_KEY_SIZE], struct qo_err *err)
{
	struct qo_layout l = { prefix != NULL ? prefix : "", 1 };

	if (qo_key_control(&l, key) == 0)
		return 0;
	qo_err_set(err, "the prefix makes keys too long");
	return -1;
}

int
qo_control_req(struct qo_s3_req *r, const char *bucket, const char *prefix,
    char key[QO_KEY_SIZE], struct qo_err *err)
{
	int rv = control_key(prefix, key, err);

	qo_s3_req_init(r, QO_S3_GET, bucket, key);
	r->response_max = QO_CONTROL_LEN_MAX;
	return rv;
}

enum qo_rc
qo_control_answer(const struct qo_s3_req *r, struct qo_control *c,
    struct qo_err *err)
{
	struct qo_err why = { 0 };

	if (r->res.outcome != QO_S3_OK) {
		*err = r->res.err;
		return qo_s3_outcome_rc(r->res.outcome);
	}
	if (qo_control_decode(c, r->res.body.data, r->res.body.len, &why) ==
	    -1) {
		qo_err_set(err, "%s/%.200s: %s", r->bucket, r->key, why.msg);
		return QO_ERR;
	}
	if (c->format > QO_CONTROL_FORMAT) {
		qo_err_set(err,
		    "%s/%.200s: format %lld is newer than this program",
		    r->bucket, r->key, (long long)c->format);
		qo_control_fini(c);
		return QO_ERR;
	}
	snprintf(c->etag, sizeof(c->etag), "%s", r->res.etag);
	return QO_OK;
}

enum qo_rc
qo_control_read(struct qo_s3 *s3, const char *bucket, const char *prefix,
    struct qo_control *c, struct qo_err *err)
{
	struct qo_s3_req r;
	char key[QO_KEY_SIZE];
	enum qo_rc rc = QO_ERR;

	if (qo_control_req(&r, bucket, prefix, key, err) == 0) {
		qo_s3_wait(s3, &r);
		rc = qo_control_answer(&r, c, err);
	}
	qo_s3_req_fini(&r);
	return rc;
}

/* One conditional PUT of the next revision; etag "": create. */
static enum qo_rc
put(struct qo_s3 *s3, const char *bucket, const char *prefix,
    struct qo_control *c, struct qo_err *err)
{
	struct qo_s3_req r;
	struct buf body;
	char key[QO_KEY_SIZE];
	enum qo_rc rc = QO_ERR;

	buf_init(&body, QO_CONTROL_LEN_MAX);
	qo_s3_req_init(&r, QO_S3_PUT, bucket, key);
	if (control_key(prefix, key, err) == -1 ||
	    qo_control_encode(c, &body, err) == -1)
		goto out;
	if (c->etag[0] == '\0')
		r.if_none_match = "*";
	else
		r.if_match = c->etag;
	r.content_type = "application/json";
	r.body = body.data;
	r.body_len = body.len;
	rc = qo_s3_outcome_rc(qo_s3_wait(s3, &r));
	/* R4: a missing object decides nothing here either. */
	if (rc == QO_NOENT && c->etag[0] != '\0')
		rc = QO_LOST;
	if (rc == QO_OK)
		snprintf(c->etag, sizeof(c->etag), "%s", r.res.etag);
	else
		*err = r.res.err;
out:
	qo_s3_req_fini(&r);
	buf_fini(&body);
	return rc;
}

enum qo_rc
qo_control_create(struct qo_s3 *s3, const char *bucket, const char *prefix,
    struct qo_control *c, struct qo_err *err)
{
	struct qo_control found;
	struct qo_cas_ids writes = { .n = 0 };
	enum qo_rc rc, seen;

	c->rev = 1;
	c->etag[0] = '\0';
	c->updated_by = qo_record_dup(&c->rec, qo_cas_next(&writes));
	rc = put(s3, bucket, prefix, c, err);
	if (rc != QO_LOST && rc != QO_AGAIN)
		return rc;
	/* R5: was it ours after all? */
	seen = qo_control_read(s3, bucket, prefix, &found, err);
	if (seen == QO_NOENT)
		return QO_AGAIN;
	if (seen != QO_OK)
		return seen;
	rc = qo_cas_is_ours(&writes, found.updated_by) ? QO_OK : QO_LOST;
	if (rc == QO_OK)
		snprintf(c->etag, sizeof(c->etag), "%s", found.etag);
	qo_control_fini(&found);
	return rc;
}

enum qo_rc
qo_control_update(struct qo_s3 *s3, const char *bucket, const char *prefix,
    bool (*change)(struct qo_control *c, void *arg), void *arg,
    struct qo_control *c, struct qo_err *err)
{
	struct qo_cas_ids writes = { .n = 0 };
	enum qo_rc rc;
	size_t n;

	for (n = 0; n < ROUNDS_MAX; n++) {
		rc = qo_control_read(s3, bucket, prefix, c, err);
		if (rc != QO_OK)
			return n > 0 && rc == QO_NOENT ? QO_AGAIN : rc;
		/* R5: the write before was not answered, but made. */
		if (qo_cas_is_ours(&writes, c->updated_by) || !change(c, arg))
			return QO_OK;
		c->rev++;
		c->updated_by = qo_record_dup(&c->rec, qo_cas_next(&writes));
		rc = put(s3, bucket, prefix, c, err);
		if (rc == QO_OK)
			return rc;
		qo_control_fini(c);
		if (rc != QO_LOST && rc != QO_AGAIN)
			return rc;
	}
	qo_err_set(err, "the control record is changed by others all the time");
	return QO_AGAIN;
}

/* Pauses */

static size_t
find_type(const struct qo_control *c, const char *task_type)
{
	size_t i;

	for (i = 0; i < c->npaused_types; i++)
		if (strcmp(c->paused_types[i], task_type) == 0)
			break;
	return i;
}

bool
qo_control_paused(const struct qo_control *c, const char *task_type)
{
	return c->paused ||
	    (task_type != NULL && find_type(c, task_type) < c->npaused_types);
}

bool
qo_control_set_paused(struct qo_control *c, const char *task_type, bool paused,
    bool *full)
{
	size_t i, n = c->npaused_types;

	*full = false;
	if (task_type == NULL) {
		if (c->paused == paused)
			return false;
		c->paused = paused;
		return true;
	}
	i = find_type(c, task_type);
	if ((i < n) == paused)
		return false;
	if (!paused) {
		memmove(&c->paused_types[i], &c->paused_types[i + 1],
		    (n - i - 1) * sizeof(c->paused_types[0]));
		c->npaused_types--;
		return true;
	}
	if (n == QO_CONTROL_TYPES_MAX) {
		*full = true;
		return false;
	}
	c->paused_types[n] = qo_record_dup(&c->rec, task_type);
	c->npaused_types++;
	return true;
}
