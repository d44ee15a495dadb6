/*
 * run.h - one attempt of one task in a handler, exec or serve mode.
 *
 * The handlers of a worker are one struct handlers: which section serves
 * which type, and the processes of those that are long-lived.  A run starts
 * when the task is held and its input is at hand, and ends with an outcome
 * for commit.h; what a handler does wrong is such an outcome (a retry or a
 * failure with the reason), never an error of the worker.  Nothing here
 * knows of S3 or leases.
 *
 * How an attempt ends, the first that applies:
 *	fenced			killed; the result is to be dropped
 *	cancelled		CANCELLED, whatever the handler said
 *	too much output		RETRY, kind "output"; killed at once
 *	a verdict (reply.h)	what it says, also when it came within the grace
 *				after a time-out or a drain; an exit that is
 *				not 0 is then noted in the log; "cancelled"
 *				within the grace is no more than obedience
 *	a bad verdict		RETRY, kind "verdict" (but see the next two)
 *	timed out		RETRY, kind "timeout"
 *	drained			REQUEUE: no retry is used up
 *	exit 0			COMPLETED with stdout as output; RETRY, kind
 *				"output", when that is not UTF-8 or too deep
 *	exit in fail_exit	FAILED, kind "exit"
 *	any other exit		RETRY, kind "exit"
 *	a signal		RETRY, kind "signal"
 * A program that can not be started: RETRY, kind "start".  Reasons that name
 * an exit have the last line of the log behind them.
 *
 * When the handler's process has ended, what is left of its process group is
 * killed, and what is in its pipes by then is read: who keeps them open does
 * not delay the end.  Kinds of handler's own making: "handler" (a verdict of
 * retry or failed, its error being the message).
 */
#ifndef RUN_H
#define RUN_H

#include "board.h"
#include "commit.h"
#include "conf.h"
#include "loop.h"

struct handlers;
struct run;

enum run_stop {
	RUN_NOT_STOPPED = 0,
	RUN_CANCEL,  /* SIGTERM, grace, SIGKILL: outcome CANCELLED */
	RUN_TIMEOUT, /* the same: RETRY with that reason (run.c's own timer) */
	RUN_DRAIN,   /* the same: REQUEUE */
	RUN_NOW,     /* SIGKILL at once: REQUEUE */
	RUN_FENCE    /* SIGKILL at once: the result is to be dropped */
};

/*
 * conf is borrowed.  config_path (NULL: none) becomes QO_CONFIG.  area:
 * its rows (board_rows.h) are named, and how long handlers ran is counted
 * there; NULL: nowhere.  Takes SIGCHLD (reap.h), makes this process a subreaper.
 * What is wrong with a section is logged, and the reason that its attempts
 * fail with.
 */
struct handlers *handlers_new(struct loop *l, const struct conf *conf,
    const char *config_path, struct board_area *area);
/* No run may be under way; long-lived processes are ended (EOF, TERM, KILL,
 * all within grace) before done(arg) is called, never from inside. */
void handlers_stop(struct handlers *h, void (*done)(void *arg), void *arg);
/* What still runs is killed.  NULL is fine. */
void handlers_free(struct handlers *h);

/*
 * Takes one of its instances (serve mode: `instances` at once; exec: no limit
 * of its own) for a claim that is about to be sent.  False: all are busy, or
 * its processes die as soon as they are started and the next one has to wait
 * (200 ms doubling to 30 s); freed(arg, handler) is called when that changes,
 * from the loop and not from inside any function here.
 */
bool handlers_reserve(struct handlers *h, const struct conf_handler *c);
void handlers_unreserve(struct handlers *h, const struct conf_handler *c);
void handlers_on_free(struct handlers *h,
    void (*freed)(void *arg, const struct conf_handler *c), void *arg);

struct run {
	/* in */
	struct handlers *handlers;
	const struct conf_handler *handler; /* reserved; given back at done */
	const struct qo_task *task;         /* borrowed until fini */
	const char *input;                  /* JSON; borrowed until done */
	size_t input_len;
	int64_t timeout_ms;      /* 0: none */
	struct qo_wall deadline; /* QO_DEADLINE; QO_WALL_NONE: none */
	/* From the loop, before done; NULL is fine.  r->pid is also known
	 * when run_start returns. */
	void (*started)(struct run *r);
	void (*progressed)(struct run
		*r);                 /* r->progress changed; may be NULL */
	void (*done)(struct run *r); /* may run_fini r */
	void *arg;
	/* out */
	pid_t pid;               /* leads a process group; 0: none */
	struct qo_json progress; /* the last; good until the next or fini */
	enum run_stop stopped;
	enum qo_outcome outcome;
	struct qo_result result; /* good until fini */
	struct buf log;          /* bounded by log_max, the tail is kept */
	int64_t ran_ms;
	/* private */
	struct run_state *state;
};

void run_init(struct run *r); /* all 0, no deadline */
/* A run under way is killed, and done is not called. */
void run_fini(struct run *r);
/* Never calls back before it returns. */
void run_start(struct run *r);
/*
 * done comes when it is over, never from inside.  May be called again:
 * RUN_FENCE outranks all others, RUN_CANCEL all but that, and of a time-out
 * and a drain the first one stays the reason; RUN_NOW makes an end of the
 * grace.
 */
void run_stop(struct run *r, enum run_stop why);

#endif
