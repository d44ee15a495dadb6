/*
 * json.h: writing.  Apart from reading, which is what needs yyjson: programs
 * without it (qod) write JSON too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "utf8.h"

/* Bytes that stand for themselves inside a string; bytes from 0x80 on do too
 * once they are known to be UTF-8. */
static inline bool
is_plain(unsigned char c)
{
	return c >= 0x20 && c != '"' && c != '\\' && c < 0x80;
}

static void
add_escape(struct buf *b, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char esc[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

	switch (c) {
	case '"':
	case '\\':
		esc[1] = (char)c;
		break;
	case '\n':
		esc[1] = 'n';
		break;
	case '\r':
		esc[1] = 'r';
		break;
	case '\t':
		esc[1] = 't';
		break;
	case '\b':
		esc[1] = 'b';
		break;
	case '\f':
		esc[1] = 'f';
		break;
	}
	buf_add(b, esc, esc[1] == 'u' ? 6 : 2);
}

/* The part of a string from the first byte on that is not plain. */
static void
add_rest(struct buf *b, const unsigned char *p, const unsigned char *end)
{
	const unsigned char *start;
	unsigned char tail[5];
	size_t n;

	while (p < end) {
		if (*p < 0x80) {
			add_escape(b, *p++);
		} else {
			/* A copy with NULs behind it: s need not end in one */
			memset(tail, 0, sizeof(tail));
			memcpy(tail, p, end - p < 4 ? (size_t)(end - p) : 4);
			n = utf8_char_len(tail);
			if (n == 0)
				buf_adds(b, "\xef\xbf\xbd");
			else
				buf_add(b, p, n);
			p += n == 0 ? 1 : n;
		}
		for (start = p; p < end && is_plain(*p);)
			p++;
		buf_add(b, start, (size_t)(p - start));
	}
}

int
qo_json_add_string(struct buf *b, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n = 0;
	char *out;

	while (n < len && is_plain(p[n]))
		n++;
	out = buf_reserve(b, n + 2);
	if (out == NULL)
		return -1;
	out[0] = '"';
	memcpy(out + 1, p, n);
	if (n == len) {
		out[n + 1] = '"';
		buf_advance(b, n + 2);
		return 0;
	}
	buf_advance(b, n + 1);
	add_rest(b, p + n, p + len);
	return buf_addc(b, '"');
}

int
qo_json_add_int(struct buf *b, int64_t v)
{
	char text[24];
	char *p = text + sizeof(text);
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	do
		*--p = (char)('0' + u % 10);
	while ((u /= 10) > 0);
	if (v < 0)
		*--p = '-';
	return buf_add(b, p, (size_t)(text + sizeof(text) - p));
}

int
qo_json_add_double(struct buf *b, double v)
{
	char text[40];
	int digits;

	for (digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_adds(b, text);
	if (strpbrk(text, ".e") == NULL)
		buf_adds(b, ".0");
	return buf_failed(b) ? -1 : 0;
}
