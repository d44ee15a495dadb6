#include <stdint.h>
#include <string.h>

#include "output.h"

void
tail_init(struct tail *t, size_t max)
{
	memset(t, 0, sizeof(*t));
	t->max = max < TAIL_MIN ? TAIL_MIN : max;
	/* Half as much again: the front is not moved for every piece. */
	buf_init(&t->b, t->max + t->max / 2);
}

void
tail_fini(struct tail *t)
{
	buf_fini(&t->b);
}

static void
cut(struct tail *t, size_t n)
{
	buf_consume(&t->b, n);
	t->cut += n;
}

void
tail_add(struct tail *t, const void *p, size_t len)
{
	const char *s = p;

	if (len > t->max) {
		cut(t, t->b.len);
		t->cut += len - t->max;
		s += len - t->max;
		len = t->max;
	}
	if (t->b.len + len > t->b.max)
		cut(t, t->b.len + len - t->max);
	buf_add(&t->b, s, len);
}

void
tail_finish(struct tail *t)
{
	const size_t room = 64; /* for the line in front */
	const char *nl;
	struct buf whole;

	if (t->cut == 0 && t->b.len <= t->max)
		return;
	if (t->b.len > t->max - room)
		cut(t, t->b.len - (t->max - room));
	/* From the start of a line, if one is near. */
	nl = memchr(t->b.data, '\n', t->b.len < 1024 ? t->b.len : 1024);
	if (nl != NULL && nl[1] != '\0')
		cut(t, (size_t)(nl + 1 - t->b.data));
	buf_init(&whole, t->max);
	buf_addf(&whole, "qo: %ju bytes before this were cut\n",
	    (uintmax_t)t->cut);
	buf_add(&whole, t->b.data, t->b.len);
	buf_fini(&t->b);
	t->b = whole;
}

static bool
is_blank(char c)
{
	return (unsigned char)c <= ' ' || c == 0x7f;
}

void
tail_last_line(const struct tail *t, char *out, size_t size)
{
	const char *p = t->b.data, *end = p + t->b.len, *start;
	size_t i, n;

	while (end > p && is_blank(end[-1]))
		end--;
	for (start = end; start > p && start[-1] != '\n';)
		start--;
	while (start < end && is_blank(*start))
		start++;
	n = (size_t)(end - start);
	if (n >= size)
		n = size - 1;
	for (i = 0; i < n; i++)
		out[i] = is_blank(start[i]) ? ' ' : start[i];
	out[n] = '\0';
}
