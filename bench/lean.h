/*
 * lean.h - a client that costs next to nothing: requests are made and signed
 * before the clock runs, and answers are looked at only as far as needed to
 * know where they end and that they are a 200.
 *
 * Client and server share two cores, so what the client burns the server
 * does not have.
 */
#ifndef LEAN_H
#define LEAN_H

#include <stddef.h>
#include <stdint.h>

struct lean; /* requests that are ready to go */

/* Signed for this host; a body is the same for all. */
struct lean *lean_new(int port, const char *access_key, const char *secret_key);
void lean_free(struct lean *l);
void lean_body(struct lean *l, const void *body, size_t len);
/* Drops the requests, keeps the memory. */
void lean_reset(struct lean *l);
/* path and query as they are signed; with the body when method is PUT. */
void lean_add(struct lean *l, const char *method, const char *path,
    const char *query);
size_t lean_count(const struct lean *l);

/* Sends all, each connection one after the other.  Returns the seconds; the
 * time of each in us, in order of their ends, in times when not NULL (room
 * for lean_count).  The process ends when an answer is no 200. */
double lean_run(struct lean *l, int connections, double *times);
/* Bytes of the last answer. */
size_t lean_last_len(const struct lean *l);

#endif
