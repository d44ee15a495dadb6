#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_s3.h"
#include "httpd.h"
#include "rfc3339.h"
#include "xalloc.h"

#define OBJECTS_MAX 512
#define SLOW_MS     20
#define OLD_US      (15 * 60 * QO_US_PER_SEC)

struct object {
	char *key; /* "bucket/key" */
	struct buf body;
	unsigned etag;
	bool gone; /* deleted, and still listed by a stale LIST */
};

struct fake_s3 {
	struct loop *loop;
	struct httpd *httpd;
	unsigned faults;
	char url[64];
	struct object objects[OBJECTS_MAX];
	size_t n;
	unsigned etags;
};

/* A request whose body is being read, or whose write is put off. */
struct pending {
	struct fake_s3 *f;
	struct httpd_req *req;
	char *key;
	struct buf body;
	struct loop_timer timer;
};

static struct object *
find(struct fake_s3 *f, const char *key)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (strcmp(f->objects[i].key, key) == 0)
			return &f->objects[i];
	return NULL;
}

static struct object *
find_live(struct fake_s3 *f, const char *key)
{
	struct object *o = find(f, key);

	return o != NULL && !o->gone ? o : NULL;
}

static void
store(struct fake_s3 *f, const char *key, const struct buf *body)
{
	struct object *o = find(f, key);

	if (o == NULL) {
		ck_assert_uint_lt(f->n, OBJECTS_MAX);
		o = &f->objects[f->n++];
		o->key = xstrdup(key);
		buf_init(&o->body, 1 << 20);
	}
	buf_reset(&o->body);
	buf_add(&o->body, body->data, body->len);
	o->etag = ++f->etags;
	o->gone = false;
}

/* /bucket/a%20b -> bucket/a b */
static char *
decode(const char *s)
{
	char *out = xmalloc(strlen(s) + 1), *p = out;
	unsigned c;

	for (; *s != '\0'; s++) {
		if (*s == '%' && sscanf(s + 1, "%2x", &c) == 1) {
			*p++ = (char)c;
			s += 2;
		} else {
			*p++ = *s;
		}
	}
	*p = '\0';
	return out;
}

static char *
parameter(const char *query, const char *name)
{
	const char *p = query;
	char *raw, *out;
	size_t len = strlen(name);

	for (; p != NULL; p = strchr(p, '&')) {
		p += *p == '&';
		if (strncmp(p, name, len) == 0 && p[len] == '=') {
			raw = xmemdup0(p + len + 1, strcspn(p + len + 1, "&"));
			out = decode(raw);
			free(raw);
			return out;
		}
	}
	return NULL;
}

static void
answer(struct httpd_req *r, int status, const char *text)
{
	httpd_send(r, status, text, strlen(text));
}

static void
answer_error(struct httpd_req *r, int status, const char *code)
{
	char text[256];

	snprintf(text, sizeof(text),
	    "<Error><Code>%s</Code><Message>no</Message></Error>", code);
	answer(r, status, text);
}

/* The status that the conditions ask for; 200: go on. */
static int
judge(struct fake_s3 *f, const struct pending *p)
{
	const char *im = httpd_header_get(p->req, "if-match");
	const char *inm = httpd_header_get(p->req, "if-none-match");
	struct object *o = find_live(f, p->key);
	char etag[32];

	if (inm != NULL && o != NULL && !(f->faults & FAKE_S3_IGNORE_INM))
		return 412;
	if (im == NULL || (f->faults & FAKE_S3_IGNORE_IM))
		return 200;
	if (o == NULL)
		return 404;
	snprintf(etag, sizeof(etag),
	    f->faults & FAKE_S3_BARE_ETAG ? "%u" : "\"%u\"", o->etag);
	return strcmp(im, etag) == 0 ? 200 : 412;
}

static void
finish(struct pending *p)
{
	p->req->user = NULL;
	free(p->key);
	buf_fini(&p->body);
	free(p);
}

static void
write_now(struct pending *p)
{
	struct httpd_req *r = p->req;
	bool lies = (p->f->faults & FAKE_S3_LIES) != 0;

	store(p->f, p->key, &p->body);
	httpd_header_addf(r, "ETag", "\"%u\"", p->f->etags);
	finish(p);
	if (lies)
		answer_error(r, 500, "InternalError");
	else
		answer(r, 200, "");
}

static void
on_later(struct loop_timer *t)
{
	write_now(t->arg);
}

static void
end_put(struct pending *p)
{
	struct fake_s3 *f = p->f;
	struct httpd_req *r = p->req;
	int status = judge(f, p);

	if (f->faults & FAKE_S3_READ_ONLY)
		status = 403;
	if (status == 412 && (f->faults & FAKE_S3_LOSERS_500) &&
	    strncmp(p->body.data, "round ", 6) == 0)
		status = 500;
	if (status != 200) {
		finish(p);
		answer_error(r, status,
		    status == 412       ? "PreconditionFailed"
			: status == 500 ? "UnknownError"
			: status == 404 ? "NoSuchKey"
					: "AccessDenied");
		return;
	}
	if (f->faults & FAKE_S3_NOT_ATOMIC)
		loop_timer_set_ms(f->loop, &p->timer, SLOW_MS, on_later, p);
	else
		write_now(p);
}

static void
end_delete_many(struct pending *p)
{
	struct fake_s3 *f = p->f;
	struct httpd_req *r = p->req;
	struct object *o;
	char *s = p->body.data, *e, *key;

	while ((s = strstr(s, "<Key>")) != NULL) {
		s += 5;
		e = strstr(s, "</Key>");
		ck_assert_ptr_nonnull(e);
		*e = '\0';
		key = xasprintf("%s/%s", p->key, s);
		if ((o = find(f, key)) != NULL)
			o->gone = true;
		free(key);
		s = e + 1;
	}
	finish(p);
	if (f->faults & FAKE_S3_NO_BULK)
		answer_error(r, 501, "NotImplemented");
	else
		answer(r, 200, "<DeleteResult></DeleteResult>");
}

static int
by_key(const void *a, const void *b)
{
	const struct object *const *x = a, *const *y = b;

	return strcmp((*x)->key, (*y)->key);
}

static void
answer_list(struct fake_s3 *f, struct httpd_req *r, const char *bucket)
{
	struct object *list[OBJECTS_MAX];
	char *prefix = parameter(r->query, "prefix");
	char *after = parameter(r->query, "start-after");
	char *max = parameter(r->query, "max-keys");
	size_t i, n = 0, skip = strlen(bucket) + 1, shown = 0, limit = 1000;
	struct buf b;
	const char *key;

	if (max != NULL)
		limit = (size_t)strtonum(max, 0, 1000, NULL);
	for (i = 0; i < f->n; i++)
		if (!f->objects[i].gone || (f->faults & FAKE_S3_STALE_LIST))
			list[n++] = &f->objects[i];
	if (!(f->faults & FAKE_S3_UNORDERED))
		qsort(list, n, sizeof(list[0]), by_key);
	buf_init(&b, 1 << 20);
	buf_adds(&b, "<ListBucketResult>");
	for (i = 0; i < n; i++) {
		key = list[i]->key + skip;
		if (strncmp(list[i]->key, bucket, skip - 1) != 0 ||
		    strncmp(key, prefix, strlen(prefix)) != 0 ||
		    (after != NULL && strcmp(key, after) <= 0))
			continue;
		if (shown++ == limit)
			break;
		buf_addf(&b,
		    "<Contents><Key>%s</Key><LastModified>"
		    "2026-01-28T12:00:00.000Z</LastModified><ETag>&quot;%u"
		    "&quot;</ETag><Size>%zu</Size></Contents>",
		    key, list[i]->etag, list[i]->body.len);
	}
	buf_addf(&b, "<IsTruncated>%s</IsTruncated>%s</ListBucketResult>",
	    i < n ? "true" : "false",
	    i < n ? "<NextContinuationToken>x</NextContinuationToken>" : "");
	httpd_send_buf(r, 200, &b);
	free(prefix);
	free(after);
	free(max);
}

static void
answer_get(struct fake_s3 *f, struct httpd_req *r, char *key)
{
	struct object *o;

	if (strncmp(r->query, "versioning", 10) == 0) {
		answer(r, 200,
		    f->faults & FAKE_S3_UNVERSIONED
			? "<VersioningConfiguration/>"
			: "<VersioningConfiguration><Status>Enabled</Status>"
			  "</VersioningConfiguration>");
	} else if (strstr(r->query, "list-type=2") != NULL) {
		answer_list(f, r, key);
	} else if (r->query[0] != '\0') {
		answer_error(r, 501, "NotImplemented");
	} else if ((o = find_live(f, key)) == NULL) {
		answer_error(r, 404, "NoSuchKey");
	} else {
		httpd_header_addf(r, "ETag", "\"%u\"", o->etag);
		httpd_send(r, 200, o->body.data, o->body.len);
	}
}

static bool
is_old(const struct httpd_req *r)
{
	const char *date = httpd_header_get(r, "x-amz-date");
	struct qo_wall t;

	ck_assert_int_eq(qo_amzdate_parse(date, strlen(date), &t), 0);
	return qo_wall_local().us - t.us > OLD_US;
}

static void
on_head(struct httpd_req *r, void *arg)
{
	struct fake_s3 *f = arg;
	struct pending *p;
	struct object *o;
	char *key = decode(r->path + 1);
	size_t len = strlen(key);

	if (len > 0 && key[len - 1] == '/')
		key[len - 1] = '\0';
	if (is_old(r) && !(f->faults & FAKE_S3_OLD_OK)) {
		answer_error(r, 403, "RequestTimeTooSkewed");
	} else if (strcmp(r->method, "PUT") == 0 ||
	    strcmp(r->method, "POST") == 0) {
		p = xcalloc(1, sizeof(*p));
		p->f = f;
		p->req = r;
		p->key = key;
		buf_init(&p->body, 1 << 20);
		r->user = p;
		httpd_body_take(r, 1 << 20);
		return;
	} else if (strcmp(r->method, "DELETE") == 0) {
		if ((o = find(f, key)) != NULL)
			o->gone = true;
		answer(r, 204, "");
	} else {
		answer_get(f, r, key);
	}
	free(key);
}

static void
on_body(struct httpd_req *r, const char *data, size_t len, void *arg)
{
	struct pending *p = r->user;

	(void)arg;
	buf_add(&p->body, data, len);
}

static void
on_end(struct httpd_req *r, void *arg)
{
	(void)arg;
	if (strcmp(r->method, "POST") == 0)
		end_delete_many(r->user);
	else
		end_put(r->user);
}

static void
on_gone(struct httpd_req *r, void *arg)
{
	struct fake_s3 *f = arg;
	struct pending *p = r->user;

	if (p == NULL)
		return;
	loop_timer_del(f->loop, &p->timer);
	finish(p);
}

static const struct httpd_ops ops = { on_head, on_body, on_end, on_gone, NULL };

struct fake_s3 *
fake_s3_new(struct loop *l, unsigned faults)
{
	struct httpd_conf conf;
	struct fake_s3 *f;
	struct qo_err err;
	int port;

	f = xcalloc(1, sizeof(*f));
	f->loop = l;
	f->faults = faults;
	httpd_conf_defaults(&conf);
	f->httpd = httpd_new(l, &conf, &ops, f);
	ck_assert_msg(httpd_listen_tcp(f->httpd, "127.0.0.1:0", &port, &err) ==
		0,
	    "%s", err.msg);
	snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%d", port);
	return f;
}

void
fake_s3_free(struct fake_s3 *f)
{
	size_t i;

	httpd_free(f->httpd);
	for (i = 0; i < f->n; i++) {
		free(f->objects[i].key);
		buf_fini(&f->objects[i].body);
	}
	free(f);
}

const char *
fake_s3_url(const struct fake_s3 *f)
{
	return f->url;
}

size_t
fake_s3_count(const struct fake_s3 *f)
{
	size_t i, n = 0;

	for (i = 0; i < f->n; i++)
		n += !f->objects[i].gone;
	return n;
}
