/*
 * s3_fixture.h - a client and a scripted server for the tests of the S3
 * client.
 */
#ifndef S3_FIXTURE_H
#define S3_FIXTURE_H

#include "loop.h"
#include "s3.h"
#include "scripted.h"

#define NOW   "Date: Wed, 28 Jan 2026 12:00:00 GMT\r\n"
#define ETAG  "ETag: \"9b2cf535f27731c974343645a3985328\"\r\n"
#define EMPTY "Content-Length: 0\r\n\r\n"
/* An answer with a body whose length is counted by the compiler. */
#define STR_(x) #x
#define STR(x)  STR_(x)
#define LEN_(n) "Content-Length: " n "\r\n\r\n"
#define OK_PUT  "HTTP/1.1 200 OK\r\n" NOW ETAG EMPTY
#define XML_ERR(code, more)                                              \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>" code \
	"</Code><Message>what is wrong</Message>" more                   \
	"<RequestId>4442587FB7D0A2F9</RequestId></Error>"

struct fixture {
	struct loop *loop;
	struct qo_s3 *s3;
	struct scripted *server;
	struct qo_s3_conf conf;
};

/* Starts both; conf is filled in and may be changed by tweak before the
 * client is made. */
void fixture_start(struct fixture *f, const struct script_step *steps, size_t n,
    void (*tweak)(struct qo_s3_conf *conf));
void fixture_stop(struct fixture *f);

/* Starts both, and sends one request with one answer, which is given as often
 * as the client asks; both are to be ended with fixture_done. */
struct qo_s3_req fixture_ask(struct fixture *f, enum qo_s3_op op,
    struct script_step step, unsigned attempts);
void fixture_done(struct fixture *f, struct qo_s3_req *r);

/* An answer of status ("404 Not Found") with this body; from a static area
 * that is big enough for one test. */
struct script_step answer(const char *status, const char *headers,
    const char *body);

/* The value of a header in a recorded request (static buffer), or NULL. */
const char *header_of(const char *request, const char *name);

#endif
