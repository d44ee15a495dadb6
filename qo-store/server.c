#include "auth.h"
#include "lifecycle_run.h"
#include "log.h"
#include "ops.h"
#include "replay.h"
#include "reply.h"
#include "server.h"
#include "utf8.h"
#include "wait.h"
#include "xalloc.h"

#define PARAMS_MAX 128
/* Documents: the largest are a thousand keys or ten thousand parts. */
#define TEXT_MAX         (64 * 1024)
#define LONG_TEXT_MAX    (4 << 20)
#define TROUBLE_EVERY_US (60 * QO_US_PER_SEC)

enum body_kind {
	BODY_NONE = 0,
	BODY_TEXT, /* a small document */
	BODY_LONG, /* a large one */
	BODY_OBJECT
};

static const struct op {
	enum access_kind access;
	enum body_kind body;
	void (*run)(struct request *r);
	int (*start)(struct request *r);
} ops[OP_COUNT] = {
	[OP_NONE] = { ACCESS_BUCKET_READ, BODY_NONE, NULL, NULL },
	[OP_PREFLIGHT] = { ACCESS_NONE, BODY_NONE, op_preflight, NULL },
	[OP_LIST_BUCKETS] = { ACCESS_ANY, BODY_NONE, op_list_buckets, NULL },
	[OP_SESSION_TOKEN] = { ACCESS_ANY, BODY_TEXT, op_session_token, NULL },
	[OP_BUCKET_CREATE] = { ACCESS_CREATE, BODY_TEXT, op_bucket_create,
	    NULL },
	[OP_BUCKET_DELETE] = { ACCESS_BUCKET_ADMIN, BODY_NONE, op_bucket_delete,
	    NULL },
	[OP_BUCKET_HEAD] = { ACCESS_BUCKET_LOOK, BODY_NONE, op_bucket_head,
	    NULL },
	[OP_BUCKET_LOCATION] = { ACCESS_BUCKET_LOOK, BODY_NONE,
	    op_bucket_location, NULL },
	[OP_BUCKET_VERSIONING_GET] = { ACCESS_BUCKET_LOOK, BODY_NONE,
	    op_versioning_get, NULL },
	[OP_BUCKET_VERSIONING_PUT] = { ACCESS_BUCKET_ADMIN, BODY_TEXT,
	    op_versioning_put, NULL },
	[OP_BUCKET_ACL_GET] = { ACCESS_BUCKET_READ, BODY_NONE,
	    op_bucket_acl_get, NULL },
	[OP_BUCKET_ACL_PUT] = { ACCESS_BUCKET_ADMIN, BODY_TEXT,
	    op_bucket_acl_put, NULL },
	[OP_BUCKET_CORS_GET] = { ACCESS_BUCKET_READ, BODY_NONE, op_cors_get,
	    NULL },
	[OP_BUCKET_CORS_PUT] = { ACCESS_BUCKET_ADMIN, BODY_TEXT, op_cors_put,
	    NULL },
	[OP_BUCKET_CORS_DELETE] = { ACCESS_BUCKET_ADMIN, BODY_NONE,
	    op_cors_delete, NULL },
	[OP_BUCKET_LIFECYCLE_GET] = { ACCESS_BUCKET_READ, BODY_NONE,
	    op_lifecycle_get, NULL },
	[OP_BUCKET_LIFECYCLE_PUT] = { ACCESS_BUCKET_ADMIN, BODY_TEXT,
	    op_lifecycle_put, NULL },
	[OP_BUCKET_LIFECYCLE_DELETE] = { ACCESS_BUCKET_ADMIN, BODY_NONE,
	    op_lifecycle_delete, NULL },
	[OP_BUCKET_STATIC] = { ACCESS_BUCKET_READ, BODY_NONE, op_bucket_static,
	    NULL },
	[OP_LIST_V1] = { ACCESS_LIST, BODY_NONE, op_list_v1, NULL },
	[OP_LIST_V2] = { ACCESS_LIST, BODY_NONE, op_list_v2, NULL },
	[OP_LIST_VERSIONS] = { ACCESS_LIST, BODY_NONE, op_list_versions, NULL },
	[OP_LIST_UPLOADS] = { ACCESS_LIST, BODY_NONE, op_list_uploads, NULL },
	[OP_MULTI_DELETE] = { ACCESS_DELETE_MANY, BODY_LONG, op_multi_delete,
	    NULL },
	[OP_OBJECT_GET] = { ACCESS_GET, BODY_NONE, op_object_get, NULL },
	[OP_OBJECT_HEAD] = { ACCESS_GET, BODY_NONE, op_object_get, NULL },
	[OP_OBJECT_PUT] = { ACCESS_PUT, BODY_OBJECT, op_object_put,
	    op_object_put_start },
	[OP_OBJECT_COPY] = { ACCESS_PUT, BODY_NONE, op_object_copy, NULL },
	[OP_OBJECT_DELETE] = { ACCESS_PUT, BODY_NONE, op_object_delete, NULL },
	[OP_OBJECT_ACL_GET] = { ACCESS_BUCKET_READ, BODY_NONE,
	    op_object_acl_get, NULL },
	[OP_OBJECT_ACL_PUT] = { ACCESS_BUCKET_ADMIN, BODY_TEXT,
	    op_object_acl_put, NULL },
	[OP_OBJECT_TAGGING_GET] = { ACCESS_GET, BODY_NONE, op_object_tagging,
	    NULL },
	[OP_UPLOAD_CREATE] = { ACCESS_PUT, BODY_NONE, op_upload_create, NULL },
	[OP_UPLOAD_PART] = { ACCESS_PUT, BODY_OBJECT, op_part_put,
	    op_part_put_start },
	[OP_UPLOAD_PART_COPY] = { ACCESS_PUT, BODY_NONE, op_part_copy, NULL },
	[OP_UPLOAD_PARTS] = { ACCESS_PUT, BODY_NONE, op_list_parts, NULL },
	[OP_UPLOAD_COMPLETE] = { ACCESS_PUT, BODY_LONG, op_upload_complete,
	    NULL },
	[OP_UPLOAD_ABORT] = { ACCESS_PUT, BODY_NONE, op_upload_abort, NULL },
};

/* A NUL or broken UTF-8 in the query has no meaning to S3. */
static bool
query_ok(const struct uri_query *q)
{
	const struct uri_pair *p;
	size_t i;

	for (i = 0; i < q->n; i++) {
		p = &q->pairs[i];
		if (strlen(p->name) != p->name_len ||
		    strlen(p->value) != p->value_len ||
		    !utf8_valid(p->value, p->value_len))
			return false;
	}
	return true;
}

static enum s3_err
parse_target(struct request *r)
{
	struct httpd_req *http = r->http;
	enum s3_err e;

	e = route_split(&r->mem, http->path, &r->bucket_name, &r->key);
	if (e != S3_OK)
		return e;
	if (*http->query != '\0' &&
	    (uri_query_parse(&r->query, http->query, PARAMS_MAX,
		 URI_PLUS_SPACE) == -1 ||
		!query_ok(&r->query)))
		return S3_INVALID_URI;
	route_find(&r->route, http->method, r->bucket_name, r->key, &r->query,
	    request_header(r, "x-amz-copy-source") != NULL);
	return S3_OK;
}

static enum s3_err
find_bucket(struct request *r)
{
	const char *expected;
	enum db_rc rc;

	if (*r->bucket_name == '\0' || r->route.op == OP_BUCKET_CREATE)
		return S3_OK;
	if ((rc = bcache_get(r->srv->buckets, r->bucket_name, &r->bucket)) !=
	    DB_OK)
		return reply_db_err(rc);
	expected = request_header(r, "x-amz-expected-bucket-owner");
	if (expected != NULL && strcmp(expected, r->bucket->b.owner) != 0)
		return S3_ACCESS_DENIED;
	return S3_OK;
}

static enum s3_err
allow(struct request *r)
{
	enum access_kind kind;
	const char *name;
	enum s3_err e;

	kind = ops[r->route.op].access;
	/* Whether a bucket exists is nothing an anonymous asker learns
	 * outside the public prefixes. */
	if (r->who.anonymous && kind != ACCESS_NONE &&
	    (kind != ACCESS_GET ||
		!prefix_set_has(&r->srv->conf->public_prefixes, r->key)))
		return S3_ACCESS_DENIED;
	if ((e = find_bucket(r)) != S3_OK)
		return e;
	if (r->route.op == OP_NONE && r->bucket == NULL)
		return r->route.none;
	name = kind == ACCESS_LIST ? request_param(r, "prefix") : r->key;
	if (!access_bucket(&r->who, kind,
		r->bucket != NULL ? &r->bucket->b : NULL,
		name != NULL ? name : "", &r->srv->conf->public_prefixes))
		return S3_ACCESS_DENIED;
	return r->route.op == OP_NONE ? r->route.none : S3_OK;
}

static void
reply_payload(struct request *r, enum s3_err e)
{
	const struct qo_sigv4_fault *f = r->payload.fault;

	if (f != NULL)
		reply_fault(r, f->status, f->code, f->message, NULL);
	else if (e == S3_UNAVAILABLE)
		reply_db(r, r->payload.rc);
	else
		reply_error(r, e);
}

static void
run(struct request *r)
{
	enum s3_err e;

	if ((e = payload_end(&r->payload)) != S3_OK) {
		reply_payload(r, e);
		return;
	}
	ops[r->route.op].run(r);
}

static void
take_body(struct request *r)
{
	const struct op *op = &ops[r->route.op];
	struct payload_limit limit;
	enum s3_err e;

	limit.object = op->body == BODY_OBJECT;
	limit.max = limit.object    ? request_max_object(r)
	    : op->body == BODY_LONG ? LONG_TEXT_MAX
				    : TEXT_MAX;
	if (limit.object && limit.max > r->srv->conf->max_body)
		limit.max = r->srv->conf->max_body;
	if ((e = payload_begin(&r->payload, r, &limit)) != S3_OK) {
		reply_error(r, e);
		return;
	}
	if (r->http->content_length == 0)
		run(r);
	else
		httpd_body_take(r->http, limit.wire_max);
}

static void
on_head(struct httpd_req *http, void *arg)
{
	struct server *s = arg;
	struct request *r;
	enum s3_err e;

	s->requests++;
	s->asked_at = loop_now(s->loop);
	r = request_new(s, http);
	http->user = r;
	if ((e = parse_target(r)) != S3_OK) {
		reply_error(r, e);
		return;
	}
	if (r->route.op == OP_PREFLIGHT) {
		(void)find_bucket(r);
		op_preflight(r);
		return;
	}
	if (auth_head(r) == -1)
		return;
	if ((e = allow(r)) != S3_OK) {
		reply_error(r, e);
		return;
	}
	if (ops[r->route.op].start != NULL && ops[r->route.op].start(r) == -1)
		return;
	take_body(r);
}

static void
on_body(struct httpd_req *http, const char *p, size_t len, void *arg)
{
	struct request *r = http->user;
	enum s3_err e;

	(void)arg;
	if ((e = payload_add(&r->payload, p, len)) == S3_OK)
		return;
	if (e == S3_UNAVAILABLE)
		server_trouble(r->srv, r->payload.rc);
	reply_payload(r, e);
}

static void
on_end(struct httpd_req *http, void *arg)
{
	(void)arg;
	run(http->user);
}

static void
on_gone(struct httpd_req *http, void *arg)
{
	struct request *r = http->user;

	(void)arg;
	if (r != NULL)
		request_gone(r);
}

/* The httpd refuses something itself: in S3's words, too. */
static void
on_error(int status, const char *reason, struct buf *body, const char **type,
    struct buf *headers, void *arg)
{
	struct server *s = arg;
	char id[REQUEST_ID_SIZE];
	const char *code;

	switch (status) {
	case 408:
		code = "RequestTimeout";
		break;
	case 413:
		code = "EntityTooLarge";
		break;
	case 417:
		code = "ExpectationFailed";
		break;
	case 501:
		code = "NotImplemented";
		break;
	case 503:
		code = "SlowDown";
		break;
	default:
		code = "BadRequest";
		break;
	}
	request_make_id(s, id);
	*type = "application/xml";
	s3err_body(body, code, reason, "/", id, NULL);
	buf_addf(headers,
	    "x-amz-request-id: %s\r\nx-amz-id-2: %s\r\n"
	    "X-Content-Type-Options: nosniff\r\n",
	    id, s->id2);
}

/* Once a minute while it lasts, not once a request. */
void
server_trouble(struct server *s, enum db_rc rc)
{
	struct qo_mono now;

	now = loop_now(s->loop);
	if (s->trouble_at.us != 0 &&
	    qo_mono_diff_us(s->trouble_at, now) < TROUBLE_EVERY_US)
		return;
	s->trouble_at = now;
	log_errorx("%s: writes are answered with 503 until that changes",
	    rc == DB_READONLY ? "the disk is read-only" : "the disk is full");
}

struct server *
server_new(struct loop *l, const struct store_conf *conf, struct db *db,
    struct keys *keys)
{
	static const struct httpd_ops hops = { on_head, on_body, on_end,
		on_gone, on_error };
	struct httpd_conf hc;
	struct server *s;

	s = xcalloc(1, sizeof(*s));
	s->loop = l;
	s->conf = conf;
	s->db = db;
	s->keys = keys;
	s->signer = qo_sigv4_new();
	s->buckets = bcache_new(db);
	s->wait = wait_new(l, db_seq(db));
	s->lifecycle = lifecycle_run_new(l, db, conf->lifecycle_ms,
	    conf->day_ms);
	if (conf->replay_cache)
		s->replay = replay_new();
	arc4random_buf(&s->next_id, sizeof(s->next_id));
	(void)snprintf(s->id2, sizeof(s->id2), "%08x%08x%08x%08x", arc4random(),
	    arc4random(), arc4random(), arc4random());
	httpd_conf_defaults(&hc);
	hc.connections = conf->connections;
	hc.head_ms /= conf->hasten;
	hc.idle_ms /= conf->hasten;
	hc.send_ms /= conf->hasten;
	/* The same bytes a second. */
	hc.body_ms /= conf->hasten;
	hc.body_ms_bytes /= (size_t)conf->hasten;
	s->httpd = httpd_new(l, &hc, &hops, s);
	return s;
}

void
server_set_keys(struct server *s, struct keys *keys)
{
	keys_free(s->keys);
	s->keys = keys;
}

void
server_drain(struct server *s, void (*done)(void *arg), void *arg)
{
	lifecycle_run_stop(s->lifecycle);
	wait_drain(s->wait);
	httpd_drain(s->httpd, done, arg);
}

void
server_free(struct server *s)
{
	struct request *r;

	if (s == NULL)
		return;
	lifecycle_run_stop(s->lifecycle);
	httpd_free(s->httpd);
	/* Gives back what is still queued; requests free themselves. */
	db_close(s->db);
	lifecycle_run_free(s->lifecycle);
	while ((r = s->unused) != NULL) {
		s->unused = r->next;
		payload_fini(&r->payload);
		free(r);
	}
	replay_free(s->replay);
	wait_free(s->wait);
	bcache_free(s->buckets);
	qo_sigv4_free(s->signer);
	keys_free(s->keys);
	free(s);
}
