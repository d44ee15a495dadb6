/*
 * buf.h - a growing byte buffer with a limit fixed at init.
 *
 * Everything whose size a peer chooses goes through one of these.  The
 * contents are always followed by a NUL that is not counted.  Going over the
 * limit sets a sticky flag: later adds do nothing and return -1, so a run of
 * adds may be checked once, with buf_failed(), at its end.
 */
#ifndef BUF_H
#define BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data; /* never NULL; "" when empty */
	size_t len;
	size_t cap; /* 0: data is not on the heap */
	size_t max; /* len never exceeds this; below SIZE_MAX */
	bool failed;
	bool secret;
};

void buf_init(struct buf *b, size_t max);
/* Memory that it gives back, also when it grows, is wiped first. */
void buf_init_secret(struct buf *b, size_t max);
void buf_fini(struct buf *b);  /* frees; the buf may be used again */
void buf_reset(struct buf *b); /* empty, flag cleared, memory kept */
static inline bool
buf_failed(const struct buf *b)
{
	return b->failed;
}

/* 0, or -1 when the limit would be exceeded (nothing is added then). */
int buf_add(struct buf *b, const void *p, size_t len);
int buf_adds(struct buf *b, const char *s);
int buf_addc(struct buf *b, char c);
int buf_addf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int buf_vaddf(struct buf *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* Makes room for len more bytes at data + len; NULL over the limit.  The
 * caller writes there and then calls buf_advance with what it wrote. */
char *buf_reserve(struct buf *b, size_t len);
void buf_advance(struct buf *b, size_t len);
/* Drops len bytes at the front (len <= b->len). */
void buf_consume(struct buf *b, size_t len);
void buf_truncate(struct buf *b, size_t len);
/* The contents as a heap string that the caller frees; the buf is empty
 * after.  *len may be NULL. */
char *buf_take(struct buf *b, size_t *len);

#endif
