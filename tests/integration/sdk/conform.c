/* What sdk.py asks of every language's handlers: here in C. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <qo.h>

static void
echo(struct qo_job *job)
{
	qo_complete(job,
	    "{\"id\":%s,\"type\":%s,\"attempt\":%lld,\"lease\":%s,\"key\":%s,"
	    "\"step\":%s,\"input\":%s}",
	    qo_quote(job, job->task_id), qo_quote(job, job->task_type),
	    (long long)job->attempt,
	    job->lease_id == NULL ? "null" : qo_quote(job, job->lease_id),
	    job->idempotency_key == NULL ? "null"
					 : qo_quote(job, job->idempotency_key),
	    job->step == NULL ? "null" : qo_quote(job, job->step), job->input);
}

static void
talk(struct qo_job *job)
{
	printf("printed");
	qo_progress(job, "{\"percent\":%d}", 50);
	qo_log(job, "line 1\twith \"quotes\"");
}

static void
deep(struct qo_job *job)
{
	char text[2 * 1024 + 1];
	int64_t n = 0;

	qo_input_int(job, "", &n);
	memset(text, '[', (size_t)n);
	memset(text + n, ']', (size_t)n);
	qo_complete_json(job, text, 2 * (size_t)n);
}

/* What the worker would refuse is not sent. */
static void
progress(struct qo_job *job)
{
	const char *deepest = "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
			      "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
			      "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";
	int rv[4];

	rv[0] = qo_progress(job, "\"%65534s\"", "");
	rv[1] = qo_progress(job, "\"%65535s\"", "");
	rv[2] = qo_progress(job, "%s", deepest);
	rv[3] = qo_progress(job, "[%s]", deepest);
	qo_complete(job, "[%d,%d,%d,%d]", rv[0], rv[1], rv[2], rv[3]);
}

static void
child(struct qo_job *job)
{
	char drop[8];

	if (system("cat; echo child") != 0 ||
	    read(STDIN_FILENO, drop, sizeof(drop)) != 0)
		qo_fail(job, "standard input had something");
}

static void
run(struct qo_job *job, void *arg)
{
	static const char *const ids[] = { "a", "b\"" };
	const char *type = job->task_type;

	(void)arg;
	if (strcmp(type, "echo") == 0)
		echo(job);
	else if (strcmp(type, "talk") == 0)
		talk(job);
	else if (strcmp(type, "fail") == 0)
		qo_fail(job, "no \"file\"\n");
	else if (strcmp(type, "retry") == 0)
		qo_retry(job, 1.5, "busy");
	else if (strcmp(type, "policy") == 0)
		qo_retry(job, -1, "busy");
	else if (strcmp(type, "reschedule") == 0)
		qo_reschedule(job, 60);
	else if (strcmp(type, "cancel") == 0)
		qo_cancel(job);
	else if (strcmp(type, "signal") == 0)
		qo_wait_signal(job, "go", 5);
	else if (strcmp(type, "tasks") == 0)
		qo_wait_tasks(job, ids, 2);
	else if (strcmp(type, "bad") == 0)
		qo_complete(job, "nan");
	else if (strcmp(type, "progress") == 0)
		progress(job);
	else if (strcmp(type, "deep") == 0)
		deep(job);
	else if (strcmp(type, "child") == 0)
		child(job);
	else if (strcmp(type, "wait") == 0) {
		qo_log(job, "waiting");
		/* Not pause(): SIGTERM may come just before it. */
		while (!qo_cancelled(job))
			poll(NULL, 0, 10);
	}
}

int
main(void)
{
	return qo_serve(run, NULL);
}
