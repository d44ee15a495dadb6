/*
 * Cron expressions: what is taken has times that rise, and the last one
 * before a moment is the one that counting from before finds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cron.h"
#include "tz_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct qo_tz zone;

static void
check_times(const struct qo_cron *c, struct qo_wall from)
{
	struct qo_wall t = from, next, last;
	int i;

	for (i = 0; i < 20; i++) {
		if (!qo_cron_next(c, &zone, t, &next)) {
			/* Only where the calendar ends. */
			if (t.us < INT64_C(250000000000) * QO_US_PER_SEC)
				abort();
			return;
		}
		if (next.us <= t.us || next.us % QO_US_PER_SEC != 0)
			abort();
		if (!qo_cron_latest(c, &zone, from, next, &last) ||
		    last.us != next.us)
			abort();
		if (i > 0 &&
		    (!qo_cron_latest(c, &zone, from,
			 (struct qo_wall){ next.us - 1 }, &last) ||
			last.us != t.us))
			abort();
		t = next;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const rules[] = { "UTC0",
		"CET-1CEST,M3.5.0,M10.5.0/3",
		"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0" };
	char expr[300];
	struct qo_cron c;
	struct qo_err err;
	const char *rule;

	if (size < 2 || size > sizeof(expr))
		return 0;
	rule = rules[data[0] % 3];
	zone.has_rule = true;
	if (qo_tzrule_parse(rule, strlen(rule), &zone.rule) == -1)
		abort();
	memcpy(expr, data + 2, size - 2);
	expr[size - 2] = '\0';
	if (qo_cron_parse(&c, expr, &err) == -1) {
		if (err.msg[0] == '\0')
			abort();
		return 0;
	}
	/* Some day of 2026 and 2027. */
	check_times(&c,
	    (struct qo_wall){
		(INT64_C(1767225600) + data[1] * 250000) * QO_US_PER_SEC });
	return 0;
}
