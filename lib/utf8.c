#include "utf8.h"

static bool
cont(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t
utf8_char_len(const unsigned char *p)
{
	if (p[0] == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	if (p[0] < 0xe0)
		return cont(p[1]) ? 2 : 0;
	if (p[0] < 0xf0) {
		if (!cont(p[1]) || !cont(p[2]))
			return 0;
		if (p[0] == 0xe0 && p[1] < 0xa0)
			return 0; /* overlong */
		if (p[0] == 0xed && p[1] >= 0xa0)
			return 0; /* surrogate */
		return 3;
	}
	if (!cont(p[1]) || !cont(p[2]) || !cont(p[3]))
		return 0;
	if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return 4;
}

bool
utf8_valid(const void *p, size_t len)
{
	const unsigned char *s = p, *end = s + len;
	unsigned char tail[5] = { 0 };
	size_t i, n;

	while (s < end) {
		if (*s < 0x80) {
			s++;
			continue;
		}
		if (end - s >= 4) {
			n = utf8_char_len(s);
		} else {
			/* Near the end: a copy with a NUL to run into. */
			for (i = 0; i < 4; i++)
				tail[i] = i < (size_t)(end - s) ? s[i] : 0;
			n = utf8_char_len(tail);
		}
		if (n == 0)
			return false;
		s += n;
	}
	return true;
}
