#include <string.h>

#include <openssl/crypto.h>

#include "rfc3339.h"
#include "sigv4_verify.h"
#include "uri.h"

#define DAY_LEN 8
/* What an unknown key's signature is compared with; matching it gains
 * nothing, the verdict stands before. */
#define NOBODY "0000000000000000000000000000000000000000"

/* The value of a header; *n is how many there are. */
static const char *
header(const struct qo_sigv4_got *got, const char *name, size_t *n)
{
	const char *value = NULL;
	size_t i;

	*n = 0;
	for (i = 0; i < got->nheaders; i++)
		if (strcmp(got->headers[i].name, name) == 0 && (*n)++ == 0)
			value = got->headers[i].value;
	return value;
}

/* Copies len bytes as a string; -1 when that is not 1 to size - 1 bytes. */
static int
copy(char *out, size_t size, const char *s, size_t len)
{
	if (len == 0 || len >= size)
		return -1;
	memcpy(out, s, len);
	out[len] = '\0';
	return 0;
}

static bool
lower_hex(const char *s, size_t len)
{
	return strspn(s, "0123456789abcdef") >= len;
}

/* access key/day/region/service/aws4_request; *day points into s. */
static int
credential(struct qo_sigv4_auth *a, const char *s, size_t len, const char **day)
{
	const char *part[5], *end = s + len;
	size_t n[5];
	int i;

	for (i = 0; i < 5; i++) {
		part[i] = s;
		while (s < end && *s != '/')
			s++;
		n[i] = (size_t)(s - part[i]);
		if (i < 4 && s++ == end)
			return -1;
	}
	if (s != end || n[1] != DAY_LEN ||
	    strspn(part[1], "0123456789") != DAY_LEN || n[4] != 12 ||
	    memcmp(part[4], "aws4_request", 12) != 0)
		return -1;
	*day = part[1];
	if (copy(a->access_key, sizeof(a->access_key), part[0], n[0]) == -1 ||
	    copy(a->region, sizeof(a->region), part[2], n[2]) == -1 ||
	    copy(a->service, sizeof(a->service), part[3], n[3]) == -1)
		return -1;
	return 0;
}

/* How many characters of a header's name in lower case stand at s.  (strspn
 * makes a table of a set of this size each time.) */
static size_t
token_len(const char *s)
{
	const char *p;

	for (p = s; *p != '\0'; p++)
		if (!(*p >= 'a' && *p <= 'z') && *p != '-' &&
		    !(*p >= '0' && *p <= '9') &&
		    strchr("!#$%&'*+.^_`|~", *p) == NULL)
			break;
	return (size_t)(p - s);
}

/* Names in lower case, strictly ascending, between single semicolons. */
static int
signed_headers(struct qo_sigv4_auth *a, const char *s, size_t len)
{
	const char *p, *prev = NULL;
	size_t n, prev_len = 0, min, count = 0;
	int c;

	if (copy(a->signed_headers, sizeof(a->signed_headers), s, len) == -1)
		return -1;
	for (p = a->signed_headers;; p += n + 1) {
		n = token_len(p);
		if (n == 0 || (p[n] != ';' && p[n] != '\0') ||
		    ++count > QO_SIGV4_HEADERS_MAX)
			return -1;
		if (prev != NULL) {
			min = n < prev_len ? n : prev_len;
			c = memcmp(prev, p, min);
			if (c > 0 || (c == 0 && prev_len >= n))
				return -1;
		}
		if (p[n] == '\0')
			return 0;
		prev = p;
		prev_len = n;
	}
}

static int
signature(struct qo_sigv4_auth *a, const char *s, size_t len)
{
	if (len != QO_SIGV4_SIG_SIZE - 1 || !lower_hex(s, len))
		return -1;
	return copy(a->signature, sizeof(a->signature), s, len);
}

/* The fields behind the algorithm: each once, in any order. */
static int
auth_fields(struct qo_sigv4_auth *a, const char *s, const char **day)
{
	const char *eq;
	size_t len, name_len, value_len;
	unsigned seen = 0, bit;
	int rv;

	for (;;) {
		s += strspn(s, " \t");
		len = strcspn(s, ",");
		if ((eq = memchr(s, '=', len)) == NULL)
			return -1;
		name_len = (size_t)(eq++ - s);
		value_len = len - name_len - 1;
		while (value_len > 0 && strchr(" \t", eq[value_len - 1]))
			value_len--;
		if (name_len == 10 && memcmp(s, "Credential", 10) == 0) {
			bit = 1;
			rv = credential(a, eq, value_len, day);
		} else if (name_len == 13 &&
		    memcmp(s, "SignedHeaders", 13) == 0) {
			bit = 2;
			rv = signed_headers(a, eq, value_len);
		} else if (name_len == 9 && memcmp(s, "Signature", 9) == 0) {
			bit = 4;
			rv = signature(a, eq, value_len);
		} else
			return -1;
		if (rv == -1 || (seen & bit) != 0)
			return -1;
		seen |= bit;
		if (s[len] == '\0')
			return seen == 7 ? 0 : -1;
		s += len + 1;
	}
}

static enum qo_sigv4_verdict
parse_header(struct qo_sigv4_auth *a, const char *s, const char **day)
{
	size_t len = strcspn(s, " \t");

	if (len == 3 && memcmp(s, "AWS", 3) == 0)
		return QO_SIGV4_V2;
	if (len == 22 && memcmp(s, "AWS4-ECDSA-P256-SHA256", 22) == 0)
		return QO_SIGV4_V4A;
	if (len != sizeof(QO_SIGV4_ALGORITHM) - 1 ||
	    memcmp(s, QO_SIGV4_ALGORITHM, len) != 0)
		return QO_SIGV4_ALGORITHM_BAD;
	return auth_fields(a, s + len, day) == -1 ? QO_SIGV4_HEADER_BAD
						  : QO_SIGV4_OK;
}

/* The only value of a parameter, or NULL when it is missing, doubled, or
 * holds a NUL. */
static const struct uri_pair *
param(const struct uri_query *q, const char *name)
{
	const struct uri_pair *found = NULL;
	size_t i;

	for (i = 0; i < q->n; i++)
		if (strcmp(q->pairs[i].name, name) == 0) {
			if (found != NULL)
				return NULL;
			found = &q->pairs[i];
		}
	if (found == NULL || strlen(found->value) != found->value_len)
		return NULL;
	return found;
}

/* Seconds, 0 to a week. */
static int
expires(struct qo_sigv4_auth *a, const struct uri_pair *p)
{
	size_t i;

	if (p->value_len == 0 || p->value_len > 6)
		return -1;
	for (i = 0; i < p->value_len; i++) {
		if (p->value[i] < '0' || p->value[i] > '9')
			return -1;
		a->expires_s = a->expires_s * 10 + (p->value[i] - '0');
	}
	return a->expires_s > QO_SIGV4_EXPIRES_MAX ? -1 : 0;
}

/* An optional parameter; -1 when it is there but wrong. */
static int
optional(const struct uri_query *q, const char *name, char *out, size_t size)
{
	const struct uri_pair *p;

	if (uri_query_get(q, name) == NULL)
		return 0;
	if ((p = param(q, name)) == NULL)
		return -1;
	return copy(out, size, p->value, p->value_len);
}

static enum qo_sigv4_verdict
parse_query(struct qo_sigv4_auth *a, const struct uri_query *q,
    const char **day)
{
	const struct uri_pair *alg, *cred, *date, *exp, *names, *sig;

	a->presigned = true;
	alg = param(q, "X-Amz-Algorithm");
	if (alg != NULL && strcmp(alg->value, "AWS4-ECDSA-P256-SHA256") == 0)
		return QO_SIGV4_V4A;
	cred = param(q, "X-Amz-Credential");
	date = param(q, "X-Amz-Date");
	exp = param(q, "X-Amz-Expires");
	names = param(q, "X-Amz-SignedHeaders");
	sig = param(q, "X-Amz-Signature");
	if (alg == NULL || strcmp(alg->value, QO_SIGV4_ALGORITHM) != 0 ||
	    cred == NULL || date == NULL || exp == NULL || names == NULL ||
	    sig == NULL ||
	    credential(a, cred->value, cred->value_len, day) == -1 ||
	    qo_amzdate_parse(date->value, date->value_len, &a->time) == -1 ||
	    expires(a, exp) == -1 ||
	    signed_headers(a, names->value, names->value_len) == -1 ||
	    signature(a, sig->value, sig->value_len) == -1 ||
	    optional(q, "X-Amz-Security-Token", a->session_token,
		sizeof(a->session_token)) == -1 ||
	    optional(q, "X-Amz-Content-Sha256", a->payload_hash,
		sizeof(a->payload_hash)) == -1)
		return QO_SIGV4_QUERY_BAD;
	return QO_SIGV4_OK;
}

/* x-amz-date, or Date in either form, and the token. */
static enum qo_sigv4_verdict
header_date(const struct qo_sigv4_got *got, struct qo_sigv4_auth *a)
{
	const char *s;
	size_t n;

	if ((s = header(got, "x-amz-date", &n)) != NULL) {
		if (n != 1 || qo_amzdate_parse(s, strlen(s), &a->time) == -1)
			return QO_SIGV4_DATE_BAD;
	} else if ((s = header(got, "date", &n)) == NULL || n != 1 ||
	    (qo_httpdate_parse(s, strlen(s), &a->time) == -1 &&
		qo_amzdate_parse(s, strlen(s), &a->time) == -1))
		return QO_SIGV4_DATE_BAD;
	if ((s = header(got, "x-amz-security-token", &n)) != NULL &&
	    (n != 1 ||
		copy(a->session_token, sizeof(a->session_token), s,
		    strlen(s)) == -1))
		return QO_SIGV4_HEADER_BAD;
	return QO_SIGV4_OK;
}

static enum qo_sigv4_verdict
judge_scope(const struct qo_sigv4_auth *a, const struct qo_sigv4_rules *rules,
    const char *day)
{
	char date[QO_AMZDATE_SIZE];

	qo_amzdate_print(a->time, date);
	if (memcmp(date, day, DAY_LEN) != 0)
		return QO_SIGV4_SCOPE_BAD;
	if (strcmp(a->service, "s3") != 0 &&
	    !(rules->sts && strcmp(a->service, "sts") == 0))
		return QO_SIGV4_SERVICE_BAD;
	if (rules->region != NULL && strcmp(rules->region, "auto") != 0 &&
	    strcmp(rules->region, a->region) != 0)
		return QO_SIGV4_REGION_BAD;
	return QO_SIGV4_OK;
}

/* Dates have whole seconds and four-digit years: nothing overflows. */
static enum qo_sigv4_verdict
judge_time(const struct qo_sigv4_auth *a, struct qo_wall now)
{
	int64_t age = now.us - a->time.us;

	if (!a->presigned)
		return age > QO_SIGV4_SKEW_US || age < -QO_SIGV4_SKEW_US
		    ? QO_SIGV4_SKEWED
		    : QO_SIGV4_OK;
	if (age < -QO_SIGV4_SKEW_US)
		return QO_SIGV4_NOT_YET;
	return age > a->expires_s * QO_US_PER_SEC ? QO_SIGV4_EXPIRED
						  : QO_SIGV4_OK;
}

static bool
is_signed(const struct qo_sigv4_auth *a, const char *name)
{
	const char *p = a->signed_headers;
	size_t n, len = strlen(name);

	for (;; p += n + 1) {
		n = strcspn(p, ";");
		if (n == len && memcmp(p, name, n) == 0)
			return true;
		if (p[n] == '\0')
			return false;
	}
}

static enum qo_sigv4_verdict
judge_headers(const struct qo_sigv4_got *got, const struct qo_sigv4_auth *a)
{
	size_t i;

	if (!is_signed(a, "host"))
		return QO_SIGV4_UNSIGNED;
	for (i = 0; i < got->nheaders; i++)
		if (strncmp(got->headers[i].name, "x-amz-", 6) == 0 &&
		    !is_signed(a, got->headers[i].name))
			return QO_SIGV4_UNSIGNED;
	return QO_SIGV4_OK;
}

static const struct {
	const char *word;
	enum qo_sigv4_payload payload;
} words[] = {
	{ QO_UNSIGNED_PAYLOAD, QO_PAYLOAD_UNSIGNED },
	{ "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", QO_PAYLOAD_CHUNKED },
	{ "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
	    QO_PAYLOAD_CHUNKED_TRAILER },
	{ "STREAMING-UNSIGNED-PAYLOAD-TRAILER", QO_PAYLOAD_UNSIGNED_TRAILER },
};

static enum qo_sigv4_verdict
judge_word(struct qo_sigv4_auth *a)
{
	const char *s = a->payload_hash;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(s, words[i].word) == 0) {
			a->payload = words[i].payload;
			return QO_SIGV4_OK;
		}
	if (strncmp(s, "STREAMING-AWS4-ECDSA-", 21) == 0)
		return QO_SIGV4_PAYLOAD_ECDSA;
	a->payload = QO_PAYLOAD_HASH;
	return strlen(s) == 64 && lower_hex(s, 64) ? QO_SIGV4_OK
						   : QO_SIGV4_PAYLOAD_BAD;
}

/* The header counts before the parameter of a presigned query. */
static enum qo_sigv4_verdict
judge_payload(const struct qo_sigv4_got *got, struct qo_sigv4_auth *a)
{
	const char *s;
	size_t n;

	if ((s = header(got, "x-amz-content-sha256", &n)) != NULL) {
		if (n != 1 ||
		    copy(a->payload_hash, sizeof(a->payload_hash), s,
			strlen(s)) == -1)
			return QO_SIGV4_PAYLOAD_BAD;
	} else if (strcmp(a->service, "s3") != 0) {
		a->payload = QO_PAYLOAD_BODY;
		a->payload_hash[0] = '\0';
		return QO_SIGV4_OK;
	} else if (!a->presigned)
		return QO_SIGV4_PAYLOAD_NONE;
	else if (a->payload_hash[0] == '\0')
		strlcpy(a->payload_hash, QO_UNSIGNED_PAYLOAD,
		    sizeof(a->payload_hash));
	return judge_word(a);
}

/* Finds the one way in which the request is signed, and reads it. */
static enum qo_sigv4_verdict
parse_either(const struct qo_sigv4_got *got, const struct uri_query *q,
    struct qo_sigv4_auth *a, const char **day)
{
	enum qo_sigv4_verdict v;
	const char *auth;
	size_t n;
	bool v2, v4;

	auth = header(got, "authorization", &n);
	v4 = uri_query_get(q, "X-Amz-Algorithm") != NULL ||
	    uri_query_get(q, "X-Amz-Credential") != NULL ||
	    uri_query_get(q, "X-Amz-Signature") != NULL;
	v2 = uri_query_get(q, "AWSAccessKeyId") != NULL &&
	    uri_query_get(q, "Signature") != NULL;
	if ((auth != NULL) + v2 + v4 > 1)
		return QO_SIGV4_BOTH;
	if (v2)
		return QO_SIGV4_V2;
	if (v4)
		return parse_query(a, q, day);
	if (auth == NULL)
		return QO_SIGV4_ANONYMOUS;
	if (n != 1)
		return QO_SIGV4_HEADER_BAD;
	if ((v = parse_header(a, auth, day)) != QO_SIGV4_OK)
		return v;
	return header_date(got, a);
}

enum qo_sigv4_verdict
qo_sigv4_parse(const struct qo_sigv4_got *got,
    const struct qo_sigv4_rules *rules, struct qo_wall now,
    struct qo_sigv4_auth *a)
{
	enum qo_sigv4_verdict v = QO_SIGV4_QUERY_BAD;
	struct uri_query q;
	const char *day = NULL;

	memset(a, 0, sizeof(*a));
	if (uri_query_parse(&q, got->query, QO_SIGV4_PARAMS_MAX + 1,
		got->plus_space ? URI_PLUS_SPACE : 0) == -1)
		goto out;
	if ((v = parse_either(got, &q, a, &day)) != QO_SIGV4_OK ||
	    (v = judge_scope(a, rules, day)) != QO_SIGV4_OK ||
	    (v = judge_time(a, now)) != QO_SIGV4_OK ||
	    (v = judge_headers(got, a)) != QO_SIGV4_OK)
		goto out;
	v = judge_payload(got, a);
out:
	uri_query_fini(&q);
	return v;
}

static struct qo_sigv4_req
request(const struct qo_sigv4_got *got, const struct qo_sigv4_auth *a)
{
	struct qo_sigv4_req r;

	memset(&r, 0, sizeof(r));
	if (got != NULL) {
		r.method = got->method;
		r.path = got->path;
		r.query = got->query;
		r.headers = got->headers;
		r.nheaders = got->nheaders;
		r.flags = got->plus_space ? QO_SIGV4_PLUS_SPACE : 0;
	}
	r.signed_headers = a->signed_headers;
	r.payload_hash = a->payload_hash;
	r.region = a->region;
	r.service = a->service;
	r.time = a->time;
	if (a->presigned)
		r.flags |= QO_SIGV4_PRESIGNED;
	if (strcmp(a->service, "s3") != 0)
		r.flags |= QO_SIGV4_NORMALIZE;
	return r;
}

enum qo_sigv4_verdict
qo_sigv4_check(struct qo_sigv4_signer *s, const struct qo_sigv4_got *got,
    const struct qo_sigv4_auth *a, const char *secret, const char *body_sha)
{
	struct qo_sigv4_req r;
	char sig[QO_SIGV4_SIG_SIZE];
	bool same;

	r = request(got, a);
	if (a->payload == QO_PAYLOAD_BODY)
		r.payload_hash = body_sha;
	same = qo_sigv4_sign(s, &r, secret != NULL ? secret : NOBODY, sig) ==
		0 &&
	    CRYPTO_memcmp(sig, a->signature, sizeof(sig) - 1) == 0;
	if (secret == NULL)
		return QO_SIGV4_KEY_UNKNOWN;
	return same ? QO_SIGV4_OK : QO_SIGV4_MISMATCH;
}

int
qo_sigv4_auth_chain(const struct qo_sigv4_auth *a, struct qo_sigv4_signer *s,
    const char *secret, struct qo_sigv4_chain *c)
{
	struct qo_sigv4_req r;

	r = request(NULL, a);
	return qo_sigv4_chain_init(c, s, &r, secret, a->signature);
}
