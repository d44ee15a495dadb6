/*
 * run_rate - how many attempts a second run.h carries, without any queue:
 * exec mode beside what this machine's posix_spawn does, and serve mode with
 * a handler that does nothing.
 *
 *	run_rate [ATTEMPTS [AT_ONCE]]
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../qo-worker/run.h"
#include "log.h"
#include "sig.h"
#include "xalloc.h"

struct slot {
	struct run run;
	struct loop_task again;
	struct qo_task task;
};

static struct loop *loop;
static struct conf *conf;
static struct handlers *handlers;
static int to_start, to_end, failed;

/* The handler: this program again. */
static int
serve_nothing(void)
{
	static const char answer[] = "{\"status\":\"completed\"}\n";
	char line[65536];
	ssize_t n;

	while ((n = read(0, line, sizeof(line))) > 0)
		if (line[n - 1] == '\n' &&
		    write(1, answer, sizeof(answer) - 1) == -1)
			return 1;
	return 0;
}

/* Time on the clock, and processor time of ours and of our children, which a
 * busy machine changes less. */
struct meter {
	struct qo_mono start;
	double cpu_s;
};

static double
cpu_of(int who)
{
	struct rusage ru;

	if (getrusage(who, &ru) == -1)
		fatal("getrusage");
	return (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
	    (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}

static struct meter
meter_start(void)
{
	struct meter m = { qo_mono_now(),
		cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN) };

	return m;
}

static void
meter_print(const struct meter *m, const char *what, int n)
{
	double s = (double)qo_mono_diff_us(m->start, qo_mono_now()) / 1e6;
	double cpu = cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN) - m->cpu_s;

	printf("%-22s %8.0f /s  %8.1f us of CPU each\n", what, n / s,
	    cpu * 1e6 / n);
}

static void
spawn_rate(int n, int at_once)
{
	static char name[] = "true";
	char *argv[] = { name, NULL };
	struct meter m = meter_start();
	int i = 0, running = 0;
	pid_t pid;

	while (i < n || running > 0) {
		if (i < n && running < at_once) {
			if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv,
				environ) != 0)
				fatalx("posix_spawn");
			i++;
			running++;
		} else if (waitpid(-1, NULL, 0) > 0) {
			running--;
		}
	}
	meter_print(&m, "posix_spawn of true", n);
}

static void begin(struct loop_task *t);

static void
done(struct run *r)
{
	struct slot *s = r->arg;

	if (r->outcome != QO_OUTCOME_COMPLETED) {
		failed++;
		log_warnx("%s", r->result.why.message);
	}
	if (--to_end == 0)
		loop_stop(loop);
	loop_defer(loop, &s->again, begin, s);
}

static void
begin(struct loop_task *t)
{
	struct slot *s = t->arg;
	struct run *r = &s->run;

	run_fini(r);
	if (to_start == 0)
		return;
	to_start--;
	run_init(r);
	r->handlers = handlers;
	r->handler = conf_handler_find(conf, s->task.task_type);
	r->task = &s->task;
	r->input = "{}";
	r->input_len = 2;
	r->timeout_ms = 60000;
	r->done = done;
	r->arg = s;
	if (!handlers_reserve(handlers, r->handler))
		fatalx("no room");
	run_start(r);
}

static void
run_rate(const char *type, int n, int at_once)
{
	struct slot *slots = xcalloc((size_t)at_once, sizeof(*slots));
	struct meter m = meter_start();
	int i;

	to_start = to_end = n;
	for (i = 0; i < at_once; i++) {
		qo_task_init(&slots[i].task);
		slots[i].task.id = "7b1f9c5e-0000-4000-8000-000000000001";
		slots[i].task.lease_id = slots[i].task.id;
		slots[i].task.task_type = type;
		run_init(&slots[i].run);
		loop_defer(loop, &slots[i].again, begin, &slots[i]);
	}
	loop_run(loop);
	meter_print(&m, type, n);
	for (i = 0; i < at_once; i++) {
		loop_defer_del(loop, &slots[i].again);
		run_fini(&slots[i].run);
	}
	free(slots);
}

static struct conf *
make_conf(int at_once)
{
	struct conf_opts opts = { CONF_NO_FILES | CONF_TRUSTED, NULL, NULL, 0,
		NULL, NULL };
	char self[4096], text[8192];
	struct conf *c;
	ssize_t n;

	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = '\0';
	snprintf(text, sizeof(text),
	    "[store]\ndata = /nonexistent\n"
	    "[handler exec]\ntype = exec\ncommand = /bin/true\n"
	    "[handler cwd]\ntype = exec.cwd\ncommand = /bin/true\ncwd = /\n"
	    "[handler serve]\ntype = serve\nmode = serve\ninstances = %d\n"
	    "command = %s --serve\n",
	    at_once, self);
	c = conf_parse_text(text, strlen(text), "bench", &opts);
	if (c == NULL)
		fatalx("configuration");
	return c;
}

static void
on_signal(struct loop_io *io, uint32_t events)
{
	(void)io;
	(void)events;
	while (sig_next() != 0)
		continue;
}

int
main(int argc, char **argv)
{
	int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2000;
	int at_once = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 16;
	struct loop_io signals;

	if (argc == 2 && strcmp(argv[1], "--serve") == 0)
		return serve_nothing();
	if (n < 1 || at_once < 1 || at_once > 1024) {
		fprintf(stderr, "usage: run_rate [attempts [at_once]]\n");
		return 2;
	}
	spawn_rate(n, at_once);
	sig_init();
	loop = loop_new();
	if (loop_io_add(loop, &signals, sig_fd(), EPOLLIN, on_signal, NULL) ==
	    -1)
		fatal("epoll");
	conf = make_conf(at_once);
	handlers = handlers_new(loop, conf, NULL, NULL);
	run_rate("exec", n, at_once);
	run_rate("exec.cwd", n, at_once);
	run_rate("serve", n * 10, at_once);
	handlers_free(handlers);
	conf_free(conf);
	loop_io_del(loop, &signals);
	loop_free(loop);
	return failed == 0 ? 0 : 1;
}
