#include <getopt.h>
#include <stdarg.h>
#include <sysexits.h>

#include "conf.h"
#include "confval.h"
#include "options.h"
#include "xalloc.h"

#define FIRST_FD 3 /* of the LISTEN_FDS protocol */

enum {
	OPT_CHECK = 256,
	OPT_BACKUP,
	OPT_LISTEN_FD,
	OPT_MAX_BODY,
	OPT_REGION,
	OPT_STRICT,
	OPT_LIFECYCLE,
	OPT_DAY,
	OPT_HASTEN,
	OPT_REPLAY
};

static const struct option longs[] = {
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "backup", required_argument, NULL, OPT_BACKUP },
	{ "listen-fd", required_argument, NULL, OPT_LISTEN_FD },
	{ "max-body", required_argument, NULL, OPT_MAX_BODY },
	{ "region", required_argument, NULL, OPT_REGION },
	{ "replay-cache", no_argument, NULL, OPT_REPLAY },
	{ "strict-aws", no_argument, NULL, OPT_STRICT },
	{ "lifecycle-interval", required_argument, NULL, OPT_LIFECYCLE },
	{ "lifecycle-day", required_argument, NULL, OPT_DAY },
	{ "hasten", required_argument, NULL, OPT_HASTEN },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static const char usage_text[] =
    "usage: qo-store [-nv] -d dir [-f qod.conf] [-k keysfile] [-l addr:port]\n"
    "                [-p portfile] [-s socket] [--listen-fd n]\n"
    "                [--max-body size] [--region name] [--replay-cache]\n"
    "                [--strict-aws]\n"
    "       qo-store --check -d dir\n"
    "       qo-store --backup destination -d dir\n"
    "       qo-store -h | -V\n";

static void __attribute__((format(printf, 2, 3), noreturn))
fail(int code, const char *fmt, ...)
{
	va_list ap;

	fputs("qo-store: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(code);
}

static void
set(char **where, const char *value)
{
	free(*where);
	*where = xstrdup_null(value);
}

static void
prefixes_clear(struct prefix_set *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		free(p->list[i]);
	free(p->list);
	p->list = NULL;
	p->n = 0;
}

static void
prefixes_add(struct prefix_set *p, const char *text)
{
	p->list = xreallocarray(p->list, p->n + 1, sizeof(*p->list));
	p->list[p->n++] = xstrdup(text);
}

static void
defaults(struct options *o)
{
	memset(o, 0, sizeof(*o));
	o->store.region = xstrdup("us-east-1");
	o->store.max_body = INT64_C(64) << 20;
	o->store.connections = 1024;
	o->store.lifecycle_ms = 3600 * INT64_C(1000);
	o->store.day_ms = 86400 * INT64_C(1000);
	o->store.hasten = 1;
	prefixes_add(&o->store.public_prefixes, "ui/");
	o->log_level = LOG_LVL_INFO;
	o->drain_ms = 30000;
}

static void
on_report(void *arg, enum conf_level level, const struct conf_place *place,
    const char *msg)
{
	struct buf b;

	(void)arg;
	buf_init(&b, 4096);
	conf_add_report(&b, level, place, msg);
	fprintf(stderr, "qo-store: %s\n", b.data);
	buf_fini(&b);
}

static void
take_conf(struct options *o, const struct conf *c)
{
	size_t i;

	set(&o->listen, c->store.listen);
	set(&o->socket, c->store.socket);
	set(&o->store.data, c->store.data);
	set(&o->store.keys_file, c->store.keys_file);
	set(&o->store.region, c->s3.region);
	o->store.max_body = c->store.max_body;
	o->store.connections = (size_t)c->store.connections;
	prefixes_clear(&o->store.public_prefixes);
	for (i = 0; c->store.public_prefixes != NULL &&
	     c->store.public_prefixes[i] != NULL;
	     i++)
		prefixes_add(&o->store.public_prefixes,
		    c->store.public_prefixes[i]);
	set(&o->log, c->qod.log);
	o->log_format = (enum log_format)c->qod.log_format;
	o->log_level = (enum log_level)c->qod.log_level;
	o->drain_ms = c->qod.drain_timeout_ms;
}

static void
load_conf(struct options *o, const char *path)
{
	struct conf_opts opts = {
		.how = CONF_NO_KEYS, .env = environ, .report = on_report
	};
	struct conf *c;

	if ((c = conf_load(path, &opts)) == NULL)
		exit(EX_CONFIG);
	take_conf(o, c);
	conf_free(c);
}

/* All of qod's configuration but the addresses: it has bound them. */
static void
take_given(struct options *o, const struct conf *given)
{
	take_conf(o, given);
	set(&o->listen, NULL);
	set(&o->socket, NULL);
}

static int64_t
number(const char *option, const char *text, int64_t min, int64_t max)
{
	const char *why;
	int64_t n;

	n = strtonum(text, min, max, &why);
	if (why != NULL)
		fail(2, "%s %s is %s", option, text, why);
	return n;
}

static void
add_fd(struct options *o, int fd)
{
	if (o->nfds == OPTIONS_FDS)
		fail(2, "more than %d listening sockets", OPTIONS_FDS);
	o->fds[o->nfds++] = fd;
}

static void
set_max_body(struct options *o, const char *text)
{
	struct qo_err err;

	if (confval_size(text, 1, INT64_C(5) << 30, &o->store.max_body, &err) ==
	    -1)
		fail(2, "--max-body %s", err.msg);
}

static void
apply(struct options *o, int c, const char *arg)
{
	switch (c) {
	case 'd':
		set(&o->store.data, arg);
		break;
	case 'k':
		set(&o->store.keys_file, arg);
		break;
	case 'l':
		set(&o->listen, arg);
		break;
	case 'n':
		o->mode = MODE_TEST;
		break;
	case 'p':
		set(&o->portfile, arg);
		break;
	case 's':
		set(&o->socket, arg);
		break;
	case 'v':
		o->log_level = LOG_LVL_DEBUG;
		break;
	case OPT_CHECK:
		o->mode = MODE_CHECK;
		break;
	case OPT_BACKUP:
		o->mode = MODE_BACKUP;
		set(&o->backup, arg);
		break;
	case OPT_LISTEN_FD:
		add_fd(o, (int)number("--listen-fd", arg, 0, 65535));
		break;
	case OPT_MAX_BODY:
		set_max_body(o, arg);
		break;
	case OPT_REGION:
		set(&o->store.region, arg);
		break;
	case OPT_STRICT:
		o->store.strict_aws = true;
		break;
	case OPT_REPLAY:
		o->store.replay_cache = true;
		break;
	case OPT_LIFECYCLE:
		o->store.lifecycle_ms = number("--lifecycle-interval", arg, 1,
		    INT32_MAX);
		break;
	case OPT_DAY:
		o->store.day_ms = number("--lifecycle-day", arg, 1, INT32_MAX);
		break;
	case OPT_HASTEN:
		o->store.hasten = number("--hasten", arg, 1, 1000);
		break;
	default:
		fputs(usage_text, stderr);
		exit(2);
	}
}

/* Sockets from a supervisor that speaks systemd's protocol. */
static void
inherit(struct options *o)
{
	const char *pid, *n, *why;
	int64_t i, count;

	pid = getenv("LISTEN_PID");
	n = getenv("LISTEN_FDS");
	if (pid != NULL && n != NULL &&
	    strtonum(pid, 1, INT32_MAX, &why) == getpid()) {
		count = strtonum(n, 0, OPTIONS_FDS, &why);
		if (why != NULL)
			fail(EX_CONFIG, "LISTEN_FDS is %s", why);
		for (i = 0; i < count; i++)
			add_fd(o, FIRST_FD + (int)i);
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
}

static void
complete(struct options *o, bool given)
{
	if (o->store.data == NULL)
		fail(EX_CONFIG,
		    "no data directory: give -d dir or [store] data");
	if (o->store.keys_file == NULL)
		o->store.keys_file = xasprintf("%s/keys", o->store.data);
	if (o->nfds > 0 || o->listen != NULL || o->socket != NULL)
		return;
	if (given)
		fail(EX_CONFIG, "qod gave no listening socket");
	o->listen = xstrdup("127.0.0.1:9710");
}

void
options_parse(struct options *o, int argc, char **argv,
    const struct conf *given)
{
	static const char shorts[] = "d:f:hk:l:np:s:vV";
	int c;

	defaults(o);
	if (given != NULL)
		take_given(o, given);
	/* The file first, so that the command line stands above it. */
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage_text, stdout);
			exit(0);
		}
		if (c == 'V') {
			puts("qo-store " QO_VERSION);
			exit(0);
		}
		if (c == 'f')
			load_conf(o, optarg);
		if (c == '?')
			exit(2);
	}
	if (optind < argc)
		fail(2, "what is \"%s\"?  See qo-store -h", argv[optind]);
	inherit(o);
	if (o->nfds > 0)
		set(&o->listen, NULL);
	optind = 0;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1)
		if (c != 'f')
			apply(o, c, optarg);
	complete(o, given != NULL);
}

void
options_fini(struct options *o)
{
	free(o->store.data);
	free(o->store.keys_file);
	free(o->store.region);
	prefixes_clear(&o->store.public_prefixes);
	free(o->listen);
	free(o->socket);
	free(o->portfile);
	free(o->backup);
	free(o->log);
}
