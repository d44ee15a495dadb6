/*
 * meta.h - the headers that are kept with an object.
 *
 * Content-Type and its kin and x-amz-meta-*, stored as lines "name: value\n"
 * in the opaque headers text of the database.
 */
#ifndef META_H
#define META_H

#include "pool.h"
#include "buf.h"
#include "httpd.h"
#include "s3err.h"

#define META_USER_MAX 2048 /* names and values of x-amz-meta-* together */

/*
 * Collects what is to be kept from the request into *out (in the pool; NULL
 * when there is nothing) and refuses what we do not have: encryption, tags,
 * object lock, grants, storage classes other than STANDARD.  aws-chunked is
 * taken out of Content-Encoding.
 */
enum s3_err meta_collect(struct pool *a, const struct httpd_req *http,
    char **out);
/* Only the refusals, for writes that keep nothing (parts, copies). */
enum s3_err meta_refuse(const struct httpd_req *http);

/*
 * Walks a stored text, which it cuts up: *pp starts at it (NULL is fine).
 * False at the end.
 */
bool meta_next(char **pp, char **name, char **value);

#endif
