#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "priv.h"
#include "proc.h"
#include "sig.h"

#define BACKOFF_MIN 200
#define BACKOFF_MAX 30000
#define STABLE      10000

/* What the child tells by way of the memory that vfork shares. */
struct report {
	const char *what; /* NULL: nothing failed */
	const char *which;
	int errnum;
};

void
proc_spec_init(struct proc_spec *s)
{
	size_t i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < PROC_FDS_MAX; i++)
		s->fds[i] = -1;
	s->nfds = 3;
	s->umask = -1;
}

/* The child's side: async-signal-safe calls only, up to proc_spawn. */

struct dirent64_head {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

static int
number_of(const char *name)
{
	int n = 0;

	if (*name < '0' || *name > '9')
		return -1;
	for (; *name >= '0' && *name <= '9'; name++)
		n = n * 10 + (*name - '0');
	return n;
}

/* Marks what one read of the directory lists; closing would change it. */
static void
mark_listed(const char *p, const char *end, int first)
{
	struct dirent64_head d;
	int fd;

	for (; p < end; p += d.len) {
		memcpy(&d, p, sizeof(d));
		fd = number_of(p + offsetof(struct dirent64_head, name));
		if (fd >= first)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
}

/* For kernels before 5.9 and sandboxes that do not know close_range. */
static int
close_listed(int first)
{
	char buf[4096] __attribute__((aligned(8)));
	long n;
	int dir;

	dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		return -1;
	while ((n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0)
		mark_listed(buf, buf + n, first);
	return n == -1 ? -1 : 0; /* exec closes the directory, too */
}

static int
close_from(int first)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0)
		return 0;
#endif
	return close_listed(first);
}

/* A descriptor that already has its number loses the close-on-exec flag; dup2
 * onto itself would leave it. */
static int
place(int from, int to)
{
	if (from == -1)
		return close(to) == -1 && errno != EBADF ? -1 : 0;
	if (from == to)
		return fcntl(to, F_SETFD, 0);
	return dup2(from, to) == -1 ? -1 : 0;
}

static int
place_all(const struct proc_spec *s, int null)
{
	int from[PROC_FDS_MAX];
	int i, n = (int)s->nfds;

	for (i = 0; i < n; i++) {
		from[i] = i < 3 && s->fds[i] == -1 ? null : s->fds[i];
		/* Out of the way of those placed before it. */
		if (from[i] != -1 && from[i] < n && from[i] != i &&
		    (from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, n)) == -1)
			return -1;
	}
	for (i = 0; i < n; i++)
		if (place(from[i], i) == -1)
			return -1;
	return close_from(n);
}

static int
limit(int resource, int64_t soft, int64_t hard)
{
	struct rlimit now, rl = { (rlim_t)soft, (rlim_t)hard };

	if (setrlimit(resource, &rl) == 0)
		return 0;
	if (errno != EPERM || getrlimit(resource, &now) == -1)
		return -1;
	/* Above the hard limit: that one stays. */
	rl.rlim_max = now.rlim_max;
	if (rl.rlim_cur > rl.rlim_max)
		rl.rlim_cur = rl.rlim_max;
	return setrlimit(resource, &rl);
}

static const char *
set_limits(const struct proc_spec *s)
{
	if (s->memory_max > 0 &&
	    limit(RLIMIT_AS, s->memory_max, s->memory_max) == -1)
		return "limit of memory";
	if (s->cpu_seconds > 0 &&
	    limit(RLIMIT_CPU, s->cpu_seconds, s->cpu_seconds + 1) == -1)
		return "limit of CPU time";
	if (s->files_max > 0 &&
	    limit(RLIMIT_NOFILE, s->files_max, s->files_max) == -1)
		return "limit of open files";
	if (s->no_core && limit(RLIMIT_CORE, 0, 0) == -1)
		return "limit of core files";
	return NULL;
}

/* The kernel forgets the death signal when ids change: set after them. */
static const char *
set_death(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL) == -1)
		return "death signal";
	if (getppid() != parent) { /* it died before that was set */
		errno = ESRCH;
		return "parent";
	}
	return NULL;
}

static const char *
become(const struct proc_spec *s)
{
	if (!s->set_ids)
		return NULL;
	return priv_become(s->uid, s->gid, s->groups, s->ngroups, s->keep_caps);
}

/* The name of what failed with errno; *which: a word more. */
static const char *
prepare(const struct proc_spec *s, int null, pid_t parent, const char **which)
{
	const char *what;

	if (s->new_session && setsid() == -1)
		return "setsid";
	if (place_all(s, null) == -1)
		return "descriptors";
	/* Here the ids may still be those that may raise a limit. */
	if ((what = set_limits(s)) != NULL || (what = become(s)) != NULL)
		return what;
	if (s->die_with_parent && (what = set_death(parent)) != NULL)
		return what;
	if (s->no_new_privs &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == -1)
		return "no_new_privs";
	if (s->umask != -1)
		umask((mode_t)s->umask);
	*which = s->cwd;
	return s->cwd != NULL && chdir(s->cwd) == -1 ? "chdir" : NULL;
}

static void __attribute__((noreturn))
child(const struct proc_spec *s, int null, pid_t parent, struct report *r)
{
	const char *what, *which = NULL;

	if ((what = prepare(s, null, parent, &which)) == NULL) {
		sig_reset();
		execve(s->path, s->argv, s->envp != NULL ? s->envp : environ);
		what = "exec";
		which = NULL;
	}
	r->errnum = errno;
	r->which = which;
	r->what = what;
	_exit(127);
}

/* A function of its own: nothing here lives across vfork but what is not
 * changed after it. */
static pid_t __attribute__((noinline))
start(const struct proc_spec *s, int null, struct report *r)
{
	sigset_t all, old;
	pid_t pid, parent;

	parent = getpid();
	sigfillset(&all);
	/* No handler of ours may run in the child, whose memory is ours. */
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = vfork();
	if (pid == 0)
		child(s, null, parent, r);
	if (pid == -1) {
		r->errnum = errno;
		r->what = "fork";
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid;
}

static void
explain(const struct proc_spec *s, const struct report *r, struct qo_err *err)
{
	if (strcmp(r->what, "exec") == 0)
		qo_err_sys(err, r->errnum, "can not run %s", s->path);
	else if (r->which != NULL)
		qo_err_sys(err, r->errnum, "can not run %s: %s %s", s->path,
		    r->what, r->which);
	else
		qo_err_sys(err, r->errnum, "can not run %s: %s", s->path,
		    r->what);
}

static bool
wants_null(const struct proc_spec *s)
{
	return s->fds[0] == -1 || s->fds[1] == -1 || s->fds[2] == -1;
}

pid_t
proc_spawn(const struct proc_spec *s, struct qo_err *err)
{
	struct report r = { NULL, NULL, 0 };
	int null = -1;
	pid_t pid;

	if (s->nfds < 3 || s->nfds > PROC_FDS_MAX)
		qo_bug("proc_spawn with %zu descriptors", s->nfds);
	if (wants_null(s) &&
	    (null = open("/dev/null", O_RDWR | O_CLOEXEC)) == -1) {
		qo_err_sys(err, errno, "/dev/null");
		return -1;
	}
	pid = start(s, null, &r);
	if (null != -1)
		close(null);
	if (r.what == NULL)
		return pid;
	while (pid > 0 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		continue;
	explain(s, &r, err);
	return -1;
}

pid_t
proc_reap(int *status)
{
	pid_t pid;

	do
		pid = waitpid(-1, status, WNOHANG);
	while (pid == -1 && errno == EINTR);
	return pid > 0 ? pid : 0;
}

static void
send_signal(pid_t to, int signo)
{
	if (kill(to, signo) == -1 && errno != ESRCH)
		log_warn("kill %d with signal %d", (int)to, signo);
}

void
proc_signal(pid_t pid, int signo)
{
	if (pid <= 0)
		qo_bug("signal %d for pid %d", signo, (int)pid);
	send_signal(pid, signo);
}

void
proc_signal_group(pid_t pid, int signo)
{
	/* -1 would be everybody. */
	if (pid <= 1)
		qo_bug("signal %d for group %d", signo, (int)pid);
	send_signal(-pid, signo);
}

void
proc_describe(int status, char *out, size_t size)
{
	if (WIFEXITED(status))
		(void)snprintf(out, size, "exited with status %d",
		    WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		(void)snprintf(out, size, "killed by signal %d (%s)%s",
		    WTERMSIG(status), strsignal(WTERMSIG(status)),
		    WCOREDUMP(status) ? ", core dumped" : "");
	else
		(void)snprintf(out, size, "changed state to %#x",
		    (unsigned)status);
}

int
proc_subreaper(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
}

int64_t
proc_backoff(int64_t prev_ms, int64_t uptime_ms)
{
	if (prev_ms <= 0 || uptime_ms >= STABLE)
		return BACKOFF_MIN;
	return prev_ms > BACKOFF_MAX / 2 ? BACKOFF_MAX : prev_ms * 2;
}
