/*
 * confname.h - names and addresses of the configuration: are they well-formed?
 *
 * As in confval.h: 0, or -1 with err->msg, which says what is allowed.
 * Nothing is looked up or connected to.
 */
#ifndef CONFNAME_H
#define CONFNAME_H

#include <stdbool.h>

#include "err.h"

#define CONFNAME_HOST 254 /* with NUL */

/* Where to connect to or to listen. */
struct confname_addr {
	char host[CONFNAME_HOST]; /* IPv6 without the brackets */
	int port;
	bool tls;      /* endpoints: https */
	bool loopback; /* 127.0.0.0/8, ::1, localhost */
};

/* http://host[:port] or https://host[:port], nothing behind it. */
int confname_endpoint(const char *s, struct confname_addr *out,
    struct qo_err *err);
/* ADDRESS:PORT with a numeric address, [IPv6] or localhost; port 0 passes. */
int confname_listen(const char *s, struct confname_addr *out,
    struct qo_err *err);
/* The rules of S3 for new buckets, but for its minimum of three characters:
 * the embedded store takes two, because our default is "qo". */
int confname_bucket(const char *s, struct qo_err *err);
/* "", or path/ that does not meet the queue's own keys (DESIGN 3). */
int confname_prefix(const char *s, struct qo_err *err);
/* 1 to 128 of [A-Za-z0-9._-], neither "." nor "..": handlers, workers. */
int confname_name(const char *s, struct qo_err *err);
/* What a handler serves: a task type, or the beginning of one with *. */
int confname_type(const char *s, struct qo_err *err);
/* An account of the system: no check that it is there. */
int confname_user(const char *s, struct qo_err *err);
int confname_region(const char *s, struct qo_err *err);

#endif
