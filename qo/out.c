#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "out.h"
#include "utf8.h"
#include "xalloc.h"

#define TEXT_MAX ((size_t)64 << 20)
#define CUT_MIN  8 /* no column is cut to less */

/* Escaping */

/* Code point of the well-formed character of n bytes at p. */
static uint32_t
code_point(const unsigned char *p, size_t n)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = p[0] & masks[n];
	size_t i;

	for (i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* Characters that move, hide or turn what stands around them. */
static bool
is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c ||
	    (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

void
out_escape(struct buf *b, const char *s, size_t len)
{
	char *copy = xmemdup0(s, len); /* utf8_char_len needs its NUL */
	const unsigned char *p = (const unsigned char *)copy;
	const unsigned char *end = p + len;
	uint32_t c;
	size_t n;

	for (; p < end; p += n) {
		n = utf8_char_len(p);
		if (n == 0) {
			buf_addf(b, "\\x%02x", *p);
			n = 1;
			continue;
		}
		c = code_point(p, n);
		if (!is_unsafe(c))
			buf_add(b, p, n);
		else if (c == '\n')
			buf_adds(b, "\\n");
		else if (c == '\t')
			buf_adds(b, "\\t");
		else if (c < 0x80)
			buf_addf(b, "\\x%02x", c);
		else
			buf_addf(b, "\\u%04x", c);
	}
	free(copy);
}

size_t
out_width(const char *s, size_t len)
{
	size_t i, n = 0;

	for (i = 0; i < len; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			n++;
	return n;
}

/* The terminal */

bool
out_is_terminal(void)
{
	return isatty(STDOUT_FILENO) == 1;
}

bool
out_is_coloured(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return out_is_terminal() && (no == NULL || no[0] == '\0') &&
	    term != NULL && strcmp(term, "dumb") != 0;
}

size_t
out_columns(void)
{
	struct winsize ws;

	if (!out_is_terminal() || ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == -1)
		return 0;
	return ws.ws_col;
}

static const char *
style_on(enum out_style style)
{
	switch (style) {
	case OUT_PLAIN:
		break;
	case OUT_BOLD:
		return "\033[1m";
	case OUT_DIM:
		return "\033[2m";
	case OUT_GOOD:
		return "\033[32m";
	case OUT_WARN:
		return "\033[33m";
	case OUT_BAD:
		return "\033[31m";
	case OUT_BUSY:
		return "\033[34m";
	}
	return "";
}

/* Clean text in its style. */
static void
add_styled(struct buf *b, enum out_style style, bool coloured, const char *p,
    size_t len)
{
	bool styled = coloured && style != OUT_PLAIN && len > 0;

	if (styled)
		buf_adds(b, style_on(style));
	buf_add(b, p, len);
	if (styled)
		buf_adds(b, "\033[0m");
}

static void __attribute__((format(printf, 2, 0)))
add_clean(struct buf *b, const char *fmt, va_list ap)
{
	struct buf text;

	buf_init(&text, TEXT_MAX);
	buf_vaddf(&text, fmt, ap);
	out_escape(b, text.data, text.len);
	buf_fini(&text);
}

void
out_line(const char *fmt, ...)
{
	struct buf b;
	va_list ap;

	buf_init(&b, TEXT_MAX);
	va_start(ap, fmt);
	add_clean(&b, fmt, ap);
	va_end(ap);
	buf_addc(&b, '\n');
	out_raw(b.data, b.len);
	buf_fini(&b);
}

void
out_text(enum out_style style, const char *fmt, ...)
{
	struct buf text, b;
	va_list ap;

	buf_init(&text, TEXT_MAX);
	buf_init(&b, TEXT_MAX);
	va_start(ap, fmt);
	add_clean(&text, fmt, ap);
	va_end(ap);
	add_styled(&b, style, out_is_coloured(), text.data, text.len);
	out_raw(b.data, b.len);
	buf_fini(&b);
	buf_fini(&text);
}

void
out_add(struct buf *b, enum out_style style, bool coloured, const char *fmt,
    ...)
{
	struct buf text;
	va_list ap;

	buf_init(&text, TEXT_MAX);
	va_start(ap, fmt);
	add_clean(&text, fmt, ap);
	va_end(ap);
	add_styled(b, style, coloured, text.data, text.len);
	buf_fini(&text);
}

void
out_raw(const char *p, size_t len)
{
	fwrite(p, 1, len, stdout);
}

bool
out_broken(void)
{
	return ferror(stdout) != 0;
}

/* Tables */

struct cell {
	char *text;
	size_t len, width;
	enum out_style style;
};

struct out_table {
	const struct out_col *cols;
	size_t ncols;
	size_t gives; /* a column; ncols: none */
	struct cell *cells;
	size_t n, cap;
};

struct out_table *
out_table_new(const struct out_col *cols, size_t n)
{
	struct out_table *t;

	t = xcalloc(1, sizeof(*t));
	t->cols = cols;
	t->ncols = t->gives = n;
	return t;
}

void
out_table_gives(struct out_table *t, size_t col)
{
	t->gives = col;
}

void
out_cell(struct out_table *t, enum out_style style, const char *fmt, ...)
{
	struct cell *c;
	struct buf b;
	va_list ap;

	if (t->n == t->cap) {
		t->cap = t->cap == 0 ? 64 : t->cap * 2;
		t->cells = xreallocarray(t->cells, t->cap, sizeof(*t->cells));
	}
	c = &t->cells[t->n++];
	buf_init(&b, TEXT_MAX);
	va_start(ap, fmt);
	add_clean(&b, fmt, ap);
	va_end(ap);
	c->text = buf_take(&b, &c->len);
	c->width = out_width(c->text, c->len);
	c->style = style;
}

size_t
out_table_rows(const struct out_table *t)
{
	return (t->n + t->ncols - 1) / t->ncols;
}

/* Where a table is drawn, and how. */
struct canvas {
	struct buf *b;
	size_t columns; /* 0: no limit */
	bool coloured;
};

static void
add_blanks(struct buf *b, size_t n)
{
	while (n-- > 0)
		buf_addc(b, ' ');
}

/* Cut to room columns, which is not 0. */
static void
add_cut(const struct canvas *to, const struct cell *c, size_t room)
{
	size_t bytes = 0, seen = 0;

	if (c->width <= room) {
		add_styled(to->b, c->style, to->coloured, c->text, c->len);
		return;
	}
	while (bytes < c->len && seen + 1 < room) {
		do
			bytes++;
		while (((unsigned char)c->text[bytes] & 0xc0) == 0x80);
		seen++;
	}
	add_styled(to->b, c->style, to->coloured, c->text, bytes);
	buf_adds(to->b, "\xe2\x80\xa6"); /* an ellipsis */
}

static void
add_row(const struct canvas *to, const struct out_table *t,
    const struct cell *row, const size_t *widths)
{
	size_t i, n, pad, at = 0;

	/* No blanks at the end of a line. */
	for (n = t->ncols; n > 1 && row[n - 1].width == 0;)
		n--;
	for (i = 0; i < n; i++) {
		pad = widths[i] > row[i].width ? widths[i] - row[i].width : 0;
		if (t->cols[i].right)
			add_blanks(to->b, pad);
		if (i + 1 == t->ncols && to->columns > at + CUT_MIN)
			add_cut(to, &row[i], to->columns - at);
		else
			add_cut(to, &row[i], widths[i]);
		if (i + 1 == n)
			break;
		add_blanks(to->b, (t->cols[i].right ? 0 : pad) + 2);
		at += widths[i] + 2;
	}
	buf_addc(to->b, '\n');
}

/* What the table is wider than columns is taken from the one that gives. */
static void
make_room(const struct out_table *t, size_t columns, size_t *widths)
{
	size_t i, all = 2 * (t->ncols - 1), least;

	for (i = 0; i < t->ncols; i++)
		all += widths[i];
	if (t->gives == t->ncols || columns == 0 || all <= columns)
		return;
	least = widths[t->gives] < CUT_MIN ? widths[t->gives] : CUT_MIN;
	if (widths[t->gives] - least > all - columns)
		least = widths[t->gives] - (all - columns);
	widths[t->gives] = least;
}

void
out_table_add(struct out_table *t, struct buf *b, size_t columns, bool coloured)
{
	const struct canvas to = { b, columns, coloured };
	struct cell *head;
	size_t *widths, i;

	while (t->n % t->ncols != 0)
		out_cell(t, OUT_PLAIN, "%s", "");
	head = xcalloc(t->ncols, sizeof(*head));
	widths = xcalloc(t->ncols, sizeof(*widths));
	for (i = 0; i < t->ncols; i++) {
		head[i].text = (char *)(uintptr_t)t->cols[i].title;
		head[i].len = strlen(t->cols[i].title);
		head[i].width = widths[i] = head[i].len;
		head[i].style = OUT_BOLD;
	}
	for (i = 0; i < t->n; i++)
		if (t->cells[i].width > widths[i % t->ncols])
			widths[i % t->ncols] = t->cells[i].width;
	make_room(t, columns, widths);
	if (t->n > 0)
		add_row(&to, t, head, widths);
	for (i = 0; i < t->n; i += t->ncols)
		add_row(&to, t, &t->cells[i], widths);
	for (i = 0; i < t->n; i++)
		free(t->cells[i].text);
	free(t->cells);
	free(widths);
	free(head);
	free(t);
}

void
out_table_print(struct out_table *t)
{
	struct buf b;

	buf_init(&b, SIZE_MAX / 2);
	out_table_add(t, &b, out_columns(), out_is_coloured());
	out_raw(b.data, b.len);
	buf_fini(&b);
}

/* Durations */

void
out_duration(struct buf *b, int64_t ms)
{
	int64_t s = ms < 0 ? 0 : ms / 1000;

	if (ms < 1000)
		buf_addf(b, "%lldms", (long long)(ms < 0 ? 0 : ms));
	else if (s < 60)
		buf_addf(b, "%llds", (long long)s);
	else if (s < 3600)
		buf_addf(b, "%lldm %llds", (long long)s / 60,
		    (long long)s % 60);
	else if (s < 86400)
		buf_addf(b, "%lldh %lldm", (long long)s / 3600,
		    (long long)s / 60 % 60);
	else
		buf_addf(b, "%lldd %lldh", (long long)s / 86400,
		    (long long)s / 3600 % 24);
}

const char *
out_duration_text(int64_t ms, char out[OUT_DURATION_SIZE])
{
	struct buf b;

	buf_init(&b, OUT_DURATION_SIZE - 1);
	out_duration(&b, ms);
	snprintf(out, OUT_DURATION_SIZE, "%s", b.data);
	buf_fini(&b);
	return out;
}
