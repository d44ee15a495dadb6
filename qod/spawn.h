/*
 * spawn.h - what the process of a role is given: program, descriptors (see
 * role.h), account and environment.
 */
#ifndef SPAWN_H
#define SPAWN_H

#include "qod.h"

/* Sets c->pid, c->ctl.fd and c->area; -1 with *err and nothing set. */
int spawn_child(struct child *c, struct qo_err *err);
/* This binary's successor, with its -n; the pid, or -1 with *err. */
pid_t spawn_checker(const struct qod *q, struct qo_err *err);

#endif
