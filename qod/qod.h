/*
 * qod.h - the master's state, which its modules share.
 *
 * One struct qod for the process.  A generation is one checked configuration;
 * a child is one place for a process of a role under a generation, and lives
 * as long as that is wanted or its process runs.
 */
#ifndef QOD_H
#define QOD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "account.h"
#include "board.h"
#include "clock.h"
#include "conf.h"
#include "loop.h"
#include "rules.h"
#include "stray.h"

struct control;
struct qod;

/* A row of the table in roles.c. */
struct qod_role {
	enum board_role kind;
	const char *name;       /* "worker": of logs and status */
	const char *program;    /* "qo-worker" */
	const char *installed;  /* where `make install` puts it */
	enum rules_stage stage; /* of a stop */
	/* Replaced at a reload by one that is ready before it ends.  Else there
	 * can be one at a time: ended first, and only for good reason. */
	bool overlaps;
	int (*count)(const struct qod *q, const struct conf *c);
};

struct generation {
	int number;
	struct conf *conf;
	int fd; /* its text with secrets, a sealed memfd */
	struct account account;
	unsigned refs;
};

enum child_state {
	CHILD_DOWN = 0, /* no process; starts when its timer is due */
	CHILD_STARTING, /* has not said ready */
	CHILD_READY,
	CHILD_DRAINING, /* told to end */
	CHILD_FAILED    /* exit 78: stays down until the next reload */
};

struct child {
	TAILQ_ENTRY(child) entry;
	struct qod *q;
	const struct qod_role *role;
	int index;
	struct generation *gen; /* that its process is to be started with */
	int generation;         /* that it was started with; 0: never */
	enum child_state state;
	bool retired; /* not wanted any more: gone when its process is */
	bool told_end, told_now; /* of a stop */
	pid_t pid;               /* 0: none */
	struct loop_io ctl;
	struct loop_timer timer; /* DOWN: start; DRAINING: SIGKILL */
	struct qo_mono started;
	int64_t delay_ms;
	int64_t area; /* of the board; -1: none */
	struct rules_beat beat;
	int restarts;
	char why[192];  /* how it ended last, or why it did not start */
	char note[256]; /* its own words */
};
TAILQ_HEAD(children, child);

/* A task that a dead process may have held; see lost.h. */
struct lost {
	TAILQ_ENTRY(lost) entry;
	char task[BOARD_ID];
	char lease[BOARD_ID];
	int64_t generation;
	pid_t told; /* the monitor that knows; 0: none yet */
};
TAILQ_HEAD(losts, lost);

/* The last reload, for people. */
struct reload_result {
	bool any;
	bool ok;
	int64_t at_ms; /* wall clock */
	int64_t took_ms;
	char text[512]; /* why not, or "" */
};

enum reload_phase {
	RELOAD_IDLE = 0,
	RELOAD_STARTING, /* the next generation starts beside this one */
	RELOAD_STORE     /* the store is being replaced */
};

struct qod {
	struct loop *loop;
	struct board *board;
	const char *file; /* of the configuration */
	char *program;    /* this binary's name, for the next one */
	char **argv;
	bool verbose;
	struct generation *gen;      /* that is in force */
	struct generation *next;     /* of a reload under way, else NULL */
	struct generation *previous; /* while the store is replaced */
	struct children children;
	struct losts lost;
	size_t nlost;
	int last_generation;
	int pidfile;               /* locked; -1: none */
	int store_tcp, store_unix; /* sockets; -1: none */
	int control_fd;            /* listening; -1: none */
	struct control *control;   /* of it; NULL: nobody listens */
	int extra;                 /* workers more or less than configured */
	bool quiet;
	bool store_up;  /* it was ready once */
	bool announced; /* all were ready once */
	bool stopping, now;
	int exit_code;
	struct qo_wall started;
	/* reload.c */
	enum reload_phase phase;
	bool reload_again, replace_store;
	struct qo_mono reload_began;
	struct loop_timer reload_timer;
	struct reload_result reload;
	/* command.c */
	int64_t reloads; /* that have ended */
	struct loop_timer drain_timer;
	int idle_looks;
	/* upgrade.c */
	pid_t checker;      /* the next binary's qod -n; 0: none */
	bool upgrade_after; /* the reload under way */
	/* signals.c */
	struct stray strays; /* of workers that died */
	/* supervise.c */
	struct loop_io signals;
	struct loop_task turn;
	int shown_workers; /* in the title */
	struct loop_timer look, watchdog, stage_timer;
	struct qo_mono looked;
	int64_t watchdog_ms; /* 0: none wanted */
	bool workless;       /* a stop has come to its second stage */
};

/* For signals and the control socket. */
void qod_stop(struct qod *q, bool now);
void qod_reload(struct qod *q);
void qod_upgrade(struct qod *q);
void qod_reopen(struct qod *q);
void qod_quiet(struct qod *q, bool on);
void qod_adjust(struct qod *q, int by); /* workers */
/* Something has changed: the loop looks at everything in this turn. */
void qod_changed(struct qod *q);

#endif
