/* qo_serve() in a process of its own, over real pipes. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "buf.h"
#include "io.h"
#include "json.h"
#include "qo.h"
#include "run_suite.h"

/* The handler under test: what the task's type says. */

static void
echo(struct qo_job *job, void *arg)
{
	ck_assert_str_eq(arg, "arg");
	ck_assert_uint_eq(strlen(job->input), job->input_len);
	qo_complete(job,
	    "{\"id\":%s,\"type\":%s,\"attempt\":%lld,\"lease\":%s,"
	    "\"key\":%s,\"flow\":%s,\"step\":%s,\"deadline\":%s,"
	    "\"trace\":%s,\"input\":\n%s}",
	    qo_quote(job, job->task_id), qo_quote(job, job->task_type),
	    (long long)job->attempt,
	    job->lease_id == NULL ? "null" : qo_quote(job, job->lease_id),
	    job->idempotency_key == NULL ? "null"
					 : qo_quote(job, job->idempotency_key),
	    job->workflow_id == NULL ? "null" : qo_quote(job, job->workflow_id),
	    job->step == NULL ? "null" : qo_quote(job, job->step),
	    job->deadline == NULL ? "null" : qo_quote(job, job->deadline),
	    job->traceparent == NULL ? "null" : qo_quote(job, job->traceparent),
	    job->input);
}

static void
accessors(struct qo_job *job)
{
	const char *s;
	int64_t n = 0;
	size_t len;

	ck_assert_str_eq(qo_input_string(job, "/name"), "caf\xc3\xa9 \"x\"");
	ck_assert_ptr_null(qo_input_string(job, "/nul"));
	ck_assert_ptr_null(qo_input_string(job, "/n"));
	ck_assert_ptr_null(qo_input_string(job, "/none"));
	ck_assert_int_eq(qo_input_int(job, "/n", &n), 0);
	ck_assert_int_eq(n, -42);
	ck_assert_int_eq(qo_input_int(job, "/min", &n), 0);
	ck_assert(n == INT64_MIN);
	n = 7;
	ck_assert_int_eq(qo_input_int(job, "/big", &n), -1);
	ck_assert_int_eq(qo_input_int(job, "/half", &n), -1);
	ck_assert_int_eq(qo_input_int(job, "/name", &n), -1);
	ck_assert_int_eq(n, 7);
	s = qo_input(job, "/list/1", &len);
	ck_assert_uint_eq(len, 7);
	ck_assert_mem_eq(s, "{\"a\":1}", len);
	qo_complete_json(job, "\"fine\"", 6);
}

static void
until_cancelled(struct qo_job *job)
{
	qo_log(job, "waiting");
	/* Not pause(): SIGTERM may come just before it. */
	while (!qo_cancelled(job))
		poll(NULL, 0, 10);
}

static void
verdicts(struct qo_job *job)
{
	static const char *const ids[] = { "a", "b\"" };
	const char *which = qo_input_string(job, "");

	if (strcmp(which, "fail") == 0)
		qo_fail(job, "no \"%s\"\n", "file\x01\xff");
	else if (strcmp(which, "retry") == 0)
		qo_retry(job, 1.5, "busy");
	else if (strcmp(which, "policy") == 0)
		qo_retry(job, -1, "busy");
	else if (strcmp(which, "reschedule") == 0)
		qo_reschedule(job, 60);
	else if (strcmp(which, "cancel") == 0)
		qo_cancel(job);
	else if (strcmp(which, "signal") == 0)
		qo_wait_signal(job, "go", 0);
	else if (strcmp(which, "tasks") == 0)
		qo_wait_tasks(job, ids, 2);
	else if (strcmp(which, "bad") == 0)
		qo_complete(job, "{\"a\":%s}", "nan");
	else if (strcmp(which, "latin") == 0)
		qo_complete(job, "\"\xe9\"");
	else if (strcmp(which, "last") == 0) {
		qo_fail(job, "not this one");
		qo_complete(job, "1");
	}
}

static void
talk(struct qo_job *job)
{
	char drop[8];

	printf("printed"); /* no newline, and left in the buffer */
	ck_assert_int_eq(qo_progress(job, "{\"percent\":\n%d}", 50), 0);
	ck_assert_int_eq(qo_progress(job, "half"), -1);
	qo_log(job, "line %d\twith \"quotes\"", 1);
	/* Nobody who reads standard input gets what is for us. */
	ck_assert_int_eq(read(STDIN_FILENO, drop, sizeof(drop)), 0);
}

static void
run(struct qo_job *job, void *arg)
{
	const char *type = job->task_type;

	if (strcmp(type, "access") == 0)
		accessors(job);
	else if (strcmp(type, "wait") == 0)
		until_cancelled(job);
	else if (strcmp(type, "verdict") == 0)
		verdicts(job);
	else if (strcmp(type, "talk") == 0)
		talk(job);
	else if (strcmp(type, "big") == 0)
		qo_complete(job, "%zu", job->input_len);
	else
		echo(job, arg);
}

/* The worker's side. */

#define RESULT_FD 20 /* above all that the test has open */

struct peer {
	pid_t pid;
	int in, out, err, result;
	struct buf text; /* read of out, not yet taken */
};

static void
make_pipe(int fd[2])
{
	ck_assert_int_eq(pipe2(fd, O_CLOEXEC), 0);
}

static void
child(int in, int out, int err, int result, const char *const *env)
{
	int fd;

	clearenv();
	for (; *env != NULL; env += 2)
		setenv(env[0], env[1], 1);
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	if (result != -1 && result != RESULT_FD)
		dup2(result, RESULT_FD);
	/* Also its own other ends, or it would never see the end of them. */
	for (fd = 3; fd < RESULT_FD; fd++)
		close(fd);
	closefrom(result == -1 ? RESULT_FD : RESULT_FD + 1);
	_exit(qo_serve(run, (void *)(uintptr_t) "arg"));
}

static void
start(struct peer *p, bool with_result, const char *const *env)
{
	int in[2], out[2], err[2], result[2] = { -1, -1 };

	make_pipe(in);
	make_pipe(out);
	make_pipe(err);
	if (with_result)
		make_pipe(result);
	fflush(NULL);
	p->pid = fork();
	ck_assert_int_ne(p->pid, -1);
	if (p->pid == 0)
		child(in[0], out[1], err[1], result[1], env);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	if (with_result)
		close(result[1]);
	p->in = in[1];
	p->out = out[0];
	p->err = err[0];
	p->result = result[0];
	buf_init(&p->text, 64 << 20);
}

static void
serve(struct peer *p)
{
	static const char *const env[] = { "QO_MODE", "serve", "QO_HANDLER",
		"h", NULL };

	start(p, false, env);
}

static void
say(struct peer *p, const char *line)
{
	ck_assert_int_eq(io_write_all(p->in, line, strlen(line)), 0);
}

static void
task(struct peer *p, const char *type, const char *input)
{
	struct buf b;

	buf_init(&b, 64 << 20);
	buf_addf(&b,
	    "{\"task_id\":\"id-1\",\"task_type\":\"%s\",\"attempt\":3,"
	    "\"lease_id\":\"l\",\"input\":%s}\n",
	    type, input);
	say(p, b.data);
	buf_fini(&b);
}

/* The next line, without its newline; "" at the end.  Freed by the next. */
static const char *
hear(struct peer *p)
{
	static char *line;
	char *end, *room;
	ssize_t n;

	while ((end = memchr(p->text.data, '\n', p->text.len)) == NULL) {
		room = buf_reserve(&p->text, 4096);
		n = read(p->out, room, 4096);
		ck_assert_int_ge(n, 0);
		if (n == 0)
			return "";
		buf_advance(&p->text, (size_t)n);
	}
	free(line);
	*end = '\0';
	line = strdup(p->text.data);
	buf_consume(&p->text, (size_t)(end + 1 - p->text.data));
	return line;
}

static void
all(int fd, char *out, size_t size)
{
	ssize_t n;

	n = io_read_full(fd, out, size - 1);
	ck_assert_int_ge(n, 0);
	out[n] = '\0';
}

/* Exit status; everything is closed. */
static int
stop(struct peer *p)
{
	int status;

	if (p->in != -1)
		close(p->in);
	ck_assert_str_eq(hear(p), "");
	ck_assert_int_eq(waitpid(p->pid, &status, 0), p->pid);
	close(p->out);
	close(p->err);
	if (p->result != -1)
		close(p->result);
	buf_fini(&p->text);
	ck_assert_msg(WIFEXITED(status), "status %x", (unsigned)status);
	return WEXITSTATUS(status);
}

START_TEST(test_members)
{
	struct peer p;

	serve(&p);
	say(&p,
	    "{\"task_id\":\"7\",\"task_type\":\"t\",\"attempt\":12,"
	    "\"lease_id\":\"L\",\"idempotency_key\":\"k\\u00e9\\\"\","
	    "\"workflow_id\":\"w\",\"step\":\"s\",\"deadline\":\"D\","
	    "\"traceparent\":\"00-1\",\"input\":{\"a\": [1]} ,"
	    "\"new\":{\"input\":1}}\n");
	ck_assert_str_eq(hear(&p),
	    "{\"status\":\"completed\",\"output\":{\"id\":\"7\","
	    "\"type\":\"t\",\"attempt\":12,\"lease\":\"L\","
	    "\"key\":\"k\xc3\xa9\\\"\",\"flow\":\"w\",\"step\":\"s\","
	    "\"deadline\":\"D\",\"trace\":\"00-1\",\"input\": {\"a\": [1]}}}");
	/* The next has nothing of the one before. */
	say(&p,
	    "{\"input\":null,\"idempotency_key\":null,\"task_id\":\"8\","
	    "\"task_type\":\"t\",\"attempt\":1}\n");
	ck_assert_str_eq(hear(&p),
	    "{\"status\":\"completed\",\"output\":{\"id\":\"8\","
	    "\"type\":\"t\",\"attempt\":1,\"lease\":null,\"key\":null,"
	    "\"flow\":null,\"step\":null,\"deadline\":null,\"trace\":null,"
	    "\"input\": null}}");
	ck_assert_int_eq(stop(&p), 0);
}
END_TEST

START_TEST(test_accessors)
{
	struct peer p;

	serve(&p);
	task(&p, "access",
	    "{\"name\":\"caf\\u00e9 \\\"x\\\"\",\"nul\":\"a\\u0000\","
	    "\"n\":-42,\"min\":-9223372036854775808,"
	    "\"big\":9223372036854775808,\"half\":1.5,"
	    "\"list\":[0,{\"a\":1}]}");
	ck_assert_str_eq(hear(&p),
	    "{\"status\":\"completed\",\"output\":\"fine\"}");
	ck_assert_int_eq(stop(&p), 0);
}
END_TEST

static const struct {
	const char *input, *line;
} answers[] = {
	{ "\"none\"", "{\"status\":\"completed\",\"output\":null}" },
	{ "\"fail\"",
	    "{\"status\":\"failed\",\"error\":"
	    "\"no \\\"file\\u0001\xef\xbf\xbd\\\"\\n\"}" },
	{ "\"retry\"",
	    "{\"status\":\"retry\",\"error\":\"busy\","
	    "\"delay_seconds\":1.500}" },
	{ "\"policy\"", "{\"status\":\"retry\",\"error\":\"busy\"}" },
	{ "\"reschedule\"",
	    "{\"status\":\"reschedule\","
	    "\"delay_seconds\":60}" },
	{ "\"cancel\"", "{\"status\":\"cancelled\"}" },
	{ "\"signal\"", "{\"status\":\"wait_signal\",\"signal\":\"go\"}" },
	{ "\"tasks\"",
	    "{\"status\":\"wait_tasks\",\"ids\":[\"a\","
	    "\"b\\\"\"]}" },
	{ "\"bad\"",
	    "{\"status\":\"retry\",\"error\":\"the handler's output "
	    "is no JSON: a value was expected, byte 5\"}" },
	{ "\"latin\"",
	    "{\"status\":\"retry\",\"error\":\"the handler's "
	    "output is no JSON: not UTF-8, byte 1\"}" },
	{ "\"last\"", "{\"status\":\"completed\",\"output\":1}" },
};

/* All in one process: nothing of one is left for the next. */
START_TEST(test_verdicts)
{
	struct peer p;
	size_t i;

	serve(&p);
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		task(&p, "verdict", answers[i].input);
		ck_assert_str_eq(hear(&p), answers[i].line);
	}
	ck_assert_int_eq(stop(&p), 0);
}
END_TEST

START_TEST(test_progress_and_log)
{
	struct peer p;
	char err[64];

	serve(&p);
	task(&p, "talk", "1");
	ck_assert_str_eq(hear(&p), "{\"progress\":{\"percent\": 50}}");
	ck_assert_str_eq(hear(&p),
	    "{\"log\":\"line 1\\twith \\\"quotes\\\"\"}");
	ck_assert_str_eq(hear(&p),
	    "{\"status\":\"completed\",\"output\":null}");
	/* It was flushed before the verdict. */
	ck_assert_int_eq(read(p.err, err, sizeof(err)), 7);
	ck_assert_mem_eq(err, "printed", 7);
	ck_assert_int_eq(stop(&p), 0);
}
END_TEST

/* More than a pipe holds, in pieces, and two lines at once. */
START_TEST(test_sizes)
{
	struct peer p;
	struct buf b;
	int i;

	buf_init(&b, 64 << 20);
	buf_addc(&b, '"');
	for (i = 0; i < 3000000; i++)
		buf_addc(&b, 'x');
	buf_addc(&b, '"');
	serve(&p);
	task(&p, "big", b.data);
	ck_assert_str_eq(hear(&p),
	    "{\"status\":\"completed\",\"output\":3000002}");
	say(&p,
	    "{\"task_id\":\"1\",\"task_type\":\"big\",\"input\":1}\n"
	    "{\"task_id\":\"2\",\"task_type\":\"big\",\"input\":22}\n"
	    "{\"task_id\":\"3\",\"task_ty");
	ck_assert_str_eq(hear(&p), "{\"status\":\"completed\",\"output\":1}");
	ck_assert_str_eq(hear(&p), "{\"status\":\"completed\",\"output\":2}");
	say(&p, "pe\":\"big\",\"input\":333}\n");
	ck_assert_str_eq(hear(&p), "{\"status\":\"completed\",\"output\":3}");
	ck_assert_int_eq(stop(&p), 0);
	buf_fini(&b);
}
END_TEST

START_TEST(test_cancel)
{
	struct peer p;
	int i;

	serve(&p);
	for (i = 0; i < 3; i++) {
		task(&p, "wait", "1");
		ck_assert_str_eq(hear(&p), "{\"log\":\"waiting\"}");
		kill(p.pid, SIGTERM);
		ck_assert_str_eq(hear(&p), "{\"status\":\"cancelled\"}");
		/* That was for the task, not for the process. */
		task(&p, "big", "1");
		ck_assert_str_eq(hear(&p),
		    "{\"status\":\"completed\",\"output\":1}");
	}
	ck_assert_int_eq(stop(&p), 0);
}
END_TEST

/* Between tasks SIGTERM ends it, without a look at what comes next. */
START_TEST(test_term_when_idle)
{
	struct peer p;

	serve(&p);
	task(&p, "big", "1");
	ck_assert_str_eq(hear(&p), "{\"status\":\"completed\",\"output\":1}");
	kill(p.pid, SIGTERM);
	ck_assert_str_eq(hear(&p), "");
	ck_assert_int_eq(stop(&p), 0);
}
END_TEST

/* Both are there when it looks: the task must be left to somebody else, or a
 * cancel that was meant for the last would end this one. */
START_TEST(test_term_before_task)
{
	struct peer p;
	int status;

	serve(&p);
	task(&p, "big", "1");
	ck_assert_str_eq(hear(&p), "{\"status\":\"completed\",\"output\":1}");
	kill(p.pid, SIGSTOP);
	ck_assert_int_eq(waitpid(p.pid, &status, WUNTRACED), p.pid);
	kill(p.pid, SIGTERM);
	task(&p, "big", "22");
	kill(p.pid, SIGCONT);
	ck_assert_str_eq(hear(&p), "");
	ck_assert_int_eq(stop(&p), 0);
}
END_TEST

START_TEST(test_no_task)
{
	static const char *const lines[] = { "hello\n", "[]\n", "{}\n",
		"{\"task_id\":\"x\"}\n", "{\"task_id\":1,\"input\":1}\n" };
	struct peer p;

	serve(&p);
	say(&p, lines[_i]);
	ck_assert_int_eq(stop(&p), EX_PROTOCOL);
}
END_TEST

START_TEST(test_half_a_line)
{
	struct peer p;

	serve(&p);
	say(&p, "{\"task_id\":");
	ck_assert_int_eq(stop(&p), 0);
}
END_TEST

START_TEST(test_nobody_reads)
{
	struct peer p;
	int status;

	serve(&p);
	close(p.out);
	task(&p, "big", "1");
	ck_assert_int_eq(waitpid(p.pid, &status, 0), p.pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
	close(p.in);
	close(p.err);
	buf_fini(&p.text);
}
END_TEST

static const char *const exec_env[] = { "QO_RESULT_FD", "20", "QO_TASK_ID",
	"id", "QO_TASK_TYPE", "t", "QO_ATTEMPT", "4", "QO_LEASE_ID", "L",
	"QO_IDEMPOTENCY_KEY", "k", "QO_DEADLINE", "D", "QO_STEP", "", NULL };

START_TEST(test_exec)
{
	struct peer p;
	char text[512];

	start(&p, true, exec_env);
	say(&p, "{\"a\":1}\n");
	close(p.in);
	p.in = -1;
	all(p.result, text, sizeof(text));
	ck_assert_str_eq(text,
	    "{\"status\":\"completed\",\"output\":{\"id\":\"id\","
	    "\"type\":\"t\",\"attempt\":4,\"lease\":\"L\",\"key\":\"k\","
	    "\"flow\":null,\"step\":null,\"deadline\":\"D\","
	    "\"trace\":null,\"input\": {\"a\":1} }}\n");
	/* Nothing on standard output: that would be the output. */
	ck_assert_int_eq(stop(&p), 0);
}
END_TEST

START_TEST(test_exec_cancel)
{
	static const char *const env[] = { "QO_RESULT_FD", "20", "QO_TASK_ID",
		"id", "QO_TASK_TYPE", "wait", NULL };
	struct peer p;
	char text[512];

	start(&p, true, env);
	close(p.in);
	p.in = -1;
	ck_assert_int_eq(io_read_full(p.err, text, 8), 8);
	ck_assert_mem_eq(text, "waiting\n", 8);
	kill(p.pid, SIGTERM);
	all(p.result, text, sizeof(text));
	ck_assert_str_eq(text, "{\"status\":\"cancelled\"}\n");
	ck_assert_int_eq(stop(&p), 0);
}
END_TEST

static const struct {
	const char *input, *out, *err;
	int status;
} by_hand[] = {
	{ "\"last\"", "1", "", 0 },
	{ "\"none\"", "null", "", 0 },
	{ "\"retry\"", "",
	    "{\"status\":\"retry\",\"error\":\"busy\","
	    "\"delay_seconds\":1.500}\n",
	    EX_TEMPFAIL },
	{ "\"cancel\"", "", "{\"status\":\"cancelled\"}\n", EX_TEMPFAIL },
	{ "\"latin\"", "",
	    "{\"status\":\"retry\",\"error\":\"the handler's output is no "
	    "JSON: not UTF-8, byte 1\"}\n",
	    EX_TEMPFAIL },
	{ "{", "",
	    "{\"status\":\"failed\",\"error\":\"the input is no JSON: "
	    "a string was expected, byte 1\"}\n",
	    EX_DATAERR },
};

START_TEST(test_by_hand)
{
	static const char *const env[] = { "QO_TASK_TYPE", "verdict", NULL };
	struct peer p;
	char text[512];

	start(&p, false, env);
	say(&p, by_hand[_i].input);
	close(p.in);
	p.in = -1;
	ck_assert_str_eq(hear(&p), by_hand[_i].out);
	all(p.err, text, sizeof(text));
	ck_assert_str_eq(text, by_hand[_i].err);
	ck_assert_int_eq(stop(&p), by_hand[_i].status);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("serve");
	TCase *tc = tcase_create("serve");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_members);
	tcase_add_test(tc, test_accessors);
	tcase_add_test(tc, test_verdicts);
	tcase_add_test(tc, test_progress_and_log);
	tcase_add_test(tc, test_sizes);
	tcase_add_test(tc, test_cancel);
	tcase_add_test(tc, test_term_when_idle);
	tcase_add_test(tc, test_term_before_task);
	tcase_add_loop_test(tc, test_no_task, 0, 5);
	tcase_add_test(tc, test_half_a_line);
	tcase_add_test(tc, test_nobody_reads);
	tcase_add_test(tc, test_exec);
	tcase_add_test(tc, test_exec_cancel);
	tcase_add_loop_test(tc, test_by_hand, 0,
	    (int)(sizeof(by_hand) / sizeof(by_hand[0])));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
