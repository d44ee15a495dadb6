#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "sig.h"

/* Lock-free atomics are legal in handlers, also when a library's thread runs
 * them, which volatile sig_atomic_t does not promise. */
static atomic_int pending[NSIG];
static int wake[2] = { -1, -1 };
static void (*taken[NSIG])(void);

static void
sig_handler(int signo)
{
	int save = errno;
	ssize_t n;

	atomic_store(&pending[signo], 1);
	n = write(wake[1], "", 1); /* a full pipe already means "wake up" */
	(void)n;
	errno = save;
}

static void
install(int signo, void (*handler)(int))
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sigfillset(&sa.sa_mask);
	sa.sa_handler = handler;
	sa.sa_flags = SA_RESTART;
	if (sigaction(signo, &sa, NULL) == -1)
		fatal("sigaction %d", signo);
}

void
sig_init(void)
{
	if (wake[0] != -1)
		return;
	if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) == -1)
		fatal("pipe for signals");
	install(SIGPIPE, SIG_IGN);
}

void
sig_catch(int signo)
{
	install(signo, sig_handler);
}

void
sig_take(int signo, void (*fn)(void))
{
	taken[signo] = fn;
	sig_catch(signo);
}

void
sig_ignore(int signo)
{
	install(signo, SIG_IGN);
}

/*
 * libc keeps two signals for itself and touches them for nobody, but its
 * posix_spawn ignores them in a child: whoever was started by make has that
 * from it, and would pass it on.  All zero is the kernel's default.
 */
static void
reset_hidden(int signo)
{
	static const uint64_t defaults[8];

	(void)syscall(SYS_rt_sigaction, signo, defaults, NULL,
	    (size_t)_NSIG / 8);
}

void
sig_reset(void)
{
	struct sigaction sa;
	sigset_t none;
	int signo;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = SIG_DFL;
	/* The kernel refuses SIGKILL and SIGSTOP; that is fine. */
	for (signo = 1; signo < NSIG; signo++)
		if (sigaction(signo, &sa, NULL) == -1)
			reset_hidden(signo);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void
sig_hold(bool on)
{
	sigset_t set;

	sigfillset(&set);
	if (!on)
		sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

void
sig_hand_over(void)
{
	int signo;

	sig_hold(true);
	for (signo = 1; signo < NSIG; signo++)
		if (atomic_exchange(&pending[signo], 0) == 1)
			raise(signo);
}

int
sig_wait_end(int64_t ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };
	sigset_t set;
	int signo;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	signo = sigtimedwait(&set, NULL, &ts);
	return signo > 0 ? signo : 0;
}

int
sig_fd(void)
{
	return wake[0];
}

int
sig_next(void)
{
	char buf[64];
	int signo;

	/* Drain first: a signal landing after the scan leaves a fresh byte. */
	while (read(wake[0], buf, sizeof(buf)) > 0)
		continue;
	/* Cleared before the caller acts, so a repeat is never lost. */
	for (signo = 1; signo < NSIG; signo++) {
		if (atomic_exchange(&pending[signo], 0) != 1)
			continue;
		if (taken[signo] == NULL)
			return signo;
		taken[signo]();
	}
	return 0;
}
