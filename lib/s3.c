#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "s3_answer.h"
#include "s3_int.h"
#include "xalloc.h"

#define CONNECT_MS  2000
#define DEADLINE_MS 30000
/* The budget of retries: an outage must not multiply the load.  But a store
 * that stands still for some seconds stops all connections at once, and each
 * may time out twice (10 each) then. */
#define BUDGET_MIN  500
#define BUDGET_EACH 20
/* What ended flights may keep. */
#define SPARE_MAX      64
#define SPARE_BODY_MAX 16384

/* Flights */

/* Ended flights keep their memory for the next: a request allocates nothing
 * once the client is warm. */
static struct qo_s3_flight *
flight_get(struct qo_s3 *s3)
{
	struct qo_s3_flight *f = s3->spare;

	if (f != NULL) {
		s3->spare = f->next;
		s3->nspare--;
		f->awaits_creds = f->reskewed = f->recredited = false;
		f->md5[0] = f->if_match[0] = f->range[0] = '\0';
		return f;
	}
	f = xcalloc(1, sizeof(*f));
	f->s3 = s3;
	s3_target_init(&f->target);
	buf_init(&f->auth, 4096);
	return f;
}

static void
flight_free(struct qo_s3_flight *f)
{
	http_fini(&f->http);
	s3_target_fini(&f->target);
	buf_fini(&f->auth);
	free(f);
}

static void
flight_put(struct qo_s3_flight *f)
{
	struct qo_s3 *s3 = f->s3;

	loop_timer_del(s3->loop, &f->wait);
	http_cancel(&f->http);
	if (s3->nspare == SPARE_MAX || f->http.body_in.cap > SPARE_BODY_MAX) {
		flight_free(f);
		return;
	}
	f->req = NULL;
	f->prev = NULL;
	f->next = s3->spare;
	s3->spare = f;
	s3->nspare++;
}

/* Client */

static void
on_creds_ready(void *arg)
{
	struct qo_s3 *s3 = arg;
	struct qo_s3_flight *f, *next;

	for (f = s3->flights; f != NULL; f = next) {
		next = f->next;
		if (f->awaits_creds) {
			f->awaits_creds = false;
			s3_flight_attempt(f);
		}
	}
}

struct qo_s3 *
qo_s3_new(struct loop *l, const struct qo_s3_conf *conf, struct qo_err *err)
{
	struct qo_credchain_conf cc;
	struct http_conf hc;
	struct qo_s3 *s3;

	s3 = xcalloc(1, sizeof(*s3));
	s3->region = xstrdup(conf->region);
	if (s3_endpoint_parse(&s3->endpoint, conf->endpoint, conf->region,
		conf->path_style, conf->allow_http, err) == -1) {
		free(s3->region);
		free(s3);
		return NULL;
	}
	s3->loop = l;
	s3->etag_form = conf->etag_form;
	s3->request_timeout_ms = conf->request_timeout_ms;
	s3->max_skew_ms = conf->max_skew_ms;
	s3->budget = BUDGET_EACH * (int)conf->max_connections;
	if (s3->budget < BUDGET_MIN)
		s3->budget = BUDGET_MIN;
	qo_stime_init(&s3->stime);
	memset(&hc, 0, sizeof(hc));
	hc.max_connections = conf->max_connections;
	hc.connect_ms = CONNECT_MS;
	hc.ca_file = conf->ca_file;
	hc.unix_socket = conf->unix_socket;
	s3->http = http_new(l, &hc);
	memset(&cc, 0, sizeof(cc));
	cc.access_key = conf->access_key;
	cc.secret_key = conf->secret_key;
	cc.profile = conf->profile;
	cc.ready = on_creds_ready;
	cc.arg = s3;
	s3->chain = qo_credchain_new(l, s3->http, &cc);
	s3->signer = qo_sigv4_new();
	s3->err_xml = qo_s3xml_new();
	return s3;
}

void
qo_s3_free(struct qo_s3 *s3)
{
	struct qo_s3_flight *f;

	if (s3 == NULL)
		return;
	while (s3->flights != NULL)
		qo_s3_cancel(s3->flights->req);
	while ((f = s3->spare) != NULL) {
		s3->spare = f->next;
		flight_free(f);
	}
	qo_credchain_free(s3->chain);
	http_free(s3->http);
	qo_sigv4_free(s3->signer);
	qo_s3xml_free(s3->err_xml);
	s3_endpoint_fini(&s3->endpoint);
	free(s3->region);
	free(s3);
}

/* Time */

bool
qo_s3_now(struct qo_s3 *s3, struct qo_wall *lo, struct qo_wall *mid,
    struct qo_wall *hi)
{
	struct qo_stime_now now;
	int rc;

	rc = qo_stime_now(&s3->stime, qo_mono_now(), qo_wall_local(), &now);
	if (lo != NULL)
		*lo = now.lo;
	if (mid != NULL)
		*mid = now.mid;
	if (hi != NULL)
		*hi = now.hi;
	return rc == 0;
}

int64_t
qo_s3_skew_ms(const struct qo_s3 *s3)
{
	int64_t ms;

	ms = qo_stime_skew_us(&s3->stime, qo_mono_now(), qo_wall_local()) /
	    QO_US_PER_MS;
	return ms > s3->max_skew_ms || -ms > s3->max_skew_ms ? ms : 0;
}

bool
qo_s3_corrected_since(const struct qo_s3 *s3, struct qo_mono since)
{
	return qo_stime_corrected_since(&s3->stime, since);
}

/* Requests */

void
qo_s3_req_init(struct qo_s3_req *r, enum qo_s3_op op, const char *bucket,
    const char *key)
{
	memset(r, 0, sizeof(*r));
	s3_res_reset(&r->res);
	r->op = op;
	r->bucket = bucket;
	r->key = key;
}

void
qo_s3_req_fini(struct qo_s3_req *r)
{
	qo_s3_cancel(r);
	s3_res_fini(&r->res);
}

void
qo_s3_send(struct qo_s3 *s3, struct qo_s3_req *r)
{
	struct qo_s3_flight *f;
	struct qo_err err;

	if (r->flight != NULL)
		qo_bug("s3: a request is sent while it is under way");
	s3_res_reset(&r->res);
	f = flight_get(s3);
	f->req = r;
	f->next = s3->flights;
	if (f->next != NULL)
		f->next->prev = f;
	s3->flights = f;
	r->flight = f;
	f->deadline = qo_mono_add_ms(qo_mono_now(),
	    r->wait_ms + (r->deadline_ms > 0 ? r->deadline_ms : DEADLINE_MS));
	if (s3_flight_prepare(f) == -1) {
		qo_err_reset(&err);
		qo_err_set(&err, "%s: the key or the ETag is too long",
		    qo_s3_op_name(r->op));
		s3_flight_refuse(f, QO_S3_REJECTED, &err);
		return;
	}
	s3_flight_attempt(f);
}

void
qo_s3_cancel(struct qo_s3_req *r)
{
	struct qo_s3_flight *f = r->flight;

	if (f == NULL)
		return;
	r->flight = NULL;
	if (f->prev != NULL)
		f->prev->next = f->next;
	else
		f->s3->flights = f->next;
	if (f->next != NULL)
		f->next->prev = f->prev;
	flight_put(f);
}

static void
on_waited(struct qo_s3_req *r)
{
	*(bool *)r->arg = true;
}

enum qo_s3_outcome
qo_s3_wait(struct qo_s3 *s3, struct qo_s3_req *r)
{
	bool done = false;

	r->done = on_waited;
	r->arg = &done;
	qo_s3_send(s3, r);
	while (!done)
		loop_once(s3->loop, -1);
	return r->res.outcome;
}

void
qo_s3_set_etag_form(struct qo_s3 *s3, enum qo_s3_etag_form form)
{
	s3->etag_form = form;
}

const struct qo_s3_stats *
qo_s3_stats(const struct qo_s3 *s3)
{
	return &s3->stats;
}
