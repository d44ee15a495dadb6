/*
 * httpd_int.h - what the files of the httpd share; nobody else includes it.
 *
 * httpd.c holds the whole together, httpd_listen.c makes and accepts,
 * httpd_conn.c reads requests and moves a connection from state to state,
 * httpd_send.c makes and writes answers.
 */
#ifndef HTTPD_INT_H
#define HTTPD_INT_H

#include <sys/queue.h>
#include <sys/types.h>

#include "httpd.h"
#include "httpparse.h"
#include "rfc3339.h"

enum conn_state {
	CONN_IDLE = 0, /* between two requests */
	CONN_HEAD,     /* a part of a head is here */
	CONN_BODY,     /* the application takes the body */
	CONN_WAIT,     /* for the application's answer */
	CONN_SEND,
	CONN_DRAIN, /* answered; the rest of a small body is thrown away */
	CONN_LINGER /* answered and shut; the client is to close */
};

/*
 * What a connection needs while a request is under way and not while it is
 * idle.  Lent from a small pool, so that a thousand idle connections cost
 * little and the busy ones share memory that is warm.
 */
struct httpd_work {
	struct httpd_work *next;
	/* Input: the head from 0 on, body bytes behind it.  It must not move
	 * once the application knows pointers into the head. */
	char *in;
	size_t in_cap, in_len;
	size_t in_pos; /* everything before is dealt with */
	struct httpparse parse;
	struct httpchunk chunk;
	struct httpd_header headers[HTTPPARSE_FIELDS];
	/* Output: the head, then body or file. */
	struct buf fields; /* header lines that the application adds */
	struct buf head;
	size_t head_pos;
	char *body;
	bool body_owned; /* by us; else by the caller of httpd_send */
	size_t body_len, body_pos;
	int file; /* -1: none */
	off_t file_off;
	int64_t file_left;
};

struct httpd_conn {
	struct httpd_req req; /* first: a request is found in its connection */
	struct httpd *h;
	LIST_ENTRY(httpd_conn) all;
	TAILQ_ENTRY(httpd_conn) idle;
	struct loop_io io;
	struct loop_timer timer;
	struct loop_task task;
	struct httpd_work *work; /* NULL while idle */
	enum conn_state state;
	enum conn_state timed; /* the state that the timer is for */
	bool in_idle;          /* on the list of those that may be closed */
	bool open;             /* the application has the request */
	bool taken;            /* and wants the body */
	bool too_large;        /* but not one of this size */
	bool hold;
	bool http10, head_only;
	bool close;        /* after this answer */
	bool eof;          /* the client sends no more */
	bool broken;       /* writing failed */
	bool progress;     /* something was written since the timer was set */
	int64_t body_left; /* -1: chunked and not at its end */
	int64_t body_seen, body_max;
	size_t received; /* of the body, since the timer was set */
};

struct httpd_listener;

struct httpd {
	struct loop *loop;
	struct httpd_conf conf;
	const struct httpd_ops *ops;
	void *arg;
	struct httpd_listener *listeners;
	bool paused;  /* out of descriptors: accepting rests */
	bool starved; /* and this has been logged */
	struct loop_timer pause_timer;
	LIST_HEAD(, httpd_conn) all;
	TAILQ_HEAD(, httpd_conn) idle; /* longest idle first */
	size_t nconns;
	struct httpd_conn *running; /* the one in conn_run, or NULL */
	struct httpd_work *spare;
	size_t nspare;
	int64_t date_sec;
	char date[QO_HTTPDATE_SIZE];
	bool draining;
	void (*done)(void *arg);
	void *done_arg;
	struct loop_task done_task;
};

/* httpd.c */
struct httpd_work *httpd_work_get(struct httpd *h);
void httpd_work_put(struct httpd *h, struct httpd_work *w);
/* Closes the longest idle connection; false when none is idle. */
bool httpd_evict(struct httpd *h);
/* A connection is gone: accepting may go on, a drain may be complete. */
void httpd_freed(struct httpd *h);

/* httpd_listen.c */
void httpd_listeners_close(struct httpd *h);
void httpd_listeners_resume(struct httpd *h);

/* httpd_conn.c */
/* Takes fd over.  over: there are too many, answer 503. */
void conn_new(struct httpd *h, int fd, const char *peer, bool local, bool over);
/* Frees it; the application's request, if any, is gone. */
void conn_close(struct httpd_conn *c);
/* Sees to it that the connection goes on, now or at the end of the turn. */
void conn_kick(struct httpd_conn *c);

/* httpd_send.c */
enum send_rc {
	SEND_DONE = 0,
	SEND_BLOCKED,
	SEND_BROKEN
};
/* An answer of our own; the connection is closed after it. */
void conn_error(struct httpd_conn *c, int status, const char *reason);
enum send_rc conn_write(struct httpd_conn *c);
/* Frees what was sent. */
void conn_output_reset(struct httpd_work *w);
void conn_send_continue(struct httpd_conn *c);

#endif
