/*
 * pool.h - memory that lives as long as one request.
 *
 * Strings that a database operation borrows must outlive the HTTP request
 * (the client may go away first), so they are copied here and freed in one
 * go.  The first bytes are inside the struct: an ordinary request allocates
 * nothing.  What is put here is bounded by the limits on heads and documents.
 */
#ifndef POOL_H
#define POOL_H

#include <stddef.h>

#define POOL_INLINE 3072

struct pool_block;

struct pool {
	size_t used;
	struct pool_block *more;
	_Alignas(16) char space[POOL_INLINE];
};

void pool_init(struct pool *a);
/* Frees all; the pool is empty and usable after. */
void pool_reset(struct pool *a);
/* Aligned for anything; never NULL. */
void *pool_alloc(struct pool *a, size_t len);
/* Zeroed array; n * size must not overflow (fatal). */
void *pool_calloc(struct pool *a, size_t n, size_t size);
char *pool_strdup(struct pool *a, const char *s);
char *pool_strndup(struct pool *a, const char *s, size_t len);
char *pool_printf(struct pool *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
