#include <stdio.h>

#include "health.h"
#include "log.h"

void
health_note(struct health *h, enum qo_rc rc, const struct qo_err *err,
    struct qo_mono now)
{
	if (rc != QO_AGAIN && rc != QO_DENIED && rc != QO_ERR) {
		h->answered = now;
		if (h->failing)
			log_info("the store answers again");
		h->failing = false;
		return;
	}
	snprintf(h->why, sizeof(h->why), "%s", err->msg);
	if (!h->failing)
		log_event(LOG_LVL_WARN,
		    "the store does not answer as it should", "why", h->why,
		    NULL);
	h->failing = true;
}

const char *
health_why_not(struct health *h, int64_t within_ms, struct qo_mono now)
{
	if (!h->open)
		return "the queue has not been opened yet";
	if (qo_mono_diff_us(h->answered, now) <= within_ms * QO_US_PER_MS)
		return NULL;
	return h->failing ? h->why : "the store has not answered lately";
}
