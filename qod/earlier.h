/*
 * earlier.h - the store of a qod that was killed.
 *
 * It stays until the other processes of that qod have ended, and has the data
 * and the port until then.
 */
#ifndef EARLIER_H
#define EARLIER_H

#include "qod.h"

/* Waits until nobody has the data; signals other than those that end us wait,
 * too, until signals_begin.  -1: told to stop (q->stopping), or *err. */
int earlier_wait(struct qod *q, const struct conf *conf, struct qo_err *err);

#endif
