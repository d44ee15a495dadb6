/*
 * worker.h - the worker: takes candidates while slots are free, and ends in
 * peace.
 *
 * It owns everything else of this program: the candidates and the poll that
 * finds them, the jobs, the handlers, the bell, the pause switches and the
 * heartbeat.  One thread, one loop.
 */
#ifndef WORKER_H
#define WORKER_H

#include "control.h"
#include "queue.h"
#include "role.h"

struct worker;

/* role is started; s3, q and *control become the worker's.  config_path: what
 * handlers are told (QO_CONFIG), or NULL.  NULL with *err: this configuration
 * can not be used with this queue. */
struct worker *worker_new(struct role *role, struct qo_s3 *s3,
    struct qo_queue *q, struct qo_control *control, const char *config_path,
    struct qo_err *err);
void worker_free(struct worker *w); /* after the loop has stopped */
void worker_start(struct worker *w);

/* Claims nothing any more; what still runs after limit_ms (-1: no limit) is
 * stopped (SIGTERM, grace, SIGKILL) and requeued.  The loop is stopped at the
 * end.  May be called again; the earlier end counts. */
void worker_drain(struct worker *w, int64_t limit_ms);
/* The same at once and without grace. */
void worker_now(struct worker *w);
/* Claims nothing until it is off again. */
void worker_quiet(struct worker *w, bool on);
/* Tasks that were left to their leases at the end. */
size_t worker_abandoned(const struct worker *w);

#endif
