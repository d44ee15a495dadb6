/*
 * qo-monitor - gives back what dead workers held and keeps the indexes clean.
 */
#include <curl/curl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "app.h"
#include "board_rows.h"
#include "log.h"

enum {
	OPT_ONCE = 256
};

static const struct option longs[] = {
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static const char usage_text[] =
    "usage: qo-monitor [-dn] [-f qod.conf] [--once]\n"
    "       qo-monitor -h | -V\n";

struct options {
	const char *path;
	bool check, debug, once;
};

/* -1: go on; else the exit status. */
static int
read_options(struct options *o, int argc, char **argv)
{
	int c;

	memset(o, 0, sizeof(*o));
	while ((c = getopt_long(argc, argv, "df:hnV", longs, NULL)) != -1) {
		switch (c) {
		case 'd':
			o->debug = true;
			break;
		case 'f':
			o->path = optarg;
			break;
		case 'n':
			o->check = true;
			break;
		case OPT_ONCE:
			o->once = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return EX_OK;
		case 'V':
			puts("qo-monitor " QO_VERSION);
			return EX_OK;
		default:
			fputs(usage_text, stderr);
			return EX_USAGE;
		}
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "qo-monitor: %s: no such operand\n%s", argv[optind],
	    usage_text);
	return EX_USAGE;
}

static int
run(struct role *r, bool once)
{
	int code;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		fatalx("libcurl can not start");
	r->loop = loop_new();
	role_start(r, 0, board_rows(r->conf));
	r->arg = app_new(r);
	code = app_run(r->arg, once);
	app_free(r->arg);
	role_fini(r);
	loop_free(r->loop);
	return code;
}

int
main(int argc, char **argv)
{
	struct conf_flag debug = { "-d", "qod", "log_level", "debug" };
	struct role r;
	struct options o;
	int code;

	role_init(&r, argc, argv);
	r.kind = BOARD_MONITOR;
	r.name = "monitor";
	r.drain = app_drain;
	r.now = app_now;
	r.message = app_message;
	if ((code = read_options(&o, argc, argv)) != -1)
		return code;
	if ((code = role_conf(&r, o.path, 0, &debug, o.debug ? 1 : 0)) != 0)
		return code;
	if (!o.check)
		return run(&r, o.once);
	conf_free(r.conf);
	puts("qo-monitor: configuration OK");
	return EX_OK;
}
