#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "io.h"
#include "proc.h"
#include "run_suite.h"
#include "sig.h"

#define SELF "/proc/self/exe"

/* What the child says of itself: this program is its own child. */

static void
say_fds(void)
{
	int fd;

	for (fd = 0; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			printf("%d ", fd);
}

static void
say_limits(void)
{
	static const int which[] = { RLIMIT_AS, RLIMIT_CPU, RLIMIT_NOFILE,
		RLIMIT_CORE };
	struct rlimit rl;
	size_t i;

	for (i = 0; i < sizeof(which) / sizeof(*which); i++) {
		getrlimit((__rlimit_resource_t)which[i], &rl);
		printf("%lld %lld ", (long long)rl.rlim_cur,
		    (long long)rl.rlim_max);
	}
	printf("%03o", umask(0));
}

static void
say_status(void)
{
	char line[256];
	FILE *f;

	f = fopen("/proc/self/status", "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		fputs(line, stdout);
}

static int
child_main(char **argv)
{
	char text[64];
	ssize_t n;

	if (strcmp(argv[1], "fds") == 0)
		say_fds();
	else if (strcmp(argv[1], "limits") == 0)
		say_limits();
	else if (strcmp(argv[1], "status") == 0)
		say_status();
	else if (strcmp(argv[1], "where") == 0)
		printf("%s %s %d", getcwd(text, sizeof(text)),
		    getenv("WHO") != NULL ? getenv("WHO") : "-",
		    getsid(0) == getpid() && getpgrp() == getpid());
	else if (strcmp(argv[1], "read") == 0) {
		/* The name that was written into each descriptor. */
		for (int fd = 10; fd < 16; fd++) {
			n = pread(fd, text, sizeof(text), 0);
			printf("%.*s ", n > 0 ? (int)n : 1, n > 0 ? text : "-");
		}
	} else if (strcmp(argv[1], "sleep") == 0)
		poll(NULL, 0, -1);
	return fflush(stdout) == 0 ? 0 : 1;
}

/* Helpers of the tests. */

static int
named(const char *text)
{
	int fd;

	fd = memfd_create("t", MFD_CLOEXEC);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
	return fd;
}

static int
named_at(int number, const char *text)
{
	int fd;

	fd = named(text);
	ck_assert_int_eq(dup3(fd, number, O_CLOEXEC), number);
	close(fd);
	return number;
}

static void
spec_of(struct proc_spec *s, const char **argv)
{
	proc_spec_init(s);
	s->path = SELF;
	s->argv = (char **)argv;
	s->fds[2] = 2;
}

/* Runs it; what it printed, in a static buffer. */
static const char *
output(struct proc_spec *s)
{
	static char text[8192];
	struct qo_err err;
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	s->fds[1] = fds[1];
	pid = proc_spawn(s, &err);
	ck_assert_msg(pid > 0, "%s", err.msg);
	close(fds[1]);
	n = io_read_full(fds[0], text, sizeof(text) - 1);
	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	close(fds[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	return text;
}

static const char *
field(const char *text, const char *name)
{
	static char value[128];
	const char *p;

	p = strstr(text, name);
	ck_assert_msg(p != NULL, "no %s", name);
	p += strlen(name);
	p += strspn(p, " \t");
	(void)snprintf(value, sizeof(value), "%.*s", (int)strcspn(p, "\n"), p);
	return value;
}

START_TEST(test_descriptors)
{
	const char *argv[] = { "t", "fds", NULL };
	struct proc_spec s;
	int leak, plain;

	/* Without close-on-exec, too: a library may have opened it. */
	leak = open("/dev/null", O_RDONLY);
	plain = fcntl(leak, F_DUPFD, 777);
	ck_assert_int_eq(plain, 777);
	spec_of(&s, argv);
	ck_assert_str_eq(output(&s), "0 1 2 ");
	s.nfds = 6; /* 3 and 5 stay closed */
	s.fds[4] = leak;
	ck_assert_str_eq(output(&s), "0 1 2 4 ");
	close(leak);
	close(plain);
}
END_TEST

/* close_range refused, as old kernels and some sandboxes do. */
START_TEST(test_descriptors_listed)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(*code), code };
	const char *argv[] = { "t", "fds", NULL };
	struct proc_spec s;
	int i;

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == -1) {
		printf("skip descriptors_listed: no seccomp here\n");
		return;
	}
	ck_assert_int_eq(syscall(SYS_close_range, 900U, 901U, 0U), -1);
	for (i = 100; i < 900; i++) /* more than one read of the directory */
		ck_assert_int_ne(dup2(2, i), -1);
	spec_of(&s, argv);
	ck_assert_str_eq(output(&s), "0 1 2 ");
}
END_TEST

/* Sources and targets that overlap, in a circle and onto themselves. */
START_TEST(test_overlap)
{
	const char *argv[] = { "t", "read", NULL };
	int a = named_at(10, "a"), b = named_at(11, "b"), c = named_at(12, "c");
	struct proc_spec s;

	spec_of(&s, argv);
	s.nfds = 15;
	s.fds[10] = b;
	s.fds[11] = c;
	s.fds[12] = a;
	s.fds[13] = a; /* twice */
	s.fds[14] = b;
	ck_assert_str_eq(output(&s), "b c a a b - ");
	s.nfds = 13;
	s.fds[10] = a; /* where it is, with the flag that closes it */
	s.fds[11] = -1;
	s.fds[12] = c;
	ck_assert_str_eq(output(&s), "a - c - - - ");
	/* The parent's own are as they were. */
	ck_assert_int_ne(fcntl(a, F_GETFD) & FD_CLOEXEC, 0);
	ck_assert_int_ne(fcntl(b, F_GETFD) & FD_CLOEXEC, 0);
}
END_TEST

/* stdin to stderr may be turned around as well. */
START_TEST(test_overlap_stdio)
{
	const char *argv[] = { "sh", "-c", "cat; cat <&2", NULL };
	struct proc_spec s;
	char text[8];
	int out, in, other, status, saved;
	struct qo_err err;
	pid_t pid;

	saved = fcntl(2, F_DUPFD_CLOEXEC, 100);
	in = named("in");
	other = named("err");
	out = named("");
	lseek(in, 0, SEEK_SET);
	lseek(other, 0, SEEK_SET);
	ck_assert_int_eq(dup3(in, 2, O_CLOEXEC), 2);
	ck_assert_int_eq(dup3(other, 0, O_CLOEXEC), 0);
	proc_spec_init(&s);
	s.path = "/bin/sh";
	s.argv = (char **)argv;
	s.fds[0] = 2;
	s.fds[1] = out;
	s.fds[2] = 0;
	pid = proc_spawn(&s, &err);
	dup2(saved, 2);
	ck_assert_msg(pid > 0, "%s", err.msg);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(pread(out, text, sizeof(text), 0), 5);
	ck_assert_mem_eq(text, "inerr", 5);
}
END_TEST

START_TEST(test_signals)
{
	const char *argv[] = { "t", "status", NULL };
	/* The kernel's SIG_IGN, for a signal that libc does not give away. */
	const uint64_t ignore[8] = { 1 };
	struct proc_spec s;
	const char *text;
	sigset_t set, now;

	ck_assert_int_eq(syscall(SYS_rt_sigaction, 33, ignore, NULL, 8L), 0);
	sig_init();
	sig_catch(SIGTERM);
	sig_ignore(SIGHUP);
	sig_ignore(SIGINT);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
	spec_of(&s, argv);
	text = output(&s);
	ck_assert_str_eq(field(text, "SigBlk:"), "0000000000000000");
	ck_assert_str_eq(field(text, "SigIgn:"), "0000000000000000");
	/* Ours are as they were. */
	sigprocmask(SIG_SETMASK, NULL, &now);
	ck_assert_int_eq(sigismember(&now, SIGUSR1), 1);
	ck_assert_int_eq(sigismember(&now, SIGTERM), 0);
	raise(SIGTERM);
	ck_assert_int_eq(sig_next(), SIGTERM);
}
END_TEST

START_TEST(test_limits)
{
	const char *argv[] = { "t", "limits", NULL };
	struct rlimit rl;
	struct proc_spec s;

	rl.rlim_cur = rl.rlim_max = 3000;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	spec_of(&s, argv);
	s.path = "/proc/self/exe";
	s.cpu_seconds = 7;
	s.files_max = 100;
	s.no_core = true;
	s.umask = 027;
#ifndef __SANITIZE_ADDRESS__ /* which wants terabytes */
	s.memory_max = INT64_C(1) << 31;
	ck_assert_str_eq(output(&s),
	    "2147483648 2147483648 7 8 100 100 0 0 "
	    "027");
#endif
	/* Never above what is allowed to us. */
	s.memory_max = 0;
	s.files_max = 3001;
	if (getuid() == 0)
		ck_assert_int_eq(setuid(65534), 0);
	ck_assert_ptr_nonnull(strstr(output(&s), " 3000 3000 "));
}
END_TEST

START_TEST(test_where)
{
	const char *argv[] = { "t", "where", NULL };
	const char *status[] = { "t", "status", NULL };
	const char *envp[] = { "WHO=me", NULL };
	struct proc_spec s;

	setenv("WHO", "parent", 1);
	spec_of(&s, argv);
	s.cwd = "/dev";
	s.envp = (char **)envp;
	ck_assert_str_eq(output(&s), "/dev me 0");
	s.new_session = true;
	ck_assert_str_eq(output(&s), "/dev me 1");
	s.envp = NULL;
	s.cwd = "/";
	ck_assert_str_eq(output(&s), "/ parent 1");
	s.argv = (char **)status;
	ck_assert_str_eq(field(output(&s), "NoNewPrivs:"), "0");
	s.no_new_privs = true;
	ck_assert_str_eq(field(output(&s), "NoNewPrivs:"), "1");
}
END_TEST

static void
expect_failure(struct proc_spec *s, int errnum, const char *msg)
{
	struct qo_err err;

	ck_assert_int_eq(proc_spawn(s, &err), -1);
	ck_assert_str_eq(err.msg, msg);
	ck_assert_int_eq(err.errnum, errnum);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD); /* nothing to reap */
}

START_TEST(test_failures)
{
	const char *argv[] = { "t", NULL };
	struct proc_spec s;

	spec_of(&s, argv);
	s.path = "/nonexistent/qo-worker";
	expect_failure(&s, ENOENT,
	    "can not run /nonexistent/qo-worker: "
	    "No such file or directory");
	s.path = "/etc/passwd"; /* no x bit, for root neither */
	expect_failure(&s, EACCES,
	    "can not run /etc/passwd: "
	    "Permission denied");
	s.path = "/bin/sh";
	s.cwd = "/nonexistent";
	expect_failure(&s, ENOENT,
	    "can not run /bin/sh: chdir /nonexistent: "
	    "No such file or directory");
	s.cwd = NULL;
	s.nfds = 4;
	s.fds[3] = 999;
	expect_failure(&s, EBADF,
	    "can not run /bin/sh: descriptors: "
	    "Bad file descriptor");
}
END_TEST

START_TEST(test_not_allowed)
{
	const char *argv[] = { "t", NULL };
	struct proc_spec s;

	if (getuid() == 0) {
		ck_assert_int_eq(setgid(65534), 0);
		ck_assert_int_eq(setuid(65534), 0);
	}
	spec_of(&s, argv);
	s.path = "/bin/true";
	s.set_ids = true;
	expect_failure(&s, EPERM,
	    "can not run /bin/true: setgroups: "
	    "Operation not permitted");
}
END_TEST

/* Many deaths, one signal. */
START_TEST(test_reap_many)
{
	const char *argv[] = { "true", NULL };
	struct qo_err err;
	struct proc_spec s;
	int i, status, reaped = 0;
	struct pollfd p;

	sig_init();
	sig_catch(SIGCHLD);
	proc_spec_init(&s);
	s.path = "/bin/true";
	s.argv = (char **)argv;
	for (i = 0; i < 2000; i++) {
		ck_assert_msg(proc_spawn(&s, &err) > 0, "%s", err.msg);
		/* In heaps of 100, so that a small machine has room. */
		if (i % 100 != 99)
			continue;
		p.fd = sig_fd();
		p.events = POLLIN;
		while (reaped <= i) {
			poll(&p, 1, -1);
			while (sig_next() != 0)
				continue;
			while (proc_reap(&status) > 0) {
				ck_assert_int_eq(status, 0);
				reaped++;
			}
		}
	}
	ck_assert_int_eq(reaped, 2000);
	ck_assert_int_eq(proc_reap(&status), 0);
}
END_TEST

/* The middle process spawns a sleeper and is killed: so is the sleeper. */
START_TEST(test_die_with_parent)
{
	const char *argv[] = { "t", "sleep", NULL };
	struct proc_spec s;
	pid_t middle, pid;
	int fds[2], status;

	ck_assert_int_eq(proc_subreaper(), 0);
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	if ((middle = fork()) == 0) {
		spec_of(&s, argv);
		s.die_with_parent = true;
		if (getuid() == 0) { /* forgotten if set before the ids */
			s.set_ids = true;
			s.uid = s.gid = 65534;
		}
		pid = proc_spawn(&s, NULL);
		io_write_all(fds[1], &pid, sizeof(pid));
		poll(NULL, 0, -1);
		_exit(1);
	}
	ck_assert_int_eq(io_read_full(fds[0], &pid, sizeof(pid)), sizeof(pid));
	ck_assert_int_gt(pid, 0);
	proc_signal(middle, SIGKILL);
	ck_assert_int_eq(waitpid(middle, &status, 0), middle);
	/* An orphan, but ours. */
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END_TEST

START_TEST(test_signal_group)
{
	const char *argv[] = { "sh", "-c", "sleep 1000 & echo; wait", NULL };
	struct proc_spec s;
	struct qo_err err;
	int fds[2], status;
	char c;
	pid_t pid;

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	proc_spec_init(&s);
	s.path = "/bin/sh";
	s.argv = (char **)argv;
	s.fds[1] = fds[1];
	s.new_session = true;
	pid = proc_spawn(&s, &err);
	ck_assert_msg(pid > 0, "%s", err.msg);
	close(fds[1]);
	ck_assert_int_eq(read(fds[0], &c, 1), 1);
	proc_signal_group(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	/* The end of the pipe is closed by the last of the group. */
	ck_assert_int_eq(read(fds[0], &c, 1), 0);
	proc_signal_group(pid, SIGKILL); /* gone: no failure */
	proc_signal(pid, SIGKILL);
}
END_TEST

/* With signal 0, which hurts nobody if a guard is missing. */
START_TEST(test_signal_nobody)
{
	if (_i == 3)
		proc_signal_group(1, 0);
	else if (_i == 2)
		proc_signal_group(0, 0);
	else
		proc_signal(-_i, 0);
}
END_TEST

START_TEST(test_describe)
{
	char text[64];

	proc_describe(3 << 8, text, sizeof(text));
	ck_assert_str_eq(text, "exited with status 3");
	proc_describe(SIGKILL, text, sizeof(text));
	ck_assert_str_eq(text, "killed by signal 9 (Killed)");
	proc_describe(SIGSEGV | 0x80, text, sizeof(text));
	ck_assert_str_eq(text,
	    "killed by signal 11 (Segmentation fault), "
	    "core dumped");
	proc_describe(0, text, 8);
	ck_assert_str_eq(text, "exited ");
}
END_TEST

START_TEST(test_backoff)
{
	static const struct {
		int64_t prev, up, next;
	} table[] = {
		{ 0, 0, 200 },
		{ 0, 9999, 200 },
		{ 200, 0, 400 },
		{ 400, 9999, 800 },
		{ 800, 10000, 200 },
		{ 12800, 5, 25600 },
		{ 15000, 5, 30000 },
		{ 15001, 5, 30000 },
		{ 25600, 5, 30000 },
		{ 30000, 5, 30000 },
		{ INT64_MAX, 5, 30000 },
		{ 30000, 3600000, 200 },
		{ -5, 0, 200 },
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++)
		ck_assert_int_eq(proc_backoff(table[i].prev, table[i].up),
		    table[i].next);
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *s;
	TCase *tc;

	if (argc > 1)
		return child_main(argv);
	s = suite_create("proc");
	tc = tcase_create("proc");
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, test_descriptors);
	tcase_add_test(tc, test_descriptors_listed);
	tcase_add_test(tc, test_overlap);
	tcase_add_test(tc, test_overlap_stdio);
	tcase_add_test(tc, test_signals);
	tcase_add_test(tc, test_limits);
	tcase_add_test(tc, test_where);
	tcase_add_test(tc, test_failures);
	tcase_add_test(tc, test_not_allowed);
	tcase_add_test(tc, test_reap_many);
	tcase_add_test(tc, test_die_with_parent);
	tcase_add_test(tc, test_signal_group);
	tcase_add_loop_test_raise_signal(tc, test_signal_nobody, SIGABRT, 0, 4);
	tcase_add_test(tc, test_describe);
	tcase_add_test(tc, test_backoff);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
