#include <stdint.h>
#include <string.h>

#include "jtext.h"
#include "utf8.h"

/* A place in the text, and what is wrong there. */
struct scan {
	const char *p;
	const char *end;
	const char *why;
};

static bool
fail(struct scan *s, const char *why)
{
	s->why = why;
	return false;
}

/* The next byte; 0 at the end, which is valid nowhere. */
static char
at(const struct scan *s)
{
	return s->p < s->end ? *s->p : '\0';
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Not that of encode.h: a user's program, into which this is linked, would have
 * the other names of that module, too. */
static int
hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void
space(struct scan *s)
{
	while (s->p < s->end && is_space(*s->p))
		s->p++;
}

/* The four digits behind \u, or -1. */
static int
hex4(const char *p, const char *end)
{
	int i, d, v = 0;

	if (end - p < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		d = hex_value(p[i]);
		if (d == -1)
			return -1;
		v = v * 16 + d;
	}
	return v;
}

/* At the u of \u. */
static bool
unicode_escape(struct scan *s)
{
	int v, low;

	v = hex4(s->p + 1, s->end);
	if (v == -1)
		return fail(s, "\\u needs four hexadecimal digits");
	s->p += 5;
	if (v < 0xd800 || v > 0xdfff)
		return true;
	if (v >= 0xdc00 || s->end - s->p < 6 || s->p[0] != '\\' ||
	    s->p[1] != 'u')
		return fail(s, "half of a surrogate pair");
	low = hex4(s->p + 2, s->end);
	if (low < 0xdc00 || low > 0xdfff)
		return fail(s, "half of a surrogate pair");
	s->p += 6;
	return true;
}

/* One character that does not stand for itself in ASCII. */
static bool
special(struct scan *s)
{
	unsigned char tail[5] = { 0 };
	size_t n;

	if (*s->p == '\\') {
		s->p++;
		if (at(s) == 'u')
			return unicode_escape(s);
		if (at(s) == '\0' || strchr("\"\\/bfnrt", *s->p) == NULL)
			return fail(s, "unknown escape in a string");
		s->p++;
		return true;
	}
	if ((unsigned char)*s->p < 0x20)
		return fail(s, "control character in a string");
	n = (size_t)(s->end - s->p);
	memcpy(tail, s->p, n < 4 ? n : 4);
	n = utf8_char_len(tail);
	if (n == 0)
		return fail(s, "not UTF-8");
	s->p += n;
	return true;
}

static bool
string(struct scan *s)
{
	unsigned char c;

	if (at(s) != '"')
		return fail(s, "a string was expected");
	s->p++;
	while (s->p < s->end) {
		c = (unsigned char)*s->p;
		if (c == '"') {
			s->p++;
			return true;
		}
		if (c >= 0x20 && c < 0x80 && c != '\\')
			s->p++;
		else if (!special(s))
			return false;
	}
	return fail(s, "a string without its end");
}

static bool
digits(struct scan *s)
{
	if (!is_digit(at(s)))
		return fail(s, "a digit was expected");
	while (is_digit(at(s)))
		s->p++;
	return true;
}

static bool
number(struct scan *s)
{
	if (at(s) == '-')
		s->p++;
	if (at(s) == '0')
		s->p++;
	else if (!digits(s))
		return false;
	if (at(s) == '.') {
		s->p++;
		if (!digits(s))
			return false;
	}
	if (at(s) == 'e' || at(s) == 'E') {
		s->p++;
		if (at(s) == '+' || at(s) == '-')
			s->p++;
		return digits(s);
	}
	return true;
}

static bool
literal(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return fail(s, "a value was expected");
	s->p += n;
	return true;
}

static bool
scalar(struct scan *s)
{
	switch (at(s)) {
	case '"':
		return string(s);
	case 't':
		return literal(s, "true");
	case 'f':
		return literal(s, "false");
	case 'n':
		return literal(s, "null");
	default:
		if (at(s) == '-' || is_digit(at(s)))
			return number(s);
		return fail(s, "a value was expected");
	}
}

static bool
key(struct scan *s)
{
	space(s);
	if (!string(s))
		return false;
	space(s);
	if (at(s) != ':')
		return fail(s, "a : was expected");
	s->p++;
	return true;
}

/* Containers that are open, from the outside in. */
struct nest {
	bool object[QO_JTEXT_DEPTH];
	unsigned depth;
	unsigned max;
};

/* At [ or {.  *empty: it was closed at once, and is a whole value. */
static bool
container(struct scan *s, struct nest *n, bool *empty)
{
	bool object = *s->p == '{';

	if (n->depth == n->max)
		return fail(s, "nested too deep");
	n->object[n->depth++] = object;
	s->p++;
	space(s);
	*empty = at(s) == (object ? '}' : ']');
	return *empty || !object || key(s);
}

/* Behind a value: closes what ends here.  *more: another value follows. */
static bool
behind(struct scan *s, struct nest *n, bool *more)
{
	bool object;

	*more = false;
	while (n->depth > 0) {
		object = n->object[n->depth - 1];
		space(s);
		if (at(s) == ',') {
			s->p++;
			*more = true;
			return !object || key(s);
		}
		if (at(s) != (object ? '}' : ']'))
			return fail(s,
			    object ? "expected , or }" : "expected , or ]");
		s->p++;
		n->depth--;
	}
	return true;
}

static bool
value(struct scan *s, unsigned max)
{
	struct nest n = { .depth = 0, .max = max };
	bool empty, more = true;

	while (more) {
		space(s);
		if (at(s) == '[' || at(s) == '{') {
			if (!container(s, &n, &empty))
				return false;
			if (!empty)
				continue;
		} else if (!scalar(s))
			return false;
		if (!behind(s, &n, &more))
			return false;
	}
	return true;
}

const char *
qo_jtext_check(const char *text, size_t len, unsigned depth, size_t *where)
{
	struct scan s = { .p = text, .end = text + len };

	if (depth > QO_JTEXT_DEPTH)
		depth = QO_JTEXT_DEPTH;
	if (value(&s, depth)) {
		space(&s);
		if (s.p < s.end)
			fail(&s, "something behind the value");
	}
	*where = (size_t)(s.p - text);
	return s.why;
}

/* Behind the string at p, in text that is valid. */
static const char *
skip_string(const char *p)
{
	for (p++; *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p + 1;
}

static const char *
skip_value(const char *p)
{
	unsigned depth = 0;

	do {
		switch (*p) {
		case '"':
			p = skip_string(p);
			continue;
		case '[':
		case '{':
			depth++;
			break;
		case ']':
		case '}':
			depth--;
			break;
		default:
			if (depth == 0)
				return p + strcspn(p, " \t\r\n,]}");
		}
		p++;
	} while (depth > 0);
	return p;
}

static const char *
skip_space(const char *p)
{
	while (is_space(*p))
		p++;
	return p;
}

bool
qo_jtext_next(const char **p, struct qo_jtext_member *m)
{
	const char *q;

	q = skip_space(*p);
	if (*q == '{' || *q == ',')
		q = skip_space(q + 1);
	if (*q == '}')
		return false;
	m->key = q;
	q = skip_string(q);
	m->key_len = (size_t)(q - m->key);
	q = skip_space(q);
	m->value = skip_space(q + 1);
	q = skip_value(m->value);
	m->value_len = (size_t)(q - m->value);
	*p = q;
	return true;
}

static size_t
encode_utf8(char *out, unsigned c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Decodes what stands at *p, a byte or an escape, and moves *p behind it. */
static size_t
decode(const char **p, char *out)
{
	static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	const char *q = *p;
	unsigned c, low;

	if (*q != '\\') {
		*out = *q;
		*p = q + 1;
		return 1;
	}
	if (q[1] != 'u') {
		*out = bytes[strchr(names, q[1]) - names];
		*p = q + 2;
		return 1;
	}
	c = (unsigned)hex4(q + 2, q + 6);
	*p = q + 6;
	if (c >= 0xd800 && c <= 0xdfff) {
		low = (unsigned)hex4(q + 8, q + 12);
		c = 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
		*p = q + 12;
	}
	return encode_utf8(out, c);
}

size_t
qo_jtext_unquote(char *out, const char *text, size_t len)
{
	const char *p = text + 1, *end = text + len - 1;
	char c[4], *start = out;
	size_t n;

	while (p < end) {
		n = decode(&p, c);
		memcpy(out, c, n);
		out += n;
	}
	return (size_t)(out - start);
}

/* Is this key what the pointer's token, with its ~0 and ~1, says? */
static bool
key_is(const struct qo_jtext_member *m, const char *token, const char *end)
{
	const char *p = m->key + 1, *key_end = m->key + m->key_len - 1;
	char c[4], want;
	size_t i, n;

	while (p < key_end) {
		n = decode(&p, c);
		for (i = 0; i < n; i++) {
			if (token == end)
				return false;
			want = *token++;
			if (want == '~' && token < end)
				want = *token++ == '1' ? '/' : '~';
			if (want != c[i])
				return false;
		}
	}
	return token == end;
}

static const char *
find_member(const char *object, const char *token, const char *end)
{
	struct qo_jtext_member m;
	const char *found = NULL;

	while (qo_jtext_next(&object, &m))
		if (key_is(&m, token, end))
			found = m.value;
	return found;
}

static const char *
find_element(const char *array, const char *token, const char *end)
{
	const char *p = skip_space(array + 1);
	size_t n = 0;

	if (token == end || (*token == '0' && end - token > 1))
		return NULL;
	for (; token < end; token++) {
		if (!is_digit(*token) || n > SIZE_MAX / 16)
			return NULL;
		n = n * 10 + (size_t)(*token - '0');
	}
	while (*p != ']') {
		if (n-- == 0)
			return p;
		p = skip_space(skip_value(p));
		if (*p == ',')
			p = skip_space(p + 1);
	}
	return NULL;
}

const char *
qo_jtext_find(const char *text, size_t len, const char *pointer,
    size_t *value_len)
{
	const char *p = skip_space(text), *end;

	if (len == 0 || (*pointer != '\0' && *pointer != '/'))
		return NULL;
	while (p != NULL && *pointer == '/') {
		pointer++;
		end = pointer + strcspn(pointer, "/");
		if (*p == '{')
			p = find_member(p, pointer, end);
		else
			p = *p == '[' ? find_element(p, pointer, end) : NULL;
		pointer = end;
	}
	if (p != NULL)
		*value_len = (size_t)(skip_value(p) - p);
	return p;
}
