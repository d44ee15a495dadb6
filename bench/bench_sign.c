/*
 * Signatures a second with a cached key, for a typical S3 request, beside the
 * least that any signer must do: SHA-256 of the same canonical bytes and one
 * HMAC of the same string.  Both run in turn, several times, and the best of
 * each is printed, so that a busy machine disturbs them alike.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hash.h"
#include "sigv4.h"
#include "sigv4_verify.h"

#define AK     "AKIAIOSFODNN7EXAMPLE"
#define SK     "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define TIME   "20260301T120000Z"
#define ROUNDS 5
#define COUNT  100000

static struct qo_sigv4_signer *signer;
static struct qo_kv headers[8];
static struct qo_sigv4_req req;
static const struct qo_sigv4_cred cred = { AK, SK, NULL };
static struct buf out;

static void
make_request(void)
{
	size_t n = 0;

	headers[n++] = (struct qo_kv){ "host", "127.0.0.1:9710" };
	headers[n++] = (struct qo_kv){ "x-amz-content-sha256",
		QO_SHA256_EMPTY };
	headers[n++] = (struct qo_kv){ "x-amz-date", TIME };
	headers[n++] = (struct qo_kv){ "if-match",
		"\"9e107d9d372bb6826bd81d3542a419d6\"" };
	headers[n++] = (struct qo_kv){ "content-type", "application/json" };
	req.method = "PUT";
	req.path = "/queue/tasks/a3/0191d5c8-6a31-7c4e-9f0b-2f6d1c3e4b5a.json";
	req.headers = headers;
	req.nheaders = n;
	req.payload_hash = QO_SHA256_EMPTY;
	req.region = "us-east-1";
	req.service = "s3";
	if (qo_amzdate_parse(TIME, strlen(TIME), &req.time) == -1)
		abort();
}

static void
sign(void)
{
	buf_reset(&out);
	if (qo_sigv4_authorization(signer, &req, &cred, &out, NULL) == -1)
		abort();
}

static void
presign(void)
{
	buf_reset(&out);
	if (qo_sigv4_presign(signer, &req, &cred, 3600, &out) == -1)
		abort();
}

/* What a server does for each request. */
static void
verify(void)
{
	static const struct qo_sigv4_rules rules = { "us-east-1", false };
	struct qo_sigv4_got got = { req.method, req.path, "", headers,
		req.nheaders + 1, false };
	struct qo_sigv4_auth a;

	if (qo_sigv4_parse(&got, &rules, req.time, &a) != QO_SIGV4_OK ||
	    qo_sigv4_check(signer, &got, &a, SK, NULL) != QO_SIGV4_OK)
		abort();
}

static void
bare(void)
{
	static struct hmac_key key;
	static char canonical[4096], string[512];
	static size_t clen, slen;
	char hex[2 * SHA256_LEN + 1];
	uint8_t md[SHA256_LEN];

	if (clen == 0) {
		sign();
		clen = strlcpy(canonical, qo_sigv4_last_canonical(signer),
		    sizeof(canonical));
		slen = strlcpy(string, qo_sigv4_last_string(signer),
		    sizeof(string));
		hmac_key_set(&key, md, 0);
	}
	sha256_hex(canonical, clen, hex);
	hmac_sha256(&key, string, slen, md);
}

static double
cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Calls per second of CPU. */
static double
run(void (*f)(void))
{
	double start;
	int i;

	start = cpu_s();
	for (i = 0; i < COUNT; i++)
		f();
	return COUNT / (cpu_s() - start);
}

int
main(void)
{
	static const struct {
		const char *what;
		void (*f)(void);
	} v[] = {
		{ "SHA-256 and HMAC alone (baseline)", bare },
		{ "sign, Authorization header", sign },
		{ "presign", presign },
		{ "parse and verify", verify },
	};
	double best[4] = { 0 }, r;
	char auth[512];
	size_t i;
	int round;

	signer = qo_sigv4_new();
	buf_init(&out, 65536);
	make_request();
	sign();
	strlcpy(auth, out.data, sizeof(auth));
	headers[req.nheaders] = (struct qo_kv){ "authorization", auth };
	for (round = 0; round < ROUNDS; round++)
		for (i = 0; i < 4; i++)
			if ((r = run(v[i].f)) > best[i])
				best[i] = r;
	for (i = 0; i < 4; i++)
		printf("%-34s %9.0f/s  %5.2f us  %4.2f of the baseline\n",
		    v[i].what, best[i], 1e6 / best[i], best[i] / best[0]);
	qo_sigv4_free(signer);
	buf_fini(&out);
	return EXIT_SUCCESS;
}
