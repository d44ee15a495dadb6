/*
 * watch.h - is everybody alive?  The master watches the heartbeats of its
 * children on the board, and systemd watches the master.
 */
#ifndef WATCH_H
#define WATCH_H

#include "qod.h"

void watch_begin(struct qod *q);
void watch_end(struct qod *q);

#endif
