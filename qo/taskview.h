/*
 * taskview.h - what the commands that look at tasks share: reading one, and
 * saying in words what it is about to do.
 */
#ifndef TASKVIEW_H
#define TASKVIEW_H

#include "cmd.h"
#include "task.h"

#define TASKVIEW_TIME_SIZE 24

/* EXIT_USAGE, with its line, unless arg is an id as qo makes them. */
enum exit_code taskview_check_id(const char *arg);
/* The same for all operands. */
enum exit_code taskview_check_ids(const struct opts *o);
/* EXIT_USAGE, with its line, unless the option --type is absent or a type. */
enum exit_code taskview_check_type(const struct opts *o);

/* One GET of a task; *t and text are the caller's to fini on EXIT_OK.
 * text may be NULL. */
enum exit_code taskview_get(struct session *s, const char *id,
    struct qo_task *t, struct buf *text);
/* A record as one line of JSON: as it is stored, but for line breaks in it
 * (somebody's editor), which are taken out. */
void taskview_add_line(struct out_list *l, const char *text, size_t len);

/* A value for a screen: a large one is cut. */
void taskview_json(const struct qo_json *v);

enum out_style taskview_style(enum qo_status status);
/* 2026-01-28T12:00:00Z, or "-". */
const char *taskview_time(struct qo_wall t, char out[TASKVIEW_TIME_SIZE]);
/* "in 12s" or "12s ago". */
void taskview_add_when(struct buf *b, struct qo_wall t, struct qo_wall now);
/* Now, but not before the task was made and changed: the store tells the time
 * in whole seconds, and what was written just now would be still to come. */
struct qo_wall taskview_now(const struct session *s, const struct qo_task *t);

/* The state in a few words: "due in 12s", "lease for 48s". */
void taskview_add_state(struct buf *b, const struct qo_task *t,
    struct qo_wall now);
/* What it waits for, until when, who holds it: a sentence on one line. */
void taskview_add_why(struct buf *b, const struct qo_task *t,
    const struct qo_control *c, struct qo_wall now);

#endif
