/*
 * status.h - how qod is, as a JSON document: what `qo ctl status --json`
 * prints and `qo top` reads (lib/qodstatus.h).
 *
 *	ok, version, pid, started_at, uptime_ms, state (starting, running,
 *	reloading, quiet, stopping), config, generation,
 *	last_reload {at, ok, took_ms, message} or null,
 *	lost: tasks of dead processes that the monitor has not settled yet,
 *	children [{role, index, pid, state, generation, uptime_ms, restarts,
 *	last_exit, next_restart_ms, name, note, slots, counters {}, s3_requests
 *	{}, s3_outcomes {}, gauges {}, tasks [{id, type, attempt, since,
 *	lease_id, handler_pid}]}],
 *	handlers [{name, type, completed, retried, failed, cancelled, other,
 *	runs, seconds}]: of all processes, those that are gone included; what
 *	became of its tasks, and how often and how long it ran,
 *	tasks_omitted: tasks beyond STATUS_TASKS_MAX
 *
 * Members are only ever added.  What is not known is null; of counters those
 * that are 0 are left out.
 */
#ifndef STATUS_H
#define STATUS_H

#include "buf.h"
#include "qod.h"

#define STATUS_TASKS_MAX    4096
#define STATUS_HANDLERS_MAX 1024

void status_add(const struct qod *q, struct buf *b);
/* "running" */
const char *status_state(const struct qod *q);

#endif
