#include "auth.h"
#include "hash.h"
#include "replay.h"
#include "reply.h"
#include "server.h"
#include "token.h"
#include "xml.h"
#include "xmlout.h"

static void
reply_verdict(struct request *r, enum qo_sigv4_verdict v)
{
	const struct qo_sigv4_fault *f;
	const char *code;
	struct buf extra;

	f = qo_sigv4_fault(v, r->auth.presigned);
	buf_init(&extra, 4096);
	/* Clients read these and try again with the right values. */
	if (v == QO_SIGV4_REGION_BAD)
		xml_add(&extra, "Region", r->srv->conf->region);
	if (v == QO_SIGV4_SKEWED)
		xmlout_time(&extra, "ServerTime", qo_wall_local().us);
	code = f->code;
	if (v == QO_SIGV4_KEY_UNKNOWN && r->route.op == OP_SESSION_TOKEN)
		code = "InvalidClientTokenId"; /* STS's word for it */
	reply_fault(r, f->status, code, f->message, extra.data);
	buf_fini(&extra);
}

static void
got_fill(const struct request *r, struct qo_sigv4_got *got)
{
	got->method = r->http->method;
	got->path = r->http->path;
	got->query = r->http->query;
	/* struct qo_kv has the layout of struct httpd_header on purpose. */
	got->headers = (const struct qo_kv *)(const void *)r->http->headers;
	got->nheaders = r->http->nheaders;
	got->plus_space = true;
}

static void
who_is_key(struct request *r, const struct key *k)
{
	r->who.anonymous = false;
	r->who.session = false;
	r->who.owner = k->owner;
	r->who.may_read = k->read;
	r->who.may_write = k->write;
	r->who.prefixes = k->prefixes.n > 0 ? &k->prefixes : NULL;
	r->who.may_admin = k->read && k->write && k->prefixes.n == 0;
}

/* 0 with r->cred; -1 after an answer. */
static int
find_session(struct request *r)
{
	struct token t;
	int64_t now;

	now = qo_wall_local().us / QO_US_PER_SEC;
	switch (token_check(r->srv->keys, r->auth.session_token, now, &t,
	    &r->cred)) {
	case TOKEN_OK:
		break;
	case TOKEN_BAD:
		reply_error(r, S3_INVALID_TOKEN);
		return -1;
	case TOKEN_EXPIRED:
		reply_error(r, S3_EXPIRED_TOKEN);
		return -1;
	}
	if (strcmp(t.access_key, r->auth.access_key) != 0) {
		reply_error(r, S3_INVALID_TOKEN);
		return -1;
	}
	who_is_key(r, r->cred);
	r->who.session = true;
	r->who.may_admin = false;
	if (t.scope == TOKEN_READ_ONLY)
		r->who.may_write = false;
	strlcpy(r->session_secret, t.secret, sizeof(r->session_secret));
	explicit_bzero(&t, sizeof(t));
	return 0;
}

static const char *
secret(const struct request *r)
{
	if (r->cred == NULL)
		return NULL;
	return r->who.session ? r->session_secret : r->cred->secret_key;
}

/* Reading twice harms nobody. */
static bool
is_write(const struct request *r)
{
	return strcmp(r->http->method, "GET") != 0 &&
	    strcmp(r->http->method, "HEAD") != 0;
}

static enum s3_err
check_repeat(struct request *r)
{
	if (r->srv->replay == NULL || !is_write(r))
		return S3_OK;
	switch (replay_take(r->srv->replay, &r->auth, qo_wall_local())) {
	case REPLAY_NEW:
		break;
	case REPLAY_SEEN:
		return S3_ACCESS_DENIED;
	case REPLAY_FULL:
		return S3_SLOW_DOWN;
	}
	return S3_OK;
}

/* A key pays for what it has signed, not for what others say it has. */
static int
check(struct request *r, const char *body_sha)
{
	enum qo_sigv4_verdict v;
	struct qo_sigv4_got got;
	enum s3_err e = S3_SLOW_DOWN;

	got_fill(r, &got);
	v = qo_sigv4_check(r->srv->signer, &got, &r->auth, secret(r), body_sha);
	if (v != QO_SIGV4_OK) {
		reply_verdict(r, v);
		return -1;
	}
	if (rate_take(&r->cred->rate, loop_now(r->srv->loop)))
		e = check_repeat(r);
	if (e == S3_OK)
		return 0;
	reply_error(r, e);
	return -1;
}

int
auth_head(struct request *r)
{
	struct qo_sigv4_rules rules;
	enum qo_sigv4_verdict v;
	struct qo_sigv4_got got;

	rules.region = r->srv->conf->region;
	rules.sts = r->route.op == OP_SESSION_TOKEN;
	got_fill(r, &got);
	v = qo_sigv4_parse(&got, &rules, qo_wall_local(), &r->auth);
	if (v == QO_SIGV4_ANONYMOUS) {
		r->who.anonymous = true;
		r->who.owner = "";
		r->auth.payload = QO_PAYLOAD_UNSIGNED;
		return 0;
	}
	if (v != QO_SIGV4_OK) {
		reply_verdict(r, v);
		return -1;
	}
	if (r->auth.session_token[0] != '\0') {
		if (find_session(r) == -1)
			return -1;
	} else {
		r->cred = keys_find(r->srv->keys, r->auth.access_key);
		if (r->cred != NULL)
			who_is_key(r, r->cred);
	}
	if (r->auth.payload == QO_PAYLOAD_BODY)
		return 0;
	return check(r, NULL);
}

int
auth_body(struct request *r)
{
	char hex[2 * SHA256_LEN + 1];

	sha256_hex(r->payload.text.data, r->payload.text.len, hex);
	return check(r, hex);
}

int
auth_chain(struct request *r, struct qo_sigv4_chain *chain)
{
	return qo_sigv4_auth_chain(&r->auth, r->srv->signer, secret(r), chain);
}
