/*
 * signals.h - what the signals of qod(8) do.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include "qod.h"

/* They are caught from now on; before READY=1 is said. */
void signals_begin(struct qod *q);
void signals_end(struct qod *q);

#endif
