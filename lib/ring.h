/*
 * ring.h - ring the bells of all workers: the control record has changed.
 *
 * Nothing depends on it: a worker that does not hear its bell looks by itself
 * after half a minute.  Synchronous, for command lines.
 */
#ifndef QO_RING_H
#define QO_RING_H

#include "queue.h"

/* Puts bell/{worker_id}/{a fresh id} for each record in workers/.  *rung is
 * how many were put there.  QO_OK also when some were not; else the records
 * could not be listed (*err). */
enum qo_rc qo_ring_all(struct qo_queue *q, size_t *rung, struct qo_err *err);

#endif
