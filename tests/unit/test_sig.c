#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_suite.h"
#include "sig.h"

static bool
readable(void)
{
	struct pollfd p = { sig_fd(), POLLIN, 0 };

	return poll(&p, 1, 0) == 1;
}

static void
setup(void)
{
	sig_init();
}

START_TEST(test_caught)
{
	sig_catch(SIGUSR1);
	sig_catch(SIGTERM);
	ck_assert(!readable());
	ck_assert_int_eq(sig_next(), 0);
	raise(SIGUSR1);
	raise(SIGTERM);
	raise(SIGUSR1); /* one with the first */
	ck_assert(readable());
	ck_assert_int_eq(sig_next(), SIGUSR1);
	ck_assert_int_eq(sig_next(), SIGTERM);
	ck_assert_int_eq(sig_next(), 0);
	ck_assert(!readable());
	/* While it is handled, another one is not lost. */
	raise(SIGUSR1);
	ck_assert_int_eq(sig_next(), SIGUSR1);
	raise(SIGUSR1);
	ck_assert(readable());
	ck_assert_int_eq(sig_next(), SIGUSR1);
}
END_TEST

static int ntaken;

static void
take(void)
{
	ntaken++;
	raise(SIGUSR2); /* while it is handled: not lost */
	if (ntaken > 1)
		sig_take(SIGUSR2, NULL);
}

START_TEST(test_taken)
{
	sig_take(SIGUSR2, take);
	sig_catch(SIGTERM);
	raise(SIGTERM);
	raise(SIGUSR2);
	ck_assert_int_eq(sig_next(), SIGTERM);
	ck_assert_int_eq(ntaken, 1);
	ck_assert(readable());
	ck_assert_int_eq(sig_next(), 0);
	ck_assert_int_eq(ntaken, 2);
	ck_assert_int_eq(sig_next(), SIGUSR2); /* nobody's any more */
}
END_TEST

/* Others wait until they may come. */
START_TEST(test_wait_end)
{
	sig_hold(true);
	raise(SIGHUP);
	ck_assert_int_eq(sig_wait_end(1), 0);
	raise(SIGQUIT);
	ck_assert_int_eq(sig_wait_end(60000), SIGQUIT);
	ck_assert_int_eq(sig_wait_end(0), 0);
	sig_catch(SIGHUP);
	sig_catch(SIGQUIT);
	sig_hold(false);
	ck_assert_int_eq(sig_next(), SIGHUP);
	ck_assert_int_eq(sig_next(), 0);
}
END_TEST

/* Who execs has caught some that nobody will ask it for any more. */
START_TEST(test_hand_over)
{
	sigset_t waits;

	sig_catch(SIGUSR1);
	sig_catch(SIGTERM);
	sig_catch(SIGTTIN);
	raise(SIGUSR1);
	raise(SIGTTIN);
	ck_assert_int_eq(sig_next(), SIGUSR1);
	sig_hand_over();
	raise(SIGTERM);
	ck_assert_int_eq(sig_next(), 0);
	ck_assert_int_eq(sigpending(&waits), 0);
	ck_assert(sigismember(&waits, SIGTTIN));
	ck_assert(sigismember(&waits, SIGTERM));
	ck_assert(!sigismember(&waits, SIGUSR1));
	/* Or it could not exec, and goes on. */
	sig_hold(false);
	ck_assert_int_eq(sig_next(), SIGTERM);
	ck_assert_int_eq(sig_next(), SIGTTIN);
	ck_assert_int_eq(sig_next(), 0);
}
END_TEST

START_TEST(test_errno_kept)
{
	sig_catch(SIGUSR1);
	errno = 4711;
	raise(SIGUSR1);
	ck_assert_int_eq(errno, 4711);
}
END_TEST

/* The pipe may be full: nothing blocks, nothing is lost. */
START_TEST(test_flood)
{
	int i;

	sig_catch(SIGUSR1);
	sig_catch(SIGUSR2);
	for (i = 0; i < 100000; i++)
		raise(SIGUSR1);
	raise(SIGUSR2);
	ck_assert_int_eq(sig_next(), SIGUSR1);
	ck_assert_int_eq(sig_next(), SIGUSR2);
	ck_assert_int_eq(sig_next(), 0);
	ck_assert(!readable());
	raise(SIGUSR2);
	ck_assert(readable());
	ck_assert_int_eq(sig_next(), SIGUSR2);
}
END_TEST

START_TEST(test_init_again)
{
	int fd = sig_fd();

	sig_init();
	ck_assert_int_eq(sig_fd(), fd);
	ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
}
END_TEST

START_TEST(test_pipe_and_ignored)
{
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	close(fds[0]);
	ck_assert_int_eq(write(fds[1], "x", 1), -1); /* no SIGPIPE */
	ck_assert_int_eq(errno, EPIPE);
	close(fds[1]);
	sig_ignore(SIGUSR1);
	raise(SIGUSR1);
	ck_assert_int_eq(sig_next(), 0);
}
END_TEST

/* A child about to exec has no handler, no ignored signal and no mask. */
START_TEST(test_reset)
{
	struct sigaction sa;
	sigset_t all, now;
	int signo, status;
	pid_t pid;

	sig_catch(SIGTERM);
	sig_ignore(SIGHUP);
	sigfillset(&all);
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &all, NULL);
		sig_reset();
		sigprocmask(SIG_SETMASK, NULL, &now);
		for (signo = 1; signo < NSIG; signo++) {
			if (sigismember(&now, signo) == 1)
				_exit(1);
			if (sigaction(signo, NULL, &sa) == 0 &&
			    sa.sa_handler != SIG_DFL)
				_exit(2);
		}
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("sig");
	TCase *tc = tcase_create("sig");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_caught);
	tcase_add_test(tc, test_taken);
	tcase_add_test(tc, test_wait_end);
	tcase_add_test(tc, test_hand_over);
	tcase_add_test(tc, test_errno_kept);
	tcase_add_test(tc, test_flood);
	tcase_add_test(tc, test_init_again);
	tcase_add_test(tc, test_pipe_and_ignored);
	tcase_add_test(tc, test_reset);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
