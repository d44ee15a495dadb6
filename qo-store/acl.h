/*
 * acl.h - canned ACLs as words, headers and XML.
 */
#ifndef ACL_H
#define ACL_H

#include <stddef.h>

#include "buf.h"
#include "db.h"
#include "s3err.h"

/* The value of x-amz-acl; NULL is private.  S3_INVALID_ARGUMENT for a word
 * that is none, S3_NOT_IMPLEMENTED for one that we do not have. */
enum s3_err acl_parse_canned(const char *word, enum db_acl *out);
/* An AccessControlPolicy document, if it says what a canned ACL says;
 * S3_NOT_IMPLEMENTED if it is more than that. */
enum s3_err acl_parse_xml(const char *text, size_t len, const char *owner,
    enum db_acl *out);
void acl_encode(struct buf *b, const char *owner, enum db_acl acl);

#endif
