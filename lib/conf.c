#include <sys/stat.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf.h"
#include "confread.h"
#include "credfile.h"
#include "xalloc.h"

#define PROCESSES_MAX 256

static struct conf *
conf_new(void)
{
	struct conf *c;

	c = xcalloc(1, sizeof(*c));
	c->places = xcalloc(conf_nkeys, sizeof(*c->places));
	confread_defaults(conf_keys, conf_nkeys, c);
	return c;
}

static void
free_members(const struct conf_key *keys, size_t n, void *base)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (keys[i].type->free != NULL)
			keys[i].type->free(conf_member(&keys[i], base));
}

void
conf_free(struct conf *c)
{
	struct conf_handler *h;
	size_t i;

	if (c == NULL)
		return;
	for (i = 0; i < c->nhandlers; i++) {
		h = &c->handlers[i];
		free_members(conf_handler_keys, conf_nhandler_keys, h);
		free(h->places);
		free(h->name);
	}
	free(c->handlers);
	free_members(conf_keys, conf_nkeys, c);
	free(c->s3.url);
	free(c->places);
	for (i = 0; i < c->nfiles; i++)
		free(c->files[i]);
	free(c->files);
	free(c);
}

/* How well a section's type fits: 0 not at all, more for more of it. */
static size_t
fits(const struct conf_handler *h, const char *task_type)
{
	size_t len = strlen(h->type);

	if (h->type[len - 1] == '*')
		return strncmp(h->type, task_type, len - 1) == 0 ? len : 0;
	return strcmp(h->type, task_type) == 0 ? SIZE_MAX : 0;
}

const struct conf_handler *
conf_handler_find(const struct conf *c, const char *task_type)
{
	const struct conf_handler *best = NULL;
	size_t i, n, most = 0;

	for (i = 0; i < c->nhandlers; i++) {
		n = fits(&c->handlers[i], task_type);
		if (n <= most)
			continue;
		most = n;
		best = &c->handlers[i];
	}
	return best;
}

static bool
is_set(const struct conf *c, const char *section, const char *key)
{
	return conf_key_place(c, section, key)->file != NULL;
}

static int
count_cpus(void)
{
	cpu_set_t set;
	long n;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	else
		n = sysconf(_SC_NPROCESSORS_ONLN);
	if (n < 1)
		return 1;
	return n > PROCESSES_MAX ? PROCESSES_MAX : (int)n;
}

/* A store that listens everywhere is called on loopback. */
static char *
store_url(const char *address)
{
	if (strncmp(address, "0.0.0.0:", 8) == 0)
		return xasprintf("http://127.0.0.1:%s", address + 8);
	if (strncmp(address, "[::]:", 5) == 0)
		return xasprintf("http://[::1]:%s", address + 5);
	return xasprintf("http://%s", address);
}

static void
finish_s3(struct conf *c)
{
	struct conf_s3 *s3 = &c->s3;

	if (!is_set(c, "store", "enabled"))
		c->store.enabled = s3->endpoint == NULL;
	if (s3->endpoint != NULL)
		s3->url = xstrdup(s3->endpoint);
	else if (c->store.enabled && c->store.listen != NULL)
		s3->url = store_url(c->store.listen);
	if (s3->endpoint == NULL && c->store.enabled &&
	    !is_set(c, "s3", "index_bucket"))
		s3->index_bucket = xasprintf("%.57s-index", s3->bucket);
	if (!is_set(c, "s3", "path_style"))
		s3->path_style = s3->endpoint != NULL || c->store.enabled;
	if (c->store.keys_file == NULL && c->store.data != NULL)
		c->store.keys_file = xasprintf("%s/keys", c->store.data);
}

/* A code that is given to one list leaves the default of the other. */
static void
finish_handler(struct conf_handler *h)
{
	const struct conf_key *keys = conf_handler_keys;
	size_t i, retry, fail;

	retry = (size_t)(conf_key_find("handler", "retry_exit") - keys);
	fail = (size_t)(conf_key_find("handler", "fail_exit") - keys);
	for (i = 0; i < sizeof(h->retry_exit.bits); i++) {
		if (h->places[fail].file == NULL)
			h->fail_exit.bits[i] &= (uint8_t)~h->retry_exit.bits[i];
		else if (h->places[retry].file == NULL)
			h->retry_exit.bits[i] &= (uint8_t)~h->fail_exit.bits[i];
	}
}

static void
read_key_file(struct confread *r)
{
	struct conf_s3 *s3 = &r->c->s3;
	struct credfile cred;
	struct qo_err err = { 0 };

	if (s3->access_key_file == NULL || s3->access_key != NULL ||
	    s3->secret_key != NULL ||
	    (r->opts->how & (CONF_NO_FILES | CONF_NO_KEYS)) != 0)
		return;
	if (credfile_read(s3->access_key_file, &cred, &err) == -1) {
		confread_error(r, conf_key_place(r->c, "s3", "access_key_file"),
		    "[s3] access_key_file: %s", err.msg);
		return;
	}
	s3->access_key = cred.access_key;
	s3->secret_key = cred.secret_key;
}

/* Everything after the file; gives up the conf after any error. */
static struct conf *
finish(struct confread *r)
{
	struct conf *c = r->c;
	size_t i;

	confread_environment(r);
	confread_flags(r);
	finish_s3(c);
	if (!is_set(c, "worker", "processes"))
		c->worker.processes = count_cpus();
	for (i = 0; i < c->nhandlers; i++)
		finish_handler(&c->handlers[i]);
	conf_check(c, confread_report, r);
	read_key_file(r);
	if (r->errors == 0)
		return c;
	conf_free(c);
	return NULL;
}

static const struct conf_opts no_opts;

static void
begin(struct confread *r, const struct conf_opts *opts)
{
	memset(r, 0, sizeof(*r));
	r->c = conf_new();
	r->opts = opts == NULL ? &no_opts : opts;
}

struct conf *
conf_load(const char *path, const struct conf_opts *opts)
{
	struct confread r;

	begin(&r, opts);
	if (path != NULL)
		ini_load(path,
		    (r.opts->how & CONF_NO_FILES) != 0 ? 0 : INI_INCLUDE,
		    confread_item, &r);
	return finish(&r);
}

struct conf *
conf_parse_text(const char *text, size_t len, const char *name,
    const struct conf_opts *opts)
{
	struct confread r;

	begin(&r, opts);
	ini_parse(text, len, name, 0, confread_item, &r);
	return finish(&r);
}

/* -1 with errno; EFBIG over the limit of a file. */
static int
read_from_start(int fd, struct buf *b)
{
	struct stat st;
	ssize_t n;
	char *p;

	if (fstat(fd, &st) == -1)
		return -1;
	if (st.st_size < 0 || (uintmax_t)st.st_size > INI_MAX) {
		errno = EFBIG;
		return -1;
	}
	while (b->len < (size_t)st.st_size) {
		p = buf_reserve(b, (size_t)st.st_size - b->len);
		n = pread(fd, p, (size_t)st.st_size - b->len, (off_t)b->len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		if (n == 0)
			break;
		buf_advance(b, (size_t)n);
	}
	return 0;
}

struct conf *
conf_load_fd(int fd, const char *name, const struct conf_opts *opts)
{
	struct conf_place at = { .file = name };
	struct conf *c = NULL;
	struct confread r;
	struct buf b;

	buf_init_secret(&b, INI_MAX);
	if (read_from_start(fd, &b) == 0) {
		c = conf_parse_text(b.data, b.len, name, opts);
	} else {
		begin(&r, opts);
		confread_error(&r, &at, "%s", strerror(errno));
		conf_free(r.c);
	}
	buf_fini(&b);
	return c;
}

void
conf_add_report(struct buf *b, enum conf_level level,
    const struct conf_place *place, const char *msg)
{
	const char *file = "configuration";

	if (place != NULL && place->file != NULL && *place->file != '\0')
		file = place->file;
	buf_adds(b, file);
	if (place != NULL && place->line != 0)
		buf_addf(b, ":%u", place->line);
	buf_addf(b, ": %s%s", level == CONF_WARNING ? "warning: " : "", msg);
}
