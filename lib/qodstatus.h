/*
 * qodstatus.h - the status of a qod, read from the document that its control
 * socket gives (qod/status.h writes it).
 *
 * For people's views: members that are missing or that have another type than
 * expected are as if unknown (NULL, -1, 0), and unknown ones are ignored, so
 * that a qo and a qod of neighbouring versions understand each other.
 */
#ifndef QODSTATUS_H
#define QODSTATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "err.h"

#define QODSTATUS_LEN_MAX ((size_t)8 << 20)

struct qodstatus_task {
	const char *id;
	const char *type;
	int64_t attempt;
	struct qo_wall since; /* QO_WALL_NONE: being claimed */
	int64_t handler_pid;  /* 0: none yet */
};

struct qodstatus_child {
	const char *role;  /* "worker" */
	const char *state; /* "ready" */
	const char *name;  /* the worker's id, or NULL */
	const char *note;  /* or NULL */
	const char *last_exit;
	int64_t index, pid, generation, restarts;
	int64_t uptime_ms;       /* -1: it does not run */
	int64_t next_restart_ms; /* -1: none is planned */
	int64_t slots, running;
	int64_t completed, failed, retried, cancelled, lost;
	int64_t s3_requests, s3_retries;
	/* of the monitor; -1: not known */
	int64_t ready, oldest_ready_ms, leases, failed_tasks;
	struct qodstatus_task *tasks;
	size_t ntasks;
};

struct qodstatus {
	struct yyjson_doc *doc; /* what the strings are borrowed from */
	const char *version;
	const char *state;
	const char *config;
	int64_t pid, generation, uptime_ms;
	struct qo_wall reload_at; /* QO_WALL_NONE: there was none */
	bool reload_ok;
	const char *reload_message;
	int64_t tasks_omitted;
	struct qodstatus_child *children;
	size_t nchildren;
};

/* What qod says to a command: {ok, message}.  -1 with *err when the text is
 * no such document; message may be "" and is cut to size. */
int qodstatus_result(const char *text, size_t len, bool *ok, char *message,
    size_t size, struct qo_err *err);
/* -1 with *err when it is no JSON object. */
int qodstatus_read(struct qodstatus *st, const char *text, size_t len,
    struct qo_err *err);
void qodstatus_fini(struct qodstatus *st); /* harmless twice */

#endif
