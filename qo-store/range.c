#include <stdbool.h>

#include "range.h"

/* Digits only, at most 18 of them (fits int64_t); *end is behind them. */
static bool
parse_num(const char *s, const char **end, int64_t *out)
{
	int64_t n = 0;
	int digits = 0;

	for (; *s >= '0' && *s <= '9'; s++) {
		if (++digits > 18)
			return false;
		n = n * 10 + (*s - '0');
	}
	*end = s;
	*out = n;
	return digits > 0;
}

enum range_rc
range_parse(const char *text, int64_t size, int64_t *off, int64_t *len)
{
	const char *p;
	int64_t first, last;

	if (text == NULL || strncasecmp(text, "bytes=", 6) != 0)
		return RANGE_WHOLE;
	p = text + 6;
	if (*p == '-') {
		if (!parse_num(p + 1, &p, &last) || *p != '\0')
			return RANGE_WHOLE;
		if (last == 0 || size == 0)
			return RANGE_UNSATISFIABLE;
		*len = last < size ? last : size;
		*off = size - *len;
		return RANGE_PART;
	}
	if (!parse_num(p, &p, &first) || *p++ != '-')
		return RANGE_WHOLE;
	last = INT64_MAX;
	if (*p != '\0' && (!parse_num(p, &p, &last) || *p != '\0'))
		return RANGE_WHOLE;
	if (last < first)
		return RANGE_WHOLE;
	if (first >= size)
		return RANGE_UNSATISFIABLE;
	if (last >= size)
		last = size - 1;
	*off = first;
	*len = last - first + 1;
	return RANGE_PART;
}

int
range_parse_copy(const char *text, int64_t size, int64_t *off, int64_t *len)
{
	const char *p;
	int64_t first, last;

	if (strncmp(text, "bytes=", 6) != 0)
		return -1;
	if (!parse_num(text + 6, &p, &first) || *p++ != '-')
		return -1;
	if (!parse_num(p, &p, &last) || *p != '\0')
		return -1;
	if (last < first || last >= size)
		return -1;
	*off = first;
	*len = last - first + 1;
	return 0;
}
