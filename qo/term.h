/*
 * term.h - a terminal for a view that is redrawn in place: its own screen,
 * keys without waiting for a line, and everything as it was at the end.
 *
 * There is one terminal: stdout, with the keys from stdin when that is one,
 * too.  term_close is also called when the process exits.
 */
#ifndef TERM_H
#define TERM_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

enum term_key {
	TERM_NONE = 0, /* no (whole) key is there */
	TERM_OTHER,
	TERM_UP,
	TERM_DOWN,
	TERM_PAGE_UP,
	TERM_PAGE_DOWN,
	TERM_HOME,
	TERM_END,
	TERM_PAUSE,
	TERM_SORT,
	TERM_QUIT
};

/* -1 with errno when stdout is no terminal or can not be set. */
int term_open(void);
void term_close(void); /* harmless twice */
/* SIGTSTP: the screen is given back, the process stops; when it is continued
 * the screen is taken again. */
void term_suspend(void);
/* At least 1 by 1; 24 by 80 when the terminal does not know. */
void term_size(size_t *rows, size_t *cols);
/* Lines, at most as many as the screen has, without a newline at the end. */
void term_draw(const char *text, size_t len);
/* Reads what was typed; to be called until TERM_NONE.  *eof: no more will
 * come. */
enum term_key term_read_key(bool *eof);
/* The same for bytes from elsewhere: one key, *used bytes of them. */
enum term_key term_decode(const char *p, size_t len, size_t *used);

#endif
