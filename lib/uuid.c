#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "uuid.h"

static const char hex[] = "0123456789abcdef";

static bool
is_hyphen_place(size_t i)
{
	return i == 8 || i == 13 || i == 18 || i == 23;
}

static bool
is_hex(char c)
{
	return (unsigned char)(c - '0') < 10 || (unsigned char)(c - 'a') < 6;
}

void
qo_uuid_print(const unsigned char bytes[16], int version,
    char out[QO_UUID_SIZE])
{
	unsigned char b[16];
	size_t i, n = 0;

	memcpy(b, bytes, sizeof(b));
	b[6] = (unsigned char)((version << 4) | (b[6] & 0x0f));
	b[8] = (unsigned char)(0x80 | (b[8] & 0x3f));
	for (i = 0; i < sizeof(b); i++) {
		if (is_hyphen_place(n))
			out[n++] = '-';
		out[n++] = hex[b[i] >> 4];
		out[n++] = hex[b[i] & 15];
	}
	out[n] = '\0';
}

void
qo_uuid_v4(char out[QO_UUID_SIZE])
{
	unsigned char b[16];

	arc4random_buf(b, sizeof(b));
	qo_uuid_print(b, 4, out);
}

bool
qo_uuid_valid(const char *s, size_t len)
{
	size_t i;

	if (len != QO_UUID_SIZE - 1)
		return false;
	for (i = 0; i < len; i++)
		if (is_hyphen_place(i) ? s[i] != '-' : !is_hex(s[i]))
			return false;
	return (s[14] == '4' || s[14] == '8') &&
	    (s[19] == '8' || s[19] == '9' || s[19] == 'a' || s[19] == 'b');
}

void
qo_nonce(char out[QO_NONCE_SIZE])
{
	uint32_t v = arc4random();
	size_t i;

	for (i = 0; i < QO_NONCE_SIZE - 1; i++, v >>= 4)
		out[i] = hex[v & 15];
	out[i] = '\0';
}

void
qo_uuid_shard(const char *id, int width, char out[QO_SHARD_SIZE])
{
	out[0] = id[0];
	out[1] = width == 2 ? id[1] : '\0';
	out[2] = '\0';
}
