#include <curl/curl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "attach.h"
#include "board_rows.h"
#include "handler_check.h"
#include "log.h"
#include "role.h"
#include "worker.h"

enum {
	OPT_ID = 256,
	OPT_SHARDS
};

static const struct option longs[] = {
	{ "id", required_argument, NULL, OPT_ID },
	{ "shards", required_argument, NULL, OPT_SHARDS },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static const char usage_text[] =
    "usage: qo-worker [-dn] [-f qod.conf] [--id id] [--shards list]\n"
    "       qo-worker -h | -V\n";

struct options {
	const char *path;
	struct conf_flag flags[3];
	size_t nflags;
	bool check;
};

/* What the callbacks of the role steer; the worker is there once the store
 * was reached. */
struct program {
	struct worker *worker;
	bool stop;
	bool quiet;
};

static void
set_flag(struct options *o, const char *option, const char *section,
    const char *key, const char *value)
{
	o->flags[o->nflags++] = (struct conf_flag){ option, section, key,
		value };
}

/* -1: go on; else the exit status. */
static int
read_options(struct options *o, int argc, char **argv)
{
	bool id = false, shards = false, debug = false;
	int c;

	memset(o, 0, sizeof(*o));
	while ((c = getopt_long(argc, argv, "df:hnV", longs, NULL)) != -1) {
		if (c == 'f')
			o->path = optarg;
		else if (c == 'n')
			o->check = true;
		else if (c == 'd' && !debug)
			set_flag(o, "-d", "qod", "log_level", "debug");
		else if (c == OPT_ID && !id)
			set_flag(o, "--id", "worker", "id", optarg);
		else if (c == OPT_SHARDS && !shards)
			set_flag(o, "--shards", "worker", "shards", optarg);
		else if (c == 'h')
			return fputs(usage_text, stdout) < 0 ? 1 : 0;
		else if (c == 'V')
			return puts("qo-worker " QO_VERSION) < 0 ? 1 : 0;
		else
			return fputs(usage_text, stderr) < 0 ? 1 : EX_USAGE;
		debug |= c == 'd';
		id |= c == OPT_ID;
		shards |= c == OPT_SHARDS;
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "qo-worker: %s: no such operand\n%s", argv[optind],
	    usage_text);
	return EX_USAGE;
}

/* The role */

static void
on_drain(struct role *r, int64_t limit_ms)
{
	struct program *p = r->arg;

	p->stop = true;
	if (p->worker != NULL)
		worker_drain(p->worker, limit_ms);
}

static void
on_now(struct role *r)
{
	struct program *p = r->arg;

	p->stop = true;
	if (p->worker != NULL)
		worker_now(p->worker);
}

static void
on_quiet(struct role *r, bool on)
{
	struct program *p = r->arg;

	p->quiet = on;
	if (p->worker != NULL)
		worker_quiet(p->worker, on);
}

static int
refuse(const struct qo_err *err)
{
	log_errorx("%s", err->msg);
	return EX_CONFIG;
}

static int
work(struct role *r, struct program *p, const char *path)
{
	struct qo_control control;
	struct qo_queue *q;
	struct qo_s3 *s3;
	struct qo_err err = { 0 };
	enum qo_rc rc;
	size_t left;

	rc = qo_attach_wait(r->loop, r->conf, false, &p->stop, &s3, &control,
	    &q, &err);
	if (rc == QO_AGAIN)
		return 0;
	if (rc != QO_OK)
		return refuse(&err);
	p->worker = worker_new(r, s3, q, &control, path, &err);
	if (p->worker == NULL) {
		qo_control_fini(&control);
		qo_queue_free(q);
		qo_s3_free(s3);
		return refuse(&err);
	}
	if (p->quiet)
		worker_quiet(p->worker, true);
	worker_start(p->worker);
	role_ready(r);
	loop_run(r->loop);
	left = worker_abandoned(p->worker);
	worker_free(p->worker);
	return left > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Of the configuration, for handlers, whose directory is another: absolute.
 * NULL: there is none.  The caller frees it. */
static char *
config_path(const struct role *r, const struct options *o)
{
	const char *path = o->path;

	if (path == NULL && r->supervised)
		path = getenv("QO_CONFIG"); /* as qod has it */
	return path != NULL ? realpath(path, NULL) : NULL;
}

/* Also what the handlers need of this machine. */
static int
check(struct role *r)
{
	if (handler_check(r->conf, role_report, r) > 0)
		return EX_CONFIG;
	puts("qo-worker: configuration OK");
	return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	struct program p = { NULL, false, false };
	struct options o;
	struct role r;
	char *path;
	int code;

	role_init(&r, argc, argv);
	r.kind = BOARD_WORKER;
	r.name = "worker";
	r.drain = on_drain;
	r.now = on_now;
	r.quiet = on_quiet;
	r.arg = &p;
	if ((code = read_options(&o, argc, argv)) != -1)
		return code;
	if ((code = role_conf(&r, o.path, 0, o.flags, o.nflags)) != 0)
		return code;
	if (o.check) {
		code = check(&r);
		conf_free(r.conf);
		return code;
	}
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		fatalx("libcurl can not start");
	r.loop = loop_new();
	role_start(&r, (size_t)r.conf->worker.slots, board_rows(r.conf));
	path = config_path(&r, &o);
	code = work(&r, &p, path);
	free(path);
	role_fini(&r);
	loop_free(r.loop);
	return code;
}
