#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_doc.h"
#include "xalloc.h"

/* Objects with up to this many keys are checked for doubles in a table on
 * the stack.  Keys that collide cost a probe each, so whatever a peer sends
 * the work is bounded; larger objects are sorted. */
#define TABLE_KEYS 256
#define FEW_KEYS   8

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void
set_error(struct qo_err *err, const char *text, size_t len, size_t pos,
    const char *msg)
{
	size_t line = 1, column = 1, chr;

	yyjson_locate_pos(text, len, pos, &line, &column, &chr);
	qo_err_set(err, "invalid JSON at line %zu column %zu (byte %zu): %s",
	    line, column, pos, msg);
}

/* Keys */

static bool
same_key(const yyjson_val *a, const yyjson_val *b)
{
	size_t len = unsafe_yyjson_get_len((void *)a);

	return len == unsafe_yyjson_get_len((void *)b) &&
	    memcmp(a->uni.str, b->uni.str, len) == 0;
}

static yyjson_val *
next_key(yyjson_val *key)
{
	return unsafe_yyjson_get_next(key + 1);
}

static const yyjson_val *
double_among_few(yyjson_val *key, size_t n)
{
	const yyjson_val *keys[FEW_KEYS];
	size_t i, j;

	for (i = 0; i < n; i++, key = next_key(key)) {
		for (j = 0; j < i; j++)
			if (same_key(keys[j], key))
				return key;
		keys[i] = key;
	}
	return NULL;
}

static const yyjson_val *
double_by_table(yyjson_val *key, size_t n)
{
	const yyjson_val *table[TABLE_KEYS * 2];
	const unsigned char *s;
	size_t i, h, len, mask;

	mask = 15;
	while (mask + 1 < n * 2)
		mask = mask * 2 + 1;
	memset(table, 0, (mask + 1) * sizeof(table[0]));
	for (i = 0; i < n; i++, key = next_key(key)) {
		len = unsafe_yyjson_get_len(key);
		s = (const unsigned char *)key->uni.str;
		h = len;
		if (len > 0)
			h += s[0] * 31 + s[len / 2] * 7 + s[len - 1] * 131;
		for (h &= mask; table[h] != NULL; h = (h + 1) & mask)
			if (same_key(table[h], key))
				return key;
		table[h] = key;
	}
	return NULL;
}

static int
compare_keys(const void *a, const void *b)
{
	const yyjson_val *x = *(yyjson_val *const *)a;
	const yyjson_val *y = *(yyjson_val *const *)b;
	size_t xl = unsafe_yyjson_get_len((void *)x);
	size_t yl = unsafe_yyjson_get_len((void *)y);
	int c;

	if (xl != yl)
		return xl < yl ? -1 : 1;
	c = memcmp(x->uni.str, y->uni.str, xl);
	if (c != 0)
		return c;
	return x < y ? -1 : x > y;
}

static const yyjson_val *
double_by_sorting(yyjson_val *key, size_t n)
{
	const yyjson_val *found = NULL, **keys;
	size_t i;

	keys = xreallocarray(NULL, n, sizeof(*keys));
	for (i = 0; i < n; i++, key = next_key(key))
		keys[i] = key;
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (i = 1; i < n && found == NULL; i++)
		if (same_key(keys[i - 1], keys[i]))
			found = keys[i];
	free(keys);
	return found;
}

const yyjson_val *
qo_json_doc_double(yyjson_val *obj)
{
	size_t n = unsafe_yyjson_get_len(obj);

	if (n < 2)
		return NULL;
	if (n <= FEW_KEYS)
		return double_among_few(obj + 1, n);
	if (n <= TABLE_KEYS)
		return double_by_table(obj + 1, n);
	return double_by_sorting(obj + 1, n);
}

/* The tree */

/* Where the nesting first goes beyond max, in text known to be valid. */
static size_t
find_depth(const char *text, size_t len, unsigned max)
{
	unsigned depth = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (text[i] == '"')
			i = (size_t)(qo_json_skip(text + i) - text) - 1;
		else if (text[i] == '[' || text[i] == '{') {
			if (++depth > max)
				return i;
		} else if (text[i] == ']' || text[i] == '}')
			depth--;
	}
	return 0;
}

/* yyjson keeps the values in one row, a container before its contents, so
 * one pass with a stack of container ends sees all of it. */
static int
check_tree(yyjson_doc *doc, const char *text, size_t len,
    const struct qo_json_limits *limits, enum qo_json_doc_keys keys,
    struct qo_err *err)
{
	yyjson_val *ends[QO_JSON_DEPTH_MAX];
	yyjson_val *v = doc->root, *end = unsafe_yyjson_get_next(v);
	const yyjson_val *twice;
	unsigned depth = 0, max = limits->max_depth;
	char msg[64];

	if (max > QO_JSON_DEPTH_MAX)
		max = QO_JSON_DEPTH_MAX;
	for (; v < end; v++) {
		if (!unsafe_yyjson_is_ctn(v))
			continue;
		while (depth > 0 && v >= ends[depth - 1])
			depth--;
		if (depth == max) {
			snprintf(msg, sizeof(msg),
			    "nested deeper than %u levels", max);
			set_error(err, text, len, find_depth(text, len, max),
			    msg);
			return -1;
		}
		ends[depth++] = unsafe_yyjson_get_next(v);
		if (!limits->unique_keys || !unsafe_yyjson_is_obj(v) ||
		    (v == doc->root && keys == QO_JSON_DOC_NOT_ROOT))
			continue;
		twice = qo_json_doc_double(v);
		if (twice != NULL) {
			set_error(err, text, len,
			    (size_t)(qo_json_doc_key(doc, text, twice) - text),
			    "an object has the same key twice");
			return -1;
		}
	}
	return 0;
}

yyjson_doc *
qo_json_doc_read(const char *text, size_t len,
    const struct qo_json_limits *limits, enum qo_json_doc_keys keys,
    struct qo_err *err)
{
	yyjson_read_err yerr;
	yyjson_doc *doc;

	if (len > limits->max_len) {
		qo_err_set(err, "JSON of %zu bytes: more than %zu", len,
		    limits->max_len);
		return NULL;
	}
	/* The text is not written to without YYJSON_READ_INSITU. */
	doc = yyjson_read_opts((char *)(uintptr_t)text, len,
	    YYJSON_READ_NUMBER_AS_RAW, NULL, &yerr);
	if (doc == NULL) {
		set_error(err, text, len, yerr.pos, yerr.msg);
		return NULL;
	}
	if (check_tree(doc, text, len, limits, keys, err) == -1) {
		yyjson_doc_free(doc);
		return NULL;
	}
	return doc;
}

const char *
qo_json_skip(const char *p)
{
	unsigned depth = 0;

	do {
		if (*p == '"') {
			for (p++; *p != '"'; p++)
				if (*p == '\\')
					p++;
		} else if (*p == '[' || *p == '{') {
			depth++;
		} else if (*p == ']' || *p == '}') {
			depth--;
		} else if (depth == 0) {
			/* A number or a word ends where another token begins */
			while (*p != '\0' && !is_space(*p) && *p != ',' &&
			    *p != ']' && *p != '}')
				p++;
			return p;
		}
		p++;
	} while (depth > 0);
	return p;
}

/* The document's copy of the text has every string at its old place. */
const char *
qo_json_doc_key(const yyjson_doc *doc, const char *text, const yyjson_val *key)
{
	return text + (key->uni.str - doc->str_pool) - 1;
}

struct qo_json
qo_json_doc_member(const yyjson_doc *doc, const char *text, size_t len,
    const yyjson_val *key, const yyjson_val *next)
{
	const char *p, *end;

	p = qo_json_skip(qo_json_doc_key(doc, text, key));
	while (*p != ':')
		p++;
	for (p++; is_space(*p); p++)
		continue;
	if (next != NULL) {
		for (end = qo_json_doc_key(doc, text, next); end[-1] != ',';)
			end--;
	} else {
		for (end = text + len; end[-1] != '}';)
			end--;
	}
	for (end--; is_space(end[-1]);)
		end--;
	return (struct qo_json){ p, (size_t)(end - p) };
}

int
qo_json_get_int(const yyjson_val *v, int64_t min, int64_t max, int64_t *out)
{
	const char *s;
	size_t i, len;
	int64_t n = 0;
	bool negative;

	if (!unsafe_yyjson_is_raw((void *)v))
		return -1;
	s = v->uni.str;
	len = unsafe_yyjson_get_len((void *)v);
	negative = s[0] == '-';
	for (i = negative ? 1 : 0; i < len; i++)
		if (s[i] < '0' || s[i] > '9' ||
		    __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_sub_overflow(n, s[i] - '0', &n))
			return -1;
	/* Counted downwards, because INT64_MIN has no positive twin. */
	if (!negative && __builtin_sub_overflow(0, n, &n))
		return -1;
	if (n < min || n > max)
		return -1;
	*out = n;
	return 0;
}

int
qo_json_get_double(const yyjson_val *v, double *out)
{
	char text[64];
	size_t len;
	double d;

	if (!unsafe_yyjson_is_raw((void *)v))
		return -1;
	len = unsafe_yyjson_get_len((void *)v);
	if (len >= sizeof(text))
		return -1;
	memcpy(text, v->uni.str, len);
	text[len] = '\0';
	d = strtod(text, NULL);
	if (!isfinite(d))
		return -1;
	*out = d;
	return 0;
}
