#include <stdbool.h>
#include <string.h>

#include "sigv4_canon.h"
#include "uri.h"

/* A parameter that was written to the buffer as name=value. */
struct param {
	size_t at;
	size_t name_len;
	size_t len;
};

/*
 * Services other than S3: resolve . and .., drop empty segments, keep a slash
 * at the end, encode what is encoded already once more.
 */
static int
path_normal(struct buf *out, const char *path)
{
	size_t start = out->len, len;
	const char *s = path, *last = "";

	if (buf_addc(out, '/') == -1)
		return -1;
	while (*(s += strspn(s, "/")) != '\0') {
		len = strcspn(s, "/");
		last = s;
		if (len == 2 && memcmp(s, "..", 2) == 0) {
			if (out->len > start + 1)
				buf_truncate(out, out->len - 1);
			while (out->data[out->len - 1] != '/')
				buf_truncate(out, out->len - 1);
		} else if (len != 1 || *s != '.') {
			if (uri_encode(out, s, len, 0) == -1)
				return -1;
			buf_addc(out, '/');
		}
		s += len;
	}
	/* No slash was behind the last segment, and it was a real one. */
	if (!buf_failed(out) && out->len > start + 1 &&
	    strchr(last, '/') == NULL && strcmp(last, ".") != 0 &&
	    strcmp(last, "..") != 0)
		buf_truncate(out, out->len - 1);
	return buf_failed(out) ? -1 : 0;
}

static int
canon_path(struct buf *out, const struct qo_sigv4_req *req)
{
	if ((req->flags & QO_SIGV4_NORMALIZE) != 0)
		return path_normal(out, req->path);
	if (req->path[0] == '\0')
		return buf_addc(out, '/');
	/* A client may send "$" where the canonical form has "%24". */
	return uri_recode(out, req->path, strlen(req->path), URI_KEEP_SLASH);
}

static int
cmp_bytes(const char *a, size_t alen, const char *b, size_t blen)
{
	int c;

	c = memcmp(a, b, alen < blen ? alen : blen);
	if (c != 0)
		return c;
	return (alen > blen) - (alen < blen);
}

static int
cmp_params(const char *base, const struct param *a, const struct param *b)
{
	int c;

	c = cmp_bytes(base + a->at, a->name_len, base + b->at, b->name_len);
	if (c != 0)
		return c;
	return cmp_bytes(base + a->at + a->name_len, a->len - a->name_len,
	    base + b->at + b->name_len, b->len - b->name_len);
}

/* Writes one parameter in its right spelling. */
static int
put_param(struct buf *out, const struct uri_raw *raw, int flags,
    struct param *p)
{
	int uflags = (flags & QO_SIGV4_PLUS_SPACE) != 0 ? URI_PLUS_SPACE : 0;

	p->at = out->len;
	if (uri_recode(out, raw->name, raw->name_len, uflags) == -1)
		return -1;
	p->name_len = out->len - p->at;
	buf_addc(out, '=');
	if (uri_recode(out, raw->value, raw->value_len, uflags) == -1)
		return -1;
	p->len = out->len - p->at;
	return buf_failed(out) ? -1 : 0;
}

static bool
is_signature(const struct buf *out, const struct param *p)
{
	static const char name[] = "X-Amz-Signature";

	return p->name_len == sizeof(name) - 1 &&
	    memcmp(out->data + p->at, name, sizeof(name) - 1) == 0;
}

/*
 * Writes the parameters, sorted by encoded name and then value, over what
 * stands in out from start on (the same ones, unsorted, without the &).
 */
static int
sort_params(struct buf *out, size_t start, struct param *v, size_t n)
{
	struct param tmp;
	char *dst, *sorted;
	size_t i, j, len;

	for (i = 1; i < n; i++) {
		tmp = v[i];
		for (j = i; j > 0 && cmp_params(out->data, &tmp, &v[j - 1]) < 0;
		     j--)
			v[j] = v[j - 1];
		v[j] = tmp;
	}
	len = out->len - start + (n > 0 ? n - 1 : 0);
	if ((dst = buf_reserve(out, len)) == NULL)
		return -1;
	for (i = 0; i < n; i++) {
		if (i > 0)
			*dst++ = '&';
		memcpy(dst, out->data + v[i].at, v[i].len);
		dst += v[i].len;
	}
	sorted = out->data + out->len;
	buf_truncate(out, start);
	memmove(out->data + start, sorted, len);
	buf_advance(out, len);
	return 0;
}

static int
canon_query(struct buf *out, const struct qo_sigv4_req *req)
{
	struct param v[QO_SIGV4_PARAMS_MAX + 1]; /* with the signature */
	struct uri_raw raw;
	const char *p = req->query;
	size_t n = 0, start = out->len;

	if (p == NULL || *p == '\0')
		return 0;
	while (uri_query_next(&p, &raw)) {
		if (n > QO_SIGV4_PARAMS_MAX ||
		    put_param(out, &raw, req->flags, &v[n]) == -1)
			return -1;
		if ((req->flags & QO_SIGV4_PRESIGNED) != 0 &&
		    is_signature(out, &v[n]))
			buf_truncate(out, v[n].at);
		else
			n++;
	}
	if (n > QO_SIGV4_PARAMS_MAX)
		return -1;
	return sort_params(out, start, v, n);
}

/* Trimmed, and each run of spaces is one. */
static void
put_value(struct buf *out, const char *s)
{
	size_t len, n;

	s += strspn(s, " \t");
	len = strlen(s);
	while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t'))
		len--;
	while (len > 0) {
		for (n = 0; n < len; n++)
			if (s[n] == ' ' && s[n + 1] == ' ')
				break;
		if (n == len) {
			buf_add(out, s, n);
			return;
		}
		buf_add(out, s, n + 1);
		n += strspn(s + n, " ");
		s += n;
		len -= n;
	}
}

/* The line of each name in the list; several headers of one name are joined
 * by commas in the order sent. */
static int
listed_headers(struct buf *out, const struct qo_sigv4_req *req)
{
	const char *s = req->signed_headers;
	size_t i, len, found;

	for (; *s != '\0'; s += len + (s[len] == ';')) {
		len = strcspn(s, ";");
		found = 0;
		for (i = 0; i < req->nheaders; i++) {
			if (strncmp(req->headers[i].name, s, len) != 0 ||
			    req->headers[i].name[len] != '\0')
				continue;
			if (found++ == 0) {
				buf_add(out, s, len);
				buf_addc(out, ':');
			} else
				buf_addc(out, ',');
			put_value(out, req->headers[i].value);
		}
		if (found == 0)
			return -1;
		buf_addc(out, '\n');
	}
	return 0;
}

/* Stable, so that headers of one name keep their order. */
static void
sort_headers(const struct qo_kv **v, const struct qo_kv *h, size_t n)
{
	size_t i, j;

	for (i = 0; i < n; i++) {
		for (j = i; j > 0 && strcmp(h[i].name, v[j - 1]->name) < 0; j--)
			v[j] = v[j - 1];
		v[j] = &h[i];
	}
}

static void
all_headers(struct buf *out, const struct qo_kv **v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (i > 0 && strcmp(v[i]->name, v[i - 1]->name) == 0) {
			buf_truncate(out, out->len - 1);
			buf_addc(out, ',');
		} else {
			buf_adds(out, v[i]->name);
			buf_addc(out, ':');
		}
		put_value(out, v[i]->value);
		buf_addc(out, '\n');
	}
}

static void
all_names(struct buf *out, const struct qo_kv **v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (i > 0 && strcmp(v[i]->name, v[i - 1]->name) == 0)
			continue;
		if (i > 0)
			buf_addc(out, ';');
		buf_adds(out, v[i]->name);
	}
}

/* Header lines, an empty line, the list of names. */
static int
canon_headers(struct buf *out, const struct qo_sigv4_req *req,
    struct qo_sigv4_canon *at)
{
	const struct qo_kv *v[QO_SIGV4_HEADERS_MAX];

	if (req->signed_headers != NULL) {
		if (listed_headers(out, req) == -1)
			return -1;
		buf_addc(out, '\n');
		at->names = out->len;
		buf_adds(out, req->signed_headers);
	} else {
		if (req->nheaders > QO_SIGV4_HEADERS_MAX)
			return -1;
		sort_headers(v, req->headers, req->nheaders);
		all_headers(out, v, req->nheaders);
		buf_addc(out, '\n');
		at->names = out->len;
		all_names(out, v, req->nheaders);
	}
	at->names_len = out->len - at->names;
	return 0;
}

int
qo_sigv4_canonical(struct buf *out, const struct qo_sigv4_req *req,
    struct qo_sigv4_canon *at)
{
	buf_adds(out, req->method);
	buf_addc(out, '\n');
	if (canon_path(out, req) == -1)
		return -1;
	buf_addc(out, '\n');
	at->query = out->len;
	if (canon_query(out, req) == -1)
		return -1;
	at->query_len = out->len - at->query;
	buf_addc(out, '\n');
	if (canon_headers(out, req, at) == -1)
		return -1;
	buf_addc(out, '\n');
	buf_adds(out, req->payload_hash);
	return buf_failed(out) ? -1 : 0;
}
