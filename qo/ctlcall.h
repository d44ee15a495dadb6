/*
 * ctlcall.h - ask a qod through its control socket, without stopping the
 * loop.
 *
 * One line goes, one JSON document comes back and ends with the connection.
 */
#ifndef CTLCALL_H
#define CTLCALL_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "exit.h"
#include "loop.h"

struct ctlcall {
	/* out, when done is called */
	enum exit_code code; /* EXIT_OK: answer is whole; else err tells */
	struct buf answer;
	struct qo_err err;
	/* private */
	struct loop *loop;
	struct loop_io io;
	struct loop_timer timer, again;
	const char *path, *line;
	void (*done)(struct ctlcall *c);
	void *arg;
	bool busy;
};

void ctlcall_init(struct ctlcall *c, struct loop *l);
void ctlcall_fini(struct ctlcall *c); /* ends a call that is under way */
/* path and line are borrowed until done, which is never called before this
 * returns; limit_ms -1: no limit. */
void ctlcall_start(struct ctlcall *c, const char *path, const char *line,
    int64_t limit_ms, void (*done)(struct ctlcall *c), void *arg);
/* The same, and waits for the end. */
enum exit_code ctlcall_wait(struct ctlcall *c, const char *path,
    const char *line, int64_t limit_ms);

#endif
