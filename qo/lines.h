/*
 * lines.h - a file of any length, line by line, without stopping the loop.
 *
 * A pipe or a terminal is read when the loop says that there is something;
 * until then lines_next answers LINES_WAIT.
 */
#ifndef LINES_H
#define LINES_H

#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "loop.h"

enum lines_rc {
	LINES_OK = 0,
	LINES_LONG, /* a line above the limit; it was passed over */
	LINES_WAIT, /* nothing yet: ready(arg) will be called */
	LINES_END,
	LINES_FAILED /* *err */
};

struct lines {
	struct loop *loop;
	int fd;
	bool own_fd; /* opened here */
	bool polled; /* not a plain file: the loop tells when to read */
	bool waiting, may_read;
	bool eof;
	bool skipping; /* the rest of a line that is too long */
	size_t max;
	struct buf buf;
	size_t pos, seen; /* begin of the line; searched up to here */
	size_t number;    /* of the line given last, from 1 */
	struct loop_io io;
	void (*ready)(void *arg);
	void *arg;
};

/* "-" is standard input.  -1 with *err naming the file. */
int lines_open(struct lines *l, struct loop *loop, const char *path, size_t max,
    struct qo_err *err);
void lines_close(struct lines *l);
/* *line is borrowed until the next call; without its newline. */
enum lines_rc lines_next(struct lines *l, const char **line, size_t *len,
    struct qo_err *err);
/* Newlines in a plain file, for a progress bar; -1: not known. */
int64_t lines_count(const char *path);

#endif
