/*
 * http.h - HTTP requests on the event loop, by libcurl's multi interface.
 *
 * How a request travels, and nothing about what it means: s3.c and creds.c
 * stand on this.  One struct http per process holds the connections (kept
 * alive, at most max_connections; further requests wait here in order).
 * The result keeps apart what a writer must know: was the request never
 * sent, or sent without a whole answer?
 *
 * A struct http_req is embedded in the caller's object, zeroed, filled in
 * and sent; it must stay in place until done is called or http_cancel.  The
 * callback may send, cancel and free anything, the request itself included.
 */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "buf.h"
#include "clock.h"
#include "loop.h"
#include "sigv4.h"

#define HTTP_HEADERS_MAX 24
#define HTTP_HEAD_MAX    32768 /* of an answer's headers */

struct http;
struct http_xfer; /* a pooled libcurl handle */

enum http_result {
	HTTP_DONE = 0, /* a whole answer: status, headers, body */
	HTTP_UNSENT,   /* no byte of the request has left */
	HTTP_CUT,      /* sent (or perhaps), and no whole answer came */
	HTTP_GARBLED,  /* what came back is not HTTP */
	HTTP_TOO_BIG   /* the answer is larger than response_max */
};

struct http_conf {
	size_t max_connections;
	int64_t connect_ms;
	const char *ca_file;     /* NULL: the system's */
	const char *unix_socket; /* NULL: TCP */
};

struct http_req {
	/* in: borrowed until done */
	const char *method; /* GET HEAD PUT POST DELETE; a literal */
	const char *url;
	const char *target; /* NULL: path and query are those of url; else
			     * sent for them, byte by byte, so encoded */
	const struct qo_kv *headers; /* copied by http_send */
	size_t nheaders;             /* at most HTTP_HEADERS_MAX */
	const void *body;            /* NULL: none */
	size_t body_len;
	size_t response_max;
	int64_t first_byte_ms; /* until the answer begins */
	int64_t total_ms;      /* for all of it */
	void (*done)(struct http_req *r);
	void *arg;

	/* out: valid in done and until the request is sent again or http_fini
	 * frees them */
	enum http_result result;
	int status;
	bool timed_out;
	struct buf body_in;
	struct buf head_in; /* the header lines of the answer */
	struct qo_mono sent_at, head_at;
	char message[256]; /* when not HTTP_DONE: for a person */

	/* private */
	struct http *http;
	struct http_xfer *xfer;     /* NULL: waiting for a connection */
	TAILQ_ENTRY(http_req) link; /* while it waits */
	struct buf head_out;        /* the headers as libcurl wants them */
	struct loop_timer limit;
	int64_t limit_ms;
	struct loop_task late;
};

/* conf is copied.  curl_global_init is done here, once a process.  fatal
 * when libcurl can not start. */
struct http *http_new(struct loop *l, const struct http_conf *conf);
/* No request may be under way. */
void http_free(struct http *h);

/* Never calls done before it returns. */
void http_send(struct http *h, struct http_req *r);
/* Forgets the request, done is not called; its connection is closed when it
 * was being used.  Harmless when it is not under way. */
void http_cancel(struct http_req *r);
/* Cancels, and frees what request and answer hold.  A request that will be
 * sent again need not be: its memory is used again. */
void http_fini(struct http_req *r);

/* The value of a header of the answer (name in any case), its length in
 * *len, not NUL-terminated; NULL when there is none.  The last of several. */
const char *http_header(const struct http_req *r, const char *name,
    size_t *len);
/* The same copied into out; -1 when absent or too long (out is "" then). */
int http_header_copy(const struct http_req *r, const char *name, char *out,
    size_t size);

#endif
