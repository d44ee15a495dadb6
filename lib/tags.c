#include <string.h>

#include "json_doc.h"
#include "tags.h"

static bool
equals(const struct qo_json *text, const yyjson_val *v, const char *value)
{
	const char *s = text->p;
	size_t len = text->len;

	if (unsafe_yyjson_is_str((void *)v)) {
		s = v->uni.str;
		len = unsafe_yyjson_get_len((void *)v);
	}
	return len == strlen(value) && memcmp(s, value, len) == 0;
}

bool
qo_tags_match(const struct qo_json *tags, const char *name, const char *value)
{
	struct qo_json_limits limits = { tags->len + 1, QO_JSON_DEPTH_MAX,
		false };
	yyjson_obj_iter it;
	yyjson_val *key, *next;
	struct qo_json text;
	yyjson_doc *doc;
	bool found = false;

	if (tags->p == NULL)
		return false;
	doc = qo_json_doc_read(
	    tags->p, tags->len, &limits, QO_JSON_DOC_NOT_ROOT, NULL);
	if (doc == NULL)
		return false;
	yyjson_obj_iter_init(yyjson_doc_get_root(doc), &it);
	next = yyjson_obj_iter_next(&it);
	while ((key = next) != NULL && !found) {
		next = yyjson_obj_iter_next(&it);
		if (!unsafe_yyjson_equals_strn(key, name, strlen(name)))
			continue;
		text = qo_json_doc_member(doc, tags->p, tags->len, key, next);
		found = equals(&text, key + 1, value);
	}
	yyjson_doc_free(doc);
	return found;
}
