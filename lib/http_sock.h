/*
 * http_sock.h - libcurl's sockets and its timer in our loop.
 */
#ifndef HTTP_SOCK_H
#define HTTP_SOCK_H

#include <curl/curl.h>
#include <stddef.h>

#include "loop.h"

struct http_sock;

struct http_socks {
	struct loop *loop;
	CURLM *multi;
	/* libcurl has worked: transfers may have ended. */
	void (*worked)(void *arg);
	void *arg;
	struct loop_timer timer;
	struct loop_task soon; /* libcurl wants to be called */
	struct http_sock **v;  /* by descriptor; NULL: none */
	size_t n;
};

/* multi stays the caller's. */
void http_socks_init(struct http_socks *s, struct loop *l, CURLM *multi,
    void (*worked)(void *arg), void *arg);
/* When multi has closed its connections. */
void http_socks_fini(struct http_socks *s);
/* The connections of this handle are made and closed here. */
void http_socks_serve(struct http_socks *s, CURL *easy);
/* Lets libcurl do what is due. */
void http_socks_act(struct http_socks *s);

#endif
