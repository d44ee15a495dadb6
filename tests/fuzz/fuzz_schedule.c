/*
 * Schedules: decode -> encode -> decode gives the same text again, and what
 * is taken can be decided on without harm.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
encode(const struct qo_schedule *s, struct buf *b)
{
	struct qo_err err;

	buf_init(b, 2 * QO_SCHEDULE_LEN_MAX);
	if (qo_schedule_encode(s, b, &err) == -1)
		abort();
}

static void
check_text(struct qo_schedule *s)
{
	struct qo_schedule back;
	struct qo_err err;
	struct buf a, b;

	encode(s, &a);
	if (qo_schedule_decode(&back, s->id, a.data, a.len, &err) == -1)
		abort();
	encode(&back, &b);
	if (a.len != b.len || memcmp(a.data, b.data, a.len) != 0 ||
	    s->nfiring != back.nfiring || s->next_due.us != back.next_due.us)
		abort();
	qo_schedule_fini(&back);
	buf_fini(&a);
	buf_fini(&b);
}

static void
check_plan(struct qo_schedule *s, bool unfinished)
{
	static const struct qo_wall now = { INT64_C(1769601600000000) };
	static struct qo_schedule_plan plan;
	struct qo_schedule_clock clock;
	struct qo_err err;

	/* A zone of the system would make this another test elsewhere. */
	s->timezone = "UTC";
	if (qo_schedule_clock_open(&clock, s, &err) == -1)
		abort();
	qo_schedule_plan(s, &clock, now, unfinished, &plan);
	if (plan.nruns > 0 &&
	    (!plan.writes || plan.runs[plan.nruns - 1].us > now.us ||
		plan.runs[plan.nruns - 1].us != plan.last_due.us))
		abort();
	if (plan.writes) {
		qo_schedule_apply(s, &plan, "");
		check_text(s);
	}
	qo_schedule_clock_close(&clock);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qo_schedule s;
	struct qo_err err;

	if (qo_schedule_decode(&s, NULL, (const char *)data, size, &err) == -1)
		return 0;
	check_text(&s);
	/* Every second since the year 1 is no test of anything. */
	if (!qo_wall_is_set(s.next_due) ||
	    s.next_due.us > INT64_C(1700000000000000))
		check_plan(&s, size % 2 == 1);
	qo_schedule_fini(&s);
	return 0;
}
