/* out.h: JSON. */
#include <stdio.h>
#include <string.h>

#include "out.h"

#define DOC_MAX ((size_t)256 << 20)

/* Documents */

static void
indent(struct buf *b, unsigned depth)
{
	buf_addc(b, '\n');
	while (depth-- > 0)
		buf_adds(b, "  ");
}

/* Valid JSON, on lines that show its structure; strings and numbers stay as
 * they are. */
static void
add_pretty(struct buf *b, const char *p, size_t len)
{
	const char *end = p + len;
	unsigned depth = 0;
	bool quoted = false;

	for (; p < end; p++) {
		if (quoted) {
			buf_addc(b, *p);
			if (*p == '\\' && p + 1 < end)
				buf_addc(b, *++p);
			else if (*p == '"')
				quoted = false;
			continue;
		}
		if (strchr(" \t\r\n", *p) != NULL)
			continue;
		if (*p == '}' || *p == ']') {
			depth--;
			if (b->len > 0 && strchr("{[", p[-1]) == NULL)
				indent(b, depth);
		}
		buf_addc(b, *p);
		quoted = *p == '"';
		if (*p == ':')
			buf_addc(b, ' ');
		if (*p == '{' || *p == '[')
			depth++;
		if (*p == ',' ||
		    ((*p == '{' || *p == '[') && p + 1 < end && p[1] != '}' &&
			p[1] != ']'))
			indent(b, depth);
	}
}

/* JSON may hold DEL and C1 controls as they are; a terminal may not get
 * them, and \u007f means the same. */
static void
put_clean(const char *p, size_t len)
{
	const unsigned char *s = (const unsigned char *)p;
	size_t i;

	for (i = 0; i < len; i++)
		if (s[i] == 0x7f)
			fputs("\\u007f", stdout);
		else if (s[i] == 0xc2 && i + 1 < len && s[i + 1] >= 0x80 &&
		    s[i + 1] < 0xa0)
			printf("\\u%04x", s[++i]);
		else
			putchar(s[i]);
}

void
out_json(const char *json, size_t len)
{
	struct buf b;

	if (!out_is_terminal()) {
		put_clean(json, len);
		putchar('\n');
		return;
	}
	buf_init(&b, DOC_MAX);
	add_pretty(&b, json, len);
	put_clean(b.data, b.len);
	putchar('\n');
	buf_fini(&b);
}

void
out_list_begin(struct out_list *l, enum out_format format)
{
	l->format = format;
	l->n = 0;
	if (format == OUT_JSON)
		putchar('[');
}

void
out_list_add(struct out_list *l, const char *json, size_t len)
{
	if (l->format == OUT_JSON)
		fputs(l->n > 0 ? ",\n" : "\n", stdout);
	put_clean(json, len);
	if (l->format != OUT_JSON)
		putchar('\n');
	l->n++;
}

void
out_list_end(struct out_list *l)
{
	if (l->format == OUT_JSON)
		fputs(l->n > 0 ? "\n]\n" : "]\n", stdout);
}
