/*
 * http_xfer.h - one request in a handle of libcurl's.
 *
 * The handles are kept and used again: what is the same as last time is not
 * set again.
 */
#ifndef HTTP_XFER_H
#define HTTP_XFER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "http.h"

struct http_xfer {
	SLIST_ENTRY(http_xfer) spare; /* the owner's */
	CURL *easy;
	struct http_req *req;
	/* libcurl only reads its header list, so the nodes are ours and no
	 * request allocates any.  Room for two more than the caller's. */
	struct curl_slist nodes[HTTP_HEADERS_MAX + 3];
	char error[CURL_ERROR_SIZE];
	const char *method; /* set in easy; NULL: none yet */
	char *url;          /* the same */
	bool has_target;
	bool too_big;
	bool garbled;
};

/* Fatal when libcurl has no handle. */
struct http_xfer *http_xfer_new(const struct http_conf *conf);
void http_xfer_free(struct http_xfer *x);

/* Puts the headers of r into r->head_out, for as long as it may have to wait
 * or to be sent again. */
void http_xfer_keep_headers(struct http_req *r);
/* x is to carry r. */
void http_xfer_load(struct http_xfer *x, struct http_req *r);
/* Says in its request what became of it. */
void http_xfer_judge(struct http_xfer *x, CURLcode code);

/* In http.c: a status line has come. */
void http_answer_begins(struct http_req *r);

#endif
