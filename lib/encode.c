#include "encode.h"

static const char b64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
hex_encode(char *out, const void *p, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *b = p;
	size_t i;

	for (i = 0; i < len; i++) {
		*out++ = digits[b[i] >> 4];
		*out++ = digits[b[i] & 15];
	}
	*out = '\0';
}

int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int
hex_decode(void *out, const char *s, size_t len)
{
	uint8_t *b = out;
	size_t i;
	int hi, lo;

	for (i = 0; i < len; i++) {
		/* The second digit may not exist when the first is a NUL. */
		if ((hi = hex_digit(s[2 * i])) == -1 ||
		    (lo = hex_digit(s[2 * i + 1])) == -1)
			return -1;
		b[i] = (uint8_t)(hi << 4 | lo);
	}
	return 0;
}

void
b64_encode(char *out, const void *p, size_t len)
{
	const uint8_t *b = p;
	uint32_t v;

	for (; len >= 3; len -= 3, b += 3) {
		v = (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];
		*out++ = b64_digits[v >> 18];
		*out++ = b64_digits[v >> 12 & 63];
		*out++ = b64_digits[v >> 6 & 63];
		*out++ = b64_digits[v & 63];
	}
	if (len > 0) {
		v = (uint32_t)b[0] << 16;
		if (len == 2)
			v |= (uint32_t)b[1] << 8;
		*out++ = b64_digits[v >> 18];
		*out++ = b64_digits[v >> 12 & 63];
		*out++ = len == 2 ? b64_digits[v >> 6 & 63] : '=';
		*out++ = '=';
	}
	*out = '\0';
}

static int
b64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

ptrdiff_t
b64_decode(void *out, size_t max, const char *s, size_t len)
{
	uint8_t *b = out;
	uint32_t v = 0;
	size_t i, n, pad = 0;
	int d;

	if (len % 4 != 0)
		return -1;
	if (len > 0 && s[len - 1] == '=')
		pad = s[len - 2] == '=' ? 2 : 1;
	n = len / 4 * 3 - pad;
	if (n > max)
		return -1;
	for (i = 0; i < len - pad; i++) {
		if ((d = b64_digit(s[i])) == -1)
			return -1;
		v = v << 6 | (uint32_t)d;
		if (i % 4 == 3) {
			*b++ = v >> 16 & 255;
			*b++ = v >> 8 & 255;
			*b++ = v & 255;
		}
	}
	if (pad == 2) {
		if ((v & 15) != 0)
			return -1;
		*b = v >> 4 & 255;
	} else if (pad == 1) {
		if ((v & 3) != 0)
			return -1;
		*b++ = v >> 10 & 255;
		*b = v >> 2 & 255;
	}
	return (ptrdiff_t)n;
}
