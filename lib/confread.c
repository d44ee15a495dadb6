#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confname.h"
#include "confread.h"
#include "confval.h"
#include "io.h"
#include "utf8.h"
#include "xalloc.h"

#define HANDLERS_MAX 1024

void
confread_report(void *arg, enum conf_level level,
    const struct conf_place *place, const char *msg)
{
	struct confread *r = arg;

	if (level == CONF_ERROR)
		r->errors++;
	if (r->opts->report == NULL || r->errors > CONF_ERRORS_MAX)
		return;
	if (r->errors == CONF_ERRORS_MAX && level == CONF_WARNING)
		return;
	if (r->errors == CONF_ERRORS_MAX)
		msg = "too many errors, the rest is not shown";
	r->opts->report(r->opts->arg, level, place, msg);
}

void
confread_error(struct confread *r, const struct conf_place *at, const char *fmt,
    ...)
{
	char msg[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	confread_report(r, CONF_ERROR, at, msg);
}

/* The names that places point to live as long as the conf. */
static const char *
keep_name(struct conf *c, const char *name)
{
	size_t i;

	for (i = c->nfiles; i > 0; i--)
		if (strcmp(c->files[i - 1], name) == 0)
			return c->files[i - 1];
	c->files = xreallocarray(c->files, c->nfiles + 1, sizeof(*c->files));
	c->files[c->nfiles] = xstrdup(name);
	return c->files[c->nfiles++];
}

void
confread_defaults(const struct conf_key *keys, size_t n, void *base)
{
	struct conf_text text = { 0 };
	struct qo_err err;
	size_t i;

	for (i = 0; i < n; i++) {
		if (keys[i].def == NULL)
			continue;
		text.key = keys[i].key;
		text.value = keys[i].def;
		keys[i].type->parse(&keys[i], &text,
		    conf_member(&keys[i], base), &err);
	}
}

/* Puts a value where it belongs; a second one from a file is a mistake. */
static void
set(struct confread *r, const struct conf_key *k, const struct conf_text *t,
    void *base, struct conf_place *place)
{
	struct qo_err err = { 0 };
	bool twice = place->line != 0 && t->place.line != 0;

	if (twice && k->type != &conf_type_env) {
		confread_error(r, &t->place, "[%s] %s: already set at %s:%u",
		    k->section, t->key, place->file, place->line);
		return;
	}
	*place = t->place;
	if (k->type->parse(k, t, conf_member(k, base), &err) == 0)
		return;
	place->bad = true;
	confread_error(r, &t->place, "[%s] %s: %s", k->section, t->key,
	    err.msg);
}

static void
list_sections(const char **names)
{
	size_t i, n = 0;

	for (i = 0; i < conf_nkeys; i++)
		if (n == 0 || strcmp(names[n - 1], conf_keys[i].section) != 0)
			names[n++] = conf_keys[i].section;
	names[n++] = "handler";
	names[n] = NULL;
}

static bool
is_section(const char *name)
{
	size_t i;

	for (i = 0; i < conf_nkeys; i++)
		if (strcmp(conf_keys[i].section, name) == 0)
			return true;
	return false;
}

static const char *
nearest_key(const char *section, const char *key)
{
	const char **names, *found;
	size_t i, n = 0;

	names = xcalloc(conf_nkeys + conf_nhandler_keys + 1, sizeof(*names));
	for (i = 0; i < conf_nkeys; i++)
		if (strcmp(conf_keys[i].section, section) == 0)
			names[n++] = conf_keys[i].key;
	for (i = 0; i < conf_nhandler_keys; i++)
		if (strcmp(conf_handler_keys[i].section, section) == 0)
			names[n++] = conf_handler_keys[i].key;
	found = confval_nearest(key, names);
	free(names);
	return found;
}

static void
unknown_key(struct confread *r, const struct conf_place *at,
    const char *section, const char *key)
{
	char shown[CONFVAL_SHOWN];
	const char *near;

	near = nearest_key(section, key);
	confval_shown(key, shown, sizeof(shown));
	if (near == NULL)
		confread_error(r, at, "[%s] has no key \"%s\"", section, shown);
	else
		confread_error(r, at,
		    "[%s] has no key \"%s\": did you mean \"%s\"?", section,
		    shown, near);
}

static enum ini_verdict
unknown_section(struct confread *r, const struct conf_place *at,
    const char *type)
{
	const char **names, *near;
	char shown[CONFVAL_SHOWN];

	names = xcalloc(conf_nkeys + 2, sizeof(*names));
	list_sections(names);
	near = confval_nearest(type, names);
	free(names);
	confval_shown(type, shown, sizeof(shown));
	if (near == NULL)
		confread_error(r, at, "there is no section [%s]", shown);
	else
		confread_error(r, at,
		    "there is no section [%s]: did you mean [%s]?", shown,
		    near);
	return INI_SKIP;
}

static struct conf_handler *
find_handler(struct confread *r, const char *name)
{
	struct conf *c = r->c;
	size_t i;

	if (r->handler < c->nhandlers &&
	    strcmp(c->handlers[r->handler].name, name) == 0)
		return &c->handlers[r->handler];
	for (i = 0; i < c->nhandlers; i++) {
		if (strcmp(c->handlers[i].name, name) == 0) {
			r->handler = i;
			return &c->handlers[i];
		}
	}
	return NULL;
}

static enum ini_verdict
add_handler(struct confread *r, const struct conf_place *at, const char *name)
{
	struct conf *c = r->c;
	struct conf_handler *h;
	struct qo_err err = { 0 };

	if (*name == '\0') {
		confread_error(r, at, "[handler NAME] needs a name");
		return INI_SKIP;
	}
	if (confname_name(name, &err) == -1) {
		confread_error(r, at, "[handler] %s", err.msg);
		return INI_SKIP;
	}
	h = find_handler(r, name);
	if (h != NULL) {
		confread_error(r, at, "[handler %s] is already at %s:%u", name,
		    h->place.file, h->place.line);
		return INI_SKIP;
	}
	if (c->nhandlers >= HANDLERS_MAX) {
		confread_error(r, at, "more than %d handlers", HANDLERS_MAX);
		return INI_STOP;
	}
	c->handlers = xreallocarray(c->handlers, c->nhandlers + 1,
	    sizeof(*c->handlers));
	h = &c->handlers[c->nhandlers++];
	memset(h, 0, sizeof(*h));
	h->name = xstrdup(name);
	h->place = *at;
	h->places = xcalloc(conf_nhandler_keys, sizeof(*h->places));
	confread_defaults(conf_handler_keys, conf_nhandler_keys, h);
	return INI_GO;
}

static enum ini_verdict
read_section(struct confread *r, const struct ini_item *it,
    const struct conf_place *at)
{
	if (strcmp(it->type, "handler") == 0)
		return add_handler(r, at, it->name);
	if (!is_section(it->type))
		return unknown_section(r, at, it->type);
	if (*it->name != '\0') {
		confread_error(r, at, "[%s] takes no name", it->type);
		return INI_SKIP;
	}
	return INI_GO;
}

/* May a secret stand here? */
static bool
secret_fits(struct confread *r, const struct ini_item *it,
    const struct conf_place *at)
{
	struct qo_err err = { 0 };

	if ((r->opts->how & CONF_TRUSTED) != 0)
		return true;
	if (it->fd == -1) {
		confread_error(r, at, "[%s] %s: only a file may have it",
		    it->type, it->key);
		return false;
	}
	if (io_check_secret(it->fd, it->file, &err) == 0)
		return true;
	confread_error(r, at, "[%s] %s: %s", it->type, it->key, err.msg);
	return false;
}

/* The absolute directory of a file, so that a path in it means the same to
 * every process.  NULL for text from memory; the caller frees. */
static char *
dir_of(const struct ini_item *it)
{
	const char *slash = strrchr(it->file, '/');
	char cwd[PATH_MAX];
	size_t len;

	if (it->fd == -1)
		return NULL;
	len = slash == NULL ? 0 : (size_t)(slash - it->file);
	if (*it->file == '/')
		return xmemdup0(it->file, len);
	if (getcwd(cwd, sizeof(cwd)) == NULL)
		return NULL;
	return xasprintf("%s%s%.*s", cwd, len == 0 ? "" : "/", (int)len,
	    it->file);
}

static void
read_key(struct confread *r, const struct ini_item *it,
    const struct conf_place *at)
{
	struct conf_text text = { it->key, it->value, NULL, *at };
	const struct conf_key *k;
	struct conf_handler *h;
	char *dir;

	if (*it->type == '\0') {
		confread_error(r, at,
		    strcmp(it->key, "include") == 0
			? "include works only in a file"
			: "a key before the first [section]");
		return;
	}
	k = conf_key_find(it->type, it->key);
	if (k == NULL) {
		unknown_key(r, at, it->type, it->key);
		return;
	}
	if (k->type == &conf_type_secret && !secret_fits(r, it, at)) {
		r->c->places[k - conf_keys].bad = true;
		return;
	}
	text.dir = dir = dir_of(it);
	if (*it->name == '\0') {
		set(r, k, &text, r->c, &r->c->places[k - conf_keys]);
	} else {
		h = find_handler(r, it->name);
		set(r, k, &text, h, &h->places[k - conf_handler_keys]);
	}
	free(dir);
}

enum ini_verdict
confread_item(void *arg, const struct ini_item *it)
{
	struct confread *r = arg;
	struct conf_place at = { .line = it->line };
	enum ini_verdict v = INI_GO;

	at.file = keep_name(r->c, it->file);
	switch (it->kind) {
	case INI_SECTION:
		v = read_section(r, it, &at);
		break;
	case INI_KEY:
		read_key(r, it, &at);
		break;
	case INI_ERROR:
		confread_error(r, &at, "%s", it->msg);
		break;
	}
	return r->errors >= CONF_ERRORS_MAX ? INI_STOP : v;
}

static bool
is_plain_text(const char *s)
{
	const char *p;

	for (p = s; *p != '\0'; p++)
		if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f)
			return false;
	return utf8_valid(s, strlen(s));
}

/* From outside the files: outranks what is there. */
static void
set_outside(struct confread *r, const char *origin, const struct conf_key *k,
    const char *value)
{
	struct conf_text text = { .key = k->key, .value = value };

	text.place.file = keep_name(r->c, origin);
	if (!is_plain_text(value)) {
		confread_error(r, &text.place,
		    "[%s] %s: has a control character or is not UTF-8",
		    k->section, k->key);
		return;
	}
	set(r, k, &text, r->c, &r->c->places[k - conf_keys]);
}

/* Does name (of len) say the key's SECTION_KEY, or only its SECTION_? */
static bool
is_variable(const char *name, size_t len, const char *section, const char *key)
{
	size_t n = strlen(section);

	if (len <= n || strncasecmp(name, section, n) != 0 || name[n] != '_')
		return false;
	return key == NULL ||
	    (len - n - 1 == strlen(key) &&
		strncasecmp(name + n + 1, key, len - n - 1) == 0);
}

/* name is what stands between QO_ and =. */
static void
read_variable(struct confread *r, const char *variable, const char *name,
    size_t len, const char *value)
{
	struct conf_place at = { 0 };
	const char *section = NULL;
	char *origin, *key;
	size_t i;

	for (i = 0; i < len; i++)
		if (islower((unsigned char)name[i]))
			return;
	origin = xmemdup0(variable, (size_t)(name - variable) + len);
	for (i = 0; i < conf_nkeys; i++) {
		if (is_variable(name, len, conf_keys[i].section,
			conf_keys[i].key)) {
			set_outside(r, origin, &conf_keys[i], value);
			goto out;
		}
		if (is_variable(name, len, conf_keys[i].section, NULL))
			section = conf_keys[i].section;
	}
	if (section != NULL) {
		at.file = origin;
		key = xmemdup0(name + strlen(section) + 1,
		    len - strlen(section) - 1);
		for (i = 0; key[i] != '\0'; i++)
			key[i] = (char)tolower((unsigned char)key[i]);
		unknown_key(r, &at, section, key);
		free(key);
	}
out:
	free(origin);
}

void
confread_environment(struct confread *r)
{
	char *const *e;
	const char *eq;

	for (e = r->opts->env; e != NULL && *e != NULL; e++) {
		eq = strchr(*e, '=');
		if (eq != NULL && strncmp(*e, "QO_", 3) == 0)
			read_variable(r, *e, *e + 3, (size_t)(eq - *e) - 3,
			    eq + 1);
	}
}

void
confread_flags(struct confread *r)
{
	const struct conf_flag *f;
	const struct conf_key *k;
	struct conf_place at = { 0 };
	size_t i;

	for (i = 0; i < r->opts->nflags; i++) {
		f = &r->opts->flags[i];
		k = conf_key_find(f->section, f->key);
		if (k != NULL && is_section(f->section)) {
			set_outside(r, f->option, k, f->value);
			continue;
		}
		at.file = f->option;
		unknown_key(r, &at, f->section, f->key);
	}
}
