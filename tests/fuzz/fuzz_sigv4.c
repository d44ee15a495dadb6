/*
 * Requests as a server may get them: lines of "METHOD path query" and then
 * headers.  Judging never goes wrong, and what we sign ourselves we accept.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "log.h"
#include "sigv4_verify.h"
#include "uri.h"
#include "xalloc.h"

#define SK       "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define TIME     "20130524T000000Z"
#define NHEADERS 48

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct qo_sigv4_signer *signer;

/* Header names are lower case by the time that we see them. */
static void
lower(char *s)
{
	for (; *s != '\0'; s++)
		if (*s >= 'A' && *s <= 'Z')
			*s = (char)(*s - 'A' + 'a');
}

static void
take_apart(char *text, struct qo_sigv4_got *got, struct qo_kv *headers)
{
	char *line, *value;

	line = strsep(&text, "\n");
	got->method = strsep(&line, " ");
	got->path = line != NULL ? strsep(&line, " ") : "/";
	got->query = line;
	got->headers = headers;
	while ((line = strsep(&text, "\n")) != NULL &&
	    got->nheaders < NHEADERS) {
		value = strchr(line, ':');
		if (value == NULL)
			continue;
		*value++ = '\0';
		lower(line);
		headers[got->nheaders++] = (struct qo_kv){ line, value };
	}
}

static void
judge(const struct qo_sigv4_got *got, struct qo_wall now)
{
	static const struct qo_sigv4_rules rules = { "us-east-1", true };
	enum qo_sigv4_verdict v;
	struct qo_sigv4_auth a;
	struct qo_sigv4_chain c;

	v = qo_sigv4_parse(got, &rules, now, &a);
	if (qo_sigv4_fault(v, a.presigned)->code == NULL)
		qo_bug("a verdict without an error");
	if (v != QO_SIGV4_OK)
		return;
	if (strlen(a.signature) != 64 || a.access_key[0] == '\0')
		qo_bug("accepted without a signature or a key");
	v = qo_sigv4_check(signer, got, &a, NULL, QO_SHA256_EMPTY);
	if (v != QO_SIGV4_KEY_UNKNOWN)
		qo_bug("an unknown key was accepted");
	(void)qo_sigv4_check(signer, got, &a, SK, QO_SHA256_EMPTY);
	if (qo_sigv4_auth_chain(&a, signer, SK, &c) == 0)
		qo_sigv4_chain_fini(&c);
}

/* May this header be signed as it is? */
static bool
plain(const char *name)
{
	return name[0] != '\0' && strlen(name) < 32 &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyz-") == strlen(name) &&
	    strncmp(name, "x-amz-", 6) != 0 &&
	    strcmp(name, "authorization") != 0;
}

/* Does the query hold a signature of its own? */
static bool
own_query(const char *query)
{
	struct buf plain_text;
	bool own;

	if (query == NULL)
		return false;
	buf_init(&plain_text, 1 << 20);
	own = uri_decode(&plain_text, query, strlen(query), 0) == -1 ||
	    memmem(plain_text.data, plain_text.len, "Signature", 9) != NULL ||
	    memmem(plain_text.data, plain_text.len, "X-Amz-", 6) != NULL;
	buf_fini(&plain_text);
	return own;
}

static void
must_be_ok(const struct qo_sigv4_got *got, struct qo_wall now)
{
	static const struct qo_sigv4_rules rules = { "auto", false };
	enum qo_sigv4_verdict v;
	struct qo_sigv4_auth a;

	if ((v = qo_sigv4_parse(got, &rules, now, &a)) != QO_SIGV4_OK ||
	    (v = qo_sigv4_check(signer, got, &a, SK, NULL)) != QO_SIGV4_OK)
		qo_bug("refused what we signed: verdict %d", (int)v);
}

/* Signs the request as a client in both forms. */
static void
sign_and_judge(const struct qo_sigv4_got *in, struct qo_wall now)
{
	static const struct qo_sigv4_cred cred = { "AK", SK, NULL };
	struct qo_kv headers[NHEADERS + 4];
	struct qo_sigv4_got got = *in;
	struct qo_sigv4_req r;
	struct buf out;
	size_t i, n = 0;

	headers[n++] = (struct qo_kv){ "host", "h" };
	for (i = 0; i < in->nheaders; i++)
		if (plain(in->headers[i].name))
			headers[n++] = in->headers[i];
	memset(&r, 0, sizeof(r));
	r.method = in->method;
	r.path = in->path;
	r.query = in->query;
	r.headers = got.headers = headers;
	r.nheaders = got.nheaders = n;
	r.region = "eu";
	r.service = "s3";
	r.time = now;
	buf_init(&out, 1 << 20);
	if (qo_sigv4_presign(signer, &r, &cred, 60, &out) == 0) {
		got.query = out.data;
		must_be_ok(&got, now);
	}
	got.query = in->query;
	buf_reset(&out);
	headers[n++] = (struct qo_kv){ "x-amz-date", TIME };
	headers[n++] = (struct qo_kv){ "x-amz-content-sha256",
		QO_SHA256_EMPTY };
	r.nheaders = n;
	r.payload_hash = QO_SHA256_EMPTY;
	if (qo_sigv4_authorization(signer, &r, &cred, &out, NULL) == 0) {
		headers[n++] = (struct qo_kv){ "authorization", out.data };
		got.nheaders = n;
		must_be_ok(&got, now);
	}
	buf_fini(&out);
}

/* The one right spelling is the same when it is spelled again. */
static void
recode(const char *s)
{
	struct buf once, twice;

	buf_init(&once, 1 << 20);
	buf_init(&twice, 1 << 20);
	if (uri_recode(&once, s, strlen(s), 0) == 0) {
		if (uri_recode(&twice, once.data, once.len, 0) == -1 ||
		    once.len != twice.len ||
		    memcmp(once.data, twice.data, once.len) != 0)
			qo_bug("two spellings");
	}
	buf_fini(&once);
	buf_fini(&twice);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qo_kv headers[NHEADERS];
	struct qo_sigv4_got got;
	struct qo_wall now;
	char *text;

	if (signer == NULL)
		signer = qo_sigv4_new();
	(void)qo_amzdate_parse(TIME, strlen(TIME), &now);
	memset(&got, 0, sizeof(got));
	text = xmemdup0(data, size);
	take_apart(text, &got, headers);
	got.plus_space = size % 2 == 1;
	recode(got.path);
	judge(&got, now);
	got.plus_space = false;
	if (!own_query(got.query))
		sign_and_judge(&got, now);
	free(text);
	return 0;
}
