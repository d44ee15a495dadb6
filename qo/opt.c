#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "confval.h"
#include "log.h"
#include "opt.h"
#include "xalloc.h"

#define NAMES_MAX 64

static const struct opt *
find_name(const struct opt *table, const char *name, size_t len)
{
	for (; table != NULL && table->name != NULL; table++)
		if (strlen(table->name) == len &&
		    memcmp(table->name, name, len) == 0)
			return table;
	return NULL;
}

static const struct opt *
find_letter(const struct opt *table, char letter)
{
	for (; table != NULL && table->name != NULL; table++)
		if (table->letter != '\0' && table->letter == letter)
			return table;
	return NULL;
}

static void
say_unknown(const struct opt *table, const char *word, char *msg, size_t size)
{
	const char *names[NAMES_MAX + 1], *near;
	char name[64], shown[CONFVAL_SHOWN];
	size_t n;

	for (n = 0; n < NAMES_MAX && table != NULL && table[n].name != NULL;
	     n++)
		names[n] = table[n].name;
	names[n] = NULL;
	confval_shown(word, shown, sizeof(shown));
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="),
	    word + 2);
	near = word[1] == '-' ? confval_nearest(name, names) : NULL;
	if (near != NULL)
		snprintf(msg, size, "unknown option %s, did you mean --%s?",
		    shown, near);
	else
		snprintf(msg, size, "unknown option %s", shown);
}

static int
add(struct opts *o, const struct opt *opt, const char *value, char *msg,
    size_t size)
{
	size_t i;

	for (i = 0; i < o->n && !opt->many; i++)
		if (o->values[i].opt == opt) {
			snprintf(msg, size, "--%s is given twice", opt->name);
			return -1;
		}
	o->values = xreallocarray(o->values, o->n + 1, sizeof(*o->values));
	o->values[o->n].opt = opt;
	o->values[o->n].value = value;
	o->n++;
	return 0;
}

static int
need_value(const struct opt *opt, char *msg, size_t size)
{
	snprintf(msg, size, "--%s needs a value: %s", opt->name, opt->arg);
	return -1;
}

/* --name, --name=value; how many further words were used, or -1. */
static int
parse_long(struct opts *o, char **argv, const char *next, char *msg,
    size_t size)
{
	const char *name = argv[0] + 2, *value = NULL;
	const struct opt *opt;
	size_t len = strcspn(name, "=");

	if ((opt = find_name(o->table, name, len)) == NULL) {
		if (strcmp(name, "help") == 0) {
			o->help = true;
			return 0;
		}
		say_unknown(o->table, argv[0], msg, size);
		return -1;
	}
	if (name[len] == '=')
		value = name + len + 1;
	if (opt->arg == NULL && value != NULL) {
		snprintf(msg, size, "--%s takes no value", opt->name);
		return -1;
	}
	if (opt->arg == NULL || value != NULL)
		return add(o, opt, value, msg, size);
	if (next == NULL)
		return need_value(opt, msg, size);
	return add(o, opt, next, msg, size) == -1 ? -1 : 1;
}

/* -x, -xy, -xvalue; the same. */
static int
parse_short(struct opts *o, char **argv, const char *next, char *msg,
    size_t size)
{
	const struct opt *opt;
	const char *p;
	char word[3] = "-?";

	for (p = argv[0] + 1; *p != '\0'; p++) {
		opt = find_letter(o->table, *p);
		if (opt == NULL && *p == 'h') {
			o->help = true;
			continue;
		}
		if (opt == NULL) {
			word[1] = *p;
			say_unknown(o->table, p == argv[0] + 1 ? argv[0] : word,
			    msg, size);
			return -1;
		}
		if (opt->arg == NULL) {
			if (add(o, opt, NULL, msg, size) == -1)
				return -1;
			continue;
		}
		if (p[1] != '\0')
			return add(o, opt, p + 1, msg, size);
		if (next == NULL)
			return need_value(opt, msg, size);
		return add(o, opt, next, msg, size) == -1 ? -1 : 1;
	}
	return 0;
}

int
opts_parse(struct opts *o, const struct opt *table, int argc, char **argv,
    bool stop_at_operand, char *msg, size_t size)
{
	const char *next;
	int i, used;
	bool only_args = false;

	memset(o, 0, sizeof(*o));
	o->table = table;
	o->args = xcalloc((size_t)argc + 1, sizeof(*o->args));
	for (i = 0; i < argc; i++) {
		next = i + 1 < argc ? argv[i + 1] : NULL;
		used = 0;
		/* A lone - is an operand: standard input. */
		if (only_args || argv[i][0] != '-' || argv[i][1] == '\0') {
			o->args[o->nargs++] = argv[i];
			only_args = only_args || stop_at_operand;
		} else if (strcmp(argv[i], "--") == 0) {
			only_args = true;
		} else if (argv[i][1] == '-') {
			used = parse_long(o, &argv[i], next, msg, size);
		} else {
			used = parse_short(o, &argv[i], next, msg, size);
		}
		if (used == -1)
			return -1;
		i += used;
	}
	return 0;
}

void
opts_fini(struct opts *o)
{
	free(o->values);
	free(o->args);
	memset(o, 0, sizeof(*o));
}

static const struct opt_value *
find(const struct opts *o, const char *name, size_t nth)
{
	const struct opt *opt;
	size_t i;

	if ((opt = find_name(o->table, name, strlen(name))) == NULL)
		qo_bug("opt: no option %s in the table", name);
	for (i = 0; i < o->n; i++)
		if (o->values[i].opt == opt && nth-- == 0)
			return &o->values[i];
	return NULL;
}

bool
opts_has(const struct opts *o, const char *name)
{
	return find(o, name, 0) != NULL;
}

const char *
opts_get(const struct opts *o, const char *name)
{
	const struct opt_value *v, *last = NULL;
	size_t i;

	for (i = 0; (v = find(o, name, i)) != NULL; i++)
		last = v;
	return last != NULL ? last->value : NULL;
}

const char *
opts_nth(const struct opts *o, const char *name, size_t i)
{
	const struct opt_value *v = find(o, name, i);

	return v != NULL ? v->value : NULL;
}
