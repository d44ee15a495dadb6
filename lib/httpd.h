/*
 * httpd.h - a small, strict HTTP/1.1 server part on the event loop.
 *
 * For qo-store and the metrics endpoint.  It frames requests and answers and
 * nothing else: whatever RFC 9112 leaves to taste is refused (bare LF,
 * obs-fold, both lengths, two lengths, chunk extensions, unknown transfer
 * codings), answered with 400 and a closed connection, so that no two
 * parties can read one byte stream in two ways.
 *
 * A request belongs to the httpd.  It lives from the head callback until its
 * answer has been given (httpd_send*) or the gone callback has returned;
 * after either the application must not touch it.  Requests of one
 * connection are handled strictly one after the other: the next head is
 * parsed when the answer has been handed over.  All on one thread.
 * SIGPIPE must be ignored (sig_init).
 */
#ifndef HTTPD_H
#define HTTPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "loop.h"

struct httpd;

struct httpd_header {
	const char *name;  /* lower case */
	const char *value; /* without white space around it */
};

struct httpd_req {
	const char *method;
	/* As sent, still percent-encoded; begins with /, or is "*" with
	 * OPTIONS.  Of "http://host/path" (host as in Host) only the path. */
	const char *path;
	const char *query; /* behind the ?, as sent; "" when there is none */
	struct httpd_header *headers; /* in the order sent */
	size_t nheaders;
	int64_t content_length; /* -1: chunked; 0: no body */
	bool expect_continue;   /* a body is only sent when we ask for it */
	bool local;             /* over the Unix socket */
	char peer[64];          /* address and port, for logs */
	void *user;             /* the application's */
};

struct httpd_ops {
	/*
	 * The head is complete.  Either answer at once (the body is then
	 * drained if it is small, else the connection is closed after the
	 * answer), or take the body: httpd_body_take.
	 */
	void (*head)(struct httpd_req *r, void *arg);
	/* Bytes of the body, transfer coding removed.  May answer early. */
	void (*body)(struct httpd_req *r, const char *p, size_t len, void *arg);
	/* The body is complete; answer now or later. */
	void (*end)(struct httpd_req *r, void *arg);
	/* The client is gone (or too slow, or sent garbage) before an answer
	 * was given; the last call for r. */
	void (*gone)(struct httpd_req *r, void *arg);
	/*
	 * The body of an answer that the httpd itself gives: 400, 408, 413,
	 * 414, 417, 431, 501, 503, 505.  *type is its Content-Type (a
	 * literal), headers takes whole lines with their CR LF.  May be NULL:
	 * the answer is then one line of plain text.
	 */
	void (*error)(int status, const char *reason, struct buf *body,
	    const char **type, struct buf *headers, void *arg);
};

struct httpd_conf {
	size_t head_max;      /* request line and headers: 431 beyond */
	size_t uri_max;       /* 414 beyond */
	size_t connections;   /* beyond, the longest idle one is closed for a
	                       * new one; 503 and close when none is */
	int64_t head_ms;      /* to send a whole head */
	int64_t idle_ms;      /* between two requests */
	int64_t body_ms;      /* to send body_ms_bytes of a body */
	size_t body_ms_bytes; /* slower than this is closed (408) */
	int64_t send_ms;      /* without progress while we send */
};

/* head 32 KiB, uri 8 KiB, 1024 connections, 10 s head, 60 s idle, 30 KiB in
 * 30 s, 30 s send. */
void httpd_conf_defaults(struct httpd_conf *conf);

/* ops and arg are borrowed, conf is copied. */
struct httpd *httpd_new(struct loop *l, const struct httpd_conf *conf,
    const struct httpd_ops *ops, void *arg);
/* Closes everything; open requests get their gone call.  Not from within a
 * call of the ops. */
void httpd_free(struct httpd *h);

/* "127.0.0.1:9710", "[::1]:0"; -1 with *err.  *port is the one bound. */
int httpd_listen_tcp(struct httpd *h, const char *addr, int *port,
    struct qo_err *err);
/* A stale socket file is replaced, a live one refused; mode 0660. */
int httpd_listen_unix(struct httpd *h, const char *path, struct qo_err *err);
/* A listening descriptor from the master; on success it is the httpd's. */
int httpd_listen_fd(struct httpd *h, int fd, struct qo_err *err);

/* No new connections, idle ones are closed, busy ones after their answer;
 * done(arg) is called when the last is gone. */
void httpd_drain(struct httpd *h, void (*done)(void *arg), void *arg);
size_t httpd_connections(const struct httpd *h);

/* The value of a header, or NULL; the first of several. */
const char *httpd_header_get(const struct httpd_req *r, const char *name);
/* How many headers have this name. */
size_t httpd_header_count(const struct httpd_req *r, const char *name);

/* In head: read the body, at most max bytes (413 beyond); sends "100
 * Continue" when it is awaited. */
void httpd_body_take(struct httpd_req *r, int64_t max);

/*
 * The answer may take long (a long poll): from now on a client that closes
 * its side is gone.  Without this it is taken for half-closed, which TCP can
 * not tell apart, and still gets its answer.
 */
void httpd_hold(struct httpd_req *r);

/* Adds a header to the answer.  Value must hold no CR, LF or NUL: such a
 * header is a bug (the caller escapes what a client chose). */
void httpd_header_add(struct httpd_req *r, const char *name, const char *value);
void httpd_header_addf(struct httpd_req *r, const char *name, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

/*
 * The answer; r is gone after.  Date, Content-Length and Connection are
 * added here.  send copies the body; send_buf takes the buf's memory over;
 * send_file sends len bytes of fd from off and closes fd (a file that
 * proves too short closes the connection).  With HEAD, or status 204 and
 * 304, no body is sent but Content-Length of it for HEAD.
 */
void httpd_send(struct httpd_req *r, int status, const void *body, size_t len);
void httpd_send_buf(struct httpd_req *r, int status, struct buf *body);
void httpd_send_file(struct httpd_req *r, int status, int fd, int64_t off,
    int64_t len);
/* For HEAD: the answer's Content-Length without a body at hand.  (For another
 * method a length above 0 is a bug, unless with 204 or 304.) */
void httpd_send_head(struct httpd_req *r, int status, int64_t length);
/* Close the connection after this answer. */
void httpd_close_after(struct httpd_req *r);

#endif
