/*
 * reply.h - what a handler says, read: the verdict on fd 3, the lines of a
 * serving process, and output that is plain text.
 *
 * A verdict is one JSON object:
 *	{"status":"completed"|"retry"|"failed"|"reschedule"|"cancelled"|
 *	    "wait_signal"|"wait_tasks",
 *	 "output":any, "error":"text", "delay_seconds":0 to 315360000,
 *	 "signal":"name", "timeout_seconds":as delay_seconds, "ids":["id"]}
 * A serving process may also say {"progress":any} and {"log":"text"}.  A
 * member that is null is not there; unknown members are ignored; wrong types,
 * doubled members and anything around the object are refused, because a
 * verdict that was misunderstood is worse than an attempt that is repeated.
 */
#ifndef REPLY_H
#define REPLY_H

#include "json.h"

#define REPLY_DELAY_MAX_S  315360000          /* ten years */
#define REPLY_PROGRESS_MAX ((size_t)64 << 10) /* it is kept in the task */

enum reply_kind {
	REPLY_COMPLETED = 0,
	REPLY_RETRY,
	REPLY_FAILED,
	REPLY_RESCHEDULE,
	REPLY_CANCELLED,
	REPLY_WAIT_SIGNAL,
	REPLY_WAIT_TASKS,
	REPLY_PROGRESS,
	REPLY_LOG
};

struct reply {
	enum reply_kind kind;
	/* The output, or the progress: its place in the text that was read.
	 * p == NULL: there is none. */
	struct qo_json value;
	/* The error, or what is to be logged; may hold NULs.  NULL: none. */
	const char *text;
	size_t text_len;
	int64_t delay_ms; /* -1: none */
	void *doc;        /* private */
};

/*
 * Reads one object.  max limits an output in it.  0, or -1 with *err (what is
 * wrong with it, without saying where it was) and nothing to free.  The text
 * must live as long as the reply.
 */
int reply_parse(struct reply *r, const char *text, size_t len, size_t max,
    struct qo_err *err);
void reply_fini(struct reply *r);
const char *reply_name(enum reply_kind kind); /* "completed", ... */

/*
 * Output on stdout as a value: JSON as it stands, other text as a string
 * without the newline at its end, nothing as no value (p == NULL).  *out
 * points into text or into b, where the string is made.  -1 with *err: not
 * UTF-8, or JSON that is too deep or has a key twice.
 */
int reply_output(const char *text, size_t len, struct buf *b,
    struct qo_json *out, struct qo_err *err);

#endif
