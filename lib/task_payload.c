#include <string.h>

#include "task_payload.h"

#define TRIES_MAX 8

static void
on_put(struct qo_s3_req *r)
{
	struct qo_payload *p = r->arg;

	p->err = &r->res.err;
	p->rc = qo_s3_outcome_rc(r->res.outcome);
	if (r->res.outcome == QO_S3_PRECONDITION)
		p->rc = QO_OK;
	/* 409: somebody writes it at this moment.  Nothing is settled (R4). */
	if (r->res.outcome == QO_S3_CONFLICT) {
		if (++p->tries < TRIES_MAX) {
			qo_s3_send(p->s3, r);
			return;
		}
		p->rc = QO_AGAIN;
	}
	p->done(p);
}

void
qo_payload_init(struct qo_payload *p)
{
	memset(p, 0, sizeof(*p));
	qo_s3_req_init(&p->req, QO_S3_PUT, NULL, NULL);
}

void
qo_payload_put(struct qo_payload *p, struct qo_s3 *s3, const char *bucket,
    const char *key, const struct qo_json *text)
{
	p->s3 = s3;
	p->tries = 0;
	p->req.bucket = bucket;
	p->req.key = key;
	p->req.if_none_match = "*";
	p->req.content_type = "application/json";
	p->req.body = text->p;
	p->req.body_len = text->len;
	p->req.done = on_put;
	p->req.arg = p;
	qo_s3_send(s3, &p->req);
}

void
qo_payload_fini(struct qo_payload *p)
{
	qo_s3_req_fini(&p->req);
}
