/*
 * conf.h - the configuration: qod.conf(5), environment and flags as a struct.
 *
 * A flag outranks the environment (QO_SECTION_KEY), which outranks the file,
 * which outranks the default.  Loading always builds a fresh struct and never
 * prints: every mistake goes to the caller's report function, and after any
 * error there is no struct.  To add a key, add a member here and a row to the
 * table in confkeys.c; parsing, environment, printing and freeing follow.
 *
 * All strings belong to the struct.  NULL means: not set.  Durations are in
 * milliseconds, sizes in bytes.
 */
#ifndef CONF_H
#define CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "conflist.h"
#include "err.h"

enum conf_versioning {
	CONF_VERSIONING_REQUIRED = 0,
	CONF_VERSIONING_OFF
};

enum conf_auto {
	CONF_AUTO = 0,
	CONF_YES,
	CONF_NO
};

enum conf_unknown_type {
	CONF_UNKNOWN_SKIP = 0,
	CONF_UNKNOWN_FAIL
};

enum conf_mode {
	CONF_MODE_EXEC = 0,
	CONF_MODE_SERVE
};

enum conf_retry_kind {
	CONF_RETRY_EXPONENTIAL = 0,
	CONF_RETRY_LINEAR,
	CONF_RETRY_CONSTANT
};

struct conf_qod {
	char *user;
	char *group;
	bool allow_root;
	char *pidfile;
	char *log;      /* "stderr", "syslog" or a path: for log_init */
	int log_format; /* enum log_format */
	int log_level;  /* enum log_level */
	char *control;
	char *libexec; /* NULL: where the running program is */
	int64_t drain_timeout_ms;
	int64_t stuck_after_ms;
};

struct conf_s3 {
	char *endpoint;
	/* Where to connect to: the endpoint, else the embedded store's
	 * address, else NULL: AWS in this region. */
	char *url;
	char *region; /* never NULL */
	char *bucket; /* never NULL */
	char *index_bucket;
	char *prefix; /* never NULL */
	char *access_key_file;
	char *access_key; /* both also when they come from the file */
	char *secret_key;
	char *profile;
	bool path_style;
	int versioning;  /* enum conf_versioning */
	int etag_quotes; /* enum conf_auto */
	char *ca_file;
	bool allow_http;
	int max_connections;
	int64_t request_timeout_ms;
	int64_t max_skew_ms;
};

struct conf_store {
	bool enabled;
	char *listen; /* NULL: off */
	char *socket;
	char *data;
	char *keys_file; /* set whenever data is */
	int64_t max_body;
	int connections;
	char **public_prefixes; /* ends with NULL */
};

struct conf_worker {
	int processes;
	int slots;
	char *shards; /* never NULL; for conflist_shards */
	int64_t lease_ms;
	int64_t lease_max_ms;
	int64_t poll_min_ms;
	int64_t poll_max_ms;
	int64_t heartbeat_ms;
	int64_t inline_max;
	int64_t output_max;
	int64_t log_max;
	int unknown_type; /* enum conf_unknown_type */
	char *id;
};

struct conf_monitor {
	bool enabled;
	int64_t check_interval_ms;
	int64_t orphan_grace_ms;
	int64_t worker_stale_ms;
	int64_t worker_dead_ms;
	int64_t retention_ms; /* 0: off */
	char *listen;         /* NULL: off */
};

struct conf_sweeper {
	bool enabled;
	int64_t interval_ms;
	int rate; /* objects a second */
};

struct conf_workflows {
	char *dir;
};

struct conf_submit {
	int64_t timeout_ms;
	int retries;
	int retry_kind; /* enum conf_retry_kind */
	int64_t retry_initial_interval_ms;
	int64_t retry_max_interval_ms;
	double retry_multiplier;
	double retry_jitter; /* 0 to 1 */
	int max_inflight;
};

/* Where a value comes from; file is NULL for a default. */
struct conf_place {
	const char *file; /* or the name of a variable or a flag */
	unsigned line;    /* 0: not a file */
	bool bad;         /* a mistake was reported there */
};

struct conf_command {
	char *text;
	char **argv; /* text in words; ends with NULL */
};

struct conf_var {
	char *name;
	char *value;
	struct conf_place place;
};

struct conf_env {
	struct conf_var *vars;
	size_t n;
};

struct conf_handler {
	char *name;
	char *type; /* may end with * */
	struct conf_command command;
	int mode; /* enum conf_mode */
	int instances;
	int64_t timeout_ms; /* 0: the task's own */
	struct conf_env env;
	char *cwd;
	char *user;
	char *group;
	int64_t memory_max; /* 0 here and below: no limit of ours */
	int cpu_seconds;
	int files_max;
	struct conflist_set retry_exit;
	struct conflist_set fail_exit;
	int max_tasks; /* 0: never recycled */
	int64_t grace_ms;
	bool pass_credentials;
	struct conf_place place;   /* of the section */
	struct conf_place *places; /* of its keys, as conf_handler_keys */
};

struct conf {
	struct conf_qod qod;
	struct conf_s3 s3;
	struct conf_store store;
	struct conf_worker worker;
	struct conf_monitor monitor;
	struct conf_sweeper sweeper;
	struct conf_workflows workflows;
	struct conf_submit submit;
	struct conf_handler *handlers;
	size_t nhandlers;
	struct conf_place *places; /* of the keys, as conf_keys */
	char **files;              /* names that the places point to */
	size_t nfiles;
};

enum conf_level {
	CONF_ERROR = 0,
	CONF_WARNING
};

/* One mistake; all is borrowed.  conf_add_report makes the usual line. */
typedef void conf_report(void *arg, enum conf_level level,
    const struct conf_place *place, const char *msg);

/* A command line option that stands for a key. */
struct conf_flag {
	const char *option; /* "--bucket": named in errors */
	const char *section;
	const char *key;
	const char *value;
};

enum conf_how {
	/* Touch no file but the one asked for: nothing is included, and
	 * access_key_file is not read. */
	CONF_NO_FILES = 1 << 0,
	/* The text was checked before (qod's children): it may have secrets
	 * although no file's mode vouches for them. */
	CONF_TRUSTED = 1 << 1,
	/* access_key_file is not read: this program needs no keys. */
	CONF_NO_KEYS = 1 << 2
};

struct conf_opts {
	unsigned how;     /* enum conf_how */
	char *const *env; /* environ, or NULL: none */
	const struct conf_flag *flags;
	size_t nflags;
	conf_report *report; /* NULL: nobody wants to know */
	void *arg;
};

/*
 * Parses, applies environment and flags, fills in what depends on other keys
 * and judges the whole.  The struct is freed with conf_free; NULL after any
 * error, all of which have been reported (at most CONF_ERRORS_MAX of them).
 * Includes are followed by conf_load alone; a NULL path is an empty file.
 */
#define CONF_ERRORS_MAX 100
struct conf *conf_load(const char *path, const struct conf_opts *opts);
/* From the start of a regular file or memfd, whose offset stays as it is (a
 * descriptor that several processes inherit has one offset for all). */
struct conf *conf_load_fd(int fd, const char *name,
    const struct conf_opts *opts);
struct conf *conf_parse_text(const char *text, size_t len, const char *name,
    const struct conf_opts *opts);
void conf_free(struct conf *c); /* wipes secrets; NULL is fine */

/* The section for a task of this type: exact, else the longest pattern with *;
 * NULL: none serves it.  Borrowed. */
const struct conf_handler *conf_handler_find(const struct conf *c,
    const char *task_type);

/* What the loaders ask at their end: is it sound as a whole?  The number of
 * errors; c is what a loader made, perhaps changed since. */
unsigned conf_check(const struct conf *c, conf_report *report, void *arg);

/*
 * The effective configuration as a file that parses to the same again.
 * Without secrets: the access key and "***" are in comments.  With them it
 * is the text for CONF_TRUSTED children; wipe the buf.  b->failed tells.
 */
void conf_print(const struct conf *c, bool secrets, struct buf *b);
/* Same values?  Where they come from does not count. */
bool conf_equal(const struct conf *a, const struct conf *b);

/* Adds "file:line: message", without a newline. */
void conf_add_report(struct buf *b, enum conf_level level,
    const struct conf_place *place, const char *msg);

#endif
