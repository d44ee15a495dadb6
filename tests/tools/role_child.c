/*
 * role_child - a role for tests of qod: does what a file tells it.
 *
 * Under the name of the role's program (qo-worker, ...), in the directory
 * that ROLE_CHILD names, the file NAME.does has lines of a word and a number:
 *
 *	late MS		say ready only then (default 0); -1: never
 *	held 1		say ready when the file no longer says so
 *	exit N		exit with this status at once
 *	die N		die by this signal at once
 *	fail N		exit with this status when told to drain
 *	slow MS		take so long to drain, or the limit that was given
 *	deaf 1		obey neither drain nor now
 *	slots N		show so many tasks, each with a handler that sleeps
 *	orphans N	leave so many processes behind, which end at once
 *	unsettled 1	(monitor) do not answer `lost'
 *
 * What it is told it appends to the file `heard', as NAME.INDEX PID MESSAGE.
 * The file of its own is read before that: who has seen the line may write
 * another.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "log.h"
#include "proc.h"
#include "role.h"

#define HELD_MS 20

static struct role role;
static struct loop_timer ready_timer, end_timer;
static const char *dir, *program;
static int status;

static int64_t
does(const char *what, int64_t otherwise)
{
	char path[512], word[32];
	int64_t n, found = otherwise;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.does", dir, program);
	if ((f = fopen(path, "re")) == NULL)
		return otherwise;
	while (fscanf(f, "%31s %" SCNd64, word, &n) == 2)
		if (strcmp(word, what) == 0)
			found = n;
	fclose(f);
	return found;
}

static void __attribute__((format(printf, 1, 2))) heard(const char *fmt, ...)
{
	char path[512], line[1024];
	va_list ap;
	int fd, n;

	n = snprintf(line, sizeof(line), "%s.%d %ld ", role.name, role.index,
	    (long)getpid());
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	line[n++] = '\n';
	snprintf(path, sizeof(path), "%s/heard", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd == -1 || io_write_all(fd, line, (size_t)n) == -1)
		fatal("%s", path);
	close(fd);
}

static void
on_end(struct loop_timer *t)
{
	(void)t;
	loop_stop(role.loop);
}

static void
on_drain(struct role *r, int64_t limit_ms)
{
	int64_t ms = does("slow", 0);
	bool deaf = does("deaf", 0) != 0;

	status = (int)does("fail", 0);
	heard("drain %" PRId64, limit_ms);
	if (deaf)
		return;
	if (limit_ms >= 0 && ms > limit_ms)
		ms = limit_ms;
	loop_timer_set_ms(r->loop, &end_timer, ms, on_end, NULL);
}

static void
on_now(struct role *r)
{
	bool deaf = does("deaf", 0) != 0;

	heard("now");
	if (!deaf)
		loop_stop(r->loop);
}

static void
on_quiet(struct role *r, bool on)
{
	(void)r;
	heard(on ? "quiet" : "resume");
}

static bool
on_message(struct role *r, const char *verb, char *rest)
{
	bool unsettled = does("unsettled", 0) != 0;
	char *lease;

	heard("%s %s", verb, rest);
	if (strcmp(verb, "lost") != 0 || unsettled ||
	    (lease = strrchr(rest, ' ')) == NULL)
		return true;
	role_tell(r, "settled %s", lease + 1);
	return true;
}

/* Tasks as a worker has them: a slot, and a process group that works. */
static void
take_tasks(int64_t n)
{
	char name[] = "sleep", time[] = "600";
	char *argv[] = { name, time, NULL };
	struct proc_spec s;
	struct qo_err err;
	struct board_task t;
	unsigned i;

	for (i = 0; i < n; i++) {
		memset(&t, 0, sizeof(t));
		snprintf(t.task_id, sizeof(t.task_id),
		    "00000000-0000-4000-8000-%012u", i);
		snprintf(t.lease_id, sizeof(t.lease_id),
		    "%08x-0000-4000-9000-%012u", (unsigned)getpid(), i);
		snprintf(t.type, sizeof(t.type), "test");
		t.generation = i;
		proc_spec_init(&s);
		s.path = "/bin/sleep";
		s.argv = argv;
		s.new_session = true;
		s.umask = -1;
		if ((t.handler = proc_spawn(&s, &err)) == -1)
			fatalx("%s", err.msg);
		board_slot_set(role.area, i, &t);
		heard("handler %ld", (long)t.handler);
	}
}

static void
leave_orphans(int64_t n)
{
	int64_t i;

	for (i = 0; i < n; i++)
		if (fork() == 0)
			_exit(0);
}

static void
on_ready(struct loop_timer *t)
{
	if (does("held", 0))
		loop_timer_set_ms(role.loop, t, HELD_MS, on_ready, NULL);
	else
		role_ready(&role);
}

int
main(int argc, char **argv)
{
	int64_t n, slots, orphans, late;

	program = strrchr(argv[0], '/');
	program = strdup(program != NULL ? program + 1 : argv[0]);
	dir = getenv("ROLE_CHILD");
	if (program == NULL || dir == NULL)
		return 2;
	dir = strdup(dir);
	role_init(&role, argc, argv);
	role.name = strchr(program, '-') + 1;
	role.kind = strcmp(role.name, "store") == 0 ? BOARD_STORE
	    : strcmp(role.name, "monitor") == 0     ? BOARD_MONITOR
						    : BOARD_WORKER;
	role.drain = on_drain;
	role.now = on_now;
	role.quiet = on_quiet;
	role.message = on_message;
	if ((n = does("exit", -1)) != -1)
		return (int)n;
	if ((n = does("die", 0)) != 0)
		raise((int)n);
	if (role_conf(&role, NULL, 0, NULL, 0) != 0)
		return 78;
	role.loop = loop_new();
	role_start(&role, 0, 0);
	slots = does("slots", 0);
	orphans = does("orphans", 0);
	late = does("held", 0) ? 0 : does("late", 0);
	heard("started %d %d", role.of, role.generation);
	take_tasks(slots);
	if (orphans != 0) {
		leave_orphans(orphans);
		return 1;
	}
	if (late >= 0)
		loop_timer_set_ms(role.loop, &ready_timer, late, on_ready,
		    NULL);
	loop_run(role.loop);
	heard("ends");
	role_fini(&role);
	return status;
}
