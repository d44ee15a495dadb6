#include <stdint.h>

#include "cors.h"
#include "xalloc.h"
#include "xml.h"
#include "xmlout.h"

#define CORS_MAX   (64 * 1024)
#define RULES_MAX  100
#define VALUES_MAX 100

struct cors {
	struct cors_rule *rules;
	size_t n;
};

static void
list_free(char **list)
{
	size_t i;

	if (list == NULL)
		return;
	for (i = 0; list[i] != NULL; i++)
		free(list[i]);
	free(list);
}

void
cors_free(struct cors *c)
{
	size_t i;

	if (c == NULL)
		return;
	for (i = 0; i < c->n; i++) {
		free(c->rules[i].id);
		free(c->rules[i].expose);
		list_free(c->rules[i].origins);
		list_free(c->rules[i].methods);
		list_free(c->rules[i].headers);
		list_free(c->rules[i].exposes);
	}
	free(c->rules);
	free(c);
}

static size_t
list_len(char **list)
{
	size_t n = 0;

	while (list[n] != NULL)
		n++;
	return n;
}

static int
list_add(struct xml *x, char ***list, const char *text)
{
	size_t n;

	n = list_len(*list);
	if (n >= VALUES_MAX)
		return xml_refuse(x, "too many values in a rule");
	*list = xreallocarray(*list, n + 2, sizeof(**list));
	(*list)[n] = xstrdup(text);
	(*list)[n + 1] = NULL;
	return 0;
}

static int
on_open(struct xml *x, const struct xml_elem *e, void *arg)
{
	struct cors *c = arg;
	struct cors_rule *r;

	if (e->depth == 1 && strcmp(e->path, "CORSConfiguration") != 0)
		return xml_refuse(x, "not a CORSConfiguration");
	if (e->depth != 2)
		return 0;
	if (strcmp(e->name, "CORSRule") != 0)
		return xml_refuse(x, "unknown element %s", e->name);
	if (c->n >= RULES_MAX)
		return xml_refuse(x, "too many rules");
	c->rules = xreallocarray(c->rules, c->n + 1, sizeof(*c->rules));
	r = &c->rules[c->n++];
	memset(r, 0, sizeof(*r));
	r->max_age = -1;
	r->origins = xcalloc(1, sizeof(*r->origins));
	r->methods = xcalloc(1, sizeof(*r->methods));
	r->headers = xcalloc(1, sizeof(*r->headers));
	r->exposes = xcalloc(1, sizeof(*r->exposes));
	return 0;
}

/* Text that may go into an answer's header: no control characters. */
static bool
text_ok(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

static bool
one_star(const char *s)
{
	s = strchr(s, '*');
	return s == NULL || strchr(s + 1, '*') == NULL;
}

static bool
method_ok(const char *s)
{
	return strcmp(s, "GET") == 0 || strcmp(s, "PUT") == 0 ||
	    strcmp(s, "POST") == 0 || strcmp(s, "DELETE") == 0 ||
	    strcmp(s, "HEAD") == 0;
}

static int
set_max_age(struct xml *x, struct cors_rule *r, const char *text)
{
	const char *why;

	r->max_age = (long)strtonum(text, 0, INT32_MAX, &why);
	if (why != NULL)
		return xml_refuse(x, "MaxAgeSeconds is %s", why);
	return 0;
}

static int
on_close(struct xml *x, const struct xml_elem *e, void *arg)
{
	struct cors *c = arg;
	struct cors_rule *r;

	if (e->depth != 3)
		return 0;
	r = &c->rules[c->n - 1];
	if (!e->leaf || !text_ok(e->text))
		return xml_refuse(x, "bad value of %s", e->name);
	if (strcmp(e->name, "ID") == 0) {
		free(r->id);
		r->id = xstrdup(e->text);
		return 0;
	}
	if (strcmp(e->name, "AllowedOrigin") == 0)
		return one_star(e->text) && *e->text != '\0'
		    ? list_add(x, &r->origins, e->text)
		    : xml_refuse(x, "bad AllowedOrigin");
	if (strcmp(e->name, "AllowedMethod") == 0)
		return method_ok(e->text) ? list_add(x, &r->methods, e->text)
					  : xml_refuse(x, "bad AllowedMethod");
	if (strcmp(e->name, "AllowedHeader") == 0)
		return one_star(e->text) ? list_add(x, &r->headers, e->text)
					 : xml_refuse(x, "bad AllowedHeader");
	if (strcmp(e->name, "ExposeHeader") == 0)
		return list_add(x, &r->exposes, e->text);
	if (strcmp(e->name, "MaxAgeSeconds") == 0)
		return set_max_age(x, r, e->text);
	return xml_refuse(x, "unknown element %s", e->name);
}

static bool
rules_finish(struct cors *c)
{
	struct cors_rule *r;
	struct buf b;
	size_t i, k;

	for (i = 0; i < c->n; i++) {
		r = &c->rules[i];
		if (r->origins[0] == NULL || r->methods[0] == NULL)
			return false;
		if (r->exposes[0] == NULL)
			continue;
		buf_init(&b, CORS_MAX);
		for (k = 0; r->exposes[k] != NULL; k++) {
			buf_adds(&b, k > 0 ? ", " : "");
			buf_adds(&b, r->exposes[k]);
		}
		r->expose = buf_take(&b, NULL);
	}
	return c->n > 0;
}

struct cors *
cors_parse(const char *text, size_t len, enum s3_err *e)
{
	static const struct xml_ops ops = { on_open, on_close };
	struct cors *c;
	struct xml *x;

	c = xcalloc(1, sizeof(*c));
	x = xml_new(CORS_MAX, 4096, &ops, c);
	if (xml_parse(x, text, len, NULL) == -1 || !rules_finish(c)) {
		if (e != NULL)
			*e = S3_MALFORMED_XML;
		cors_free(c);
		c = NULL;
	}
	xml_free(x);
	return c;
}

static void
encode_list(struct buf *b, const char *name, char **list)
{
	for (; *list != NULL; list++)
		xml_add(b, name, *list);
}

void
cors_encode(const struct cors *c, struct buf *b)
{
	const struct cors_rule *r;
	size_t i;

	xmlout_root(b, "CORSConfiguration");
	for (i = 0; i < c->n; i++) {
		r = &c->rules[i];
		xmlout_open(b, "CORSRule");
		if (r->id != NULL)
			xml_add(b, "ID", r->id);
		encode_list(b, "AllowedMethod", r->methods);
		encode_list(b, "AllowedOrigin", r->origins);
		encode_list(b, "AllowedHeader", r->headers);
		if (r->max_age >= 0)
			xml_add_int(b, "MaxAgeSeconds", r->max_age);
		encode_list(b, "ExposeHeader", r->exposes);
		xmlout_close(b, "CORSRule");
	}
	xmlout_close(b, "CORSConfiguration");
}

/* At most one * in the pattern; it stands for any text. */
static bool
wild_match(const char *pattern, const char *s, size_t len, bool fold)
{
	int (*cmp)(const char *, const char *, size_t);
	const char *star;
	size_t head, tail;

	cmp = fold ? strncasecmp : strncmp;
	if ((star = strchr(pattern, '*')) == NULL)
		return strlen(pattern) == len && cmp(pattern, s, len) == 0;
	head = (size_t)(star - pattern);
	tail = strlen(star + 1);
	return len >= head + tail && cmp(pattern, s, head) == 0 &&
	    cmp(star + 1, s + len - tail, tail) == 0;
}

static bool
header_listed(char **list, const char *name, size_t len)
{
	for (; *list != NULL; list++)
		if (wild_match(*list, name, len, true))
			return true;
	return false;
}

static bool
headers_ok(const struct cors_rule *r, const char *headers)
{
	size_t len;

	if (headers == NULL)
		return true;
	while (*headers != '\0') {
		headers += strspn(headers, ", \t");
		len = strcspn(headers, ", \t");
		if (len > 0 && !header_listed(r->headers, headers, len))
			return false;
		headers += len;
	}
	return true;
}

static bool
origin_ok(const struct cors_rule *r, const char *origin, bool session,
    bool *star)
{
	size_t i;

	*star = false;
	for (i = 0; r->origins[i] != NULL; i++) {
		if (strcmp(r->origins[i], "*") == 0)
			*star = !session;
		else if (wild_match(r->origins[i], origin, strlen(origin),
			     false)) {
			*star = false;
			return true;
		}
	}
	return *star;
}

const struct cors_rule *
cors_match(const struct cors *c, const char *origin, const char *method,
    const char *headers, bool session, bool *star)
{
	const struct cors_rule *r;
	size_t i, k;

	for (i = 0; i < c->n; i++) {
		r = &c->rules[i];
		for (k = 0; r->methods[k] != NULL; k++)
			if (strcmp(r->methods[k], method) == 0)
				break;
		if (r->methods[k] == NULL)
			continue;
		if (headers_ok(r, headers) &&
		    origin_ok(r, origin, session, star))
			return r;
	}
	return NULL;
}
