/*
 * probe.h - does this store do what the rules of the queue need?
 *
 * The protocol stands on a few properties that not every S3 store has: that
 * of many conditional writes one wins, that a LIST shows what was written
 * and in order, that an old signature is refused.  The probe tries each on
 * the real buckets, under keys of its own ({prefix}qo-probe/{uuid}/), which
 * it removes at the end.  The verdict is kept in control/queue.json; daemons
 * refuse a store that failed.
 */
#ifndef QO_PROBE_H
#define QO_PROBE_H

#include "control.h"
#include "s3.h"

#define QO_PROBE_CHECKS_MAX 24
#define QO_PROBE_WRITERS    16

enum qo_probe_level {
	QO_PROBE_PASS = 0,
	QO_PROBE_WARN, /* works, but something is missing or costs more */
	QO_PROBE_FAIL  /* the rules do not hold here */
};

struct qo_probe_check {
	const char *name; /* a literal: "race-if-match" */
	enum qo_probe_level level;
	char detail[200]; /* what was seen */
	const char *fix;  /* a literal; NULL when it passed */
};

struct qo_probe_conf {
	const char *bucket;
	const char *index_bucket; /* NULL: the same */
	const char *prefix;       /* "" for none */
	bool versioning;          /* the bucket has to be versioned */
	bool find_etag_form;      /* try the bare form when quotes fail */
};

struct qo_probe {
	struct qo_probe_check checks[QO_PROBE_CHECKS_MAX];
	size_t n;
	bool etag_bare; /* If-Match takes only ETags without quotes */
};

/*
 * Synchronous, about 200 small requests.  QO_OK: the checks have been made,
 * whatever they found.  Else the store could not be asked (*err), or not all
 * the time: QO_AGAIN, QO_DENIED, QO_NOENT (there is no bucket), QO_ERR.  Leaves the
 * client with the ETag form that was found.
 */
enum qo_rc qo_probe_run(struct qo_probe *p, struct loop *l, struct qo_s3 *s3,
    const struct qo_probe_conf *conf, struct qo_err *err);
/* The worst of its checks. */
enum qo_probe_level qo_probe_verdict(const struct qo_probe *p);
const char *qo_probe_level_name(enum qo_probe_level level); /* "pass" */

/* The member `probe` of the control record: {verdict, at, version, etag,
 * failed []}. */
void qo_probe_encode(const struct qo_probe *p, struct qo_wall at,
    struct buf *out);
/* What the control record says of the store: -1 with *err when it failed the
 * probe and must not be used; 0 also when there was no probe.  *bare: the
 * ETag form that was found. */
int qo_probe_judge(const struct qo_control *c, bool *bare, struct qo_err *err);

#endif
