#include <stdlib.h>
#include <string.h>

#include "encode.h"
#include "sigv4.h"
#include "uri.h"
#include "xalloc.h"

#define NKEYS     8
#define CANON_MAX (256 * 1024)
#define DAY_LEN   8

struct key_slot {
	char scope[QO_SIGV4_SCOPE_SIZE]; /* day/region/service/aws4_request */
	char secret[QO_SIGV4_SECRET_SIZE];
	struct hmac_key key;
	uint64_t used; /* 0: free */
};

struct qo_sigv4_signer {
	struct key_slot keys[NKEYS];
	uint64_t clock; /* of uses, for the choice of the slot to reuse */
	struct buf canon;
	struct qo_sigv4_canon at;
	struct buf string;
	struct buf query; /* of presign */
};

struct qo_sigv4_signer *
qo_sigv4_new(void)
{
	struct qo_sigv4_signer *s;

	s = xcalloc(1, sizeof(*s));
	buf_init_secret(&s->canon, CANON_MAX);
	buf_init_secret(&s->string, CANON_MAX);
	buf_init_secret(&s->query, CANON_MAX);
	return s;
}

void
qo_sigv4_free(struct qo_sigv4_signer *s)
{
	if (s == NULL)
		return;
	/* Session tokens pass through the buffers. */
	buf_fini(&s->canon);
	buf_fini(&s->string);
	buf_fini(&s->query);
	explicit_bzero(s, sizeof(*s));
	free(s);
}

/* day/region/service/aws4_request */
static int
put_scope(char out[QO_SIGV4_SCOPE_SIZE], const char *time,
    const struct qo_sigv4_req *req)
{
	size_t rlen = strlen(req->region), slen = strlen(req->service);
	char *p = out;

	if (DAY_LEN + rlen + slen + sizeof("///aws4_request") >
	    QO_SIGV4_SCOPE_SIZE)
		return -1;
	memcpy(p, time, DAY_LEN);
	p += DAY_LEN;
	*p++ = '/';
	memcpy(p, req->region, rlen);
	p += rlen;
	*p++ = '/';
	memcpy(p, req->service, slen);
	p += slen;
	memcpy(p, "/aws4_request", sizeof("/aws4_request"));
	return 0;
}

static void
derive(struct key_slot *k, const struct qo_sigv4_req *req)
{
	char first[4 + QO_SIGV4_SECRET_SIZE];
	uint8_t md[SHA256_LEN];
	size_t len = strlen(k->secret);

	memcpy(first, "AWS4", 4);
	memcpy(first + 4, k->secret, len);
	hmac_key_set(&k->key, first, 4 + len);
	hmac_sha256(&k->key, k->scope, DAY_LEN, md);
	hmac_key_set(&k->key, md, sizeof(md));
	hmac_sha256(&k->key, req->region, strlen(req->region), md);
	hmac_key_set(&k->key, md, sizeof(md));
	hmac_sha256(&k->key, req->service, strlen(req->service), md);
	hmac_key_set(&k->key, md, sizeof(md));
	hmac_sha256(&k->key, "aws4_request", 12, md);
	hmac_key_set(&k->key, md, sizeof(md));
	explicit_bzero(first, sizeof(first));
	explicit_bzero(md, sizeof(md));
}

/* The slot that holds the key, derived now if need be; NULL as
 * qo_sigv4_sign's -1. */
static const struct key_slot *
key_get(struct qo_sigv4_signer *s, const char *secret, const char *time,
    const struct qo_sigv4_req *req)
{
	char scope[QO_SIGV4_SCOPE_SIZE];
	struct key_slot *k, *found = NULL, *oldest = &s->keys[0];

	if (put_scope(scope, time, req) == -1 ||
	    strlen(secret) >= QO_SIGV4_SECRET_SIZE)
		return NULL;
	s->clock++;
	/* To the end: where a key stands is nothing that time should tell. */
	for (k = s->keys; k < s->keys + NKEYS; k++) {
		if (k->used != 0 && strcmp(k->scope, scope) == 0 &&
		    strcmp(k->secret, secret) == 0)
			found = k;
		if (k->used < oldest->used)
			oldest = k;
	}
	if ((k = found) != NULL) {
		k->used = s->clock;
		return k;
	}
	k = oldest;
	explicit_bzero(k, sizeof(*k));
	strlcpy(k->scope, scope, sizeof(k->scope));
	strlcpy(k->secret, secret, sizeof(k->secret));
	derive(k, req);
	k->used = s->clock;
	return k;
}

static void
sign_string(const struct hmac_key *key, const void *p, size_t len, char *sig)
{
	uint8_t md[SHA256_LEN];

	hmac_sha256(key, p, len, md);
	hex_encode(sig, md, sizeof(md));
}

/* Canonical request, string to sign and signature of req. */
static const struct key_slot *
sign(struct qo_sigv4_signer *s, const struct qo_sigv4_req *req,
    const char *secret, char *sig)
{
	const struct key_slot *k;
	char time[QO_AMZDATE_SIZE], hex[HEX_SIZE(SHA256_LEN)];

	buf_reset(&s->canon);
	buf_reset(&s->string);
	qo_amzdate_print(req->time, time);
	if ((k = key_get(s, secret, time, req)) == NULL ||
	    qo_sigv4_canonical(&s->canon, req, &s->at) == -1)
		return NULL;
	sha256_hex(s->canon.data, s->canon.len, hex);
	buf_adds(&s->string, QO_SIGV4_ALGORITHM "\n");
	buf_add(&s->string, time, sizeof(time) - 1);
	buf_addc(&s->string, '\n');
	buf_adds(&s->string, k->scope);
	buf_addc(&s->string, '\n');
	buf_add(&s->string, hex, sizeof(hex) - 1);
	sign_string(&k->key, s->string.data, s->string.len, sig);
	return k;
}

int
qo_sigv4_sign(struct qo_sigv4_signer *s, const struct qo_sigv4_req *req,
    const char *secret, char sig[static QO_SIGV4_SIG_SIZE])
{
	return sign(s, req, secret, sig) == NULL ? -1 : 0;
}

const char *
qo_sigv4_last_canonical(const struct qo_sigv4_signer *s)
{
	return s->canon.data;
}

const char *
qo_sigv4_last_string(const struct qo_sigv4_signer *s)
{
	return s->string.data;
}

int
qo_sigv4_authorization(struct qo_sigv4_signer *s,
    const struct qo_sigv4_req *req, const struct qo_sigv4_cred *cred,
    struct buf *out, char *sig)
{
	const struct key_slot *k;
	char mine[QO_SIGV4_SIG_SIZE];

	if ((k = sign(s, req, cred->secret_key, mine)) == NULL)
		return -1;
	buf_adds(out, QO_SIGV4_ALGORITHM " Credential=");
	buf_adds(out, cred->access_key);
	buf_addc(out, '/');
	buf_adds(out, k->scope);
	buf_adds(out, ", SignedHeaders=");
	buf_add(out, s->canon.data + s->at.names, s->at.names_len);
	buf_adds(out, ", Signature=");
	buf_adds(out, mine);
	if (sig != NULL)
		memcpy(sig, mine, sizeof(mine));
	return buf_failed(out) ? -1 : 0;
}

static void
add_param(struct buf *q, const char *name, const char *value, size_t len)
{
	buf_addc(q, '&');
	buf_adds(q, name);
	buf_addc(q, '=');
	(void)uri_encode(q, value, len, 0); /* the buffer remembers */
}

/* The request's own query and the parameters that presigning adds. */
static int
presign_query(struct qo_sigv4_signer *s, const struct qo_sigv4_req *req,
    const struct qo_sigv4_cred *cred, int64_t expires)
{
	char time[QO_AMZDATE_SIZE], scope[QO_SIGV4_SCOPE_SIZE];
	struct buf *q = &s->query;

	qo_amzdate_print(req->time, time);
	if (put_scope(scope, time, req) == -1)
		return -1;
	/* The list of header names is not known before they are sorted. */
	buf_reset(&s->canon);
	if (qo_sigv4_canonical(&s->canon, req, &s->at) == -1)
		return -1;
	buf_reset(&s->string);
	buf_adds(&s->string, cred->access_key);
	buf_addc(&s->string, '/');
	buf_adds(&s->string, scope);
	buf_reset(q);
	if (req->query != NULL)
		buf_adds(q, req->query);
	buf_adds(q, "&X-Amz-Algorithm=" QO_SIGV4_ALGORITHM);
	add_param(q, "X-Amz-Credential", s->string.data, s->string.len);
	add_param(q, "X-Amz-Date", time, strlen(time));
	buf_addf(q, "&X-Amz-Expires=%lld", (long long)expires);
	if (cred->session_token != NULL)
		add_param(q, "X-Amz-Security-Token", cred->session_token,
		    strlen(cred->session_token));
	add_param(q, "X-Amz-SignedHeaders", s->canon.data + s->at.names,
	    s->at.names_len);
	return buf_failed(q) ? -1 : 0;
}

int
qo_sigv4_presign(struct qo_sigv4_signer *s, const struct qo_sigv4_req *req,
    const struct qo_sigv4_cred *cred, int64_t expires, struct buf *out)
{
	struct qo_sigv4_req r = *req;
	char sig[QO_SIGV4_SIG_SIZE];

	if (expires < 1 || expires > QO_SIGV4_EXPIRES_MAX)
		return -1;
	if (r.payload_hash == NULL)
		r.payload_hash = QO_UNSIGNED_PAYLOAD;
	if (presign_query(s, &r, cred, expires) == -1)
		return -1;
	r.query = s->query.data;
	if (sign(s, &r, cred->secret_key, sig) == NULL)
		return -1;
	buf_add(out, s->canon.data + s->at.query, s->at.query_len);
	buf_adds(out, "&X-Amz-Signature=");
	buf_adds(out, sig);
	return buf_failed(out) ? -1 : 0;
}

int
qo_sigv4_chain_init(struct qo_sigv4_chain *c, struct qo_sigv4_signer *s,
    const struct qo_sigv4_req *req, const char *secret, const char *seed)
{
	const struct key_slot *k;

	qo_amzdate_print(req->time, c->time);
	if ((k = key_get(s, secret, c->time, req)) == NULL ||
	    strlcpy(c->last, seed, sizeof(c->last)) >= sizeof(c->last))
		return -1;
	c->key = k->key;
	memcpy(c->scope, k->scope, sizeof(c->scope));
	return 0;
}

static void
chain_link(struct qo_sigv4_chain *c, const char *algorithm, const char *empty,
    const uint8_t sha[static SHA256_LEN])
{
	char text[QO_SIGV4_SCOPE_SIZE + 320], hex[HEX_SIZE(SHA256_LEN)];
	int len;

	hex_encode(hex, sha, SHA256_LEN);
	len = snprintf(text, sizeof(text), "%s\n%s\n%s\n%s\n%s%s", algorithm,
	    c->time, c->scope, c->last, empty, hex);
	sign_string(&c->key, text, (size_t)len, c->last);
}

void
qo_sigv4_chain_chunk(struct qo_sigv4_chain *c,
    const uint8_t sha[static SHA256_LEN])
{
	chain_link(c, QO_SIGV4_ALGORITHM "-PAYLOAD", QO_SHA256_EMPTY "\n", sha);
}

void
qo_sigv4_chain_trailer(struct qo_sigv4_chain *c,
    const uint8_t sha[static SHA256_LEN])
{
	chain_link(c, QO_SIGV4_ALGORITHM "-TRAILER", "", sha);
}

void
qo_sigv4_chain_fini(struct qo_sigv4_chain *c)
{
	explicit_bzero(c, sizeof(*c));
}
