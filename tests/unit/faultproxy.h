/*
 * faultproxy.h - a TCP proxy in front of any S3 store that makes its answers
 * as bad as networks and servers do, by rules.
 *
 * A rule is a line of words, the first of them what is done:
 *
 *	refuse	answer `status' (503) without passing the request on;
 *		status=0 closes the connection
 *	after	let the store do it, then answer `status' (500)
 *	drop	let the store do it, then reset the connection
 *	twice	send it to the store twice, pass the second answer on
 *	pass	nothing; for a delay or a hook
 *
 * and then, each optional: a method (PUT); key=REGEX, matched with the path
 * as it was sent (/bucket/key); cond, only requests with If-Match or
 * If-None-Match; nth=N, from the N-th that matches on; count=N, only N times;
 * p=0.1, by chance; status=N; delay=MS, before anything else; hook, calls the
 * hook: between what the store did and what the client is told, with refuse
 * and pass before the request is sent on.  No blanks in a regex.
 *
 * The first rule that applies is applied.  Threads of its own; the hook is
 * called from one of them.  No Check here: a program uses it too
 * (tests/tools/faultproxy.c).
 */
#ifndef FAULTPROXY_H
#define FAULTPROXY_H

#include <stdio.h>

struct faultproxy;

/* upstream: "http://127.0.0.1:PORT"; port 0: any free one.  A line for each
 * request goes to history (borrowed, may be NULL).  NULL with errno. */
struct faultproxy *faultproxy_start(const char *upstream, int port,
    FILE *history);
void faultproxy_stop(struct faultproxy *p);
const char *faultproxy_url(const struct faultproxy *p);

/* -1: not a rule. */
int faultproxy_rule(struct faultproxy *p, const char *text);
/* Forgets all rules, and the hits. */
void faultproxy_clear(struct faultproxy *p);
/* How often a rule was applied since the last clear. */
unsigned faultproxy_hits(struct faultproxy *p);
void faultproxy_hook(struct faultproxy *p, void (*hook)(void *arg), void *arg);

#endif
