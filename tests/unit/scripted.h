/*
 * scripted.h - an HTTP server for tests that sends exactly the bytes it is
 * told to, on a port of its own, in a thread.
 *
 * Steps are used up in order, one a request, whatever the connection.  When
 * they are used up the server closes each connection at once.  The requests
 * are kept as they came.
 */
#ifndef SCRIPTED_H
#define SCRIPTED_H

#include <stddef.h>

enum script_flag {
	SCRIPT_CLOSE = 1 << 0, /* close after the answer */
	SCRIPT_RESET = 1 << 1, /* reset instead of a clean close */
	SCRIPT_STALL = 1 << 2  /* never answer; holds until the client goes */
};

struct script_step {
	const char *answer; /* raw bytes; NULL: none */
	size_t len;         /* 0: strlen */
	int flags;
};

struct scripted;

/* The steps are borrowed.  Listens on 127.0.0.1, or on a Unix socket when
 * path is not NULL. */
struct scripted *scripted_start(const struct script_step *steps, size_t n,
    const char *path);
/* "http://127.0.0.1:PORT" */
const char *scripted_url(const struct scripted *s);
/* Requests that were read so far. */
size_t scripted_count(struct scripted *s);
/* Connections that were closed because a step says so. */
size_t scripted_closed(struct scripted *s);
/* Head and body of request i as text; good until scripted_stop. */
const char *scripted_request(struct scripted *s, size_t i);
/* Ends the thread and closes everything. */
void scripted_stop(struct scripted *s);

#endif
