/*
 * sockets.h - the store's listening sockets, which outlive its process.
 */
#ifndef SOCKETS_H
#define SOCKETS_H

#include "qod.h"

/* Binds what conf says.  -1 with *err. */
int sockets_open(struct qod *q, const struct conf *conf,
    const struct account *a, struct qo_err *err);
void sockets_close(struct qod *q, const struct conf *conf);

#endif
