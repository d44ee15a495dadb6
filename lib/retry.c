#include <stdlib.h>
#include <string.h>

#include "retry.h"

static const char *const kinds[] = { "exponential", "linear", "constant" };

void
qo_retry_defaults(struct qo_retry_policy *p)
{
	p->kind = QO_RETRY_EXPONENTIAL;
	p->initial_interval_ms = 1000;
	p->max_interval_ms = 60000;
	p->multiplier = 2.0;
	p->jitter_percent = 0.25;
}

int
qo_retry_check(const struct qo_retry_policy *p, struct qo_err *err)
{
	if (p->initial_interval_ms < 0 ||
	    p->initial_interval_ms > QO_RETRY_INTERVAL_MAX_MS)
		qo_err_set(err, "initial_interval_ms: not in 0 to %lld",
		    (long long)QO_RETRY_INTERVAL_MAX_MS);
	else if (p->max_interval_ms < p->initial_interval_ms ||
	    p->max_interval_ms > QO_RETRY_INTERVAL_MAX_MS)
		qo_err_set(err,
		    "max_interval_ms: not in initial_interval_ms to %lld",
		    (long long)QO_RETRY_INTERVAL_MAX_MS);
	/* Written so that NaN fails. */
	else if (!(p->multiplier >= 1.0 &&
		     p->multiplier <= QO_RETRY_MULTIPLIER_MAX))
		qo_err_set(err, "multiplier: not in 1 to %g",
		    QO_RETRY_MULTIPLIER_MAX);
	else if (!(p->jitter_percent >= 0.0 && p->jitter_percent <= 1.0))
		qo_err_set(err, "jitter_percent: not in 0 to 1");
	else
		return 0;
	return -1;
}

const char *
qo_retry_kind_name(enum qo_retry_kind kind)
{
	return kinds[kind];
}

int
qo_retry_kind_parse(const char *word, enum qo_retry_kind *kind)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(word, kinds[i]) == 0) {
			*kind = (enum qo_retry_kind)i;
			return 0;
		}
	}
	return -1;
}

/* v * multiplier^(n - 1) by squaring: 63 steps for any n.  What grows beyond
 * all bounds becomes infinity, which the caller's cap then cuts. */
static double
grow(double v, double multiplier, int64_t n)
{
	if (v <= 0.0)
		return v;
	for (n = n > 0 ? n - 1 : 0; n > 0; n /= 2) {
		if (n % 2 == 1)
			v *= multiplier;
		multiplier *= multiplier;
	}
	return v;
}

int64_t
qo_retry_backoff_ms(const struct qo_retry_policy *p, int64_t n, double u)
{
	double cap = (double)p->max_interval_ms;
	double v = (double)p->initial_interval_ms;

	switch (p->kind) {
	case QO_RETRY_EXPONENTIAL:
		v = grow(v, p->multiplier, n);
		break;
	case QO_RETRY_LINEAR:
		v *= (double)(n < 1 ? 1 : n);
		break;
	case QO_RETRY_CONSTANT:
		break;
	}
	if (v > cap)
		v = cap;
	v *= 1.0 - p->jitter_percent + 2.0 * p->jitter_percent * u;
	return (int64_t)(v + 0.5);
}

int64_t
qo_retry_full_jitter_ms(int64_t base_ms, int64_t cap_ms, int64_t attempt,
    double u)
{
	double v;

	v = grow((double)base_ms, 2.0,
	    attempt < INT64_MAX ? attempt + 1 : attempt);
	if (v > (double)cap_ms)
		v = (double)cap_ms;
	return (int64_t)(v * u);
}

double
qo_retry_random(void)
{
	return arc4random() / 4294967296.0;
}
