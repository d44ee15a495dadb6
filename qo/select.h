/*
 * select.h - the tasks that a --where means.
 */
#ifndef SELECT_H
#define SELECT_H

#include "cmd.h"
#include "where.h"

/* A set of statuses. */
#define SELECT_STATUS(s) (1u << (s))

struct select {
	/* in */
	struct qo_where where;
	unsigned statuses; /* a task of another one is not meant */
	/* Each that matches; may be NULL. */
	void (*found)(void *arg, const struct qo_task *t, const char *text,
	    size_t len);
	void *arg;
	/* out */
	char (*ids)[QO_UUID_SIZE];
	size_t n;
	struct qo_wall now; /* when they were looked at */
	/* private */
	size_t cap;
};

/* Parses --where; allowed are the statuses that the command works on, usual
 * those that are meant when the text names none.  EXIT_USAGE after its line,
 * nothing to free. */
enum exit_code select_parse(struct select *sel, const char *text,
    const char *command, unsigned allowed, unsigned usual);
void select_fini(struct select *sel);
/* Reads the indexes when these know all that is meant, else every task.  The
 * session is open. */
enum exit_code select_run(struct select *sel, struct session *s);
bool select_match(const struct select *sel, const struct qo_task *t);

#endif
