#include <sys/wait.h>
#include <sysexits.h>

#include "proc.h"
#include "rules.h"

enum rules_end
rules_after_death(const struct rules_death *d, int64_t *delay_ms)
{
	*delay_ms = 0;
	if (!d->wanted)
		return RULES_GONE;
	if (WIFEXITED(d->status) && WEXITSTATUS(d->status) == EX_CONFIG)
		return RULES_FAILED;
	*delay_ms = proc_backoff(d->delay_ms, d->uptime_ms);
	return RULES_RESTART;
}

bool
rules_stuck(struct rules_beat *b, int64_t beat, int64_t elapsed_ms,
    int64_t step_ms, int64_t limit_ms)
{
	if (beat != b->seen) {
		b->seen = beat;
		b->still_ms = 0;
		return false;
	}
	b->still_ms += elapsed_ms < step_ms ? elapsed_ms : step_ms;
	return b->still_ms >= limit_ms;
}

int64_t
rules_look_ms(int64_t limit_ms)
{
	return limit_ms / 4 > 1000 ? limit_ms / 4 : 1000;
}

enum rules_stage
rules_stop(const size_t alive[RULES_STAGES], size_t lost, bool overdue)
{
	if (alive[RULES_STAGE_WORK] > 0)
		return RULES_STAGE_WORK;
	if (alive[RULES_STAGE_REPAIR] > 0)
		return lost > 0 && !overdue ? RULES_STAGE_WORK
					    : RULES_STAGE_REPAIR;
	return alive[RULES_STAGE_STORE] > 0 ? RULES_STAGE_STORE : RULES_STAGES;
}

int
rules_workers(int configured, int extra, int max)
{
	int n = configured + extra;

	if (n < 1)
		return 1;
	return n > max ? max : n;
}
