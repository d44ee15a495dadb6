#include "json_doc.h"

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int
qo_json_check(const char *text, size_t len, const struct qo_json_limits *limits,
    struct qo_err *err)
{
	yyjson_doc *doc;

	doc = qo_json_doc_read(text, len, limits, QO_JSON_DOC_ALL, err);
	if (doc == NULL)
		return -1;
	yyjson_doc_free(doc);
	return 0;
}

int
qo_json_compact(const char *text, size_t len,
    const struct qo_json_limits *limits, struct buf *out, struct qo_err *err)
{
	const char *p = text, *end = text + len, *start;

	if (qo_json_check(text, len, limits, err) == -1)
		return -1;
	while (p < end) {
		start = p;
		while (p < end && !is_space(*p))
			p = *p == '"' ? qo_json_skip(p) : p + 1;
		buf_add(out, start, (size_t)(p - start));
		while (p < end && is_space(*p))
			p++;
	}
	if (buf_failed(out)) {
		qo_err_set(err, "JSON of %zu bytes: no room for it", len);
		return -1;
	}
	return 0;
}
