/* One process for each attempt: what handlers do, well and badly. */
#include <sys/wait.h>

#include "run_fixture.h"
#include "run_suite.h"

/* Output */

START_TEST(test_output)
{
	static const struct {
		const char *script, *output;
	} cases[] = {
		{ "cat", "{\"n\": 1.50, \"big\": 12345678901234567890}" },
		{ "echo '  [1e400,\t-0.0 ] '; echo", "[1e400,\t-0.0 ]" },
		{ "echo true", "true" },
		{ "echo hello", "\"hello\"" },
		{ "printf 'a\\nb\\n'", "\"a\\nb\"" },
		{ "printf 'a\\n\\n'", "\"a\\n\"" },
		{ "printf 'a\\000b'", "\"a\\u0000b\"" },
		{ "echo '{\"a\":1} x'", "\"{\\\"a\\\":1} x\"" },
		{ "printf '\\303\\251'", "\"\303\251\"" },
		{ ":", NULL },
		{ "echo", NULL },
		{ "exec >&-", NULL },
	};
	char name[8];
	struct fx_run f;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(name, sizeof(name), "h%zu", i);
		fx_handler(name, "", cases[i].script);
	}
	fx_begin();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(name, sizeof(name), "h%zu", i);
		fx_run(&f, name,
		    "{\"n\": 1.50, \"big\": 12345678901234567890}");
		fx_assert_output(&f, cases[i].output);
		ck_assert_int_eq(f.started, 1);
		ck_assert_uint_eq(f.r.log.len, 0);
		fx_fini(&f);
	}
}
END_TEST

START_TEST(test_bad_output)
{
	struct fx_run f;

	fx_handler("bytes", "", "printf '\\377\\376'");
	fx_handler("cut", "", "printf 'ab\\303'");
	fx_handler("deep", "",
	    "i=0; while [ $i -lt 513 ]; do printf '['; i=$((i+1)); done\n"
	    "while [ $i -gt 0 ]; do printf ']'; i=$((i-1)); done");
	fx_handler("fits", "",
	    "i=0; while [ $i -lt 512 ]; do printf '['; i=$((i+1)); done\n"
	    "while [ $i -gt 0 ]; do printf ']'; i=$((i-1)); done");
	fx_handler("twice", "", "echo '{\"a\":1,\"a\":2}'");
	fx_begin();
	fx_expect("bytes", "{}", QO_OUTCOME_RETRY, "output", "not UTF-8");
	fx_expect("cut", "{}", QO_OUTCOME_RETRY, "output", "not UTF-8");
	fx_expect("deep", "{}", QO_OUTCOME_RETRY, "output", "deeper than 512");
	fx_run(&f, "fits", "{}");
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_COMPLETED);
	ck_assert_uint_eq(f.r.result.output.len, 1024);
	fx_fini(&f);
	fx_expect("twice", "{}", QO_OUTCOME_RETRY, "output", "same key twice");
}
END_TEST

/* One that never stops is ended; the largest that is allowed is kept. */
START_TEST(test_floods_stdout)
{
	struct fx_run f;
	pid_t pid;

	fx_handler("flood", "", "exec cat /dev/zero");
	fx_handler("full", "", "head -c 262144 /dev/zero | tr '\\0' x");
	fx_handler("over", "", "head -c 262145 /dev/zero | tr '\\0' x");
	fx_begin();
	fx_run(&f, "flood", "{}");
	fx_assert(&f, QO_OUTCOME_RETRY, "output",
	    "the output is larger than output_max (262144 bytes)");
	pid = f.r.pid;
	fx_fini(&f);
	ck_assert(!fx_alive(pid));
	fx_run(&f, "full", "{}");
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_COMPLETED);
	ck_assert_uint_eq(f.r.result.output.len, 262146);
	fx_fini(&f);
	fx_expect("over", "{}", QO_OUTCOME_RETRY, "output",
	    "larger than output_max");
}
END_TEST

START_TEST(test_closes_stdout)
{
	fx_handler("early", "",
	    "echo '[1]'; exec >&- 2>&-; cat >/dev/null; sleep 0.1; exit 0");
	fx_begin();
	fx_expect_output("early", "{\"x\":1}", "[1]");
}
END_TEST

/* Input */

START_TEST(test_large_input)
{
	char *input = fx_large(1 << 20);

	fx_handler("count", "", "wc -c | tr -d ' '");
	fx_begin();
	fx_expect_output("count", input, "1048576");
	free(input);
}
END_TEST

START_TEST(test_never_reads)
{
	char *input = fx_large(1 << 20);

	fx_handler("deaf", "", "sleep 0.1; echo done");
	fx_handler("shut", "", "exec <&-; sleep 0.1; echo done");
	fx_handler("dead", "", "exit 3");
	fx_begin();
	fx_expect_output("deaf", input, "\"done\"");
	fx_expect_output("shut", input, "\"done\"");
	fx_expect("dead", input, QO_OUTCOME_RETRY, "exit",
	    "exited with status 3");
	free(input);
}
END_TEST

/* How it ends */

START_TEST(test_exit_codes)
{
	static const struct {
		int code;
		enum qo_outcome outcome;
	} cases[] = { { 1, QO_OUTCOME_RETRY }, { 2, QO_OUTCOME_RETRY },
		{ 64, QO_OUTCOME_FAILED }, { 65, QO_OUTCOME_FAILED },
		{ 66, QO_OUTCOME_FAILED }, { 67, QO_OUTCOME_RETRY },
		{ 75, QO_OUTCOME_RETRY }, { 77, QO_OUTCOME_FAILED },
		{ 78, QO_OUTCOME_FAILED }, { 255, QO_OUTCOME_RETRY } };
	char input[16], want[40];
	struct fx_run f;
	size_t i;

	fx_handler("code", "", "echo out; exit $(cat)");
	fx_handler("mine", "retry_exit = 64\nfail_exit = 3", "exit $(cat)");
	fx_begin();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(input, sizeof(input), "%d", cases[i].code);
		snprintf(want, sizeof(want), "exited with status %d",
		    cases[i].code);
		fx_run(&f, "code", input);
		fx_assert(&f, cases[i].outcome, "exit", want);
		ck_assert_ptr_null(f.r.result.output.p);
		ck_assert_int_eq(f.r.result.delay_ms, -1);
		fx_fini(&f);
	}
	fx_expect("mine", "64", QO_OUTCOME_RETRY, "exit", "status 64");
	fx_expect("mine", "3", QO_OUTCOME_FAILED, "exit", "status 3");
}
END_TEST

START_TEST(test_signal)
{
	struct fx_run f;

	fx_handler("segv", "", "echo 'out of luck' >&2; kill -SEGV $$");
	fx_begin();
	fx_run(&f, "segv", "{}");
	fx_assert(&f, QO_OUTCOME_RETRY, "signal", "signal 11 (Segmentation");
	ck_assert_ptr_nonnull(strstr(fx_why(&f), ": out of luck"));
	fx_fini(&f);
}
END_TEST

/* The log */

START_TEST(test_log)
{
	struct fx_run f;

	fx_handler("log", "", "echo one >&2; echo two >&2; echo out");
	fx_handler("why", "", "echo first >&2; echo 'no route' >&2; exit 1");
	fx_begin();
	fx_run(&f, "log", "{}");
	fx_assert_output(&f, "\"out\"");
	ck_assert_str_eq(f.r.log.data, "one\ntwo\n");
	fx_fini(&f);
	fx_expect("why", "{}", QO_OUTCOME_RETRY, "exit",
	    "exited with status 1: no route");
}
END_TEST

START_TEST(test_huge_stderr)
{
	struct fx_run f;
	const char *nl;
	long cut;

	fx_handler("huge", "",
	    "i=0; head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2\n"
	    "while [ $i -lt 2000 ]; do echo \"line $i of many, many lines\" "
	    ">&2; i=$((i+1)); done; echo last >&2");
	fx_begin();
	fx_run(&f, "huge", "{}");
	fx_assert_output(&f, NULL);
	ck_assert_uint_le(f.r.log.len, 65536);
	ck_assert_uint_ge(f.r.log.len, 60000);
	ck_assert_int_eq(strncmp(f.r.log.data, "qo: ", 4), 0);
	cut = strtol(f.r.log.data + 4, NULL, 10);
	nl = strchr(f.r.log.data, '\n');
	/* 1,000,001 of the first line; see the loop for the others. */
	ck_assert_int_eq(cut + (long)(f.r.log.data + f.r.log.len - (nl + 1)),
	    1000001 + 10 * 27 + 90 * 28 + 900 * 29 + 1000 * 30 + 5);
	ck_assert_ptr_nonnull(strstr(nl, "line 1999 of"));
	ck_assert_str_eq(f.r.log.data + f.r.log.len - 5, "last\n");
	fx_fini(&f);
}
END_TEST

/* The verdict */

START_TEST(test_verdicts)
{
	struct fx_run f;

	fx_handler("v", "", "echo out; cat >&3; echo more >&2; exit 7");
	fx_begin();
	fx_run(&f, "v", "{\"status\":\"completed\",\"output\":{\"a\":1.0}}");
	fx_assert_output(&f, "{\"a\":1.0}");
	/* Outranks the exit code, which is noted. */
	ck_assert_str_eq(f.r.log.data,
	    "more\nqo: exited with status 7 after its verdict\n");
	fx_fini(&f);
	fx_expect_output("v", "{\"status\":\"completed\"}", "\"out\"");
	fx_expect_output("v", "{\"status\":\"completed\",\"output\":null}",
	    "null");
	fx_run(&f, "v",
	    "{\"status\":\"retry\",\"error\":\"later\",\"delay_seconds\":1.5}");
	fx_assert(&f, QO_OUTCOME_RETRY, "handler", "later");
	ck_assert_int_eq(f.r.result.delay_ms, 1500);
	fx_fini(&f);
	fx_expect("v", "{\"status\":\"failed\",\"error\":\"a\\u0000b\"}",
	    QO_OUTCOME_FAILED, "handler", "a b");
	fx_run(&f, "v", "{\"status\":\"reschedule\",\"delay_seconds\":3600}");
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_RESCHEDULE);
	ck_assert_int_eq(f.r.result.delay_ms, 3600000);
	fx_fini(&f);
	fx_run(&f, "v", "{\"status\":\"reschedule\"}");
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_RESCHEDULE);
	ck_assert_int_eq(f.r.result.delay_ms, 1000);
	fx_fini(&f);
	fx_run(&f, "v", "{\"status\":\"cancelled\"}");
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_CANCELLED);
	fx_fini(&f);
}
END_TEST

START_TEST(test_bad_verdicts)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "{", "bad verdict: invalid JSON" },
		{ "{\"status\":\"done\"}", "status \"done\" is none of" },
		{ "{}", "no status" },
		{ "[]", "not a JSON object" },
		{ "{\"status\":1}", "status is not a string" },
		{ "{\"status\":\"retry\",\"delay_seconds\":-1}",
		    "delay_seconds is not" },
		{ "{\"status\":\"retry\",\"delay_seconds\":1e30}",
		    "delay_seconds is not" },
		{ "{\"status\":\"retry\",\"error\":{}}", "error is not" },
		{ "{\"status\":\"completed\"}{\"status\":\"failed\"}",
		    "invalid JSON" },
		{ "{\"status\":\"failed\",\"error\":\"\377\"}",
		    "invalid JSON" },
		{ "{\"progress\":1}", "progress is for mode = serve" },
		{ "{\"status\":\"wait_signal\",\"signal\":\"x\"}",
		    "wait_signal is for steps of a workflow" },
		{ "{\"status\":\"wait_tasks\",\"ids\":[]}",
		    "wait_tasks is for steps of a workflow" },
	};
	struct fx_run f;
	size_t i;

	fx_handler("v", "", "cat >&3");
	fx_handler("big", "", "cat /dev/zero >&3");
	fx_begin();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fx_run(&f, "v", cases[i].text);
		fx_assert(&f, QO_OUTCOME_RETRY, "verdict", cases[i].why);
		ck_assert_int_eq(f.r.result.delay_ms, -1);
		fx_fini(&f);
	}
	fx_init(&f, "v", "{\"status\":\"wait_signal\"}");
	f.task.workflow_id = "w";
	fx_start(&f);
	fx_wait(&f);
	fx_assert(&f, QO_OUTCOME_RETRY, "verdict", "not known to this version");
	fx_fini(&f);
	fx_expect("big", "{}", QO_OUTCOME_RETRY, "output",
	    "the verdict is larger");
}
END_TEST

/* Stopping */

START_TEST(test_timeout)
{
	struct fx_run f;

	fx_handler("slow", "grace = 60s", "echo begun >&2; sleep 1000");
	fx_handler("stays", "grace = 50ms",
	    "trap '' TERM; echo $$ >$D/pid; while :; do sleep 0.05; done");
	fx_begin();
	fx_init(&f, "slow", "{}");
	f.r.timeout_ms = 100;
	fx_start(&f);
	fx_wait(&f);
	fx_assert(&f, QO_OUTCOME_RETRY, "timeout", "ran longer than 0.1 s");
	ck_assert_int_eq(f.r.stopped, RUN_TIMEOUT);
	ck_assert_ptr_null(strstr(fx_why(&f), "killed"));
	ck_assert_int_ge(f.r.ran_ms, 100);
	fx_fini(&f);
	fx_init(&f, "stays", "{}");
	fx_start(&f);
	(void)fx_number("pid"); /* the trap is set */
	run_stop(&f.r, RUN_TIMEOUT);
	fx_wait(&f);
	fx_assert(&f, QO_OUTCOME_RETRY, "timeout", "had to be killed");
	fx_fini(&f);
}
END_TEST

START_TEST(test_stops)
{
	struct fx_run f;

	fx_handler("peace", "grace = 60s",
	    "trap 'echo bye >&2; exit 0' TERM; echo 1 >$D/ready\n"
	    "while :; do sleep 0.02; done");
	fx_handler("word", "grace = 60s",
	    "trap 'echo \"{\\\"status\\\":\\\"completed\\\",\\\"output\\\":5}\""
	    " >&3; exit 0' TERM; echo 1 >$D/ready\n"
	    "while :; do sleep 0.02; done");
	fx_handler("obeys", "grace = 60s",
	    "trap 'echo \"{\\\"status\\\":\\\"cancelled\\\"}\""
	    " >&3; exit 0' TERM; echo 1 >$D/ready\n"
	    "while :; do sleep 0.02; done");
	fx_handler("half", "grace = 60s",
	    "trap 'printf {\\\"stat >&3; exit 0' TERM; echo 1 >$D/ready\n"
	    "while :; do sleep 0.02; done");
	fx_handler("stays", "grace = 60s",
	    "trap '' TERM; echo 1 >$D/ready; while :; do sleep 0.02; done");
	fx_begin();
	fx_stop(&f, "peace", RUN_CANCEL);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_CANCELLED);
	ck_assert_ptr_nonnull(strstr(f.r.log.data, "bye\n"));
	fx_fini(&f);
	/* It gave up what it did: that is no completion. */
	fx_stop(&f, "peace", RUN_DRAIN);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_REQUEUE);
	fx_fini(&f);
	/* A word of its own counts, but not against a cancel. */
	fx_stop(&f, "word", RUN_DRAIN);
	fx_assert_output(&f, "5");
	fx_fini(&f);
	fx_stop(&f, "word", RUN_TIMEOUT);
	fx_assert_output(&f, "5");
	fx_fini(&f);
	fx_stop(&f, "word", RUN_CANCEL);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_CANCELLED);
	ck_assert_ptr_null(f.r.result.output.p);
	fx_fini(&f);
	/* Whatever the SIGTERM was for, it takes it for a cancel. */
	fx_stop(&f, "obeys", RUN_DRAIN);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_REQUEUE);
	fx_fini(&f);
	fx_stop(&f, "obeys", RUN_TIMEOUT);
	fx_assert(&f, QO_OUTCOME_RETRY, "timeout", "ran longer than");
	fx_fini(&f);
	fx_stop(&f, "obeys", RUN_CANCEL);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_CANCELLED);
	fx_fini(&f);
	/* Half a word does not. */
	fx_stop(&f, "half", RUN_DRAIN);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_REQUEUE);
	fx_fini(&f);
	/* Without grace. */
	fx_stop(&f, "stays", RUN_FENCE);
	ck_assert_int_eq(f.r.stopped, RUN_FENCE);
	fx_fini(&f);
	fx_stop(&f, "stays", RUN_NOW);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_REQUEUE);
	fx_fini(&f);
}
END_TEST

START_TEST(test_stop_twice)
{
	struct fx_run f;

	fx_handler("stays", "grace = 1h",
	    "trap '' TERM; echo 1 >$D/ready; while :; do sleep 0.02; done");
	fx_begin();
	fx_init(&f, "stays", "{}");
	fx_start(&f);
	(void)fx_number("ready");
	run_stop(&f.r, RUN_DRAIN);
	run_stop(&f.r, RUN_TIMEOUT);
	ck_assert_int_eq(f.r.stopped, RUN_DRAIN); /* the first */
	run_stop(&f.r, RUN_CANCEL);
	ck_assert_int_eq(f.r.stopped, RUN_CANCEL);
	run_stop(&f.r, RUN_DRAIN);
	ck_assert_int_eq(f.r.stopped, RUN_CANCEL);
	run_stop(&f.r, RUN_NOW); /* no more grace, the same reason */
	fx_wait(&f);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_CANCELLED);
	fx_fini(&f);
	/* A stopped process hears SIGTERM all the same. */
	fx_init(&f, "stays", "{}");
	fx_start(&f);
	kill(f.r.pid, SIGSTOP);
	run_stop(&f.r, RUN_FENCE);
	fx_wait(&f);
	ck_assert_int_eq(f.r.stopped, RUN_FENCE);
	fx_fini(&f);
}
END_TEST

START_TEST(test_stopped_process)
{
	struct fx_run f;

	fx_handler("s", "grace = 1h", "echo 1 >$D/ready; kill -STOP $$");
	fx_begin();
	fx_init(&f, "s", "{}");
	fx_start(&f);
	(void)fx_number("ready");
	run_stop(&f.r, RUN_CANCEL);
	fx_wait(&f);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_CANCELLED);
	fx_fini(&f);
}
END_TEST

/* A run that is given up while it runs leaves no process. */
START_TEST(test_fini_early)
{
	struct fx_run f;
	pid_t pid;

	fx_handler("slow", "", "sleep 1000");
	fx_begin();
	fx_init(&f, "slow", "{}");
	fx_start(&f);
	pid = f.r.pid;
	fx_fini(&f);
	fx_gone(pid);
	fx_no_children();
}
END_TEST

/* Others */

START_TEST(test_grandchildren)
{
	struct fx_run f;
	pid_t pid;

	/* It holds all descriptors, ignores SIGTERM and goes on; it has
	 * nothing of our environment that would tell whose it is. */
	fx_handler("kids", "grace = 1h",
	    "env -i D=$D sh -c 'trap \"\" TERM; echo $$ >$D/kid\n"
	    "while :; do sleep 0.02; done' &\n"
	    "while [ ! -s $D/kid ]; do sleep 0.01; done; echo main");
	fx_begin();
	fx_run(&f, "kids", "{}");
	fx_assert_output(&f, "\"main\"");
	pid = fx_number("kid");
	fx_gone(pid);
	fx_fini(&f);
	fx_no_children();
}
END_TEST

/* Leaves the group; the end does not wait for it. */
START_TEST(test_escapee)
{
	pid_t pid;

	fx_handler("daemon", "",
	    "setsid sh -c 'echo $$ >$D/kid; exec sleep 1000' &\n"
	    "while [ ! -s $D/kid ]; do sleep 0.01; done; echo main");
	fx_begin();
	fx_expect_output("daemon", "{}", "\"main\"");
	pid = fx_number("kid");
	fx_gone(pid);
	fx_no_children();
}
END_TEST

/* Nothing tells whose it is: it goes when nobody is left that it could be
 * of. */
START_TEST(test_nameless_escapee)
{
	struct fx_run f, g;
	pid_t pid;
	int i;

	fx_handler("daemon", "",
	    "(setsid env -i sh -c \"echo \\$\\$ >$D/kid; exec sleep 1000\" &)\n"
	    "while [ ! -s $D/kid ]; do sleep 0.01; done");
	fx_handler("long", "", "sleep 1000");
	fx_begin();
	fx_init(&g, "long", "{}");
	g.task.lease_id = "0d5c1f6a-0000-4000-8000-000000000003";
	fx_start(&g);
	fx_run(&f, "daemon", "{}");
	fx_fini(&f);
	pid = fx_number("kid");
	for (i = 0; i < 20; i++) /* time to die, if it has to */
		loop_once(fx_loop, 10);
	ck_assert(fx_alive(pid));
	run_stop(&g.r, RUN_FENCE);
	fx_wait(&g);
	fx_fini(&g);
	fx_gone(pid);
	fx_no_children();
}
END_TEST

/* The same from further below: its parent dies after the handler, and when it
 * is killed it leaves one of its own. */
START_TEST(test_escapee_of_escapee)
{
	fx_handler("daemons", "",
	    "sh -c 'setsid sh -c \"setsid sh -c \\\"echo \\\\\\$\\\\\\$ "
	    ">$D/kid; exec sleep 1000\\\" & sleep 1000\" & sleep 1000' &\n"
	    "while [ ! -s $D/kid ]; do sleep 0.01; done; echo main");
	fx_begin();
	fx_expect_output("daemons", "{}", "\"main\"");
	fx_gone(fx_number("kid"));
	fx_no_children();
}
END_TEST

/* While it executes a program it shows no environment, and this one does
 * hardly anything else. */
START_TEST(test_restless_escapee)
{
	struct fx_run f;
	char path[256];
	int i;

	fx_handler("daemon", "",
	    "(setsid $D/restless &)\n"
	    "while [ ! -s $D/kid ]; do sleep 0.01; done");
	fx_write("restless",
	    "#!/bin/sh\n[ -s $D/kid ] || echo $$ >$D/kid\nexec $D/restless\n",
	    0755);
	fx_begin();
	snprintf(path, sizeof(path), "%s/kid", fx_dir);
	for (i = 0; i < 40; i++) {
		fx_run(&f, "daemon", "{}");
		fx_fini(&f);
		fx_gone(fx_number("kid"));
		unlink(path);
	}
	fx_no_children();
}
END_TEST

/* Those of an attempt that still runs are not touched by another's end. */
START_TEST(test_others_escapee)
{
	struct qo_mono since = qo_mono_now();
	struct fx_run f, g;
	pid_t pid;
	int i;

	/* Its parent ends: it becomes a child of ours. */
	fx_handler("daemon", "",
	    "(setsid sh -c 'echo $$ >$D/kid; exec sleep 1000' &)\n"
	    "sleep 1000");
	fx_handler("quick", "", "exit 0");
	fx_begin();
	fx_init(&f, "daemon", "{}");
	fx_start(&f);
	pid = fx_number("kid");
	while (fx_children() != 2) {
		loop_once(fx_loop, 5);
		ck_assert(!fx_late(since));
	}
	fx_init(&g, "quick", "{}");
	g.task.lease_id = "0d5c1f6a-0000-4000-8000-000000000003";
	fx_start(&g);
	fx_wait(&g);
	fx_fini(&g);
	for (i = 0; i < 20; i++) /* time to die, if it has to */
		loop_once(fx_loop, 10);
	ck_assert(fx_alive(pid));
	ck_assert_int_eq(fx_children(), 2);
	run_stop(&f.r, RUN_FENCE);
	fx_wait(&f);
	fx_fini(&f);
	fx_gone(pid);
	fx_no_children();
}
END_TEST

START_TEST(test_forks)
{
	fx_handler("forks", "",
	    "i=0; while [ $i -lt 200 ]; do (exit 0) & i=$((i+1)); done\n"
	    "i=0; while [ $i -lt 20 ]; do sleep 1000 & i=$((i+1)); done\n"
	    "echo ok");
	fx_begin();
	fx_expect_output("forks", "{}", "\"ok\"");
	fx_no_children();
}
END_TEST

START_TEST(test_thousand)
{
	static struct fx_run f[8];
	int before, i, k;

	fx_handler("t", "", "exit 0");
	fx_handler("last", "",
	    "(trap '' TERM HUP; exec sleep 1000) & echo $! >$D/kid");
	fx_begin();
	fx_run(&f[0], "t", "{}");
	fx_fini(&f[0]);
	before = fx_descriptors();
	for (i = 0; i < 1000; i += 8) {
		for (k = 0; k < 8; k++) {
			fx_init(&f[k], i + k == 999 ? "last" : "t", "{}");
			fx_start(&f[k]);
		}
		for (k = 0; k < 8; k++) {
			fx_wait(&f[k]);
			ck_assert_int_eq(f[k].r.outcome, QO_OUTCOME_COMPLETED);
			fx_fini(&f[k]);
		}
	}
	fx_gone(fx_number("kid"));
	fx_no_children();
	ck_assert_int_eq(fx_descriptors(), before);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("run_exec");
	TCase *tc = tcase_create("exec");

	tcase_set_timeout(tc, 3 * FX_PATIENCE);
	tcase_add_checked_fixture(tc, fx_setup, fx_teardown);
	tcase_add_test(tc, test_output);
	tcase_add_test(tc, test_bad_output);
	tcase_add_test(tc, test_floods_stdout);
	tcase_add_test(tc, test_closes_stdout);
	tcase_add_test(tc, test_large_input);
	tcase_add_test(tc, test_never_reads);
	tcase_add_test(tc, test_exit_codes);
	tcase_add_test(tc, test_signal);
	tcase_add_test(tc, test_log);
	tcase_add_test(tc, test_huge_stderr);
	tcase_add_test(tc, test_verdicts);
	tcase_add_test(tc, test_bad_verdicts);
	tcase_add_test(tc, test_timeout);
	tcase_add_test(tc, test_stops);
	tcase_add_test(tc, test_stop_twice);
	tcase_add_test(tc, test_stopped_process);
	tcase_add_test(tc, test_fini_early);
	tcase_add_test(tc, test_grandchildren);
	tcase_add_test(tc, test_escapee);
	tcase_add_test(tc, test_nameless_escapee);
	tcase_add_test(tc, test_escapee_of_escapee);
	tcase_add_test(tc, test_restless_escapee);
	tcase_add_test(tc, test_others_escapee);
	tcase_add_test(tc, test_forks);
	tcase_add_test(tc, test_thousand);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
