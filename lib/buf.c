#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "xalloc.h"

#define BUF_FIRST 64

static char empty[1];

void
buf_init(struct buf *b, size_t max)
{
	b->data = empty;
	b->len = 0;
	b->cap = 0;
	b->max = max;
	b->failed = false;
	b->secret = false;
}

void
buf_init_secret(struct buf *b, size_t max)
{
	buf_init(b, max);
	b->secret = true;
}

/* Empty, and of the same kind. */
static void
start_again(struct buf *b)
{
	bool secret = b->secret;

	buf_init(b, b->max);
	b->secret = secret;
}

static void
release(struct buf *b)
{
	if (b->cap == 0)
		return;
	if (b->secret)
		explicit_bzero(b->data, b->cap);
	free(b->data);
}

void
buf_fini(struct buf *b)
{
	release(b);
	start_again(b);
}

void
buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->cap > 0)
		b->data[0] = '\0';
}

static void
grow(struct buf *b, size_t cap)
{
	char *data;

	if (b->secret && b->cap > 0) {
		/* realloc would leave a copy behind. */
		data = xmalloc(cap);
		memcpy(data, b->data, b->len);
		release(b);
		b->data = data;
	} else {
		b->data = xreallocarray(b->cap > 0 ? b->data : NULL, cap, 1);
	}
	b->cap = cap;
	b->data[b->len] = '\0';
}

char *
buf_reserve(struct buf *b, size_t len)
{
	size_t cap, need;

	if (b->failed || len > b->max - b->len) {
		b->failed = true;
		return NULL;
	}
	need = b->len + len + 1;
	if (need <= b->cap)
		return b->data + b->len;
	cap = b->cap < BUF_FIRST ? BUF_FIRST : b->cap;
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	if (cap - 1 > b->max)
		cap = b->max + 1;
	grow(b, cap);
	return b->data + b->len;
}

void
buf_advance(struct buf *b, size_t len)
{
	b->len += len;
	b->data[b->len] = '\0';
}

int
buf_add(struct buf *b, const void *p, size_t len)
{
	char *dst;

	if (len == 0)
		return b->failed ? -1 : 0;
	dst = buf_reserve(b, len);
	if (dst == NULL)
		return -1;
	memcpy(dst, p, len);
	buf_advance(b, len);
	return 0;
}

int
buf_adds(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int
buf_addc(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int
buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	char *dst;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n < 0 || (dst = buf_reserve(b, (size_t)n)) == NULL) {
		va_end(again);
		b->failed = true;
		return -1;
	}
	if (n > 0) {
		vsnprintf(dst, (size_t)n + 1, fmt, again);
		buf_advance(b, (size_t)n);
	}
	va_end(again);
	return 0;
}

int
buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int rv;

	va_start(ap, fmt);
	rv = buf_vaddf(b, fmt, ap);
	va_end(ap);
	return rv;
}

void
buf_consume(struct buf *b, size_t len)
{
	if (len == 0)
		return;
	memmove(b->data, b->data + len, b->len - len);
	buf_truncate(b, b->len - len);
}

void
buf_truncate(struct buf *b, size_t len)
{
	b->len = len;
	if (b->cap > 0)
		b->data[len] = '\0';
}

char *
buf_take(struct buf *b, size_t *len)
{
	char *s;

	if (len != NULL)
		*len = b->len;
	s = b->cap > 0 ? b->data : xstrdup("");
	start_again(b);
	return s;
}
