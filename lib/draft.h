/*
 * draft.h - a task as a user words it, before it is submitted.
 *
 * A line of a batch, {"type":"mail.send","input":{...},"delay":"5m"}, or the
 * options of `qo submit`: members that are not given are taken from another
 * draft and then from the configuration.  Durations are "30s" or a whole
 * number of seconds.
 */
#ifndef QO_DRAFT_H
#define QO_DRAFT_H

#include "conf.h"
#include "submit.h"

/* A line may be as long as the largest input and what stands around it. */
#define QO_DRAFT_LINE_MAX     ((size_t)QO_INPUT_MAX + 65536)
#define QO_DRAFT_DELAY_MAX_MS (INT64_C(3650) * 86400 * 1000)

struct qo_draft {
	struct qo_record rec; /* first; owns the strings of a line */
	const char *type;     /* NULL here and below: not given */
	struct qo_json input; /* compact */
	int64_t timeout_ms;   /* -1: not given; the same below */
	int64_t retries;
	struct qo_wall at; /* QO_WALL_NONE: not given */
	int64_t delay_ms;
	int64_t expires_ms;
	const char *key;
	struct qo_json tags;
	int priority; /* enum qo_priority, or -1 */
};

void qo_draft_init(struct qo_draft *d);
void qo_draft_fini(struct qo_draft *d);
/*
 * Reads one line of a batch; *d is initialised here.  0, or -1 with *err
 * naming the member and nothing to free.  A member that is not known is an
 * error: it would be a typing mistake with silent consequences.
 */
int qo_draft_decode(struct qo_draft *d, const char *line, size_t len,
    struct qo_err *err);

/* A value as an option has it, with the same limits; *err says what is
 * allowed and does not name the member. */
int qo_draft_timeout(const char *s, int64_t *ms, struct qo_err *err);
int qo_draft_delay(const char *s, int64_t *ms, struct qo_err *err);
int qo_draft_time(const char *s, struct qo_wall *t, struct qo_err *err);
int qo_draft_priority(const char *s, int *priority, struct qo_err *err);

/* What is not given in d is taken from base: of at and delay only when
 * neither is given, the tags as a whole.  Strings are shared. */
void qo_draft_default(struct qo_draft *d, const struct qo_draft *base);
/*
 * The submission, checked.  The strings are those of the draft.  -1 with
 * *err naming the member: what qo_submission_check refuses, a time before
 * now, and an expiry that is not after the time at which the task is due.
 */
int qo_draft_submission(const struct qo_draft *d,
    const struct conf_submit *conf, struct qo_wall now,
    struct qo_submission *out, struct qo_err *err);

/* A W3C traceparent (version 00) that may be passed on. */
bool qo_draft_traceparent_valid(const char *s);

#endif
