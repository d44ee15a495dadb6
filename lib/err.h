/*
 * err.h - what went wrong, as a value.
 *
 * Library code never prints: it returns an outcome and fills a struct qo_err
 * that the caller owns (usually on its stack; no pointers inside, nothing to
 * free).  The level that gives up logs it once.
 */
#ifndef QO_ERR_H
#define QO_ERR_H

/* What the caller can do next.  Losing a race is an outcome, not an error. */
enum qo_rc {
	QO_OK = 0,
	QO_AGAIN,  /* nothing settled, try later */
	QO_LOST,   /* somebody else won the conditional write */
	QO_NOENT,  /* there is no such object */
	QO_DENIED, /* credentials or permissions */
	QO_ERR     /* anything else: the message tells */
};

struct qo_err {
	int errnum;           /* errno, or 0 */
	int http_status;      /* of the S3 answer, or 0 */
	char s3_code[64];     /* <Code> of the S3 error body, or "" */
	char request_id[128]; /* x-amz-request-id, or "" */
	char msg[320];        /* one line for a person, no newline */
};

/* All accept err == NULL and then do nothing. */
void qo_err_reset(struct qo_err *err);
/* Replaces the message; a message that is too long is cut. */
void qo_err_set(struct qo_err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same, and appends ": strerror(errnum)" and stores errnum. */
void qo_err_sys(struct qo_err *err, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A lower-case word for logs: "ok", "again", "lost", ... */
const char *qo_rc_name(enum qo_rc rc);

#endif
