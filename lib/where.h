/*
 * where.h - which tasks are meant: status=failed,type=mail.*,error~=timeout.
 *
 * Clauses are separated by commas (one in a value is written \,) and all
 * must hold:
 *
 *	status=WORD     one of the task's statuses
 *	type=TYPE       exact, or with * at its end
 *	error~=TEXT     last_error contains it
 *	older=DURATION  not changed for so long; newer= is the opposite
 *	worker=ID       the worker that has or had it
 *	tag.NAME=VALUE  it has this tag
 *
 * Pure.
 */
#ifndef QO_WHERE_H
#define QO_WHERE_H

#include "task.h"

#define QO_WHERE_TAGS 8

struct qo_where {
	char *text;            /* owned: the strings below point into it */
	enum qo_status status; /* QO_STATUS_NONE: any */
	const char *type;      /* NULL here and below: any */
	const char *error;
	const char *worker;
	int64_t older_ms, newer_ms; /* -1: any */
	struct {
		const char *name, *value;
	} tags[QO_WHERE_TAGS];
	size_t ntags;
};

/* -1 with *err naming the clause and what is allowed; nothing to free. */
int qo_where_parse(struct qo_where *w, const char *text, struct qo_err *err);
void qo_where_fini(struct qo_where *w);
/* now is server time. */
bool qo_where_match(const struct qo_where *w, const struct qo_task *t,
    struct qo_wall now);

#endif
