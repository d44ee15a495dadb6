#include <string.h>

#include "cas.h"
#include "retry.h"

/* Lost races before we begin to pause, and how long. */
#define EAGER_ROUNDS 3
#define PAUSE_MIN_MS 5
#define PAUSE_MAX_MS 500

const char *
qo_cas_next(struct qo_cas_ids *w)
{
	char *id = w->ids[w->n++ % QO_CAS_WRITES];

	qo_uuid_v4(id);
	return id;
}

bool
qo_cas_is_ours(const struct qo_cas_ids *w, const char *updated_by)
{
	size_t i;

	for (i = 0; updated_by != NULL && i < w->n && i < QO_CAS_WRITES; i++)
		if (strcmp(updated_by, w->ids[i]) == 0)
			return true;
	return false;
}

bool
qo_cas_refused(const struct qo_s3_res *res)
{
	switch (res->outcome) {
	case QO_S3_DENIED:
	case QO_S3_UNREACHABLE:
	case QO_S3_TOO_LARGE:
	case QO_S3_UNSUPPORTED:
	case QO_S3_WRONG_REGION:
	case QO_S3_REJECTED:
		return !res->maybe_applied;
	case QO_S3_OK:
	case QO_S3_NOT_MODIFIED:
	case QO_S3_NOT_FOUND:
	case QO_S3_PRECONDITION:
	case QO_S3_CONFLICT:
	case QO_S3_SLOW_DOWN:
	case QO_S3_AMBIGUOUS:
	case QO_S3_BAD_RESPONSE:
	case QO_S3_OUTCOMES:
		break;
	}
	return false;
}

int64_t
qo_cas_pause_ms(unsigned rounds)
{
	if (rounds <= EAGER_ROUNDS)
		return 0;
	return PAUSE_MIN_MS +
	    qo_retry_full_jitter_ms(PAUSE_MIN_MS, PAUSE_MAX_MS,
		rounds - EAGER_ROUNDS, qo_retry_random());
}
