/*
 * list.c - ListObjects, old and new, and their long poll.
 */
#include "encode.h"
#include "ops.h"
#include "reply.h"
#include "server.h"
#include "wait.h"
#include "xml.h"
#include "xmlout.h"

#define LIST_KEYS_MAX 1000
#define LIST_DOC_MAX  (16 << 20)

struct list {
	struct request *r;
	struct waiter waiter;
	struct db_list q;
	const char *token; /* v2, as sent */
	bool v2, url, owner;
	size_t count;
	int64_t max;
	struct buf prefixes; /* <CommonPrefixes> come last */
	struct buf xml;
};

static void
on_object(const struct db_obj *o, void *arg)
{
	struct list *l = arg;
	struct buf *b = &l->xml;

	l->count++;
	buf_adds(b, "<Contents>");
	xmlout_key(b, "Key", o->key, l->url);
	xmlout_time(b, "LastModified", o->mtime_us);
	xmlout_etag(b, o->etag);
	xml_add_int(b, "Size", o->size);
	if (l->owner && o->meta.owner != NULL)
		xmlout_owner(b, "Owner", o->meta.owner);
	buf_adds(b, "<StorageClass>STANDARD</StorageClass></Contents>");
}

static void
on_prefix(const char *prefix, void *arg)
{
	struct list *l = arg;

	l->count++;
	buf_adds(&l->prefixes, "<CommonPrefixes>");
	xmlout_key(&l->prefixes, "Prefix", prefix, l->url);
	buf_adds(&l->prefixes, "</CommonPrefixes>");
}

/* A token is the place to go on from, in a form nobody takes for a key. */
static void
add_token(struct buf *b, const char *next)
{
	char text[B64_SIZE(DB_KEY_MAX + 1)];
	char raw[DB_KEY_MAX + 1];
	size_t len;

	len = strlen(next);
	raw[0] = '1';
	memcpy(raw + 1, next, len);
	b64_encode(text, raw, len + 1);
	xml_add(b, "NextContinuationToken", text);
}

static enum s3_err
parse_token(struct request *r, const char *token, const char **after)
{
	char raw[DB_KEY_MAX + 1];
	ptrdiff_t n;

	n = b64_decode(raw, sizeof(raw), token, strlen(token));
	if (n < 1 || raw[0] != '1' || memchr(raw, '\0', (size_t)n) != NULL)
		return S3_INVALID_ARGUMENT;
	*after = pool_strndup(&r->mem, raw + 1, (size_t)n - 1);
	return S3_OK;
}

static void
add_echo(struct list *l)
{
	struct request *r = l->r;
	struct buf *b = &l->xml;

	xml_add(b, "Name", r->bucket_name);
	xmlout_key(b, "Prefix", l->q.prefix, l->url);
	xmlout_key(b, "Delimiter", l->q.delimiter, l->url);
	xml_add_int(b, "MaxKeys", l->max);
	if (l->url)
		xml_add(b, "EncodingType", "url");
	if (l->v2) {
		xmlout_key(b, "ContinuationToken", l->token, false);
		xmlout_key(b, "StartAfter", request_param(r, "start-after"),
		    l->url);
	} else {
		xmlout_key(b, "Marker", l->q.after != NULL ? l->q.after : "",
		    l->url);
	}
}

static void
add_tail(struct list *l, bool more, const char *next)
{
	struct buf *b = &l->xml;

	buf_add(b, l->prefixes.data, l->prefixes.len);
	xmlout_bool(b, "IsTruncated", more);
	if (l->v2) {
		xml_add_int(b, "KeyCount", (int64_t)l->count);
		if (more)
			add_token(b, next);
	} else if (more && l->q.delimiter != NULL) {
		xmlout_key(b, "NextMarker", next, l->url);
	}
	xmlout_close(b, "ListBucketResult");
}

static void
list_run(struct list *l)
{
	struct request *r = l->r;
	struct db_list_cb cb = { on_object, on_prefix, l };
	enum db_rc rc = DB_OK;
	char *next = NULL;
	bool more = false;
	int64_t seq;

	/* Before the read: a key that comes between is seen twice at worst. */
	seq = wait_seq(r->srv->wait);
	buf_init(&l->xml, LIST_DOC_MAX);
	buf_init(&l->prefixes, LIST_DOC_MAX);
	xmlout_root(&l->xml, "ListBucketResult");
	add_echo(l);
	if (l->q.max > 0)
		rc = db_list(r->srv->db, r->bucket->b.id, &l->q, &cb, &more,
		    &next);
	if (rc == DB_OK)
		add_tail(l, more, next);
	free(next);
	if (buf_failed(&l->prefixes))
		rc = DB_ERROR;
	buf_fini(&l->prefixes);
	if (rc != DB_OK) {
		buf_fini(&l->xml);
		reply_db(r, rc);
		return;
	}
	httpd_header_addf(r->http, "x-qo-seq", "%lld", (long long)seq);
	reply_xml(r, 200, &l->xml);
}

static void
on_wake(struct waiter *wt)
{
	list_run(wt->arg);
}

static void
list_free(struct request *r)
{
	struct list *l = r->state;

	wait_cancel(&l->waiter);
}

static void
list_wait(struct list *l, const char *text)
{
	struct request *r = l->r;
	int64_t ms, since;

	if (wait_parse(text, &ms, &since) == -1) {
		reply_errorf(r, S3_INVALID_ARGUMENT,
		    "x-qo-wait must be: SECONDS; since=SEQ");
		return;
	}
	l->waiter.bucket = r->bucket->b.id;
	l->waiter.prefix = l->q.prefix;
	l->waiter.wake = on_wake;
	l->waiter.arg = l;
	switch (wait_hold(r->srv->wait, &l->waiter, since, ms)) {
	case WAIT_NOW:
		list_run(l);
		break;
	case WAIT_HELD:
		r->state = l;
		r->state_free = list_free;
		httpd_hold(r->http);
		break;
	case WAIT_FULL:
		reply_errorf(r, S3_SLOW_DOWN, "Too many requests are waiting");
		break;
	}
}

static enum s3_err
list_params(struct list *l)
{
	struct request *r = l->r;
	const char *p;
	enum s3_err e;

	l->q.prefix = request_param(r, "prefix");
	if (l->q.prefix == NULL)
		l->q.prefix = "";
	l->q.delimiter = request_param(r, "delimiter");
	if (l->q.delimiter != NULL && *l->q.delimiter == '\0')
		l->q.delimiter = NULL;
	e = request_param_int(r, "max-keys", LIST_KEYS_MAX, LIST_KEYS_MAX,
	    &l->max);
	if (e != S3_OK)
		return e;
	l->q.max = (size_t)l->max;
	if ((p = request_param(r, "encoding-type")) != NULL) {
		if (strcmp(p, "url") != 0)
			return S3_INVALID_ARGUMENT;
		l->url = true;
	}
	l->q.after = request_param(r, l->v2 ? "start-after" : "marker");
	if (l->v2 &&
	    (l->token = request_param(r, "continuation-token")) != NULL)
		e = parse_token(r, l->token, &l->q.after);
	if (l->q.after != NULL && *l->q.after == '\0')
		l->q.after = NULL;
	p = request_param(r, "fetch-owner");
	l->owner = !l->v2 || (p != NULL && strcmp(p, "true") == 0);
	return e;
}

static void
list_start(struct request *r, bool v2)
{
	const char *text;
	struct list *l;
	enum s3_err e;

	l = pool_calloc(&r->mem, 1, sizeof(*l));
	l->r = r;
	l->v2 = v2;
	if ((e = list_params(l)) != S3_OK)
		reply_error(r, e);
	else if ((text = request_header(r, "x-qo-wait")) != NULL)
		list_wait(l, text);
	else
		list_run(l);
}

void
op_list_v1(struct request *r)
{
	list_start(r, false);
}

void
op_list_v2(struct request *r)
{
	list_start(r, true);
}
