/*
 * tags.h - the tags of a task: an object of strings, {"team":"mail"}.
 *
 * Names are 1 to 128 bytes without `=' and control characters, values 0 to
 * 256 bytes of any text; at most 50 to a task.
 */
#ifndef QO_TAGS_H
#define QO_TAGS_H

#include <stdbool.h>

#include "buf.h"
#include "err.h"
#include "json.h"

#define QO_TAGS_MAX       50
#define QO_TAGS_NAME_MAX  128
#define QO_TAGS_VALUE_MAX 256

/* A name and a value as a user writes them, NAME=VALUE; both point into text
 * or behind it.  -1 with *err when that is no tag. */
int qo_tags_split(const char *text, char name[QO_TAGS_NAME_MAX + 1],
    const char **value, struct qo_err *err);
/* Texts NAME=VALUE into an object in b, which must be empty.  -1 with *err:
 * no tag, too many, or a name twice. */
int qo_tags_build(struct buf *b, const char *const *texts, size_t n,
    struct qo_err *err);
/* Is this valid JSON an object as above?  -1 with *err. */
int qo_tags_check(const struct qo_json *tags, struct qo_err *err);
/* Has the task this tag?  tags->p may be NULL.  A value that is no string
 * (others may write such) is compared by its JSON text. */
bool qo_tags_match(const struct qo_json *tags, const char *name,
    const char *value);

#endif
