/*
 * s3_url.h - where a request goes: endpoint, host, path and query.
 *
 * Pure text.  A path is percent-encoded once and never cleaned up ('..' and
 * '//' are ordinary parts of a key), the query is written in the order in
 * which it is signed.
 */
#ifndef QO_S3_URL_H
#define QO_S3_URL_H

#include "s3.h"

struct s3_endpoint {
	char *scheme; /* "https" */
	char *host;   /* with the port when it is not the scheme's own */
	bool path_style;
};

/*
 * endpoint NULL: AWS's for the region.  -1 with *err: not http or https,
 * user info, a path or a query in it, no host, plain http beyond loopback
 * without allow_http.
 */
int s3_endpoint_parse(struct s3_endpoint *e, const char *endpoint,
    const char *region, bool path_style, bool allow_http, struct qo_err *err);
void s3_endpoint_fini(struct s3_endpoint *e);

/* A request's address. */
struct s3_target {
	struct buf host;   /* what the Host header will say */
	struct buf path;   /* encoded */
	struct buf query;  /* encoded, without the ?; "" when there is none */
	struct buf base;   /* scheme://host */
	struct buf target; /* path?query */
};

void s3_target_init(struct s3_target *t);
void s3_target_fini(struct s3_target *t);
/* Host and path of an object, a bucket (key NULL) or the service (bucket
 * NULL too), with an empty query.  -1 when it is too long. */
int s3_target_object(struct s3_target *t, const struct s3_endpoint *e,
    const char *bucket, const char *key);
/* All that the operation needs; -1 when it is too long. */
int s3_target_build(struct s3_target *t, const struct s3_endpoint *e,
    const struct qo_s3_req *r);
/* Makes base and target from scheme, host, path and the given query. */
int s3_target_join(struct s3_target *t, const struct s3_endpoint *e,
    const struct buf *query);

#endif
