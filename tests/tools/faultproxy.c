/*
 * faultproxy - the fault proxy for scripts and for people.
 *
 *	faultproxy [-p PORT] [-o HISTORY] http://HOST:PORT [RULE...]
 *
 * Prints its own URL and serves until its standard input ends.  The rules
 * are those of tests/unit/faultproxy.h, one an argument.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/faultproxy.h"

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "faultproxy: %s: %s\n", what, why);
	exit(1);
}

int
main(int argc, char *argv[])
{
	struct faultproxy *p;
	FILE *history = NULL;
	char byte;
	int ch, port = 0;

	while ((ch = getopt(argc, argv, "o:p:")) != -1)
		switch (ch) {
		case 'o':
			if ((history = fopen(optarg, "a")) == NULL)
				die(optarg, strerror(errno));
			break;
		case 'p':
			port = (int)strtol(optarg, NULL, 10);
			break;
		default:
			return 2;
		}
	if (optind == argc)
		die("usage",
		    "[-p port] [-o history] http://host:port [rule...]");
	p = faultproxy_start(argv[optind], port, history);
	if (p == NULL)
		die(argv[optind], strerror(errno));
	while (++optind < argc)
		if (faultproxy_rule(p, argv[optind]) == -1)
			die(argv[optind], "not a rule");
	printf("%s\n", faultproxy_url(p));
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	faultproxy_stop(p);
	if (history != NULL)
		fclose(history);
	return 0;
}
