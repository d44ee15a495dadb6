#include <signal.h>
#include <unistd.h>

#include "child.h"
#include "log.h"
#include "proc.h"
#include "roles.h"
#include "sig.h"
#include "signals.h"
#include "upgrade.h"

/* What people ask for, by signal or through the control socket */

static void
tell_all(struct qod *q, enum board_role kind, const char *what)
{
	struct child *c;

	TAILQ_FOREACH (c, &q->children, entry)
		if (child_is_live(c) &&
		    (kind == BOARD_FREE || c->role->kind == kind))
			child_tell(c, "%s", what);
}

void
qod_reopen(struct qod *q)
{
	log_reopen();
	tell_all(q, BOARD_FREE, "reopen");
	log_info("log opened again");
}

void
qod_quiet(struct qod *q, bool on)
{
	if (q->quiet == on)
		return;
	q->quiet = on;
	tell_all(q, BOARD_WORKER, on ? "quiet" : "resume");
	log_info(on ? "no more tasks are claimed" : "tasks are claimed again");
}

void
qod_adjust(struct qod *q, int by)
{
	int before, now;

	before = roles_find("worker")->count(q, q->gen->conf);
	q->extra += by;
	now = roles_find("worker")->count(q, q->gen->conf);
	if (now == before)
		q->extra -= by; /* at the limit: a later one counts at once */
	log_event(LOG_LVL_INFO, "another number of workers", "workers",
	    LOG_NUM(now), NULL);
	qod_changed(q);
}

/* Signals */

static bool
is_known(void *arg, pid_t pid)
{
	struct qod *q = arg;

	return child_by_pid(q, pid) != NULL || pid == q->checker;
}

/* What comes to us has no worker any more, and no attempt that counts.  What
 * does not say that it is of a handler may be a child of whoever became qod. */
static bool
is_running(void *arg, const char *owner)
{
	(void)arg;
	return owner == NULL;
}

static void
reap(struct qod *q)
{
	struct child *c;
	bool any = false;
	int status;
	pid_t pid;

	for (; (pid = proc_reap(&status)) > 0; any = true) {
		c = child_by_pid(q, pid);
		if (c != NULL)
			child_exited(c, status);
		else if (pid == q->checker)
			upgrade_checked(q, status);
		/* Else an orphan of a handler, come to be buried. */
	}
	if (any) /* its children may be ours now */
		stray_sweep(&q->strays);
}

static void
on_signal(struct qod *q, int signo)
{
	switch (signo) {
	case SIGCHLD:
		reap(q);
		break;
	case SIGTERM:
	case SIGINT:
		qod_stop(q, false);
		break;
	case SIGQUIT:
		qod_stop(q, true);
		break;
	case SIGHUP:
		qod_reload(q);
		break;
	case SIGUSR1:
		qod_reopen(q);
		break;
	case SIGUSR2:
		qod_upgrade(q);
		break;
	case SIGTTIN:
		qod_adjust(q, 1);
		break;
	case SIGTTOU:
		qod_adjust(q, -1);
		break;
	case SIGWINCH:
		/* A terminal sends it when its window changes. */
		if (!isatty(STDIN_FILENO) && !isatty(STDERR_FILENO))
			qod_quiet(q, true);
		break;
	}
}

static void
on_signals(struct loop_io *io, uint32_t events)
{
	int signo;

	(void)events;
	while ((signo = sig_next()) != 0)
		on_signal(io->arg, signo);
}

void
signals_begin(struct qod *q)
{
	static const int caught[] = { SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP,
		SIGUSR1, SIGUSR2, SIGTTIN, SIGTTOU, SIGWINCH };
	size_t i;

	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sig_catch(caught[i]);
	sig_hold(false);
	if (loop_io_add(q->loop, &q->signals, sig_fd(), EPOLLIN, on_signals,
		q) == -1)
		fatal("signals");
	q->strays = (struct stray){
		.loop = q->loop,
		.known = is_known,
		.running = is_running,
		.arg = q,
	};
	reap(q); /* those that ended while the image changed */
}

void
signals_end(struct qod *q)
{
	stray_fini(&q->strays);
	loop_io_del(q->loop, &q->signals);
}
