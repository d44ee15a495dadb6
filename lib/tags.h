/*
 * tags.h - is this task marked so?  A task's tags are a JSON object.
 */
#ifndef QO_TAGS_H
#define QO_TAGS_H

#include <stdbool.h>

#include "json.h"

/* Is there a tag of that name whose value is this text?  A value that is no
 * string is compared as it is written. */
bool
qo_tags_match(const struct qo_json *tags, const char *name, const char *value);

#endif
