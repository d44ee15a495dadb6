/*
 * task.h - the task: its members, its text, its life.
 *
 * struct qo_task is the object tasks/{shard}/{id}.json in memory.  Members
 * are plain fields that the caller reads and sets.  Strings and JSON values
 * that were decoded belong to the task and live until qo_task_fini; what the
 * caller puts in must live as long (qo_task_dup makes such a copy).
 *
 * Times that are absent are QO_WALL_NONE, strings NULL, JSON values have
 * p == NULL.  JSON values are kept and written as text, byte for byte.
 * Members that this version does not know are kept too.
 *
 * Format 1.  A change that an old reader would misunderstand raises the
 * number in `format`, and every program must be able to read it before the
 * first one writes it; until then an object with a higher number is read
 * but never written (qo_task_encode refuses).
 */
#ifndef QO_TASK_H
#define QO_TASK_H

#include "clock.h"
#include "record.h"
#include "retry.h"

#define QO_TASK_FORMAT     1
#define QO_TASK_ERRORS_MAX 10
#define QO_TASK_LEN_MAX    ((size_t)8 << 20)

enum qo_status {
	QO_STATUS_NONE = 0, /* give_up, archived_from: absent */
	QO_STATUS_PENDING,
	QO_STATUS_RUNNING,
	QO_STATUS_COMPLETED,
	QO_STATUS_FAILED,
	QO_STATUS_CANCELLED,
	QO_STATUS_EXPIRED,
	QO_STATUS_ARCHIVED
};

enum qo_priority {
	QO_PRIORITY_NORMAL = 0,
	QO_PRIORITY_HIGH,
	QO_PRIORITY_LOW
};

struct qo_task_error {
	int64_t attempt;
	struct qo_wall at;
	const char *kind;
	const char *message;
	const char *lease_id;
	struct qo_json text; /* as it was read: written instead of the rest */
};

struct qo_task {
	struct qo_record rec; /* first; see record.h */
	const char *id;
	const char *shard;
	const char *task_type;
	enum qo_status status;
	struct qo_json input;
	struct qo_json output;
	const char *input_ref;
	const char *input_sha256;
	const char *output_ref;
	int64_t timeout_seconds;
	int64_t max_retries;
	int64_t retry_count;
	struct qo_retry_policy retry_policy; /* qo_task_set_retry changes it */
	struct qo_json retry_policy_text;    /* as it was read */
	struct qo_wall available_at;
	struct qo_wall lease_expires_at;
	const char *lease_id;
	const char *worker_id;
	int64_t attempt;
	int64_t generation;
	int64_t rev;
	const char *updated_by;
	struct qo_wall created_at;
	struct qo_wall updated_at;
	struct qo_wall completed_at;
	const char *last_error;
	struct qo_task_error errors[QO_TASK_ERRORS_MAX]; /* oldest first */
	size_t nerrors;
	const char *idempotency_key;
	enum qo_priority priority;
	struct qo_json tags; /* an object */
	struct qo_wall expires_at;
	bool cancel_requested;
	const char *cancelled_by;
	const char *cancel_reason;
	enum qo_status give_up;
	enum qo_status archived_from;
	struct qo_wall retired_at; /* finished, and being removed */
	int64_t reschedule_count;
	int64_t max_reschedules; /* -1: absent */
	struct qo_json progress;
	struct qo_json waiting_for; /* an array */
	const char *workflow_id;
	const char *step;
	const char *parent_id;
	const char *submitted_by;
	const char *traceparent;
	int64_t format;
};

/* What may be done to a task (DESIGN.md 3.2). */
enum qo_op {
	QO_OP_CLAIM = 0, /* pending -> running */
	QO_OP_RENEW,     /* running stays: renewal, progress, cancel request */
	QO_OP_COMPLETE,  /* running -> completed */
	QO_OP_FAIL,      /* running -> failed */
	QO_OP_RETRY,     /* running -> pending: retry, reschedule, requeue,
			  * lease expired */
	QO_OP_CANCEL,    /* pending, running -> cancelled */
	QO_OP_EXPIRE,    /* pending -> expired; running too, when give_up says
			  * so and the workflow has been advanced */
	QO_OP_BUMP,      /* pending and all terminal ones stay: give_up, or a
			  * new generation only */
	QO_OP_REPLAY,    /* completed, failed, cancelled, expired -> pending */
	QO_OP_ARCHIVE,   /* the same -> archived */
	QO_OP_UNARCHIVE  /* archived -> archived_from */
};

/* A task with the defaults and nothing else set. */
void qo_task_init(struct qo_task *t);
void qo_task_fini(struct qo_task *t); /* harmless twice */

/*
 * Reads the text of an object; *t is initialised here.  id is the one in the
 * key: the task's own must equal it (NULL: any).  0, or -1 with *err naming
 * the member (nothing to free then).  The text is copied.
 */
int qo_task_decode(struct qo_task *t, const char *id, const char *text,
    size_t len, struct qo_err *err);
/* Adds the text of the task to out.  -1 with *err: the format is higher than
 * ours, a required member is not set, or out's limit is reached. */
int qo_task_encode(const struct qo_task *t, struct buf *out,
    struct qo_err *err);
/* The object has a higher format than this program knows. */
bool qo_task_read_only(const struct qo_task *t);

/* A copy that lives as long as the task; NULL stays NULL. */
const char *qo_task_dup(struct qo_task *t, const char *s);
void qo_task_set_retry(struct qo_task *t, const struct qo_retry_policy *p);
/* Adds to errors, dropping the oldest of ten; the strings are copied. */
void qo_task_add_error(struct qo_task *t, const struct qo_task_error *e);

/* "pending", ... and back; parse: -1 when it is none of them. */
const char *qo_status_name(enum qo_status status);
int qo_status_parse(const char *word, enum qo_status *status);
/* Completed, failed, cancelled, expired or archived. */
bool qo_status_terminal(enum qo_status status);
/* The status after op, or -1 with *err saying why it is refused. */
int qo_task_next(const struct qo_task *t, enum qo_op op, enum qo_status *to,
    struct qo_err *err);

#endif
