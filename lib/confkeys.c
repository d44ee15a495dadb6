#include <stddef.h>
#include <string.h>

#include "confkeys.h"
#include "confname.h"
#include "conftypes.h"
#include "confval.h"

#define SEC  CONFVAL_SEC
#define MIN  CONFVAL_MIN
#define HOUR CONFVAL_HOUR
#define DAY  CONFVAL_DAY
#define KIB  (INT64_C(1) << 10)
#define MIB  (INT64_C(1) << 20)
#define GIB  (INT64_C(1) << 30)

/* The offset of a member that must have the given type. */
#define AT(type, f) \
	(offsetof(BASE, f) + 0 * sizeof((type *)0 == &((BASE *)0)->f))

#define STRING(f, check)  &conf_type_string, AT(char *, f), 0, 0, NULL, check
#define TEXT(f, check)    &conf_type_text, AT(char *, f), 0, 0, NULL, check
#define PATH(f)           &conf_type_path, AT(char *, f), 0, 0, NULL, NULL
#define LOG(f)            &conf_type_log, AT(char *, f), 0, 0, NULL, NULL
#define SECRET(f)         &conf_type_secret, AT(char *, f), 0, 0, NULL, NULL
#define LISTEN(f)         &conf_type_listen, AT(char *, f), 0, 0, NULL, NULL
#define BOOL(f)           &conf_type_bool, AT(bool, f), 0, 0, NULL, NULL
#define INT(f, min, max)  &conf_type_int, AT(int, f), min, max, NULL, NULL
#define MSEC(f, min, max) &conf_type_msec, AT(int64_t, f), min, max, NULL, NULL
#define MSEC_OFF(f, min, max) \
	&conf_type_msec_off, AT(int64_t, f), min, max, NULL, NULL
#define SIZE(f, min, max) &conf_type_size, AT(int64_t, f), min, max, NULL, NULL
#define ENUM(f, names)    &conf_type_enum, AT(int, f), 0, 0, names, NULL
#define NUMBER(f, min, max) \
	&conf_type_number, AT(double, f), min, max, NULL, NULL
#define LIST(f, check) &conf_type_list, AT(char **, f), 0, 0, NULL, check
#define CODES(f)       &conf_type_codes, AT(struct conflist_set, f), 0, 0, NULL, NULL
#define COMMAND(f) \
	&conf_type_command, AT(struct conf_command, f), 0, 0, NULL, NULL
#define ENV(f) &conf_type_env, AT(struct conf_env, f), 0, 0, NULL, NULL

/* In the order of enum log_format and enum log_level. */
static const char *const log_formats[] = { "kv", "json", NULL };
static const char *const log_levels[] = { "error", "warn", "info", "debug",
	NULL };
/* In the order of conf.h's own. */
static const char *const versioning[] = { "required", "off", NULL };
static const char *const auto_yes_no[] = { "auto", "yes", "no", NULL };
static const char *const skip_fail[] = { "skip", "fail", NULL };
static const char *const modes[] = { "exec", "serve", NULL };
static const char *const retry_kinds[] = { "exponential", "linear", "constant",
	NULL };

static int
check_endpoint(const char *s, struct qo_err *err)
{
	struct confname_addr addr;

	return confname_endpoint(s, &addr, err);
}

static int
check_shards(const char *s, struct qo_err *err)
{
	struct conflist_set set;

	return conflist_shards(s, &set, err);
}

/* Without the / at the end "ui" would also open "ui-secret". */
static int
check_public(const char *s, struct qo_err *err)
{
	char shown[CONFVAL_SHOWN];

	if (*s != '/' && s[strlen(s) - 1] == '/')
		return 0;
	qo_err_set(err,
	    "\"%s\" is not a prefix like ui/: no / in front, one at the end",
	    confval_shown(s, shown, sizeof(shown)));
	return -1;
}

/* clang-format off */
#define BASE struct conf
const struct conf_key conf_keys[] = {
	{ "qod", "user", STRING(qod.user, confname_user), NULL,
	    "account that the roles run as" },
	{ "qod", "group", STRING(qod.group, confname_user), NULL,
	    "group that the roles run as" },
	{ "qod", "allow_root", BOOL(qod.allow_root), "no",
	    "run as root without a user" },
	{ "qod", "pidfile", PATH(qod.pidfile), NULL,
	    "file for the master's process id" },
	{ "qod", "log", LOG(qod.log), "stderr",
	    "where log lines go: stderr, syslog or a path" },
	{ "qod", "log_format", ENUM(qod.log_format, log_formats), "kv",
	    "form of log lines" },
	{ "qod", "log_level", ENUM(qod.log_level, log_levels), "info",
	    "least important lines to log" },
	{ "qod", "control", PATH(qod.control), "/run/qo/qod.sock",
	    "control socket" },
	{ "qod", "libexec", PATH(qod.libexec), NULL,
	    "directory of the role programs" },
	{ "qod", "drain_timeout", MSEC(qod.drain_timeout_ms, 0, DAY), "30s",
	    "how long running tasks may go on at a stop" },
	{ "qod", "stuck_after", MSEC(qod.stuck_after_ms, 5 * SEC, HOUR), "60s",
	    "a role silent for so long is killed" },

	{ "s3", "endpoint", STRING(s3.endpoint, check_endpoint), NULL,
	    "address of the store" },
	{ "s3", "region", TEXT(s3.region, confname_region), "us-east-1",
	    "region that requests are signed for" },
	{ "s3", "bucket", TEXT(s3.bucket, confname_bucket), "qo",
	    "bucket of the queue" },
	{ "s3", "index_bucket", STRING(s3.index_bucket, confname_bucket), NULL,
	    "unversioned bucket for index entries" },
	{ "s3", "prefix", TEXT(s3.prefix, confname_prefix), "",
	    "text in front of every key" },
	{ "s3", "access_key_file", PATH(s3.access_key_file), NULL,
	    "file with access key and secret key" },
	{ "s3", "access_key", STRING(s3.access_key, NULL), NULL,
	    "access key" },
	{ "s3", "secret_key", SECRET(s3.secret_key), NULL,
	    "secret key" },
	{ "s3", "profile", STRING(s3.profile, NULL), NULL,
	    "profile of the AWS shared credentials file" },
	{ "s3", "path_style", BOOL(s3.path_style), NULL,
	    "bucket in the path, not in the host name" },
	{ "s3", "versioning", ENUM(s3.versioning, versioning), "required",
	    "whether the bucket must be versioned" },
	{ "s3", "etag_quotes", ENUM(s3.etag_quotes, auto_yes_no), "auto",
	    "send ETags in quotes" },
	{ "s3", "ca_file", PATH(s3.ca_file), NULL,
	    "certificates to trust" },
	{ "s3", "allow_http", BOOL(s3.allow_http), "no",
	    "plain http to other machines" },
	{ "s3", "max_connections", INT(s3.max_connections, 1, 4096), "256",
	    "connections of one process" },
	{ "s3", "request_timeout",
	    MSEC(s3.request_timeout_ms, 100, MIN), "10s",
	    "limit for one request" },
	{ "s3", "max_skew", MSEC(s3.max_skew_ms, SEC, 15 * MIN), "5m",
	    "clock difference that is reported" },

	{ "store", "enabled", BOOL(store.enabled), NULL,
	    "run the embedded store" },
	{ "store", "listen", LISTEN(store.listen), "127.0.0.1:9710",
	    "address of the embedded store" },
	{ "store", "socket", PATH(store.socket), NULL,
	    "Unix socket of the embedded store" },
	{ "store", "data", PATH(store.data), "/var/lib/qo",
	    "directory of the embedded store" },
	{ "store", "keys_file", PATH(store.keys_file), NULL,
	    "access keys of the embedded store" },
	{ "store", "max_body", SIZE(store.max_body, KIB, 5 * GIB), "64MiB",
	    "largest request body" },
	{ "store", "connections", INT(store.connections, 1, 65536), "1024",
	    "clients at once" },
	{ "store", "public_prefixes",
	    LIST(store.public_prefixes, check_public), "ui/",
	    "what may be read without a key" },

	{ "worker", "processes", INT(worker.processes, 1, 256), NULL,
	    "worker processes" },
	{ "worker", "slots", INT(worker.slots, 1, 1024), "16",
	    "tasks at once in one process" },
	{ "worker", "shards", TEXT(worker.shards, check_shards), "all",
	    "shards that are served" },
	{ "worker", "lease", MSEC(worker.lease_ms, 4 * SEC, HOUR), "60s",
	    "first lease of a claim" },
	{ "worker", "lease_max", MSEC(worker.lease_max_ms, SEC, HOUR), "5m",
	    "longest lease" },
	{ "worker", "poll_min", MSEC(worker.poll_min_ms, 1, HOUR), "50ms",
	    "shortest pause between polls" },
	{ "worker", "poll_max", MSEC(worker.poll_max_ms, 1, HOUR), "5s",
	    "longest pause between polls" },
	{ "worker", "heartbeat", MSEC(worker.heartbeat_ms, SEC, HOUR), "10s",
	    "interval of the worker record" },
	{ "worker", "inline_max", SIZE(worker.inline_max, 0, 8 * MIB),
	    "256KiB", "largest input or output inside the task" },
	{ "worker", "output_max", SIZE(worker.output_max, KIB, GIB), "10MiB",
	    "largest output of a handler" },
	{ "worker", "log_max", SIZE(worker.log_max, 0, GIB), "1MiB",
	    "how much of an attempt's log is kept" },
	{ "worker", "unknown_type", ENUM(worker.unknown_type, skip_fail),
	    "skip", "tasks without a handler" },
	{ "worker", "id", STRING(worker.id, confname_name), NULL,
	    "name of the worker" },

	{ "monitor", "enabled", BOOL(monitor.enabled), "yes",
	    "run the monitor" },
	{ "monitor", "check_interval",
	    MSEC(monitor.check_interval_ms, 100, HOUR), "5s",
	    "interval of the look at leases" },
	{ "monitor", "orphan_grace",
	    MSEC(monitor.orphan_grace_ms, 17 * MIN, 7 * DAY), "20m",
	    "age at which stray index entries are removed" },
	{ "monitor", "worker_stale", MSEC(monitor.worker_stale_ms, SEC, DAY),
	    "60s", "a worker silent for so long is stale" },
	{ "monitor", "worker_dead", MSEC(monitor.worker_dead_ms, SEC, DAY),
	    "5m", "a worker silent for so long is dead" },
	{ "monitor", "retention",
	    MSEC_OFF(monitor.retention_ms, HOUR, 36500 * DAY), "off",
	    "how long finished work is kept" },
	{ "monitor", "listen", LISTEN(monitor.listen), "127.0.0.1:9711",
	    "address of /metrics and /healthz" },

	{ "sweeper", "enabled", BOOL(sweeper.enabled), "yes",
	    "run the sweeper" },
	{ "sweeper", "interval", MSEC(sweeper.interval_ms, SEC, DAY), "300s",
	    "interval of its passes" },
	{ "sweeper", "rate", INT(sweeper.rate, 1, 10000), "20",
	    "objects a second" },

	{ "workflows", "dir", PATH(workflows.dir), NULL,
	    "directory of *.workflow files" },

	{ "submit", "timeout", MSEC(submit.timeout_ms, SEC, 30 * DAY), "5m",
	    "limit for one attempt" },
	{ "submit", "retries", INT(submit.retries, 0, 1000), "3",
	    "attempts after the first" },
	{ "submit", "retry_kind", ENUM(submit.retry_kind, retry_kinds),
	    "exponential", "growth of the pause between attempts" },
	{ "submit", "retry_initial_interval",
	    MSEC(submit.retry_initial_interval_ms, 1, DAY), "1s",
	    "pause before the first retry" },
	{ "submit", "retry_max_interval",
	    MSEC(submit.retry_max_interval_ms, 1, 30 * DAY), "60s",
	    "longest pause" },
	{ "submit", "retry_multiplier", NUMBER(submit.retry_multiplier, 1, 100),
	    "2", "growth of an exponential pause" },
	{ "submit", "retry_jitter", NUMBER(submit.retry_jitter, 0, 1), "0.25",
	    "random part of the pause" },
	{ "submit", "max_inflight", INT(submit.max_inflight, 1, 1024), "64",
	    "requests at once of a bulk submit" },
};
#undef BASE

#define BASE struct conf_handler
const struct conf_key conf_handler_keys[] = {
	{ "handler", "type", STRING(type, confname_type), NULL,
	    "task type that it serves" },
	{ "handler", "command", COMMAND(command), NULL,
	    "program and arguments" },
	{ "handler", "mode", ENUM(mode, modes), "exec",
	    "a process per task, or one that serves many" },
	{ "handler", "instances", INT(instances, 1, 1024), "2",
	    "processes of a serving handler" },
	{ "handler", "timeout", MSEC(timeout_ms, SEC, 30 * DAY), NULL,
	    "limit for one attempt, below the task's own" },
	{ "handler", "env.", ENV(env), NULL,
	    "variable of its environment" },
	{ "handler", "cwd", PATH(cwd), NULL,
	    "working directory" },
	{ "handler", "user", STRING(user, confname_user), NULL,
	    "account that it runs as" },
	{ "handler", "group", STRING(group, confname_user), NULL,
	    "group that it runs as" },
	{ "handler", "memory_max", SIZE(memory_max, MIB, 1024 * GIB), NULL,
	    "address space limit" },
	{ "handler", "cpu_seconds", INT(cpu_seconds, 1, 31536000), NULL,
	    "processor time limit" },
	{ "handler", "files_max", INT(files_max, 8, 1048576), NULL,
	    "open files limit" },
	{ "handler", "retry_exit", CODES(retry_exit), "1, 75",
	    "exit codes that mean: try again" },
	{ "handler", "fail_exit", CODES(fail_exit), "64, 65, 66, 77, 78",
	    "exit codes that mean: give up" },
	{ "handler", "max_tasks", INT(max_tasks, 1, 1000000000), NULL,
	    "a serving process is replaced after so many" },
	{ "handler", "grace", MSEC(grace_ms, 0, HOUR), "5s",
	    "time between SIGTERM and SIGKILL" },
	{ "handler", "pass_credentials", BOOL(pass_credentials), "no",
	    "give it the store's credentials" },
};
#undef BASE
/* clang-format on */

const size_t conf_nkeys = sizeof(conf_keys) / sizeof(conf_keys[0]);
const size_t conf_nhandler_keys = sizeof(conf_handler_keys) /
    sizeof(conf_handler_keys[0]);

static bool
is_key(const struct conf_key *k, const char *section, const char *key)
{
	size_t len = strlen(k->key);

	if (strcmp(k->section, section) != 0)
		return false;
	if (k->key[len - 1] == '.')
		return strncmp(k->key, key, len) == 0;
	return strcmp(k->key, key) == 0;
}

const struct conf_key *
conf_key_find(const char *section, const char *key)
{
	size_t i;

	for (i = 0; i < conf_nkeys; i++)
		if (is_key(&conf_keys[i], section, key))
			return &conf_keys[i];
	for (i = 0; i < conf_nhandler_keys; i++)
		if (is_key(&conf_handler_keys[i], section, key))
			return &conf_handler_keys[i];
	return NULL;
}

const struct conf_place *
conf_key_place(const struct conf *c, const char *section, const char *key)
{
	return &c->places[conf_key_find(section, key) - conf_keys];
}
