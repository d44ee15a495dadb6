/*
 * Real ids and capabilities, seen from the child and from its child: needs
 * root.
 */
#include <sys/syscall.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <pwd.h>
#include <stdbool.h>

#include "io.h"
#include "priv.h"
#include "proc.h"
#include "run_suite.h"

static const char none[] = "0000000000000000";
/* CHOWN, KILL, SETGID, SETUID */
static const char kept[] = "00000000000000e1";

/* The child: this program again. */

static void
say_status(void)
{
	char line[256];
	FILE *f;

	f = fopen("/proc/self/status", "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "Uid:", 4) == 0 ||
		    strncmp(line, "Gid:", 4) == 0 ||
		    strncmp(line, "Groups:", 7) == 0 ||
		    strncmp(line, "Cap", 3) == 0)
			fputs(line, stdout);
	fflush(stdout);
}

/* A worker that starts a handler: as itself, or as another user. */
static void
spawn_grandchild(bool other, const char *what)
{
	const char *argv[] = { "t", what, NULL };
	struct proc_spec s;
	struct qo_err err;
	int status;
	pid_t pid;

	proc_spec_init(&s);
	s.path = "/proc/self/exe";
	s.argv = (char **)argv;
	s.fds[1] = 1;
	s.fds[2] = 2;
	s.set_ids = other;
	s.uid = 12345;
	s.gid = 12346;
	pid = proc_spawn(&s, &err);
	if (pid == -1) {
		printf("failed: %s\n", err.msg);
		return;
	}
	if (strcmp(what, "sleep") == 0) {
		proc_signal(pid, SIGKILL);
		waitpid(pid, &status, 0);
		printf("killed %d\n", WIFSIGNALED(status));
		return;
	}
	waitpid(pid, &status, 0);
}

static int
child_main(const char *what)
{
	if (strcmp(what, "sleep") == 0)
		poll(NULL, 0, 110000);
	else if (strcmp(what, "status") == 0)
		say_status();
	else {
		/* What a role does first of all. */
		if (priv_no_ambient() == -1)
			return 1;
		if (strcmp(what, "self") == 0)
			say_status();
		else if (strcmp(what, "plain") == 0)
			spawn_grandchild(false, "status");
		else if (strcmp(what, "other") == 0)
			spawn_grandchild(true, "status");
		else if (strcmp(what, "kill") == 0)
			spawn_grandchild(true, "sleep");
		fflush(stdout);
	}
	return 0;
}

/* The tests */

static const struct passwd *
nobody(void)
{
	const struct passwd *pw;

	pw = getpwuid(65534);
	ck_assert_ptr_nonnull(pw);
	return pw;
}

static const char *
run(struct proc_spec *s, const char *what)
{
	static char text[4096];
	const char *argv[] = { "t", what, NULL };
	struct qo_err err;
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	s->path = "/proc/self/exe";
	s->argv = (char **)argv;
	s->fds[1] = fds[1];
	s->fds[2] = 2;
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

static void
expect(const char *text, const char *name, const char *value)
{
	char line[128];
	const char *p;

	ck_assert_msg((p = strstr(text, name)) != NULL, "%s in %s", name, text);
	p += strlen(name);
	p += strspn(p, " \t");
	(void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(p, "\n"), p);
	while (*line != '\0' && line[strlen(line) - 1] == ' ')
		line[strlen(line) - 1] = '\0';
	ck_assert_msg(strcmp(line, value) == 0, "%s is %s, not %s", name, line,
	    value);
}

static void
expect_ids(const char *text, unsigned uid, unsigned gid, const char *groups)
{
	char want[64];

	(void)snprintf(want, sizeof(want), "%u\t%u\t%u\t%u", uid, uid, uid,
	    uid);
	expect(text, "Uid:", want);
	(void)snprintf(want, sizeof(want), "%u\t%u\t%u\t%u", gid, gid, gid,
	    gid);
	expect(text, "Gid:", want);
	expect(text, "Groups:", groups);
}

static void
expect_caps(const char *text, const char *permitted, const char *inheritable,
    const char *ambient)
{
	expect(text, "CapPrm:", permitted);
	expect(text, "CapEff:", permitted);
	expect(text, "CapInh:", inheritable);
	expect(text, "CapAmb:", ambient);
}

static void
spec_of(struct proc_spec *s, uint64_t caps)
{
	static const gid_t groups[] = { 4, 77777 };

	proc_spec_init(s);
	s->set_ids = true;
	s->uid = nobody()->pw_uid;
	s->gid = nobody()->pw_gid;
	s->groups = groups;
	s->ngroups = 2;
	s->keep_caps = caps;
}

START_TEST(test_drop)
{
	const gid_t roots[] = { 0, 1, 2 };
	struct proc_spec s;
	const char *text;

	ck_assert_int_eq(setgroups(3, roots), 0);
	spec_of(&s, 0);
	text = run(&s, "status");
	expect_ids(text, s.uid, s.gid, "4 77777");
	expect_caps(text, none, none, none);
	s.ngroups = 0; /* not root's */
	s.groups = NULL;
	expect_ids(run(&s, "status"), s.uid, s.gid, "");
}
END_TEST

START_TEST(test_keep)
{
	struct proc_spec s;
	const char *text;

	spec_of(&s, PRIV_CAPS_SWITCH);
	text = run(&s, "status");
	expect_ids(text, s.uid, s.gid, "4 77777");
	expect_caps(text, kept, kept, kept);
	/* It keeps them, but passes them on no more. */
	text = run(&s, "self");
	expect_caps(text, kept, kept, none);
	/* A handler of the worker's own user. */
	text = run(&s, "plain");
	expect_ids(text, s.uid, s.gid, "4 77777");
	expect(text, "CapPrm:", none);
	expect(text, "CapEff:", none);
	expect(text, "CapAmb:", none);
	/* One of another user. */
	text = run(&s, "other");
	expect_ids(text, 12345, 12346, "");
	expect_caps(text, none, none, none);
	ck_assert_str_eq(run(&s, "kill"), "killed 1\n");
}
END_TEST

/* Without them a worker can not. */
START_TEST(test_without)
{
	struct proc_spec s;

	spec_of(&s, 0);
	ck_assert_str_eq(run(&s, "other"),
	    "failed: can not run /proc/self/exe: "
	    "setgroups: Operation not "
	    "permitted\n");
}
END_TEST

/* A root whose inheritable set is full, as some containers have it. */
START_TEST(test_inheritable)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3,
		0 };
	struct __user_cap_data_struct data[2];
	struct proc_spec s;
	int i;

	ck_assert_int_eq(syscall(SYS_capget, &head, data), 0);
	for (i = 0; i < 2; i++)
		data[i].inheritable = data[i].permitted;
	ck_assert_int_eq(syscall(SYS_capset, &head, data), 0);
	spec_of(&s, 0);
	expect_caps(run(&s, "status"), none, none, none);
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *s;
	TCase *tc;

	if (argc > 1)
		return child_main(argv[1]);
	if (geteuid() != 0) {
		puts("skip priv: not root");
		return 0;
	}
	s = suite_create("priv");
	tc = tcase_create("priv");
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, test_drop);
	tcase_add_test(tc, test_keep);
	tcase_add_test(tc, test_without);
	tcase_add_test(tc, test_inheritable);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
