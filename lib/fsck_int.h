/*
 * fsck_int.h - what the parts of fsck.h share.
 */
#ifndef QO_FSCK_INT_H
#define QO_FSCK_INT_H

#include "fsck.h"

/* Counts it and tells the caller. */
void qo_fsck_report(struct qo_fsck *f, enum qo_fsck_kind kind, const char *key,
    const char *detail, bool repaired);
/* Written so lately that it may be somebody's work under way. */
bool qo_fsck_is_young(const struct qo_fsck *f, struct qo_wall modified);
/* All schedules. */
enum qo_rc qo_fsck_schedules(struct qo_fsck *f, struct qo_err *err);

#endif
