#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "encode.h"
#include "uri.h"
#include "xalloc.h"

static bool
unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
	    c == '~';
}

/* Writes c at p in its one right spelling; returns the end. */
static char *
put(char *p, char c, int flags)
{
	static const char digits[] = "0123456789ABCDEF";

	if (unreserved(c) || (c == '/' && (flags & URI_KEEP_SLASH) != 0)) {
		*p++ = c;
		return p;
	}
	*p++ = '%';
	*p++ = digits[(uint8_t)c >> 4];
	*p++ = digits[(uint8_t)c & 15];
	return p;
}

/* Reads the character at s (len > 0 left) into *c; how many bytes it took, or
 * 0 for a bad %. */
static size_t
get(const char *s, size_t len, int flags, char *c)
{
	int hi, lo;

	*c = *s;
	if (*s == '+' && (flags & URI_PLUS_SPACE) != 0)
		*c = ' ';
	if (*s != '%')
		return 1;
	if (len < 3 || (hi = hex_digit(s[1])) == -1 ||
	    (lo = hex_digit(s[2])) == -1)
		return 0;
	*c = (char)(hi << 4 | lo);
	return 3;
}

int
uri_encode(struct buf *out, const char *s, size_t len, int flags)
{
	char *start, *p;
	size_t i, n = 0;

	for (i = 0; i < len; i++)
		n += unreserved(s[i]) ||
			(s[i] == '/' && (flags & URI_KEEP_SLASH) != 0)
		    ? 1
		    : 3;
	if ((start = p = buf_reserve(out, n)) == NULL)
		return -1;
	for (i = 0; i < len; i++)
		p = put(p, s[i], flags);
	buf_advance(out, (size_t)(p - start));
	return 0;
}

int
uri_decode(struct buf *out, const char *s, size_t len, int flags)
{
	size_t took;
	char c;

	for (; len > 0; s += took, len -= took) {
		if ((took = get(s, len, flags, &c)) == 0)
			return -1;
		if (buf_addc(out, c) == -1)
			return -1;
	}
	return 0;
}

int
uri_recode(struct buf *out, const char *s, size_t len, int flags)
{
	char tmp[3];
	size_t took, plain;
	char *end;
	char c;

	for (; len > 0; s += took, len -= took) {
		/* Most of a path or a query is spelled right already. */
		for (plain = 0; plain < len; plain++)
			if (!unreserved(s[plain]) &&
			    !(s[plain] == '/' && (flags & URI_KEEP_SLASH) != 0))
				break;
		if (plain > 0) {
			if (buf_add(out, s, plain) == -1)
				return -1;
			took = plain;
			continue;
		}
		if ((took = get(s, len, flags, &c)) == 0)
			return -1;
		end = put(tmp, c, flags);
		if (buf_add(out, tmp, (size_t)(end - tmp)) == -1)
			return -1;
	}
	return 0;
}

bool
uri_query_next(const char **p, struct uri_raw *out)
{
	const char *s = *p, *eq;
	size_t len;

	s += strspn(s, "&");
	if (*s == '\0') {
		*p = s;
		return false;
	}
	len = strcspn(s, "&");
	eq = memchr(s, '=', len);
	out->name = s;
	out->has_value = eq != NULL;
	out->name_len = eq != NULL ? (size_t)(eq - s) : len;
	out->value = eq != NULL ? eq + 1 : "";
	out->value_len = eq != NULL ? len - out->name_len - 1 : 0;
	*p = s + len;
	return true;
}

/* Decodes one part into the text, with a NUL behind it. */
static int
keep(struct uri_query *q, const char *s, size_t len, int flags,
    const char **out, size_t *out_len)
{
	size_t at = q->text.len;

	if (uri_decode(&q->text, s, len, flags) == -1)
		return -1;
	*out = q->text.data + at;
	*out_len = q->text.len - at;
	return buf_addc(&q->text, '\0');
}

int
uri_query_parse(struct uri_query *q, const char *s, size_t max, int flags)
{
	const char *p;
	struct uri_raw raw;
	struct uri_pair *pair;
	size_t n;

	memset(q, 0, sizeof(*q));
	if (s == NULL)
		s = "";
	/* Text and NULs of n pairs never need more than this, so the buffer
	 * is reserved once and pointers into it stay good. */
	for (n = 0, p = s; uri_query_next(&p, &raw); n++)
		continue;
	buf_init(&q->text, strlen(s) + 2 * n);
	if (n > max)
		return -1;
	if (n == 0)
		return 0;
	(void)buf_reserve(&q->text, q->text.max);
	q->pairs = xcalloc(n, sizeof(*q->pairs));
	for (p = s; uri_query_next(&p, &raw); q->n++) {
		pair = &q->pairs[q->n];
		pair->has_value = raw.has_value;
		if (keep(q, raw.name, raw.name_len, flags, &pair->name,
			&pair->name_len) == -1 ||
		    keep(q, raw.value, raw.value_len, flags, &pair->value,
			&pair->value_len) == -1) {
			uri_query_fini(q);
			return -1;
		}
	}
	return 0;
}

void
uri_query_fini(struct uri_query *q)
{
	free(q->pairs);
	q->pairs = NULL;
	q->n = 0;
	buf_fini(&q->text);
}

const struct uri_pair *
uri_query_get(const struct uri_query *q, const char *name)
{
	size_t i;

	for (i = 0; i < q->n; i++)
		if (strcmp(q->pairs[i].name, name) == 0)
			return &q->pairs[i];
	return NULL;
}
