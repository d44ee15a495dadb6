#include <stdbool.h>

#include "meta.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static const char *const kept[] = {
	"cache-control",
	"content-disposition",
	"content-encoding",
	"content-language",
	"content-type",
	"expires",
};

/* Headers that promise something which is not done here: a store that took
 * them silently would lie. */
static const char *const refused[] = {
	"x-amz-grant-",
	"x-amz-object-lock-",
	"x-amz-server-side-encryption",
	"x-amz-tagging",
	"x-amz-website-redirect-location",
	"x-amz-write-offset-bytes",
};

enum s3_err
meta_refuse(const struct httpd_req *http)
{
	const struct httpd_header *h;
	size_t i, k;

	for (i = 0; i < http->nheaders; i++) {
		h = &http->headers[i];
		if (strncmp(h->name, "x-amz-", 6) != 0)
			continue;
		/* "x-amz-tagging-directive: COPY" is the default said aloud. */
		if (strcmp(h->name, "x-amz-tagging-directive") == 0) {
			if (strcmp(h->value, "COPY") != 0)
				return S3_NOT_IMPLEMENTED;
			continue;
		}
		for (k = 0; k < nitems(refused); k++)
			if (strncmp(h->name, refused[k], strlen(refused[k])) ==
			    0)
				return S3_NOT_IMPLEMENTED;
		if (strcmp(h->name, "x-amz-storage-class") == 0 &&
		    strcmp(h->value, "STANDARD") != 0)
			return S3_INVALID_STORAGE_CLASS;
	}
	return S3_OK;
}

static bool
is_kept(const char *name)
{
	size_t i;

	for (i = 0; i < nitems(kept); i++)
		if (strcmp(name, kept[i]) == 0)
			return true;
	return false;
}

/* Adds a Content-Encoding without its aws-chunked, if anything is left. */
static void
add_encoding(struct buf *b, const char *value)
{
	size_t len, start;
	bool any = false;

	start = b->len;
	buf_adds(b, "content-encoding: ");
	while (*value != '\0') {
		value += strspn(value, ", \t");
		len = strcspn(value, ", \t");
		if (len > 0 &&
		    (len != 11 || strncasecmp(value, "aws-chunked", 11) != 0)) {
			if (any)
				buf_adds(b, ",");
			buf_add(b, value, len);
			any = true;
		}
		value += len;
	}
	if (any)
		buf_addc(b, '\n');
	else
		buf_truncate(b, start);
}

static void
add_line(struct buf *b, const char *name, const char *value)
{
	buf_adds(b, name);
	buf_adds(b, ": ");
	buf_adds(b, value);
	buf_addc(b, '\n');
}

enum s3_err
meta_collect(struct pool *a, const struct httpd_req *http, char **out)
{
	const struct httpd_header *h;
	struct buf b;
	size_t i, user = 0;
	enum s3_err e;

	*out = NULL;
	if ((e = meta_refuse(http)) != S3_OK)
		return e;
	buf_init(&b, 64 * 1024);
	for (i = 0; i < http->nheaders; i++) {
		h = &http->headers[i];
		if (strncmp(h->name, "x-amz-meta-", 11) == 0) {
			user += strlen(h->name) - 11 + strlen(h->value);
			add_line(&b, h->name, h->value);
		} else if (strcmp(h->name, "content-encoding") == 0) {
			add_encoding(&b, h->value);
		} else if (is_kept(h->name)) {
			add_line(&b, h->name, h->value);
		}
	}
	if (user > META_USER_MAX)
		e = S3_METADATA_TOO_LARGE;
	else if (buf_failed(&b))
		e = S3_INVALID_ARGUMENT;
	else if (b.len > 0)
		*out = pool_strndup(a, b.data, b.len);
	buf_fini(&b);
	return e;
}

bool
meta_next(char **pp, char **name, char **value)
{
	char *p = *pp, *end, *colon;

	if (p == NULL || *p == '\0')
		return false;
	if ((end = strchr(p, '\n')) == NULL ||
	    (colon = strstr(p, ": ")) == NULL || colon > end)
		return false;
	*colon = '\0';
	*end = '\0';
	*name = p;
	*value = colon + 2;
	*pp = end + 1;
	return true;
}
