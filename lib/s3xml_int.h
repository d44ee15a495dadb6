/*
 * s3xml_int.h - what the two halves of the S3 answer parser share: s3xml.c
 * collects the texts of a document, s3xml_finish.c judges what they mean
 * once it is whole.  For these two files only.
 */
#ifndef QO_S3XML_INT_H
#define QO_S3XML_INT_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"
#include "buf.h"
#include "err.h"
#include "s3xml.h"
#include "xml.h"

/* Keys are short; the canonical request that an error may quote is not. */
#define S3XML_TEXT_MAX ((size_t)64 << 10)

/* Elements whose text is kept. */
enum field_id {
	F_KEY = 0,
	F_VERSION_ID,
	F_ETAG,
	F_SIZE,
	F_LAST_MODIFIED,
	F_IS_LATEST,
	F_PREFIX,
	F_CODE,
	F_MESSAGE,
	F_REQUEST_ID,
	F_REGION,
	F_ENDPOINT,
	F_BUCKET,
	F_SERVER_TIME,
	F_TRUNCATED,
	F_ENCODING,
	F_TOKEN,
	F_MARKER,
	F_VERSION_MARKER,
	F_STATUS,
	F_MAX
};

struct s3xml_field;
struct s3xml_section;

struct qo_s3xml {
	struct xml *xml;
	struct arena arena; /* all texts of the result */
	struct buf scratch;
	enum qo_s3xml_doc want;
	enum qo_s3xml_kind refused;       /* why the handlers stopped */
	bool is_error;                    /* the root is <Error> */
	const struct s3xml_field *fields; /* of the root */
	const struct s3xml_section *sect; /* open at depth 2, or NULL */
	const char *top[F_MAX];           /* texts of depth 2; NULL: absent */
	const char *rec[F_MAX];           /* of depth 3, in the open section */
	struct qo_s3_list list;
	size_t list_cap;
	size_t prefix_cap;
	struct qo_s3_delete del;
	size_t del_cap;
	enum qo_s3_versioning versioning;
	const char *location;
	struct qo_s3_error error;
};

/* The text, or "" when there is none. */
static inline const char *
s3xml_or_empty(const char *s)
{
	return s != NULL ? s : "";
}

int s3xml_parse_bool(const char *s, bool *out); /* -1: neither */
/* The results as they are before a document. */
void s3xml_clear(struct qo_s3xml *p);
/* The document is well-formed and has the awaited root.  -1 with *err when
 * it does not make sense. */
int s3xml_finish(struct qo_s3xml *p, struct qo_err *err);
/* The same for an <Error>, which always does. */
void s3xml_finish_error(struct qo_s3xml *p);
/* The message for kind; why is what the reader or s3xml_finish said. */
void s3xml_tell(const struct qo_s3xml *p, enum qo_s3xml_kind kind,
    const char *why, struct qo_err *err);

#endif
