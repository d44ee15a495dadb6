/*
 * job_int.h - what job.c (claim, input, run), job_lease.c (renewals, the
 * fence) and job_end.c (log, commit) share.
 */
#ifndef JOB_INT_H
#define JOB_INT_H

#include "job.h"
#include "log.h"

enum job_state {
	JOB_FREE = 0,
	JOB_CLAIMING,
	JOB_FETCHING, /* the input */
	JOB_WAITING,  /* for a process of its handler */
	JOB_RUNNING,
	JOB_LOGGING,   /* the log is uploaded */
	JOB_COMMITTING /* or about to, when a renewal is under way */
};

struct job {
	struct jobs *host;
	size_t slot;
	enum job_state state;
	struct qo_entry entry;
	unsigned tries;
	struct qo_wall since;
	int64_t attempt; /* of ours: another's may be in the task by now */

	struct qo_claim claim;
	enum job_end refusal; /* why serves said no */
	const struct conf_handler *handler;
	bool reserved; /* an instance of it, not yet given to the run */
	bool ahead;    /* claimed, or being claimed, ahead of one */
	struct ahead_wait wait;
	unsigned reclaims;

	struct qo_s3_req req; /* the input, then the log */
	char key[QO_KEY_SIZE];
	struct buf input;
	const char *input_text; /* what the run gets */
	size_t input_len;

	struct run run;
	bool run_there; /* between run_init and run_fini */
	bool running;   /* its done has not come */

	int64_t lease_ms;
	struct qo_mono renewed_at;
	bool renewing;
	bool lost;     /* not ours any more, or past the fence */
	bool look;     /* asked for while something else was under way */
	bool progress; /* a line has come since the last renewal */
	bool early;    /* which brings the next one forward */
	unsigned renew_fails;
	struct buf progress_text; /* what the claim borrows */
	struct loop_timer lease;  /* the next renewal, or the fence */

	enum qo_outcome outcome;
	struct qo_result result;
	struct qo_commit commit;
	bool committing; /* its done has not come */
	unsigned commit_tries;
	struct loop_timer again;
	struct qo_err err;
	char reason[320];
};

/* job.c */
void job_put_board(struct job *j);
/* An event of a task that is held, with all that names the attempt; name NULL:
 * nothing more. */
void job_log(const struct job *j, enum log_level level, const char *msg,
    const char *name, const char *value);
/* So ended the attempt, or the task that was to be claimed. */
void job_count(struct job *j, enum board_counter how);
void job_finish(struct job *j, enum job_end how);

/* job_lease.c: begins with the claim, ends before the commit */
void job_lease_start(struct job *j);
void job_lease_stop(struct job *j);
void job_lease_progressed(struct job *j);
bool job_past_fence(const struct job *j);

/* job_end.c */
/* The attempt is over: outcome and result are set. */
void job_conclude(struct job *j);
/* The same with a reason of our own. */
void job_conclude_why(struct job *j, enum qo_outcome outcome, const char *kind,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* A renewal has ended: what waited for it may go on. */
void job_go_on(struct job *j);

#endif
