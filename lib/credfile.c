#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "credfile.h"
#include "ini.h"
#include "io.h"
#include "xalloc.h"

#define CREDFILE_MAX 65536

static void
wipe(char **s)
{
	if (*s != NULL)
		explicit_bzero(*s, strlen(*s));
	free(*s);
	*s = NULL;
}

void
credfile_fini(struct credfile *c)
{
	wipe(&c->access_key);
	wipe(&c->secret_key);
}

struct reading {
	struct credfile *out;
	const char *name;
	struct qo_err *err;
	bool failed;
};

static bool
complete(const struct credfile *c)
{
	return c->access_key != NULL && c->secret_key != NULL;
}

static enum ini_verdict
take(void *arg, const struct ini_item *it)
{
	struct reading *r = arg;
	char **dst = NULL;

	if (complete(r->out))
		return INI_STOP;
	switch (it->kind) {
	case INI_SECTION:
		credfile_fini(r->out);
		return INI_GO;
	case INI_KEY:
		if (strcmp(it->key, "access_key") == 0)
			dst = &r->out->access_key;
		else if (strcmp(it->key, "secret_key") == 0)
			dst = &r->out->secret_key;
		if (dst != NULL && *it->value != '\0') {
			wipe(dst);
			*dst = xstrdup(it->value);
		}
		return INI_GO;
	case INI_ERROR:
		qo_err_set(r->err, "%s:%u: %s", r->name, it->line, it->msg);
		r->failed = true;
		return INI_STOP;
	}
	return INI_GO;
}

/* Skips blanks, line ends and comments. */
static const char *
first_line(const char *p, const char *end)
{
	for (;;) {
		while (p < end && strchr(" \t\r\n", *p) != NULL)
			p++;
		if (p == end || (*p != ';' && *p != '#'))
			return p;
		while (p < end && *p != '\n')
			p++;
	}
}

/* One word alone in its line; *p moves behind it. */
static char *
take_line(const char **p, const char *end)
{
	const char *s, *e;

	s = e = first_line(*p, end);
	while (e<end && * e> ' ' && *e < 0x7f)
		e++;
	*p = e;
	while (*p < end && (**p == ' ' || **p == '\t' || **p == '\r'))
		(*p)++;
	if (s == e || (*p < end && **p != '\n'))
		return NULL;
	return xmemdup0(s, (size_t)(e - s));
}

static void
take_lines(const char *p, const char *end, struct credfile *out)
{
	out->access_key = take_line(&p, end);
	out->secret_key = take_line(&p, end);
	if (first_line(p, end) != end)
		wipe(&out->secret_key);
}

int
credfile_parse(const char *text, size_t len, const char *name,
    struct credfile *out, struct qo_err *err)
{
	struct reading r = { .out = out, .name = name, .err = err };
	const char *end = text + len, *p, *nl;

	memset(out, 0, sizeof(*out));
	if (memchr(text, '\0', len) != NULL) {
		qo_err_set(err, "%s: a NUL byte", name);
		return -1;
	}
	p = first_line(text, end);
	nl = memchr(p, '\n', (size_t)(end - p));
	if (nl == NULL)
		nl = end;
	if (p < end && (*p == '[' || memchr(p, '=', (size_t)(nl - p)) != NULL))
		ini_parse(text, len, name, 0, take, &r);
	else
		take_lines(p, end, out);
	if (!r.failed && complete(out))
		return 0;
	credfile_fini(out);
	if (!r.failed)
		qo_err_set(err,
		    "%s: needs access_key = ... and secret_key = ..., or "
		    "these two alone in two lines",
		    name);
	return -1;
}

static int
read_of(const char *path, uid_t keeper, struct credfile *out,
    struct qo_err *err)
{
	struct buf b;
	int rv;

	memset(out, 0, sizeof(*out));
	buf_init_secret(&b, CREDFILE_MAX);
	/* At once in full: growing would leave copies behind. */
	buf_reserve(&b, CREDFILE_MAX);
	rv = io_read_secret_of(path, keeper, &b, err);
	if (rv == 0)
		rv = credfile_parse(b.data, b.len, path, out, err);
	buf_fini(&b);
	return rv;
}

int
credfile_read(const char *path, struct credfile *out, struct qo_err *err)
{
	return read_of(path, 0, out, err);
}

int
credfile_read_store(const char *path, const char *dir, struct credfile *out,
    struct qo_err *err)
{
	struct stat st;

	return read_of(path, stat(dir, &st) == 0 ? st.st_uid : 0, out, err);
}
