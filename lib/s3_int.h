/*
 * s3_int.h - what the files of the S3 client share: the client and a request
 * under way.  Nobody else includes this.
 */
#ifndef QO_S3_INT_H
#define QO_S3_INT_H

#include "encode.h"
#include "hash.h"
#include "http.h"
#include "rfc3339.h"
#include "s3.h"
#include "s3_url.h"
#include "sigv4.h"

/* A request under way, with all of its attempts. */
struct qo_s3_flight {
	struct qo_s3 *s3;
	struct qo_s3_req *req;
	struct qo_s3_flight *prev, *next;
	struct s3_target target;
	struct http_req http;
	struct loop_timer wait; /* until the next attempt, or the verdict */
	struct qo_mono deadline;
	struct qo_wall signed_at;
	bool awaits_creds;
	bool reskewed, recredited; /* each of these is tried once */
	char sha256[2 * SHA256_LEN + 1];
	char md5[B64_SIZE(MD5_LEN)];
	char amz_date[QO_AMZDATE_SIZE];
	char if_match[QO_S3_ETAG_MAX];
	char range[64];
	struct buf auth;
};

struct qo_s3 {
	struct loop *loop;
	struct http *http;
	struct qo_credchain *chain;
	struct qo_sigv4_signer *signer;
	struct qo_s3xml *err_xml;
	struct s3_endpoint endpoint;
	struct qo_stime stime;
	struct qo_s3_stats stats;
	struct qo_s3_flight *flights;
	struct qo_s3_flight *spare; /* ended ones, memory kept; by next */
	size_t nspare;
	char *region;
	enum qo_s3_etag_form etag_form;
	int64_t request_timeout_ms, max_skew_ms;
	int budget, budget_spent; /* on retries; successes give back */
};

/* s3_flight.c: fills in what is the same for all attempts.  -1: too long. */
int s3_flight_prepare(struct qo_s3_flight *f);
/* Signs and sends, or waits for credentials, or ends the request. */
void s3_flight_attempt(struct qo_s3_flight *f);
/* Ends a request that was not sent, but not before the caller is back. */
void s3_flight_refuse(struct qo_s3_flight *f, enum qo_s3_outcome outcome,
    const struct qo_err *err);

#endif
