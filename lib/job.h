/*
 * job.h - what serve.c knows of a struct qo_job: the lines that it becomes.
 *
 * serve.c reads tasks and owns descriptors and signals; job.c makes the text
 * of verdicts, progress and logs.  Like jtext.h this runs in other people's
 * programs: libc alone, and no symbol that does not begin with qo_.
 */
#ifndef QO_JOB_H
#define QO_JOB_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "qo.h"

enum qo_job_status {
	QO_JOB_NONE = 0,
	QO_JOB_COMPLETED,
	QO_JOB_FAILED,
	QO_JOB_RETRY,
	QO_JOB_RESCHEDULE,
	QO_JOB_CANCELLED,
	QO_JOB_WAIT
};

/* Growing text, always followed by a NUL; p is NULL before the first use. */
struct qo_text {
	char *p;
	size_t len;
	size_t cap;
};

/* Room for len more bytes; aborts without memory. */
char *qo_text_room(struct qo_text *t, size_t len);
void qo_text_add(struct qo_text *t, const char *p, size_t len);

struct qo_job_memory;

/* Zero but for the first three; used for one job after another. */
struct qo_job_state {
	int fd;      /* where the verdict goes; -1: there is no worker */
	bool framed; /* serve mode: progress and logs are lines on fd too */
	const atomic_int *cancelled;
	int error; /* errno of a write that failed; no more is written */
	enum qo_job_status status;
	struct qo_text verdict; /* a JSON object */
	size_t output;          /* where the output begins in it, 0: none */
	struct qo_text line;
	struct qo_job_memory *memory; /* what helpers gave out */
};

/* Before and after the user's function: an empty verdict, then one in any
 * case. */
void qo_job_begin(struct qo_job_state *s);
void qo_job_end(struct qo_job *job);
/* Writes the verdict as a line to fd; sets error. */
void qo_job_send(struct qo_job_state *s);
void qo_job_fini(struct qo_job_state *s);
/* All of p; 0, or -1 with errno. */
int qo_job_write(int fd, const char *p, size_t len);

#endif
