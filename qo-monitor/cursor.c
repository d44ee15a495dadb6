#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cursor.h"
#include "layout.h"
#include "log.h"

#define FORMAT  1
#define LEN_MAX 65536

#define MEMBER(m, k)                                                   \
	.name = #m, .name_len = sizeof(#m) - 1, .kind = QO_MEMBER_##k, \
	.offset = offsetof(struct cursor_record, m)

static const struct qo_member members[] = {
	{ MEMBER(format, INT), .rule = QO_MEMBER_REQUIRED, .min = 1,
	    .max = QO_COUNT_MAX, .def = FORMAT },
	{ MEMBER(cursor, STR), .rule = QO_MEMBER_REQUIRED,
	    .max = QO_KEY_SIZE - 1 },
	{ MEMBER(round_started_at, TIME) },
	{ MEMBER(round_ended_at, TIME) },
	{ MEMBER(rev, INT), .rule = QO_MEMBER_REQUIRED, .min = 0,
	    .max = QO_COUNT_MAX },
	{ MEMBER(updated_by, STR), .max = 64 },
};

static const struct qo_record_type type = { "retention record", members,
	sizeof(members) / sizeof(members[0]), LEN_MAX, QO_JSON_DEPTH };

void
cursor_init(struct cursor *c, struct qo_queue *q)
{
	memset(c, 0, sizeof(*c));
	c->q = q;
	c->started = c->ended = QO_WALL_NONE;
	qo_s3_req_init(&c->req, QO_S3_GET, NULL, NULL);
	buf_init(&c->body, LEN_MAX);
	if ((size_t)snprintf(c->key, sizeof(c->key), "%scontrol/retention.json",
		q->prefix) >= sizeof(c->key))
		qo_bug("retention: the prefix makes keys too long");
}

void
cursor_fini(struct cursor *c)
{
	qo_s3_req_fini(&c->req);
	buf_fini(&c->body);
}

static void
request(struct cursor *c, enum qo_s3_op op, void (*done)(struct qo_s3_req *r))
{
	qo_s3_req_fini(&c->req);
	qo_s3_req_init(&c->req, op, c->q->bucket, c->key);
	c->req.done = done;
	c->req.arg = c;
}

static void
finish(struct cursor *c, enum qo_rc rc)
{
	c->rc = rc;
	if (rc != QO_OK)
		c->err = c->req.res.err;
	c->done(c);
}

static void
take(struct cursor *c, const struct qo_s3_res *res)
{
	struct cursor_record r;
	struct qo_err err = { 0 };

	snprintf(c->etag, sizeof(c->etag), "%s", res->etag);
	if (qo_record_decode(&type, &r, res->body.data, res->body.len, &err) ==
	    -1) {
		log_warnx("%s: %s; retention begins anew", c->key, err.msg);
		return;
	}
	snprintf(c->at, sizeof(c->at), "%s", r.cursor);
	c->started = r.round_started_at;
	c->ended = r.round_ended_at;
	c->rev = r.rev;
	qo_record_fini(&r.rec);
}

static void
on_read(struct qo_s3_req *r)
{
	struct cursor *c = r->arg;

	c->at[0] = c->etag[0] = '\0';
	c->started = c->ended = QO_WALL_NONE;
	c->rev = 0;
	switch (r->res.outcome) {
	case QO_S3_OK:
		take(c, &r->res);
		finish(c, QO_OK);
		return;
	case QO_S3_NOT_FOUND:
		finish(c, QO_OK);
		return;
	default:
		finish(c, qo_s3_outcome_rc(r->res.outcome));
		return;
	}
}

void
cursor_read(struct cursor *c)
{
	request(c, QO_S3_GET, on_read);
	c->req.response_max = LEN_MAX;
	qo_s3_send(c->q->s3, &c->req);
}

static void
on_saved(struct qo_s3_req *r)
{
	struct cursor *c = r->arg;
	enum qo_rc rc = qo_s3_outcome_rc(r->res.outcome);

	if (rc == QO_OK) {
		snprintf(c->etag, sizeof(c->etag), "%s", r->res.etag);
		c->rev++;
	}
	/* R4: that it is not there decides nothing. */
	finish(c, rc == QO_NOENT ? QO_LOST : rc);
}

void
cursor_save(struct cursor *c)
{
	struct cursor_record r;
	char id[QO_UUID_SIZE];
	struct qo_err err;

	qo_record_init(&type, &r);
	qo_uuid_v4(id);
	r.cursor = c->at;
	r.round_started_at = c->started;
	r.round_ended_at = c->ended;
	r.rev = c->rev + 1;
	r.updated_by = id;
	buf_reset(&c->body);
	if (qo_record_encode(&type, &r, &c->body, &err) == -1)
		qo_bug("retention: %s", err.msg);
	qo_record_fini(&r.rec);
	request(c, QO_S3_PUT, on_saved);
	if (c->etag[0] == '\0')
		c->req.if_none_match = "*";
	else
		c->req.if_match = c->etag;
	c->req.content_type = "application/json";
	c->req.body = c->body.data;
	c->req.body_len = c->body.len;
	qo_s3_send(c->q->s3, &c->req);
}
