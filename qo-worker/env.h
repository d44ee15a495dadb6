/*
 * env.h - the environment of handlers.
 *
 * A clean base: PATH, LANG, LC_ALL, TZ and TMPDIR as the worker has them
 * (PATH also when it has none), HOME, USER, LOGNAME and SHELL of the account;
 * then the section's env.NAME, which outrank those; and QO_HANDLER, QO_MODE
 * and QO_CONFIG.  With pass_credentials also AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL,
 * as far as there are such.
 *
 * In exec mode each attempt adds QO_TASK_ID, QO_TASK_TYPE, QO_ATTEMPT,
 * QO_LEASE_ID, QO_IDEMPOTENCY_KEY (the task's id when it has no key),
 * QO_DEADLINE, QO_RESULT_FD, and, where the task has them, QO_WORKFLOW_ID,
 * QO_STEP and TRACEPARENT.  In serve mode each process has QO_INSTANCE.
 */
#ifndef ENV_H
#define ENV_H

#include "handler_check.h"
#include "run.h"

/* NAME=value strings, NULL at the end. */
struct env {
	char **v;
	size_t n, cap;
};

struct env_opts {
	const struct conf *conf;
	const struct conf_handler *handler;
	const struct handler_account *account;
	const char *config_path; /* NULL: none */
};

/* What all processes of a section have. */
void env_init(struct env *e, const struct env_opts *o);
void env_fini(struct env *e); /* wipes */

/* The base and one attempt's own, used again from one to the next. */
struct env_task {
	struct buf text;
	char **v;
	size_t cap;
};

void env_task_init(struct env_task *t);
void env_task_fini(struct env_task *t);
/* The list; good until the next call. */
char **env_task_fill(struct env_task *t, const struct env *base,
    const struct run *r);

#endif
