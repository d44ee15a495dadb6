/*
 * constant.h - our HTTP part in a process of its own, answering everything
 * alike: what any server behind it can not be faster than.
 */
#ifndef CONSTANT_H
#define CONSTANT_H

#include <stddef.h>
#include <sys/types.h>

/* Takes any body; a GET is answered with these bytes (borrowed), all else
 * with 200 and an ETag.  Listens on *port of loopback.  The caller ends it by
 * a signal and waits; it also ends with the caller. */
pid_t constant_start(const void *body, size_t len, int *port);

#endif
