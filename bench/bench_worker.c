/*
 * qo-worker from submit to completed, with the real store and real handlers.
 *
 *	bench_worker [directory of the programs]
 *
 * BENCH_TASKS (20000): how many tasks the serve mode gets.
 * BENCH_SLOW (5000): how many with 100 ms on each request; 0: leave it out.
 * BENCH_DIR: where the store's data goes.
 * Each figure is printed with what is asked for and, where a limit of the
 * machine was measured in the same run, with its ratio to that.
 *
 * The program is its own handler in serve mode: it does nothing but note the
 * time.
 */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tests/integration/storeproc.h"
#include "../tests/unit/faultproxy.h"
#include "bulk_submit.h"
#include "io.h"
#include "log.h"
#include "qo.h"
#include "s3.h"
#include "usage.h"
#include "walk.h"
#include "xalloc.h"

#define TASKS_MAX 200000
#define INFLIGHT  64
#define PUTS      10000
#define SPAWNS    1000
#define EXECS     2000
#define SINGLES   300
#define IDLE_MS   5000
#define DELAY_MS  100

/* What the handlers tell, in memory that they share with us. */
struct shared {
	atomic_size_t started;
	atomic_int_least64_t at[TASKS_MAX]; /* us, by the task's number */
};

static struct storeproc store;
static struct shared *shared;
static char dir[128], bin[PATH_MAX + 16], self[PATH_MAX + 16];
static char shared_path[160];
static struct loop *loop;
static struct qo_s3 *s3;
static struct qo_queue *q;

/* The handler */

static void
handle(struct qo_job *job, void *arg)
{
	int64_t n;

	(void)arg;
	if (qo_input_int(job, "/n", &n) == 0 && n >= 0 && n < TASKS_MAX)
		atomic_store(&shared->at[n], qo_mono_now().us);
	atomic_fetch_add(&shared->started, 1);
	qo_complete(job, "null");
}

static void
map_shared(const char *path)
{
	int fd;

	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd == -1 || ftruncate(fd, sizeof(*shared)) == -1)
		fatal("%s", path);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, 0);
	if (shared == MAP_FAILED)
		fatal("mmap");
	close(fd);
}

/* Figures */

static double
seconds_since(struct qo_mono start)
{
	return (double)qo_mono_diff_us(start, qo_mono_now()) / 1e6;
}

static void show(const char *what, double value, const char *unit,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void
show(const char *what, double value, const char *unit, const char *fmt, ...)
{
	va_list ap;

	printf("%-44s %10.1f %-8s ", what, value, unit);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static int
by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Programs */

static pid_t
spawn(const char *log, const char *const argv[])
{
	pid_t pid;
	int fd;

	if ((pid = fork()) == -1)
		fatal("fork");
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd == -1 || dup2(fd, 1) == -1 || dup2(fd, 2) == -1)
		_exit(126);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

static void
write_conf(const char *path, const char *endpoint, int slots)
{
	struct qo_err err;
	struct buf b;

	buf_init(&b, 8192);
	buf_addf(&b,
	    "[s3]\nendpoint = %s\naccess_key = %s\nsecret_key = %s\n"
	    "bucket = bench\nindex_bucket = bench-index\nmax_connections = "
	    "512\n"
	    "[worker]\nslots = %d\n"
	    "[handler serve]\ntype = serve\nmode = serve\ninstances = 8\n"
	    "command = %s --handler %s\n"
	    "[handler exec]\ntype = exec\ncommand = /bin/true\n",
	    endpoint, STOREPROC_ACCESS, STOREPROC_SECRET, slots, self,
	    shared_path);
	if (io_write_file(path, b.data, b.len, 0600, &err) == -1)
		fatalx("%s", err.msg);
	buf_fini(&b);
}

static void
run_qo(const char *conf, const char *command)
{
	char program[PATH_MAX + 32], log[160];
	const char *argv[] = { program, "-c", conf, command, NULL };
	int status;
	pid_t pid;

	snprintf(program, sizeof(program), "%s/qo", bin);
	snprintf(log, sizeof(log), "%s/qo.log", dir);
	pid = spawn(log, argv);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		fatalx("qo %s failed, see %s", command, log);
}

static size_t
count_keys(const char *prefix)
{
	struct qo_s3_req r;
	size_t n = 0;

	qo_s3_req_init(&r, QO_S3_LIST, "bench-index", NULL);
	r.prefix = prefix;
	if (qo_s3_wait(s3, &r) != QO_S3_OK)
		fatalx("%s", r.res.err.msg);
	n = r.res.list->n;
	qo_s3_req_fini(&r);
	return n;
}

static pid_t
start_worker(const char *conf)
{
	char program[PATH_MAX + 32], log[160];
	const char *argv[] = { program, "-f", conf, NULL };
	pid_t pid;

	snprintf(program, sizeof(program), "%s/qo-worker", bin);
	snprintf(log, sizeof(log), "%s/worker.log", dir);
	pid = spawn(log, argv);
	while (count_keys("workers/") == 0) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			fatalx("qo-worker does not start, see %s", log);
		loop_once(loop, 10);
	}
	return pid;
}

static void
stop_worker(pid_t pid)
{
	int status;

	kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		fatalx("qo-worker ended with status %#x", status);
}

/* Loads */

struct load {
	size_t n, asked;
	struct qo_submission *subs;
	char (*inputs)[32];
	char (*ids)[QO_UUID_SIZE];
	bool submitted;
	struct qo_bulk_submit bulk;
};

static enum qo_bulk_next
next_submit(struct qo_bulk_submit *bs, const struct qo_submission **sub,
    void **item)
{
	struct load *l = bs->arg;

	if (l->asked == l->n)
		return QO_BULK_END;
	*item = l->ids[l->asked];
	*sub = &l->subs[l->asked++];
	return QO_BULK_STARTED;
}

static void
on_submitted(struct qo_bulk_submit *bs, const struct qo_submit *s, void *item)
{
	(void)bs;
	if (s->change.rc != QO_OK)
		fatalx("submit: %s", s->change.err.msg);
	memcpy(item, s->change.id, QO_UUID_SIZE);
}

static void
on_all(struct qo_bulk *b)
{
	((struct load *)((struct qo_bulk_submit *)b)->arg)->submitted = true;
}

static void
load_init(struct load *l, const char *type, size_t n, size_t inflight)
{
	size_t i;

	memset(l, 0, sizeof(*l));
	l->n = n;
	l->subs = xcalloc(n, sizeof(*l->subs));
	l->inputs = xcalloc(n, sizeof(*l->inputs));
	l->ids = xcalloc(n, sizeof(*l->ids));
	for (i = 0; i < n; i++) {
		qo_submission_init(&l->subs[i]);
		snprintf(l->inputs[i], sizeof(l->inputs[i]), "{\"n\":%zu}", i);
		l->subs[i].task_type = type;
		l->subs[i].input.p = l->inputs[i];
		l->subs[i].input.len = strlen(l->inputs[i]);
	}
	qo_bulk_submit_init(&l->bulk, q, inflight);
	l->bulk.next = next_submit;
	l->bulk.ended = on_submitted;
	l->bulk.bulk.done = on_all;
	l->bulk.arg = l;
	atomic_store(&shared->started, 0);
}

static void
load_fini(struct load *l)
{
	qo_bulk_submit_fini(&l->bulk);
	free(l->subs);
	free(l->inputs);
	free(l->ids);
}

static bool
is_completed(const char *id)
{
	char key[QO_KEY_SIZE];
	struct qo_s3_req r;
	bool yes;

	qo_key_task(&q->layout, id, key);
	qo_s3_req_init(&r, QO_S3_GET, "bench", key);
	if (qo_s3_wait(s3, &r) != QO_S3_OK)
		fatalx("%s", r.res.err.msg);
	yes = strstr(r.res.body.data, "\"status\":\"completed\"") != NULL;
	qo_s3_req_fini(&r);
	return yes;
}

/* Every task is looked at, the last ones as long as it takes; those before
 * were completed meanwhile and cost nothing that counts. */
static void
wait_completed(struct load *l)
{
	size_t i;

	for (i = l->n - (l->n < 200 ? l->n : 200); i < l->n; i++)
		while (!is_completed(l->ids[i]))
			loop_once(loop, 1);
}

static void
submit_all(struct load *l)
{
	qo_bulk_start(&l->bulk.bulk);
	while (!l->submitted)
		loop_once(loop, -1);
}

/* What the machine can do */

struct put {
	struct qo_s3_req req;
	char key[64];
	size_t *left, *under_way;
};

static void
send_put(struct put *p)
{
	if (*p->left == 0)
		return;
	snprintf(p->key, sizeof(p->key), "bench/%zu", (*p->left)--);
	(*p->under_way)++;
	qo_s3_send(s3, &p->req);
}

static void
on_put(struct qo_s3_req *r)
{
	struct put *p = r->arg;

	if (r->res.outcome != QO_S3_OK)
		fatalx("%s", r->res.err.msg);
	(*p->under_way)--;
	send_put(p);
}

static double
measure_puts(void)
{
	static char body[700];
	struct put *puts = xcalloc(INFLIGHT, sizeof(*puts));
	size_t i, left = PUTS, under_way = 0;
	struct qo_mono start = qo_mono_now();

	memset(body, 'x', sizeof(body));
	for (i = 0; i < INFLIGHT; i++) {
		qo_s3_req_init(&puts[i].req, QO_S3_PUT, "bench", puts[i].key);
		puts[i].req.body = body;
		puts[i].req.body_len = sizeof(body);
		puts[i].req.done = on_put;
		puts[i].req.arg = &puts[i];
		puts[i].left = &left;
		puts[i].under_way = &under_way;
		send_put(&puts[i]);
	}
	while (under_way > 0)
		loop_once(loop, -1);
	for (i = 0; i < INFLIGHT; i++)
		qo_s3_req_fini(&puts[i].req);
	free(puts);
	return PUTS / seconds_since(start);
}

static double
measure_spawns(void)
{
	char name[] = "/bin/true";
	char *argv[] = { name, NULL };
	struct qo_mono start = qo_mono_now();
	pid_t pid;
	int i;

	for (i = 0; i < SPAWNS; i++)
		if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) !=
			0 ||
		    waitpid(pid, NULL, 0) != pid)
			fatal("posix_spawn");
	return SPAWNS / seconds_since(start);
}

/* Measurements */

static double
measure_mode(const char *type, size_t n, pid_t worker)
{
	double cpu[3] = { cpu_of(worker), cpu_of(store.pid), cpu_of(getpid()) };
	struct qo_mono start;
	struct load l;
	double took;

	load_init(&l, type, n, INFLIGHT);
	start = qo_mono_now();
	submit_all(&l);
	wait_completed(&l);
	took = seconds_since(start);
	load_fini(&l);
	printf("%-44s %10s %-8s worker %.0f us, store %.0f us, "
	       "submitter %.0f us\n",
	    "  CPU of each task", "", "",
	    (cpu_of(worker) - cpu[0]) * 1e6 / (double)n,
	    (cpu_of(store.pid) - cpu[1]) * 1e6 / (double)n,
	    (cpu_of(getpid()) - cpu[2]) * 1e6 / (double)n);
	return (double)n / took;
}

static void
measure_latency(void)
{
	int64_t us[SINGLES];
	struct qo_mono done;
	struct load l;
	size_t i;

	for (i = 0; i < SINGLES; i++) {
		load_init(&l, "serve", 1, 1);
		snprintf(l.inputs[0], sizeof(l.inputs[0]), "{\"n\":%zu}", i);
		l.subs[0].input.len = strlen(l.inputs[0]);
		atomic_store(&shared->at[i], 0);
		submit_all(&l);
		done = qo_mono_now();
		while (atomic_load(&shared->at[i]) == 0)
			usleep(100);
		us[i] = atomic_load(&shared->at[i]) - done.us;
		load_fini(&l);
		usleep(20000); /* idle again */
	}
	qsort(us, SINGLES, sizeof(us[0]), by_value);
	show("submit returned to handler started, p50",
	    (double)us[SINGLES / 2] / 1000, "ms", "asked < 5");
	show("  p99", (double)us[SINGLES * 99 / 100] / 1000, "ms",
	    "asked < 25");
}

static void
measure_idle(pid_t worker)
{
	double cpu = cpu_of(worker), wall;
	struct qo_mono start = qo_mono_now();

	while (seconds_since(start) < IDLE_MS / 1000.0)
		usleep(100000);
	wall = seconds_since(start);
	show("CPU when idle", (cpu_of(worker) - cpu) / wall * 100, "%",
	    "asked < 0.5");
}

/* With the way to the store as long as across an ocean. */
static void
measure_far(size_t n)
{
	struct faultproxy *proxy = faultproxy_start(store.url, 0, NULL);
	char conf[160], rule[32];
	struct qo_mono first;
	struct load l;
	pid_t worker;
	double took;

	if (proxy == NULL)
		fatal("faultproxy");
	load_init(&l, "serve", n, INFLIGHT);
	submit_all(&l);
	snprintf(rule, sizeof(rule), "pass delay=%d", DELAY_MS);
	faultproxy_rule(proxy, rule);
	snprintf(conf, sizeof(conf), "%s/far.conf", dir);
	write_conf(conf, faultproxy_url(proxy), 256);
	worker = start_worker(conf);
	while (atomic_load(&shared->started) == 0)
		usleep(1000);
	first = qo_mono_now();
	wait_completed(&l);
	while (atomic_load(&shared->started) < n)
		usleep(1000);
	took = seconds_since(first);
	show("serve mode, 100 ms on each request, 256 slots", (double)n / took,
	    "tasks/s", "asked >= 500");
	stop_worker(worker);
	load_fini(&l);
	faultproxy_stop(proxy);
}

static void
set_up(const char *conf)
{
	struct qo_s3_conf c = { 0 };
	struct qo_queue_conf qc = { 0 };
	struct qo_err err;

	c.endpoint = store.url;
	c.region = "us-east-1";
	c.path_style = true;
	c.access_key = STOREPROC_ACCESS;
	c.secret_key = STOREPROC_SECRET;
	c.max_connections = 256;
	c.request_timeout_ms = 10000;
	c.max_skew_ms = 300000;
	loop = loop_new();
	if ((s3 = qo_s3_new(loop, &c, &err)) == NULL)
		fatalx("%s", err.msg);
	run_qo(conf, "init");
	qc.bucket = "bench";
	qc.index_bucket = "bench-index";
	qc.shard_width = 1;
	qc.inline_max = 256 * 1024;
	q = qo_queue_new(loop, s3, &qc);
}

static size_t
number_of(const char *name, size_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? (size_t)strtonum(text, 0, TASKS_MAX, NULL)
			    : otherwise;
}

static void
measure(void)
{
	char conf[160];
	size_t slow = number_of("BENCH_SLOW", 5000);
	double puts, spawns, rate;
	pid_t worker;

	snprintf(conf, sizeof(conf), "%s/qod.conf", dir);
	write_conf(conf, store.url, 64);
	set_up(conf);
	puts = measure_puts();
	show("store: PUT, 700 bytes, 64 at a time", puts, "/s", "%s", "");
	spawns = measure_spawns();
	show("posix_spawn and wait, one at a time", spawns, "/s", "%s", "");
	worker = start_worker(conf);
	rate = measure_mode("serve", number_of("BENCH_TASKS", 20000), worker);
	show("serve mode, submit to completed", rate, "tasks/s",
	    "asked >= 1500; five PUTs each: %.2f of what the store can",
	    rate * 5 / puts);
	show("RSS, 64 slots", rss_mib(worker), "MiB", "asked <= 20");
	rate = measure_mode("exec", EXECS, worker);
	show("exec mode, /bin/true", rate, "tasks/s",
	    "asked >= 600 or 0.75 of spawns; %.2f of spawns", rate / spawns);
	measure_latency();
	measure_idle(worker);
	stop_worker(worker);
	if (slow > 0)
		measure_far(slow);
}

int
main(int argc, char **argv)
{
	static char program[PATH_MAX + 32];

	if (argc == 3 && strcmp(argv[1], "--handler") == 0) {
		map_shared(argv[2]);
		return qo_serve(handle, NULL);
	}
	if (realpath("/proc/self/exe", program) == NULL)
		fatal("/proc/self/exe");
	strlcpy(self, program, sizeof(self));
	if (argc > 1)
		snprintf(bin, sizeof(bin), "%s", argv[1]);
	else
		snprintf(bin, sizeof(bin), "%s/bin", dirname(dirname(program)));
	if (getenv("BENCH_DIR") != NULL)
		setenv("TMPDIR", getenv("BENCH_DIR"), 1);
	storeproc_mkdir(dir, sizeof(dir));
	snprintf(shared_path, sizeof(shared_path), "%s/shared", dir);
	map_shared(shared_path);
	snprintf(program, sizeof(program), "%s/qo-store", bin);
	store.binary = program;
	store.dir = dir;
	storeproc_start(&store);
	measure();
	qo_queue_free(q);
	qo_s3_free(s3);
	loop_free(loop);
	storeproc_end(&store, SIGTERM);
	if (getenv("BENCH_KEEP") == NULL)
		storeproc_rmdir(dir);
	return 0;
}
