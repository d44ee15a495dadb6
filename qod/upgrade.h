/*
 * upgrade.h - the next binary takes over in place, with the same pid.
 *
 * It is first asked with -n whether it likes the configuration.  Then all
 * that an image of qod knows (children and their sockets, scoreboard,
 * listening sockets, pidfile, tasks not yet settled) is written as text to a
 * memfd, and exec runs the new one, which adopts the children and replaces
 * them by and by.  When exec fails the old image goes on.
 */
#ifndef UPGRADE_H
#define UPGRADE_H

#include "buf.h"
#include "qod.h"

/* What an image leaves to the next besides children and tasks. */
struct upgrade_state {
	int board;
	int conf; /* text of the generation in force */
	int generation;
};

/* qod -n of the next binary has ended. */
void upgrade_checked(struct qod *q, int status);
/* There is to be none: a check that is under way is ended. */
void upgrade_abandon(struct qod *q);

/* The descriptor that an earlier image left, or -1; call once, early. */
int upgrade_inherited(void);
/* Fills in q (not its board and generation: the caller has their descriptors
 * in *s and calls upgrade_children then).  -1 with *err: it can not be read. */
int upgrade_read(struct qod *q, int fd, struct upgrade_state *s,
    struct buf *text, struct qo_err *err);
/* The children in text.  They keep the numbers of their generations; gen, the
 * one in force, is what is left of the configurations behind them. */
void upgrade_children(struct qod *q, const char *text, struct generation *gen);

/* For tests: the text, and one line of it. */
void upgrade_write(const struct qod *q, struct buf *b);

#endif
