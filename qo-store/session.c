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

/* NULL, or the code of what is wrong. */
static const char *
read_wish(const struct request *r, struct wish *w)
{
	struct uri_query form;
	const char *text, *why = NULL, *wrong = NULL;

	if (uri_query_parse(&form, r->payload.text.data, 32, URI_PLUS_SPACE) ==
	    -1)
		return "MalformedQueryString";
	w->scope = TOKEN_READ_ONLY;
	if ((text = param(r, &form, "Scope")) != NULL) {
		if (strcmp(text, "operator") == 0)
			w->scope = TOKEN_OPERATOR;
		else if (strcmp(text, "read-only") != 0)
			wrong = "ValidationError";
	}
	w->seconds = TOKEN_SECONDS;
	if ((text = param(r, &form, "DurationSeconds")) != NULL)
		w->seconds = strtonum(text, TOKEN_SECONDS_MIN,
		    TOKEN_SECONDS_MAX, &why);
	if (why != NULL)
		wrong = "ValidationError";
	text = param(r, &form, "Action");
	if (text == NULL || strcmp(text, "GetSessionToken") != 0)
		wrong = "InvalidAction";
	uri_query_fini(&form);
	return wrong;
}

static void
reply_token(struct request *r, const struct token *t)
{
	struct buf b;

	buf_init(&b, 64 * 1024);
	buf_adds(&b,
	    XMLOUT_DECL "<GetSessionTokenResponse xmlns=\"" XMLOUT_STS_NS
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
	const char *wrong;
	struct wish w;

	if (r->auth.payload == QO_PAYLOAD_BODY && auth_body(r) == -1)
		return;
	/* A session can not make another that outlives it. */
	if (r->who.anonymous || r->who.session) {
		reply_error(r, S3_ACCESS_DENIED);
		return;
	}
	if ((wrong = read_wish(r, &w)) != NULL) {
		reply_fault(r, 400, wrong,
		    "GetSessionToken with DurationSeconds of 60 to 129600 and "
		    "Scope of read-only or operator is all there is",
		    NULL);
		return;
	}
	token_mint(r->cred, w.scope,
	    qo_wall_local().us / QO_US_PER_SEC + w.seconds, &t);
	reply_token(r, &t);
	explicit_bzero(&t, sizeof(t));
}
