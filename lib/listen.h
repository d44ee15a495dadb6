/*
 * listen.h - make listening sockets.
 *
 * For servers, and for the master that passes sockets on to them.  The
 * descriptors are close-on-exec and do not block.
 */
#ifndef LISTEN_H
#define LISTEN_H

#include "err.h"

/* "127.0.0.1:9710", "[::1]:0": the descriptor, or -1 with *err.  *port (may
 * be NULL) is the one bound. */
int listen_tcp(const char *addr, int *port, struct qo_err *err);
/* A stale socket file is replaced, a live one refused; mode 0660.  Removing
 * the file at the end is the caller's. */
int listen_unix(const char *path, struct qo_err *err);

#endif
