/* Long-lived processes: many tasks each, and what goes wrong with them. */
#include <sys/wait.h>

#include "proc.h"
#include "run_fixture.h"
#include "run_suite.h"

/* Answers every task with its own line. */
#define ECHO                                                            \
	"while read -r l; do echo \"{\\\"status\\\":\\\"completed\\\"," \
	"\\\"output\\\":$l}\"; done"
#define OK "echo '{\"status\":\"completed\"}'"

static int nfreed;

static void
on_freed(void *arg, const struct conf_handler *c)
{
	(void)arg;
	(void)c;
	nfreed++;
}

static bool
has(const struct fx_run *f, const char *text)
{
	return memmem(f->r.result.output.p, f->r.result.output.len, text,
		   strlen(text)) != NULL;
}

START_TEST(test_line)
{
	struct fx_run f;

	fx_handler("e", "mode = serve", ECHO);
	fx_begin();
	fx_init(&f, "e", "{\"a\":\n\n[1,\r\n2.50]}");
	f.task.idempotency_key = "k\"1";
	f.task.workflow_id = "w1";
	f.task.step = "s1";
	f.task.traceparent = "00-1-2-01";
	f.r.deadline.us = INT64_C(1769601600000000);
	fx_start(&f);
	fx_wait(&f);
	fx_assert_output(&f,
	    "{\"task_id\":\"7b1f9c5e-0000-4000-8000-000000000001\","
	    "\"task_type\":\"e\",\"attempt\":3,"
	    "\"lease_id\":\"0d5c1f6a-0000-4000-8000-000000000002\","
	    "\"idempotency_key\":\"k\\\"1\",\"workflow_id\":\"w1\","
	    "\"step\":\"s1\",\"deadline\":\"2026-01-28T12:00:00.000000Z\","
	    "\"traceparent\":\"00-1-2-01\",\"input\":{\"a\":  [1,\r 2.50]}}");
	ck_assert_int_eq(f.started, 1);
	fx_fini(&f);
	fx_run(&f, "e", "1");
	fx_assert_output(&f,
	    "{\"task_id\":\"7b1f9c5e-0000-4000-8000-000000000001\","
	    "\"task_type\":\"e\",\"attempt\":3,"
	    "\"lease_id\":\"0d5c1f6a-0000-4000-8000-000000000002\","
	    "\"idempotency_key\":\"7b1f9c5e-0000-4000-8000-000000000001\","
	    "\"input\":1}");
	fx_fini(&f);
}
END_TEST

START_TEST(test_many)
{
	static struct fx_run f[4];
	pid_t pids[4] = { 0 };
	char input[4][24];
	int i, k, before;

	fx_handler("e", "mode = serve\ninstances = 4", ECHO);
	fx_begin();
	fx_run(&f[0], "e", "0");
	fx_fini(&f[0]);
	before = fx_descriptors();
	for (i = 0; i < 500; i++) {
		for (k = 0; k < 4; k++) {
			snprintf(input[k], sizeof(input[k]), "\"n%d.%d\"", i,
			    k);
			fx_init(&f[k], "e", input[k]);
			fx_start(&f[k]);
		}
		/* All are busy. */
		ck_assert(!handlers_reserve(fx_handlers, f[0].r.handler));
		for (k = 0; k < 4; k++) {
			fx_wait(&f[k]);
			ck_assert(has(&f[k], input[k]));
			if (i == 0)
				pids[k] = f[k].r.pid;
			/* The same ones, in whatever order. */
			ck_assert(f[k].r.pid == pids[0] ||
			    f[k].r.pid == pids[1] || f[k].r.pid == pids[2] ||
			    f[k].r.pid == pids[3]);
			fx_fini(&f[k]);
		}
	}
	ck_assert_int_eq(fx_descriptors(), before + 9);
	ck_assert_int_eq(fx_children(), 4);
}
END_TEST

START_TEST(test_large)
{
	char *input = fx_large(200000);
	struct fx_run f;
	int i;

	/* dash's read is slow: no more of them than needed. */
	fx_handler("e", "mode = serve\ninstances = 1",
	    "while IFS= read -r l; do printf '{\"status\":\"completed\","
	    "\"output\":%s}\\n' \"$l\"; done");
	fx_begin();
	for (i = 0; i < 3; i++) {
		fx_run(&f, "e", i == 1 ? "1" : input);
		ck_assert_int_eq(f.r.outcome, QO_OUTCOME_COMPLETED);
		ck_assert(i == 1 || f.r.result.output.len > 200000);
		fx_fini(&f);
	}
	free(input);
}
END_TEST

START_TEST(test_progress_and_log)
{
	struct fx_run f;

	fx_handler("p", "mode = serve\ninstances = 1",
	    "while read -r l; do echo '{\"progress\":1}'\n"
	    "echo '{\"log\":\"first\\\"\"}'; echo stderr >&2\n"
	    "echo '{\"progress\":{\"done\": 2}}'; sleep 0.05\n"
	    "echo '{\"log\":\"last\"}'; echo more >&2\n"
	    "echo '{\"status\":\"completed\"}'; done");
	fx_begin();
	fx_run(&f, "p", "{}");
	fx_assert_output(&f, NULL);
	ck_assert_int_eq(f.progressed, 2);
	ck_assert_str_eq(f.progress, "{\"done\": 2}");
	ck_assert_ptr_nonnull(strstr(f.r.log.data, "first\"\n"));
	ck_assert_ptr_nonnull(strstr(f.r.log.data, "stderr\n"));
	ck_assert_ptr_nonnull(strstr(f.r.log.data, "last\n"));
	/* Written before the verdict: of this task, not of the next. */
	ck_assert_ptr_nonnull(strstr(f.r.log.data, "more\n"));
	ck_assert_uint_eq(f.r.log.len, 7 + 7 + 5 + 5);
	fx_fini(&f);
}
END_TEST

START_TEST(test_verdicts)
{
	struct fx_run f;
	pid_t pid;

	/* Says what its input says. */
	fx_handler("v", "mode = serve\ninstances = 1",
	    "while read -r l; do l=${l#*\\\"input\\\":}; echo \"${l%?}\"; "
	    "done");
	fx_begin();
	fx_run(&f, "v",
	    "{\"status\":\"retry\",\"error\":\"no\","
	    "\"delay_seconds\":2}");
	fx_assert(&f, QO_OUTCOME_RETRY, "handler", "no");
	ck_assert_int_eq(f.r.result.delay_ms, 2000);
	pid = f.r.pid;
	fx_fini(&f);
	fx_run(&f, "v", "{\"status\":\"failed\"}");
	fx_assert(&f, QO_OUTCOME_FAILED, "handler", "verdict was failed");
	ck_assert_int_eq(f.r.pid, pid);
	fx_fini(&f);
	fx_run(&f, "v", "{\"status\":\"cancelled\"}");
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_CANCELLED);
	fx_fini(&f);
	fx_run(&f, "v", "{\"status\":\"wait_signal\"}");
	fx_assert(&f, QO_OUTCOME_RETRY, "verdict", "steps of a workflow");
	ck_assert_int_eq(f.r.pid, pid);
	fx_fini(&f);
	fx_expect("v", "\"nonsense\"", QO_OUTCOME_RETRY, "verdict",
	    "bad answer: not a JSON");
	fx_gone(pid);
	/* A new one does the next. */
	fx_run(&f, "v", "{\"status\":\"completed\",\"output\":1}");
	fx_assert_output(&f, "1");
	ck_assert_int_ne(f.r.pid, pid);
	fx_fini(&f);
}
END_TEST

START_TEST(test_bad_answers)
{
	struct fx_run f;

	fx_handler("text", "mode = serve", "read -r l; echo hello; sleep 1000");
	fx_handler("twice", "mode = serve",
	    "read -r l; printf '{\"status\":\"completed\"}\\n"
	    "{\"status\":\"completed\"}\\n'; sleep 1000");
	fx_handler("flood", "mode = serve", "read -r l; exec cat /dev/zero");
	fx_handler("lines", "mode = serve",
	    "read -r l; while :; do echo '{\"status\":\"completed\"}'; done");
	fx_handler("shut", "mode = serve", "read -r l; exec >&-; sleep 1000");
	fx_begin();
	fx_run(&f, "text", "{}");
	fx_assert(&f, QO_OUTCOME_RETRY, "verdict", "bad answer: invalid JSON");
	/* That will not be better at once. */
	ck_assert(!handlers_reserve(fx_handlers, f.r.handler));
	fx_fini(&f);
	fx_expect("twice", "{}", QO_OUTCOME_RETRY, "verdict",
	    "more than one verdict");
	fx_expect("flood", "{}", QO_OUTCOME_RETRY, "verdict",
	    "longer than output_max");
	fx_run(&f, "lines", "{}"); /* whatever the first read had of it */
	ck_assert(f.r.outcome == QO_OUTCOME_RETRY ||
	    f.r.outcome == QO_OUTCOME_COMPLETED);
	fx_fini(&f);
	fx_expect("shut", "{}", QO_OUTCOME_RETRY, "signal",
	    "closed its stdout");
	fx_no_children();
}
END_TEST

/* It speaks when nobody asked, once its answer was taken. */
START_TEST(test_speaks_idle)
{
	struct fx_run f;
	char path[256];
	pid_t pid;

	fx_handler("s", "mode = serve\ninstances = 1",
	    "while read -r l; do " OK "\n"
	    "while [ ! -e $D/speak ]; do sleep 0.01; done; echo again; done");
	fx_begin();
	fx_run(&f, "s", "{}");
	fx_assert_output(&f, NULL);
	pid = f.r.pid;
	fx_fini(&f);
	fx_write("speak", "", 0644);
	fx_gone(pid);
	snprintf(path, sizeof(path), "%s/speak", fx_dir);
	ck_assert_int_eq(unlink(path), 0);
	fx_expect_output("s", "{}", NULL);
}
END_TEST

START_TEST(test_crash)
{
	struct fx_run f;
	pid_t pid;

	fx_handler("c", "mode = serve\ninstances = 1",
	    "while read -r l; do case $l in *die*) echo 'bad luck' >&2; "
	    "exit 9;; *abort*) kill -ABRT $$;; esac; " OK "; done");
	fx_begin();
	fx_run(&f, "c", "{}");
	fx_assert_output(&f, NULL);
	pid = f.r.pid;
	fx_fini(&f);
	fx_run(&f, "c", "\"die\"");
	fx_assert(&f, QO_OUTCOME_RETRY, "exit",
	    "the serving process exited with status 9 before it answered: "
	    "bad luck");
	ck_assert_int_eq(f.r.pid, pid);
	ck_assert_str_eq(f.r.log.data, "bad luck\n");
	fx_fini(&f);
	/* It had answered before: the next one need not wait. */
	fx_run(&f, "c", "{}");
	fx_assert_output(&f, NULL);
	ck_assert_int_ne(f.r.pid, pid);
	fx_fini(&f);
	fx_expect("c", "\"abort\"", QO_OUTCOME_RETRY, "signal", "signal 6");
}
END_TEST

/* The last word of one that dies with it counts. */
START_TEST(test_answers_and_dies)
{
	struct fx_run f;
	int i;

	fx_handler("a", "mode = serve\ninstances = 1",
	    "read -r l; echo last >&2; " OK "; exit 1");
	fx_begin();
	for (i = 0; i < 20; i++) {
		fx_run(&f, "a", "{}");
		fx_assert_output(&f, NULL);
		ck_assert_str_eq(f.r.log.data, "last\n");
		fx_fini(&f);
		fx_no_children(); /* or it would get the next one */
	}
}
END_TEST

START_TEST(test_mute)
{
	struct fx_run f;
	pid_t pid;

	fx_handler("m", "mode = serve\ngrace = 50ms",
	    "trap '' TERM; echo 1 >$D/deaf; while :; do sleep 0.05; done");
	fx_handler("t", "mode = serve\ngrace = 60s",
	    "while read -r l; do sleep 1000; done");
	fx_begin();
	fx_init(&f, "m", "{}");
	f.r.timeout_ms = 3600000;
	fx_start(&f);
	pid = f.r.pid;
	(void)fx_number("deaf");
	run_stop(&f.r, RUN_TIMEOUT);
	fx_wait(&f);
	fx_assert(&f, QO_OUTCOME_RETRY, "timeout",
	    "ran longer than 3600 s, and had to be killed");
	fx_fini(&f);
	fx_gone(pid);
	fx_init(&f, "t", "{}");
	f.r.timeout_ms = 100;
	fx_start(&f);
	fx_wait(&f);
	fx_assert(&f, QO_OUTCOME_RETRY, "timeout", "ran longer than 0.1 s");
	fx_fini(&f);
	fx_no_children();
}
END_TEST

START_TEST(test_stops)
{
	struct fx_run f;
	pid_t pid;

	/* Answers in the grace, and would go on. */
	fx_handler("g", "mode = serve\ninstances = 1\ngrace = 60s",
	    "trap 'echo \"{\\\"status\\\":\\\"completed\\\"}\"' TERM\n"
	    "while read -r l; do echo 1 >$D/ready\n"
	    "while ! sleep 0.02 || [ -e $D/ready ]; do :; done; done");
	fx_handler("n", "mode = serve\ninstances = 1\ngrace = 60s",
	    "while read -r l; do echo 1 >$D/ready; sleep 1000; done");
	fx_begin();
	fx_stop(&f, "g", RUN_CANCEL);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_CANCELLED);
	pid = f.r.pid;
	fx_fini(&f);
	fx_stop(&f, "g", RUN_DRAIN);
	fx_assert_output(&f, NULL);
	/* One that was told to stop gets no other task. */
	ck_assert_int_ne(f.r.pid, pid);
	fx_fini(&f);
	fx_stop(&f, "n", RUN_CANCEL);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_CANCELLED);
	fx_fini(&f);
	fx_stop(&f, "n", RUN_DRAIN);
	ck_assert_int_eq(f.r.outcome, QO_OUTCOME_REQUEUE);
	fx_fini(&f);
	fx_stop(&f, "n", RUN_FENCE);
	ck_assert_int_eq(f.r.stopped, RUN_FENCE);
	fx_fini(&f);
}
END_TEST

START_TEST(test_recycled)
{
	struct fx_run f;
	pid_t pid = 0;
	int i;

	fx_handler("r",
	    "mode = serve\ninstances = 1\nmax_tasks = 3\ngrace = 1h",
	    "while read -r l; do " OK "; done; echo bye >$D/bye");
	fx_begin();
	for (i = 0; i < 9; i++) {
		fx_run(&f, "r", "{}");
		fx_assert_output(&f, NULL);
		if (i % 3 == 0)
			ck_assert_int_ne(f.r.pid, pid);
		else
			ck_assert_int_eq(f.r.pid, pid);
		pid = f.r.pid;
		fx_fini(&f);
	}
	fx_no_children();
	ck_assert_str_eq(fx_read("bye"), "bye\n"); /* in peace */
}
END_TEST

/* Those who leave the group may help with further tasks; they go with the
 * process that they came from, and not with another one. */
START_TEST(test_escapee)
{
	struct fx_run f, other;
	pid_t kid, own;
	int i;

	fx_handler("d", "mode = serve\ninstances = 1\nmax_tasks = 2",
	    "(setsid sh -c 'echo $$ >$D/kid; exec sleep 1000' &)\n"
	    "while [ ! -s $D/kid ]; do sleep 0.01; done\n"
	    "while read -r l; do " OK "; done");
	fx_handler("o", "mode = serve\ninstances = 1",
	    "(setsid sh -c 'echo $$ >$D/own; exec sleep 1000' &)\n"
	    "while [ ! -s $D/own ]; do sleep 0.01; done\n"
	    "while read -r l; do " OK "; done");
	fx_begin();
	fx_run(&other, "o", "{}");
	own = fx_number("own");
	fx_run(&f, "d", "{}");
	fx_fini(&f);
	kid = fx_number("kid");
	for (i = 0; i < 20; i++) /* time to die, if it has to */
		loop_once(fx_loop, 10);
	ck_assert(fx_alive(kid));
	fx_run(&f, "d", "{}");
	fx_fini(&f);
	fx_gone(kid);
	for (i = 0; i < 20; i++)
		loop_once(fx_loop, 10);
	ck_assert(fx_alive(own));
	fx_fini(&other);
	kill(other.r.pid, SIGKILL);
	fx_gone(own);
	fx_no_children();
}
END_TEST

/* It dies as soon as it is started: not again and again. */
START_TEST(test_crash_loop)
{
	struct qo_mono since = qo_mono_now();
	struct fx_run f;
	int tries = 0;

	fx_handler("l", "mode = serve\ninstances = 2",
	    "echo x >>$D/starts; [ ! -e $D/well ] && exit 1\n"
	    "while read -r l; do " OK "; done");
	fx_begin();
	handlers_on_free(fx_handlers, on_freed, NULL);
	fx_init(&f, "l", "{}");
	/* Whoever would take each task as soon as that is allowed. */
	while (tries < 4) {
		ck_assert(!fx_late(since));
		if (!handlers_reserve(fx_handlers, f.r.handler)) {
			loop_once(fx_loop, 10);
			continue;
		}
		handlers_unreserve(fx_handlers, f.r.handler);
		fx_expect("l", "{}", QO_OUTCOME_RETRY, "exit",
		    "exited with status 1");
		tries++;
	}
	/* They were at least 0, 200, 600 and 1400 ms after the first. */
	ck_assert_int_ge(qo_mono_diff_us(since, qo_mono_now()), 1400000);
	ck_assert_int_eq(nfreed, 3);
	ck_assert_uint_eq(strlen(fx_read("starts")), 2 * (size_t)tries);
	fx_write("well", "", 0644);
	while (nfreed == 3) {
		ck_assert(!handlers_reserve(fx_handlers, f.r.handler));
		loop_once(fx_loop, 1000);
		ck_assert(!fx_late(since));
	}
	fx_expect_output("l", "{}", NULL);
	ck_assert(handlers_reserve(fx_handlers, f.r.handler));
	ck_assert(handlers_reserve(fx_handlers, f.r.handler));
	ck_assert(!handlers_reserve(fx_handlers, f.r.handler));
	handlers_unreserve(fx_handlers, f.r.handler);
	handlers_unreserve(fx_handlers, f.r.handler);
}
END_TEST

/* While the next one waits, those that live take tasks. */
START_TEST(test_back_off_spares_the_living)
{
	struct fx_run f, g, h;

	/* Those that are started when it is bad die at a word of ours; the
	 * others take their time when they are asked to. */
	fx_handler("l", "mode = serve\ninstances = 4",
	    "if [ -e $D/bad ]; then\n"
	    "while [ ! -e $D/die ]; do sleep 0.01; done; exit 1; fi\n"
	    "while read -r l; do case $l in *slow*)\n"
	    "while [ ! -e $D/go ]; do sleep 0.01; done;; esac; " OK "; done");
	fx_begin();
	fx_init(&f, "l", "{}");
	fx_init(&h, "l", "{}");
	fx_start(&f);
	fx_start(&h);
	fx_wait(&f);
	fx_wait(&h);
	fx_fini(&f);
	fx_fini(&h);
	fx_write("bad", "", 0644);
	fx_init(&f, "l", "\"slow\"");
	fx_init(&h, "l", "{}");
	fx_init(&g, "l", "{}");
	fx_start(&f);
	fx_start(&h);
	fx_start(&g); /* a third process */
	fx_wait(&h);
	fx_write("die", "", 0644);
	fx_wait(&g);
	fx_assert(&g, QO_OUTCOME_RETRY, "exit", "exited with status 1");
	/* One is busy and one is idle. */
	ck_assert(handlers_reserve(fx_handlers, f.r.handler));
	ck_assert(!handlers_reserve(fx_handlers, f.r.handler));
	handlers_unreserve(fx_handlers, f.r.handler);
	fx_write("go", "", 0644);
	fx_wait(&f);
	fx_assert_output(&f, NULL);
	fx_fini(&f);
	fx_fini(&g);
	fx_fini(&h);
}
END_TEST

/* Nor do they vouch for the next one. */
START_TEST(test_living_do_not_forgive)
{
	struct qo_mono since;
	struct fx_run f, g;
	int64_t least_ms = 0, delay_ms = 200;
	int crashes = 0;

	fx_handler("l", "mode = serve\ninstances = 2",
	    "[ -e $D/bad ] && exit 1; while read -r l; do " OK "; done");
	fx_begin();
	fx_run(&f, "l", "{}");
	fx_fini(&f);
	fx_write("bad", "", 0644);
	since = qo_mono_now();
	while (qo_mono_diff_us(since, qo_mono_now()) < 700000) {
		fx_init(&f, "l", "{}");
		fx_start(&f);
		if (handlers_reserve(fx_handlers, f.r.handler)) {
			handlers_unreserve(fx_handlers, f.r.handler);
			fx_run(&g, "l", "{}");
			ck_assert_int_eq(g.r.outcome, QO_OUTCOME_RETRY);
			fx_fini(&g);
			if (crashes++ > 0) {
				least_ms += delay_ms;
				delay_ms = proc_backoff(delay_ms, 0);
			}
		}
		fx_wait(&f);
		fx_assert_output(&f, NULL);
		fx_fini(&f);
	}
	ck_assert_int_ge(crashes, 1);
	ck_assert_int_ge(qo_mono_diff_us(since, qo_mono_now()) / QO_US_PER_MS,
	    least_ms);
}
END_TEST

START_TEST(test_can_not_start)
{
	struct fx_run f;

	buf_addf(&fx_text,
	    "[handler x]\ntype = x\nmode = serve\n"
	    "command = /nonexistent/x\n");
	fx_begin();
	fx_run(&f, "x", "{}");
	fx_assert(&f, QO_OUTCOME_RETRY, "start",
	    "there is no program \"/nonexistent/x\"");
	ck_assert_int_eq(f.started, 0);
	ck_assert(!handlers_reserve(fx_handlers, f.r.handler));
	fx_fini(&f);
}
END_TEST

START_TEST(test_closes_stdin)
{
	fx_handler("d", "mode = serve\ninstances = 1",
	    "read -r l; " OK "; exec <&-; echo 1 >$D/shut; sleep 1000");
	fx_begin();
	fx_expect_output("d", "{}", NULL);
	(void)fx_number("shut");
	fx_expect("d", "{}", QO_OUTCOME_RETRY, "signal", "closed its stdin");
}
END_TEST

/* Tells when one is free. */
START_TEST(test_freed)
{
	struct fx_run f;
	int i;

	fx_handler("o", "mode = serve\ninstances = 1",
	    "while read -r l; do " OK "; done");
	fx_begin();
	handlers_on_free(fx_handlers, on_freed, NULL);
	fx_init(&f, "o", "{}");
	fx_start(&f);
	ck_assert(!handlers_reserve(fx_handlers, f.r.handler));
	ck_assert_int_eq(nfreed, 0);
	fx_wait(&f);
	for (i = 0; i < 3; i++)
		loop_once(fx_loop, 0);
	ck_assert_int_eq(nfreed, 1);
	fx_fini(&f);
	/* Nobody was refused: nobody is told. */
	fx_run(&f, "o", "{}");
	for (i = 0; i < 3; i++)
		loop_once(fx_loop, 0);
	ck_assert_int_eq(nfreed, 1);
	fx_fini(&f);
}
END_TEST

static bool stopped;

static void
on_stopped(void *arg)
{
	(void)arg;
	stopped = true;
}

START_TEST(test_handlers_stop)
{
	static struct fx_run f[3];
	struct qo_mono since;
	int i;

	fx_handler("a", "mode = serve\ninstances = 2\ngrace = 1h",
	    "while read -r l; do sleep 0.05; " OK "; done; echo x >>$D/peace");
	fx_handler("b", "mode = serve\ngrace = 100ms",
	    "trap '' TERM; while read -r l; do " OK "; done\n"
	    "while :; do sleep 0.05; done");
	fx_begin();
	for (i = 0; i < 3; i++) {
		fx_init(&f[i], i == 2 ? "b" : "a", "{}");
		fx_start(&f[i]);
	}
	for (i = 0; i < 3; i++) {
		fx_wait(&f[i]);
		fx_assert_output(&f[i], NULL);
		fx_fini(&f[i]);
	}
	ck_assert_int_eq(fx_children(), 3);
	handlers_stop(fx_handlers, on_stopped, NULL);
	ck_assert(!stopped);
	ck_assert(!handlers_reserve(fx_handlers, f[0].r.handler));
	since = qo_mono_now();
	while (!stopped) {
		loop_once(fx_loop, 1000);
		ck_assert(!fx_late(since));
	}
	ck_assert_str_eq(fx_read("peace"), "x\nx\n");
	fx_no_children();
}
END_TEST

START_TEST(test_fini_early)
{
	struct fx_run f;
	pid_t pid;

	fx_handler("s", "mode = serve", "while read -r l; do sleep 1000; done");
	fx_begin();
	fx_init(&f, "s", "{}");
	fx_start(&f);
	pid = f.r.pid;
	fx_fini(&f);
	fx_gone(pid);
	fx_no_children();
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("run_serve");
	TCase *tc = tcase_create("serve");

	tcase_set_timeout(tc, 3 * FX_PATIENCE);
	tcase_add_checked_fixture(tc, fx_setup, fx_teardown);
	tcase_add_test(tc, test_line);
	tcase_add_test(tc, test_many);
	tcase_add_test(tc, test_large);
	tcase_add_test(tc, test_progress_and_log);
	tcase_add_test(tc, test_verdicts);
	tcase_add_test(tc, test_bad_answers);
	tcase_add_test(tc, test_speaks_idle);
	tcase_add_test(tc, test_crash);
	tcase_add_test(tc, test_answers_and_dies);
	tcase_add_test(tc, test_mute);
	tcase_add_test(tc, test_stops);
	tcase_add_test(tc, test_recycled);
	tcase_add_test(tc, test_escapee);
	tcase_add_test(tc, test_crash_loop);
	tcase_add_test(tc, test_back_off_spares_the_living);
	tcase_add_test(tc, test_living_do_not_forgive);
	tcase_add_test(tc, test_can_not_start);
	tcase_add_test(tc, test_closes_stdin);
	tcase_add_test(tc, test_freed);
	tcase_add_test(tc, test_handlers_stop);
	tcase_add_test(tc, test_fini_early);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
