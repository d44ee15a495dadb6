/*
 * submit.h - put a task into the queue.
 *
 * PUT ready -> PUT task If-None-Match.  With an idempotency key the id is
 * derived from it and the task is looked for first: the same key gives the
 * same task for as long as it is kept, and another type or input under the
 * same key is a conflict.  An input above the queue's inline_max goes to
 * payloads/ before, but not while a task of that id is there: retention
 * removes the payloads of a task, whose names are the same, before the task.
 */
#ifndef QO_SUBMIT_H
#define QO_SUBMIT_H

#include "change.h"
#include "task_payload.h"

#define QO_TIMEOUT_MAX_S (INT64_C(30) * 86400)
#define QO_RETRIES_MAX   1000
#define QO_KEY_TEXT_MAX  1024 /* of an idempotency key */
#define QO_INPUT_MAX     (64 * 1024 * 1024)

/* All strings are borrowed until the submit is done. */
struct qo_submission {
	const char *task_type;
	struct qo_json input; /* compact JSON; p == NULL: null */
	int64_t timeout_seconds;
	int64_t max_retries;
	struct qo_retry_policy retry_policy;
	struct qo_wall available_at; /* QO_WALL_NONE: now */
	int64_t delay_ms;            /* used when available_at is not set */
	struct qo_wall expires_at;   /* QO_WALL_NONE: never */
	int64_t expires_ms; /* 0: none; used when expires_at is not set */
	const char *idempotency_key; /* NULL: a random id */
	/* Or an id of our own that was derived from what the task stands for
	 * (uuid.h): what is found under it is that task. */
	const char *derived_id;
	/* A task that was not found is not made after this (QO_AGAIN): that
	 * it is to be made may have been read long ago.  us == 0: whenever. */
	struct qo_mono deadline;
	enum qo_priority priority;
	struct qo_json tags;     /* an object; p == NULL: none */
	int64_t max_reschedules; /* -1: no limit */
	const char *submitted_by, *traceparent, *parent_id;
};

/* The defaults of the task model. */
void qo_submission_init(struct qo_submission *s);
/* -1 with *err naming the member and what is allowed.  The input must have
 * been checked and compacted by qo_json_compact already. */
int qo_submission_check(const struct qo_submission *s, struct qo_err *err);

struct qo_submit {
	struct qo_change change; /* first; its task is the result */
	const struct qo_submission *sub;
	void (*done)(struct qo_submit *s);
	void *arg;
	char input_sha256[65];
	char payload_key[QO_KEY_SIZE];
	struct qo_payload payload;
	/* private */
	struct qo_s3_req look; /* is there a task of that key? */
	struct qo_mono put_at; /* when the payload was begun */
	bool put_again;
};

/* sub is borrowed until done; it has passed the check. */
void qo_submit_init(struct qo_submit *s, struct qo_queue *q,
    const struct qo_submission *sub);
void qo_submit_fini(struct qo_submit *s);
/* change.rc: QO_OK (change.existed: by an earlier submit with the same key),
 * QO_LOST (the key is in use for another task), QO_AGAIN, QO_DENIED, QO_ERR.
 * Never calls done before it returns. */
void qo_submit_start(struct qo_submit *s);
enum qo_rc qo_submit_wait(struct qo_submit *s);

#endif
