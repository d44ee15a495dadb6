/*
 * httpapp.h - the application behind the httpd in its tests.
 *
 * The path of a request says what is done: /early answers before the body is
 * read, /missing with 404, /stop at the first piece of the body, /later and
 * /hold not at all (the test does), /wait so after the body, /limited takes
 * 10 bytes, /big, /file and /short (than promised) send much, /length,
 * /nothing and /same have no body; all others send the body back.
 */
#ifndef HTTPAPP_H
#define HTTPAPP_H

#include "httpclient.h"
#include "httpd.h"

#define HOST     "Host: x\r\n"
#define BIG      (4 * 1024 * 1024)
#define TAKE_MAX (16 * 1024 * 1024)

struct httpapp {
	int heads, ends, gone, errors, drained; /* calls */
	struct httpd_req *waiting; /* the last that the test is to answer */
	struct loop *loop;
	struct httpd *httpd;
	struct httpd_conf conf; /* may be changed before httpapp_serve */
	char dir[64];           /* temporary, removed at the end */
	char path[128];         /* of the Unix socket */
	int port;
};

extern struct httpapp httpapp;
extern const struct httpd_ops httpapp_ops;

/* Fixtures. */
void httpapp_setup(void);
void httpapp_teardown(void);
/* Makes the httpd, on a port and on a Unix socket. */
void httpapp_serve(void);
void httpapp_drained(void *arg);
void httpapp_tcp(struct client *k);
void httpapp_unix(struct client *k);

/* Turns the loop until the condition holds. */
#define UNTIL(cond)                                \
	do {                                       \
		while (!(cond))                    \
			client_turn(httpapp.loop); \
	} while (0)

#endif
