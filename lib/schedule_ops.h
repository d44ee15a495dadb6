/*
 * schedule_ops.h - what people do to schedules.
 *
 * Synchronous: they run the loop of the queue.  *out is the record as it is
 * then, the caller's to fini, on QO_OK only; it may borrow strings of what
 * was passed in.
 */
#ifndef QO_SCHEDULE_OPS_H
#define QO_SCHEDULE_OPS_H

#include "schedule_change.h"

/* QO_NOENT: there is none. */
enum qo_rc qo_schedule_read(struct qo_queue *q, const char *id,
    struct qo_schedule *out, struct qo_err *err);
/*
 * Makes it as want says: cron, timezone, target, input, options, rules and
 * paused.  QO_LOST: there is one and replace is not set.  When one is
 * replaced, what has run and what is being run stays known, and its next
 * time stays when it is due at the same times as before.
 */
enum qo_rc qo_schedule_put(struct qo_queue *q, const struct qo_schedule *want,
    bool replace, struct qo_schedule *out, struct qo_err *err);
/* Times that pass while it is paused are not made up for.  changed: it was
 * not so before. */
enum qo_rc qo_schedule_pause(struct qo_queue *q, const char *id, bool paused,
    struct qo_schedule *out, bool *changed, struct qo_err *err);
/* What it has submitted stays.  QO_NOENT: there is none. */
enum qo_rc qo_schedule_delete(struct qo_queue *q, const char *id,
    struct qo_err *err);

#endif
