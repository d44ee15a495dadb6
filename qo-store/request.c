#include "condition.h"
#include "log.h"
#include "request.h"
#include "server.h"
#include "wait.h"
#include "xalloc.h"

#define UNUSED_MAX 256

void
request_make_id(struct server *srv, char out[REQUEST_ID_SIZE])
{
	static const char hex[] = "0123456789ABCDEF";
	uint64_t n;
	int i;

	/* An odd factor: numbers that follow each other look different. */
	n = srv->next_id++ * UINT64_C(0x9E3779B97F4A7C15);
	for (i = 0; i < REQUEST_ID_SIZE - 1; i++, n >>= 4)
		out[i] = hex[n & 15];
	out[i] = '\0';
}

struct request *
request_new(struct server *srv, struct httpd_req *http)
{
	struct request *r;

	if ((r = srv->unused) != NULL) {
		srv->unused = r->next;
		srv->nunused--;
	} else {
		r = xmalloc(sizeof(*r));
		payload_init(&r->payload);
		pool_init(&r->mem);
	}
	memset(r, 0, offsetof(struct request, payload));
	r->srv = srv;
	r->http = http;
	r->op.copy_fd = -1;
	r->op.arg = r;
	request_make_id(srv, r->id);
	r->resource = pool_strdup(&r->mem, http->path);
	r->bucket_name = r->key = "";
	return r;
}

void
request_free(struct request *r)
{
	struct server *srv = r->srv;

	if (r->state_free != NULL)
		r->state_free(r);
	if (r->query.n > 0)
		uri_query_fini(&r->query);
	db_bucket_fini(&r->op.bucket);
	bucket_release(r->bucket);
	key_release(r->cred);
	if (r->who.session)
		explicit_bzero(r->session_secret, sizeof(r->session_secret));
	payload_reset(&r->payload);
	pool_reset(&r->mem);
	if (srv->nunused >= UNUSED_MAX) {
		payload_fini(&r->payload);
		free(r);
		return;
	}
	r->next = srv->unused;
	srv->unused = r;
	srv->nunused++;
}

void
request_gone(struct request *r)
{
	r->http = NULL;
	if (!r->busy)
		request_free(r);
}

static void
on_done(struct db_op *op)
{
	struct request *r = op->arg;

	r->busy = false;
	/* Also when nobody is left to be told: others wait for the key. */
	if (op->rc == DB_OK && op->out_seq > 0)
		wait_created(r->srv->wait, op->out_seq, op->bucket_id, op->key);
	if (op->rc == DB_FULL || op->rc == DB_READONLY)
		server_trouble(r->srv, op->rc);
	if (r->http == NULL)
		request_free(r);
	else
		r->then(r);
}

void
request_submit(struct request *r, void (*then)(struct request *r))
{
	r->then = then;
	r->busy = true;
	r->op.done = on_done;
	if (r->cred != NULL)
		r->op.max_bytes = r->cred->max_bytes;
	if (r->bucket != NULL)
		r->op.bucket_id = r->bucket->b.id;
	db_submit(r->srv->db, &r->op);
}

int64_t
request_max_object(const struct request *r)
{
	return r->cred != NULL && r->cred->max_object > 0 ? r->cred->max_object
							  : INT64_MAX;
}

enum s3_err
request_conditions(struct request *r)
{
	struct condition_write c;
	enum s3_err e;

	e = condition_write_parse(&r->mem, request_header(r, "if-match"),
	    request_header(r, "if-none-match"), r->srv->conf->strict_aws, &c);
	if (e != S3_OK)
		return e;
	r->op.if_match = c.if_match;
	r->op.if_none_match = c.if_none_match;
	return S3_OK;
}

const char *
request_param(const struct request *r, const char *name)
{
	const struct uri_pair *p;

	if (r->query.n == 0)
		return NULL;
	p = uri_query_get(&r->query, name);
	return p != NULL ? p->value : NULL;
}

enum s3_err
request_param_int(const struct request *r, const char *name, int64_t def,
    int64_t cap, int64_t *out)
{
	const char *text, *why;
	int64_t n;

	*out = def;
	if ((text = request_param(r, name)) == NULL || *text == '\0')
		return S3_OK;
	n = strtonum(text, 0, INT32_MAX, &why);
	if (why != NULL)
		return S3_INVALID_ARGUMENT;
	*out = n < cap ? n : cap;
	return S3_OK;
}
