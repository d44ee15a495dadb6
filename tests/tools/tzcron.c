/*
 * tzcron - what lib/tz.c and lib/cron.c say, for scripts to compare.
 *
 *	tzcron local ZONE		instants on stdin, a line each
 *	tzcron instants ZONE		readings on stdin, as if they were UTC
 *	tzcron next ZONE EXPR FROM N	the next N times after FROM
 *	tzcron parse EXPR
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cron.h"

static void
print_local(const struct qo_tz *tz, int64_t unix_s)
{
	struct qo_tz_time t;

	qo_tz_local(tz, unix_s, &t);
	printf("%04d-%02d-%02d %02d:%02d:%02d %d %d %s\n", t.date.year,
	    t.date.month, t.date.day, t.hour, t.minute, t.second, t.date.wday,
	    (int)t.offset_s, t.abbr);
}

static void
print_instants(const struct qo_tz *tz, int64_t local_s)
{
	int64_t all[QO_TZ_INSTANTS_MAX];
	size_t i, n;

	n = qo_tz_instants(tz, local_s, all);
	for (i = 0; i < n; i++)
		printf("%s%" PRId64, i > 0 ? " " : "", all[i]);
	printf("\n");
}

static int
print_next(const struct qo_tz *tz, const char *expr, int64_t from, long n)
{
	struct qo_wall t = { from * QO_US_PER_SEC };
	struct qo_cron c;
	struct qo_err err;

	if (qo_cron_parse(&c, expr, &err) == -1) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	while (n-- > 0 && qo_cron_next(&c, tz, t, &t))
		printf("%" PRId64 "\n", t.us / QO_US_PER_SEC);
	return 0;
}

static int
print_parsed(const char *expr)
{
	struct qo_cron c;
	struct qo_err err;
	int rv;

	rv = qo_cron_parse(&c, expr, &err);
	printf("%s\n", rv == 0 ? "ok" : err.msg);
	return rv == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	struct qo_err err = { 0 };
	struct qo_tz *tz;
	int64_t v;
	int rv = 0;

	if (argc == 3 && strcmp(argv[1], "parse") == 0)
		return print_parsed(argv[2]);
	if (argc < 3 || (tz = qo_tz_open(argv[2], &err)) == NULL) {
		fprintf(stderr, "tzcron: %s\n", argc < 3 ? "usage" : err.msg);
		return 2;
	}
	if (strcmp(argv[1], "next") == 0 && argc == 6)
		rv = print_next(tz, argv[3], strtoll(argv[4], NULL, 10),
		    strtol(argv[5], NULL, 10));
	else
		while (scanf("%" SCNd64, &v) == 1) {
			if (strcmp(argv[1], "local") == 0)
				print_local(tz, v);
			else
				print_instants(tz, v);
		}
	qo_tz_free(tz);
	return rv;
}
