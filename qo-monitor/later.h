/*
 * later.h - a bounded memory of when an index entry is worth another look.
 *
 * A lease that was seen alive need not be read before it can be over; a task
 * that waits as it should need not be read every few seconds.  What is
 * forgotten, because the memory is full, costs a GET and nothing else.
 *
 * Pure: the caller passes the time.
 */
#ifndef LATER_H
#define LATER_H

#include <stdbool.h>
#include <stddef.h>

#include "clock.h"

struct later;

struct later *later_new(size_t max); /* how much is remembered */
void later_free(struct later *l);    /* NULL is fine */

/* Not before that time. */
void later_set(struct later *l, const char *key, struct qo_wall until);
/* Is it to be left alone now? */
bool later_is(const struct later *l, const char *key, struct qo_wall now);
size_t later_count(const struct later *l);
/* Forgets what is over: keys that were not asked for any more. */
void later_clean(struct later *l, struct qo_wall now);

#endif
