/*
 * s3.h - the S3 client: requests are objects with a completion callback.
 *
 * Fill in a request, send it, look at req->res in done.  Everything runs on
 * one event loop; nothing blocks but qo_s3_wait, the synchronous wrapper for
 * command lines and tests.
 *
 * A request is tried again (full jitter, a deadline, a budget for the whole
 * process) when nothing or nothing definite came back.  What is left is a
 * named outcome.  A conditional PUT that was once sent without a definite
 * answer says so in res.maybe_applied, whatever its last answer was: its
 * caller resolves that by reading (rule R5).
 *
 * Requests are signed with server time, learned from the Date of every
 * answer.
 */
#ifndef QO_S3_H
#define QO_S3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "clock.h"
#include "creds.h"
#include "err.h"
#include "loop.h"
#include "s3xml.h"
#include "stime.h"

#define QO_S3_ETAG_MAX    128
#define QO_S3_VERSION_MAX 1025
#define QO_S3_BODY_MAX    (16 * 1024 * 1024) /* default cap of an answer */

struct qo_s3;

enum qo_s3_op {
	QO_S3_GET = 0,
	QO_S3_HEAD,
	QO_S3_PUT,
	QO_S3_DELETE,
	QO_S3_DELETE_MANY, /* this and the _PUTs: body from s3body.h */
	QO_S3_LIST,
	QO_S3_LIST_VERSIONS,
	QO_S3_BUCKET_CREATE,
	QO_S3_BUCKET_HEAD,
	QO_S3_BUCKET_DELETE,
	QO_S3_VERSIONING_GET,
	QO_S3_VERSIONING_PUT,
	QO_S3_CORS_PUT,
	QO_S3_LIFECYCLE_PUT,
	QO_S3_LIFECYCLE_GET,
	QO_S3_OPS /* how many */
};

enum qo_s3_outcome {
	QO_S3_OK = 0,
	QO_S3_NOT_MODIFIED, /* 304 to a GET with If-None-Match */
	QO_S3_NOT_FOUND,    /* 404 */
	QO_S3_PRECONDITION, /* 412 */
	QO_S3_CONFLICT,     /* 409 */
	QO_S3_SLOW_DOWN,    /* 503, 429 */
	QO_S3_DENIED,       /* 401, 403; also: no credentials */
	QO_S3_AMBIGUOUS,    /* sent, and no answer or a 5xx */
	QO_S3_UNREACHABLE,  /* not sent */
	QO_S3_BAD_RESPONSE, /* an answer that no S3 store gives */
	QO_S3_TOO_LARGE,    /* the answer, or the request says the store */
	QO_S3_UNSUPPORTED,  /* 501 */
	QO_S3_WRONG_REGION, /* 301, 307, or 400 naming another region */
	QO_S3_REJECTED,     /* any other 4xx: the request itself is wrong */
	QO_S3_OUTCOMES      /* how many */
};

enum qo_s3_etag_form {
	QO_S3_ETAG_QUOTED = 0, /* If-Match as received, quotes included */
	QO_S3_ETAG_BARE        /* some stores take only the bare form */
};

struct qo_s3_conf {
	const char *endpoint; /* "https://host[:port]"; NULL: AWS */
	const char *region;
	bool path_style;
	bool allow_http; /* plain http beyond loopback */
	enum qo_s3_etag_form etag_form;
	const char *ca_file;                           /* NULL: the system's */
	const char *unix_socket;                       /* NULL: TCP */
	const char *access_key, *secret_key, *profile; /* see creds.h */
	size_t max_connections;
	int64_t request_timeout_ms; /* one attempt */
	int64_t max_skew_ms;        /* local clock: reported beyond */
};

struct qo_s3_res {
	enum qo_s3_outcome outcome;
	int status; /* of the last answer; 0: none came */
	unsigned attempts;
	bool maybe_applied; /* an attempt was sent, its fate is unknown */
	bool delete_marker;
	char etag[QO_S3_ETAG_MAX];    /* as received; "" when there is none */
	char *version_id;             /* NULL when there is none */
	struct qo_wall last_modified; /* us == 0: none */
	int64_t length;               /* Content-Length; -1: none */
	int64_t seq;                  /* x-qo-seq of a LIST; -1: none */
	struct buf body; /* of a GET, of LIFECYCLE_GET; may be taken */
	/* The parsed answer, NULL with other requests; borrowed from xml, good
	 * until the request is sent again or fini. */
	const struct qo_s3_list *list;      /* LIST, LIST_VERSIONS */
	const struct qo_s3_delete *deleted; /* DELETE_MANY */
	enum qo_s3_versioning versioning;   /* VERSIONING_GET */
	struct qo_s3xml *xml;
	struct qo_err err; /* outcome != OK: a line for a person */
};

struct qo_s3_req {
	/* in: borrowed until done */
	enum qo_s3_op op;
	const char *bucket;
	const char *key;
	const char *version_id;    /* GET, HEAD, DELETE */
	const char *if_match;      /* an ETag as received */
	const char *if_none_match; /* "*" on PUT; an ETag on GET */
	const char *content_type;
	const void *body;
	size_t body_len;
	int64_t range_first, range_len; /* GET; len 0: all */
	const char *prefix, *delimiter, *start_after, *continuation;
	const char *key_marker, *version_marker;
	unsigned max_keys;     /* 0: the store's default */
	const char *wait;      /* x-qo-wait of a LIST */
	int64_t wait_ms;       /* how long that may hold the answer */
	int64_t deadline_ms;   /* all attempts together; 0: 30 s */
	size_t response_max;   /* 0: QO_S3_BODY_MAX */
	unsigned max_attempts; /* 0: 5 */
	/* For the probe: signed as of so long ago, and not mended when it is
	 * refused for that. */
	int64_t signed_ago_ms;
	void (*done)(struct qo_s3_req *r);
	void *arg;

	struct qo_s3_res res;
	struct qo_s3_flight *flight; /* private: while under way */
};

/* conf is copied.  NULL with *err: an endpoint that can not be used. */
struct qo_s3 *qo_s3_new(struct loop *l, const struct qo_s3_conf *conf,
    struct qo_err *err);
/* Cancels what is under way (done is not called). */
void qo_s3_free(struct qo_s3 *s3);

void qo_s3_req_init(struct qo_s3_req *r, enum qo_s3_op op, const char *bucket,
    const char *key);
/* Cancels when under way, frees the result. */
void qo_s3_req_fini(struct qo_s3_req *r);
/* Never calls done before it returns.  A request may be sent again after
 * done; the old result is dropped. */
void qo_s3_send(struct qo_s3 *s3, struct qo_s3_req *r);
void qo_s3_cancel(struct qo_s3_req *r);
/* Sends (done is not used) and runs the loop until the answer is there. */
enum qo_s3_outcome qo_s3_wait(struct qo_s3 *s3, struct qo_s3_req *r);

/* A URL that carries its own signature.  method GET or PUT; if_match may be
 * NULL, else the client must send it.  expires_s 1 to 604800. */
int qo_s3_presign(struct qo_s3 *s3, const char *method, const char *bucket,
    const char *key, const char *if_match, int64_t expires_s, struct buf *url,
    struct qo_err *err);

/* Server time (section 7 of the design).  False before the first Date. */
bool qo_s3_now(struct qo_s3 *s3, struct qo_wall *lo, struct qo_wall *mid,
    struct qo_wall *hi);
void qo_s3_set_etag_form(struct qo_s3 *s3, enum qo_s3_etag_form form);

struct qo_s3_stats {
	uint64_t requests[QO_S3_OPS];                 /* attempts sent */
	uint64_t outcomes[QO_S3_OPS][QO_S3_OUTCOMES]; /* requests ended */
	uint64_t retries;
	uint64_t retries_refused; /* the budget was used up */
	uint64_t bytes_out, bytes_in;
};
/* Borrowed; counts from qo_s3_new on. */
const struct qo_s3_stats *qo_s3_stats(const struct qo_s3 *s3);
/* How far the local clock is from server time, in ms, when that is beyond
 * conf.max_skew_ms; else 0.  The program reports it. */
int64_t qo_s3_skew_ms(const struct qo_s3 *s3);
/* The clock was corrected at or after that time (rule R3: start again). */
bool qo_s3_corrected_since(const struct qo_s3 *s3, struct qo_mono since);

const char *qo_s3_op_name(enum qo_s3_op op);          /* "GET", "LIST" */
const char *qo_s3_outcome_name(enum qo_s3_outcome o); /* "not found" */
/* What the queue does with it. */
enum qo_rc qo_s3_outcome_rc(enum qo_s3_outcome o);

#endif
