/* What a handler starts with: environment, descriptors, signals, limits,
 * account, directory; and which handler serves which type. */
#include <grp.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "proc.h"
#include "run_fixture.h"
#include "run_suite.h"

/* Which one */

static void
section(const char *name, const char *type)
{
	buf_addf(&fx_text, "[handler %s]\ntype = %s\ncommand = true\n", name,
	    type);
}

static const char *
found(const char *type)
{
	const struct conf_handler *c = conf_handler_find(fx_conf, type);

	return c != NULL ? c->name : "";
}

START_TEST(test_find)
{
	section("exact", "image.resize");
	section("some", "image.*");
	section("more", "image.re*");
	section("mail", "mail");
	fx_begin();
	ck_assert_str_eq(found("image.resize"), "exact");
	ck_assert_str_eq(found("image.reduce"), "more");
	ck_assert_str_eq(found("image.rotate"), "some");
	ck_assert_str_eq(found("image."), "some");
	ck_assert_str_eq(found("image"), "");
	ck_assert_str_eq(found("mail"), "mail");
	ck_assert_str_eq(found("mails"), "");
	ck_assert_str_eq(found("mai"), "");
}
END_TEST

START_TEST(test_find_any)
{
	section("any", "*");
	section("one", "one");
	fx_begin();
	ck_assert_str_eq(found("x"), "any");
	ck_assert_str_eq(found("one"), "one");
}
END_TEST

START_TEST(test_exec_has_room)
{
	const struct conf_handler *c;
	int i;

	section("x", "x");
	fx_begin();
	c = conf_handler_find(fx_conf, "x");
	for (i = 0; i < 1000; i++)
		ck_assert(handlers_reserve(fx_handlers, c));
	for (i = 0; i < 1000; i++)
		handlers_unreserve(fx_handlers, c);
}
END_TEST

/* Counted */

static uint64_t
runs(const struct board_handler *h)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < BOARD_STEPS; i++)
		n += h->steps[i];
	return n;
}

START_TEST(test_board)
{
	struct board_handler b;
	struct fx_run f;

	fx_handler("good", "", "exit 0");
	fx_handler("bad", "", "exit 1");
	fx_begin();
	fx_run(&f, "good", "{}");
	fx_fini(&f);
	fx_run(&f, "bad", "{}");
	fx_fini(&f);
	fx_run(&f, "bad", "{}");
	fx_fini(&f);
	ck_assert(board_handler_read(fx_area, 0, &b));
	ck_assert_str_eq(b.name, "good");
	ck_assert_uint_eq(runs(&b), 1);
	ck_assert(board_handler_read(fx_area, 1, &b));
	ck_assert_str_eq(b.name, "bad");
	ck_assert_uint_eq(runs(&b), 2);
}
END_TEST

/* Environment */

/* The output is a JSON string; is this line one of it? */
static bool
has_line(const struct fx_run *f, const char *line)
{
	const char *out = f->r.result.output.p;
	size_t len = f->r.result.output.len, n = strlen(line);
	const char *p = out + 1;

	while ((p = memmem(p, len - (size_t)(p - out), line, n)) != NULL) {
		if ((p == out + 1 || p[-1] == 'n') &&
		    (p[n] == '\\' || p[n] == '"'))
			return true;
		p++;
	}
	return false;
}

static size_t
lines(const struct fx_run *f)
{
	const char *p = f->r.result.output.p;
	const char *end = p + f->r.result.output.len;
	size_t n = 1;

	while ((p = memmem(p, (size_t)(end - p), "\\n", 2)) != NULL) {
		n++;
		p += 2;
	}
	return n;
}

START_TEST(test_environment)
{
	static const char *const names[] = { "HOME", "LANG", "LC_ALL",
		"LOGNAME", "MINE", "PATH", "QO_ATTEMPT", "QO_CONFIG",
		"QO_DEADLINE", "QO_HANDLER", "QO_IDEMPOTENCY_KEY",
		"QO_LEASE_ID", "QO_MODE", "QO_RESULT_FD", "QO_STEP",
		"QO_TASK_ID", "QO_TASK_TYPE", "QO_WORKFLOW_ID", "SHELL",
		"TMPDIR", "TRACEPARENT", "TZ", "USER" };
	struct fx_run f;
	size_t i;

	ck_assert_int_eq(setenv("AWS_SECRET_ACCESS_KEY", "hush", 1), 0);
	ck_assert_int_eq(setenv("QO_S3_SECRET_KEY", "hush", 1), 0);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", "/run/x", 1), 0);
	ck_assert_int_eq(setenv("LANG", "C", 1), 0);
	ck_assert_int_eq(setenv("HOME", "/h o", 1), 0);
	ck_assert_int_eq(setenv("LC_ALL", "C", 1), 0);
	ck_assert_int_eq(setenv("TZ", "IST-5:30", 1), 0);
	ck_assert_int_eq(setenv("TMPDIR", fx_dir, 1), 0);
	/* No shell between: it would add names of its own. */
	buf_addf(&fx_text,
	    "[handler e]\ntype = e\n"
	    "command = /usr/bin/env\nenv.MINE = a b\n"
	    "env.LANG = de_DE.UTF-8\n"
	    "[handler names]\ntype = names\n"
	    "env.MINE = x\ncommand = /usr/bin/env\n");
	fx_begin();
	fx_init(&f, "e", "{}");
	f.task.idempotency_key = "key 1";
	f.task.workflow_id = "wf";
	f.task.step = "st";
	f.task.traceparent = "00-a-b-01";
	f.r.deadline.us = INT64_C(1769601600123456);
	fx_start(&f);
	fx_wait(&f);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_COMPLETED);
	ck_assert(has_line(&f,
	    "QO_TASK_ID=7b1f9c5e-0000-4000-8000-000000000001"));
	ck_assert(has_line(&f, "QO_TASK_TYPE=e"));
	ck_assert(has_line(&f, "QO_ATTEMPT=3"));
	ck_assert(has_line(&f,
	    "QO_LEASE_ID=0d5c1f6a-0000-4000-8000-000000000002"));
	ck_assert(has_line(&f, "QO_IDEMPOTENCY_KEY=key 1"));
	ck_assert(has_line(&f, "QO_WORKFLOW_ID=wf"));
	ck_assert(has_line(&f, "QO_STEP=st"));
	ck_assert(has_line(&f, "TRACEPARENT=00-a-b-01"));
	ck_assert(has_line(&f, "QO_DEADLINE=2026-01-28T12:00:00.123456Z"));
	ck_assert(has_line(&f, "QO_RESULT_FD=3"));
	ck_assert(has_line(&f, "QO_CONFIG=/etc/qo/qod.conf"));
	ck_assert(has_line(&f, "QO_HANDLER=e"));
	ck_assert(has_line(&f, "QO_MODE=exec"));
	ck_assert(has_line(&f, "MINE=a b"));
	ck_assert(has_line(&f, "HOME=/h o"));
	ck_assert(has_line(&f, "LANG=de_DE.UTF-8"));
	ck_assert(has_line(&f, "TZ=IST-5:30"));
	/* Exactly these. */
	ck_assert_uint_eq(lines(&f), sizeof(names) / sizeof(names[0]));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_msg(memmem(f.r.result.output.p, f.r.result.output.len,
				  names[i], strlen(names[i])) != NULL,
		    "%s", names[i]);
	ck_assert_ptr_null(memmem(f.r.result.output.p, f.r.result.output.len,
	    "hush", 4));
	fx_fini(&f);
	/* The id when there is no key; nothing where there is nothing. */
	fx_run(&f, "names", "{}");
	ck_assert(has_line(&f,
	    "QO_IDEMPOTENCY_KEY=7b1f9c5e-0000-4000-8000-000000000001"));
	ck_assert(has_line(&f, "LANG=C"));
	ck_assert_uint_eq(lines(&f), sizeof(names) / sizeof(names[0]) - 4);
	fx_fini(&f);
}
END_TEST

START_TEST(test_credentials)
{
	struct fx_run f;

	buf_adds(&fx_text,
	    "[s3]\naccess_key = AK\nsecret_key = hush\n"
	    "region = eu-x\nendpoint = http://127.0.0.1:9\n"
	    "bucket = abc\n"
	    "[handler with]\ntype = with\npass_credentials = "
	    "yes\ncommand = /usr/bin/env\n"
	    "[handler without]\ntype = without\n"
	    "command = /usr/bin/env\n");
	fx_begin();
	fx_run(&f, "with", "{}");
	ck_assert(has_line(&f, "AWS_ACCESS_KEY_ID=AK"));
	ck_assert(has_line(&f, "AWS_SECRET_ACCESS_KEY=hush"));
	ck_assert(has_line(&f, "AWS_REGION=eu-x"));
	ck_assert(has_line(&f, "AWS_ENDPOINT_URL=http://127.0.0.1:9"));
	fx_fini(&f);
	fx_run(&f, "without", "{}");
	ck_assert_ptr_null(memmem(f.r.result.output.p, f.r.result.output.len,
	    "hush", 4));
	ck_assert_ptr_null(memmem(f.r.result.output.p, f.r.result.output.len,
	    "AWS_", 4));
	fx_fini(&f);
}
END_TEST

/* Those of the embedded store are in its file. */
START_TEST(test_credentials_of_store)
{
	struct fx_run f;

	fx_write("keys", "[k]\naccess_key = SK\nsecret_key = hush\n", 0600);
	buf_addf(&fx_text,
	    "[store]\nkeys_file = %s/keys\n"
	    "[handler with]\ntype = with\npass_credentials = "
	    "yes\ncommand = /usr/bin/env\n",
	    fx_dir);
	fx_begin();
	fx_run(&f, "with", "{}");
	ck_assert(has_line(&f, "AWS_ACCESS_KEY_ID=SK"));
	ck_assert(has_line(&f, "AWS_SECRET_ACCESS_KEY=hush"));
	fx_fini(&f);
}
END_TEST

/* State */

START_TEST(test_clean_state)
{
	struct fx_run f;
	sigset_t set;
	int fd;

	fx_handler("s", "",
	    "grep -E '^(SigBlk|SigIgn|SigCgt|NoNewPrivs):' /proc/self/status |"
	    " tr '\\t' ' '\n"
	    "echo fds $(ls /proc/self/fd)\n" /* the last one is ls's own */
	    "echo sid $(($(ps -o sid= -p $$)-$$)) umask $(umask)");
	fd = open("/dev/null", O_RDONLY); /* not close-on-exec */
	ck_assert_int_ne(fd, -1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sig_ignore(SIGINT);
	umask(077);
	fx_begin();
	fx_run(&f, "s", "{}");
	ck_assert(has_line(&f, "SigBlk: 0000000000000000"));
	ck_assert(has_line(&f, "SigIgn: 0000000000000000"));
	ck_assert(has_line(&f, "NoNewPrivs: 1"));
	ck_assert(has_line(&f, "fds 0 1 2 3 4"));
	ck_assert(has_line(&f, "sid 0 umask 0022"));
	fx_fini(&f);
	close(fd);
}
END_TEST

/* The directory */

START_TEST(test_cwd)
{
	struct fx_run f;
	char more[200], want[200];

	ck_assert_int_eq(setenv("TMPDIR", fx_dir, 1), 0);
	snprintf(more, sizeof(more), "cwd = %s", fx_dir);
	fx_handler("mine", more, "pwd");
	fx_handler("own", "", "pwd; stat -c %a .; ls -A");
	fx_handler("dirty", "",
	    "mkdir -p a/b; echo x >a/b/c; ln -s / root; chmod 0 a; pwd");
	fx_begin();
	fx_run(&f, "mine", "{}");
	snprintf(want, sizeof(want), "\"%s\"", fx_dir);
	fx_assert_output(&f, want);
	fx_fini(&f);
	fx_run(&f, "own", "{}");
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_COMPLETED);
	ck_assert(has_line(&f, "700"));
	ck_assert_uint_eq(lines(&f), 2); /* and nothing in it */
	ck_assert_int_eq(strncmp(f.r.result.output.p + 1, fx_dir,
			     strlen(fx_dir)),
	    0);
	fx_fini(&f);
	fx_run(&f, "dirty", "{}");
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_COMPLETED);
	snprintf(want, sizeof(want), "%.*s", (int)f.r.result.output.len - 2,
	    f.r.result.output.p + 1);
	fx_fini(&f);
	fx_no_children();
	ck_assert_int_eq(access(want, F_OK), -1);
	handlers_free(fx_handlers);
	fx_handlers = NULL;
	/* The three scripts, and nothing of ours. */
	ck_assert_int_eq(fx_count(fx_dir), 3);
}
END_TEST

/* What a killed worker left is removed; what somebody uses is not. */
START_TEST(test_tidy)
{
	const struct timespec old[2] = { { 1, 0 }, { 1, 0 } };
	char path[4][200];
	int i, fd;

	ck_assert_int_eq(setenv("TMPDIR", fx_dir, 1), 0);
	for (i = 0; i < 4; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%s.%d", fx_dir,
		    i == 3 ? "other" : "qo-worker", i);
		ck_assert_int_eq(mkdir(path[i], 0711), 0);
	}
	fx_write("qo-worker.0/x", "", 0600);
	for (i = 0; i < 4; i++)
		if (i != 1) /* that one is young */
			ck_assert_int_eq(utimensat(AT_FDCWD, path[i], old, 0),
			    0);
	fd = open(path[2], O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	fx_handler("x", "", "pwd");
	fx_begin();
	fx_no_children();
	ck_assert_int_eq(access(path[0], F_OK), -1);
	for (i = 1; i < 4; i++)
		ck_assert_int_eq(access(path[i], F_OK), 0);
	close(fd);
}
END_TEST

START_TEST(test_cwd_gone)
{
	char more[256], path[200];
	struct fx_run f;

	snprintf(path, sizeof(path), "%s/d", fx_dir);
	snprintf(more, sizeof(more), "cwd = %s", path);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	fx_handler("x", more, "pwd");
	fx_begin();
	ck_assert_int_eq(rmdir(path), 0);
	fx_run(&f, "x", "{}");
	fx_assert(&f, QO_OUTCOME_RETRY, "start", "No such file or directory");
	ck_assert_ptr_nonnull(strstr(fx_why(&f), path));
	fx_fini(&f);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	fx_run(&f, "x", "{}");
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_COMPLETED);
	fx_fini(&f);
}
END_TEST

/* What can not start */

START_TEST(test_missing_program)
{
	struct fx_run f;
	char path[200];

	fx_handler("x", "", "echo 1");
	fx_begin();
	fx_expect_output("x", "{}", "1");
	snprintf(path, sizeof(path), "%s/x", fx_dir);
	ck_assert_int_eq(unlink(path), 0);
	fx_run(&f, "x", "{}");
	fx_assert(&f, QO_OUTCOME_RETRY, "start", "No such file or directory");
	ck_assert_int_eq(f.started, 0);
	ck_assert_int_eq(f.r.pid, 0);
	fx_fini(&f);
	fx_expect("x", "{}", QO_OUTCOME_RETRY, "start", "there is no program");
	/* Back again. */
	fx_write("x", "#!/bin/sh\necho 2\n", 0755);
	fx_expect_output("x", "{}", "2");
	/* Not for us. */
	fx_write("x", "#!/bin/sh\necho 2\n", 0644);
	fx_expect("x", "{}", QO_OUTCOME_RETRY, "start", "Permission denied");
	fx_expect("x", "{}", QO_OUTCOME_RETRY, "start", "can not be executed");
	fx_write("x", "#!/nonexistent/sh\n", 0755);
	fx_expect("x", "{}", QO_OUTCOME_RETRY, "start", "No such file");
	/* A stop that comes before the reason is told. */
	fx_init(&f, "x", "{}");
	fx_start(&f);
	run_stop(&f.r, RUN_CANCEL);
	fx_wait(&f);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_CANCELLED);
	fx_fini(&f);
	fx_no_children();
}
END_TEST

START_TEST(test_unknown_user)
{
	struct fx_run f;

	fx_handler("x", "user = no-such-user", "echo 1");
	fx_handler("y", "", "echo 2");
	fx_begin();
	fx_expect("x", "{}", QO_OUTCOME_RETRY, "start",
	    "there is no user \"no-such-user\" here");
	fx_run(&f, "y", "{}"); /* the others go on */
	fx_assert_output(&f, "2");
	fx_fini(&f);
}
END_TEST

START_TEST(test_user)
{
	char dir[] = "/tmp/qo-run-user-XXXXXX", want[128];
	struct fx_run f;

	if (geteuid() != 0)
		return;
	/* The directory of the tests may be closed to others. */
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(setenv("TMPDIR", dir, 1), 0);
	buf_adds(&fx_text,
	    "[handler x]\ntype = x\nuser = daemon\ncommand = sh -c "
	    "'id -u && id -g && id -G && pwd >f && stat -c %U . f && "
	    "echo $USER:$HOME'\n"
	    "[handler g]\ntype = g\nuser = daemon\ngroup = tty\n"
	    "command = id -gn\n");
	fx_begin();
	fx_run(&f, "x", "{}");
	snprintf(want, sizeof(want),
	    "\"%u\\n%u\\n%u\\ndaemon\\ndaemon\\ndaemon:%s\"",
	    getpwnam("daemon")->pw_uid, getpwnam("daemon")->pw_gid,
	    getpwnam("daemon")->pw_gid, getpwnam("daemon")->pw_dir);
	fx_assert_output(&f, want);
	fx_fini(&f);
	fx_expect_output("g", "{}", "\"tty\"");
	fx_no_children();
	handlers_free(fx_handlers);
	fx_handlers = NULL;
	ck_assert_int_eq(rmdir(dir), 0); /* nothing is left in it */
}
END_TEST

/* Limits */

START_TEST(test_limits)
{
	struct fx_run f;

	fx_handler("mem", "memory_max = 64MiB",
	    "ulimit -v; exec head -c 200000000 /dev/zero | tail -c 200000000 | "
	    "wc -c");
	fx_handler("cpu", "cpu_seconds = 1", "while :; do :; done");
	fx_handler("files", "files_max = 16",
	    "ulimit -n; exec 4</dev/null 5</dev/null; exec sh -c "
	    "'for i in 1 2 3; do exec 9</dev/null; done; echo fine; "
	    "cat /dev/null $(seq 1 3 | sed s,.*,/dev/null,)'");
	fx_begin();
	fx_run(&f, "mem", "{}");
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_COMPLETED);
	ck_assert(has_line(&f, "65536"));
	/* tail wanted more than that, and said so. */
	ck_assert_ptr_nonnull(strstr(f.r.log.data, "memory exhausted"));
	fx_fini(&f);
	/* By SIGXCPU; by SIGKILL when the machine stood still for a second and
	 * counted that as its time. */
	fx_run(&f, "cpu", "{}");
	fx_assert(&f, QO_OUTCOME_RETRY, "signal",
	    strstr(fx_why(&f), "signal 9 ") != NULL
		? "killed by signal 9 "
		: "CPU time limit exceeded");
	fx_fini(&f);
	fx_run(&f, "files", "{}");
	ck_assert(has_line(&f, "16"));
	fx_fini(&f);
}
END_TEST

/* A worker that is killed takes its handlers with it. */
START_TEST(test_dies_with_worker)
{
	struct fx_run f;
	pid_t worker, pid;
	int status;

	/* What it leaves behind goes with the test. */
	ck_assert_int_eq(setenv("TMPDIR", fx_dir, 1), 0);
	fx_handler("x", "", "echo $$ >$D/pid; exec sleep 1000");
	/* An orphan is ours to wait for. */
	ck_assert_int_eq(proc_subreaper(), 0);
	worker = fork();
	ck_assert_int_ne(worker, -1);
	if (worker == 0) {
		loop_free(fx_loop);
		fx_loop = loop_new();
		loop_io_add(fx_loop, &fx_signals, sig_fd(), EPOLLIN,
		    fx_on_signal, NULL);
		fx_begin();
		fx_init(&f, "x", "{}");
		fx_start(&f);
		fx_wait(&f);
		_exit(0);
	}
	pid = fx_number("pid");
	kill(worker, SIGKILL);
	ck_assert_int_eq(waitpid(worker, &status, 0), worker);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("run_state");
	TCase *tc = tcase_create("state");

	tcase_set_timeout(tc, 3 * FX_PATIENCE);
	tcase_add_checked_fixture(tc, fx_setup, fx_teardown);
	tcase_add_test(tc, test_find);
	tcase_add_test(tc, test_find_any);
	tcase_add_test(tc, test_exec_has_room);
	tcase_add_test(tc, test_board);
	tcase_add_test(tc, test_environment);
	tcase_add_test(tc, test_credentials);
	tcase_add_test(tc, test_credentials_of_store);
	tcase_add_test(tc, test_clean_state);
	tcase_add_test(tc, test_cwd);
	tcase_add_test(tc, test_tidy);
	tcase_add_test(tc, test_cwd_gone);
	tcase_add_test(tc, test_missing_program);
	tcase_add_test(tc, test_unknown_user);
	tcase_add_test(tc, test_user);
	tcase_add_test(tc, test_limits);
	tcase_add_test(tc, test_dies_with_worker);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
