#include <string.h>

#include "json_doc.h"
#include "tags.h"
#include "utf8.h"

#define TEXT_MAX ((size_t)1 << 20)

static int
check_name(const char *s, size_t len, struct qo_err *err)
{
	size_t i;

	if (len == 0 || len > QO_TAGS_NAME_MAX) {
		qo_err_set(err, "the name of a tag is 1 to %d bytes",
		    QO_TAGS_NAME_MAX);
		return -1;
	}
	for (i = 0; i < len; i++)
		if (s[i] == '=' || (unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			break;
	if (i == len && utf8_valid(s, len))
		return 0;
	qo_err_set(err,
	    "the name of a tag is text without = and control "
	    "characters");
	return -1;
}

static int
check_value(const char *s, size_t len, struct qo_err *err)
{
	if (len <= QO_TAGS_VALUE_MAX && utf8_valid(s, len))
		return 0;
	qo_err_set(err, "the value of a tag is text of at most %d bytes",
	    QO_TAGS_VALUE_MAX);
	return -1;
}

int
qo_tags_split(const char *text, char name[QO_TAGS_NAME_MAX + 1],
    const char **value, struct qo_err *err)
{
	const char *eq = strchr(text, '=');
	size_t len;

	if (eq == NULL) {
		qo_err_set(err, "%.60s: a tag is NAME=VALUE", text);
		return -1;
	}
	len = (size_t)(eq - text);
	if (check_name(text, len, err) == -1 ||
	    check_value(eq + 1, strlen(eq + 1), err) == -1)
		return -1;
	memcpy(name, text, len);
	name[len] = '\0';
	*value = eq + 1;
	return 0;
}

static bool
is_double(const char *const *texts, size_t i)
{
	size_t j, len = (size_t)(strchr(texts[i], '=') - texts[i]) + 1;

	for (j = 0; j < i; j++)
		if (strncmp(texts[i], texts[j], len) == 0)
			return true;
	return false;
}

int
qo_tags_build(struct buf *b, const char *const *texts, size_t n,
    struct qo_err *err)
{
	char name[QO_TAGS_NAME_MAX + 1];
	const char *value;
	size_t i;

	if (n > QO_TAGS_MAX) {
		qo_err_set(err, "at most %d tags", QO_TAGS_MAX);
		return -1;
	}
	buf_addc(b, '{');
	for (i = 0; i < n; i++) {
		if (qo_tags_split(texts[i], name, &value, err) == -1)
			return -1;
		if (is_double(texts, i)) {
			qo_err_set(err, "the tag %.60s is given twice", name);
			return -1;
		}
		if (i > 0)
			buf_addc(b, ',');
		qo_json_add_string(b, name, strlen(name));
		buf_addc(b, ':');
		qo_json_add_string(b, value, strlen(value));
	}
	if (buf_addc(b, '}') == 0)
		return 0;
	qo_err_set(err, "tags: too long");
	return -1;
}

static yyjson_doc *
read_object(const struct qo_json *tags, struct qo_err *err)
{
	static const struct qo_json_limits limits = { TEXT_MAX, QO_JSON_DEPTH,
		true };
	yyjson_doc *doc;

	doc = qo_json_doc_read(tags->p, tags->len, &limits, QO_JSON_DOC_ALL,
	    err);
	if (doc != NULL && !yyjson_is_obj(yyjson_doc_get_root(doc))) {
		yyjson_doc_free(doc);
		qo_err_set(err, "an object of strings, {\"name\":\"value\"}");
		return NULL;
	}
	return doc;
}

int
qo_tags_check(const struct qo_json *tags, struct qo_err *err)
{
	yyjson_doc *doc;
	yyjson_val *key, *val;
	size_t i, n;
	int rv = -1;

	if ((doc = read_object(tags, err)) == NULL)
		return -1;
	if (yyjson_obj_size(yyjson_doc_get_root(doc)) > QO_TAGS_MAX) {
		qo_err_set(err, "at most %d tags", QO_TAGS_MAX);
		goto out;
	}
	yyjson_obj_foreach(yyjson_doc_get_root(doc), i, n, key, val)
	{
		if (check_name(yyjson_get_str(key), yyjson_get_len(key), err) ==
		    -1)
			goto out;
		if (!yyjson_is_str(val)) {
			qo_err_set(err, "%.60s: the value of a tag is a string",
			    yyjson_get_str(key));
			goto out;
		}
		if (check_value(yyjson_get_str(val), yyjson_get_len(val),
			err) == -1)
			goto out;
	}
	rv = 0;
out:
	yyjson_doc_free(doc);
	return rv;
}

bool
qo_tags_match(const struct qo_json *tags, const char *name, const char *value)
{
	yyjson_doc *doc;
	yyjson_val *v;
	bool match = false;

	if (tags->p == NULL || (doc = read_object(tags, NULL)) == NULL)
		return false;
	v = yyjson_obj_get(yyjson_doc_get_root(doc), name);
	/* Numbers are kept as their text; the words have none. */
	if (yyjson_is_str(v) || yyjson_is_raw(v))
		match = yyjson_get_len(v) == strlen(value) &&
		    memcmp(v->uni.str, value, strlen(value)) == 0;
	else if (yyjson_is_bool(v))
		match = strcmp(yyjson_get_bool(v) ? "true" : "false", value) ==
		    0;
	else if (yyjson_is_null(v))
		match = strcmp("null", value) == 0;
	yyjson_doc_free(doc);
	return match;
}
