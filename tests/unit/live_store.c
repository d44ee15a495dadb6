#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "live_store.h"
#include "s3body.h"

/* build/tests/unit/test_x -> build/bin/NAME */
void
live_program(const char *name, char *out, size_t size)
{
	char exe[PATH_MAX];
	ssize_t n;
	int up;

	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	ck_assert_int_gt(n, 0);
	exe[n] = '\0';
	for (up = 0; up < 3; up++)
		*strrchr(exe, '/') = '\0';
	ck_assert_int_lt(snprintf(out, size, "%s/bin/%s", exe, name),
	    (int)size);
}

static void
read_keys(struct live_store *s)
{
	char path[128];
	struct buf b;
	struct qo_err err;
	const char *p;

	buf_init(&b, 65536);
	snprintf(path, sizeof(path), "%s/data/keys", s->dir);
	ck_assert_msg(io_read_file(path, &b, &err) == 0, "%s", err.msg);
	p = strstr(b.data, "access_key = ");
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(sscanf(p, "access_key = %63s", s->access_key), 1);
	p = strstr(b.data, "secret_key = ");
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(sscanf(p, "secret_key = %63s", s->secret_key), 1);
	buf_fini(&b);
}

static void
run_store(struct live_store *s, int out)
{
	char program[PATH_MAX], data[128];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	live_program("qo-store", program, sizeof(program));
	snprintf(data, sizeof(data), "%s/data", s->dir);
	dup2(out, STDOUT_FILENO);
	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	execl(program, "qo-store", "-d", data, "-l", "127.0.0.1:0", NULL);
	_exit(127);
}

static void
launch(struct live_store *s)
{
	char line[256];
	FILE *fp;
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	s->pid = fork();
	ck_assert_int_ne(s->pid, -1);
	if (s->pid == 0)
		run_store(s, fds[1]);
	close(fds[1]);
	fp = fdopen(fds[0], "r");
	ck_assert_msg(fgets(line, sizeof(line), fp) != NULL,
	    "qo-store did not start: run make all first");
	ck_assert_int_eq(sscanf(line, "qo-store ready %63s", s->url), 1);
	fclose(fp);
}

static void
make_bucket(struct live_store *s, const char *name, bool versioned)
{
	struct qo_s3_req r;
	struct buf b;

	qo_s3_req_init(&r, QO_S3_BUCKET_CREATE, name, NULL);
	/* Sent again when the store stood still, it is there already. */
	ck_assert_msg(qo_s3_wait(s->s3, &r) == QO_S3_OK || r.res.attempts > 1,
	    "%s", r.res.err.msg);
	qo_s3_req_fini(&r);
	if (!versioned)
		return;
	buf_init(&b, 4096);
	qo_s3body_versioning(&b, true, NULL);
	qo_s3_req_init(&r, QO_S3_VERSIONING_PUT, name, NULL);
	r.body = b.data;
	r.body_len = b.len;
	ck_assert_msg(qo_s3_wait(s->s3, &r) == QO_S3_OK, "%s", r.res.err.msg);
	qo_s3_req_fini(&r);
	buf_fini(&b);
}

struct qo_s3 *
live_store_client(struct live_store *s, struct loop *l, const char *endpoint)
{
	struct qo_s3_conf conf;
	struct qo_s3 *s3;
	struct qo_err err;

	memset(&conf, 0, sizeof(conf));
	conf.endpoint = endpoint != NULL ? endpoint : s->url;
	conf.region = "us-east-1";
	conf.path_style = true;
	conf.access_key = s->access_key;
	conf.secret_key = s->secret_key;
	conf.max_connections = 64;
	conf.request_timeout_ms = 60000;
	conf.max_skew_ms = 300000;
	s3 = qo_s3_new(l, &conf, &err);
	ck_assert_msg(s3 != NULL, "%s", err.msg);
	return s3;
}

struct qo_queue *
live_store_queue(struct live_store *s, struct loop *l, struct qo_s3 *s3)
{
	struct qo_queue_conf conf;

	(void)s;
	memset(&conf, 0, sizeof(conf));
	conf.bucket = "qo";
	conf.index_bucket = "qo-index";
	conf.shard_width = 1;
	conf.inline_max = 4096;
	return qo_queue_new(l, s3, &conf);
}

void
live_store_start(struct live_store *s)
{
	const char *tmp = getenv("TMPDIR");

	memset(s, 0, sizeof(*s));
	/* Where tests/run removes what a test that died has left. */
	ck_assert_int_lt(snprintf(s->dir, sizeof(s->dir), "%s/qo-test.XXXXXX",
			     tmp != NULL ? tmp : "/tmp"),
	    (int)sizeof(s->dir));
	ck_assert_ptr_nonnull(mkdtemp(s->dir));
	launch(s);
	read_keys(s);
	s->loop = loop_new();
	s->s3 = live_store_client(s, s->loop, NULL);
	make_bucket(s, "qo", true);
	make_bucket(s, "qo-index", false);
	s->q = live_store_queue(s, s->loop, s->s3);
}

void
live_store_stop(struct live_store *s)
{
	char cmd[128];
	int status;

	qo_queue_free(s->q);
	qo_s3_free(s->s3);
	loop_free(s->loop);
	kill(s->pid, SIGTERM);
	ck_assert_int_eq(waitpid(s->pid, &status, 0), s->pid);
	ck_assert_int_eq(status, 0);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", s->dir);
	ck_assert_int_eq(system(cmd), 0);
}

size_t
live_store_count(struct live_store *s, const char *prefix, char *key)
{
	struct qo_s3_req r;
	size_t n;

	qo_s3_req_init(&r, QO_S3_LIST, "qo-index", NULL);
	r.prefix = prefix;
	ck_assert_msg(qo_s3_wait(s->s3, &r) == QO_S3_OK, "%s", r.res.err.msg);
	ck_assert(!r.res.list->truncated);
	n = r.res.list->n;
	if (n > 0 && key != NULL)
		snprintf(key, QO_KEY_SIZE, "%s",
		    r.res.list->entries[n - 1].key);
	qo_s3_req_fini(&r);
	return n;
}

void
live_store_task(struct live_store *s, const char *id, struct qo_task *t)
{
	char key[QO_KEY_SIZE];
	struct qo_s3_req r;
	struct qo_err err;

	ck_assert_int_eq(qo_key_task(&s->q->layout, id, key), 0);
	qo_s3_req_init(&r, QO_S3_GET, "qo", key);
	ck_assert_msg(qo_s3_wait(s->s3, &r) == QO_S3_OK, "%s", r.res.err.msg);
	ck_assert_msg(qo_task_decode(t, id, r.res.body.data, r.res.body.len,
			  &err) == 0,
	    "%s", err.msg);
	qo_s3_req_fini(&r);
}

enum qo_status
live_store_status(struct live_store *s, const char *id)
{
	enum qo_status status;
	struct qo_task t;

	live_store_task(s, id, &t);
	status = t.status;
	qo_task_fini(&t);
	return status;
}
