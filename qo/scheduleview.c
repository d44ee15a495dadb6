#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "scheduleview.h"
#include "taskview.h"

#define TIMES    5
#define LINE_LEN 8192

enum exit_code
scheduleview_check_id(const char *arg)
{
	if (qo_name_valid(arg, strlen(arg)))
		return EXIT_OK;
	return exit_usage("%s: the id of a schedule is 1 to 128 of A-Z a-z "
			  "0-9 . _ -",
	    arg);
}

const char *
scheduleview_time(const struct qo_tz *tz, struct qo_wall t,
    char out[SCHEDULEVIEW_TIME_SIZE])
{
	static const char days[7][4] = { "Sun", "Mon", "Tue", "Wed", "Thu",
		"Fri", "Sat" };
	struct qo_tz_time z;
	char at[TASKVIEW_TIME_SIZE];
	int minutes;

	if (!qo_wall_is_set(t) || tz == NULL) {
		snprintf(out, SCHEDULEVIEW_TIME_SIZE, "%s",
		    taskview_time(t, at));
		return out;
	}
	qo_tz_local(tz, t.us / QO_US_PER_SEC, &z);
	minutes = abs((int)z.offset_s) / 60;
	snprintf(out, SCHEDULEVIEW_TIME_SIZE,
	    "%s %04d-%02d-%02d %02d:%02d:%02d %c%02d:%02d", days[z.date.wday],
	    z.date.year % 10000, z.date.month % 100, z.date.day % 100,
	    z.hour % 100, z.minute % 100, z.second % 100,
	    z.offset_s < 0 ? '-' : '+', minutes / 60 % 100, minutes % 60);
	return out;
}

/* Rows of a name and a value */

static void
row(const char *name, const char *value)
{
	if (value == NULL)
		return;
	out_text(OUT_DIM, "%-14s", name);
	out_text(OUT_PLAIN, "%s", value);
	out_raw("\n", 1);
}

static void
row_json(const char *name, const struct qo_json *v)
{
	if (v->p == NULL || (v->len == 2 && memcmp(v->p, "{}", 2) == 0))
		return;
	out_text(OUT_DIM, "%-14s", name);
	taskview_json(v);
	out_raw("\n", 1);
}

static void
row_time(const char *name, const struct qo_tz *tz, struct qo_wall t,
    struct qo_wall now)
{
	char at[SCHEDULEVIEW_TIME_SIZE];
	struct buf b;

	if (!qo_wall_is_set(t))
		return;
	buf_init(&b, LINE_LEN);
	buf_addf(&b, "%s, ", scheduleview_time(tz, t, at));
	taskview_add_when(&b, t, now);
	row(name, b.data);
	buf_fini(&b);
}

void
scheduleview_next(const struct qo_schedule *s, struct qo_wall now)
{
	struct qo_schedule_clock clock;
	struct qo_err err = { 0 };
	struct qo_wall t = s->next_due;
	int i;

	if (s->paused) {
		row("next", "none, it is paused");
		return;
	}
	if (qo_schedule_clock_open(&clock, s, &err) == -1) {
		row("next", err.msg);
		return;
	}
	if (!qo_wall_is_set(t))
		t = qo_schedule_next(&clock, now);
	if (!qo_wall_is_set(t))
		row("next", "none");
	for (i = 0; i < TIMES && qo_wall_is_set(t); i++) {
		row_time(i == 0 ? "next" : "", clock.tz, t, now);
		t = qo_schedule_next(&clock, t);
	}
	qo_schedule_clock_close(&clock);
}

void
scheduleview_show(const struct qo_schedule *s, struct qo_wall now)
{
	struct qo_schedule_clock clock = { .tz = NULL };
	struct qo_err err;

	(void)qo_schedule_clock_open(&clock, s, &err);
	row("schedule", s->id);
	row("cron", s->cron);
	row("time zone", s->timezone);
	row("type", s->task_type);
	row("workflow", s->workflow);
	row_json("input", &s->input);
	row_json("options", &s->options);
	row("catch up", qo_catch_up_names[s->catch_up]);
	row("overlap", qo_overlap_names[s->overlap]);
	row("paused", s->paused ? "yes" : "no");
	row_time("last due", clock.tz, s->last_due, now);
	row("last decision", qo_decision_name(s->last_decision));
	row("last task", s->last_task_id);
	scheduleview_next(s, now);
	row_time("created", clock.tz, s->created_at, now);
	row_time("updated", clock.tz, s->updated_at, now);
	qo_schedule_clock_close(&clock);
}

enum exit_code
scheduleview_json(const struct qo_schedule *s)
{
	enum exit_code code = EXIT_OK;
	struct qo_err err = { 0 };
	struct buf b;

	buf_init(&b, QO_SCHEDULE_LEN_MAX);
	if (qo_schedule_encode(s, &b, &err) == 0)
		out_json(b.data, b.len);
	else
		code = exit_fail(QO_ERR, &err);
	buf_fini(&b);
	return code;
}
