#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_xfer.h"
#include "log.h"
#include "xalloc.h"

/* 16 KiB instead of libcurl's 64: with 256 connections that is 12 MiB. */
#define CURL_BUFFER 16384L
/* Servers close idle connections after 60 s or later: we are first, so that
 * a request rarely meets a dead one (libcurl then sends it again). */
#define CONN_MAX_AGE_S 45L
#define EXPECT_BEYOND  65536 /* libcurl waits for 100 from 1 MiB on */

/* What libcurl calls while it works */

static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
	struct http_xfer *x = arg;

	(void)size; /* always 1 */
	if (buf_add(&x->req->body_in, p, n) == -1) {
		x->too_big = true;
		return 0;
	}
	return n;
}

static size_t
on_header(char *p, size_t size, size_t n, void *arg)
{
	struct http_xfer *x = arg;
	struct http_req *r = x->req;

	(void)size;
	/* A status line: an interim answer (100) may have come before. */
	if (n > 5 && memcmp(p, "HTTP/", 5) == 0) {
		buf_reset(&r->head_in);
		http_answer_begins(r);
	}
	if (buf_add(&r->head_in, p, n) == -1) {
		x->garbled = true;
		return 0;
	}
	return n;
}

/* Making one */

static CURL *
easy_new(struct http_xfer *x, const struct http_conf *conf)
{
	CURL *e;

	e = curl_easy_init();
	if (e == NULL)
		fatalx("libcurl: no handle");
	curl_easy_setopt(e, CURLOPT_PRIVATE, x);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, x->error);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, x);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
	/* No proxy from the environment, no redirect, no path clean-up: a
	 * request goes where it was signed for or nowhere. */
	curl_easy_setopt(e, CURLOPT_PROXY, "");
	curl_easy_setopt(e, CURLOPT_NOPROXY, "");
	curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, CURL_BUFFER);
	curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, CURL_BUFFER);
	curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, CONN_MAX_AGE_S);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)conf->connect_ms);
	/* Instead of what the system trusts, not besides it. */
	if (conf->ca_file != NULL) {
		curl_easy_setopt(e, CURLOPT_CAINFO, conf->ca_file);
		curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	}
	if (conf->unix_socket != NULL)
		curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH,
		    conf->unix_socket);
	return e;
}

struct http_xfer *
http_xfer_new(const struct http_conf *conf)
{
	struct http_xfer *x = xcalloc(1, sizeof(*x));

	x->easy = easy_new(x, conf);
	return x;
}

void
http_xfer_free(struct http_xfer *x)
{
	curl_easy_cleanup(x->easy);
	free(x->url);
	free(x);
}

/* The request */

/* As POSTFIELDS the body leaves with the head in one write, and a re-send on
 * a dead connection needs no callback. */
static bool
has_body(const struct http_req *r)
{
	return r->body != NULL || r->method[0] == 'P';
}

static void
set_method(struct http_xfer *x, const struct http_req *r)
{
	CURL *e = x->easy;

	if (has_body(r)) {
		curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)r->body_len);
		curl_easy_setopt(e, CURLOPT_POSTFIELDS,
		    r->body == NULL ? "" : r->body);
	}
	/* The same as last time, as most are. */
	if (x->method != NULL && strcmp(x->method, r->method) == 0)
		return;
	x->method = r->method;
	/* In this order: each of these also changes the method. */
	curl_easy_setopt(e, CURLOPT_NOBODY, 0L);
	if (has_body(r))
		curl_easy_setopt(e, CURLOPT_POST, 1L);
	else
		curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
	if (strcmp(r->method, "HEAD") == 0) {
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, NULL);
		curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
	} else {
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, r->method);
	}
}

/* libcurl takes a URL apart and puts it together again letter by letter: it
 * gets a short one, which stays the same. */
static void
set_url(struct http_xfer *x, const struct http_req *r)
{
	if (x->url == NULL || strcmp(x->url, r->url) != 0) {
		free(x->url);
		x->url = xstrdup(r->url);
		curl_easy_setopt(x->easy, CURLOPT_URL, r->url);
	}
	if (r->target != NULL || x->has_target)
		curl_easy_setopt(x->easy, CURLOPT_REQUEST_TARGET, r->target);
	x->has_target = r->target != NULL;
}

static void
set_headers(struct http_xfer *x, struct http_req *r)
{
	char *p = r->head_out.data, *end = p + r->head_out.len;
	size_t n = 0;

	for (; p < end; p += strlen(p) + 1) {
		x->nodes[n].data = p;
		x->nodes[n].next = &x->nodes[n + 1];
		n++;
	}
	if (n > 0)
		x->nodes[n - 1].next = NULL;
	curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, n > 0 ? x->nodes : NULL);
}

/* As strings, one behind the other. */
void
http_xfer_keep_headers(struct http_req *r)
{
	struct buf *b = &r->head_out;
	bool typed = false;
	size_t i;

	if (r->nheaders > HTTP_HEADERS_MAX)
		qo_bug("http: %zu headers", r->nheaders);
	buf_reset(b);
	for (i = 0; i < r->nheaders; i++) {
		/* libcurl writes Host itself, from the URL. */
		if (strcmp(r->headers[i].name, "host") == 0)
			continue;
		typed |= strcmp(r->headers[i].name, "content-type") == 0;
		buf_adds(b, r->headers[i].name);
		/* "name:" alone would remove it, "name;" sends it empty. */
		buf_adds(b, r->headers[i].value[0] == '\0' ? ";" : ": ");
		buf_add(b, r->headers[i].value,
		    strlen(r->headers[i].value) + 1);
	}
	/* Without these libcurl would add what was not asked for. */
	if (r->body_len > EXPECT_BEYOND)
		buf_add(b, "Expect:", 8);
	if (!typed && has_body(r))
		buf_add(b, "Content-Type:", 14);
	if (buf_failed(b))
		qo_bug("http: headers too large");
}

void
http_xfer_load(struct http_xfer *x, struct http_req *r)
{
	x->req = r;
	x->too_big = x->garbled = false;
	x->error[0] = '\0';
	set_method(x, r);
	set_url(x, r);
	set_headers(x, r);
	/* HEAD names a length that never comes. */
	curl_easy_setopt(x->easy, CURLOPT_MAXFILESIZE_LARGE,
	    strcmp(r->method, "HEAD") == 0 ? (curl_off_t)0
					   : (curl_off_t)r->response_max);
}

/* The end */

static bool
head_is_whole(const struct buf *head)
{
	return head->len >= 4 &&
	    memcmp(head->data + head->len - 4, "\r\n\r\n", 4) == 0;
}

static enum http_result
result_of(const struct http_xfer *x, CURLcode code, bool sent)
{
	if (code == CURLE_OK)
		return HTTP_DONE;
	if (x->too_big || code == CURLE_FILESIZE_EXCEEDED)
		return HTTP_TOO_BIG;
	if (!sent)
		return HTTP_UNSENT;
	if (x->garbled || code == CURLE_WEIRD_SERVER_REPLY ||
	    code == CURLE_UNSUPPORTED_PROTOCOL)
		return HTTP_GARBLED;
	return HTTP_CUT;
}

void
http_xfer_judge(struct http_xfer *x, CURLcode code)
{
	struct http_req *r = x->req;
	long status = 0, sent = 0;

	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(x->easy, CURLINFO_REQUEST_SIZE, &sent);
	r->status = (int)status;
	r->timed_out = code == CURLE_OPERATION_TIMEDOUT;
	/* libcurl takes a head that breaks off for a whole one. */
	if (code == CURLE_OK && !head_is_whole(&r->head_in))
		code = CURLE_GOT_NOTHING;
	r->result = result_of(x, code, sent > 0);
	r->message[0] = '\0';
	if (r->result == HTTP_TOO_BIG)
		snprintf(r->message, sizeof(r->message),
		    "the answer is larger than %zu bytes", r->response_max);
	else if (x->garbled)
		snprintf(r->message, sizeof(r->message),
		    "the answer's headers are larger than %d bytes",
		    HTTP_HEAD_MAX);
	else if (code != CURLE_OK)
		snprintf(r->message, sizeof(r->message), "%s",
		    x->error[0] != '\0' ? x->error : curl_easy_strerror(code));
}
