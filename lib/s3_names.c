#include "s3.h"

const char *
qo_s3_op_name(enum qo_s3_op op)
{
	static const char *const names[QO_S3_OPS] = {
		[QO_S3_GET] = "GET",
		[QO_S3_HEAD] = "HEAD",
		[QO_S3_PUT] = "PUT",
		[QO_S3_DELETE] = "DELETE",
		[QO_S3_DELETE_MANY] = "DeleteObjects",
		[QO_S3_LIST] = "LIST",
		[QO_S3_LIST_VERSIONS] = "ListObjectVersions",
		[QO_S3_BUCKET_CREATE] = "CreateBucket",
		[QO_S3_BUCKET_HEAD] = "HeadBucket",
		[QO_S3_BUCKET_DELETE] = "DeleteBucket",
		[QO_S3_VERSIONING_GET] = "GetBucketVersioning",
		[QO_S3_VERSIONING_PUT] = "PutBucketVersioning",
		[QO_S3_CORS_PUT] = "PutBucketCors",
		[QO_S3_LIFECYCLE_PUT] = "PutBucketLifecycleConfiguration",
		[QO_S3_LIFECYCLE_GET] = "GetBucketLifecycleConfiguration",
	};

	return op < QO_S3_OPS ? names[op] : "?";
}

const char *
qo_s3_outcome_name(enum qo_s3_outcome o)
{
	static const char *const names[QO_S3_OUTCOMES] = {
		[QO_S3_OK] = "ok",
		[QO_S3_NOT_MODIFIED] = "not modified",
		[QO_S3_NOT_FOUND] = "not found",
		[QO_S3_PRECONDITION] = "precondition failed",
		[QO_S3_CONFLICT] = "conflict",
		[QO_S3_SLOW_DOWN] = "slow down",
		[QO_S3_DENIED] = "denied",
		[QO_S3_AMBIGUOUS] = "ambiguous",
		[QO_S3_UNREACHABLE] = "unreachable",
		[QO_S3_BAD_RESPONSE] = "bad response",
		[QO_S3_TOO_LARGE] = "too large",
		[QO_S3_UNSUPPORTED] = "unsupported",
		[QO_S3_WRONG_REGION] = "wrong region",
		[QO_S3_REJECTED] = "rejected",
	};

	return o < QO_S3_OUTCOMES ? names[o] : "?";
}

enum qo_rc
qo_s3_outcome_rc(enum qo_s3_outcome o)
{
	switch (o) {
	case QO_S3_OK:
	case QO_S3_NOT_MODIFIED:
		return QO_OK;
	case QO_S3_NOT_FOUND:
		return QO_NOENT;
	case QO_S3_PRECONDITION:
	case QO_S3_CONFLICT:
		return QO_LOST;
	case QO_S3_SLOW_DOWN:
	case QO_S3_AMBIGUOUS:
	case QO_S3_UNREACHABLE:
		return QO_AGAIN;
	case QO_S3_DENIED:
		return QO_DENIED;
	case QO_S3_BAD_RESPONSE:
	case QO_S3_TOO_LARGE:
	case QO_S3_UNSUPPORTED:
	case QO_S3_WRONG_REGION:
	case QO_S3_REJECTED:
	case QO_S3_OUTCOMES:
		break;
	}
	return QO_ERR;
}
