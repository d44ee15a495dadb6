/*
 * stop.h - the end, in stages: who works, who repairs, the store.
 */
#ifndef STOP_H
#define STOP_H

#include "qod.h"

/* In each turn of a stop. */
void stop_go_on(struct qod *q);

#endif
