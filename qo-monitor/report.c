#include <stdio.h>

#include "board_rows.h"
#include "log.h"
#include "report.h"

static void
count(struct monitor *m, const struct qo_task *t, enum board_counter how)
{
	board_task_ended(m->area, board_row_of_type(m->all, t->task_type), how);
}

static void
count_end(struct monitor *m, const struct qo_task *t)
{
	switch (t->status) {
	case QO_STATUS_PENDING:
		count(m, t, BOARD_RETRIED);
		break;
	case QO_STATUS_FAILED:
		count(m, t, BOARD_FAILED);
		break;
	case QO_STATUS_CANCELLED:
		count(m, t, BOARD_CANCELLED);
		break;
	case QO_STATUS_EXPIRED:
		count(m, t, BOARD_EXPIRED);
		break;
	case QO_STATUS_NONE:
	case QO_STATUS_RUNNING:
	case QO_STATUS_COMPLETED:
	case QO_STATUS_ARCHIVED:
		break;
	}
}

static void
report_reclaimed(struct monitor *m, const struct qo_repair *r)
{
	const struct qo_task *t = &r->change.task;
	bool died = r->dead_lease != NULL;

	board_add(m->area, died ? BOARD_RECOVERED : BOARD_RECLAIMED, 1);
	count_end(m, t);
	log_event(LOG_LVL_WARN, died ? "worker died" : "lease ran out", "task",
	    t->id, "type", t->task_type, "attempt", LOG_NUM(t->attempt),
	    "lease", t->nerrors > 0 ? t->errors[t->nerrors - 1].lease_id : NULL,
	    "workflow", t->workflow_id, "now", qo_status_name(t->status), NULL);
}

static void
report_done(struct monitor *m, const struct qo_repair *r)
{
	const struct qo_task *t = &r->change.task;

	switch (r->did) {
	case QO_REPAIR_NOTHING:
	case QO_REPAIR_UNDECIDED:
		break;
	case QO_REPAIR_RECLAIMED:
		report_reclaimed(m, r);
		break;
	case QO_REPAIR_EXPIRED:
		count(m, t, BOARD_EXPIRED);
		log_event(LOG_LVL_INFO, "expired", "task", t->id, "type",
		    t->task_type, "workflow", t->workflow_id, "now",
		    qo_status_name(t->status), NULL);
		break;
	case QO_REPAIR_BUMPED:
	case QO_REPAIR_DELETED:
		board_add(m->area, BOARD_ORPHANS, 1);
		log_event(LOG_LVL_DEBUG, "removed an index entry", "key",
		    r->entry_key, NULL);
		break;
	}
}

bool
report_repair(struct monitor *m, const struct qo_repair *r)
{
	switch (r->change.rc) {
	case QO_OK:
	case QO_NOENT:
		report_done(m, r);
		return true;
	case QO_ERR:
		log_event(LOG_LVL_WARN, "a task can not be repaired", "task",
		    r->change.id, "why", r->change.err.msg, NULL);
		return true;
	case QO_AGAIN:
	case QO_LOST:
	case QO_DENIED:
		break;
	}
	log_event(LOG_LVL_DEBUG, "no look at a task", "task", r->change.id,
	    "why", r->change.err.msg, NULL);
	return false;
}
