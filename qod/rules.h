/*
 * rules.h - what the master decides, without doing it.
 *
 * Pure functions over the facts of one moment: when a process is started
 * again, when it is taken for stuck, who is told to end next.
 */
#ifndef RULES_H
#define RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A process has ended. */
struct rules_death {
	int status;        /* as waitpid gave it */
	bool wanted;       /* it was not asked to end */
	int64_t uptime_ms; /* how long it had run */
	int64_t delay_ms;  /* what its last start had waited for */
};

enum rules_end {
	RULES_GONE = 0, /* as asked */
	RULES_RESTART,  /* crashed: again after *delay_ms */
	RULES_FAILED    /* its configuration is wrong: not again */
};

/* Exit 0 of a process that is wanted is a crash, too. */
enum rules_end rules_after_death(const struct rules_death *d,
    int64_t *delay_ms);

/* The heartbeat of one process, as seen by the looks at it so far. */
struct rules_beat {
	int64_t seen;
	int64_t still_ms;
};

/*
 * One look, elapsed_ms after the last one.  True: it has stood still for
 * limit_ms.  Only the time between two looks counts, at most step_ms of it:
 * when the machine sleeps, the master does not look either.
 */
bool rules_stuck(struct rules_beat *b, int64_t beat, int64_t elapsed_ms,
    int64_t step_ms, int64_t limit_ms);
/* Time between two looks: a quarter of the limit, a second at least. */
int64_t rules_look_ms(int64_t limit_ms);

/* Stages of a stop, first to last. */
enum rules_stage {
	RULES_STAGE_WORK = 0, /* those that claim or start work */
	RULES_STAGE_REPAIR,   /* those that take back what was lost */
	RULES_STAGE_STORE,
	RULES_STAGES
};

/* Who ends now; RULES_STAGES: all have.  Those who repair stay until the
 * last slot is handed back, unless that has taken too long. */
enum rules_stage rules_stop(const size_t alive[RULES_STAGES], size_t lost,
    bool overdue);

/* How many workers: what is configured and what signals added, 1 to max. */
int rules_workers(int configured, int extra, int max);

#endif
