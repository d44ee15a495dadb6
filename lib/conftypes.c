#include <stdlib.h>
#include <string.h>

#include "confname.h"
#include "conftypes.h"
#include "confval.h"
#include "ini.h"
#include "xalloc.h"

/* Strings of all kinds: char *. */

static void
replace(void *member, char *value)
{
	char **s = member;

	free(*s);
	*s = value;
}

static int
string_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	bool empty = *t->value == '\0';

	if (!empty && k->check != NULL && k->check(t->value, err) == -1)
		return -1;
	replace(member, empty ? NULL : xstrdup(t->value));
	return 0;
}

static void
string_print(const struct conf_key *k, const void *member, struct buf *b)
{
	char *const *s = member;

	(void)k;
	if (*s != NULL)
		ini_add_value(b, *s);
}

static bool
string_equal(const void *a, const void *b)
{
	char *const *s = a, *const *t = b;

	if (*s == NULL || *t == NULL)
		return *s == *t;
	return strcmp(*s, *t) == 0;
}

static void
string_free(void *member)
{
	replace(member, NULL);
}

static int
text_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	if (k->check != NULL && k->check(t->value, err) == -1)
		return -1;
	replace(member, xstrdup(t->value));
	return 0;
}

static int
secret_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	(void)k;
	(void)err;
	conf_type_secret.free(member);
	replace(member, *t->value == '\0' ? NULL : xstrdup(t->value));
	return 0;
}

static void
secret_free(void *member)
{
	char **s = member;

	if (*s != NULL)
		explicit_bzero(*s, strlen(*s));
	replace(member, NULL);
}

static int
path_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	if (*t->value == '\0' || *t->value == '/' || t->dir == NULL)
		return string_parse(k, t, member, err);
	replace(member, xasprintf("%s/%s", t->dir, t->value));
	return 0;
}

static int
log_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	char shown[CONFVAL_SHOWN];

	if (strcmp(t->value, "stderr") == 0 || strcmp(t->value, "syslog") == 0)
		return string_parse(k, t, member, err);
	/* A misspelt word must not become a file of that name. */
	if (strchr(t->value, '/') == NULL) {
		qo_err_set(err,
		    "\"%s\" is neither stderr nor syslog nor a path with a /",
		    confval_shown(t->value, shown, sizeof(shown)));
		return -1;
	}
	return path_parse(k, t, member, err);
}

static int
listen_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	struct confname_addr addr;
	bool off = strcmp(t->value, "off") == 0 || *t->value == '\0';

	(void)k;
	if (!off && confname_listen(t->value, &addr, err) == -1)
		return -1;
	if (!off && addr.port == 0) {
		qo_err_set(err, "port 0 is nowhere that others could find");
		return -1;
	}
	replace(member, off ? NULL : xstrdup(t->value));
	return 0;
}

static void
listen_print(const struct conf_key *k, const void *member, struct buf *b)
{
	char *const *s = member;

	(void)k;
	buf_adds(b, *s == NULL ? "off" : *s);
}

/* Numbers. */

static int
bool_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	(void)k;
	return confval_bool(t->value, member, err);
}

static void
bool_print(const struct conf_key *k, const void *member, struct buf *b)
{
	(void)k;
	buf_adds(b, *(const bool *)member ? "yes" : "no");
}

static int
int_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	int64_t n;

	if (confval_int(t->value, k->min, k->max, &n, err) == -1)
		return -1;
	*(int *)member = (int)n;
	return 0;
}

static void
int_print(const struct conf_key *k, const void *member, struct buf *b)
{
	(void)k;
	buf_addf(b, "%d", *(const int *)member);
}

static int
msec_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	return confval_duration(t->value, k->min, k->max, member, err);
}

static void
msec_print(const struct conf_key *k, const void *member, struct buf *b)
{
	(void)k;
	confval_add_duration(b, *(const int64_t *)member);
}

static int
msec_off_parse(const struct conf_key *k, const struct conf_text *t,
    void *member, struct qo_err *err)
{
	if (strcmp(t->value, "off") != 0)
		return msec_parse(k, t, member, err);
	*(int64_t *)member = 0;
	return 0;
}

static void
msec_off_print(const struct conf_key *k, const void *member, struct buf *b)
{
	if (*(const int64_t *)member == 0)
		buf_adds(b, "off");
	else
		msec_print(k, member, b);
}

static int
size_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	return confval_size(t->value, k->min, k->max, member, err);
}

static void
size_print(const struct conf_key *k, const void *member, struct buf *b)
{
	(void)k;
	confval_add_size(b, *(const int64_t *)member);
}

static int
enum_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	return confval_enum(t->value, k->names, member, err);
}

static void
enum_print(const struct conf_key *k, const void *member, struct buf *b)
{
	buf_adds(b, k->names[*(const int *)member]);
}

static int
number_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	return confval_number(t->value, (double)k->min, (double)k->max, member,
	    err);
}

static void
number_print(const struct conf_key *k, const void *member, struct buf *b)
{
	(void)k;
	confval_add_number(b, *(const double *)member);
}

/* Several values. */

static int
list_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	char ***list = member, **words;
	size_t i;

	if (conflist_list(t->value, &words, err) == -1)
		return -1;
	for (i = 0; words[i] != NULL; i++) {
		if (k->check != NULL && k->check(words[i], err) == -1) {
			conflist_words_free(words);
			return -1;
		}
	}
	conflist_words_free(*list);
	*list = words;
	return 0;
}

static void
list_print(const struct conf_key *k, const void *member, struct buf *b)
{
	char **const *list = member;
	struct buf value;
	size_t i;

	(void)k;
	buf_init(&value, SIZE_MAX - 1);
	for (i = 0; *list != NULL && (*list)[i] != NULL; i++)
		buf_addf(&value, "%s%s", i == 0 ? "" : ", ", (*list)[i]);
	ini_add_value(b, value.data);
	buf_fini(&value);
}

static bool
list_equal(const void *a, const void *b)
{
	char **s = *(char **const *)a, **t = *(char **const *)b;

	if (s == NULL || t == NULL)
		return s == t;
	for (; *s != NULL && *t != NULL; s++, t++)
		if (strcmp(*s, *t) != 0)
			return false;
	return *s == *t;
}

static void
list_free(void *member)
{
	char ***list = member;

	conflist_words_free(*list);
	*list = NULL;
}

static int
codes_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	(void)k;
	return conflist_codes(t->value, member, err);
}

static void
codes_print(const struct conf_key *k, const void *member, struct buf *b)
{
	(void)k;
	conflist_add_codes(b, member);
}

static void
command_free(void *member)
{
	struct conf_command *c = member;

	free(c->text);
	conflist_words_free(c->argv);
	memset(c, 0, sizeof(*c));
}

static int
command_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	struct conf_command *c = member;
	char **argv;

	(void)k;
	if (conflist_words(t->value, &argv, err) == -1)
		return -1;
	command_free(c);
	c->text = xstrdup(t->value);
	c->argv = argv;
	return 0;
}

static void
command_print(const struct conf_key *k, const void *member, struct buf *b)
{
	const struct conf_command *c = member;

	(void)k;
	if (c->text != NULL)
		ini_add_value(b, c->text);
}

static bool
command_equal(const void *a, const void *b)
{
	const struct conf_command *x = a, *y = b;

	return string_equal(&x->text, &y->text);
}

/* env.NAME: a member that grows with each key of the family. */

#define ENV_MAX 256

static const char *
env_fault(const struct conf_env *e, const char *name)
{
	const char *p = name;

	if (!isalpha((unsigned char)*p) && *p != '_')
		return "a variable begins with a letter or _";
	for (; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			return "a variable has only letters, digits and _";
	if (strncmp(name, "QO_", 3) == 0)
		return "the variables QO_... are qo's own";
	return e->n >= ENV_MAX ? "more than 256 variables" : NULL;
}

static int
env_parse(const struct conf_key *k, const struct conf_text *t, void *member,
    struct qo_err *err)
{
	struct conf_env *e = member;
	const char *name = t->key + strlen(k->key), *fault;
	struct conf_var *v;
	size_t i;

	fault = env_fault(e, name);
	if (fault != NULL) {
		qo_err_set(err, "%s", fault);
		return -1;
	}
	for (i = 0; i < e->n; i++) {
		v = &e->vars[i];
		if (strcmp(v->name, name) == 0) {
			qo_err_set(err, "already set at %s:%u", v->place.file,
			    v->place.line);
			return -1;
		}
	}
	e->vars = xreallocarray(e->vars, e->n + 1, sizeof(*e->vars));
	v = &e->vars[e->n++];
	v->name = xstrdup(name);
	v->value = xstrdup(t->value);
	v->place = t->place;
	return 0;
}

/* Whole lines: the family has no single value. */
static void
env_print(const struct conf_key *k, const void *member, struct buf *b)
{
	const struct conf_env *e = member;
	size_t i;

	for (i = 0; i < e->n; i++) {
		buf_addf(b, "%s%s = ", k->key, e->vars[i].name);
		ini_add_value(b, e->vars[i].value);
		buf_addc(b, '\n');
	}
}

static bool
env_equal(const void *a, const void *b)
{
	const struct conf_env *x = a, *y = b;
	size_t i;

	if (x->n != y->n)
		return false;
	for (i = 0; i < x->n; i++)
		if (strcmp(x->vars[i].name, y->vars[i].name) != 0 ||
		    strcmp(x->vars[i].value, y->vars[i].value) != 0)
			return false;
	return true;
}

/* Variables are a usual place for passwords. */
static void
env_free(void *member)
{
	struct conf_env *e = member;
	size_t i;

	for (i = 0; i < e->n; i++) {
		free(e->vars[i].name);
		secret_free(&e->vars[i].value);
	}
	free(e->vars);
	memset(e, 0, sizeof(*e));
}

#define STRING(parse, print)                                          \
	{                                                             \
		"string", sizeof(char *), parse, print, string_equal, \
		    string_free                                       \
	}

const struct conf_type conf_type_string = STRING(string_parse, string_print);
const struct conf_type conf_type_text = STRING(text_parse, string_print);
const struct conf_type conf_type_path = { "path", sizeof(char *), path_parse,
	string_print, string_equal, string_free };
const struct conf_type conf_type_log = STRING(log_parse, string_print);
const struct conf_type conf_type_listen = { "address", sizeof(char *),
	listen_parse, listen_print, string_equal, string_free };
const struct conf_type conf_type_secret = { "secret", sizeof(char *),
	secret_parse, string_print, string_equal, secret_free };
const struct conf_type conf_type_bool = { "boolean", sizeof(bool), bool_parse,
	bool_print, NULL, NULL };
const struct conf_type conf_type_int = { "number", sizeof(int), int_parse,
	int_print, NULL, NULL };
const struct conf_type conf_type_msec = { "duration", sizeof(int64_t),
	msec_parse, msec_print, NULL, NULL };
const struct conf_type conf_type_msec_off = { "duration", sizeof(int64_t),
	msec_off_parse, msec_off_print, NULL, NULL };
const struct conf_type conf_type_size = { "size", sizeof(int64_t), size_parse,
	size_print, NULL, NULL };
const struct conf_type conf_type_enum = { "word", sizeof(int), enum_parse,
	enum_print, NULL, NULL };
const struct conf_type conf_type_number = { "number", sizeof(double),
	number_parse, number_print, NULL, NULL };
const struct conf_type conf_type_list = { "list", sizeof(char **), list_parse,
	list_print, list_equal, list_free };
const struct conf_type conf_type_codes = { "list", sizeof(struct conflist_set),
	codes_parse, codes_print, NULL, NULL };
const struct conf_type conf_type_command = { "command",
	sizeof(struct conf_command), command_parse, command_print,
	command_equal, command_free };
const struct conf_type conf_type_env = { "string", sizeof(struct conf_env),
	env_parse, env_print, env_equal, env_free };
