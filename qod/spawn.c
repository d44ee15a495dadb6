#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "envkeys.h"
#include "priv.h"
#include "proc.h"
#include "role.h"
#include "roles.h"
#include "spawn.h"
#include "xalloc.h"

#define FIRST_FD 6 /* of sockets that are passed on */

/* Meant for the master alone (systemd's sockets and watchdog), or part of the
 * checked configuration already. */
static bool
is_masters(const char *var)
{
	static const char *const names[] = { "QO_",
		"NOTIFY_SOCKET=", "WATCHDOG_",
		"LISTEN_FDS=", "LISTEN_PID=", "LISTEN_FDNAMES=" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(var, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* The caller frees the array and its first two strings. */
static char **
make_environment(const struct child *c)
{
	char **all = envkeys_environ();
	char **env;
	size_t i, n;

	for (n = 0; all[n] != NULL;)
		n++;
	env = xcalloc(n + 3, sizeof(*env));
	env[0] = xasprintf("QO_ROLE=%" PRId64 " %d %d %d", c->area, c->index,
	    c->role->count(c->q, c->gen->conf), c->gen->number);
	env[1] = xasprintf("QO_CONFIG=%s", c->q->file);
	for (i = 0, n = 2; all[i] != NULL; i++)
		if (!is_masters(all[i]))
			env[n++] = all[i];
	free(all);
	return env;
}

struct words {
	char *argv[6];
	char number[2][12];
};

static void
pass_sockets(const struct child *c, struct proc_spec *s, struct words *w)
{
	static char option[] = "--listen-fd";
	const int fds[2] = { c->q->store_tcp, c->q->store_unix };
	size_t i, argc = 1;

	for (i = 0; i < 2 && c->role->kind == BOARD_STORE; i++) {
		if (fds[i] == -1)
			continue;
		snprintf(w->number[i], sizeof(w->number[i]), "%zu", s->nfds);
		w->argv[argc++] = option;
		w->argv[argc++] = w->number[i];
		s->fds[s->nfds++] = fds[i];
	}
	w->argv[argc] = NULL;
}

static void
set_account(const struct child *c, struct proc_spec *s)
{
	const struct account *a = &c->gen->account;

	if (!a->change)
		return;
	s->set_ids = true;
	s->uid = a->uid;
	s->gid = a->gid;
	s->groups = a->groups;
	s->ngroups = (size_t)a->ngroups;
	if (c->role->kind == BOARD_WORKER && account_switches(c->gen->conf))
		s->keep_caps = PRIV_CAPS_SWITCH;
}

static pid_t
spawn(const struct child *c, int ctl, struct qo_err *err)
{
	struct proc_spec s;
	struct words w;
	char *path;
	char **env;
	pid_t pid;

	path = roles_program(c->role, c->gen->conf, err);
	if (path == NULL)
		return -1;
	env = make_environment(c);
	proc_spec_init(&s);
	s.path = path;
	s.argv = w.argv;
	s.envp = env;
	s.fds[1] = STDOUT_FILENO;
	s.fds[2] = STDERR_FILENO;
	s.fds[ROLE_FD_CTL] = ctl;
	s.fds[ROLE_FD_CONF] = c->gen->fd;
	s.fds[ROLE_FD_BOARD] = board_fd(c->q->board);
	s.nfds = FIRST_FD;
	s.no_core = true; /* it would have secrets in it */
	s.no_new_privs = true;
	s.umask = 077;
	w.argv[0] = path;
	pass_sockets(c, &s, &w);
	set_account(c, &s);
	pid = proc_spawn(&s, err);
	free(env[0]);
	free(env[1]);
	free(env);
	free(path);
	return pid;
}

int
spawn_child(struct child *c, struct qo_err *err)
{
	const struct conf *conf = c->gen->conf;
	int pair[2];
	pid_t pid;

	c->area = board_alloc(c->q->board, c->role->kind, c->index,
	    c->gen->number, roles_slots(c->role, conf),
	    roles_handlers(c->role, conf), err);
	if (c->area == -1)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1) {
		qo_err_sys(err, errno, "socketpair");
		goto bad;
	}
	pid = spawn(c, pair[1], err);
	close(pair[1]);
	if (pid == -1) {
		close(pair[0]);
		goto bad;
	}
	c->pid = pid;
	c->ctl.fd = pair[0];
	return 0;
bad:
	board_release(c->q->board, c->area);
	c->area = -1;
	return -1;
}

pid_t
spawn_checker(const struct qod *q, struct qo_err *err)
{
	char name[] = "qod", check[] = "-n", option[] = "-f";
	char *argv[] = { name, check, option, xstrdup(q->file), NULL };
	char **env = envkeys_environ();
	struct proc_spec s;
	pid_t pid;

	proc_spec_init(&s);
	s.path = q->program;
	s.argv = argv;
	s.envp = env;
	s.fds[2] = STDERR_FILENO;
	s.umask = -1;
	pid = proc_spawn(&s, err);
	free(env);
	free(argv[3]);
	return pid;
}
