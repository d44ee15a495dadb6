/*
 * role.h - what qo-store, qo-worker, qo-monitor and qo-sweeper share: being a
 * child of qod, or running alone.
 *
 * A child of qod is told so by QO_ROLE in its environment ("AREA INDEX OF
 * GENERATION", removed at once) and has the control socket on fd 3, the
 * checked configuration on fd 4 (a sealed memfd) and the scoreboard on fd 5.
 * It ignores SIGTERM, SIGINT and SIGQUIT, which a terminal or systemd may send
 * to all of the group, and obeys fd 3; EOF there means that qod is gone: drain
 * and end.  Alone, a process reads its configuration from -f and obeys
 * SIGTERM, SIGINT (drain; a second one: now) and SIGQUIT (now).  SIGUSR1
 * reopens the log, SIGHUP is ignored unless hup is set.
 *
 * The control socket is SOCK_SEQPACKET; a message is one line of text, a verb
 * and words:
 *   qod -> child	drain MS	stop claiming, end with the last task; what
 *				still runs after MS (-1: no limit) is requeued
 *			now		requeue and end now
 *			quiet | resume	stop claiming | claim again
 *			reopen		the log file
 *			lost TASK GENERATION LEASE	(monitor) the process that
 *				held this lease is dead and its handlers are gone
 *   child -> qod	ready		once, when it does its work
 *			settled LEASE	(monitor) answer to lost
 *			note TEXT	a line for people
 */
#ifndef ROLE_H
#define ROLE_H

#include "board.h"
#include "conf.h"
#include "loop.h"

#define ROLE_FD_CTL   3
#define ROLE_FD_CONF  4
#define ROLE_FD_BOARD 5
#define ROLE_MSG_MAX  1024 /* with the NUL that is not sent */

struct role_msg;

struct role {
	/* in, before role_start */
	enum board_role kind;
	const char *name; /* "worker": a literal, of the log */
	struct loop *loop;
	/* May come again, with another limit; the earlier end counts. */
	void (*drain)(struct role *r, int64_t limit_ms);
	void (*now)(struct role *r);
	void (*quiet)(struct role *r, bool on); /* NULL: nothing to stop */
	void (*hup)(struct role *r);            /* NULL: ignored */
	/* qod is gone; NULL: drain within drain_timeout. */
	void (*orphaned)(struct role *r);
	/* Any other message; false, or NULL: it is not known, which is logged.
	 * rest is what follows the verb, "" if nothing, and may be cut up. */
	bool (*message)(struct role *r, const char *verb, char *rest);
	/* Any other signal that the program catches (SIGCHLD). */
	void (*signal)(struct role *r, int signo);
	/* With each heartbeat, 5 s at most: for the title.  NULL: no; alone
	 * there is then no heartbeat either. */
	void (*beaten)(struct role *r);
	void *arg;
	/* out, after role_init */
	bool supervised;
	int index, of; /* which of how many of its kind */
	int generation;
	/* out, after role_conf; owned by the role, NULL if that was not called */
	struct conf *conf;
	/* out, after role_start; never NULL */
	struct board_area *area;
	struct board *board; /* of all processes, to be read; NULL: alone */
	/* private */
	struct loop_io ctl, signals;
	struct loop_timer beat;
	int64_t offset;
	bool draining, told_ready;
	struct role_msg *unsent, **unsent_tail;
	size_t nunsent;
	char title[128];
};

/* First thing in main, before any option: stdio, umask, room for a title,
 * whose child we are.  Clears *r.  Takes QO_ROLE out of the environment.  When
 * qod has not given what it should: one line and exit status 78. */
void role_init(struct role *r, int argc, char **argv);
/* The configuration: qod's, or of path (NULL: none) and environment with
 * flags; how (enum conf_how) is for the latter.  Mistakes are logged.  0, or
 * the exit code (78). */
int role_conf(struct role *r, const char *path, unsigned how,
    const struct conf_flag *flags, size_t nflags);
/* What logs them; arg is the role. */
conf_report role_report;
/* Log (with a conf), signals, control socket, area, heartbeat.  nslots and
 * nhandlers are those of the private area when there is no qod.  What fails
 * here is for the operator: one line and exit status 78. */
void role_start(struct role *r, size_t nslots, size_t nhandlers);
void role_ready(struct role *r); /* once; later calls do nothing */
/* printf to qod; nothing when alone.  Never blocks, loses nothing while qod
 * lives and reads. */
void role_tell(struct role *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* What ps shows behind "qo-worker: ".  Cheap when it has not changed. */
void role_title(struct role *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Another process of this qod is there, the store apart.  One that was killed
 * counts for 12 s more.  False when alone. */
bool role_has_siblings(struct role *r);
/* Before the loop is freed; the process says that it is no more there. */
void role_fini(struct role *r);

#endif
