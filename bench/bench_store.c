/*
 * qo-store beside what the same disk and loopback can do at all.
 *
 *	bench_store [path/to/qo-store]
 *
 * BENCH_KEYS (50000): how many keys the store holds for the second half.
 * BENCH_DIR: where its data goes; on the disk that is to be measured.
 * Each figure is printed with what is asked for and with its ratio to the
 * limit that was measured in the same run.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tests/integration/storeproc.h"
#include "clock.h"
#include "constant.h"
#include "io.h"
#include "lean.h"
#include "log.h"
#include "usage.h"
#include "xalloc.h"

#define CONNECTIONS 16
#define OBJECT      1024
#define REQUESTS    20000
#define SINGLES     2000
#define SYNCS       500
#define LISTED      1000
#define LISTS       50

static char object[OBJECT];

/* Figures */

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static void
show(const char *what, double value, const char *unit, const char *asked)
{
	printf("%-46s %10.1f %-6s %s\n", what, value, unit, asked);
	fflush(stdout);
}

/* The disk alone: us for one fdatasync of 4 KiB that were appended. */
static double
measure_disk(const char *dir)
{
	char path[160], block[4096];
	double times[SYNCS];
	struct qo_mono start;
	int fd, i;

	memset(block, 'x', sizeof(block));
	snprintf(path, sizeof(path), "%s/sync", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd == -1)
		fatal("%s", path);
	for (i = 0; i < SYNCS; i++) {
		start = qo_mono_now();
		if (io_write_all(fd, block, sizeof(block)) == -1 ||
		    fdatasync(fd) == -1)
			fatal("%s", path);
		times[i] = (double)qo_mono_diff_us(start, qo_mono_now());
	}
	close(fd);
	unlink(path);
	return median(times, SYNCS);
}

/* Loads */

/* Numbers in no order, each once: as ids are. */
static uint64_t
scatter(uint64_t n)
{
	n = (n ^ (n >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ (n >> 27)) * UINT64_C(0x94d049bb133111eb);
	return n ^ (n >> 31);
}

static void
add_objects(struct lean *l, const char *method, uint64_t first, size_t n)
{
	char path[64];
	size_t i;

	lean_reset(l);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/bench/tasks/%016" PRIx64,
		    scatter(first + i));
		lean_add(l, method, path, "");
	}
}

struct speed {
	double per_s, cpu_us; /* of the server, each request */
};

static struct speed
run_objects(struct lean *l, pid_t server, const char *method, uint64_t first)
{
	struct speed s;
	double cpu;

	add_objects(l, method, first, REQUESTS);
	cpu = cpu_of(server);
	s.per_s = REQUESTS / lean_run(l, CONNECTIONS, NULL);
	s.cpu_us = (cpu_of(server) - cpu) * 1e6 / REQUESTS;
	return s;
}

static double
run_single(struct lean *l, const char *method, uint64_t first)
{
	static double times[SINGLES];

	add_objects(l, method, first, SINGLES);
	lean_run(l, 1, times);
	return median(times, SINGLES);
}

static double
run_list(struct lean *l)
{
	double times[LISTS];
	int i;

	lean_reset(l);
	for (i = 0; i < LISTS; i++)
		lean_add(l, "GET", "/bench", "list-type=2&prefix=list%2F");
	lean_run(l, 1, times);
	return median(times, LISTS) / 1000;
}

static void
prepare(struct lean *l)
{
	char path[64];
	int i;

	lean_body(l, "", 0);
	lean_reset(l);
	lean_add(l, "PUT", "/bench", "");
	lean_run(l, 1, NULL);
	lean_body(l, object, OBJECT);
	lean_reset(l);
	for (i = 0; i < LISTED; i++) {
		snprintf(path, sizeof(path), "/bench/list/%06d", i);
		lean_add(l, "PUT", path, "");
	}
	lean_run(l, CONNECTIONS, NULL);
}

/* In parts, so that the client's memory stays small. */
static void
fill(struct lean *l, uint64_t first, size_t n)
{
	size_t part;

	for (; n > 0; n -= part, first += part) {
		part = n < REQUESTS ? n : REQUESTS;
		add_objects(l, "PUT", first, part);
		lean_run(l, 4 * CONNECTIONS, NULL);
	}
}

struct limits {
	double sync_us, round_trip_us;
	struct speed put, get;
};

static struct limits
measure_limits(const char *dir)
{
	struct limits lim;
	struct lean *l;
	pid_t pid;
	int port;

	lim.sync_us = measure_disk(dir);
	pid = constant_start(object, OBJECT, &port);
	l = lean_new(port, STOREPROC_ACCESS, STOREPROC_SECRET);
	lean_body(l, object, OBJECT);
	lim.put = run_objects(l, pid, "PUT", 0);
	lim.get = run_objects(l, pid, "GET", 0);
	lim.round_trip_us = run_single(l, "PUT", 0);
	lean_free(l);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	show("disk: 4 KiB append and fdatasync", 1e6 / lim.sync_us, "/s", "");
	show("HTTP part: 16 connections, PUT", lim.put.per_s, "/s", "");
	show("HTTP part: 16 connections, GET", lim.get.per_s, "/s", "");
	show("HTTP part: 1 connection, round trip", lim.round_trip_us, "us",
	    "");
	return lim;
}

static void
show_speed(const char *what, const struct speed *s, const struct speed *limit,
    double asked)
{
	char text[128];

	snprintf(text, sizeof(text),
	    "asked %.0f; %.2f of the HTTP part; CPU %.1f us beside %.1f", asked,
	    s->per_s / limit->per_s, s->cpu_us, limit->cpu_us);
	show(what, s->per_s, "/s", text);
}

static void
measure_store(struct lean *l, const struct storeproc *p,
    const struct limits *lim, size_t keys)
{
	struct speed put, get, later;
	double single, bound, list, list_later;
	char text[128];

	prepare(l);
	put = run_objects(l, p->pid, "PUT", 0);
	get = run_objects(l, p->pid, "GET", 0);
	single = run_single(l, "PUT", REQUESTS);
	list = run_list(l);
	bound = lim->sync_us + 1.5 * lim->round_trip_us;
	show_speed("store: 16 connections, durable PUT of 1 KiB", &put,
	    &lim->put, 8000);
	show_speed("store: 16 connections, GET of 1 KiB", &get, &lim->get,
	    20000);
	snprintf(text, sizeof(text), "asked %.0f (fdatasync + 1.5 trips): %.2f",
	    bound, single / bound);
	show("store: 1 connection, PUT", single, "us", text);
	snprintf(text, sizeof(text), "asked 4; %zu bytes", lean_last_len(l));
	show("store: LIST of 1,000 keys", list, "ms", text);
	fill(l, REQUESTS + SINGLES, keys);
	later = run_objects(l, p->pid, "PUT", REQUESTS + SINGLES + keys);
	list_later = run_list(l);
	snprintf(text, sizeof(text), "%.2f of the same before (asked 0.80)",
	    later.per_s / put.per_s);
	printf("with %zu keys more:\n", keys);
	show("store: 16 connections, durable PUT of 1 KiB", later.per_s, "/s",
	    text);
	snprintf(text, sizeof(text), "%.2f of the same before (asked 1.20)",
	    list_later / list);
	show("store: LIST of 1,000 keys", list_later, "ms", text);
	show("store: RSS", rss_mib(p->pid), "MiB", "asked 100");
}

int
main(int argc, char **argv)
{
	const char *env, *wrong = NULL;
	struct storeproc proc = { .binary = "build/bin/qo-store" };
	struct limits lim;
	struct lean *l;
	char dir[128];
	size_t keys = 50000;

	if (argc > 2)
		fatalx("usage: bench_store [qo-store]");
	if (argc == 2)
		proc.binary = argv[1];
	env = getenv("BENCH_KEYS");
	if (env != NULL)
		keys = (size_t)strtonum(env, 1, 100000000, &wrong);
	if (wrong != NULL)
		fatalx("BENCH_KEYS is %s", wrong);
	if ((env = getenv("BENCH_DIR")) != NULL)
		setenv("TMPDIR", env, 1);
	memset(object, 'x', sizeof(object));
	storeproc_mkdir(dir, sizeof(dir));
	proc.dir = dir;
	lim = measure_limits(dir);
	storeproc_start(&proc);
	l = lean_new(proc.port, STOREPROC_ACCESS, STOREPROC_SECRET);
	measure_store(l, &proc, &lim, keys);
	lean_free(l);
	storeproc_end(&proc, SIGTERM);
	storeproc_rmdir(dir);
	return 0;
}
