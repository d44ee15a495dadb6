/*
 * fake_s3.h - a store in memory, on the loop of the test, that can be told
 * to be as bad as stores have been seen to be.  No signatures, no versions.
 */
#ifndef FAKE_S3_H
#define FAKE_S3_H

#include "loop.h"

enum fake_s3_fault {
	FAKE_S3_GOOD = 0,
	FAKE_S3_IGNORE_INM = 1 << 0,  /* If-None-Match on PUT */
	FAKE_S3_IGNORE_IM = 1 << 1,   /* If-Match on PUT */
	FAKE_S3_NOT_ATOMIC = 1 << 2,  /* conditions are judged, then time goes
				       * by, then it is written */
	FAKE_S3_OLD_OK = 1 << 3,      /* old requests are taken */
	FAKE_S3_UNORDERED = 1 << 4,   /* LIST is not sorted */
	FAKE_S3_STALE_LIST = 1 << 5,  /* LIST shows what was deleted */
	FAKE_S3_BARE_ETAG = 1 << 6,   /* If-Match only without quotes */
	FAKE_S3_READ_ONLY = 1 << 7,   /* 403 to all writes */
	FAKE_S3_UNVERSIONED = 1 << 8, /* says so when asked */
	FAKE_S3_NO_BULK = 1 << 9,     /* DeleteObjects is not known */
	FAKE_S3_LIES = 1 << 10,       /* writes, then answers 500 */
	FAKE_S3_LOSERS_500 = 1 << 11  /* Ceph: 500 to some who lose a race */
};

struct fake_s3;

struct fake_s3 *fake_s3_new(struct loop *l, unsigned faults);
void fake_s3_free(struct fake_s3 *f);
const char *fake_s3_url(const struct fake_s3 *f);
/* Objects that are there. */
size_t fake_s3_count(const struct fake_s3 *f);

#endif
