/*
 * ctlpath.h - where the control socket of qod is.
 *
 * A qod may be asked and stopped while its configuration has a mistake that
 * it has not read or has refused: all that counts here is [qod] control.
 */
#ifndef CTLPATH_H
#define CTLPATH_H

#include "session.h"

/* *path is borrowed, until the next call.  With its line: EXIT_USAGE when there
 * is no reading the configuration at all, EXIT_UNREACHABLE when it wants no
 * socket. */
enum exit_code ctlpath_find(struct session *s, const char **path);

#endif
