/*
 * request.h - one S3 request on its way through the store.
 *
 * server.c makes it when a head has arrived, auth.c says who asks, the
 * operation's module does the work, reply.c answers and thereby ends it:
 * after any reply_* the request must not be touched.  It may outlive its
 * client: http is NULL then, and what the database borrows (all of it in
 * mem) stays until the operation is done.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "access.h"
#include "pool.h"
#include "bcache.h"
#include "db.h"
#include "httpd.h"
#include "payload.h"
#include "route.h"
#include "s3err.h"
#include "sigv4_verify.h"
#include "token.h"
#include "uri.h"

struct server;

#define REQUEST_ID_SIZE 17

struct request {
	struct server *srv;
	struct httpd_req *http; /* NULL: the client is gone */
	struct request *next;   /* in the server's list of unused ones */
	struct route route;
	const char *resource; /* path as sent */
	const char *bucket_name;
	const char *key;
	struct uri_query query;
	struct access_id who;
	struct key *cred;      /* held; NULL: anonymous or unknown */
	struct bucket *bucket; /* from the cache, held; or NULL */
	struct db_op op;
	bool busy; /* op is with the database */
	void (*then)(struct request *r);
	/* Of the operation's module: frees what hangs on state. */
	void *state;
	void (*state_free)(struct request *r);
	char id[REQUEST_ID_SIZE];
	/* All above is zero at the start, the rest is not. */
	struct payload payload;
	struct qo_sigv4_auth auth;
	char session_secret[TOKEN_SECRET_SIZE];
	struct pool mem;
};

/* A header of the request, or NULL. */
static inline const char *
request_header(const struct request *r, const char *name)
{
	return httpd_header_get(r->http, name);
}

/* The value of a query parameter, or NULL. */
const char *request_param(const struct request *r, const char *name);
/* A number in a query parameter: def when absent; S3_INVALID_ARGUMENT when
 * it is no number of 0 to max.  Larger than cap becomes cap. */
enum s3_err request_param_int(const struct request *r, const char *name,
    int64_t def, int64_t cap, int64_t *out);

/* The largest object that the asker may write. */
int64_t request_max_object(const struct request *r);
/* If-Match and If-None-Match of a write, into the operation. */
enum s3_err request_conditions(struct request *r);

void request_make_id(struct server *srv, char out[REQUEST_ID_SIZE]);
/* A fresh one for this head. */
struct request *request_new(struct server *srv, struct httpd_req *http);
/* Hands r->op to the database; then(r) when it is done, unless the client
 * has gone meanwhile. */
void request_submit(struct request *r, void (*then)(struct request *r));
/* The client is gone, or has its answer.  The memory goes when the database
 * has given the operation back. */
void request_gone(struct request *r);
void request_free(struct request *r);

#endif
