/*
 * xml.h - XML that a peer sends, read in small bounded steps, and XML that
 * we write.
 *
 * The reader is expat behind a fence: no DTD and no entity declarations,
 * UTF-8 only, at most XML_DEPTH_MAX deep, sizes limited by the caller.  It
 * takes the document in pieces of any size and tells the handler of each
 * element, by its path of local names from the root ("Delete/Object/Key");
 * prefixes, namespaces, attributes, comments and processing instructions are
 * dropped.  What to do with an unknown element is the handler's choice.
 * White space before the document is skipped: servers send it to keep a
 * connection alive.  How the document is cut into pieces never changes the
 * result.
 */
#ifndef QO_XML_H
#define QO_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

#define XML_DEPTH_MAX 32

struct xml;

/* Why a document was not read; what a caller tells apart. */
enum xml_fail {
	XML_FAIL_NONE = 0,
	XML_FAIL_EMPTY,     /* nothing, or only white space */
	XML_FAIL_NOT_XML,   /* does not begin with '<' */
	XML_FAIL_HTML,      /* a web page: some proxy or portal answered */
	XML_FAIL_SYNTAX,    /* not well-formed, or not UTF-8 */
	XML_FAIL_TRUNCATED, /* well-formed so far, but the end is missing */
	XML_FAIL_DTD,       /* has a DOCTYPE */
	XML_FAIL_LIMIT,     /* too large, too deep, a text too long */
	XML_FAIL_REFUSED    /* the handler said no */
};

/* One element; borrowed, valid during the call. */
struct xml_elem {
	const char *name; /* local name */
	const char *path; /* local names from the root on, joined by '/' */
	int depth;        /* 1 is the root */
	bool leaf;        /* in close: had no element inside */
	/* In close: the text of a leaf, NUL-terminated, without any NUL
	 * inside, valid UTF-8, white space kept; else "". */
	const char *text;
	size_t len;
};

/* Each returns 0, or -1 (best from xml_refuse) to stop.  Either may be NULL.
 * Text other than white space beside elements is a syntax error. */
struct xml_ops {
	int (*open)(struct xml *x, const struct xml_elem *e, void *arg);
	int (*close)(struct xml *x, const struct xml_elem *e, void *arg);
};

/* ops and arg are borrowed.  doc_max limits the whole document, text_max the
 * text of one element, both in bytes. */
struct xml *xml_new(size_t doc_max, size_t text_max, const struct xml_ops *ops,
    void *arg);
void xml_free(struct xml *x);  /* NULL is fine */
void xml_reset(struct xml *x); /* for the next document, memory kept */

/* 0, or -1 with *err (may be NULL; line and column stand in the message, but
 * for limits).  A failure is final: later calls give the same until
 * xml_reset. */
int xml_feed(struct xml *x, const void *p, size_t len, struct qo_err *err);
/* The document is complete: the one call that says it was good. */
int xml_end(struct xml *x, struct qo_err *err);
/* All of a document at once. */
int xml_parse(struct xml *x, const void *p, size_t len, struct qo_err *err);
enum xml_fail xml_fail(const struct xml *x);

/* For handlers: sets the message, returns -1. */
int xml_refuse(struct xml *x, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Adds UTF-8 text to b with & < > " ' escaped and control characters as
 * references (&#xD;).  S3 does so even for those that XML 1.0 does not know;
 * use xml_can_carry where the reader must be able to parse it.  0, or -1 over
 * b's limit.
 */
int xml_escape(struct buf *b, const char *s, size_t len);
/* <name>escaped</name>; s is NUL-terminated, name is ours. */
int xml_add(struct buf *b, const char *name, const char *s);
int xml_add_int(struct buf *b, const char *name, int64_t n);
/* Valid UTF-8 of characters that XML 1.0 has. */
bool xml_can_carry(const char *s, size_t len);

#endif
