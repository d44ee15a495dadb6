/*
 * check.h - read a configuration and judge whether qod can run with it.
 *
 * Beyond conf.h: accounts, programs, what can not change while qod runs.
 * Every mistake is one line `file:line: message'.
 */
#ifndef CHECK_H
#define CHECK_H

#include "qod.h"

struct check {
	bool log;        /* lines go to the log, else to the standard error */
	bool start;      /* not only to check: this process runs with it */
	unsigned errors; /* so far */
	char first[512]; /* of them, for people */
};

/* NULL after mistakes, which were said.  *account is the caller's to fini
 * when there is a conf. */
struct conf *check_load(struct check *k, const char *file,
    struct account *account);
/* What only a restart can change, changed nevertheless: false, said. */
bool check_change(struct check *k, const struct conf *old,
    const struct conf *new);
/* The same for everything that a running store has read. */
bool check_store_differs(const struct conf *old, const struct conf *new);
/* For the first start: the directory of the data, made when it is missing. */
bool check_data(struct check *k, const struct conf *c,
    const struct account *account);

#endif
