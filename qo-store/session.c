/*
 * session.c - GetSessionToken: temporary credentials for a browser.
 *
 * The parameters stand in the query or in a form body, as STS has it.
 * Besides Action, Version and DurationSeconds there is one of our own,
 * Scope: read-only (the default) or operator.
 */
#include "auth.h"
#include "clock.h"
#include "ops.h"
#include "reply.h"
#include "server.h"
#include "token.h"
#include "xml.h"
#include "xmlout.h"

#define STS_NS "https://sts.amazonaws.com/doc/2011-06-15/"

static const char *
param(const struct request *r, const struct uri_query *form, const char *name)
{
	const struct uri_pair *p;

	if ((p = uri_query_get(form, name)) == NULL)
		p = uri_query_get(&r->query, name);
	return p != NULL ? p->value : NULL;
}

struct wish {
	enum token_scope scope;
	int64_t seconds;
};

static enum s3_err
read_wish(const struct request *r, struct wish *w)
{
	struct uri_query form;
	const char *text, *why = NULL;
	enum s3_err e = S3_OK;

	if (uri_query_parse(&form, r->payload.text.data, 32, URI_PLUS_SPACE) ==
	    -1)
		return S3_INVALID_ARGUMENT;
	text = param(r, &form, "Action");
	if (text == NULL || strcmp(text, "GetSessionToken") != 0)
		e = S3_NOT_IMPLEMENTED;
	w->scope = TOKEN_READ_ONLY;
	if ((text = param(r, &form, "Scope")) != NULL) {
		if (strcmp(text, "operator") == 0)
			w->scope = TOKEN_OPERATOR;
		else if (strcmp(text, "read-only") != 0)
			e = S3_INVALID_ARGUMENT;
	}
	w->seconds = TOKEN_SECONDS;
	if ((text = param(r, &form, "DurationSeconds")) != NULL)
		w->seconds = strtonum(
		    text, TOKEN_SECONDS_MIN, TOKEN_SECONDS_MAX, &why);
	if (why != NULL)
		e = S3_INVALID_ARGUMENT;
	uri_query_fini(&form);
	return e;
}

static void
reply_token(struct request *r, const struct token *t)
{
	struct buf b;

	buf_init(&b, 64 * 1024);
	buf_adds(&b,
	    XMLOUT_DECL "<GetSessionTokenResponse xmlns=\"" STS_NS
			"\"><GetSessionTokenResult><Credentials>");
	xml_add(&b, "AccessKeyId", t->access_key);
	xml_add(&b, "SecretAccessKey", t->secret);
	xml_add(&b, "SessionToken", t->text);
	xmlout_time(&b, "Expiration", t->expires * QO_US_PER_SEC);
	buf_adds(&b,
	    "</Credentials></GetSessionTokenResult>"
	    "<ResponseMetadata>");
	xml_add(&b, "RequestId", r->id);
	buf_adds(&b, "</ResponseMetadata></GetSessionTokenResponse>");
	reply_header(r, "Cache-Control", "no-store");
	reply_xml(r, 200, &b);
}

void
op_session_token(struct request *r)
{
	struct token t;
	struct wish w;
	enum s3_err e;

	if (r->auth.payload == QO_PAYLOAD_BODY && auth_body(r) == -1)
		return;
	/* A session can not make another that outlives it. */
	if (r->who.anonymous || r->who.session) {
		reply_error(r, S3_ACCESS_DENIED);
		return;
	}
	if ((e = read_wish(r, &w)) != S3_OK) {
		reply_error(r, e);
		return;
	}
	token_mint(r->cred, w.scope,
	    qo_wall_local().us / QO_US_PER_SEC + w.seconds, &t);
	reply_token(r, &t);
	explicit_bzero(&t, sizeof(t));
}
