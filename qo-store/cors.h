/*
 * cors.h - a bucket's CORS rules: read, written, matched.  Pure.
 *
 * Credentials in the browser's sense (cookies) are never allowed.  A rule
 * that opens a bucket to every origin ("*") does not open it to session
 * tokens: those are what the web page uses, and they are accepted from the
 * origins that were named only.
 */
#ifndef CORS_H
#define CORS_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "s3err.h"

struct cors_rule {
	char *id;       /* or NULL */
	char **origins; /* NULL-terminated lists, never NULL */
	char **methods;
	char **headers;
	char **exposes;
	char *expose; /* exposes joined by ", "; NULL when there are none */
	long max_age; /* -1: not set */
};

struct cors;

/* NULL with *e (may be NULL) when the document is not a good one. */
struct cors *cors_parse(const char *text, size_t len, enum s3_err *e);
void cors_free(struct cors *c); /* NULL is fine */
/* The document as S3 gives it back; cors_parse reads it again. */
void cors_encode(const struct cors *c, struct buf *b);

/*
 * The first rule that allows this origin, method and list of headers (comma
 * separated, NULL for none), or NULL.  *star: answer with * and not with the
 * origin.  session: the request has, or will have, a session token.
 */
const struct cors_rule *cors_match(const struct cors *c, const char *origin,
    const char *method, const char *headers, bool session, bool *star);

#endif
