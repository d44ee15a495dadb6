#include "clock.h"
#include "condition.h"
#include "rfc3339.h"

/* Seconds since 1970, or -1 when the text is no date. */
static int64_t
parse_date(const char *text)
{
	struct qo_wall t;

	if (qo_httpdate_parse(text, strlen(text), &t) == -1)
		return -1;
	return t.us / QO_US_PER_SEC;
}

/*
 * Takes the next entity tag of a list: [W/]"opaque", or the bare form that
 * many S3 clients send.  False at the end.
 */
static bool
next_tag(const char **pp, const char **tag, size_t *len, bool *weak)
{
	const char *p = *pp, *end;

	while (*p == ' ' || *p == '\t' || *p == ',')
		p++;
	if (*p == '\0')
		return false;
	*weak = strncmp(p, "W/", 2) == 0;
	if (*weak)
		p += 2;
	if (*p == '"') {
		*tag = ++p;
		end = strchr(p, '"');
		if (end == NULL)
			end = p + strlen(p);
		*len = (size_t)(end - p);
		*pp = *end == '"' ? end + 1 : end;
		return true;
	}
	*tag = p;
	*len = strcspn(p, ", \t");
	*pp = p + *len;
	return true;
}

static bool
tag_listed(const char *list, const char *etag, bool strong)
{
	const char *tag;
	size_t len;
	bool weak;

	while (next_tag(&list, &tag, &len, &weak)) {
		if (len == 1 && *tag == '*')
			return true;
		if (weak && strong)
			continue;
		if (len == strlen(etag) && memcmp(tag, etag, len) == 0)
			return true;
	}
	return false;
}

enum condition_rc
condition_read(const struct condition_read *c, const char *etag,
    int64_t mtime_us)
{
	int64_t mtime, t;

	mtime = mtime_us / QO_US_PER_SEC;
	if (c->if_match != NULL) {
		if (!tag_listed(c->if_match, etag, true))
			return CONDITION_FAILED;
	} else if (c->if_unmodified_since != NULL) {
		t = parse_date(c->if_unmodified_since);
		if (t != -1 && mtime > t)
			return CONDITION_FAILED;
	}
	if (c->if_none_match != NULL) {
		if (tag_listed(c->if_none_match, etag, false))
			return CONDITION_NOT_MODIFIED;
	} else if (c->if_modified_since != NULL) {
		t = parse_date(c->if_modified_since);
		if (t != -1 && mtime <= t)
			return CONDITION_NOT_MODIFIED;
	}
	return CONDITION_GO;
}

bool
condition_if_range(const char *value, const char *etag, int64_t mtime_us)
{
	int64_t t;

	if (value == NULL)
		return true;
	t = parse_date(value);
	if (t != -1)
		return mtime_us / QO_US_PER_SEC == t;
	return tag_listed(value, etag, true);
}

/* One entity tag or *; a weak tag can never match strongly, so it becomes
 * a text that no object has. */
static enum s3_err
parse_one(struct pool *a, const char *text, const char **out)
{
	const char *tag, *rest, *more;
	size_t len, morelen;
	bool weak;

	rest = text;
	if (!next_tag(&rest, &tag, &len, &weak) || len == 0)
		return S3_INVALID_ARGUMENT;
	if (next_tag(&rest, &more, &morelen, &(bool){ false }))
		return S3_NOT_IMPLEMENTED;
	*out = weak ? "W/" : pool_strndup(a, tag, len);
	return S3_OK;
}

enum s3_err
condition_write_parse(struct pool *a, const char *if_match,
    const char *if_none_match, bool strict, struct condition_write *out)
{
	enum s3_err e = S3_OK;

	out->if_match = out->if_none_match = NULL;
	if (if_match == NULL && if_none_match == NULL)
		return S3_OK;
	if (if_match != NULL && if_none_match != NULL)
		return S3_NOT_IMPLEMENTED;
	if (if_match != NULL) {
		e = parse_one(a, if_match, &out->if_match);
		if (e == S3_OK && strict && strcmp(out->if_match, "*") == 0)
			e = S3_NOT_IMPLEMENTED;
		return e;
	}
	e = parse_one(a, if_none_match, &out->if_none_match);
	if (e == S3_OK && strict && strcmp(out->if_none_match, "*") != 0)
		e = S3_NOT_IMPLEMENTED;
	return e;
}
