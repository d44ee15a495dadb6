/*
 * qo.h - write a handler of the qo task queue in C or C++.
 *
 * A handler is a program that qo-worker(8) runs; qo-handler(7) is the whole
 * contract.  With qo_serve() it is one function that is called for each
 * attempt of a task, whichever mode its section in qod.conf(5) has:
 *
 *	static void
 *	greet(struct qo_job *job, void *arg)
 *	{
 *		const char *name = qo_input_string(job, "/name");
 *
 *		if (name == NULL)
 *			qo_fail(job, "the input has no name");
 *		else
 *			qo_complete(job, "{\"hello\":%s}", qo_quote(job, name));
 *	}
 *
 *	int
 *	main(void)
 *	{
 *		return qo_serve(greet, NULL);
 *	}
 *
 *	cc greet.c $(pkg-config --cflags --libs --static qo)
 *
 * Nothing but libc is needed, no thread is started, and all names begin with
 * qo_.  Memory that can not be had ends the program with abort(3): the worker
 * then tries the task again.
 */
#ifndef QO_H
#define QO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define QO_PRINTF(fmt_at, first) \
	__attribute__((__format__(__printf__, fmt_at, first)))
#else
#define QO_PRINTF(fmt_at, first)
#endif

struct qo_job_state;

/* One attempt of one task.  All of it is borrowed, until the function that it
 * was given to returns.  What a task does not have is NULL. */
struct qo_job {
	const char *task_id;
	const char *task_type;
	/* Rises with every start of this task: a fencing token. */
	int64_t attempt;
	const char *lease_id;
	/* The one that it was submitted with, else its id: the same for all
	 * attempts. */
	const char *idempotency_key;
	const char *workflow_id;
	const char *step;
	const char *deadline; /* RFC 3339, UTC: SIGTERM comes then */
	const char *traceparent;
	const char *input; /* JSON, ends with a NUL that is not counted */
	size_t input_len;
	struct qo_job_state *state; /* private */
};

/*
 * Calls run(job, arg) for each task that the worker sends, one after the
 * other, until the worker wants no more of them; in exec mode for the one task
 * that the process was started for.  Without a worker, at a terminal or in a
 * test, standard input is the input, standard output gets the output, and the
 * status says what the verdict was.
 *
 * Returns the status that main() is to exit with: 0, or one of sysexits.h.
 *
 * Standard input and output belong to the worker: while this runs descriptor
 * 0 is /dev/null, and what is printed to standard output goes to the log of
 * the task, as what is printed to standard error does.  SIGTERM is caught.
 * Once per process.
 */
int qo_serve(void (*run)(struct qo_job *job, void *arg), void *arg);

/*
 * Verdicts.  The last one that is called before the function returns counts;
 * with none the task is completed with the output null, or cancelled when
 * qo_cancelled().
 */
/* Completed; the format makes JSON.  Text that is not JSON, not UTF-8 or
 * nested in more than 512 levels makes it a retry that says so.  No object
 * may have a key twice. */
void qo_complete(struct qo_job *job, const char *fmt, ...) QO_PRINTF(2, 3);
/* The same for JSON that is at hand. */
void qo_complete_json(struct qo_job *job, const char *json, size_t len);
/* Failed for good. */
void qo_fail(struct qo_job *job, const char *fmt, ...) QO_PRINTF(2, 3);
/* Failed, to be tried again after so many seconds, or when the task's own
 * policy says with a number below 0; failed for good when no retry is left. */
void qo_retry(struct qo_job *job, double delay_seconds, const char *fmt, ...)
    QO_PRINTF(3, 4);
/* To be run again after so many seconds; that does not count as a retry. */
void qo_reschedule(struct qo_job *job, double delay_seconds);
/* Given up because of qo_cancelled(). */
void qo_cancel(struct qo_job *job);
/* In a step of a workflow: to be run again when the signal has come, or the
 * time is up (0: wait for ever), or when all of these tasks have ended. */
void qo_wait_signal(struct qo_job *job, const char *name,
    double timeout_seconds);
void qo_wait_tasks(struct qo_job *job, const char *const *ids, size_t n);

/* While it runs. */
/* How far it is; the format makes JSON of any form, up to 64 KiB and 64
 * levels.  -1: it did not, and nothing was sent.  In exec mode nobody is
 * told. */
int qo_progress(struct qo_job *job, const char *fmt, ...) QO_PRINTF(2, 3);
/* A line for the log of this attempt. */
void qo_log(struct qo_job *job, const char *fmt, ...) QO_PRINTF(2, 3);
/* Not 0 once the worker has sent SIGTERM: the task was cancelled, its time is
 * up, or the worker stops.  What is left is the grace of the handler's
 * section.  Blocking calls return with EINTR when it becomes true. */
int qo_cancelled(const struct qo_job *job);

/*
 * The input, by JSON pointer (RFC 6901): "/order/items/0", "" for all of it.
 */
/* The text of the value and its length, or NULL when there is none; no NUL
 * stands behind it. */
const char *qo_input(const struct qo_job *job, const char *pointer,
    size_t *len);
/* A string without its quotes and escapes; NULL when there is none, or when
 * it holds a NUL. */
const char *qo_input_string(struct qo_job *job, const char *pointer);
/* 0, or -1 when there is no whole number in range. */
int qo_input_int(const struct qo_job *job, const char *pointer, int64_t *out);

/* Any text as a JSON string, with its quotes, good until the function
 * returns.  What is not UTF-8 becomes U+FFFD. */
const char *qo_quote(struct qo_job *job, const char *text);

#ifdef __cplusplus
}
#endif

#endif
