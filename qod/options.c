#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "options.h"
#include "xalloc.h"

#define DEFAULT_CONF QO_SYSCONFDIR "/qo/qod.conf"

static const struct option longs[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static const char usage_text[] = "usage: qod [-dnT] [-f file]\n"
				 "       qod -h | -V\n";

/* The file is read again after SIGHUP and by the next binary. */
static char *
absolute(const char *path)
{
	char *cwd, *joined;

	if (path[0] == '/' || (cwd = getcwd(NULL, 0)) == NULL)
		return xstrdup(path);
	joined = xasprintf("%s/%s", cwd, path);
	free(cwd);
	return joined;
}

static void
find_file(struct options *o, const char *given)
{
	const char *env = getenv("QO_CONFIG");

	if (given == NULL && env != NULL && env[0] != '\0')
		given = env;
	if (given == NULL && access(DEFAULT_CONF, F_OK) == -1 &&
	    errno == ENOENT) {
		fputs("qod: " DEFAULT_CONF " is not there: name the "
		      "configuration with -f file\n",
		    stderr);
		exit(EX_CONFIG);
	}
	o->file = absolute(given != NULL ? given : DEFAULT_CONF);
}

void
options_parse(struct options *o, int argc, char **argv)
{
	const char *file = NULL;
	int c;

	memset(o, 0, sizeof(*o));
	while ((c = getopt_long(argc, argv, "df:hnTV", longs, NULL)) != -1) {
		switch (c) {
		case 'd':
			o->verbose = true;
			break;
		case 'f':
			file = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		case 'n':
			o->mode = OPTIONS_CHECK;
			break;
		case 'T':
			o->mode = OPTIONS_SHOW;
			break;
		case 'V':
			puts("qod " QO_VERSION);
			exit(0);
		default:
			fputs(usage_text, stderr);
			exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "qod: what is \"%s\"?  See qod -h\n",
		    argv[optind]);
		exit(2);
	}
	find_file(o, file);
}

void
options_fini(struct options *o)
{
	free(o->file);
	o->file = NULL;
}
