/*
 * workers.h - the records that workers keep of themselves: who is silent,
 * and what is left of those who are gone.
 *
 * A worker writes its record with every heartbeat, so the store's
 * LastModified is when it was last heard of: no record is read.  Removing
 * one that was only slow does no harm, its next heartbeat brings it back.
 */
#ifndef WORKERS_H
#define WORKERS_H

#include "monitor.h"

struct workers;

struct workers *workers_new(struct monitor *m);
void workers_free(struct workers *w); /* cancels; NULL is fine */
void workers_start(struct workers *w);
/* One look, then done(arg). */
void workers_once(struct workers *w, void (*done)(void *arg), void *arg);

#endif
