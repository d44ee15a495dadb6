/*
 * reply.h - the answers.  Each ends the request.
 *
 * Every answer carries x-amz-request-id, x-amz-id-2, nosniff and, where the
 * bucket's rules allow the origin, the CORS headers.
 */
#ifndef REPLY_H
#define REPLY_H

#include "request.h"

void reply_error(struct request *r, enum s3_err e);
/* With a message of its own (may hold anything; it is escaped). */
void reply_errorf(struct request *r, enum s3_err e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Any other, by its code; extra as for s3err_body. */
void reply_fault(struct request *r, int status, const char *code,
    const char *message, const char *extra);
/* What a database outcome other than DB_OK means to the client. */
enum s3_err reply_db_err(enum db_rc rc);
void reply_db(struct request *r, enum db_rc rc);
void reply_empty(struct request *r, int status);
/* Takes the buf's memory over; a buf that went over its limit is a 500. */
void reply_xml(struct request *r, int status, struct buf *b);
/* The bodies of objects: headers have been added by the caller. */
void reply_data(struct request *r, int status, const char *p, size_t len);
void reply_file(struct request *r, int status, int fd, int64_t off,
    int64_t len);
void reply_head(struct request *r, int status, int64_t length);

/* Adds a header to the answer to come. */
void reply_header(struct request *r, const char *name, const char *value);
void reply_etag(struct request *r, const char *etag);

#endif
