#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "xalloc.h"

void *
xmalloc(size_t size)
{
	void *p;

	p = malloc(size == 0 ? 1 : size);
	if (p == NULL)
		fatalx("out of memory (%zu bytes)", size);
	return p;
}

void *
xcalloc(size_t n, size_t size)
{
	void *p;

	p = calloc(n == 0 ? 1 : n, size == 0 ? 1 : size);
	if (p == NULL)
		fatalx("out of memory (%zu * %zu bytes)", n, size);
	return p;
}

void *
xreallocarray(void *p, size_t n, size_t size)
{
	void *q;

	q = reallocarray(p, n == 0 ? 1 : n, size == 0 ? 1 : size);
	if (q == NULL)
		fatalx("out of memory (%zu * %zu bytes)", n, size);
	return q;
}

char *
xstrdup(const char *s)
{
	return xmemdup0(s, strlen(s));
}

char *
xstrdup_null(const char *s)
{
	return s == NULL ? NULL : xstrdup(s);
}

char *
xmemdup0(const void *s, size_t len)
{
	char *p;

	p = xmalloc(len + 1);
	if (len > 0)
		memcpy(p, s, len);
	p[len] = '\0';
	return p;
}

char *
xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n == -1)
		fatalx("out of memory (formatting a string)");
	return s;
}
