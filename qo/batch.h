/*
 * batch.h - qo submit --batch: one task a line, many at a time.
 */
#ifndef BATCH_H
#define BATCH_H

#include "cmd.h"
#include "draft.h"

/* base: what the lines take when they do not say; traceparent may be NULL.
 * Prints one line of JSON a task on stdout, one line a mistake on stderr. */
enum exit_code batch_submit(struct session *s, const char *path,
    const struct qo_draft *base, const char *traceparent);

/* The JSON line of a task that was submitted; line 0: none. */
void batch_print(const struct qo_submit *sub, size_t line);

#endif
