/*
 * out.h - what qo prints: tables for people, JSON for programs.
 *
 * Everything goes to stdout.  Whatever task data holds, a terminal gets no
 * control characters of it, and JSON stays valid.  Colour only on a terminal
 * and without NO_COLOR.
 */
#ifndef OUT_H
#define OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "json.h"
#include "jsonout.h"

enum out_format {
	OUT_TEXT = 0,
	OUT_JSON, /* one document */
	OUT_JSONL /* one line a record */
};

enum out_style {
	OUT_PLAIN = 0,
	OUT_BOLD,
	OUT_DIM,
	OUT_GOOD, /* green */
	OUT_WARN, /* yellow */
	OUT_BAD,  /* red */
	OUT_BUSY  /* blue: under way */
};

/* Adds text with control characters, broken UTF-8 and characters that turn
 * the direction of writing made visible: \n, \x1b, \u202e. */
void out_escape(struct buf *b, const char *s, size_t len);
/* Characters of escaped text, as columns on a terminal. */
size_t out_width(const char *s, size_t len);
/* Is stdout a terminal, and shall it be coloured? */
bool out_is_terminal(void);
bool out_is_coloured(void);
/* Columns of the terminal; 0 when stdout is none. */
size_t out_columns(void);

/* A line, escaped, with its newline. */
void out_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Part of a line, escaped, in a style. */
void out_text(enum out_style style, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same into a buf, for what is drawn later. */
void out_add(struct buf *b, enum out_style style, bool coloured,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Bytes as they are: only for what we made ourselves or for raw data that
 * the user asked for. */
void out_raw(const char *p, size_t len);
/* stdout can not be written any more (a pipe was closed): long work ends. */
bool out_broken(void);

/* A table: columns are as wide as they must be; on a terminal that is too
 * narrow the one that gives way is cut, then the last one at the edge. */
struct out_table;

struct out_col {
	const char *title;
	bool right; /* numbers */
};

struct out_table *out_table_new(const struct out_col *cols, size_t n);
/* The next cell, row after row. */
void out_cell(struct out_table *t, enum out_style style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* This column gives way to all others; without it none does. */
void out_table_gives(struct out_table *t, size_t col);
size_t out_table_rows(const struct out_table *t);
/* Nothing at all when it has no rows; frees it. */
void out_table_print(struct out_table *t);
/* The same into a buf; columns 0: nothing is cut. */
void out_table_add(struct out_table *t, struct buf *b, size_t columns,
    bool coloured);

/* JSON: a list in either form.  Records are complete JSON texts. */
struct out_list {
	enum out_format format; /* OUT_JSON or OUT_JSONL */
	size_t n;
};

void out_list_begin(struct out_list *l, enum out_format format);
void out_list_add(struct out_list *l, const char *json, size_t len);
void out_list_end(struct out_list *l);
/* One document; indented on a terminal. */
void out_json(const char *json, size_t len);

/* "12s", "3m 20s", "4h 10m", "2d 3h"; not negative. */
void out_duration(struct buf *b, int64_t ms);
#define OUT_DURATION_SIZE 32
const char *out_duration_text(int64_t ms, char out[OUT_DURATION_SIZE]);

#endif
