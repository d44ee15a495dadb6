#include "s3err.h"
#include "xml.h"
#include "xmlout.h"

static const struct {
	int status;
	const char *code;
	const char *message;
} errors[S3_ERR_COUNT] = {
	[S3_OK] = { 200, "OK", "" },
	[S3_ACCESS_DENIED] = { 403, "AccessDenied", "Access Denied" },
	[S3_BAD_DIGEST] = { 400, "BadDigest",
	    "The Content-MD5 or checksum value that you specified did not "
	    "match what was received" },
	[S3_BAD_REQUEST] = { 400, "BadRequest", "Bad Request" },
	[S3_BUCKET_ALREADY_EXISTS] = { 409, "BucketAlreadyExists",
	    "The requested bucket name is not available" },
	[S3_BUCKET_ALREADY_OWNED] = { 409, "BucketAlreadyOwnedByYou",
	    "Your previous request to create the named bucket succeeded and "
	    "you already own it" },
	[S3_BUCKET_NOT_EMPTY] = { 409, "BucketNotEmpty",
	    "The bucket you tried to delete is not empty" },
	[S3_CONTENT_SHA256_MISMATCH] = { 400, "XAmzContentSHA256Mismatch",
	    "The provided 'x-amz-content-sha256' header does not match what "
	    "was computed" },
	[S3_CORS_FORBIDDEN] = { 403, "AccessForbidden",
	    "CORSResponse: This CORS request is not allowed" },
	[S3_ENTITY_TOO_LARGE] = { 400, "EntityTooLarge",
	    "Your proposed upload exceeds the maximum allowed object size" },
	[S3_ENTITY_TOO_SMALL] = { 400, "EntityTooSmall",
	    "Your proposed upload is smaller than the minimum allowed size" },
	[S3_EXPIRED_TOKEN] = { 400, "ExpiredToken",
	    "The provided token has expired" },
	[S3_ILLEGAL_VERSIONING] = { 400,
	    "IllegalVersioningConfigurationException",
	    "The versioning configuration specified in the request is "
	    "invalid" },
	[S3_INCOMPLETE_BODY] = { 400, "IncompleteBody",
	    "You did not provide the number of bytes specified by the length "
	    "headers" },
	[S3_INTERNAL] = { 500, "InternalError",
	    "We encountered an internal error, please try again" },
	[S3_INVALID_ARGUMENT] = { 400, "InvalidArgument", "Invalid Argument" },
	[S3_INVALID_BUCKET_NAME] = { 400, "InvalidBucketName",
	    "The specified bucket is not valid" },
	[S3_INVALID_DIGEST] = { 400, "InvalidDigest",
	    "The Content-MD5 or checksum value that you specified is not "
	    "valid" },
	[S3_INVALID_PART] = { 400, "InvalidPart",
	    "One or more of the specified parts could not be found, or its "
	    "entity tag did not match" },
	[S3_INVALID_PART_NUMBER] = { 416, "InvalidPartNumber",
	    "The requested partnumber is not satisfiable" },
	[S3_INVALID_PART_ORDER] = { 400, "InvalidPartOrder",
	    "The list of parts was not in ascending order" },
	[S3_INVALID_RANGE] = { 416, "InvalidRange",
	    "The requested range is not satisfiable" },
	[S3_INVALID_REQUEST] = { 400, "InvalidRequest", "Invalid Request" },
	[S3_INVALID_STORAGE_CLASS] = { 400, "InvalidStorageClass",
	    "The storage class you specified is not valid" },
	[S3_INVALID_TOKEN] = { 400, "InvalidToken",
	    "The provided token is malformed or otherwise invalid" },
	[S3_INVALID_URI] = { 400, "InvalidURI",
	    "Could not parse the specified URI" },
	[S3_KEY_TOO_LONG] = { 400, "KeyTooLongError", "Your key is too long" },
	[S3_MALFORMED_ACL] = { 400, "MalformedACLError",
	    "The ACL that you provided was not well formed or is not one that "
	    "can be kept here" },
	[S3_MALFORMED_TRAILER] = { 400, "MalformedTrailerError",
	    "The request contained trailing data that was not well formed" },
	[S3_MALFORMED_XML] = { 400, "MalformedXML",
	    "The XML you provided was not well formed or did not validate "
	    "against our published schema" },
	[S3_MESSAGE_TOO_LONG] = { 400, "MaxMessageLengthExceeded",
	    "Your request was too big" },
	[S3_METADATA_TOO_LARGE] = { 400, "MetadataTooLarge",
	    "Your metadata headers exceed the maximum allowed metadata size" },
	[S3_METHOD_NOT_ALLOWED] = { 405, "MethodNotAllowed",
	    "The specified method is not allowed against this resource" },
	[S3_MISSING_BODY] = { 400, "MissingRequestBodyError",
	    "Request body is empty" },
	[S3_MISSING_CONTENT_LENGTH] = { 411, "MissingContentLength",
	    "You must provide the Content-Length HTTP header" },
	[S3_NOT_IMPLEMENTED] = { 501, "NotImplemented",
	    "A header or query you provided implies functionality that is not "
	    "implemented" },
	[S3_NO_SUCH_BUCKET] = { 404, "NoSuchBucket",
	    "The specified bucket does not exist" },
	[S3_NO_SUCH_BUCKET_POLICY] = { 404, "NoSuchBucketPolicy",
	    "The bucket policy does not exist" },
	[S3_NO_SUCH_CORS] = { 404, "NoSuchCORSConfiguration",
	    "The CORS configuration does not exist" },
	[S3_NO_SUCH_ENCRYPTION] = { 404,
	    "ServerSideEncryptionConfigurationNotFoundError",
	    "The server side encryption configuration was not found" },
	[S3_NO_SUCH_KEY] = { 404, "NoSuchKey",
	    "The specified key does not exist." },
	[S3_NO_SUCH_LIFECYCLE] = { 404, "NoSuchLifecycleConfiguration",
	    "The lifecycle configuration does not exist" },
	[S3_NO_SUCH_OBJECT_LOCK] = { 404, "NoSuchObjectLockConfiguration",
	    "The specified object does not have an object lock "
	    "configuration" },
	[S3_NO_SUCH_OBJECT_LOCK_CONF] = { 404,
	    "ObjectLockConfigurationNotFoundError",
	    "Object lock configuration does not exist for this bucket" },
	[S3_NO_SUCH_OWNERSHIP] = { 404, "OwnershipControlsNotFoundError",
	    "The bucket ownership controls were not found" },
	[S3_NO_SUCH_PUBLIC_BLOCK] = { 404,
	    "NoSuchPublicAccessBlockConfiguration",
	    "The public access block configuration was not found" },
	[S3_NO_SUCH_REPLICATION] = { 404,
	    "ReplicationConfigurationNotFoundError",
	    "The replication configuration was not found" },
	[S3_NO_SUCH_TAG_SET] = { 404, "NoSuchTagSet",
	    "The TagSet does not exist" },
	[S3_NO_SUCH_UPLOAD] = { 404, "NoSuchUpload",
	    "The specified multipart upload does not exist, or it was aborted "
	    "or completed" },
	[S3_NO_SUCH_VERSION] = { 404, "NoSuchVersion",
	    "The specified version does not exist" },
	[S3_NO_SUCH_WEBSITE] = { 404, "NoSuchWebsiteConfiguration",
	    "The specified bucket does not have a website configuration" },
	[S3_PRECONDITION_FAILED] = { 412, "PreconditionFailed",
	    "At least one of the pre-conditions you specified did not hold" },
	[S3_QUOTA_EXCEEDED] = { 403, "QuotaExceeded",
	    "The owner of this key may not store more" },
	[S3_SLOW_DOWN] = { 503, "SlowDown", "Please reduce your request rate" },
	[S3_UNAVAILABLE] = { 503, "ServiceUnavailable",
	    "The store can not write now, please try again" },
};

const char *
s3err_code(enum s3_err e)
{
	return errors[e].code;
}

const char *
s3err_message(enum s3_err e)
{
	return errors[e].message;
}

int
s3err_status(enum s3_err e)
{
	return errors[e].status;
}

void
s3err_body(struct buf *b, const char *code, const char *message,
    const char *resource, const char *request_id, const char *extra)
{
	buf_adds(b, XMLOUT_DECL "<Error>");
	xml_add(b, "Code", code);
	xml_add(b, "Message", message);
	xml_add(b, "Resource", resource);
	xml_add(b, "RequestId", request_id);
	if (extra != NULL)
		buf_adds(b, extra);
	buf_adds(b, "</Error>");
}

void
s3err_sts_body(struct buf *b, int status, const char *code, const char *message,
    const char *request_id)
{
	buf_adds(b,
	    XMLOUT_DECL "<ErrorResponse xmlns=\"" XMLOUT_STS_NS "\"><Error>");
	xml_add(b, "Type", status < 500 ? "Sender" : "Receiver");
	xml_add(b, "Code", code);
	xml_add(b, "Message", message);
	buf_adds(b, "</Error>");
	xml_add(b, "RequestId", request_id);
	buf_adds(b, "</ErrorResponse>");
}
