/* The S3 errors of sigv4_verify.h. */
#include "sigv4_verify.h"

#define HEADER "AuthorizationHeaderMalformed"
#define QUERY  "AuthorizationQueryParametersError"

static const struct qo_sigv4_fault faults[] = {
	[QO_SIGV4_OK] = { 200, "", "" },
	[QO_SIGV4_ANONYMOUS] = { 403, "AccessDenied", "Access Denied" },
	[QO_SIGV4_BOTH] = { 400, "InvalidArgument",
	    "Only one auth mechanism allowed; only the X-Amz-Algorithm query "
	    "parameter, Signature query string parameter or the Authorization "
	    "header should be specified" },
	[QO_SIGV4_V2] = { 400, "InvalidRequest",
	    "The authorization mechanism you have provided is not supported. "
	    "Please use AWS4-HMAC-SHA256." },
	[QO_SIGV4_V4A] = { 400, "InvalidRequest",
	    "AWS4-ECDSA-P256-SHA256 is not supported. "
	    "Please use AWS4-HMAC-SHA256." },
	[QO_SIGV4_ALGORITHM_BAD] = { 400, "InvalidArgument",
	    "Unsupported Authorization Type" },
	[QO_SIGV4_HEADER_BAD] = { 400, HEADER,
	    "The authorization header is malformed." },
	[QO_SIGV4_QUERY_BAD] = { 400, QUERY,
	    "Query-string authentication version 4 requires the "
	    "X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, X-Amz-Date, "
	    "X-Amz-SignedHeaders and X-Amz-Expires (0 to 604800 seconds) "
	    "parameters, each once and well-formed." },
	[QO_SIGV4_REGION_BAD] = { 400, HEADER,
	    "The credential scope names a wrong region." },
	[QO_SIGV4_SERVICE_BAD] = { 400, HEADER,
	    "The credential scope names a wrong service; this endpoint belongs "
	    "to \"s3\"." },
	[QO_SIGV4_SCOPE_BAD] = { 400, HEADER,
	    "The date of the credential scope is not the day of the request's "
	    "date." },
	[QO_SIGV4_DATE_BAD] = { 403, "AccessDenied",
	    "AWS authentication requires a valid Date or x-amz-date header" },
	[QO_SIGV4_SKEWED] = { 403, "RequestTimeTooSkewed",
	    "The difference between the request time and the server's time is "
	    "too large." },
	[QO_SIGV4_EXPIRED] = { 403, "AccessDenied", "Request has expired" },
	[QO_SIGV4_NOT_YET] = { 403, "AccessDenied",
	    "Request is not yet valid" },
	[QO_SIGV4_UNSIGNED] = { 403, "AccessDenied",
	    "There were headers present in the request which were not signed" },
	[QO_SIGV4_PAYLOAD_NONE] = { 400, "InvalidRequest",
	    "Missing required header for this request: x-amz-content-sha256" },
	[QO_SIGV4_PAYLOAD_BAD] = { 400, "InvalidArgument",
	    "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, "
	    "STREAMING-UNSIGNED-PAYLOAD-TRAILER, "
	    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD, "
	    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a valid sha256 "
	    "value." },
	[QO_SIGV4_PAYLOAD_ECDSA] = { 501, "NotImplemented",
	    "Signatures of AWS4-ECDSA-P256-SHA256 are not implemented." },
	[QO_SIGV4_KEY_UNKNOWN] = { 403, "InvalidAccessKeyId",
	    "The AWS Access Key Id you provided does not exist in our "
	    "records." },
	[QO_SIGV4_MISMATCH] = { 403, "SignatureDoesNotMatch",
	    "The request signature we calculated does not match the signature "
	    "you provided. Check your key and signing method." },
};

/* The same in a presigned query. */
static const struct qo_sigv4_fault query_faults[] = {
	[QO_SIGV4_REGION_BAD] = { 400, QUERY,
	    "X-Amz-Credential names a wrong region." },
	[QO_SIGV4_SERVICE_BAD] = { 400, QUERY,
	    "X-Amz-Credential names a wrong service; this endpoint belongs to "
	    "\"s3\"." },
	[QO_SIGV4_SCOPE_BAD] = { 400, QUERY,
	    "The date of X-Amz-Credential is not the day of X-Amz-Date." },
};

const struct qo_sigv4_fault *
qo_sigv4_fault(enum qo_sigv4_verdict v, bool presigned)
{
	if (presigned &&
	    (size_t)v < sizeof(query_faults) / sizeof(query_faults[0]) &&
	    query_faults[v].code != NULL)
		return &query_faults[v];
	return &faults[v];
}
