/*
 * xmlout.h - what S3's answers need on top of xml.h's writer.
 *
 * Every text is escaped.  Characters that XML 1.0 can not carry at all are
 * written as the character reference that S3 also sends; clients that must
 * cope ask for encoding-type=url.  Element names are ours.
 */
#ifndef XMLOUT_H
#define XMLOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

#define XMLOUT_DECL   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define XMLOUT_NS     "http://s3.amazonaws.com/doc/2006-03-01/"
#define XMLOUT_STS_NS "https://sts.amazonaws.com/doc/2011-06-15/"

/* The declaration and <root xmlns="...">. */
void xmlout_root(struct buf *b, const char *root);
void xmlout_open(struct buf *b, const char *name);
void xmlout_close(struct buf *b, const char *name);
/* <name>value</name>, percent-encoded when url (encoding-type=url; a slash
 * stays a slash).  A NULL value writes nothing. */
void xmlout_key(struct buf *b, const char *name, const char *value, bool url);
void xmlout_bool(struct buf *b, const char *name, bool value);
/* An ETag with its quotes. */
void xmlout_etag(struct buf *b, const char *etag);
/* 2026-01-28T12:00:00.000Z */
void xmlout_time(struct buf *b, const char *name, int64_t us);
/* <name><ID>owner</ID><DisplayName>owner</DisplayName></name> */
void xmlout_owner(struct buf *b, const char *name, const char *owner);

#endif
