/*
 * child.h - one process of a role: start it, talk to it, bury it.
 */
#ifndef CHILD_H
#define CHILD_H

#include "qod.h"

#define CHILD_NAME 32

/* A new place, down, at the end of the list; takes a reference of gen. */
struct child *child_new(struct qod *q, const struct qod_role *role, int index,
    struct generation *gen);
/* Its process is gone or never was. */
void child_free(struct child *c);
/* Its next process has another configuration. */
void child_set_generation(struct child *c, struct generation *gen);

/* "worker.3", in out. */
const char *child_name(const struct child *c, char out[CHILD_NAME]);
const char *child_state_name(enum child_state state);
struct child *child_by_pid(struct qod *q, pid_t pid); /* NULL: none */
static inline bool
child_is_live(const struct child *c)
{
	return c->pid != 0;
}

/* From down to starting; what fails is tried again later. */
void child_start(struct child *c);
/* Listens to ctl.fd: of one that an earlier image of qod has started. */
void child_watch(struct child *c);
/* printf of one message; -1: it can not be told (now). */
int child_tell(struct child *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* To draining.  limit_ms as in role.h; SIGKILL follows ten seconds after it,
 * or never when it is -1. */
void child_drain(struct child *c, int64_t limit_ms);
void child_now(struct child *c);
/* Nobody wants it any more: drained without a limit, or freed at once when it
 * has no process.  c may be gone after. */
void child_retire(struct child *c);
/* Its process has ended; c may be gone after. */
void child_exited(struct child *c, int status);

#endif
