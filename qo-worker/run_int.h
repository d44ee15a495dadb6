/*
 * run_int.h - what the modules behind run.h share.
 *
 * handlers.c has the sections and starts their processes; run.c has what both
 * modes have in common: time, stopping, how it ended; exec.c and serve.c have
 * the processes, serve_talk.c the lines that go between us and those of serve.
 */
#ifndef RUN_INT_H
#define RUN_INT_H

#include <sys/queue.h>

#include "env.h"
#include "output.h"
#include "proc.h"
#include "reap.h"
#include "reply.h"
#include "run.h"
#include "scratch.h"
#include "stray.h"

#define READ_MAX ((size_t)64 << 10)

struct exec;
struct instance;
TAILQ_HEAD(instances, instance);
LIST_HEAD(execs, exec);

struct section {
	struct handlers *all;
	const struct conf_handler *conf;
	struct handler_account account;
	struct env env;
	struct scratch_pool pool;
	char *program;  /* NULL: to be looked for */
	char *unusable; /* why no attempt can start; NULL: it can */
	size_t reserved;
	bool wanted; /* somebody was refused */
	/* serve.c's and serve_talk.c's */
	struct instances idle, busy, ending;
	size_t live;           /* idle and busy ones */
	int64_t delay_ms;      /* of the last back-off; 0: all is well */
	struct qo_mono failed; /* when that began */
	struct loop_timer pause;
	size_t said; /* lines of idle processes, this minute */
	struct qo_mono said_since;
};

struct handlers {
	struct loop *loop;
	const struct conf *conf;
	struct board_area *area;
	struct section *sections;
	size_t n;
	struct execs execs; /* whose process runs */
	struct scratch scratch;
	struct env_task env;
	struct stray strays;
	uint64_t instances; /* serve.c's: how many there were */
	struct loop_task notify;
	void (*freed)(void *arg, const struct conf_handler *c);
	void *freed_arg;
	bool stopping;
	struct loop_task stopped;
	void (*stop_done)(void *arg);
	void *stop_arg;
	char piece[READ_MAX]; /* what was just read */
};

struct run_state {
	struct section *sec;
	struct loop_timer timer; /* the time-out, then the grace */
	struct loop_task later;
	struct qo_mono began;
	bool over;   /* only done is due */
	bool told;   /* started was called, or nobody asked */
	bool killed; /* SIGKILL was sent */
	struct tail log;
	struct buf message; /* the reason */
	struct buf output;  /* what result.output points to */
	struct buf progress;
	struct exec *exec;     /* by mode */
	struct instance *inst; /* while it runs there */
};

static inline size_t
output_max(const struct run *r)
{
	return (size_t)r->handlers->conf->worker.output_max;
}

/* handlers.c */
struct section *section_of(struct handlers *h, const struct conf_handler *c);
/* Starts a process of the section, the descriptors of spec being set.  *dir
 * is the directory made for it, or NULL.  -1 with *err. */
pid_t section_spawn(struct section *sec, struct proc_spec *spec, char **envp,
    char **dir, struct qo_err *err);
/* That directory is not used any more. */
void section_drop(struct section *sec, char *dir);
/* Somebody may be told that there is room. */
void section_freed(struct section *sec);
/* An instance is gone: is that what handlers_stop waits for? */
void handlers_ended(struct handlers *h);
/* A pipe whose end of ours does not block; -1 with errno. */
int pipe_in(int *ours, int *theirs);  /* the child reads */
int pipe_out(int *ours, int *theirs); /* the child writes */

/* run.c */
/* How it ends, for run_over; the message is made of the format. */
void run_result(struct run *r, enum qo_outcome outcome, const char *kind,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The reason is how the process ended. */
void run_exited(struct run *r, enum qo_outcome outcome, int status);
/* What a verdict says; its output must live as long as the run. */
void run_verdict(struct run *r, const struct reply *rep);
/* Was stopped, so that nothing but a verdict counts: then that is the end. */
bool run_was_stopped(struct run *r);
/* The last call: done is called, after which r may be gone. */
void run_over(struct run *r);
void run_over_later(struct run *r);
/* SIGTERM or SIGKILL to what runs, if anything does. */
void run_signal(struct run *r, int signo);

/* exec.c */
void exec_start(struct run *r);
pid_t exec_pid(const struct exec *x);                      /* 0: has ended */
bool exec_has(const struct execs *all, const char *lease); /* NULL: any */
void exec_free(struct exec *x);                            /* NULL is fine */

/* serve.c */
void serve_init(struct section *sec);
size_t serve_room(const struct section *sec); /* how many may be reserved */
void serve_start(struct run *r);
pid_t serve_pid(const struct instance *in);
/* It was told to end its task: it gets no other. */
void serve_stopped(struct instance *in);
void serve_abandon(struct instance *in); /* the run is gone */
void serve_stop(struct section *sec);    /* ends all in peace */
bool serve_any(const struct section *sec);
/* Has it an instance of that name?  NULL: any. */
bool serve_has(const struct section *sec, const char *name);
void serve_fini(struct section *sec); /* kills all */

#endif
