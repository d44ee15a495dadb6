/*
 * s3err.h - S3's error codes: the word, the HTTP status, the usual text.
 *
 * Pure tables.  A function that finds a request wrong returns one of these;
 * the glue (reply.h) turns it into an answer.
 */
#ifndef S3ERR_H
#define S3ERR_H

#include "buf.h"

enum s3_err {
	S3_OK = 0,
	S3_ACCESS_DENIED,
	S3_BAD_DIGEST,
	S3_BAD_REQUEST,
	S3_BUCKET_ALREADY_EXISTS,
	S3_BUCKET_ALREADY_OWNED,
	S3_BUCKET_NOT_EMPTY,
	S3_CONTENT_SHA256_MISMATCH,
	S3_CORS_FORBIDDEN,
	S3_ENTITY_TOO_LARGE,
	S3_ENTITY_TOO_SMALL,
	S3_EXPIRED_TOKEN,
	S3_ILLEGAL_VERSIONING,
	S3_INCOMPLETE_BODY,
	S3_INTERNAL,
	S3_INVALID_ARGUMENT,
	S3_INVALID_BUCKET_NAME,
	S3_INVALID_DIGEST,
	S3_INVALID_PART,
	S3_INVALID_PART_NUMBER,
	S3_INVALID_PART_ORDER,
	S3_INVALID_RANGE,
	S3_INVALID_REQUEST,
	S3_INVALID_STORAGE_CLASS,
	S3_INVALID_TOKEN,
	S3_INVALID_URI,
	S3_KEY_TOO_LONG,
	S3_MALFORMED_ACL,
	S3_MALFORMED_TRAILER,
	S3_MALFORMED_XML,
	S3_MESSAGE_TOO_LONG,
	S3_METADATA_TOO_LARGE,
	S3_METHOD_NOT_ALLOWED,
	S3_MISSING_BODY,
	S3_MISSING_CONTENT_LENGTH,
	S3_NOT_IMPLEMENTED,
	S3_NO_SUCH_BUCKET,
	S3_NO_SUCH_BUCKET_POLICY,
	S3_NO_SUCH_CORS,
	S3_NO_SUCH_ENCRYPTION,
	S3_NO_SUCH_KEY,
	S3_NO_SUCH_LIFECYCLE,
	S3_NO_SUCH_OBJECT_LOCK,
	S3_NO_SUCH_OBJECT_LOCK_CONF,
	S3_NO_SUCH_OWNERSHIP,
	S3_NO_SUCH_PUBLIC_BLOCK,
	S3_NO_SUCH_REPLICATION,
	S3_NO_SUCH_TAG_SET,
	S3_NO_SUCH_UPLOAD,
	S3_NO_SUCH_VERSION,
	S3_NO_SUCH_WEBSITE,
	S3_PRECONDITION_FAILED,
	S3_QUOTA_EXCEEDED,
	S3_SLOW_DOWN,
	S3_UNAVAILABLE,
	S3_ERR_COUNT
};

const char *s3err_code(enum s3_err e);
const char *s3err_message(enum s3_err e);
int s3err_status(enum s3_err e);

/* The XML document of an error; resource is a path as it was sent; extra
 * is NULL or elements of its own, escaped already. */
void s3err_body(struct buf *b, const char *code, const char *message,
    const char *resource, const char *request_id, const char *extra);

/* The same in the form of STS. */
void s3err_sts_body(struct buf *b, int status, const char *code,
    const char *message, const char *request_id);

#endif
