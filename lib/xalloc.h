/*
 * xalloc.h - allocation that does not fail.
 *
 * For sizes that we choose ourselves: out of memory ends the process, which
 * is supervised and whose leases expire.  Sizes that a peer chooses go
 * through struct buf, whose limit is an error and not a death.
 */
#ifndef XALLOC_H
#define XALLOC_H

#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
/* NULL stays NULL. */
char *xstrdup_null(const char *s);
/* Copies len bytes and adds a NUL; s may hold NULs. */
char *xmemdup0(const void *s, size_t len);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
