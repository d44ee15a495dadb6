/*
 * store_db - what the database of qo-store does in a second, beside the
 * fdatasync of the same disk in the same run.
 *
 *	store_db [keys [dir]]
 *
 * keys: how many are stored before the second round (default 50000; the
 * design asks for a million).  dir: where (default the current directory).
 */
#include <ftw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../qo-store/db.h"
#include "log.h"

#define RUN_US 2000000
#define BODY   1024
#define SECOND 1000000 /* first key of the second round */

static struct loop *lp;
static struct db *db;
static char dir[512];

/* A writer that starts its next PUT when the last is answered. */
struct writer {
	struct db_op op;
	char key[64];
};

static struct run {
	int64_t bucket;
	int64_t next, limit; /* how many to start */
	int64_t done;
	size_t open;
	struct qo_mono until;
} run;

static char body[BODY];

static void next_put(struct writer *w);

static void
on_put(struct db_op *op)
{
	if (op->rc != DB_OK)
		fatalx("put: outcome %d", (int)op->rc);
	run.done++;
	run.open--;
	next_put(op->arg);
}

/* Keys like those of the queue: they come in no order. */
static void
next_put(struct writer *w)
{
	enum db_rc rc = DB_OK;
	uint64_t n;

	if (run.next == run.limit || qo_mono_now().us > run.until.us)
		return;
	n = (uint64_t)run.next++ * UINT64_C(0x9e3779b97f4a7c15);
	(void)snprintf(w->key, sizeof(w->key), "tasks/%x/%08x-%04x.json",
	    (unsigned)(n >> 60), (unsigned)(n >> 32), (unsigned)n & 0xffff);
	memset(&w->op, 0, sizeof(w->op));
	w->op.kind = DB_OP_PUT;
	w->op.bucket_id = run.bucket;
	w->op.key = w->key;
	w->op.done = on_put;
	w->op.arg = w;
	w->op.meta.headers =
	    (char *)(uintptr_t) "content-type: application/json";
	w->op.meta.owner = (char *)(uintptr_t) "qo";
	w->op.body = db_body_new(db);
	if (db_body_add(w->op.body, body, BODY, &rc) == -1)
		fatalx("body: outcome %d", (int)rc);
	run.open++;
	db_submit(db, &w->op);
}

/* PUTs a second with n writers, for a while or until limit are made. */
static double
puts_per_s(size_t n, int64_t from, int64_t limit, int64_t us)
{
	struct writer *w = calloc(n, sizeof(*w));
	struct qo_mono begin = qo_mono_now();
	size_t i;

	run.next = from;
	run.limit = limit;
	run.done = 0;
	run.until.us = begin.us + us;
	for (i = 0; i < n; i++)
		next_put(&w[i]);
	while (run.open > 0)
		loop_once(lp, -1);
	free(w);
	return (double)run.done * 1e6 /
	    (double)qo_mono_diff_us(begin, qo_mono_now());
}

static void
on_bucket(struct db_op *op)
{
	run.bucket = op->bucket.id;
	db_bucket_fini(&op->bucket);
}

static void
make_bucket(void)
{
	struct db_op op = { .kind = DB_OP_BUCKET_CREATE,
		.bucket_name = "bench",
		.owner = "qo",
		.versioning = DB_VERSIONED,
		.done = on_bucket };

	db_submit(db, &op);
	while (run.bucket == 0)
		loop_once(lp, -1);
}

static void
count_object(const struct db_obj *o, void *arg)
{
	(void)o;
	(*(size_t *)arg)++;
}

static void
count_prefix(const char *p, void *arg)
{
	(void)p;
	(*(size_t *)arg)++;
}

/* Microseconds of one LIST page. */
static double
list_us(const char *prefix, const char *delimiter, size_t *n)
{
	struct db_list q = {
		.prefix = prefix, .delimiter = delimiter, .max = 1000
	};
	struct db_list_cb cb = { count_object, count_prefix, n };
	struct qo_mono begin = qo_mono_now();
	char *next;
	bool more;
	int i;

	for (i = 0; i < 200; i++) {
		*n = 0;
		if (db_list(db, run.bucket, &q, &cb, &more, &next) != DB_OK)
			fatalx("list");
		free(next);
	}
	return (double)qo_mono_diff_us(begin, qo_mono_now()) / i;
}

static double
get_us(int64_t from, int64_t keys)
{
	struct qo_mono begin = qo_mono_now();
	struct db_obj o;
	char key[64];
	uint64_t n;
	int64_t i;

	for (i = 0; i < 20000; i++) {
		n = (uint64_t)(from + i * 7919 % keys) *
		    UINT64_C(0x9e3779b97f4a7c15);
		(void)snprintf(key, sizeof(key), "tasks/%x/%08x-%04x.json",
		    (unsigned)(n >> 60), (unsigned)(n >> 32),
		    (unsigned)n & 0xffff);
		if (db_get(db, run.bucket, key, NULL, DB_READ_BODY, &o) !=
		    DB_OK)
			fatalx("get %s", key);
		db_obj_fini(&o);
	}
	return (double)qo_mono_diff_us(begin, qo_mono_now()) / (double)i;
}

static double
syncs_per_s(void)
{
	struct qo_mono begin = qo_mono_now();
	char path[600], page[4096] = "";
	int64_t n = 0;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/sync", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	if (fd == -1)
		fatal("%s", path);
	while (qo_mono_diff_us(begin, qo_mono_now()) < RUN_US / 2) {
		if (write(fd, page, sizeof(page)) != sizeof(page) ||
		    fdatasync(fd) == -1)
			fatal("%s", path);
		n++;
	}
	close(fd);
	return (double)n * 1e6 / (double)qo_mono_diff_us(begin, qo_mono_now());
}

static long
rss_kib(void)
{
	long pages = 0, rss = 0;
	FILE *f;

	f = fopen("/proc/self/statm", "re");
	if (f == NULL || fscanf(f, "%ld %ld", &pages, &rss) != 2)
		rss = 0;
	if (f != NULL)
		fclose(f);
	return rss * (sysconf(_SC_PAGESIZE) / 1024);
}

static void
report(int64_t from, int64_t keys)
{
	struct rusage a, b;
	size_t n;
	double r;

	/* What the filling left dirty is not this round's. */
	sync();
	printf("%21s %8.0f fdatasync/s of 4 KiB on this disk\n", "",
	    syncs_per_s());
	getrusage(RUSAGE_SELF, &a);
	r = puts_per_s(16, from + keys, INT64_MAX, RUN_US);
	getrusage(RUSAGE_SELF, &b);
	printf("%10lld keys: %8.0f PUT/s of 1 KiB with 16 writers, %.0f us CPU "
	       "each\n",
	    (long long)keys, r,
	    ((double)(b.ru_utime.tv_sec - a.ru_utime.tv_sec +
		 b.ru_stime.tv_sec - a.ru_stime.tv_sec) *
		    1e6 +
		(double)(b.ru_utime.tv_usec - a.ru_utime.tv_usec +
		    b.ru_stime.tv_usec - a.ru_stime.tv_usec)) /
		(double)run.done);
	keys += run.done;
	printf("%21s %8.0f PUT/s with 64 writers\n", "",
	    puts_per_s(64, from + keys, INT64_MAX, RUN_US));
	keys += run.done;
	printf("%21s %8.0f PUT/s with 1 writer\n", "",
	    puts_per_s(1, from + keys, INT64_MAX, RUN_US));
	r = list_us("tasks/7", NULL, &n);
	printf("%21s %8.0f us LIST of %zu keys\n", "", r, n);
	r = list_us("", "/", &n);
	printf("%21s %8.0f us LIST of %zu common prefix\n", "", r, n);
	r = list_us("tasks/", "/", &n);
	printf("%21s %8.0f us LIST of %zu common prefixes\n", "", r, n);
	printf("%21s %8.1f us GET of 1 KiB\n", "", get_us(from, keys));
	printf("%21s %8ld KiB resident\n", "", rss_kib());
}

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st;
	(void)flag;
	(void)f;
	return remove(path);
}

int
main(int argc, char **argv)
{
	struct qo_err err;
	int64_t keys = 50000;

	if (argc > 1)
		keys = strtoll(argv[1], NULL, 10);
	(void)snprintf(dir, sizeof(dir), "%s/store_db.XXXXXX",
	    argc > 2 ? argv[2] : ".");
	if (mkdtemp(dir) == NULL)
		fatal("%s", dir);
	lp = loop_new();
	db = db_open(lp, dir, &err);
	if (db == NULL)
		fatalx("%s", err.msg);
	memset(body, 'x', sizeof(body));
	make_bucket();
	report(0, 0);
	if (keys > 0) {
		(void)puts_per_s(512, SECOND, SECOND + keys, INT64_MAX / 2);
		report(SECOND, keys);
	}
	db_close(db);
	loop_free(lp);
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}
