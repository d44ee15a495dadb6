/*
 * cas.h - what every compare-and-swap of a record has to do around its PUT:
 * know its own writes again, tell an answer that settles something from one
 * that does not, and give way when others are always first (R4, R5).
 */
#ifndef QO_CAS_H
#define QO_CAS_H

#include "s3.h"
#include "uuid.h"

/* Write ids that are remembered: an older write can not win any more. */
#define QO_CAS_WRITES 8

struct qo_cas_ids {
	char ids[QO_CAS_WRITES][QO_UUID_SIZE];
	size_t n; /* made so far */
};

/* A fresh id for the next write; borrowed, until as many others were made. */
const char *qo_cas_next(struct qo_cas_ids *w);
/* Is this updated_by (NULL: nobody's) of one of those writes? */
bool qo_cas_is_ours(const struct qo_cas_ids *w, const char *updated_by);

/* Not written for certain, and asking again would not help.  After anything
 * else that is not OK the record is read again, and decided again. */
bool qo_cas_refused(const struct qo_s3_res *res);

/* How long to wait before deciding again after so many rounds; 0: not at
 * all, for the first few. */
int64_t qo_cas_pause_ms(unsigned rounds);

#endif
