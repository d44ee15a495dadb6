#include <sys/mman.h>
#include <sys/stat.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "conf.h"
#include "confkeys.h"
#include "conftypes.h"
#include "confval.h"
#include "io.h"
#include "log.h"
#include "run_suite.h"
#include "xalloc.h"

#define NITEMS(a) ((int)(sizeof(a) / sizeof((a)[0])))

static struct buf said; /* the reports, a line each */
static char dir[64];

static void
collect(void *arg, enum conf_level level, const struct conf_place *place,
    const char *msg)
{
	(void)arg;
	conf_add_report(&said, level, place, msg);
	buf_addc(&said, '\n');
}

static struct conf_opts
options(void)
{
	struct conf_opts o = { .report = collect };

	buf_reset(&said);
	return o;
}

static struct conf *
parse(const char *text)
{
	struct conf_opts o = options();

	return conf_parse_text(text, strlen(text), "t", &o);
}

static void
setup(void)
{
	buf_init(&said, 1 << 20);
	strlcpy(dir, "/tmp/qo_confXXXXXX", sizeof(dir));
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void
teardown(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf -- '%s'", dir);
	ck_assert_int_eq(system(cmd), 0);
	buf_fini(&said);
}

static char *
put(const char *name, const char *text, mode_t mode)
{
	struct qo_err err;
	char *path;

	path = xasprintf("%s/%s", dir, name);
	ck_assert_int_eq(io_write_file(path, text, strlen(text), 0600, &err),
	    0);
	ck_assert_int_eq(chmod(path, mode), 0);
	return path;
}

START_TEST(defaults)
{
	struct conf *c = conf_load(NULL, NULL);

	ck_assert_ptr_nonnull(c);
	ck_assert_ptr_null(c->qod.user);
	ck_assert(!c->qod.allow_root);
	ck_assert_str_eq(c->qod.log, "stderr");
	ck_assert_int_eq(c->qod.log_format, LOG_FMT_KV);
	ck_assert_int_eq(c->qod.log_level, LOG_LVL_INFO);
	ck_assert_int_eq(c->qod.drain_timeout_ms, 30000);
	ck_assert_int_eq(c->qod.stuck_after_ms, 60000);
	ck_assert_ptr_null(c->s3.endpoint);
	ck_assert_str_eq(c->s3.url, "http://127.0.0.1:9710");
	ck_assert_str_eq(c->s3.region, "us-east-1");
	ck_assert_str_eq(c->s3.bucket, "qo");
	ck_assert_str_eq(c->s3.index_bucket, "qo-index");
	ck_assert_str_eq(c->s3.prefix, "");
	ck_assert(c->s3.path_style);
	ck_assert_int_eq(c->s3.versioning, CONF_VERSIONING_REQUIRED);
	ck_assert_int_eq(c->s3.etag_quotes, CONF_AUTO);
	ck_assert(!c->s3.allow_http);
	ck_assert_int_eq(c->s3.max_connections, 256);
	ck_assert_int_eq(c->s3.request_timeout_ms, 10000);
	ck_assert_int_eq(c->s3.max_skew_ms, 300000);
	ck_assert(c->store.enabled);
	ck_assert_str_eq(c->store.keys_file, "/var/lib/qo/keys");
	ck_assert_int_eq(c->store.max_body, 64 << 20);
	ck_assert_int_eq(c->store.connections, 1024);
	ck_assert_str_eq(c->store.public_prefixes[0], "ui/");
	ck_assert_ptr_null(c->store.public_prefixes[1]);
	ck_assert_int_ge(c->worker.processes, 1);
	ck_assert_int_le(c->worker.processes,
	    (int)sysconf(_SC_NPROCESSORS_CONF));
	ck_assert_int_eq(c->worker.slots, 16);
	ck_assert_str_eq(c->worker.shards, "all");
	ck_assert_int_eq(c->worker.lease_ms, 60000);
	ck_assert_int_eq(c->worker.lease_max_ms, 300000);
	ck_assert_int_eq(c->worker.poll_min_ms, 50);
	ck_assert_int_eq(c->worker.poll_max_ms, 5000);
	ck_assert_int_eq(c->worker.heartbeat_ms, 10000);
	ck_assert_int_eq(c->worker.inline_max, 256 << 10);
	ck_assert_int_eq(c->worker.output_max, 10 << 20);
	ck_assert_int_eq(c->worker.log_max, 1 << 20);
	ck_assert_int_eq(c->worker.unknown_type, CONF_UNKNOWN_SKIP);
	ck_assert(c->monitor.enabled);
	ck_assert_int_eq(c->monitor.check_interval_ms, 5000);
	ck_assert_int_eq(c->monitor.orphan_grace_ms, 1200000);
	ck_assert_int_eq(c->monitor.worker_stale_ms, 60000);
	ck_assert_int_eq(c->monitor.worker_dead_ms, 300000);
	ck_assert_int_eq(c->monitor.retention_ms, 0);
	ck_assert_str_eq(c->monitor.listen, "127.0.0.1:9711");
	ck_assert(c->sweeper.enabled);
	ck_assert_int_eq(c->sweeper.interval_ms, 300000);
	ck_assert_int_eq(c->sweeper.rate, 20);
	ck_assert_ptr_null(c->workflows.dir);
	ck_assert_int_eq(c->submit.timeout_ms, 300000);
	ck_assert_int_eq(c->submit.retries, 3);
	ck_assert_int_eq(c->submit.retry_kind, CONF_RETRY_EXPONENTIAL);
	ck_assert_int_eq(c->submit.retry_initial_interval_ms, 1000);
	ck_assert_int_eq(c->submit.retry_max_interval_ms, 60000);
	ck_assert_double_eq_tol(c->submit.retry_multiplier, 2, 1e-9);
	ck_assert_double_eq_tol(c->submit.retry_jitter, 0.25, 1e-9);
	ck_assert_int_eq(c->submit.max_inflight, 64);
	ck_assert_uint_eq(c->nhandlers, 0);
	conf_free(c);
}
END_TEST

/* A default that its own parser refuses would silently be zero. */
static void
check_row(const struct conf_key *k)
{
	struct conf_text text = { .key = k->key, .value = k->def };
	struct qo_err err = { 0 };
	union {
		char bytes[64];
		void *align;
	} member = { { 0 } };

	ck_assert_ptr_nonnull(k->help);
	ck_assert_uint_le(k->type->size, sizeof(member));
	if (k->def == NULL)
		return;
	ck_assert_msg(k->type->parse(k, &text, &member, &err) == 0,
	    "[%s] %s: %s", k->section, k->key, err.msg);
	if (k->type->free != NULL)
		k->type->free(&member);
}

START_TEST(table_is_sound)
{
	size_t i, j;

	for (i = 0; i < conf_nkeys; i++) {
		check_row(&conf_keys[i]);
		for (j = 0; j < i; j++)
			ck_assert(strcmp(conf_keys[i].key, conf_keys[j].key) ||
			    strcmp(conf_keys[i].section, conf_keys[j].section));
	}
	for (i = 0; i < conf_nhandler_keys; i++)
		check_row(&conf_handler_keys[i]);
}
END_TEST

START_TEST(whole_file)
{
	struct conf *c;

	c = parse("[s3]\n"
		  "endpoint = https://s3.example.org\n"
		  "bucket = my-queue\n"
		  "prefix = team/\n"
		  "[worker]\n"
		  "processes = 3\n"
		  "lease = 90s\n"
		  "[worker]\n"
		  "shards = 0-7\n"
		  "[monitor]\n"
		  "retention = 30d\n"
		  "listen = off\n"
		  "[handler thumbs]\n"
		  "type = image/*\n"
		  "command = /usr/bin/convert 'a b' -\n"
		  "mode = serve\n"
		  "max_tasks = 100\n"
		  "env.LANG = C\n"
		  "env.EMPTY =\n"
		  "retry_exit = 1, 64\n"
		  "user = nobody\n");
	ck_assert_msg(c != NULL && said.len == 0, "%s", said.data);
	ck_assert_str_eq(c->s3.url, "https://s3.example.org");
	ck_assert(!c->store.enabled);
	ck_assert_ptr_null(c->s3.index_bucket);
	ck_assert_int_eq(c->worker.processes, 3);
	ck_assert_int_eq(c->worker.lease_ms, 90000);
	ck_assert_str_eq(c->worker.shards, "0-7");
	ck_assert_int_eq(c->monitor.retention_ms, 30 * CONFVAL_DAY);
	ck_assert_ptr_null(c->monitor.listen);
	ck_assert_uint_eq(c->nhandlers, 1);
	ck_assert_str_eq(c->handlers[0].name, "thumbs");
	ck_assert_str_eq(c->handlers[0].command.argv[1], "a b");
	ck_assert_int_eq(c->handlers[0].mode, CONF_MODE_SERVE);
	ck_assert_int_eq(c->handlers[0].instances, 2);
	ck_assert_int_eq(c->handlers[0].grace_ms, 5000);
	ck_assert_uint_eq(c->handlers[0].env.n, 2);
	ck_assert_str_eq(c->handlers[0].env.vars[0].name, "LANG");
	ck_assert_str_eq(c->handlers[0].env.vars[1].value, "");
	/* 64 was a code of the other list's default. */
	ck_assert(conflist_set_has(&c->handlers[0].retry_exit, 64));
	ck_assert(!conflist_set_has(&c->handlers[0].fail_exit, 64));
	ck_assert(conflist_set_has(&c->handlers[0].fail_exit, 65));
	ck_assert(!conflist_set_has(&c->handlers[0].retry_exit, 75));
	conf_free(c);
}
END_TEST

struct complaint {
	const char *text;
	const char *want; /* the whole report */
};

#define H "[handler h]\ntype = a\ncommand = b\nuser = c\n"
#define E "[s3]\nendpoint = https://x.org\nbucket = abc\n"

static const struct complaint complaints[] = {
	{ "[wrker]\nx = 1\n",
	    "t:1: there is no section [wrker]: did you mean [worker]?\n" },
	{ "[nothing-like-it]\n",
	    "t:1: there is no section [nothing-like-it]\n" },
	{ "[worker]\nleese = 1s\n",
	    "t:2: [worker] has no key \"leese\": did you mean \"lease\"?\n" },
	{ "[worker]\nendpoint = x\n",
	    "t:2: [worker] has no key \"endpoint\"\n" },
	{ "[worker x]\nlease = 1s\n", "t:1: [worker] takes no name\n" },
	{ "lease = 1s\n", "t:1: a key before the first [section]\n" },
	{ "include = x\n", "t:1: include works only in a file\n" },
	{ "[worker]\nlease = 60s\n[s3]\n[worker]\nlease = 60s\n",
	    "t:5: [worker] lease: already set at t:2\n" },
	{ "[worker]\nlease = 60\n",
	    "t:2: [worker] lease: \"60\" is not a duration: a whole number "
	    "with ms, s, m, h or d, like 30s\n" },
	{ "[worker]\nlease = 2h\n",
	    "t:2: [worker] lease: \"2h\" is out of range: 4s to 1h\n" },
	{ "[worker]\nslots = 16x\n",
	    "t:2: [worker] slots: \"16x\" is not a whole number from 1 to "
	    "1024\n" },
	{ "[worker]\nlog_max = 99999999999TiB\n",
	    "t:2: [worker] log_max: \"99999999999TiB\" is not a size: a "
	    "whole number of bytes, or with KiB, MiB, GiB or TiB, like "
	    "64KiB\n" },
	{ "[qod]\nlog_level = loud\n",
	    "t:2: [qod] log_level: \"loud\" is none of error, warn, info, "
	    "debug\n" },
	{ "[qod]\nlog = sysloog\n",
	    "t:2: [qod] log: \"sysloog\" is neither stderr nor syslog nor a "
	    "path with a /\n" },
	/* All of them, the wrong values not judged again. */
	{ "[worker]\nlease = x\nlease_max = 1s\nslots = 0\n!\n",
	    "t:2: [worker] lease: \"x\" is not a duration: a whole number "
	    "with ms, s, m, h or d, like 30s\n"
	    "t:4: [worker] slots: \"0\" is not a whole number from 1 to "
	    "1024\n"
	    "t:5: neither [section] nor key = value nor a comment\n" },
	{ "[worker]\nlease_max = 30s\n",
	    "t:2: [worker] lease: is longer than lease_max\n" },
	{ "[worker]\npoll_min = 6s\n",
	    "t:2: [worker] poll_min: is longer than poll_max\n" },
	{ "[worker]\ninline_max = 8MiB\noutput_max = 1MiB\n",
	    "t:2: [worker] inline_max: is larger than output_max\n" },
	{ "[worker]\nheartbeat = 60s\n",
	    "t:2: [worker] heartbeat: must be shorter than [monitor] "
	    "worker_stale\n" },
	{ "[monitor]\nworker_dead = 60s\n",
	    "t:2: [monitor] worker_stale: must be shorter than "
	    "worker_dead\n" },
	{ "[monitor]\norphan_grace = 16m\n",
	    "t:2: [monitor] orphan_grace: \"16m\" is out of range: 17m to "
	    "7d\n" },
	{ "[monitor]\nretention = 59m\n",
	    "t:2: [monitor] retention: \"59m\" is out of range: 1h to "
	    "36500d\n" },
	{ "[monitor]\nlisten = 127.0.0.1:9710\n",
	    "t:2: [monitor] listen: is the address of [store]\n" },
	{ "[submit]\nretry_initial_interval = 2m\n",
	    "t:2: [submit] retry_initial_interval: is longer than "
	    "retry_max_interval\n" },
	{ "[worker]\nlease = 15s\n",
	    "t:2: warning: [worker] lease: is shorter than two "
	    "request_timeout of [s3]: one slow answer loses it\n" },
	{ "[s3]\nendpoint = http://s3.example.org\nbucket = abc\n",
	    "t:2: [s3] endpoint: plain http to another machine shows all "
	    "data to the network: use https, or set allow_http = yes\n" },
	{ "[s3]\nendpoint = http://x.org\nbucket = abc\nallow_http = yes\n",
	    "" },
	{ "[s3]\nendpoint = http://127.0.0.1:9000\nbucket = abc\n", "" },
	{ "[s3]\nendpoint = https://s3.example.org\n",
	    "t:2: [s3] bucket: \"qo\" is too short for S3, which wants at "
	    "least 3 characters: name your bucket\n" },
	{ "[store]\nenabled = no\n",
	    "configuration: [s3] bucket: \"qo\" is too short for S3, which "
	    "wants at least 3 characters: name your bucket\n" },
	{ "[s3]\nendpoint = ftp://x\n",
	    "t:2: [s3] endpoint: \"ftp://x\" is not an endpoint like "
	    "https://s3.example.org or http://127.0.0.1:9000\n" },
	{ "[s3]\nbucket =\n",
	    "t:2: [s3] bucket: \"\" is not a bucket name: 2 to 63 of a-z, "
	    "0-9, . and -, a letter or digit at both ends, no .. and no IP "
	    "address\n" },
	{ "[s3]\nindex_bucket = qo\n",
	    "t:2: [s3] index_bucket: is the same as bucket: leave it out to "
	    "use one bucket\n" },
	{ "[s3]\nprefix = team\n",
	    "t:2: [s3] prefix: \"team\" is not a prefix: letters, digits and "
	    ". _ - /, at most 256, with a / at the end\n" },
	{ "[s3]\naccess_key = AKID\n",
	    "t:2: [s3] access_key: needs secret_key beside it\n" },
	{ "[s3]\naccess_key = AKID\nsecret_key = hush\n",
	    "t:3: [s3] secret_key: only a file may have it\n" },
	{ "[s3]\nprofile = p\naccess_key_file = /nonexistent/keys\n",
	    "t:2: [s3] profile: not together with access_key or "
	    "access_key_file\n"
	    "t:3: [s3] access_key_file: /nonexistent/keys: No such file or "
	    "directory\n" },
	{ "[store]\ndata =\n",
	    "t:2: [store] data: the embedded store needs a directory\n" },
	{ "[store]\nlisten = off\n",
	    "t:2: [store] listen: the queue needs it, or an endpoint in "
	    "[s3]\n" },
	{ "[store]\nlisten = 9710\n",
	    "t:2: [store] listen: \"9710\" is not an address like "
	    "127.0.0.1:9710, [::1]:9710 or localhost:9710\n" },
	{ "[store]\npublic_prefixes = ui/, x\n",
	    "t:2: [store] public_prefixes: \"x\" is not a prefix like ui/: "
	    "no / in front, one at the end\n" },
	{ E "[store]\nenabled = yes\n",
	    "t:5: warning: [store] enabled: the embedded store runs, but "
	    "the queue is at the endpoint of [s3]\n" },
	{ "[handler]\ntype = a\n", "t:1: [handler NAME] needs a name\n" },
	{ "[handler a/b]\ntype = a\n",
	    "t:1: [handler] \"a/b\" is not a name: 1 to 128 letters, digits "
	    "and . _ -\n" },
	{ "[handler h]\nuser = x\n",
	    "t:1: [handler h] needs a type\n"
	    "t:1: [handler h] needs a command\n" },
	{ "[handler h]\ntype = a b\ncommand = 'x\nuser = x\n",
	    "t:2: [handler] type: \"a b\" is not a task type: 1 to 128 "
	    "letters, digits and . _ : / -, with * at the end for all that "
	    "begin so\n"
	    "t:3: [handler] command: a quote is not closed\n" },
	{ H H, "t:5: [handler h] is already at t:1\n" },
	{ H "[handler i]\ncommand = x\ntype = a\nuser = b\n",
	    "t:7: [handler i] type: \"a\" is served by [handler h] at "
	    "t:1\n" },
	{ "[handler h]\ntype = a\ncommand = b\n",
	    "t:1: warning: [handler h] runs under the worker's own account "
	    "and could read its credentials: set user\n" },
	{ H "env.A = 1\nenv.A = 2\n",
	    "t:6: [handler] env.A: already set at t:5\n" },
	{ H "env.1A = 1\n",
	    "t:5: [handler] env.1A: a variable begins with a letter or _\n" },
	{ H "env. = 1\n",
	    "t:5: [handler] env.: a variable begins with a letter or _\n" },
	{ H "env.QO_TASK_ID = 1\n",
	    "t:5: [handler] env.QO_TASK_ID: the variables QO_... are qo's "
	    "own\n" },
	{ H "retry_exit = 1, 9\nfail_exit = 9\n",
	    "t:6: [handler h] fail_exit: has a code of retry_exit\n" },
	{ H "max_tasks = 5\n",
	    "t:5: [handler h] max_tasks: is for mode = serve\n" },
};

START_TEST(complaint)
{
	const struct complaint *t = &complaints[_i];
	bool fine;
	struct conf *c;

	c = parse(t->text);
	ck_assert_str_eq(said.data, t->want);
	fine = *t->want == '\0' || strstr(t->want, ": warning: ") != NULL;
	ck_assert_msg((c != NULL) == fine, "%s", t->text);
	conf_free(c);
}
END_TEST

START_TEST(too_many_errors)
{
	struct buf b;
	size_t lines = 0, i;

	buf_init(&b, 1 << 20);
	for (i = 0; i < 500; i++)
		buf_adds(&b, "!\n");
	ck_assert_ptr_null(parse(b.data));
	for (i = 0; i < said.len; i++)
		lines += said.data[i] == '\n';
	ck_assert_uint_eq(lines, CONF_ERRORS_MAX);
	ck_assert_ptr_nonnull(strstr(said.data, "t:100: too many errors"));
	buf_fini(&b);
}
END_TEST

START_TEST(environment)
{
	char *env[] = { strdup("PATH=/bin"), strdup("QO_WORKER_LEASE=90s"),
		strdup("QO_S3_INDEX_BUCKET=idx"), strdup("QO_CONFIG=/x"),
		strdup("QO_TASK_ID=1"), strdup("QO_WORKFLOW_ID=1"),
		strdup("QO_S3_ACCESS_KEY=AK"), strdup("QO_S3_SECRET_KEY=SK"),
		strdup("qo_worker_lease=x"), NULL };
	static const char text[] = "[worker]\nlease = 70s\nslots = 4\n";
	struct conf_opts o = options();
	struct conf *c;
	size_t i;

	o.env = env;
	c = conf_parse_text(text, strlen(text), "t", &o);
	ck_assert_msg(c != NULL && said.len == 0, "%s", said.data);
	ck_assert_int_eq(c->worker.lease_ms, 90000);
	ck_assert_int_eq(c->worker.slots, 4);
	ck_assert_str_eq(c->s3.index_bucket, "idx");
	ck_assert_str_eq(c->s3.secret_key, "SK");
	conf_free(c);
	for (i = 0; env[i] != NULL; i++)
		free(env[i]);
}
END_TEST

static const struct complaint variables[] = {
	{ "QO_WORKER_LEASE=never",
	    "QO_WORKER_LEASE: [worker] lease: \"never\" is not a duration: a "
	    "whole number with ms, s, m, h or d, like 30s\n" },
	{ "QO_WORKER_LEESE=60s",
	    "QO_WORKER_LEESE: [worker] has no key \"leese\": did you mean "
	    "\"lease\"?\n" },
	{ "QO_WORKER_=60s", "QO_WORKER_: [worker] has no key \"\"\n" },
	{ "QO_QOD_USER=a\nb",
	    "QO_QOD_USER: [qod] user: has a control character or is not "
	    "UTF-8\n" },
	{ "QO_WORKER_LEASE_MAX=1s",
	    "QO_WORKER_LEASE_MAX: [worker] lease: is longer than "
	    "lease_max\n" },
};

START_TEST(bad_variable)
{
	char *env[] = { strdup(variables[_i].text), NULL };
	struct conf_opts o = options();

	o.env = env;
	ck_assert_ptr_null(conf_load(NULL, &o));
	ck_assert_str_eq(said.data, variables[_i].want);
	free(env[0]);
}
END_TEST

START_TEST(flags_win)
{
	char *env[] = { strdup("QO_S3_BUCKET=from-env"), NULL };
	struct conf_flag flags[] = {
		{ "--bucket", "s3", "bucket", "from-flag" },
		{ "-p", "s3", "profil", "x" },
		{ "-h", "handler", "type", "x" },
	};
	struct conf_opts o = options();
	struct conf *c;

	o.env = env;
	o.flags = flags;
	o.nflags = 1;
	c = conf_load(NULL, &o);
	ck_assert_ptr_nonnull(c);
	ck_assert_str_eq(c->s3.bucket, "from-flag");
	conf_free(c);
	flags[0].value = "X";
	o.nflags = 3;
	ck_assert_ptr_null(conf_load(NULL, &o));
	ck_assert_ptr_nonnull(strstr(said.data,
	    "--bucket: [s3] bucket: \"X\" is not"));
	ck_assert_ptr_nonnull(strstr(said.data,
	    "-p: [s3] has no key \"profil\": did you mean \"profile\"?\n"));
	ck_assert_ptr_nonnull(strstr(said.data, "-h: [handler] has no key"));
	free(env[0]);
}
END_TEST

START_TEST(secret_in_file)
{
	static const char text[] =
	    "[s3]\naccess_key = AKID\nsecret_key = hush\n";
	struct conf_opts o = options();
	char *path = put("c", text, 0600);
	struct conf *c;

	c = conf_load(path, &o);
	ck_assert_msg(c != NULL && said.len == 0, "%s", said.data);
	ck_assert_str_eq(c->s3.secret_key, "hush");
	conf_free(c);
	ck_assert_int_eq(chmod(path, 0640), 0);
	c = conf_load(path, &o);
	ck_assert_ptr_nonnull(c);
	conf_free(c);
	ck_assert_int_eq(chmod(path, 0644), 0);
	ck_assert_ptr_null(conf_load(path, &o));
	ck_assert_ptr_nonnull(strstr(said.data, "/c:3: [s3] secret_key: "));
	ck_assert_ptr_nonnull(strstr(said.data, "chmod 0600 it\n"));
	ck_assert_ptr_null(strstr(said.data, "hush"));
	o.how = CONF_TRUSTED;
	c = conf_load(path, &o);
	ck_assert_ptr_nonnull(c);
	conf_free(c);
	free(path);
}
END_TEST

START_TEST(included_files)
{
	struct conf_opts o = options();
	char *main_path, *a, *b, *want;
	struct conf *c;

	main_path = put("main",
	    "[worker]\nslots = 2\n[store]\ndata = var\n"
	    "include = b.conf\n",
	    0644);
	a = put("b.conf", "[worker]\nlease = 70s\n", 0644);
	c = conf_load(main_path, &o);
	ck_assert_msg(c != NULL, "%s", said.data);
	ck_assert_int_eq(c->worker.lease_ms, 70000);
	want = xasprintf("%s/var", dir);
	ck_assert_str_eq(c->store.data, want);
	free(want);
	conf_free(c);
	b = put("b.conf", "[worker]\nslots = 70\n", 0644);
	ck_assert_ptr_null(conf_load(main_path, &o));
	want = xasprintf("%s/b.conf:2: [worker] slots: already set at "
			 "%s/main:2\n",
	    dir, dir);
	ck_assert_str_eq(said.data, want);
	free(want);
	buf_reset(&said);
	ck_assert_ptr_null(conf_load("/nonexistent/qod.conf", &o));
	ck_assert_str_eq(said.data,
	    "/nonexistent/qod.conf: No such file or directory\n");
	free(main_path);
	free(a);
	free(b);
}
END_TEST

static const struct complaint key_files[] = {
	{ "AKID\nse/cr+et=\n", NULL },
	{ "# mine\n\n  AKID  \r\n se/cr+et= \r\n", NULL },
	{ "AKID\nse/cr+et=", NULL },
	{ "access_key = AKID\nsecret_key = se/cr+et=\n", NULL },
	{ "[a]\naccess_key = X\n[b]\naccess_key = AKID\n"
	  "secret_key = se/cr+et=\nowner = me\n[c]\naccess_key = Y\n"
	  "secret_key = Z\n",
	    NULL },
	{ "", "needs access_key" },
	{ "AKID\n", "needs access_key" },
	{ "AKID secret\n", "needs access_key" },
	{ "AKID\nse/cr+et=\nmore\n", "needs access_key" },
	{ "access_key = AKID\n", "needs access_key" },
	{ "[a]\naccess_key = X\n[b]\nsecret_key = Y\n", "needs access_key" },
	{ "[a\naccess_key = AKID\nsecret_key = se/cr+et=\n",
	    "keys:1: a section needs a closing ]" },
};

START_TEST(access_key_file)
{
	struct conf_opts o = options();
	char *path, *keys;
	struct conf *c;

	keys = put("keys", key_files[_i].text, 0600);
	path = put("c", "[s3]\naccess_key_file = keys\n", 0644);
	c = conf_load(path, &o);
	if (key_files[_i].want == NULL) {
		ck_assert_msg(c != NULL, "%s", said.data);
		ck_assert_str_eq(c->s3.access_key, "AKID");
		ck_assert_str_eq(c->s3.secret_key, "se/cr+et=");
		ck_assert_uint_eq(conf_check(c, collect, NULL), 0);
	} else {
		ck_assert_ptr_null(c);
		ck_assert_ptr_nonnull(strstr(said.data,
		    "/c:2: [s3] access_key_file: "));
		ck_assert_ptr_nonnull(strstr(said.data, key_files[_i].want));
		ck_assert_ptr_null(strstr(said.data, "se/cr"));
	}
	conf_free(c);
	free(path);
	free(keys);
}
END_TEST

START_TEST(readable_key_file)
{
	struct conf_opts o = options();
	char *path, *keys;

	keys = put("keys", "AKID\nsecret\n", 0644);
	path = put("c", "[s3]\naccess_key_file = keys\n", 0644);
	ck_assert_ptr_null(conf_load(path, &o));
	ck_assert_ptr_nonnull(strstr(said.data, "chmod 0600 it\n"));
	free(path);
	free(keys);
}
END_TEST

START_TEST(print_hides_secrets)
{
	static const char text[] =
	    "[s3]\naccess_key = AKID\nsecret_key = hush\n";
	struct conf_opts o = options();
	struct conf *c, *d;
	struct buf b;

	buf_init(&b, 1 << 16);
	o.how = CONF_TRUSTED;
	c = conf_parse_text(text, strlen(text), "t", &o);
	ck_assert_ptr_nonnull(c);
	conf_print(c, false, &b);
	ck_assert_ptr_null(strstr(b.data, "hush"));
	ck_assert_ptr_nonnull(strstr(b.data, "\n; access_key = AKID\n"));
	ck_assert_ptr_nonnull(strstr(b.data, "\n; secret_key = ***\n"));
	d = parse(b.data);
	ck_assert_msg(d != NULL, "%s", said.data);
	ck_assert(!conf_equal(c, d));
	conf_free(d);
	buf_reset(&b);
	conf_print(c, true, &b);
	d = conf_parse_text(b.data, b.len, "t", &o);
	ck_assert_ptr_nonnull(d);
	ck_assert(conf_equal(c, d));
	conf_free(d);
	conf_free(c);
	buf_fini(&b);
}
END_TEST

/* A descriptor that others share: its offset is neither used nor moved. */
START_TEST(from_memfd)
{
	static const char text[] =
	    "[s3]\naccess_key = AKID\nsecret_key = hush\n";
	struct conf_opts o = options();
	struct conf *c;
	int fd;

	fd = memfd_create("conf", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
	ck_assert_ptr_null(conf_load_fd(fd, "memfd", &o));
	ck_assert_ptr_nonnull(strstr(said.data, "memfd:3: [s3] secret_key"));
	o.how = CONF_TRUSTED;
	c = conf_load_fd(fd, "memfd", &o);
	ck_assert_ptr_nonnull(c);
	ck_assert_str_eq(c->s3.secret_key, "hush");
	ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), (off_t)strlen(text));
	conf_free(c);
	close(fd);
	buf_reset(&said);
	ck_assert_ptr_null(conf_load_fd(-1, "memfd", &o));
	ck_assert_str_eq(said.data, "memfd: Bad file descriptor\n");
}
END_TEST

/*
 * The property: what is printed parses, to the same.  Values are drawn by
 * kind, every key is there or not by chance, and files that do not hold
 * together as a whole are passed over.
 */
static uint64_t seed;

static unsigned
draw(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % n;
}

static void
add_random(struct buf *b, const struct conf_key *k)
{
	static const char *const words[] = { "a", "\" x ; y\"", "\xc3\xbc",
		"b#c", "\"\\\"\\\\\"", "/a b" };
	static const char *const commands[] = { "a b", "'a;b' c", "\"a ; b\"",
		"sh -c \"x y\"" };
	int64_t span = k->max - k->min;

	if (k->type == &conf_type_bool)
		buf_adds(b, draw(2) ? "yes" : "no");
	else if (k->type == &conf_type_msec || k->type == &conf_type_msec_off)
		buf_addf(b, "%lldms",
		    (long long)(k->min + draw(1u << 31) % (span + 1)));
	else if (k->type == &conf_type_size || k->type == &conf_type_int)
		buf_addf(b, "%lld",
		    (long long)(k->min + draw(1u << 31) % (span + 1)));
	else if (k->type == &conf_type_number)
		buf_addf(b, "%lld.%03u", (long long)k->min, draw(1000));
	else if (k->type == &conf_type_command)
		buf_adds(b, commands[draw(NITEMS(commands))]);
	else if (k->type == &conf_type_codes)
		buf_addf(b, "%u %u", 1 + draw(255), 1 + draw(255));
	else if (k->type == &conf_type_path)
		buf_adds(b, words[draw(NITEMS(words))]);
	else if (strcmp(k->key, "endpoint") == 0)
		buf_addf(b, "https://s%u.example.org", draw(1000));
	else if (strstr(k->key, "bucket") != NULL)
		buf_addf(b, "b%03u", draw(1000));
	else if (k->def != NULL)
		buf_adds(b, k->def);
	else
		buf_addf(b, "n%u", draw(1000));
}

static void
add_line(struct buf *b, const struct conf_key *k)
{
	unsigned i;

	bool needed = strcmp(k->key, "type") == 0 ||
	    strcmp(k->key, "command") == 0;

	/* Few at a time, or hardly any file would hold together. */
	if ((!needed && draw(6) != 0) ||
	    strncmp(k->key, "access_key", 10) == 0 ||
	    k->type == &conf_type_secret)
		return;
	if (strcmp(k->key, "env.") == 0) {
		buf_addf(b, "env.V%u = \" %u ;\"\n", draw(9), draw(9));
		return;
	}
	buf_addf(b, "%s = ", k->key);
	if (k->names != NULL) {
		for (i = 0; k->names[i] != NULL; i++)
			continue;
		buf_adds(b, k->names[draw(i)]);
	} else {
		add_random(b, k);
	}
	buf_addc(b, '\n');
}

static void
random_text(struct buf *b)
{
	size_t i, n;

	buf_reset(b);
	for (i = 0; i < conf_nkeys; i++) {
		if (i == 0 ||
		    strcmp(conf_keys[i].section, conf_keys[i - 1].section))
			buf_addf(b, "[%s]\n", conf_keys[i].section);
		add_line(b, &conf_keys[i]);
	}
	for (n = 0; n < 3; n++) {
		buf_addf(b, "[handler h%zu]\n", n);
		for (i = 0; i < conf_nhandler_keys; i++)
			add_line(b, &conf_handler_keys[i]);
	}
}

START_TEST(print_parses_back)
{
	unsigned tries, done = 0, members = 0;
	struct conf_opts o = { .how = CONF_TRUSTED | CONF_NO_FILES };
	struct conf *c, *d;
	struct buf b, text;

	seed = 20260128;
	buf_init(&text, 1 << 20);
	buf_init(&b, 1 << 20);
	for (tries = 0; tries < 30000 && done < 300; tries++) {
		random_text(&text);
		c = conf_parse_text(text.data, text.len, "t", &o);
		if (c == NULL)
			continue;
		done++;
		members += c->monitor.retention_ms != 0;
		buf_reset(&b);
		conf_print(c, true, &b);
		o.report = collect;
		d = conf_parse_text(b.data, b.len, "printed", &o);
		o.report = NULL;
		ck_assert_msg(d != NULL, "%s\n%s", said.data, b.data);
		ck_assert_msg(conf_equal(c, d), "%s\n%s", text.data, b.data);
		conf_free(c);
		conf_free(d);
		buf_reset(&said);
	}
	ck_assert_uint_eq(done, 300);
	ck_assert_uint_gt(members, 10);
	buf_fini(&b);
	buf_fini(&text);
}
END_TEST

/* conf_equal sees every member: else the property above says nothing. */
START_TEST(equal_sees_each_key)
{
	const struct conf_key *k;
	struct conf *c, *d;
	size_t i;

	for (i = 0; i < conf_nkeys; i++) {
		k = &conf_keys[i];
		c = conf_load(NULL, NULL);
		d = conf_load(NULL, NULL);
		ck_assert(conf_equal(c, d));
		if (k->type->free != NULL)
			k->type->free(conf_member(k, d));
		else
			memset(conf_member(k, d), 1, k->type->size);
		if (k->type == &conf_type_bool)
			*(bool *)conf_member(k, d) = !*(bool *)conf_member(k,
			    c);
		if (memcmp(conf_member(k, c), conf_member(k, d),
			k->type->size) != 0)
			ck_assert_msg(!conf_equal(c, d), "%s", k->key);
		conf_free(c);
		conf_free(d);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("conf");
	TCase *tc = tcase_create("conf");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, defaults);
	tcase_add_test(tc, table_is_sound);
	tcase_add_test(tc, whole_file);
	tcase_add_loop_test(tc, complaint, 0, NITEMS(complaints));
	tcase_add_test(tc, too_many_errors);
	tcase_add_test(tc, environment);
	tcase_add_loop_test(tc, bad_variable, 0, NITEMS(variables));
	tcase_add_test(tc, flags_win);
	tcase_add_test(tc, secret_in_file);
	tcase_add_test(tc, included_files);
	tcase_add_loop_test(tc, access_key_file, 0, NITEMS(key_files));
	tcase_add_test(tc, readable_key_file);
	tcase_add_test(tc, print_hides_secrets);
	tcase_add_test(tc, from_memfd);
	tcase_add_test(tc, print_parses_back);
	tcase_add_test(tc, equal_sees_each_key);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
