#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "log.h"
#include "proc.h"
#include "reap.h"
#include "sig.h"

#define BUCKETS 256

static struct reap *table[BUCKETS];
static void (*on_adopted)(void *arg);
static void *adopted_arg;

static struct reap **
place(pid_t pid)
{
	struct reap **p;

	for (p = &table[pid % BUCKETS]; *p != NULL && (*p)->pid != pid;)
		p = &(*p)->next;
	return p;
}

void
reap_add(struct reap *r, pid_t pid, void (*exited)(struct reap *r, int status),
    void *arg)
{
	struct reap **p = place(pid);

	if (*p != NULL)
		qo_bug("pid %d is waited for twice", (int)pid);
	r->pid = pid;
	r->exited = exited;
	r->arg = arg;
	r->next = NULL;
	*p = r;
}

void
reap_del(struct reap *r)
{
	struct reap **p;

	if (r->pid == 0)
		return;
	p = place(r->pid);
	if (*p == r)
		*p = r->next;
	r->pid = 0;
}

bool
reap_knows(pid_t pid)
{
	return *place(pid) != NULL;
}

/* One that has ended, still holding its pid; 0: none. */
static pid_t
ended(void)
{
	siginfo_t info;

	do {
		memset(&info, 0, sizeof(info));
		if (waitid(P_ALL, 0, &info,
			WEXITED | WNOHANG | WNOWAIT | __WALL) == 0)
			return info.si_pid;
	} while (errno == EINTR);
	return 0;
}

static void
reap_all(void)
{
	struct reap *r;
	bool others = false;
	int status;
	pid_t pid;

	while ((pid = ended()) > 0) {
		r = *place(pid);
		if (r != NULL)
			proc_signal_group(pid, SIGKILL);
		status = 0;
		while (waitpid(pid, &status, __WALL) == -1 && errno == EINTR)
			continue;
		if (r == NULL) {
			others = true;
			continue;
		}
		reap_del(r);
		r->exited(r, status);
	}
	if (others && on_adopted != NULL)
		on_adopted(adopted_arg);
}

void
reap_init(void (*adopted)(void *arg), void *arg)
{
	on_adopted = adopted;
	adopted_arg = arg;
	sig_take(SIGCHLD, reap_all);
}
