/*
 * generation.h - one checked configuration and the processes that have it.
 *
 * Counted: each child that runs with it and whoever names it holds one.
 */
#ifndef GENERATION_H
#define GENERATION_H

#include "qod.h"

/* Takes conf and account over, with one reference.  NULL with *err: there is
 * no memory for it; conf and account are still the caller's. */
struct generation *generation_new(int number, struct conf *conf,
    struct account *account, struct qo_err *err);
/* fd is a text that an earlier image of this process made, as conf was read
 * from it. */
struct generation *generation_adopt(int number, struct conf *conf,
    struct account *account, int fd);
struct generation *generation_ref(struct generation *g);
void generation_unref(struct generation *g); /* NULL is fine */

#endif
