#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "s3_url.h"
#include "uri.h"
#include "xalloc.h"

#define URL_MAX 16384

/* Endpoints */

/* A bucket can not stand before an address of numbers. */
static bool
is_numeric(const char *host)
{
	return host[0] == '[' || strspn(host, "0123456789.:") == strlen(host);
}

/* host[:port]: is the host exactly this name? */
static bool
host_is(const char *host, const char *name)
{
	size_t len = strlen(name);

	return strncasecmp(host, name, len) == 0 &&
	    (host[len] == '\0' || host[len] == ':');
}

static bool
is_loopback(const char *host)
{
	return host_is(host, "localhost") || host_is(host, "[::1]") ||
	    (strncmp(host, "127.", 4) == 0 && is_numeric(host));
}

static bool
host_ok(const char *host)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789.-_:[]";

	return host[0] != '\0' && host[0] != ':' &&
	    strspn(host, good) == strlen(host);
}

/* The scheme's own port is not part of what is signed as host. */
static void
drop_default_port(char *host, const char *scheme)
{
	const char *port = strcmp(scheme, "http") == 0 ? ":80" : ":443";
	size_t len = strlen(host), plen = strlen(port);

	if (len > plen && strcmp(host + len - plen, port) == 0)
		host[len - plen] = '\0';
}

int
s3_endpoint_parse(struct s3_endpoint *e, const char *endpoint,
    const char *region, bool path_style, bool allow_http, struct qo_err *err)
{
	const char *rest;
	size_t len;

	memset(e, 0, sizeof(*e));
	e->path_style = path_style;
	if (endpoint == NULL || endpoint[0] == '\0') {
		e->scheme = xstrdup("https");
		e->host = xasprintf("s3.%s.amazonaws.com", region);
		return 0;
	}
	if (strncasecmp(endpoint, "https://", 8) == 0) {
		e->scheme = xstrdup("https");
		rest = endpoint + 8;
	} else if (strncasecmp(endpoint, "http://", 7) == 0) {
		e->scheme = xstrdup("http");
		rest = endpoint + 7;
	} else {
		qo_err_set(err,
		    "endpoint %s: must begin with https:// or "
		    "http://",
		    endpoint);
		return -1;
	}
	len = strlen(rest);
	if (len > 0 && rest[len - 1] == '/')
		len--;
	e->host = xmemdup0(rest, len);
	if (!host_ok(e->host)) {
		qo_err_set(err,
		    "endpoint %s: must be scheme://host[:port] and "
		    "nothing else",
		    endpoint);
		goto fail;
	}
	if (strcmp(e->scheme, "http") == 0 && !allow_http &&
	    !is_loopback(e->host)) {
		qo_err_set(err,
		    "endpoint %s: plain http beyond this machine; "
		    "use https, or set allow_http = yes",
		    endpoint);
		goto fail;
	}
	drop_default_port(e->host, e->scheme);
	if (is_numeric(e->host))
		e->path_style = true;
	return 0;
fail:
	s3_endpoint_fini(e);
	return -1;
}

void
s3_endpoint_fini(struct s3_endpoint *e)
{
	free(e->scheme);
	free(e->host);
	memset(e, 0, sizeof(*e));
}

/* Targets */

void
s3_target_init(struct s3_target *t)
{
	buf_init(&t->host, 512);
	buf_init(&t->path, URL_MAX);
	buf_init(&t->query, URL_MAX);
	buf_init(&t->base, 512 + 16);
	buf_init(&t->target, 2 * URL_MAX + 1);
}

void
s3_target_fini(struct s3_target *t)
{
	buf_fini(&t->host);
	buf_fini(&t->path);
	buf_fini(&t->query);
	buf_fini(&t->base);
	buf_fini(&t->target);
}

int
s3_target_object(struct s3_target *t, const struct s3_endpoint *e,
    const char *bucket, const char *key)
{
	/* A dot in the name would break the certificate's wildcard. */
	bool virtual = !e->path_style && bucket != NULL &&
	    (strchr(bucket, '.') == NULL || strcmp(e->scheme, "http") == 0);

	buf_reset(&t->host);
	buf_reset(&t->path);
	buf_reset(&t->query);
	if (virtual) {
		buf_adds(&t->host, bucket);
		buf_addc(&t->host, '.');
	}
	buf_adds(&t->host, e->host);
	buf_addc(&t->path, '/');
	if (bucket != NULL && !virtual) {
		uri_encode(&t->path, bucket, strlen(bucket), 0);
		if (key != NULL)
			buf_addc(&t->path, '/');
	}
	if (key != NULL)
		uri_encode(&t->path, key, strlen(key), URI_KEEP_SLASH);
	return buf_failed(&t->path) || buf_failed(&t->host) ? -1 : 0;
}

/* Adds name or name=value; called in sorted order. */
static void
add(struct s3_target *t, const char *name, const char *value)
{
	if (t->query.len > 0)
		buf_addc(&t->query, '&');
	buf_adds(&t->query, name);
	if (value == NULL)
		return;
	buf_addc(&t->query, '=');
	uri_encode(&t->query, value, strlen(value), 0);
}

static void
add_if(struct s3_target *t, const char *name, const char *value)
{
	if (value != NULL && value[0] != '\0')
		add(t, name, value);
}

static void
add_max_keys(struct s3_target *t, const struct qo_s3_req *r)
{
	char n[16];

	if (r->max_keys == 0)
		return;
	snprintf(n, sizeof(n), "%u", r->max_keys);
	add(t, "max-keys", n);
}

int
s3_target_build(struct s3_target *t, const struct s3_endpoint *e,
    const struct qo_s3_req *r)
{
	if (s3_target_object(t, e, r->bucket, r->key) == -1)
		return -1;
	/* Names in sorted order: that is how they are signed. */
	switch (r->op) {
	case QO_S3_GET:
	case QO_S3_HEAD:
	case QO_S3_DELETE:
		add_if(t, "versionId", r->version_id);
		break;
	case QO_S3_LIST:
		add_if(t, "continuation-token", r->continuation);
		add_if(t, "delimiter", r->delimiter);
		add(t, "encoding-type", "url");
		add(t, "list-type", "2");
		add_max_keys(t, r);
		add_if(t, "prefix", r->prefix);
		add_if(t, "start-after", r->start_after);
		break;
	case QO_S3_LIST_VERSIONS:
		add_if(t, "delimiter", r->delimiter);
		add(t, "encoding-type", "url");
		add_if(t, "key-marker", r->key_marker);
		add_max_keys(t, r);
		add_if(t, "prefix", r->prefix);
		add_if(t, "version-id-marker", r->version_marker);
		add(t, "versions", NULL);
		break;
	case QO_S3_DELETE_MANY:
		add(t, "delete", NULL);
		break;
	case QO_S3_VERSIONING_GET:
	case QO_S3_VERSIONING_PUT:
		add(t, "versioning", NULL);
		break;
	case QO_S3_CORS_PUT:
		add(t, "cors", NULL);
		break;
	case QO_S3_LIFECYCLE_GET:
	case QO_S3_LIFECYCLE_PUT:
		add(t, "lifecycle", NULL);
		break;
	case QO_S3_PUT:
	case QO_S3_BUCKET_CREATE:
	case QO_S3_BUCKET_HEAD:
	case QO_S3_BUCKET_DELETE:
	case QO_S3_OPS:
		break;
	}
	return s3_target_join(t, e, &t->query);
}

int
s3_target_join(struct s3_target *t, const struct s3_endpoint *e,
    const struct buf *query)
{
	buf_reset(&t->base);
	buf_adds(&t->base, e->scheme);
	buf_adds(&t->base, "://");
	buf_add(&t->base, t->host.data, t->host.len);
	buf_reset(&t->target);
	buf_add(&t->target, t->path.data, t->path.len);
	if (query->len > 0) {
		buf_addc(&t->target, '?');
		buf_add(&t->target, query->data, query->len);
	}
	return buf_failed(query) || buf_failed(&t->base) ||
		buf_failed(&t->target)
	    ? -1
	    : 0;
}
