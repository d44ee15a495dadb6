#include <string.h>

#include "task.h"

const char *
qo_task_dup(struct qo_task *t, const char *s)
{
	return qo_record_dup(&t->rec, s);
}

void
qo_task_set_retry(struct qo_task *t, const struct qo_retry_policy *p)
{
	t->retry_policy = *p;
	t->retry_policy_text = (struct qo_json){ NULL, 0 };
}

void
qo_task_add_error(struct qo_task *t, const struct qo_task_error *e)
{
	struct qo_task_error *last;

	if (t->nerrors == QO_TASK_ERRORS_MAX) {
		memmove(&t->errors[0], &t->errors[1],
		    (QO_TASK_ERRORS_MAX - 1) * sizeof(t->errors[0]));
		t->nerrors--;
	}
	last = &t->errors[t->nerrors++];
	*last = *e;
	last->kind = qo_task_dup(t, e->kind);
	last->message = qo_task_dup(t, e->message);
	last->lease_id = qo_task_dup(t, e->lease_id);
	last->text = (struct qo_json){ NULL, 0 };
}

bool
qo_status_terminal(enum qo_status status)
{
	switch (status) {
	case QO_STATUS_NONE:
	case QO_STATUS_PENDING:
	case QO_STATUS_RUNNING:
		return false;
	case QO_STATUS_COMPLETED:
	case QO_STATUS_FAILED:
	case QO_STATUS_CANCELLED:
	case QO_STATUS_EXPIRED:
	case QO_STATUS_ARCHIVED:
		return true;
	}
	return false;
}

/* Terminal and not archived: what replay and archive start from. */
static bool
is_finished(enum qo_status status)
{
	return qo_status_terminal(status) && status != QO_STATUS_ARCHIVED;
}

/* The status after op, or QO_STATUS_NONE when it is not allowed. */
static enum qo_status
next_status(const struct qo_task *t, enum qo_op op)
{
	enum qo_status s = t->status;
	bool pending = s == QO_STATUS_PENDING, running = s == QO_STATUS_RUNNING;

	switch (op) {
	case QO_OP_CLAIM:
		return pending ? QO_STATUS_RUNNING : QO_STATUS_NONE;
	case QO_OP_RENEW:
		return running ? QO_STATUS_RUNNING : QO_STATUS_NONE;
	case QO_OP_COMPLETE:
		return running ? QO_STATUS_COMPLETED : QO_STATUS_NONE;
	case QO_OP_FAIL:
		return running ? QO_STATUS_FAILED : QO_STATUS_NONE;
	case QO_OP_RETRY:
		return running ? QO_STATUS_PENDING : QO_STATUS_NONE;
	case QO_OP_CANCEL:
		return pending || running ? QO_STATUS_CANCELLED
					  : QO_STATUS_NONE;
	case QO_OP_EXPIRE:
		return pending || (running && t->give_up == QO_STATUS_EXPIRED)
		    ? QO_STATUS_EXPIRED
		    : QO_STATUS_NONE;
	case QO_OP_BUMP:
		return running ? QO_STATUS_NONE : s;
	case QO_OP_REPLAY:
		return is_finished(s) ? QO_STATUS_PENDING : QO_STATUS_NONE;
	case QO_OP_ARCHIVE:
		return is_finished(s) ? QO_STATUS_ARCHIVED : QO_STATUS_NONE;
	case QO_OP_UNARCHIVE:
		return s == QO_STATUS_ARCHIVED && is_finished(t->archived_from)
		    ? t->archived_from
		    : QO_STATUS_NONE;
	}
	return QO_STATUS_NONE;
}

static const char *
op_name(enum qo_op op)
{
	static const char *const names[] = { "claimed", "renewed", "completed",
		"failed", "retried", "cancelled", "expired", "bumped",
		"replayed", "archived", "unarchived" };

	return names[op];
}

int
qo_task_next(const struct qo_task *t, enum qo_op op, enum qo_status *to,
    struct qo_err *err)
{
	enum qo_status next = next_status(t, op);

	if (qo_wall_is_set(t->retired_at) && op != QO_OP_BUMP) {
		qo_err_set(err, "the task is being removed (retention)");
		return -1;
	}
	if (next == QO_STATUS_NONE) {
		qo_err_set(err, "a task that is %s can not be %s",
		    qo_status_name(t->status), op_name(op));
		return -1;
	}
	*to = next;
	return 0;
}
