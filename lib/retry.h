/*
 * retry.h - how long to wait before trying again.
 *
 * Pure: the caller passes a uniform random number u in [0, 1), so tests are
 * exact.  Any retry number is fine: nothing overflows.
 */
#ifndef QO_RETRY_H
#define QO_RETRY_H

#include <stdint.h>

#include "err.h"

enum qo_retry_kind {
	QO_RETRY_EXPONENTIAL = 0, /* initial * multiplier^(n - 1) */
	QO_RETRY_LINEAR,          /* initial * n */
	QO_RETRY_CONSTANT         /* initial */
};

struct qo_retry_policy {
	enum qo_retry_kind kind;
	int64_t initial_interval_ms; /* 1 s */
	int64_t max_interval_ms;     /* 60 s */
	double multiplier;           /* 2.0; exponential only */
	double jitter_percent;       /* 0.25 of the interval, either way */
};

#define QO_RETRY_INTERVAL_MAX_MS (INT64_C(366) * 86400 * 1000)
#define QO_RETRY_MULTIPLIER_MAX  1000.0

void qo_retry_defaults(struct qo_retry_policy *p);
/* -1 with *err naming the member: intervals 0 to a year and the first not
 * above the largest, multiplier 1 to 1000, jitter 0 to 1. */
int qo_retry_check(const struct qo_retry_policy *p, struct qo_err *err);
/* "exponential", ...; parse: -1 when it is none of them. */
const char *qo_retry_kind_name(enum qo_retry_kind kind);
int qo_retry_kind_parse(const char *word, enum qo_retry_kind *kind);

/* Milliseconds before retry n (the first is 1): the interval of the kind,
 * capped at the largest, times a factor in [1 - jitter, 1 + jitter].  p has
 * passed the check. */
int64_t qo_retry_backoff_ms(const struct qo_retry_policy *p, int64_t n,
    double u);
/* Full jitter for requests: uniform in [0, min(cap, base * 2^attempt)),
 * attempt from 0. */
int64_t qo_retry_full_jitter_ms(int64_t base_ms, int64_t cap_ms,
    int64_t attempt, double u);
/* A uniform random number in [0, 1) from arc4random. */
double qo_retry_random(void);

#endif
