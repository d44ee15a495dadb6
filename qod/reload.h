/*
 * reload.h - another configuration, without a gap.
 *
 * The file is read into a fresh struct and judged whole; a bad one changes
 * nothing.  A good one becomes the next generation, which starts beside the
 * one in force; when all of it is ready, the old one is told to drain.  The
 * store, of which there can be one, comes last and only if it must.  While
 * all that is under way, further requests become one more reload.
 */
#ifndef RELOAD_H
#define RELOAD_H

#include "qod.h"

/* In each turn. */
void reload_go_on(struct qod *q);
/* A stop: what is under way is not finished. */
void reload_abandon(struct qod *q);
/* The next generation, from an earlier image of this process: all of its
 * processes, the store as well, are replaced. */
void reload_replace_all(struct qod *q);
/* systemd is told how things stand: READY=1 and a line. */
void reload_tell(const struct qod *q);

#endif
