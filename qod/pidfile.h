/*
 * pidfile.h - one qod for one pidfile.
 *
 * What counts is the lock on the open file, which goes with the process
 * however it ends; the number in it is for people.
 */
#ifndef PIDFILE_H
#define PIDFILE_H

#include "err.h"

/* The descriptor, to be kept open; -1 with *err (another one runs). */
int pidfile_take(const char *path, struct qo_err *err);
/* Removes the file, while it is still locked. */
void pidfile_drop(const char *path, int fd);

#endif
