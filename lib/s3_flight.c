/*
 * One request under way: sign, send, judge the answer, try again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "retry.h"
#include "s3_answer.h"
#include "s3_int.h"

#define MAX_ATTEMPTS    5
#define RETRY_BASE_MS   100
#define RETRY_CAP_MS    5000
#define SKEW_REFUSED_US (14 * 60 * QO_US_PER_SEC) /* S3 allows 15 minutes */
/* What a retry costs and a success brings back, as the AWS SDKs count it. */
#define BUDGET_RETRY   5
#define BUDGET_TIMEOUT 10
#define BUDGET_REFUND  1

static void on_attempt_done(struct http_req *h);

/* What is the same for all attempts */

static const char *
method_of(enum qo_s3_op op)
{
	switch (op) {
	case QO_S3_GET:
	case QO_S3_LIST:
	case QO_S3_LIST_VERSIONS:
	case QO_S3_VERSIONING_GET:
	case QO_S3_LIFECYCLE_GET:
		return "GET";
	case QO_S3_HEAD:
	case QO_S3_BUCKET_HEAD:
		return "HEAD";
	case QO_S3_PUT:
	case QO_S3_BUCKET_CREATE:
	case QO_S3_VERSIONING_PUT:
	case QO_S3_CORS_PUT:
	case QO_S3_LIFECYCLE_PUT:
		return "PUT";
	case QO_S3_DELETE:
	case QO_S3_BUCKET_DELETE:
		return "DELETE";
	case QO_S3_DELETE_MANY:
		return "POST";
	case QO_S3_OPS:
		break;
	}
	qo_bug("s3: no method for operation %d", (int)op);
}

/* Some stores take only the bare form of an ETag in If-Match. */
static int
fill_if_match(struct qo_s3_flight *f)
{
	const char *tag = f->req->if_match;
	size_t len;

	if (tag == NULL)
		return 0;
	len = strlen(tag);
	if (f->s3->etag_form == QO_S3_ETAG_BARE && len >= 2 && tag[0] == '"' &&
	    tag[len - 1] == '"') {
		tag++;
		len -= 2;
	}
	if (len >= sizeof(f->if_match))
		return -1;
	memcpy(f->if_match, tag, len);
	f->if_match[len] = '\0';
	return 0;
}

/* What is the same for all attempts. */
int
s3_flight_prepare(struct qo_s3_flight *f)
{
	const struct qo_s3_req *r = f->req;
	uint8_t md5[MD5_LEN];

	if (s3_target_build(&f->target, &f->s3->endpoint, r) == -1 ||
	    fill_if_match(f) == -1)
		return -1;
	sha256_hex(r->body_len > 0 ? r->body : "", r->body_len, f->sha256);
	switch (r->op) {
	case QO_S3_DELETE_MANY:
	case QO_S3_VERSIONING_PUT:
	case QO_S3_CORS_PUT:
	case QO_S3_LIFECYCLE_PUT:
		/* S3 wants a checksum here; this one every store knows. */
		hash_bytes(HASH_MD5, r->body, r->body_len, md5);
		b64_encode(f->md5, md5, sizeof(md5));
		break;
	case QO_S3_GET:
		if (r->range_len > 0)
			snprintf(f->range, sizeof(f->range), "bytes=%lld-%lld",
			    (long long)r->range_first,
			    (long long)(r->range_first + r->range_len - 1));
		break;
	case QO_S3_HEAD:
	case QO_S3_PUT:
	case QO_S3_DELETE:
	case QO_S3_LIST:
	case QO_S3_LIST_VERSIONS:
	case QO_S3_BUCKET_CREATE:
	case QO_S3_BUCKET_HEAD:
	case QO_S3_BUCKET_DELETE:
	case QO_S3_VERSIONING_GET:
	case QO_S3_LIFECYCLE_GET:
	case QO_S3_OPS:
		break;
	}
	f->http.method = method_of(r->op);
	f->http.url = f->target.base.data;
	f->http.target = f->target.target.data;
	f->http.body = r->body;
	f->http.body_len = r->body_len;
	f->http.response_max = r->response_max > 0 ? r->response_max
						   : QO_S3_BODY_MAX;
	f->http.done = on_attempt_done;
	f->http.arg = f;
	return 0;
}

/* One attempt */

/* The headers but authorization, which covers them. */
static size_t
fill_headers(struct qo_s3_flight *f, const struct qo_creds *creds,
    struct qo_kv *kv)
{
	const struct qo_s3_req *r = f->req;
	size_t n = 0;

	kv[n++] = (struct qo_kv){ "host", f->target.host.data };
	kv[n++] = (struct qo_kv){ "x-amz-content-sha256", f->sha256 };
	kv[n++] = (struct qo_kv){ "x-amz-date", f->amz_date };
	if (creds->session_token != NULL)
		kv[n++] = (struct qo_kv){ "x-amz-security-token",
			creds->session_token };
	if (f->if_match[0] != '\0')
		kv[n++] = (struct qo_kv){ "if-match", f->if_match };
	if (r->if_none_match != NULL)
		kv[n++] = (struct qo_kv){ "if-none-match", r->if_none_match };
	if (r->content_type != NULL)
		kv[n++] = (struct qo_kv){ "content-type", r->content_type };
	if (f->range[0] != '\0')
		kv[n++] = (struct qo_kv){ "range", f->range };
	if (f->md5[0] != '\0')
		kv[n++] = (struct qo_kv){ "content-md5", f->md5 };
	if (r->wait != NULL)
		kv[n++] = (struct qo_kv){ "x-qo-wait", r->wait };
	return n;
}

static int
sign(struct qo_s3_flight *f, const struct qo_creds *creds,
    const struct qo_kv *kv, size_t n, struct qo_wall now)
{
	struct qo_sigv4_cred cred = { creds->access_key, creds->secret_key,
		creds->session_token };
	struct qo_sigv4_req s;

	memset(&s, 0, sizeof(s));
	s.method = f->http.method;
	s.path = f->target.path.data;
	s.query = f->target.query.data;
	s.headers = kv;
	s.nheaders = n;
	s.payload_hash = f->sha256;
	s.region = f->s3->region;
	s.service = "s3";
	s.time = now;
	buf_reset(&f->auth);
	return qo_sigv4_authorization(f->s3->signer, &s, &cred, &f->auth, NULL);
}

static void
land(struct qo_s3_flight *f)
{
	struct qo_s3_req *r = f->req;
	struct qo_s3 *s3 = f->s3;

	s3->stats.outcomes[r->op][r->res.outcome]++;
	if (r->res.outcome == QO_S3_OK && s3->budget_spent >= BUDGET_REFUND)
		s3->budget_spent -= BUDGET_REFUND;
	qo_s3_cancel(r); /* frees the flight */
	r->done(r);
}

static void
on_verdict(struct loop_timer *t)
{
	land(t->arg);
}

void
s3_flight_refuse(struct qo_s3_flight *f, enum qo_s3_outcome outcome,
    const struct qo_err *err)
{
	f->req->res.outcome = outcome;
	f->req->res.err = *err;
	loop_timer_set_ms(f->s3->loop, &f->wait, 0, on_verdict, f);
}

void
s3_flight_attempt(struct qo_s3_flight *f)
{
	struct qo_kv kv[HTTP_HEADERS_MAX];
	const struct qo_creds *creds;
	struct qo_s3 *s3 = f->s3;
	struct qo_s3_req *r = f->req;
	struct qo_wall now;
	struct qo_err err;
	int64_t left;
	size_t n;
	enum qo_rc rc;

	qo_err_reset(&err);
	qo_s3_now(s3, NULL, &now, NULL);
	rc = qo_credchain_get(s3->chain, now, &creds, &err);
	if (rc == QO_AGAIN) {
		f->awaits_creds = true;
		return;
	}
	if (rc != QO_OK) {
		s3_flight_refuse(f, QO_S3_DENIED, &err);
		return;
	}
	now.us -= r->signed_ago_ms * QO_US_PER_MS;
	f->signed_at = now;
	qo_amzdate_print(now, f->amz_date);
	n = fill_headers(f, creds, kv);
	if (sign(f, creds, kv, n, now) == -1) {
		qo_err_set(&err,
		    "the request can not be signed: the key, the "
		    "region or the credentials are too long");
		s3_flight_refuse(f, QO_S3_REJECTED, &err);
		return;
	}
	kv[n++] = (struct qo_kv){ "authorization", f->auth.data };
	left = qo_mono_diff_us(qo_mono_now(), f->deadline) / QO_US_PER_MS;
	left = left < 1 ? 1 : left;
	f->http.headers = kv;
	f->http.nheaders = n;
	f->http.total_ms = left < s3->request_timeout_ms
	    ? left
	    : s3->request_timeout_ms;
	f->http.first_byte_ms = f->http.total_ms / 2;
	/* A held LIST may take its time, and then its answer. */
	f->http.total_ms += r->wait_ms;
	f->http.first_byte_ms += r->wait_ms;
	r->res.attempts++;
	s3->stats.requests[r->op]++;
	s3->stats.bytes_out += r->body_len;
	fault_point();
	http_send(s3->http, &f->http);
}

/* Trying again */

static int
answer_date(const struct http_req *h, struct qo_wall *date)
{
	const char *v;
	size_t len;

	v = http_header(h, "date", &len);
	return v == NULL ? -1 : qo_httpdate_parse(v, len, date);
}

static void
learn_time(struct qo_s3 *s3, const struct http_req *h)
{
	struct qo_wall date;

	if (answer_date(h, &date) == 0)
		qo_stime_learn(&s3->stime, h->sent_at, h->head_at, date);
}

static bool
outcome_retries(const struct qo_s3_req *r)
{
	switch (r->res.outcome) {
	case QO_S3_SLOW_DOWN:
	case QO_S3_AMBIGUOUS:
	case QO_S3_UNREACHABLE:
		return true;
	case QO_S3_BAD_RESPONSE:
		/* Perhaps a proxy's bad moment. */
		return true;
	case QO_S3_OK:
	case QO_S3_NOT_MODIFIED:
	case QO_S3_NOT_FOUND:
	case QO_S3_PRECONDITION:
	case QO_S3_CONFLICT:
	case QO_S3_DENIED:
	case QO_S3_TOO_LARGE:
	case QO_S3_UNSUPPORTED:
	case QO_S3_WRONG_REGION:
	case QO_S3_REJECTED:
	case QO_S3_OUTCOMES:
		break;
	}
	return false;
}

/* Was it refused because of our clock?  The refusal of a HEAD has no body
 * that could say so: then the times are compared. */
static bool
refused_for_time(const struct qo_s3_flight *f, struct qo_wall date)
{
	const char *code = f->req->res.err.s3_code;
	int64_t off = date.us - f->signed_at.us;

	if (strcmp(code, "RequestTimeTooSkewed") == 0)
		return true;
	return code[0] == '\0' &&
	    (off > SKEW_REFUSED_US || -off > SKEW_REFUSED_US);
}

/* A refusal that something here can mend, once: the clock, or a key that has
 * run out. */
static bool
mended(struct qo_s3_flight *f)
{
	struct qo_s3 *s3 = f->s3;
	const char *code = f->req->res.err.s3_code;
	struct qo_wall date;

	if (f->req->res.outcome != QO_S3_DENIED || f->http.result != HTTP_DONE)
		return false;
	if (!f->reskewed && f->req->signed_ago_ms == 0 &&
	    answer_date(&f->http, &date) == 0 && refused_for_time(f, date)) {
		f->reskewed = true;
		qo_stime_replace(&s3->stime, f->http.sent_at, f->http.head_at,
		    date);
		return true;
	}
	if (!f->recredited &&
	    (strcmp(code, "ExpiredToken") == 0 ||
		strcmp(code, "ExpiredTokenException") == 0)) {
		f->recredited = true;
		qo_credchain_expired(s3->chain);
		return true;
	}
	return false;
}

static int64_t
retry_after_ms(const struct http_req *h)
{
	const char *bad;
	char text[16];
	long long s;

	if (http_header_copy(h, "retry-after", text, sizeof(text)) == -1)
		return 0;
	s = strtonum(text, 0, 3600, &bad);
	return bad == NULL ? s * 1000 : 0;
}

static void
on_retry(struct loop_timer *t)
{
	s3_flight_attempt(t->arg);
}

/* True when another attempt has been arranged. */
static bool
retry(struct qo_s3_flight *f)
{
	struct qo_s3 *s3 = f->s3;
	struct qo_s3_req *r = f->req;
	unsigned max = r->max_attempts > 0 ? r->max_attempts : MAX_ATTEMPTS;
	int cost = f->http.timed_out ? BUDGET_TIMEOUT : BUDGET_RETRY;
	int64_t delay, least;
	struct qo_mono at;

	if (mended(f)) {
		s3->stats.retries++;
		loop_timer_set_ms(s3->loop, &f->wait, 0, on_retry, f);
		return true;
	}
	if (!outcome_retries(r) || r->res.attempts >= max)
		return false;
	delay = qo_retry_full_jitter_ms(RETRY_BASE_MS, RETRY_CAP_MS,
	    r->res.attempts - 1, qo_retry_random());
	least = f->http.result == HTTP_DONE ? retry_after_ms(&f->http) : 0;
	at = qo_mono_add_ms(qo_mono_now(), delay > least ? delay : least);
	if (at.us >= f->deadline.us)
		return false;
	if (s3->budget_spent + cost > s3->budget) {
		s3->stats.retries_refused++;
		return false;
	}
	s3->budget_spent += cost;
	s3->stats.retries++;
	loop_timer_set(s3->loop, &f->wait, at, on_retry, f);
	return true;
}

static void
on_attempt_done(struct http_req *h)
{
	struct qo_s3_flight *f = h->arg;
	struct qo_s3 *s3 = f->s3;

	fault_point();
	s3->stats.bytes_in += h->head_in.len + h->body_in.len;
	if (h->result == HTTP_DONE)
		learn_time(s3, h);
	s3_answer_read(f->req, h, s3->err_xml);
	fault_point();
	if (!retry(f))
		land(f);
}
