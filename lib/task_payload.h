/*
 * task_payload.h - write an input or output that is too large for its task.
 *
 * The name tells what is in it (a hash, or the attempt), so it is created
 * once and never overwritten: that it is there already is as good as having
 * written it.  Anything less definite is tried again.
 */
#ifndef QO_TASK_PAYLOAD_H
#define QO_TASK_PAYLOAD_H

#include "json.h"
#include "s3.h"

struct qo_payload {
	struct qo_s3 *s3;
	struct qo_s3_req req;
	unsigned tries;
	/* QO_OK: it is there.  QO_AGAIN, QO_DENIED, QO_ERR with err. */
	void (*done)(struct qo_payload *p);
	void *arg;
	enum qo_rc rc;
	const struct qo_err *err;
};

void qo_payload_init(struct qo_payload *p);
/* All is borrowed until done.  Never calls done before it returns. */
void qo_payload_put(struct qo_payload *p, struct qo_s3 *s3, const char *bucket,
    const char *key, const struct qo_json *text);
/* Cancels when under way. */
void qo_payload_fini(struct qo_payload *p);

#endif
