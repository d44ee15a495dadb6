#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "creds_meta.h"
#include "envkeys.h"
#include "io.h"
#include "rfc3339.h"
#include "xalloc.h"

#define ANSWER_MAX    65536
#define META_TOTAL_MS 2000 /* no service at all must not hold us up long */
#define ECS_HOST      "http://169.254.170.2"
#define IMDS_HOST     "http://169.254.169.254"
#define ROLE_PATH     "/latest/meta-data/iam/security-credentials/"

enum meta_step {
	META_CONTAINER = 0, /* one GET gives the keys */
	META_TOKEN,         /* IMDSv2: a session token ... */
	META_ROLE,          /* ... the role's name ... */
	META_KEYS           /* ... its keys */
};

struct qo_creds_meta {
	struct loop *loop;
	struct http *http;
	struct http_req req;
	struct loop_task later; /* when there is nothing to ask */
	enum meta_step step;
	char *base;  /* the instance service's address */
	char *token; /* bearer or session token; a secret */
	char *url;
	struct qo_kv headers[1];
	void (*done)(enum qo_rc rc, const struct qo_creds *creds,
	    const struct qo_err *err, void *arg);
	void *arg;
};

static void on_answer(struct http_req *r);

static void
meta_free(struct qo_creds_meta *m)
{
	if (m->req.body_in.data != NULL)
		explicit_bzero(m->req.body_in.data, m->req.body_in.len);
	http_fini(&m->req);
	loop_defer_del(m->loop, &m->later);
	if (m->token != NULL)
		explicit_bzero(m->token, strlen(m->token));
	free(m->token);
	free(m->base);
	free(m->url);
	free(m);
}

static void
meta_end(struct qo_creds_meta *m, enum qo_rc rc, const struct qo_creds *creds,
    const struct qo_err *err)
{
	m->done(rc, creds, err, m->arg);
	meta_free(m);
}

static void
meta_ask(struct qo_creds_meta *m, const char *method, char *url,
    const char *header, const char *value)
{
	free(m->url);
	m->url = url;
	m->req.method = method;
	m->req.url = url;
	m->headers[0] = (struct qo_kv){ header, value };
	m->req.headers = m->headers;
	m->req.nheaders = header != NULL ? 1 : 0;
	m->req.response_max = ANSWER_MAX;
	m->req.first_byte_ms = META_TOTAL_MS;
	m->req.total_ms = META_TOTAL_MS;
	m->req.done = on_answer;
	m->req.arg = m;
	http_send(m->http, &m->req);
}

/* {"AccessKeyId":…,"SecretAccessKey":…,"Token":…,"Expiration":…} */
static int
parse_keys(const struct buf *text, const char *source, struct qo_creds *out,
    struct qo_err *err)
{
	yyjson_doc *doc;
	yyjson_val *root;
	const char *ak, *sk, *expires;
	int rv = -1;

	doc = yyjson_read(text->data, text->len, 0);
	root = yyjson_doc_get_root(doc);
	ak = yyjson_get_str(yyjson_obj_get(root, "AccessKeyId"));
	sk = yyjson_get_str(yyjson_obj_get(root, "SecretAccessKey"));
	expires = yyjson_get_str(yyjson_obj_get(root, "Expiration"));
	if (ak == NULL || sk == NULL) {
		qo_err_set(err, "%s: the answer holds no keys", source);
		goto out;
	}
	qo_creds_set(out, ak, sk, yyjson_get_str(yyjson_obj_get(root, "Token")),
	    source);
	if (expires != NULL &&
	    qo_rfc3339_parse(expires, strlen(expires), &out->expires) == -1) {
		qo_err_set(err, "%s: bad Expiration", source);
		qo_creds_fini(out);
		goto out;
	}
	rv = 0;
out:
	yyjson_doc_free(doc);
	return rv;
}

static void
got_keys(struct qo_creds_meta *m, const char *source)
{
	struct qo_creds creds;
	struct qo_err err;

	memset(&creds, 0, sizeof(creds));
	qo_err_reset(&err);
	if (parse_keys(&m->req.body_in, source, &creds, &err) == -1) {
		meta_end(m, QO_ERR, NULL, &err);
		return;
	}
	meta_end(m, QO_OK, &creds, &err);
	qo_creds_fini(&creds);
}

static void
meta_failed(struct qo_creds_meta *m)
{
	static const char *const what[] = { "container credentials",
		"instance metadata token", "instance role",
		"instance credentials" };
	struct qo_err err;

	qo_err_reset(&err);
	/* No instance service at all is the usual case outside AWS. */
	if (m->step == META_TOKEN && m->req.result != HTTP_DONE) {
		meta_end(m, QO_NOENT, NULL, &err);
		return;
	}
	if (m->req.result == HTTP_DONE)
		qo_err_set(&err, "%s: the service answered %d", what[m->step],
		    m->req.status);
	else
		qo_err_set(&err, "%s: %s", what[m->step], m->req.message);
	meta_end(m, QO_ERR, NULL, &err);
}

/* One word of printable ASCII: a token or a role name to send on. */
static bool
one_word(const struct buf *b)
{
	size_t i;

	for (i = 0; i < b->len; i++)
		if (b->data[i] <= ' ' || b->data[i] >= 0x7f)
			return false;
	return b->len > 0;
}

static void
on_answer(struct http_req *r)
{
	struct qo_creds_meta *m = r->arg;

	if (r->result != HTTP_DONE || r->status != 200) {
		meta_failed(m);
		return;
	}
	/* A role's list may end with a newline. */
	while (r->body_in.len > 0 &&
	    r->body_in.data[r->body_in.len - 1] == '\n')
		buf_truncate(&r->body_in, r->body_in.len - 1);
	switch (m->step) {
	case META_CONTAINER:
		got_keys(m, "container");
		return;
	case META_KEYS:
		got_keys(m, "instance");
		return;
	case META_TOKEN:
		if (!one_word(&r->body_in))
			break;
		m->token = xstrdup(r->body_in.data);
		m->step = META_ROLE;
		meta_ask(m, "GET", xasprintf("%s" ROLE_PATH, m->base),
		    "x-aws-ec2-metadata-token", m->token);
		return;
	case META_ROLE:
		if (!one_word(&r->body_in))
			break;
		m->step = META_KEYS;
		meta_ask(m, "GET",
		    xasprintf("%s" ROLE_PATH "%s", m->base, r->body_in.data),
		    "x-aws-ec2-metadata-token", m->token);
		return;
	}
	r->result = HTTP_GARBLED;
	snprintf(r->message, sizeof(r->message),
	    "not the answer of such a "
	    "service");
	meta_failed(m);
}

/* Keys travel in clear over http: only where nobody listens. */
static bool
uri_allowed(const char *uri)
{
	static const char *const plain[] = { "http://127.",
		"http://localhost:", "http://localhost/", "http://[::1]",
		"http://169.254.170.2/", "http://169.254.170.23/",
		"http://[fd00:ec2::23]" };
	size_t i;

	if (strncmp(uri, "https://", 8) == 0)
		return true;
	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (strncmp(uri, plain[i], strlen(plain[i])) == 0)
			return true;
	return false;
}

/* The bearer token of a container; 0, also when there is none to send. */
static int
container_token(struct qo_creds_meta *m, struct qo_err *err)
{
	const char *path = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *token = envkeys_get("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	struct buf b;
	int rv = -1;

	buf_init_secret(&b, ANSWER_MAX);
	if (path != NULL) {
		if (io_read_file(path, &b, err) == -1)
			goto out;
		while (b.len > 0 && b.data[b.len - 1] == '\n')
			buf_truncate(&b, b.len - 1);
	} else if (token != NULL) {
		buf_adds(&b, token);
	}
	if (b.len > 0) {
		if (strpbrk(b.data, "\r\n") != NULL) {
			qo_err_set(err,
			    "container authorization token: has a line break");
			goto out;
		}
		m->token = xstrdup(b.data);
	}
	rv = 0;
out:
	buf_fini(&b);
	return rv;
}

static enum qo_rc
ask_container(struct qo_creds_meta *m, struct qo_err *err)
{
	const char *rel = getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	char *url;

	if (rel == NULL && full == NULL)
		return QO_NOENT;
	if (rel == NULL && !uri_allowed(full)) {
		qo_err_set(err,
		    "AWS_CONTAINER_CREDENTIALS_FULL_URI: must be https, or "
		    "http to loopback or a container service's address");
		return QO_ERR;
	}
	if (container_token(m, err) == -1)
		return QO_ERR;
	url = rel != NULL
	    ? xasprintf("%s%s%s", ECS_HOST, rel[0] == '/' ? "" : "/", rel)
	    : xstrdup(full);
	m->step = META_CONTAINER;
	meta_ask(m, "GET", url, m->token != NULL ? "authorization" : NULL,
	    m->token);
	return QO_OK;
}

static enum qo_rc
ask_instance(struct qo_creds_meta *m)
{
	const char *off = getenv("AWS_EC2_METADATA_DISABLED");
	const char *base = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	size_t len;

	if (off != NULL && strcasecmp(off, "true") == 0)
		return QO_NOENT;
	m->base = xstrdup(base != NULL && base[0] != '\0' ? base : IMDS_HOST);
	len = strlen(m->base);
	while (len > 0 && m->base[len - 1] == '/')
		m->base[--len] = '\0';
	m->step = META_TOKEN;
	meta_ask(m, "PUT", xasprintf("%s/latest/api/token", m->base),
	    "x-aws-ec2-metadata-token-ttl-seconds", "21600");
	return QO_OK;
}

static void
nothing_to_ask(struct loop_task *t)
{
	struct qo_err err;

	qo_err_reset(&err);
	meta_end(t->arg, QO_NOENT, NULL, &err);
}

/* The message of a bad setting waits in the request until the loop runs. */
static void
bad_setting(struct loop_task *t)
{
	struct qo_creds_meta *m = t->arg;
	struct qo_err err;

	qo_err_reset(&err);
	qo_err_set(&err, "%s", m->req.message);
	meta_end(m, QO_ERR, NULL, &err);
}

struct qo_creds_meta *
qo_creds_meta_fetch(struct loop *l, struct http *h,
    void (*done)(enum qo_rc rc, const struct qo_creds *creds,
	const struct qo_err *err, void *arg),
    void *arg)
{
	struct qo_creds_meta *m;
	struct qo_err err;
	enum qo_rc rc;

	m = xcalloc(1, sizeof(*m));
	m->loop = l;
	m->http = h;
	m->done = done;
	m->arg = arg;
	qo_err_reset(&err);
	rc = ask_container(m, &err);
	if (rc == QO_NOENT)
		rc = ask_instance(m);
	if (rc == QO_NOENT) {
		loop_defer(l, &m->later, nothing_to_ask, m);
	} else if (rc != QO_OK) {
		snprintf(m->req.message, sizeof(m->req.message), "%.255s",
		    err.msg);
		loop_defer(l, &m->later, bad_setting, m);
	}
	return m;
}

void
qo_creds_meta_cancel(struct qo_creds_meta *m)
{
	if (m != NULL)
		meta_free(m);
}
