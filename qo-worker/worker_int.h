/*
 * worker_int.h - what the parts of the worker share: worker.c (beginning,
 * bell, end), dispatch.c (from candidates to jobs and back), tell.c (what
 * others are told).
 */
#ifndef WORKER_INT_H
#define WORKER_INT_H

#include "bell.h"
#include "entries.h"
#include "gate.h"
#include "heartbeat.h"
#include "job.h"
#include "poll.h"
#include "shards.h"
#include "worker.h"

struct worker {
	struct role *role;
	struct loop *loop;
	const struct conf *conf;
	struct qo_s3 *s3;
	struct qo_queue *q;
	char id[QO_NAME_MAX + 1], host[QO_NAME_MAX + 1];

	struct shards shards;
	struct gate gate;
	struct handlers *handlers;
	struct ahead *ahead;
	struct entries *entries;
	struct poll *poll;
	struct bell *bell;
	struct heartbeat heartbeat;
	struct buf shards_text, tasks_text;
	struct qo_wall started_at;

	struct jobs jobs;
	struct job **slots; /* made when first used */
	size_t nslots, busy, held;
	size_t *unused; /* numbers of free slots, a stack */
	bool only_serve;
	size_t guess; /* the handler that was used last */
	struct qo_mono freed_at;
	uint64_t completed, failed;

	bool quiet, draining, ending;
	bool limited; /* the time of the drain is over */
	size_t abandoned;
	unsigned leaving; /* what must be done before the end */
	struct loop_task fill;
	struct loop_timer due, tick, limit;
};

/* worker.c: ends when it drains and nothing is left to do. */
void worker_check_end(struct worker *w);

/* dispatch.c */
/* Candidates are given to free slots, still in this turn of the loop. */
void dispatch(struct worker *w);
/* Now and then one of those who wait for a handler tries its luck: the one
 * that was woken may have found its task taken, and nobody else is told. */
void dispatch_unpark(struct worker *w);
/* For the poll, the handlers and the jobs; arg is the worker. */
enum poll_hunger dispatch_hungry(void *arg);
void dispatch_found(void *arg);
void dispatch_handler_free(void *arg, const struct conf_handler *h);
bool dispatch_paused(const char *task_type, void *arg);
void dispatch_held(struct job *j, void *arg);
void dispatch_ended(struct job *j, enum job_end how, void *arg);

/* tell.c */
void tell(struct worker *w); /* counters and title */
void tell_heartbeat(struct qo_worker_record *r, void *arg);
void tell_end(const struct worker *w); /* a line in the log */

#endif
