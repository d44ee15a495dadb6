#include <stdarg.h>
#include <stdint.h>

#include "pool.h"
#include "log.h"
#include "xalloc.h"

#define BLOCK_MIN 8192

struct pool_block {
	struct pool_block *next;
	size_t used;
	size_t cap;
	_Alignas(16) char space[];
};

void
pool_init(struct pool *a)
{
	a->used = 0;
	a->more = NULL;
}

void
pool_reset(struct pool *a)
{
	struct pool_block *b, *next;

	for (b = a->more; b != NULL; b = next) {
		next = b->next;
		free(b);
	}
	pool_init(a);
}

void *
pool_alloc(struct pool *a, size_t len)
{
	struct pool_block *b;
	size_t cap;
	void *p;

	if (len > SIZE_MAX / 2)
		qo_bug("pool: %zu bytes asked for", len);
	len = (len + 15) & ~(size_t)15;
	if (len <= sizeof(a->space) - a->used) {
		p = a->space + a->used;
		a->used += len;
		return p;
	}
	b = a->more;
	if (b == NULL || len > b->cap - b->used) {
		cap = len > BLOCK_MIN ? len : BLOCK_MIN;
		b = xmalloc(sizeof(*b) + cap);
		b->next = a->more;
		b->used = 0;
		b->cap = cap;
		a->more = b;
	}
	p = b->space + b->used;
	b->used += len;
	return p;
}

void *
pool_calloc(struct pool *a, size_t n, size_t size)
{
	size_t len;
	void *p;

	if (__builtin_mul_overflow(n, size, &len))
		qo_bug("pool: array too large");
	p = pool_alloc(a, len);
	memset(p, 0, len);
	return p;
}

char *
pool_strndup(struct pool *a, const char *s, size_t len)
{
	char *p;

	p = pool_alloc(a, len + 1);
	memcpy(p, s, len);
	p[len] = '\0';
	return p;
}

char *
pool_strdup(struct pool *a, const char *s)
{
	return pool_strndup(a, s, strlen(s));
}

char *
pool_printf(struct pool *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		qo_bug("pool: bad format");
	p = pool_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	(void)vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}
