/*
 * httpclient.h - a client for tests that share one thread with the server.
 *
 * Nothing here blocks: whoever waits turns the server's loop meanwhile, until
 * Check's limit strikes.
 */
#ifndef HTTPCLIENT_H
#define HTTPCLIENT_H

#include <stdbool.h>

#include "buf.h"
#include "loop.h"

struct client {
	struct loop *loop;
	int fd;
	bool eof, reset;
	struct buf in; /* not yet consumed */
	/* The last answer. */
	int status;
	struct buf head, body;
};

/* One of them NULL or 0: a Unix socket or a port of 127.0.0.1. */
void client_open(struct client *k, struct loop *l, const char *path, int port);
void client_close(struct client *k);
/* Closed with RST. */
void client_abort(struct client *k);
/* Turns the loop while the server takes it; ends early on a reset, which
 * client_closed then tells. */
void client_send(struct client *k, const void *p, size_t len);
void client_sends(struct client *k, const char *s);
/* Returns when the server has what was sent, and had a turn to read it. */
void client_settle(struct client *k);
/* The same, and whether it has said nothing more. */
bool client_silent(struct client *k);
/* Reads one answer, checks that it is well-formed and has a Date; 100 is an
 * answer too.  head: the request was HEAD.  Returns the status, -1 when the
 * connection was closed instead. */
int client_answer(struct client *k, bool head);
/* Both together. */
int client_ask(struct client *k, const char *request);
/* True when the server has closed without RST and sent nothing more. */
bool client_closed(struct client *k);
/* The value of a header of the last answer, or NULL; valid until the next
 * call. */
const char *client_header(struct client *k, const char *name);
/* The loop's turn, never longer than a few ms. */
void client_turn(struct loop *l);

#endif
