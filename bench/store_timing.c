/*
 * Check 34: does the time that a refusal takes tell an unknown access key
 * from a wrong signature?  Both go the way of auth.c (parse, find the key,
 * check) in random turns, and Welch's t of the two is printed; above 4.5 they
 * can be told apart.  The slowest tenth of each, which is what the machine
 * does besides, is left out.
 *
 *	store_timing [rounds]	(100000)
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../qo-store/keys.h"
#include "io.h"
#include "log.h"
#include "sigv4_verify.h"
#include "xalloc.h"

#define DATE     "20260301T120000Z"
#define T_LIMIT  4.5
#define NHEADERS 4
#define KNOWN    "QOABCDEFGHIJKLMNOPQR"
#define UNKNOWN  "QOABCDEFGHIJKLMNOPQS"

struct sample {
	double *ns;
	size_t n;
};

static void
complain(const char *line, void *arg)
{
	(void)arg;
	fatalx("%s", line);
}

static struct keys *
make_keys(void)
{
	static const char text[] =
	    "[key]\naccess_key = " KNOWN "\n"
	    "secret_key = 4pYq0mV7cXw2sJtB9aLd4pYq0mV7cXw2sJtB9aLe\n";
	char dir[] = "/tmp/qo-timing.XXXXXX", path[64];
	struct keys *k;
	struct qo_err err;

	if (mkdtemp(dir) == NULL)
		fatal("%s", dir);
	snprintf(path, sizeof(path), "%s/keys", dir);
	if (io_write_file(path, text, strlen(text), 0600, &err) == -1)
		fatalx("%s", err.msg);
	k = keys_load(path, complain, NULL);
	unlink(path);
	rmdir(dir);
	return k;
}

static double
refuse(struct keys *keys, struct qo_sigv4_signer *s, const char *auth)
{
	static const struct qo_sigv4_rules rules = { "us-east-1", false };
	struct qo_kv headers[NHEADERS] = { { "host", "127.0.0.1:9710" },
		{ "x-amz-content-sha256", QO_SHA256_EMPTY },
		{ "x-amz-date", DATE }, { "authorization", auth } };
	struct qo_sigv4_got got = { "GET", "/bucket/tasks/0123456789", "",
		headers, NHEADERS, true };
	struct qo_sigv4_auth a;
	struct timespec start, end;
	struct qo_wall now;
	struct key *k;

	if (qo_amzdate_parse(DATE, strlen(DATE), &now) == -1)
		fatalx("bad date");
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (qo_sigv4_parse(&got, &rules, now, &a) != QO_SIGV4_OK)
		fatalx("the request is malformed");
	k = keys_find(keys, a.access_key);
	if (qo_sigv4_check(s, &got, &a, k != NULL ? k->secret_key : NULL,
		NULL) == QO_SIGV4_OK)
		fatalx("a wrong signature was accepted");
	clock_gettime(CLOCK_MONOTONIC, &end);
	key_release(k);
	return (double)(end.tv_sec - start.tv_sec) * 1e9 +
	    (double)(end.tv_nsec - start.tv_nsec);
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void
moments(struct sample *s, double *mean, double *var)
{
	size_t i;

	qsort(s->ns, s->n, sizeof(*s->ns), by_value);
	s->n -= s->n / 10;
	*mean = *var = 0;
	for (i = 0; i < s->n; i++)
		*mean += s->ns[i] / (double)s->n;
	for (i = 0; i < s->n; i++)
		*var += (s->ns[i] - *mean) * (s->ns[i] - *mean) /
		    (double)(s->n - 1);
}

static char *
authorization(const char *access_key)
{
	return xasprintf("AWS4-HMAC-SHA256 Credential=%s/20260301/us-east-1/"
			 "s3/aws4_request,SignedHeaders=host;"
			 "x-amz-content-sha256;x-amz-date,Signature=%s",
	    access_key, QO_SHA256_EMPTY);
}

int
main(int argc, char **argv)
{
	struct sample s[2] = { { 0 } };
	struct qo_sigv4_signer *signer;
	double mean[2], var[2], t;
	char *auth[2];
	const char *wrong = NULL;
	struct keys *keys;
	size_t i, rounds = 100000;
	unsigned which;

	if (argc > 1)
		rounds = (size_t)strtonum(argv[1], 100, 100000000, &wrong);
	if (wrong != NULL)
		fatalx("rounds is %s", wrong);
	keys = make_keys();
	/* Of the same length, and different at its end. */
	auth[0] = authorization(KNOWN);
	auth[1] = authorization(UNKNOWN);
	signer = qo_sigv4_new();
	for (i = 0; i < 2; i++) {
		s[i].ns = xcalloc(2 * rounds, sizeof(double));
		refuse(keys, signer, auth[i]);
	}
	for (i = 0; i < 2 * rounds; i++) {
		which = arc4random() & 1;
		s[which].ns[s[which].n++] = refuse(keys, signer, auth[which]);
	}
	moments(&s[0], &mean[0], &var[0]);
	moments(&s[1], &mean[1], &var[1]);
	t = (mean[0] - mean[1]) /
	    sqrt(var[0] / (double)s[0].n + var[1] / (double)s[1].n);
	printf("wrong signature %.1f ns, unknown key %.1f ns, t %.2f: %s\n",
	    mean[0], mean[1], t,
	    fabs(t) < T_LIMIT ? "the same" : "they can be told apart");
	return 0;
}
