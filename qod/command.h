/*
 * command.h - what people ask of qod through its control socket.
 *
 * A command is a line: status, reload, drain, stop, stop now, reopen,
 * upgrade, quiet, resume, more, less.  The answer is a JSON document with ok
 * and, except for status, message.  The answer to reload, drain and upgrade
 * comes when it has ended.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include "account.h"
#include "conf.h"
#include "err.h"
#include "qod.h"

/* Makes the socket, unless none is wanted or an earlier image of qod left one:
 * q->control_fd.
 * -1 with *err. */
int command_open(struct qod *q, const struct conf *conf,
    const struct account *a, struct qo_err *err);
/* Listens from now on. */
void command_begin(struct qod *q);
void command_end(struct qod *q, const struct conf *conf);

/* A reload has ended: q->reload. */
void command_reloaded(struct qod *q);
/* An upgrade fails, or is about to replace this image. */
void command_upgraded(struct qod *q, bool ok, const char *text);

#endif
