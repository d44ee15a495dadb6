/*
 * job.h - one task from candidate to committed.
 *
 * A job claims the task of an index entry, fetches its input, runs it in a
 * handler, keeps its lease, uploads its log and commits what came of it.  It
 * says so in its slot of the board from before the claim is sent until the
 * commit is known.  A lease that can not be kept is the end of it: the
 * handler is killed and the result dropped (R6).
 */
#ifndef JOB_H
#define JOB_H

#include "ahead.h"
#include "board.h"
#include "commit.h"
#include "conf.h"
#include "run.h"

enum job_end {
	JOB_COMMITTED = 0, /* task is the new state */
	JOB_DROPPED,       /* not ours any more; nothing was written */
	/* What follows was never claimed. */
	JOB_SETTLED, /* the task had been cancelled or had expired */
	JOB_TAKEN,   /* by another worker, or not pending any more */
	JOB_ABSENT,  /* there is no task */
	JOB_NOT_DUE,
	JOB_UNKNOWN_TYPE,
	JOB_PAUSED,
	JOB_BUSY, /* all processes of its handler are */
	JOB_ERROR /* the store, or what is in it; err says */
};

struct job;

/* What the jobs of a worker share; all is borrowed. */
struct jobs {
	struct loop *loop;
	struct qo_queue *q;
	const struct conf *conf;
	struct handlers *handlers;
	struct ahead *ahead;
	struct board_area *area;
	const char *worker_id;
	bool draining; /* what is claimed is given back */
	bool (*paused)(const char *task_type, void *arg);
	void (*held)(struct job *j, void *arg); /* claimed */
	/* The job is free again after this returns. */
	void (*ended)(struct job *j, enum job_end how, void *arg);
	void *arg;
};

struct job *job_new(struct jobs *host, size_t slot);
/* One that is busy is left to its lease.  NULL is fine. */
void job_free(struct job *j);

/* tries is the caller's.  reserved: a handler that was reserved
 * for it in advance, or NULL.  Never calls back before it returns. */
void job_start(struct job *j, const struct qo_entry *entry, unsigned tries,
    const struct conf_handler *reserved);
bool job_busy(const struct job *j);
/* Somebody rang: look at the task. */
void job_look(struct job *j);
/* Stop and requeue (a drain whose time is over); now: without grace. */
void job_give_back(struct job *j, bool now);

/* For ahead_new. */
void job_go(struct ahead_wait *w);

/* For ended, and while it is busy; borrowed. */
size_t job_slot(const struct job *j);
const struct qo_entry *job_entry(const struct job *j);
unsigned job_tries(const struct job *j);
const struct qo_task *job_task(const struct job *j);
const struct qo_err *job_err(const struct job *j);
/* JOB_BUSY: whose processes are. */
const struct conf_handler *job_handler(const struct job *j);
/* JOB_COMMITTED and pending again: its new ready entry; else NULL. */
const struct qo_entry *job_next_entry(const struct job *j);
/* The task is held: it counts as running. */
bool job_held(const struct job *j);
struct qo_wall job_since(const struct job *j);

#endif
