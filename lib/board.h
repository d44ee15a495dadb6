/*
 * board.h - the scoreboard: what each process of one qod is doing, in memory
 * that they share (a memfd).
 *
 * The file has a directory, which qod alone writes, and a row of areas, one
 * for each process, each with counters, a row for each handler section (and one
 * for all other tasks, board_rows.h) and a slot for each task that may run at
 * once.  qod makes areas and hands one to each child; the child alone, and one
 * thread of it, writes there (all else is mapped read-only); qod, the monitor
 * (metrics) and `qo top` (through qod) read.  No reader trusts a size or a
 * string that a child could have spoilt.  Numbers are atomics; a slot and what
 * has text is a cell (cell.h).  A process that runs alone has an area in memory
 * of its own.
 *
 * A slot is set before the claim of its task is sent and cleared after its
 * commit is known.  A process that is killed inside either leaves what was
 * there before, whole: whoever finds a dead process's slots knows all that it
 * may have held.  (A handler started an instant before that death may not be
 * in its slot yet: start handlers with die_with_parent.)
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

#define BOARD_ID     37  /* a UUID */
#define BOARD_NAME   129 /* a type, a handler, a worker id */
#define BOARD_REST   "*" /* name and type of the row for all that have none */
#define BOARD_NOTE   256
#define BOARD_STEPS  14 /* buckets of the histogram, board_step_ms() */
#define BOARD_S3_MAX 16 /* room for kinds of requests, and for outcomes */

enum board_role {
	BOARD_FREE = 0,
	BOARD_STORE,
	BOARD_MONITOR,
	BOARD_SWEEPER,
	BOARD_WORKER
};
enum board_state {
	BOARD_STARTING = 0,
	BOARD_READY,
	BOARD_DRAINING
};

/* Counters of a process; they only rise. */
enum board_counter {
	BOARD_CLAIMED = 0,
	BOARD_CLAIM_CONFLICTS, /* somebody else was first */
	BOARD_COMPLETED,       /* from here to LOST: see board_task_ended */
	BOARD_FAILED,
	BOARD_RETRIED,
	BOARD_RESCHEDULED,
	BOARD_REQUEUED,
	BOARD_CANCELLED,
	BOARD_EXPIRED,
	BOARD_LOST, /* results dropped: the lease was gone */
	BOARD_RENEWED,
	BOARD_RECLAIMED,     /* monitor: leases that had run out */
	BOARD_RECOVERED,     /* monitor: tasks of dead processes */
	BOARD_ORPHANS,       /* monitor: index entries removed */
	BOARD_INDEX_REPAIRS, /* entries that were missing: 0 */
	BOARD_RETIRED,       /* retention: tasks removed */
	BOARD_SCHEDULED,     /* runs of schedules submitted */
	BOARD_RESTARTS,      /* of processes that died; see board_restarted */
	BOARD_S3_RETRIES,
	BOARD_S3_OPS, /* + enum qo_s3_op: requests sent */
	BOARD_S3_OUTCOMES = BOARD_S3_OPS + BOARD_S3_MAX, /* BOARD_S3_ENDED */
	BOARD_COUNTERS = BOARD_S3_OUTCOMES + BOARD_S3_MAX * BOARD_S3_MAX
};
/* Requests of enum qo_s3_op that ended with enum qo_s3_outcome. */
#define BOARD_S3_ENDED(op, outcome) \
	(BOARD_S3_OUTCOMES + (unsigned)(op)*BOARD_S3_MAX + (unsigned)(outcome))
/* Values of a process that go up and down. */
enum board_gauge {
	BOARD_HEARTBEAT_MS = 0, /* CLOCK_BOOTTIME; set by role.c */
	BOARD_RUNNING,          /* slots in use; board.c keeps it */
	BOARD_SKEW_MS,
	BOARD_READY_TASKS,     /* monitor: as of its last look; -1 unknown */
	BOARD_OLDEST_READY_MS, /* age of the oldest due one; -1 none */
	BOARD_LEASES,
	BOARD_FAILED_TASKS,
	BOARD_WORKERS, /* that were heard of lately, on any host */
	BOARD_WORKERS_STALE,
	BOARD_GAUGES = 16
};
#define BOARD_ENDS (BOARD_LOST - BOARD_COMPLETED + 1)

/* As people see it, "claimed"; NULL: has no name here. */
const char *board_counter_name(unsigned counter);

struct board;      /* all of it; qod and readers */
struct board_area; /* one process's */

/* A task of a slot, copied out. */
struct board_task {
	char task_id[BOARD_ID];
	char lease_id[BOARD_ID];
	char type[BOARD_NAME];
	int64_t generation;
	int64_t attempt;
	int64_t started_ms; /* wall clock; 0: being claimed */
	/* Leads a process group; 0: none yet.  It is what the process said:
	 * who has more rights than that one looks before it kills. */
	pid_t handler;
};
struct board_handler {
	char name[BOARD_NAME];
	char type[BOARD_NAME];       /* as configured: may end with * */
	uint64_t ends[BOARD_ENDS];   /* of its tasks, from BOARD_COMPLETED on */
	uint64_t steps[BOARD_STEPS]; /* not cumulative */
	uint64_t sum_ms;
};
struct board_info {
	enum board_role role;
	enum board_state state;
	pid_t pid;
	int index;             /* of its role */
	int generation;        /* of the configuration */
	int64_t started_ms;    /* wall clock */
	char name[BOARD_NAME]; /* the worker's id */
	char note[BOARD_NOTE]; /* a line for people, e.g. why not ready */
	size_t nslots, nhandlers;
	uint64_t counters[BOARD_COUNTERS];
	int64_t gauges[BOARD_GAUGES];
};

/* qod's: NULL with *err. */
struct board *board_create(struct qo_err *err);
/* Of an inherited descriptor, which becomes the board's (also on failure).
 * writable: qod, after it has exec'ed itself; false: a child, or a reader.
 * Refuses a board that another version of qo has made. */
struct board *board_open(int fd, bool writable, struct qo_err *err);
void board_free(struct board *b); /* NULL is fine */
int board_fd(const struct board *b);
/* An area for a new process, cleared; its offset, to be given to the child,
 * or -1 with *err.  A free area that fits is used again. */
int64_t board_alloc(struct board *b, enum board_role role, int index,
    int generation, size_t nslots, size_t nhandlers, struct qo_err *err);
/* When its process is dead and its slots were looked at.  Its counters and
 * those of its handlers are added to what all that are gone have counted, so
 * that no sum ever falls. */
void board_release(struct board *b, int64_t offset);
/* qod has to start one again that died. */
void board_restarted(struct board *b);
/* Borrowed; NULL: no such area is in use.  Good until the board is freed, but
 * of that process only until its area is released. */
struct board_area *board_at(struct board *b, int64_t offset);
/* The first area (prev == NULL) or the next one in use; NULL at the end. */
struct board_area *board_next(struct board *b, const struct board_area *prev);
int64_t board_offset(const struct board_area *a);
/* What those have counted that are gone: counters and handlers only.  Not one
 * of the areas of board_next; NULL: none is gone yet. */
struct board_area *board_gone(struct board *b);
/* While a process's counts move from its area to those of the gone, a sum of
 * all would have them twice or not at all: a reader takes the number before
 * and after, and sums again when it is odd or has changed. */
uint64_t board_moves(const struct board *b);

/* The writer's side.  The child's own area, made writable; pid and start are
 * noted.  NULL with *err. */
struct board_area *board_own(struct board *b, int64_t offset,
    struct qo_err *err);
struct board_area *board_private(enum board_role role, size_t nslots,
    size_t nhandlers);
void board_private_free(struct board_area *a); /* NULL is fine */
void board_add(struct board_area *a, unsigned counter, uint64_t n);
void board_set_counter(struct board_area *a, unsigned counter, uint64_t n);
void board_gauge(struct board_area *a, enum board_gauge g, int64_t value);
void board_set_state(struct board_area *a, enum board_state state);
void board_set_name(struct board_area *a, const char *name);
void board_set_note(struct board_area *a, const char *note);
/* Both keep BOARD_RUNNING right.  t->task_id is not empty. */
void board_slot_set(struct board_area *a, size_t slot,
    const struct board_task *t);
void board_slot_clear(struct board_area *a, size_t slot);
/* Rows with the same name and type are summed up as one. */
void board_handler_name(struct board_area *a, size_t i, const char *name,
    const char *type);
void board_handler_ran(struct board_area *a, size_t i, int64_t ms);
/* An attempt, or a task that had none, has ended so (BOARD_COMPLETED to
 * BOARD_LOST): counted for the process and for the row. */
void board_task_ended(struct board_area *a, size_t i, enum board_counter how);

/* The reader's side. */
void board_read(const struct board_area *a, struct board_info *out);
/* False: the slot is empty, or (of a live process only) changes too fast to
 * be read now. */
bool board_slot_read(const struct board_area *a, size_t slot,
    struct board_task *out);
/* False: no such row, or it has no name yet. */
bool board_handler_read(const struct board_area *a, size_t i,
    struct board_handler *out);
/* Upper bound, inclusive; the last is INT64_MAX. */
int64_t board_step_ms(size_t step);
const char *board_role_name(enum board_role role); /* "worker" */
const char *board_state_name(enum board_state state);

#endif
