/*
 * s3_live - the S3 client against a real store, case by case.
 *
 *	s3_live path/to/qo-store [case ...]
 *
 * With QO_TEST_ENDPOINT, QO_TEST_ACCESS_KEY and QO_TEST_SECRET_KEY set it
 * runs against that store instead of a qo-store of its own, and says what it
 * has to leave out there.
 */
#include <curl/curl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "s3_live.h"
#include "s3body.h"

#define CASE_SECONDS 300

int64_t live_clock_off_us;

/* The linker puts this in the place of qo_wall_local, so that a case can
 * have a wrong clock. */
struct qo_wall __real_qo_wall_local(void);
struct qo_wall __wrap_qo_wall_local(void);

struct qo_wall
__wrap_qo_wall_local(void)
{
	struct qo_wall t = __real_qo_wall_local();

	t.us += live_clock_off_us;
	return t;
}

/* Verdicts */

void
live_need(struct live *l, bool good, const char *fmt, ...)
{
	va_list ap;

	if (good)
		return;
	printf("not ok %s: ", l->name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(1);
}

void
live_skip(struct live *l, const char *fmt, ...)
{
	va_list ap;

	printf("skip %s: ", l->name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(0);
}

void
live_only_ours(struct live *l, const char *what)
{
	if (l->store->foreign)
		live_skip(l, "%s is qo-store's own", what);
}

/* Clients and requests */

struct qo_s3_conf
live_conf(const struct live_store *s)
{
	struct qo_s3_conf conf = { .endpoint = s->endpoint,
		.region = s->region,
		.path_style = true,
		.allow_http = true,
		.etag_form = s->etag_form,
		.access_key = s->access_key,
		.secret_key = s->secret_key,
		.max_connections = 64,
		.request_timeout_ms = 60000,
		.max_skew_ms = 300000 };

	return conf;
}

struct qo_s3 *
live_client(struct live *l, const struct qo_s3_conf *conf)
{
	struct qo_err err;
	struct qo_s3 *s3;

	s3 = qo_s3_new(l->loop, conf, &err);
	live_need(l, s3 != NULL, "%s", s3 == NULL ? err.msg : "");
	return s3;
}

void
live_expect(struct live *l, struct qo_s3_req *r, enum qo_s3_outcome want,
    const char *file, int line)
{
	qo_s3_wait(l->s3, r);
	live_need(l, r->res.outcome == want,
	    "%s:%d: %s gave \"%s\", not \"%s\" (%s)", file, line,
	    qo_s3_op_name(r->op), qo_s3_outcome_name(r->res.outcome),
	    qo_s3_outcome_name(want), r->res.err.msg);
}

const char *
live_bucket(struct live *l, bool versioned)
{
	static char names[2][64];
	static unsigned count;
	char *name = names[versioned];
	struct qo_s3_req r;
	struct qo_err err;
	struct buf b;

	snprintf(name, sizeof(names[0]), "live-%d-%u-%u", (int)getpid(),
	    (unsigned)(qo_wall_local().us / QO_US_PER_SEC % 100000), count++);
	qo_s3_req_init(&r, QO_S3_BUCKET_CREATE, name, NULL);
	expect(l, &r, QO_S3_OK);
	qo_s3_req_fini(&r);
	if (!versioned)
		return name;
	buf_init(&b, 4096);
	need(l, qo_s3body_versioning(&b, true, &err) == 0);
	qo_s3_req_init(&r, QO_S3_VERSIONING_PUT, name, NULL);
	r.body = b.data;
	r.body_len = b.len;
	expect(l, &r, QO_S3_OK);
	qo_s3_req_fini(&r);
	buf_fini(&b);
	return name;
}

void
live_put(struct live *l, const char *bucket, const char *key, const char *body,
    char *etag)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_PUT, bucket, key);
	r.body = body;
	r.body_len = strlen(body);
	expect(l, &r, QO_S3_OK);
	if (etag != NULL)
		strlcpy(etag, r.res.etag, QO_S3_ETAG_MAX);
	qo_s3_req_fini(&r);
}

void
live_same(struct live *l, const char *bucket, const char *key, const char *body)
{
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_GET, bucket, key);
	expect(l, &r, QO_S3_OK);
	live_need(l, strcmp(r.res.body.data, body) == 0,
	    "GET %s: \"%.40s\" and not \"%.40s\"", key, r.res.body.data, body);
	qo_s3_req_fini(&r);
}

static size_t
keep(char *p, size_t size, size_t n, void *arg)
{
	return buf_add(arg, p, size * n) == 0 ? size * n : 0;
}

int
live_curl(struct live *l, const char *method, const char *url,
    const char *const *headers, const char *body, struct buf *out)
{
	struct curl_slist *list = NULL;
	CURL *e = curl_easy_init();
	long status = 0;
	CURLcode rc;

	buf_reset(out);
	for (; headers != NULL && *headers != NULL; headers++)
		list = curl_slist_append(list, *headers);
	curl_easy_setopt(e, CURLOPT_URL, url);
	curl_easy_setopt(e, CURLOPT_PROXY, "");
	curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(e, CURLOPT_TIMEOUT, 60L);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, out);
	if (body != NULL)
		curl_easy_setopt(e, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, list);
	rc = curl_easy_perform(e);
	live_need(l, rc == CURLE_OK, "%s %s: %s", method, url,
	    curl_easy_strerror(rc));
	curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
	curl_slist_free_all(list);
	curl_easy_cleanup(e);
	return (int)status;
}

/* Running */

static void
run_case(const struct live_store *store, const struct live_case *c)
{
	struct live l = { .store = store, .name = c->name };
	struct qo_s3_conf conf = live_conf(store);

	alarm(CASE_SECONDS);
	l.loop = loop_new();
	l.s3 = live_client(&l, &conf);
	c->run(&l);
	qo_s3_free(l.s3);
	loop_free(l.loop);
	printf("ok %s\n", c->name);
	fflush(stdout);
}

/* In a process of its own: 0 when it went well. */
static int
fork_case(const struct live_store *store, const struct live_case *c)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == -1)
		fatal("fork");
	if (pid == 0) {
		run_case(store, c);
		exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		return WEXITSTATUS(status);
	printf("not ok %s: ended by signal or status %d\n", c->name, status);
	return 1;
}

static bool
wanted(const char *name, char **names)
{
	if (*names == NULL)
		return true;
	for (; *names != NULL; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

static int
run_all(const struct live_store *store, char **names)
{
	const struct live_case *const groups[] = { live_objects, live_lists,
		live_together };
	const struct live_case *c;
	int failed = 0;
	size_t i;

	for (i = 0; i < nitems(groups); i++)
		for (c = groups[i]; c->name != NULL; c++)
			if (wanted(c->name, names))
				failed += fork_case(store, c);
	return failed;
}

/* Which form of an ETag does a foreign store take?  (In a child: nobody may
 * have used libcurl before the cases are forked.) */
static void
probe_form(struct live *l)
{
	const char *bucket = live_bucket(l, false);
	char etag[QO_S3_ETAG_MAX];
	struct qo_s3_req r;

	live_put(l, bucket, "probe", "1", etag);
	qo_s3_req_init(&r, QO_S3_PUT, bucket, "probe");
	r.if_match = etag;
	_exit(qo_s3_wait(l->s3, &r) == QO_S3_OK ? 10 : 11);
}

static void
use_foreign(struct live_store *store)
{
	struct live l = { .store = store, .name = "probe" };
	struct qo_s3_conf conf;
	int status;
	pid_t pid;

	store->foreign = true;
	store->access_key = getenv("QO_TEST_ACCESS_KEY");
	store->secret_key = getenv("QO_TEST_SECRET_KEY");
	if (store->access_key == NULL || store->secret_key == NULL)
		fatalx("set QO_TEST_ACCESS_KEY and QO_TEST_SECRET_KEY");
	pid = fork();
	if (pid == 0) {
		l.loop = loop_new();
		conf = live_conf(store);
		l.s3 = live_client(&l, &conf);
		probe_form(&l);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) < 10)
		fatalx("%s can not be used", store->endpoint);
	if (WEXITSTATUS(status) == 11) {
		store->etag_form = QO_S3_ETAG_BARE;
		printf("note: this store wants bare ETags in If-Match\n");
	}
}

int
main(int argc, char **argv)
{
	static char dir[128];
	struct live_store store = { .region = "us-east-1" };
	int failed;

	if (argc < 2)
		fatalx("usage: s3_live qo-store [case ...]");
	signal(SIGPIPE, SIG_IGN);
	unsetenv("AWS_SESSION_TOKEN");
	store.proc.binary = argv[1];
	store.endpoint = getenv("QO_TEST_ENDPOINT");
	if (store.endpoint != NULL) {
		use_foreign(&store);
		return run_all(&store, argv + 2) == 0 ? 0 : 1;
	}
	storeproc_mkdir(dir, sizeof(dir));
	store.proc.dir = dir;
	store.proc.max_body = "4MiB";
	storeproc_start(&store.proc);
	store.endpoint = store.proc.url;
	store.access_key = STOREPROC_ACCESS;
	store.secret_key = STOREPROC_SECRET;
	failed = run_all(&store, argv + 2);
	if (storeproc_end(&store.proc, SIGTERM) != 0) {
		printf("not ok store_ends: not with status 0\n");
		failed++;
	}
	storeproc_rmdir(dir);
	return failed == 0 ? 0 : 1;
}
