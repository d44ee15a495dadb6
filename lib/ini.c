#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ini.h"
#include "io.h"
#include "utf8.h"
#include "xalloc.h"

struct file_id {
	dev_t dev;
	ino_t ino;
};

/* One run: the main text and all that it includes. */
struct run {
	unsigned flags;
	ini_cb *cb;
	void *arg;
	bool failed;
	bool stopped;
	struct file_id *seen;
	size_t nseen;
};

/* One text; parent is the file that includes it. */
struct reader {
	struct run *run;
	const struct reader *parent;
	struct file_id id;
	unsigned depth;
	struct ini_item item;
	const char *last_key; /* in this section; in the text */
	bool skip;            /* asked for, or below a broken header */
};

static void read_file(struct run *run, const struct reader *from,
    const char *path, const struct ini_item *at);

static enum ini_verdict
deliver(struct run *run, const struct ini_item *item)
{
	enum ini_verdict v;

	if (run->stopped)
		return INI_STOP;
	if (item->kind == INI_ERROR)
		run->failed = true;
	v = run->cb(run->arg, item);
	if (v == INI_STOP)
		run->stopped = run->failed = true;
	return v;
}

static void error_at(struct run *run, const struct ini_item *at,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void
error_at(struct run *run, const struct ini_item *at, const char *fmt, ...)
{
	struct ini_item item = *at;
	char msg[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	item.kind = INI_ERROR;
	item.key = item.value = item.parent = NULL;
	item.msg = msg;
	deliver(run, &item);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static char *
skip_blanks(char *p)
{
	while (is_blank(*p))
		p++;
	return p;
}

/* Ends the string that begins at p before the blanks at its end. */
static void
trim_end(char *p)
{
	size_t n = strlen(p);

	while (n > 0 && is_blank(p[n - 1]))
		n--;
	p[n] = '\0';
}

static bool
only_chars(const char *s, const char *more)
{
	if (*s == '\0')
		return false;
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr(more, *s) == NULL)
			return false;
	return true;
}

/* A comment, or nothing, after a header or a closing quote. */
static bool
rest_is_empty(const char *p)
{
	if (*p == '\0')
		return true;
	while (is_blank(*p))
		p++;
	return *p == '\0' || *p == ';' || *p == '#';
}

/* The two words of a header, in place; true when both are well-formed. */
static bool
split_header(struct reader *r, char *inner)
{
	char *type, *name;

	type = skip_blanks(inner);
	trim_end(type);
	name = type + strcspn(type, " \t");
	if (*name != '\0') {
		*name++ = '\0';
		name = skip_blanks(name);
	}
	r->item.type = type;
	r->item.name = name;
	if ((r->run->flags & INI_LOOSE) != 0)
		return *type != '\0';
	return only_chars(type, "._:/-") &&
	    (*name == '\0' || only_chars(name, "._:/-"));
}

static void
read_section(struct reader *r, char *p)
{
	char *end;
	enum ini_verdict v;

	r->last_key = NULL;
	r->item.type = r->item.name = "";
	r->skip = true;
	end = strchr(p, ']');
	if (end == NULL) {
		error_at(r->run, &r->item, "a section needs a closing ]");
		return;
	}
	if (!rest_is_empty(end + 1)) {
		error_at(r->run, &r->item, "text after the section's ]");
		return;
	}
	*end = '\0';
	if (!split_header(r, p + 1)) {
		r->item.type = r->item.name = "";
		error_at(r->run, &r->item,
		    "a section is [word] or [word name], of letters, "
		    "digits and . _ : / -");
		return;
	}
	r->item.kind = INI_SECTION;
	v = deliver(r->run, &r->item);
	r->skip = v != INI_GO;
}

/* Turns the quoted text that begins at p into its value, in place. */
static char *
unquote(struct reader *r, char *p)
{
	char *in = p + 1, *out = p;

	while (*in != '"') {
		if (*in == '\\' && (in[1] == '"' || in[1] == '\\'))
			in++;
		else if (*in == '\\' || *in == '\0') {
			error_at(r->run, &r->item,
			    *in == '\0'
				? "a quoted value needs a closing \""
				: "in a quoted value \\ stands only before "
				  "\" and \\");
			return NULL;
		}
		*out++ = *in++;
	}
	if (in[1] != '\0' && (!is_blank(in[1]) || !rest_is_empty(in + 1))) {
		error_at(r->run, &r->item, "text after the closing \"");
		return NULL;
	}
	*out = '\0';
	return p;
}

static char *
plain_value(const struct reader *r, char *p)
{
	const char *marks;
	char *s;

	marks = (r->run->flags & INI_LOOSE) != 0 ? ";#" : ";";
	for (s = p; *s != '\0'; s++) {
		if (strchr(marks, *s) == NULL)
			continue;
		if (s == p || is_blank(s[-1])) {
			*s = '\0';
			break;
		}
	}
	trim_end(p);
	return p;
}

static bool
is_pattern(const char *s)
{
	return strpbrk(s, "*?[") != NULL;
}

/* The directory of the including file in front of a relative path; escape:
 * it is not part of the pattern. */
static char *
include_path(const char *from, const char *path, bool escape)
{
	const char *slash = strrchr(from, '/'), *p;
	struct buf b;

	buf_init(&b, SIZE_MAX - 1);
	if (*path != '/' && slash != NULL) {
		for (p = from; p <= slash; p++) {
			if (escape && strchr("*?[]\\", *p) != NULL)
				buf_addc(&b, '\\');
			buf_addc(&b, *p);
		}
	}
	buf_adds(&b, path);
	return buf_take(&b, NULL);
}

static int
by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A directory that is not there holds no matches; one that can not be read
 * might hold some. */
static int
glob_error(const char *path, int errnum)
{
	(void)path;
	return errnum != ENOENT && errnum != ENOTDIR;
}

static void
include_pattern(struct reader *r, const char *value)
{
	struct ini_item at = r->item;
	glob_t g = { 0 };
	char *pattern;
	size_t i;
	int rc;

	pattern = include_path(r->item.file, value, true);
	rc = glob(pattern, GLOB_NOSORT, glob_error, &g);
	if (rc == 0) {
		qsort(g.gl_pathv, g.gl_pathc, sizeof(*g.gl_pathv), by_bytes);
		for (i = 0; i < g.gl_pathc && !r->run->stopped; i++)
			read_file(r->run, r, g.gl_pathv[i], &at);
	} else if (rc != GLOB_NOMATCH) {
		error_at(r->run, &at, "include: %s: can not read the directory",
		    pattern);
	}
	globfree(&g);
	free(pattern);
}

static void
include(struct reader *r, const char *value)
{
	struct ini_item at = r->item;
	char *path;

	if (*value == '\0') {
		error_at(r->run, &at, "include: needs a path or a pattern");
		return;
	}
	if (r->depth + 1 >= INI_DEPTH_MAX) {
		error_at(r->run, &at, "include: more than %d files deep",
		    INI_DEPTH_MAX);
		return;
	}
	if (is_pattern(value)) {
		include_pattern(r, value);
		return;
	}
	path = include_path(r->item.file, value, false);
	read_file(r->run, r, path, &at);
	free(path);
}

static bool
cut_key(struct reader *r, char *p, char **value)
{
	char *eq = strchr(p, '=');

	if (eq == NULL) {
		error_at(r->run, &r->item,
		    "neither [section] nor key = value nor a comment");
		return false;
	}
	*eq = '\0';
	trim_end(p);
	*value = skip_blanks(eq + 1);
	if (*p == '\0') {
		error_at(r->run, &r->item, "there is no key before the =");
		return false;
	}
	if ((r->run->flags & INI_LOOSE) == 0 && !only_chars(p, "._-")) {
		error_at(r->run, &r->item,
		    "a key has only letters, digits and . _ -");
		return false;
	}
	return true;
}

static void
read_key(struct reader *r, char *key, const char *parent)
{
	const unsigned flags = r->run->flags;
	char *value;

	if (!cut_key(r, key, &value))
		return;
	if ((flags & INI_LOOSE) == 0 && *value == '"')
		value = unquote(r, value);
	else
		value = plain_value(r, value);
	if (value == NULL)
		return;
	if (parent == NULL)
		r->last_key = key;
	r->item.kind = INI_KEY;
	r->item.key = key;
	r->item.value = value;
	r->item.parent = parent;
	if ((flags & INI_INCLUDE) != 0 && strcmp(key, "include") == 0)
		include(r, value);
	else if (!r->skip)
		deliver(r->run, &r->item);
	r->item.key = r->item.value = r->item.parent = NULL;
}

static void
read_line(struct reader *r, char *line)
{
	char *p = skip_blanks(line);

	if (*p == '\0' || *p == ';' || *p == '#')
		return;
	if ((r->run->flags & INI_LOOSE) != 0 && p != line &&
	    r->last_key != NULL) {
		if (strchr(p, '=') != NULL)
			read_key(r, p, r->last_key);
		return;
	}
	if (*p == '[')
		read_section(r, p);
	else
		read_key(r, p, NULL);
}

/* NULL when these bytes are text that a line may have. */
static const char *
line_fault(const char *line, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (line[i] == '\0')
			return "a NUL byte";
		if ((unsigned char)line[i] == '\r')
			return "a carriage return inside the line";
		if (((unsigned char)line[i] < ' ' && line[i] != '\t') ||
		    line[i] == 0x7f)
			return "a control character";
	}
	return utf8_valid(line, len) ? NULL : "not UTF-8";
}

/* data[len] is writable: each line becomes a string where it stands. */
static void
read_text(struct reader *r, char *data, size_t len)
{
	char *p = data, *end = data + len, *nl;
	const char *fault;
	size_t n;

	if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
		r->item.line = 1;
		error_at(r->run, &r->item,
		    "begins with a byte order mark: save it without");
		r->item.line = 0;
		p += 3;
	}
	while (p < end && !r->run->stopped) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			nl = end;
		n = (size_t)(nl - p);
		if (n > 0 && p[n - 1] == '\r')
			n--;
		p[n] = '\0';
		r->item.line++;
		fault = line_fault(p, n);
		if (fault != NULL)
			error_at(r->run, &r->item, "%s", fault);
		else
			read_line(r, p);
		if (nl == end)
			break;
		p = nl + 1;
	}
}

static void
reader_init(struct reader *r, struct run *run, const char *file, int fd)
{
	memset(r, 0, sizeof(*r));
	r->run = run;
	r->item.file = file;
	r->item.fd = fd;
	r->item.type = r->item.name = "";
}

/* The file that was asked for is where its own error is; an included one is
 * named by the line that asks for it. */
static void
file_error(struct run *run, const struct reader *from, const char *path,
    const struct ini_item *at, const char *why)
{
	if (from == NULL)
		error_at(run, at, "%s", why);
	else
		error_at(run, at, "include: %s: %s", path, why);
}

/* True, or false after saying why this file is not to be read (again). */
static bool
remember(struct run *run, const struct reader *from, const struct file_id *id,
    const char *path, const struct ini_item *at)
{
	const struct reader *r;
	size_t i;

	for (r = from; r != NULL; r = r->parent) {
		if (r->id.dev == id->dev && r->id.ino == id->ino) {
			error_at(run, at, "include: %s includes itself", path);
			return false;
		}
	}
	for (i = 0; i < run->nseen; i++) {
		if (run->seen[i].dev == id->dev &&
		    run->seen[i].ino == id->ino) {
			error_at(run, at, "include: %s is included twice",
			    path);
			return false;
		}
	}
	if (run->nseen >= INI_FILES_MAX) {
		error_at(run, at, "include: more than %d files", INI_FILES_MAX);
		return false;
	}
	run->seen = xreallocarray(run->seen, run->nseen + 1,
	    sizeof(*run->seen));
	run->seen[run->nseen++] = *id;
	return true;
}

/* NULL, or why not.  The size is used first so that growing leaves no
 * half-filled copy of a secret behind. */
static const char *
slurp(int fd, off_t size, struct buf *b)
{
	if (size > 0 && (uintmax_t)size < INI_MAX)
		buf_reserve(b, (size_t)size);
	if (io_read_all(fd, b) == 0)
		return NULL;
	return errno == EFBIG ? "larger than 8 MiB" : strerror(errno);
}

static void
read_opened(struct run *run, const struct reader *from, const char *path,
    const struct ini_item *at, int fd)
{
	struct reader r;
	const char *why;
	struct stat st;
	struct buf b;

	reader_init(&r, run, path, fd);
	r.parent = from;
	r.depth = from == NULL ? 0 : from->depth + 1;
	buf_init_secret(&b, INI_MAX);
	if (fstat(fd, &st) == -1) {
		file_error(run, from, path, at, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		file_error(run, from, path, at, "not a regular file");
		goto out;
	}
	r.id.dev = st.st_dev;
	r.id.ino = st.st_ino;
	if (!remember(run, from, &r.id, path, at))
		goto out;
	why = slurp(fd, st.st_size, &b);
	if (why != NULL)
		file_error(run, from, path, at, why);
	else
		read_text(&r, b.data, b.len);
out:
	buf_fini(&b);
}

/* at: the line that asks for the file. */
static void
read_file(struct run *run, const struct reader *from, const char *path,
    const struct ini_item *at)
{
	int fd;

	/* O_NONBLOCK: a FIFO must not hang us before fstat tells. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1) {
		file_error(run, from, path, at, strerror(errno));
		return;
	}
	read_opened(run, from, path, at, fd);
	close(fd);
}

int
ini_parse(const char *text, size_t len, const char *file, unsigned flags,
    ini_cb *cb, void *arg)
{
	struct run run = {
		.flags = flags & ~(unsigned)INI_INCLUDE, .cb = cb, .arg = arg
	};
	struct reader r;
	char *copy;

	reader_init(&r, &run, file, -1);
	if (len > INI_MAX) {
		error_at(&run, &r.item, "larger than 8 MiB");
		return -1;
	}
	copy = xmemdup0(text, len);
	read_text(&r, copy, len);
	explicit_bzero(copy, len);
	free(copy);
	return run.failed ? -1 : 0;
}

int
ini_load(const char *path, unsigned flags, ini_cb *cb, void *arg)
{
	struct run run = { .flags = flags, .cb = cb, .arg = arg };
	struct reader top;

	reader_init(&top, &run, path, -1);
	read_file(&run, NULL, path, &top.item);
	free(run.seen);
	return run.failed ? -1 : 0;
}

void
ini_add_value(struct buf *b, const char *value)
{
	size_t n = strlen(value);

	if (n == 0)
		return;
	if (*value != '"' && strchr(value, ';') == NULL && !is_blank(*value) &&
	    !is_blank(value[n - 1])) {
		buf_adds(b, value);
		return;
	}
	buf_addc(b, '"');
	for (; *value != '\0'; value++) {
		if (*value == '"' || *value == '\\')
			buf_addc(b, '\\');
		buf_addc(b, *value);
	}
	buf_addc(b, '"');
}
