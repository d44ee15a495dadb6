/*
 * payload.h - the body of a request on its way in.
 *
 * Takes the aws-chunked coding off, passes the bytes on to a document buffer
 * or a database body, and compares what came with everything the client said
 * about it: length, x-amz-content-sha256, Content-MD5, x-amz-checksum-* in
 * the head or as a trailer, and the signatures of chunks.
 */
#ifndef PAYLOAD_H
#define PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "awschunk.h"
#include "buf.h"
#include "checksum.h"
#include "db.h"
#include "hash.h"
#include "httpd.h"
#include "pool.h"
#include "s3err.h"

struct request;

struct payload {
	/* A document; NUL-terminated.  Empty for an object. */
	struct buf text;
	/* Why a database body could not take more. */
	enum db_rc rc;
	/* Set beside an error that has its own words, or NULL. */
	const struct qo_sigv4_fault *fault;

	/* The rest is private. */
	struct db_body *body;
	struct qo_awschunk *chunks;
	struct hash sha;
	bool sha_ready; /* sha was init'ed: kept from request to request */
	bool want_sha, want_md5, want_sum, sum_trailer;
	uint8_t sha_said[SHA256_LEN];
	uint8_t md5_said[MD5_LEN];
	struct checksum sum;
	enum checksum_alg alg;
	char sum_said[CHECKSUM_TEXT_SIZE];
};

struct payload_limit {
	bool object;      /* into a database body, else into text */
	int64_t max;      /* bytes of it */
	int64_t wire_max; /* out: bytes to take from the connection */
};

void payload_init(struct payload *p);
void payload_reset(struct payload *p); /* ready for the next request */
void payload_fini(struct payload *p);

/* Reads the headers; anything but S3_OK refuses the body unread. */
enum s3_err payload_begin(struct payload *p, struct request *r,
    struct payload_limit *limit);
enum s3_err payload_add(struct payload *p, const char *data, size_t len);
/* The body is complete: is it what was said? */
enum s3_err payload_end(struct payload *p);

/* After a good end.  The body moves to the caller. */
struct db_body *payload_take_body(struct payload *p);
/* "crc32:base64" for the database, or NULL. */
char *payload_checksum(const struct payload *p, struct pool *mem);
/* Adds the x-amz-checksum- header of what was verified to the answer. */
void payload_echo_checksum(const struct payload *p, struct httpd_req *http);

#endif
