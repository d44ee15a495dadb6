/*
 * exit.h - how qo ends: the exit codes (DESIGN.md 14), and the one line on
 * stderr that goes with each of them.
 */
#ifndef EXIT_H
#define EXIT_H

#include "err.h"

enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NOENT = 3,
	EXIT_DENIED = 4,
	EXIT_CONFLICT = 5,
	EXIT_TIMEOUT = 6,
	EXIT_UNREACHABLE = 7,
	EXIT_PARTLY = 8
};

/* The command that runs, for the lines: "submit", "config show". */
void exit_set_command(const char *name);

/* `qo COMMAND: text` on stderr; whatever the text holds, one clean line. */
void exit_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same; for `return exit_usage(...)`. */
enum exit_code exit_usage(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
/* What this outcome means for the caller of qo; prints nothing. */
enum exit_code exit_code_of(enum qo_rc rc);
/* Prints err->msg unless rc is QO_OK; for `return exit_fail(rc, &err)`. */
enum exit_code exit_fail(enum qo_rc rc, const struct qo_err *err);

#endif
